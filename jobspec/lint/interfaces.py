"""Network interfaces and fabrics: libraries of communication find an interface, and the device that they are told to use."""

from __future__ import annotations

from itertools import pairwise

from jobspec.apis.kinds import CONFIG_MAP
from jobspec.diagnostics.rules import Finding, Rule
from jobspec.documents.marked_tree import MarkedTree, items, text
from jobspec.lint.container import LintedContainer
from jobspec.lint.linted import LintedJob
from jobspec.lint.mpi_hosts import only_launches
from jobspec.operators.accelerators import is_fabric
from jobspec.operators.config_map_variables import keys_of_config_maps, whole_config_maps

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from jobspec.lint.container import Setting


_NCCL = "NCCL_SOCKET_IFNAME"


#: The variables that take exact names: of gloo several, of tensorpipe one.
_EXACT = {"GLOO_SOCKET_IFNAME": "gloo", "TP_SOCKET_IFNAME": "tensorpipe"}


#: The interfaces of every pod.
_LOOPBACK, _OWN = "lo", "eth0"


_NETWORKS = "k8s.v1.cni.cncf.io/networks"


#: The annotations that attach further networks to a pod, whose interfaces may be `eth1` and so on.
_ATTACHING = (_NETWORKS, "networking.gke.io/interfaces")


_EFA = "vpc.amazonaws.com/efa"


def pinned_interface(job: LintedJob) -> Iterator[Finding]:
    """A variable names a network interface of a host, which pods do not have.

    Why: a pod has `lo` and `eth0`, and `net1` and so on where Multus adds networks. With a card of the host, NCCL and gloo find "no
    socket interface". On the host's network the card is there, as long as all nodes are alike. To NCCL, `=eth1` is that one card, `eth`
    all whose names begin so.
    Instead: leave the variable out.
    Before: env: [{name: NCCL_SOCKET_IFNAME, value: enp3s0}]
    After: env: [{name: NCCL_SOCKET_IFNAME, value: eth0}]
    Evidence: marin-community/marin#6940
    """
    for container in _working(job):
        on_host, is_attached = _on_host(container), _is_attached(container)
        for name in (_NCCL, *_EXACT):
            said, value = _given(job, container, name)
            is_whole = name in _EXACT or value.startswith("=")
            names = [] if value.startswith("^") else value.lstrip("=").split(",")
            cards = [each for each in names if each and not (name in _EXACT and (each[0] in "^=" or _is_beginning(each)))]
            foreign = [each for each in cards if not _is_in_pods(each, is_whole=is_whole, is_attached=is_attached)]
            if said and foreign:
                where = "other hosts may name it differently" if on_host else f"pods have `{_LOOPBACK}` and `{_OWN}`"
                message = f"`{foreign[0]}` is a network interface of a host: {where}"
                hint = f"remove it, or write `{_OWN}`" if name in _EXACT else "remove it, or exclude interfaces: `^lo,docker`"
                yield Finding(said, message, hint, severity="info" if on_host else None)


def interface_pattern(job: LintedJob) -> Iterator[Finding]:
    """A variable of gloo or tensorpipe has a pattern, where it takes exact names.

    Why: `^lo,docker`, `=eth0` and beginnings such as `eth` are syntax of NCCL alone. gloo splits GLOO_SOCKET_IFNAME at commas and asks for
    the address of each piece, tensorpipe for that of all of TP_SOCKET_IFNAME: there is no interface `^lo`, and the program ends.
    Instead: leave the variable out, or write `eth0`.
    Before: env: [{name: GLOO_SOCKET_IFNAME, value: "^lo,docker"}]
    After: env: [{name: GLOO_SOCKET_IFNAME, value: eth0}]
    Evidence: aws-samples/aws-do-eks#51
    """
    for container in _working(job):
        for name, library in _EXACT.items():
            said, value = _given(job, container, name)
            pieces = [value] if library == "tensorpipe" else value.split(",")
            wrong = next((each for each in pieces if each[:1] in ("^", "=") or "," in each or _is_beginning(each)), "")
            if said and wrong:
                message = f"{library} takes exact names of interfaces, no pattern such as NCCL's: `{wrong}`"
                yield Finding(said, message, f"write `{_OWN}`, or remove the variable")


