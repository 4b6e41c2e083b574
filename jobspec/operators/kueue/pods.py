"""Plain pods in queues, and groups of them: what Kueue's webhook refuses.

Follows `PodWebhook` and `validateCommon`, sigs.k8s.io/kueue pkg/controller/jobs/pod, 0.18.2 and 0.19.2. The webhook validates all pods,
those in no queue, too. Before that, it changes a new pod that names a queue: it gates the pod, and labels the pod as managed.
"""

from __future__ import annotations

from jobspec.apis.kinds import QUEUE_CONFIGURATION
from jobspec.apis.kinds import QUEUE_GROUP as GROUP
from jobspec.diagnostics.places import Key, Path, value_at
from jobspec.diagnostics.rules import Finding
from jobspec.go.values import integer, mapping, string_map, structs, texts
from jobspec.kubernetes.metadata import bad_subdomain
from jobspec.operators.kueue.keys import GROUP_COUNT, GROUP_NAME, PREBUILT
from jobspec.operators.workloads import QUEUE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from jobspec.apis.kinds import Name
    from jobspec.apis.releases import Target
    from jobspec.diagnostics.places import Data
    from jobspec.operators.kueue.world import World
    from jobspec.operators.workloads import Workload

_MANAGED, _HELD_BY_PARENT, _RETRIABLE = (f"{GROUP}/{name}" for name in ("managed", "pod-suspending-parent", "retriable-in-group"))
_GATE = f"{GROUP}/admission"
#: The frameworks of Kueue's configuration by which its webhook looks at pods: those of the last three kinds need it for theirs.
_FRAMEWORKS = ("pod", "deployment", "statefulset", "leaderworkerset.x-k8s.io/leaderworkerset")


def is_suspended(pod: Data) -> bool:
    """True if a pod waits for Kueue, or has ended."""
    gates = (each.get("name") for each in structs(pod, "spec", "schedulingGates"))
    return _GATE in gates or mapping(pod, "status").get("phase") in ("Failed", "Succeeded")


def group_of(pod: Data) -> str:
    """Return the name of a pod's group, by its annotation or its label; empty without a group."""
    return _meta(pod, "annotations").get(GROUP_NAME) or _meta(pod, "labels").get(GROUP_NAME, "")


def count_of(pod: Data) -> int | None:
    """Return the number of pods that a pod says of its group.

    If it says no number above 0, return None.
    """
    number = integer(_meta(pod, "annotations").get(GROUP_COUNT, ""))
    return number if number and number > 0 else None


def group_place(pod: Data) -> Path:
    """Return the path of the name of a pod's group: of the annotation, or else of the label."""
    return ("metadata", "annotations" if _meta(pod, "annotations").get(GROUP_NAME) else "labels", Key(GROUP_NAME))


def pod_group(workload: Workload, target: Target) -> Iterator[Finding]:
    """A pod of a group has the group's name, a valid object name, and the annotation `pod-group-total-count`, a number above 0."""
    yield from group_problems(workload.document.data)


def group_problems(pod: Data) -> Iterator[Finding]:
    """Yield what Kueue's webhook refuses of the name and the number of pods of a group."""
    name, count, place = group_of(pod), _meta(pod, "annotations").get(GROUP_COUNT), group_place(pod)
    number: Path = ("metadata", "annotations", Key(GROUP_COUNT))
    if not name:
        if count is not None:
            message = f"`{GROUP_COUNT}` needs the name of a group: the label `{GROUP_NAME}` is missing"
            yield Finding(number, message, f"add the label `{GROUP_NAME}`")
        return
    if why := bad_subdomain(name):
        yield Finding(place, f"`{name}` cannot be the name of a group: {why}")
    if count is None:
        is_label = GROUP_COUNT in _meta(pod, "labels")
        where = "is a label, which Kueue does not read" if is_label else "is missing"
        at: Path = ("metadata", "labels", Key(GROUP_COUNT)) if is_label else place
        yield Finding(at, f"the annotation `{GROUP_COUNT}` of the group `{name}` {where}", f"add the annotation `{GROUP_COUNT}`")
    elif count_of(pod) is None:
        yield Finding(number, f"`{count}` is not a number of pods above 0", 'write a whole number in quotes, such as `"2"`')


