"""Storage: volumes that all pods can mount, memory that is counted, and the data that programs read and write."""

from __future__ import annotations

from collections.abc import Iterator

from jobspec.apis.kinds import LIMIT_RANGE, PERSISTENT_VOLUME_CLAIM, TRAINJOB
from jobspec.diagnostics.grouping import gathered
from jobspec.diagnostics.places import value_at
from jobspec.diagnostics.problems import set_to
from jobspec.diagnostics.rules import Finding, Rule
from jobspec.documents.document import Document
from jobspec.documents.marked_tree import MarkedTree, items, place_of, text
from jobspec.go.values import mapping, structs
from jobspec.lint.container import LintedContainer, amount, bytes_of, volumes_of, written
from jobspec.lint.linted import LintedJob
from jobspec.operators.expansion import ExpandedRole
from jobspec.operators.trainer.runtimes import patch_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from jobspec.diagnostics.diagnostic import Severity

_WORKERS = ("--num-workers", "--workers", "--dataloader-num-workers", "--data-workers", "--n-workers")


LEAST_MEMORY = 1 << 20


_RESOURCES = ("limits", "requests")


#: Where nodes have devices, drivers and sockets, not data.
OF_THE_NODE = (
    *("/dev/", "/sys/", "/proc/", "/run/", "/var/run/", "/lib/modules/", "/etc/localtime/"),
    *("/home/kubernetes/bin/", "/usr/local/nvidia/", "/lib64/"),  # drivers and libraries, which an installer puts on each node
)


SHM = "/dev/shm"  # noqa: S108 (a path in containers)
DEFAULT_SHM = 64 << 20


def small_shared_memory(job: LintedJob) -> Iterator[Finding]:
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
    for container in job.training_containers:
        if container.only_shows or text(container.role.pod_tree, "spec", "hostIPC") == "True":
            continue
        volume = _volume_at(container, SHM)
        size = volume.get("emptyDir", "sizeLimit") if volume and text(volume, "emptyDir", "medium") == "Memory" else None
        if volume and not (size and 0 < bytes_of(text(size)) <= DEFAULT_SHM):
            continue
        has = f"{SHM} has {text(size) if size else '64 MB'}"
        hint = "raise `sizeLimit`" if size else _shared_memory_hint(job, container)
        workers = [(int(value), place) for name, value, place in container.flags if name in _WORKERS and value.isdecimal()]
        if container.gpus > 1:
            yield Finding(size or container.gpu_place, f"{has}, too little for NCCL between {container.gpus} GPUs", hint)
        elif workers and workers[0][0] > 1:
            message = f"{has}, too little for {workers[0][0]} DataLoader workers"
            yield Finding(size or workers[0][1], message, hint, severity="info")


def _shared_memory_hint(job: LintedJob, container: LintedContainer) -> str:
    """The hint about the volume that a container lacks; for a TrainJob with the field that adds it to the runtime's pods."""
    if job.given.group_kind != TRAINJOB:
        return f"mount an `emptyDir` with `medium: Memory` at {SHM}"
    name = text(container.tree, "name")
    mounted = f"containers: [{{name: {name}, volumeMounts: [\n  {{name: shm, mountPath: {SHM}}}]}}]"
    pod = f"volumes: [{{name: shm,\n  emptyDir: {{medium: Memory, sizeLimit: 16Gi}}}}],\n{mounted}"
    patch = patch_text(job.target["trainer"], container.role.name, pod)
    return f"mount a memory volume at {SHM}: in the runtime,\nor in `spec` of the TrainJob:\n{patch}"


def unlimited_memory_volume(job: LintedJob) -> Iterator[Finding]:
    """A memory volume has no `sizeLimit`.

    Why: what is written there is memory. Without a limit of its own it can fill the pod's memory, and the kernel then kills the
    program, or half of the node's where the pod has no limit either.
    Instead: set `sizeLimit`.
    Before: emptyDir: {medium: Memory}
    After: emptyDir: {medium: Memory, sizeLimit: 16Gi}
    Evidence: kubernetes/kubernetes#125852, kubernetes/website#36453
    """
    for role, volume in _memory_volumes(job) if not job.is_used_runtime else ():
        if not text(volume, "emptyDir", "sizeLimit"):
            place = written(volume.get("emptyDir"), volume)
            what = "fill the pod's memory limit, and the program is killed" if _limits_memory(job, role) else "use up the node's memory"
            yield Finding(place, f"memory volume without a `sizeLimit`: it can {what}", "set `sizeLimit`")