def no_interface_left(job: LintedJob) -> Iterator[Finding]:
    """`NCCL_SOCKET_IFNAME` leaves a pod no interface, or the loopback.

    Why: the value replaces NCCL's default `^docker,lo`, and its names are beginnings: `^lo,eth` excludes `eth0`, too, the only interface of
    most pods. `^docker0` and `^eth` leave `lo` in, which NCCL then takes: the other pods do not reach it. gloo on `lo` is as alone.
    Instead: leave the variable out, or `^docker,lo`.
    Before: env: [{name: NCCL_SOCKET_IFNAME, value: ^docker0}]
    After: env: [{name: NCCL_SOCKET_IFNAME, value: "^docker,lo"}]
    Evidence: awslabs/awsome-distributed-ai#519, aws/deep-learning-containers#4756
    """
    for container in _working(job):
        if not _exchanges_data(job, container) or _on_host(container) or _is_attached(container):
            continue
        for name in (_NCCL, *_EXACT):
            said, value = _given(job, container, name)
            if said and name == _NCCL and value.startswith("^"):
                if not _excludes(value, _LOOPBACK):
                    excluding = f" excludes `{_OWN}`, and" if _excludes(value, _OWN) else ""
                    message = f"`{value}`{excluding} leaves the loopback `{_LOOPBACK}`, where the other pods cannot be reached"
                    yield Finding(said, message, "remove it, or write `^docker,lo`")
                elif _excludes(value, _OWN):
                    message = f"`{value}` excludes `{_OWN}`, the only interface of the pods: NCCL finds none"
                    yield Finding(said, message, "remove it, or write `^docker,lo`")
            elif said and value.lstrip("=") == _LOOPBACK:
                message = f"on the loopback `{_LOOPBACK}` the other pods cannot be reached"
                yield Finding(said, message, f"remove it, or write `{_OWN}`")


def rdma_without_network(job: LintedJob) -> Iterator[Finding]:
    """A pod requests an RDMA device, and has no network attachment for it.

    Why: on Ethernet (RoCE) the device alone gives no interface in the pod's own network; NCCL finds no address on it, and silently uses
    TCP. InfiniBand has addresses of its own: nothing is said of `rdma/ib` and the like. A name such as `rdma/hca` does not say which it is.
    Instead: attach the network by the annotation `k8s.v1.cni.cncf.io/networks`, or use the host's network.
    Before: limits: {rdma/hca: 1}
    After:
        metadata: {annotations: {k8s.v1.cni.cncf.io/networks: rdma-net}}
        limits: {rdma/hca: 1}
    Evidence: NVIDIA/nccl#1796, NVIDIA/nccl-tests#248, Mellanox/k8s-rdma-shared-dev-plugin#101
    """
    for container in job.training_containers:
        devices = {name: tree for name, tree in container.resources.items() if name.startswith("rdma/") and not _is_infiniband(name)}
        attached = container.role.pod_tree.get("metadata", "annotations", _NETWORKS) or _on_host(container)
        if devices and not attached:
            name, place = next(iter(devices.items()))
            condition = "" if "roce" in name.lower() else " if it is RoCE"
            message = f"`{name}` without a network attachment: NCCL takes TCP{condition}"
            yield Finding(place, message, f"add the annotation `{_NETWORKS}`")


def fabric_without_device(job: LintedJob) -> Iterator[Finding]:
    """Variables choose a fast network, and the pod requests no device of it.

    Why: a container sees the devices that it requests. Without `vpc.amazonaws.com/efa`, `FI_PROVIDER=efa` finds no provider, and without an
    RDMA device NCCL_IB_HCA no adapter: the job silently runs over TCP, many times slower. Privileged pods, and those on the host's network,
    may find the devices of their node.
    Instead: request the device.
    Before:
        env: [{name: FI_PROVIDER, value: efa}]
        limits: {nvidia.com/gpu: 8}
    After:
        env: [{name: FI_PROVIDER, value: efa}]
        limits: {nvidia.com/gpu: 8, vpc.amazonaws.com/efa: 1}
    Evidence: awslabs/ai-on-sagemaker-hyperpod#134, awslabs/awsome-distributed-ai#880
    """
    for container in _working(job):
        if not _exchanges_data(job, container) or _on_host(container) or _sees_devices_of_node(container):
            continue
        settings = _settings(job, container)
        for name, value, place in settings:
            if value in ("", "0") or "$" in value:
                continue
            if (name == "FI_PROVIDER" and "efa" in value.replace(",", ";").split(";")) or name.startswith("FI_EFA_"):
                device, has = _EFA, any(_EFA in resource for resource in container.resources)
            elif name == "NCCL_IB_HCA" and not _is_attached(container) and ("NCCL_IB_DISABLE", "1") not in {each[:2] for each in settings}:
                device, has = "rdma/*", any(map(is_fabric, container.resources))
            else:
                continue
            if not has:
                message = f"`{name}={value}` without the device `{device}`: the pods use TCP"
                yield Finding(place, message, f"request `{device}`, or remove the variable")
                break


