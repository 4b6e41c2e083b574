"""Storage: volumes that all pods can mount, and memory that is counted."""

from __future__ import annotations

from jobspec.documents.document import Document
from jobspec.documents.marked_tree import MarkedTree, items, text
from jobspec.kinds import PERSISTENT_VOLUME_CLAIM
from jobspec.lint.containers import amount, bytes_of, flags, gpu_place, gpus, volume_at, written
from jobspec.lint.rule import Edit, Finding, Rule

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from jobspec.lint.views import JobView
    from jobspec.operators.expansion import ExpandedRole

_WORKERS = ("--num-workers", "--workers", "--dataloader-num-workers", "--data-workers", "--n-workers")
_LEAST_MEMORY = 1 << 20
_RESOURCES = ("limits", "requests")
#: Where nodes have devices, drivers and sockets, not data.
_OF_THE_NODE = ("/dev/", "/sys/", "/proc/", "/run/", "/var/run/", "/lib/modules/", "/etc/localtime/")
_SHM = "/dev/shm"  # noqa: S108 (a path in containers)


def small_shared_memory(job: JobView) -> Iterator[Finding]:
    """Several GPU processes, or workers of a DataLoader, share 64 MB of /dev/shm, which is what a container gets by itself.

    Why: NCCL moves data between the GPUs of a pod through /dev/shm, and the workers of a DataLoader hand over batches there. Where it
    is full, they end with "No space left on device" or "Bus error", mostly far into the training.
    Instead: mount a memory volume there.
    Before: resources: {limits: {nvidia.com/gpu: 8}}
    After:
        volumeMounts: [{name: shm, mountPath: /dev/shm}]
        volumes: [{name: shm, emptyDir: {medium: Memory, sizeLimit: 16Gi}}]
    Evidence: pytorch/pytorch#16979, NVIDIA/nccl#525, pytorch/ci-infra#490
    """
    for role in job.training:
        container = role.training_container()
        if not container or text(role.pods[0].tree, "spec", "hostIPC") == "True" or volume_at(role.pods[0], container, _SHM):
            continue
        hint = f"mount an `emptyDir` of `medium: Memory` at {_SHM}"
        workers = [(int(value), place) for name, value, place in flags(container) if name in _WORKERS and value.isdecimal()]
        if gpus(container) > 1:
            yield Finding(gpu_place(container), f"{gpus(container)} GPUs of a pod share 64 MB of {_SHM}", hint)
        elif workers and workers[0][0] > 1:
            message = f"{workers[0][0]} workers of the DataLoader hand over their batches in 64 MB of {_SHM}"
            yield Finding(workers[0][1], message, hint, severity="info")


def unlimited_memory_volume(job: JobView) -> Iterator[Finding]:
    """A memory volume has no `sizeLimit`.

    Why: what is written there is memory. Without a limit of its own it can fill the pod's memory, and the kernel then kills the
    program, or half of the node's where the pod has no limit either.
    Instead: set `sizeLimit`.
    Before: emptyDir: {medium: Memory}
    After: emptyDir: {medium: Memory, sizeLimit: 16Gi}
    Evidence: kubernetes/kubernetes#125852, kubernetes/website#36453
    """
    for role in job.roles:
        for volume in _memory_volumes(role):
            if not text(volume, "emptyDir", "sizeLimit"):
                yield Finding(
                    written(volume.get("emptyDir"), volume), "what is written there takes memory without a limit", "set `sizeLimit`"
                )


def memory_volume_over_limit(job: JobView) -> Iterator[Finding]:
    """A memory volume may grow beyond the memory of the container that mounts it.

    Why: what is written to the volume counts as memory of the container that writes it. The kernel kills the container long before the
    volume is full.
    Instead: raise the memory limit to the volume's size and what the program needs, or lower `sizeLimit`.
    Before:
        limits: {memory: 8Gi}
        emptyDir: {medium: Memory, sizeLimit: 16Gi}
    After:
        limits: {memory: 32Gi}
        emptyDir: {medium: Memory, sizeLimit: 16Gi}
    Evidence: https://kubernetes.io/docs/concepts/storage/volumes/#emptydir
    """
    for role in job.roles:
        for volume in _memory_volumes(role):
            size = volume.get("emptyDir", "sizeLimit")
            for container, _ in role.pods[0].containers():
                limit = text(container, "resources", "limits", "memory")
                if size and limit and _mounts(container, text(volume, "name")) and bytes_of(text(size)) >= bytes_of(limit) > 0:
                    message = f"{text(size)} of memory volume in a container that may use {limit}, the volume included"
                    yield Finding(size, message, "raise the memory limit, or lower `sizeLimit`")