def _limits_memory(job: LintedJob, role: ExpandedRole) -> bool:
    """Whether the pods of a role have a memory limit: of their own, one of each container, or that of a LimitRange.

    Follows `ResourceConfigForPod`, k8s.io/kubernetes pkg/kubelet/cm, 1.36.
    """
    own = text(role.pod_tree, "spec", "resources", "limits", "memory")
    limits = [text(each.tree, "resources", "limits", "memory") for each in job.containers if each.role is role]
    return bytes_of(own) > 0 or all(bytes_of(each) > 0 for each in limits) or _has_default_limit(job)


def _has_default_limit(job: LintedJob) -> bool:
    """True if a LimitRange of the job's namespace gives a memory limit to containers without one; a maximum is the default, too."""
    ranges = [each for each in job.documents.of_kind(LIMIT_RANGE) if job.documents.are_together(each, job.given)]
    bounds = [bound for each in ranges for bound in structs(each.data, "spec", "limits") if bound.get("type") == "Container"]
    return any(mapping(bound, field).get("memory") is not None for bound in bounds for field in ("default", "max"))


def memory_volume_over_limit(job: LintedJob) -> Iterator[Finding]:
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
    for role, volume in _memory_volumes(job):
        size = volume.get("emptyDir", "sizeLimit")
        for container in job.containers if size else ():
            limit = container.tree.get("resources", "limits", "memory")
            if not limit or not limit.mark.line:  # no limit, or that of a container which the operator adds
                continue
            if size and container.role is role and _mounts_of(container, volume) and bytes_of(text(size)) >= bytes_of(text(limit)) > 0:
                message = f"a memory volume of {text(size)} counts towards the memory limit of {text(limit)}"
                yield Finding(size, message, "raise the memory limit, or lower `sizeLimit`")


def tiny_memory(job: LintedJob) -> Iterator[Finding]:
    """A container, or a memory volume, is given less memory than any program needs.

    Why: a number without a unit counts bytes, and `m` means thousandths: `512m` is half a byte. The container does not start, or is killed
    at once; as a request, it has the scheduler put the pod where there is no memory.
    Instead: write the unit: `Mi`, `Gi`.
    Before: limits: {memory: 16}
    After: limits: {memory: 16Gi}
    Evidence: https://kubernetes.io/docs/concepts/configuration/manage-resources-containers/#meaning-of-memory
    """
    given = [each.tree.get("resources", field, "memory") for each in job.containers for field in _RESOURCES]
    given += [volume.get("emptyDir", "sizeLimit") for _, volume in _memory_volumes(job)]
    for said in given:
        if said and said.mark.line and text(said) not in ("", "0") and bytes_of(text(said)) < LEAST_MEMORY:
            number = text(said).rstrip("m")
            yield Finding(said, f"`{text(said)}` of memory is {bytes_of(text(said))} bytes", f"write `{number}Gi` or `{number}Mi`")


def unsized_container(job: LintedJob) -> Iterator[Finding]:
    """A container asks for no memory, or for no CPU.

    Why: the scheduler takes it for one that needs nothing, and puts it beside others that need all; where memory runs short, it is killed
    first. A ResourceQuota of the namespace refuses it.
    Instead: write requests, and a limit for memory.
    Before: resources: {limits: {nvidia.com/gpu: 1}}
    After: resources: {requests: {cpu: 8}, limits: {memory: 32Gi, nvidia.com/gpu: 1}}
    Evidence: kubeflow/pipelines#7699, microsoft/pai#5215
    """
    for container in job.training_containers:
        missing = [name for name in ("cpu", "memory") if not amount(container.tree, name)]
        if missing:
            yield Finding(container.tree, f"no resource request for {' and '.join(missing)}", "set requests, and a limit for memory")