def _is_infiniband(resource: str) -> bool:
    """Whether the name of an RDMA resource says that it is InfiniBand, as `rdma/ib` and `rdma/shared_ib0` do."""
    words = resource.lower().partition("/")[2].replace("-", "_").split("_")
    return any(word.rstrip("0123456789") in ("ib", "ibs", "infiniband") for word in words)


def _working(job: LintedJob) -> list[LintedContainer]:
    """The containers in which processes train: of an MPIJob, those of the hosts of mpirun."""
    return [each for each in job.training_containers if not only_launches(job, each)]


def _exchanges_data(job: LintedJob, container: LintedContainer) -> bool:
    """Return whether the pods of a container exchange data.

    If the pods of the job do not, torchrun may wait for several nodes, as in an Indexed Job.
    """
    least, _ = container.program.settings.nodes or (0, 0)
    return job.connected_pods > 1 or (container.program.is_torchrun and least > 1)


def _given(job: LintedJob, container: LintedContainer, name: str) -> tuple[MarkedTree | None, str]:
    """The place of a variable and its value; empty where only a run shows that."""
    said = next((each for each in reversed(_settings(job, container)) if each[0] == name), None)
    return (None, "") if said is None else (said[2], "" if "$" in said[1] else said[1])


def _settings(job: LintedJob, container: LintedContainer) -> list[Setting]:
    """Return the variables that the processes of a container get.

    That are its own, those of ConfigMaps among the files, and those that mpirun passes on from another container, as in `-x NAME=VALUE`, or
    `-x NAME` after `export`.
    """
    others = [each for each in job.containers if each is not container and not each.is_init]
    passed_on = (setting for each in others for setting in each.settings if setting[0] in _passed_on(each))
    whole = [(name, text(value), place) for name, value, place in whole_config_maps(container.tree, job.data_of_config_map)]
    keys = [(name, text(value), place) for name, value, place in keys_of_config_maps(container.tree, job.data_of_config_map)]
    return [*whole, *container.settings, *keys, *passed_on]


def _passed_on(container: LintedContainer) -> set[str]:
    """The names of the variables that mpirun passes on from a container: those behind `-x`."""
    words = [word for word, _ in container.words]
    return {word.partition("=")[0] for before, word in pairwise(words) if before == "-x"} if "-x" in words else set()


def _on_host(container: LintedContainer) -> bool:
    return text(container.role.pod_tree, "spec", "hostNetwork") == "True"


def _is_attached(container: LintedContainer) -> bool:
    """Whether a pod has further networks."""
    return any(container.role.pod_tree.get("metadata", "annotations", each) for each in _ATTACHING)


def _sees_devices_of_node(container: LintedContainer) -> bool:
    """Whether a container may have devices that its resources do not name: it is privileged, has claims, or mounts them."""
    mounts = [text(each, "hostPath", "path") for each in items(container.role.pod_tree.get("spec", "volumes"))]
    is_privileged = text(container.tree, "securityContext", "privileged") == "True"
    return is_privileged or bool(items(container.tree.get("resources", "claims"))) or any(each.startswith("/dev") for each in mounts)


def _is_in_pods(card: str, *, is_whole: bool, is_attached: bool) -> bool:
    """Whether pods have a network card of this name or, unless it is whole, of one that begins so; *is_attached*: to further networks."""
    if card in (_LOOPBACK, _OWN) or card.startswith("net"):
        return True
    return (is_attached and card.startswith("eth")) or (not is_whole and _OWN.startswith(card))


def _is_beginning(piece: str) -> bool:
    """Whether a name is the beginning of a pod's interface, and not all of it."""
    return bool(piece) and piece != _OWN and _OWN.startswith(piece)


def _excludes(pattern: str, interface: str) -> bool:
    """Whether a pattern of NCCL, which begins with `^`, excludes an interface: by a beginning, or behind `=` by the whole name."""
    names = pattern[1:].removeprefix("=").split(",")
    is_whole = pattern.startswith("^=")
    return interface in names or (not is_whole and any(each and interface.startswith(each) for each in names))


RULES = (
    Rule(pinned_interface, "warning", sees="any pods", reads=[_NCCL, *_EXACT], kinds=[CONFIG_MAP]),
    Rule(interface_pattern, "warning", sees="any pods", reads=_EXACT, kinds=[CONFIG_MAP]),
    Rule(no_interface_left, "warning", reads=[_NCCL, *_EXACT], kinds=[CONFIG_MAP]),
    Rule(rdma_without_network, "info", reads=["rdma/"]),
    Rule(fabric_without_device, "warning", reads=["FI_PROVIDER", "FI_EFA_", "NCCL_IB_HCA"], kinds=[CONFIG_MAP]),
)