def pod_group_workload(workload: Workload, target: Target) -> Iterator[Finding]:
    """A prebuilt Workload of a group of pods has the name of the group."""
    pod, name = workload.document.data, group_of(workload.document.data)
    by_annotation = _meta(pod, "annotations").get(PREBUILT, "")
    prebuilt = by_annotation or _meta(pod, "labels").get(PREBUILT, "")
    if name and prebuilt and prebuilt != name:
        at: Path = ("metadata", "annotations" if by_annotation else "labels", Key(PREBUILT))
        yield Finding(at, f"the prebuilt Workload `{prebuilt}` of a group is not called like the group, `{name}`")


def managed_label(workload: Workload, target: Target) -> Iterator[Finding]:
    """The label `kueue.x-k8s.io/managed` of a pod can only be `true`, which Kueue writes itself into a new pod with a queue name."""
    pod = workload.document.data
    said = _meta(pod, "labels").get(_MANAGED)
    if said is not None and said != "true" and (workload.old or not _may_be_managed(pod)):
        message = f"the label `{_MANAGED}` cannot be `{said}`: only `true`"
        yield Finding(("metadata", "labels", Key(_MANAGED)), message, "remove the label: a pod without a queue name is in no queue")


def queued_pod_placed(workload: Workload, target: Target) -> Iterator[Finding]:
    """A new pod with a queue name cannot have a `nodeName`: Kueue gates the pod, and a gated pod has no node."""
    assert not workload.old
    pod = workload.document.data
    is_gated = _may_be_managed(pod) and not mapping(pod, "metadata").get("ownerReferences")
    if value_at(pod, ("spec", "nodeName")) and (is_gated or _HELD_BY_PARENT in _meta(pod, "annotations")):
        message, hint = "a pod with a queue name cannot have a `nodeName`: Kueue gates it", "use a `nodeSelector`, or remove the queue name"
        yield Finding(("spec", "nodeName"), message, hint)


def pod_group_frozen(workload: Workload, target: Target) -> Iterator[Finding]:
    """The name of a pod's group cannot be changed, and a pod that cannot be retried in its group stays so."""
    assert workload.old
    now, before = workload.document.data, workload.old.data
    name, old_name = group_of(now), group_of(before)
    if old_name and name != old_name:
        change = f"changed to `{name}`" if name else "removed"
        yield Finding(group_place(now), f"the group of a pod, `{old_name}`, cannot be {change}", "create a new pod")
    retriable, was_retriable = (_meta(each, "annotations").get(_RETRIABLE) != "false" for each in (now, before))
    if name and retriable and not was_retriable:
        message = "a pod that cannot be retried in its group stays so"
        yield Finding(("metadata", "annotations", Key(_RETRIABLE)), message, f'keep `{_RETRIABLE}: "false"`')


def _may_be_managed(pod: Data) -> bool:
    """True if Kueue takes a new pod into a queue, unless another object that Kueue manages owns the pod."""
    return bool(_meta(pod, "labels").get(QUEUE)) and _HELD_BY_PARENT not in _meta(pod, "annotations")


def _meta(pod: Data, field: str) -> Mapping[str, str]:
    return string_map(mapping(pod, "metadata"), field)


def decided_by(namespace: str) -> list[Name]:
    """Return the names of the objects that decide whether a refusal stands.

    These are Kueue's configuration, and the default queue.
    """
    from jobspec.operators.kueue.management import DEFAULT_QUEUE

    return [(QUEUE_CONFIGURATION, "", ""), ((GROUP, "LocalQueue"), namespace, DEFAULT_QUEUE)]


def stands(rule: str, namespace: str, target: Target, world: World) -> bool:
    """True if what a rule refuses of a pod is refused in a world.

    Kueue's configuration decides on that, and its queue of pods that name none.
    """
    from jobspec.operators.kueue.management import default_queue, manages_namespace

    configuration = world.configuration
    if configuration and not set(_FRAMEWORKS).intersection(texts(mapping(configuration, "integrations"), "frameworks")):
        return False
    if rule == managed_label.__name__.replace("_", "-"):
        return not default_queue(namespace, target, world)
    return rule != queued_pod_placed.__name__.replace("_", "-") or manages_namespace(namespace, world)[0] is True