def tiny_memory(job: JobView) -> Iterator[Finding]:
    """A container, or a memory volume, is given less memory than any program needs.

    Why: a number without a unit counts bytes, and `m` means thousandths: `512m` is half a byte. The container does not start, or is killed
    at once; as a request, it has the scheduler put the pod where there is no memory.
    Instead: write the unit: `Mi`, `Gi`.
    Before: limits: {memory: 16}
    After: limits: {memory: 16Gi}
    Evidence: https://kubernetes.io/docs/concepts/configuration/manage-resources-containers/#meaning-of-memory
    """
    for role in job.roles:
        given = [container.get("resources", field, "memory") for container, _ in role.pods[0].containers() for field in _RESOURCES]
        given += [each.get("emptyDir", "sizeLimit") for each in _memory_volumes(role)]
        for said in given:
            if said and said.mark.line and text(said) not in ("", "0") and bytes_of(text(said)) < _LEAST_MEMORY:
                number = text(said).rstrip("m")
                yield Finding(said, f"{text(said)} of memory is {bytes_of(text(said))} bytes", f"write `{number}Gi` or `{number}Mi`")


def unsized_container(job: JobView) -> Iterator[Finding]:
    """A container asks for no memory, or for no CPU.

    Why: the scheduler takes it for one that needs nothing, and puts it beside others that need all; where memory runs short, it is killed
    first. A ResourceQuota of the namespace refuses it.
    Instead: write requests, and a limit for memory.
    Before: resources: {limits: {nvidia.com/gpu: 1}}
    After: resources: {requests: {cpu: 8}, limits: {memory: 32Gi, nvidia.com/gpu: 1}}
    Evidence: kubeflow/pipelines#7699, microsoft/pai#5215
    """
    for role in job.training:
        container = role.training_container()
        missing = [name for name in ("cpu", "memory") if container and not amount(container, name)]
        if container and missing:
            yield Finding(container, f"the container asks for no {' and no '.join(missing)}", "write requests, and a limit for memory")


def claim_of_one_node(job: JobView) -> Iterator[Finding]:
    """Several pods mount a claim that only the pods of one node can share.

    Why: with ReadWriteOnce, the volume is attached to one node. Pods on other nodes wait in ContainerCreating for ever; the scheduler
    does not bring them together by itself.
    Instead: a claim with ReadWriteMany, from a storage class that has it.
    Before: accessModes: [ReadWriteOnce]
    After: accessModes: [ReadWriteMany]
    Evidence: kubeflow/trainer#1971, kubeflow/trainer#2715, kubeflow/katib#2232
    """
    for claim, volume, pods, read_only in _shared_claims(job):
        modes = _modes(claim)
        if modes and pods > 1 and not modes & {"ReadWriteMany", "ReadWriteOncePod"} and not (read_only and "ReadOnlyMany" in modes):
            if "ReadOnlyMany" in modes and not read_only:
                continue
            message = f"{pods} pods mount `{claim.name}`, which is {' and '.join(sorted(modes))}: those on other nodes wait for ever"
            yield Finding(volume, message, "give the claim ReadWriteMany")


def claim_of_one_pod(job: JobView) -> Iterator[Finding]:
    """Several pods mount a claim that one pod alone can use.

    Why: with ReadWriteOncePod the scheduler starts one pod, and keeps all others of the job waiting, on any node.
    Instead: a claim with ReadWriteMany.
    Before: accessModes: [ReadWriteOncePod]
    After: accessModes: [ReadWriteMany]
    Evidence: https://kubernetes.io/docs/concepts/storage/persistent-volumes/#access-modes
    """
    for claim, volume, pods, _ in _shared_claims(job):
        if pods > 1 and _modes(claim) == {"ReadWriteOncePod"}:
            yield Finding(volume, f"{pods} pods mount `{claim.name}`, which one alone can use", "give the claim ReadWriteMany")


