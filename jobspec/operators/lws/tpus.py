"""The variables by which the processes of TPUs find each other, which LeaderWorkerSet gives to containers that request TPUs.

Follows `AddTPUVariables` and `addTPUVariablesSubGroup`, sigs.k8s.io/lws pkg/utils/accelerators, 0.7.0 to 0.10.0.
"""

from __future__ import annotations

from jobspec.apis.releases import is_at_least
from jobspec.documents.marked_tree import MarkedTree, changed, each_item, items, set_by, text, with_appended
from jobspec.go.quantities import whole_number
from jobspec.operators.lws import PREFIX
from jobspec.operators.lws.objects import LEADER_REQUESTS_TPUS, SIZE, SUBGROUP_SIZE
from jobspec.operators.workloads import GROUP_MEMBER

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from jobspec.diagnostics.places import Mark


TPU = "google.com/tpu"
_HOSTS, _ID, _LEADER, _ADDRESSES, _PORT = (
    *("TPU_WORKER_HOSTNAMES", "TPU_WORKER_ID", "TPU_NAME"),
    *("TPU_PROCESS_ADDRESSES", "TPU_PROCESS_PORT"),
)
_FIRST_PORT = 8476


def requests_tpus(pod: MarkedTree) -> bool:
    """True if a container of the pod requests TPUs."""
    return bool(_requesting(pod))


def _requesting(pod: MarkedTree) -> list[MarkedTree]:
    """The containers that request TPUs, init containers last."""
    containers = [each for field in ("containers", "initContainers") for each in items(pod.get("spec", field))]
    return [each for each in containers if any(_amount(each, field) for field in ("limits", "requests"))]


def _amount(container: MarkedTree, field: str) -> int:
    return whole_number(text(container, "resources", field, TPU) or "0")


def with_tpu_variables(pod: MarkedTree, mark: Mark, release: str) -> MarkedTree:
    """A pod whose containers with TPUs have the variables, unless the first of them sets the variables itself."""
    found = _requesting(pod)
    in_subgroup = SUBGROUP_SIZE in dict(pod.entries("metadata", "annotations"))
    several = found if is_at_least(release, "0.9.0") and not in_subgroup else found[:1]
    if not several or {_HOSTS, _ID} & {text(each, "name") for each in items(several[0].get("env"))}:
        return pod
    ports = [_port(each) or str(_FIRST_PORT + number) for number, each in enumerate(several)]
    names = _hosts_in_subgroup(pod, release) if in_subgroup else _hosts(pod)
    hosts = [(host, port) for host in names for port in ports]
    number = _number_in_subgroup(pod, release) if in_subgroup else _number(pod)
    made = {
        id(each): _variables(hosts, number * len(several) + at, _leader(pod), "" if _port(each) is not None else ports[at], release)
        for at, each in enumerate(several)
    }

    def container(tree: MarkedTree) -> MarkedTree:
        own = made.get(id(tree))
        added = [set_by(mark, {"name": name, "value": value}) for name, value in (own or {}).items()]
        return with_appended(tree, "env", added, mark) if added else tree

    return changed(pod, ("spec",), lambda spec: each_item(each_item(spec, "containers", container), "initContainers", container))


def lacks_subgroup(pod: MarkedTree) -> bool:
    """True if the webhook fails for a pod: one with TPUs that is in no subgroup, although its group has subgroups."""
    found, labels = _requesting(pod), dict(pod.entries("metadata", "labels"))
    has_own = any(text(each, "name") in (_HOSTS, _ID) and each.mark.line for each in items(found[0].get("env"))) if found else True
    in_groups = SUBGROUP_SIZE in dict(pod.entries("metadata", "annotations"))
    return in_groups and not has_own and f"{PREFIX}/subgroup-index" not in labels


def _variables(hosts: Sequence[tuple[str, str]], number: int, leader: str, port: str, release: str) -> dict[str, str]:
    """The variables of a container; *port*: the one that it is given, empty where it has its own."""
    found = {_HOSTS: ",".join(host for host, _ in hosts), _ID: str(number), _LEADER: leader}
    if not is_at_least(release, "0.8.0"):
        return found
    return {**found, _ADDRESSES: ",".join(map(":".join, hosts)), **({_PORT: port} if port else {})}


def _port(container: MarkedTree) -> str | None:
    """The port that a container sets itself; None if it sets none."""
    return next((text(each, "value") for each in items(container.get("env")) if text(each, "name") == _PORT), None)


def _is_leader(pod: MarkedTree) -> bool:
    return text(pod, "metadata", "labels", GROUP_MEMBER) == "0"


def _leader(pod: MarkedTree) -> str:
    """The name of the leader of a pod's group."""
    name = text(pod, "metadata", "name")
    return name if _is_leader(pod) else name.rpartition("-")[0]


def _has_leader(pod: MarkedTree) -> bool:
    """True if the leader of a pod's group requests TPUs, too."""
    return _is_leader(pod) or text(pod, "metadata", "annotations", LEADER_REQUESTS_TPUS) == "true"


def _index(pod: MarkedTree) -> int:
    """The number of a pod in its group."""
    return int(text(pod, "metadata", "labels", GROUP_MEMBER) or 0)


def _number(pod: MarkedTree) -> int:
    """The number of a pod among those of its group that request TPUs."""
    return _index(pod) - (not _has_leader(pod))


def _hosts(pod: MarkedTree) -> list[str]:
    """The names of the pods of a group that request TPUs."""
    leader, domain = _leader(pod), text(pod, "spec", "subdomain")
    workers = range(1, int(text(pod, "metadata", "annotations", SIZE) or 1))
    return [*([f"{leader}.{domain}"] if _has_leader(pod) else []), *(f"{leader}-{number}.{domain}" for number in workers)]


def _number_in_subgroup(pod: MarkedTree, release: str) -> int:
    """The number of a pod in its subgroup. Before 0.10 a leader counts by the annotation of workers, not by its own request."""
    size = int(text(pod, "metadata", "annotations", SUBGROUP_SIZE))
    annotated = text(pod, "metadata", "annotations", LEADER_REQUESTS_TPUS) == "true"
    counts = annotated or (_is_leader(pod) and is_at_least(release, "0.10.0"))
    number = _index(pod) - (not counts)
    return number % size if number >= 0 else -(-number % size)  # as Go's remainder


def _hosts_in_subgroup(pod: MarkedTree, release: str) -> list[str]:
    """The names of the pods of a subgroup; since 0.10 of those with TPUs alone, if the leader has none."""
    size = int(text(pod, "metadata", "annotations", SUBGROUP_SIZE))
    index = int(text(pod, "metadata", "labels", f"{PREFIX}/subgroup-index") or 0)
    if not _has_leader(pod) and is_at_least(release, "0.10.0"):
        index = (_index(pod) - 1) // size
    leader, domain = _leader(pod), text(pod, "spec", "subdomain")
    first, last, found = size * index + 1, size * (index + 1), []
    if _is_leader(pod) or (_has_leader(pod) and index == 0):
        found, last = [f"{leader}.{domain}"], last - 1
    elif _has_leader(pod):
        first, last = first - 1, last - 1
    return [*found, *(f"{leader}-{number}.{domain}" for number in range(first, last + 1))]