def claim_of_one_node(job: LintedJob) -> Iterator[Finding]:
    """Several pods mount a claim that only the pods of one node can share.

    Why: with ReadWriteOnce, the volume is attached to one node. Pods on other nodes wait in ContainerCreating forever; the scheduler
    does not bring them together by itself.
    Instead: a claim with ReadWriteMany, from a storage class that has it.
    Before: accessModes: [ReadWriteOnce]
    After: accessModes: [ReadWriteMany]
    Evidence: kubeflow/trainer#1971, kubeflow/trainer#2715, kubeflow/katib#2232
    """
    for claim, volume, pods, _ in _shared_claims(job):
        modes = _modes(claim)
        if modes and pods > 1 and not modes & {"ReadWriteMany", "ReadWriteOncePod", "ReadOnlyMany"}:
            message = f"{pods} pods mount the {' and '.join(sorted(modes))} claim `{claim.name}`: those on other nodes wait forever"
            yield Finding(volume, message, "use a claim with `ReadWriteMany`")


def claim_of_one_pod(job: LintedJob) -> Iterator[Finding]:
    """Several pods mount a claim that one pod alone can use.

    Why: with ReadWriteOncePod the scheduler starts one pod, and keeps all others of the job waiting, on any node.
    Instead: a claim with ReadWriteMany.
    Before: accessModes: [ReadWriteOncePod]
    After: accessModes: [ReadWriteMany]
    Evidence: https://kubernetes.io/docs/concepts/storage/persistent-volumes/#access-modes
    """
    for claim, volume, pods, _ in _shared_claims(job):
        if pods > 1 and _modes(claim) == {"ReadWriteOncePod"}:
            message = f"{pods} pods mount the ReadWriteOncePod claim `{claim.name}`: only one can"
            severity: Severity | None = "warning" if job.has_unknown_operator else None
            yield Finding(volume, message, "use a claim with `ReadWriteMany`", severity=severity)


def read_only_claim(job: LintedJob) -> Iterator[Finding]:
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
            edits = [(volume, set_to(("persistentVolumeClaim", "readOnly"), True))]
            yield Finding(volume, f"the read-only claim `{claim.name}` is mounted for writing", "set `readOnly: true`", edits=edits)


def unfit_volume_mode(job: LintedJob) -> Iterator[Finding]:
    """A container mounts a claim of a raw block device, or takes a claim with a file system for a device.

    Why: the kubelet mounts no volume whose `volumeMode` is `Block`, and makes no device of another. The pod stays in ContainerCreating.
    Instead: `volumeDevices` for a claim with `volumeMode: Block`, `volumeMounts` for all others.
    Before: "claim: {volumeMode: Block}, container: {volumeMounts: [{name: data, mountPath: /data}]}"
    After: "claim: {}, container: {volumeMounts: [{name: data, mountPath: /data}]}"
    Evidence: `createVolumeSpec` of k8s.io/kubernetes pkg/kubelet/volumemanager/populator; kubernetes/kubernetes#79794, rook/rook#14483
    """
    for container in job.containers:
        for volume in volumes_of(container.role):
            name = text(volume, "persistentVolumeClaim", "claimName")
            claim = job.documents.named(job.given, PERSISTENT_VOLUME_CLAIM, name) if name else None
            is_block = claim is not None and value_at(claim.data, ("spec", "volumeMode")) == "Block"
            used = items(container.tree.get("volumeMounts" if is_block else "volumeDevices"))
            for each in used if claim else ():
                if text(each, "name") == text(volume, "name"):
                    what = "is a block device, which cannot be mounted" if is_block else "has a file system, and is no device"
                    hint = f"use `{'volumeDevices' if is_block else 'volumeMounts'}`, or change `volumeMode` of the claim"
                    yield Finding(each, f"the pod never starts: the claim `{name}` {what}", hint)