def read_only_claim(job: JobView) -> Iterator[Finding]:
    """A claim that can only be read is mounted to be written to.

    Why: with ReadOnlyMany alone the volume is attached for reading. What writes a checkpoint there fails, hours after the start.
    Instead: write `readOnly: true` where nothing is written, or give the claim ReadWriteMany.
    Fix: sets `readOnly` of the claim in the pods.
    Before: persistentVolumeClaim: {claimName: data}
    After: persistentVolumeClaim: {claimName: data, readOnly: true}
    Evidence: https://kubernetes.io/docs/concepts/storage/persistent-volumes/#access-modes
    """
    for claim, volume, _, read_only in _shared_claims(job):
        if _modes(claim) == {"ReadOnlyMany"} and not read_only:
            edits = [Edit(volume, ("persistentVolumeClaim", "readOnly"), True)]
            yield Finding(
                volume, f"`{claim.name}` can only be read, and is mounted to be written to", "write `readOnly: true`", edits=edits
            )


def host_path(job: JobView) -> Iterator[Finding]:
    """A pod mounts a path of its node.

    Why: each node has other files there, or none: what one pod writes the next one does not find, and a restarted pod may stand on
    another node. Namespaces of the Pod Security levels baseline and restricted refuse such pods. Devices and the like, below /dev, /sys
    and /proc, are left in peace.
    Instead: a claim; for a cache that may be lost, an `emptyDir`.
    Before: volumes: [{name: data, hostPath: {path: /data}}]
    After: volumes: [{name: data, persistentVolumeClaim: {claimName: data}}]
    Evidence: https://kubernetes.io/docs/concepts/storage/volumes/#hostpath
    """
    for role in job.roles:
        for volume in items(role.pods[0].tree.get("spec", "volumes")):
            path = volume.get("hostPath", "path")
            if path and not f"{text(path)}/".startswith(_OF_THE_NODE):
                is_grave = role.count > 1 and not _only_reads(role, volume)
                yield Finding(path, f"each node has other files at `{text(path)}`", "use a claim", severity=None if is_grave else "info")


def _memory_volumes(role: ExpandedRole) -> list[MarkedTree]:
    return [each for each in items(role.pods[0].tree.get("spec", "volumes")) if text(each, "emptyDir", "medium") == "Memory"]


def _mounts(container: MarkedTree, volume: str) -> bool:
    return any(text(each, "name") == volume for each in items(container.get("volumeMounts")))


def _shared_claims(job: JobView) -> Iterator[tuple[Document, MarkedTree, int, bool]]:
    """Each claim of the files that pods of the job mount: the claim, the volume, the number of pods with it, whether it is only read."""
    found: dict[str, list[tuple[MarkedTree, int, bool]]] = {}
    for role in job.roles if job.is_job else ():
        for volume in items(role.pods[0].tree.get("spec", "volumes")):
            name = text(volume, "persistentVolumeClaim", "claimName")
            if name:
                found.setdefault(name, []).append((volume, role.count, _only_reads(role, volume)))
    for name, uses in found.items():
        claim = job.documents.named(job.given, PERSISTENT_VOLUME_CLAIM, name)
        for volume, _, read_only in uses if claim else ():
            assert claim
            yield claim, volume, sum(pods for _, pods, _ in uses), read_only


def _only_reads(role: ExpandedRole, volume: MarkedTree) -> bool:
    if text(volume, "persistentVolumeClaim", "readOnly") == "True":
        return True
    mounts = [each for container, _ in role.pods[0].containers() for each in items(container.get("volumeMounts"))]
    own = [each for each in mounts if text(each, "name") == text(volume, "name")]
    return bool(own) and all(text(each, "readOnly") == "True" for each in own)


def _modes(claim: Document) -> set[str]:
    spec = claim.data.get("spec")
    modes = spec.get("accessModes") if isinstance(spec, dict) else None
    return set(modes) if isinstance(modes, list) else set()


RULES = (
    Rule(small_shared_memory, "warning"),
    Rule(unlimited_memory_volume, "warning"),
    Rule(memory_volume_over_limit, "warning"),
    Rule(tiny_memory, "warning"),
    Rule(unsized_container, "info", by_default=False),
    Rule(claim_of_one_node, "warning", sees="job"),
    Rule(claim_of_one_pod, "error", sees="job"),
    Rule(read_only_claim, "warning", sees="job"),
    Rule(host_path, "warning"),
)