def host_path(job: LintedJob) -> Iterator[Finding]:
    """A pod mounts a path of its node.

    Why: each node has other files there, or none: what one pod writes the next one does not find, and a restarted pod may run on another
    node. Namespaces of the Pod Security levels baseline and restricted refuse such pods. Devices and the like, below /dev, /sys and /proc,
    and the drivers of GPUs are left in peace, and so are DaemonSets, which serve nodes.
    Instead: a claim; for a cache that may be lost, an `emptyDir`.
    Before: volumes: [{name: data, hostPath: {path: /data}}]
    After: volumes: [{name: data, persistentVolumeClaim: {claimName: data}}]
    Evidence: https://kubernetes.io/docs/concepts/storage/volumes/#hostpath
    """
    for role in job.roles if not job.serves_nodes else ():
        for volume in volumes_of(role):
            path = volume.get("hostPath", "path")
            if path and not f"{text(path)}/".startswith(OF_THE_NODE):
                is_grave = role.count > 1 and not _only_reads(job, role, volume)
                message = f"hostPath: the files at `{text(path)}` differ from node to node"
                hint = "use a claim" if job.trains_or_has_devices else "use a claim, unless it is about the files of the node itself"
                yield Finding(path, message, hint, severity=None if is_grave else "info")


def _memory_volumes(job: LintedJob) -> list[tuple[ExpandedRole, MarkedTree]]:
    """The memory volumes that the user writes, each with its role: one that an operator adds has the size that the operator wants."""
    found = [(role, each) for role in job.roles for each in volumes_of(role) if text(each, "emptyDir", "medium") == "Memory"]
    return [(role, each) for role, each in found if place_of(each)]


def _mounts_of(container: LintedContainer, volume: MarkedTree) -> list[MarkedTree]:
    return [each for each in items(container.tree.get("volumeMounts")) if text(each, "name") == text(volume, "name")]


def _volume_at(container: LintedContainer, path: str) -> MarkedTree | None:
    """The volume of the pods that is mounted at a path of a container."""
    mounts = items(container.tree.get("volumeMounts"))
    mounted = next((text(each, "name") for each in mounts if text(each, "mountPath").rstrip("/") == path), "")
    return next((each for each in volumes_of(container.role) if mounted and text(each, "name") == mounted), None)


def _shared_claims(job: LintedJob) -> Iterator[tuple[Document, MarkedTree, int, bool]]:
    """Each claim of the files that pods of the job mount: claim, volume, the number of pods with it at once, whether it is only read."""
    named = ((text(each, "persistentVolumeClaim", "claimName"), each, role) for role in job.roles for each in volumes_of(role))
    found = gathered((name, (volume, role, _only_reads(job, role, volume))) for name, volume, role in named if name)
    for name, uses in found.items():
        claim = job.documents.named(job.given, PERSISTENT_VOLUME_CLAIM, name)
        alone = [role.count for _, role, _ in uses if role.starts_later or role.may_be_apart]
        pods = max(sum(role.count for _, role, _ in uses if not (role.starts_later or role.may_be_apart)), *alone, 0)
        for volume, _, read_only in uses if claim else ():
            assert claim
            yield claim, volume, pods, read_only


def _only_reads(job: LintedJob, role: ExpandedRole, volume: MarkedTree) -> bool:
    if text(volume, "persistentVolumeClaim", "readOnly") == "True":
        return True
    own = [each for container in job.containers if container.role is role for each in _mounts_of(container, volume)]
    return bool(own) and all(text(each, "readOnly") == "True" for each in own)


def _modes(claim: Document) -> set[str]:
    modes = value_at(claim.data, ("spec", "accessModes"))
    return set(modes) if isinstance(modes, list) else set()


RULES = (
    Rule(small_shared_memory, "warning", sees="any pods", reads=["gpu", "workers"]),
    Rule(unlimited_memory_volume, "warning", sees="any pods", reads=["emptyDir", "flux"]),
    Rule(memory_volume_over_limit, "warning", sees="any pods", reads=["sizeLimit"]),
    Rule(unfit_volume_mode, "warning", sees="any pods in a namespace", reads=["persistentVolumeClaim"]),
    Rule(tiny_memory, "warning", sees="any pods", reads=["memory"]),
    Rule(unsized_container, "info", sees="any pods", by_default=False),
    Rule(claim_of_one_node, "warning", sees="any pods in a namespace", reads=["claim"]),
    Rule(claim_of_one_pod, "error", sees="any pods in a namespace", reads=["claim"]),
    Rule(read_only_claim, "warning", sees="any pods in a namespace", reads=["claim"], has_unsafe_fix=True),
    Rule(host_path, "warning", sees="any pods", reads=["hostPath"]),
)
