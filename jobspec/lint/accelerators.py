"""Accelerators: as many processes as devices, and a backend that uses them."""

from __future__ import annotations

from jobspec.apis.kinds import CUSTOM_RESOURCE_DEFINITION, RESOURCE_QUOTA, RUNTIMES, Kind, every, plural_of
from jobspec.diagnostics.rules import Finding, Rule
from jobspec.diagnostics.wording import counted
from jobspec.documents.marked_tree import MarkedTree, text
from jobspec.kubernetes.pods.resources import is_extended
from jobspec.lint.container import LintedContainer, written
from jobspec.lint.linted import LintedDocument, LintedJob
from jobspec.lint.mpi_hosts import only_launches
from jobspec.operators.accelerators import OTHER_ACCELERATORS
from jobspec.programs import command_lines

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from jobspec.diagnostics.diagnostic import Severity


MOST_OF_A_NODE = 16


_VISIBLE = "CUDA_VISIBLE_DEVICES"
#: The variable by which the container runtime shows GPUs of the node, and its values that show none.
_SHOWN, _NONE_SHOWN = "NVIDIA_VISIBLE_DEVICES", ("", "void", "none")


def more_processes_than_gpus(job: LintedJob) -> Iterator[Finding]:
    """A pod starts more processes than it has GPUs.

    Why: each process of a pod takes the GPU of its local rank; those without one end with "invalid device ordinal", and the job fails.
    The trainer counts by what the TrainJob itself asks for: where only the runtime has the GPUs, it counts CPUs.
    Instead: leave the number of processes out where GPUs are asked for, or make both equal.
    Before:
        numProcPerNode: 8
        resourcesPerNode: {limits: {nvidia.com/gpu: 4}}
    After:
        numProcPerNode: 4
        resourcesPerNode: {limits: {nvidia.com/gpu: 4}}
    Evidence: kubeflow/trainer#2407, kubeflow/trainer#2492
    """
    for container, processes, place in _counted(job):
        if 0 < container.gpus < processes:
            message = f"{processes} processes per pod, but only {counted(container.gpus, 'GPU')}"
            yield Finding(place, message, f"start {counted(container.gpus, 'process')}, or ask for as many GPUs as processes")


def idle_gpus(job: LintedJob) -> Iterator[Finding]:
    """A pod starts fewer processes than it has GPUs.

    Why: a process of distributed training uses one GPU; the others are paid for, and kept from everybody else, for nothing.
    Instead: start a process for each GPU (`auto` counts them), or ask for fewer.
    Before:
        nprocPerNode: "1"
        limits: {nvidia.com/gpu: 8}
    After:
        nprocPerNode: "8"
        limits: {nvidia.com/gpu: 8}
    Evidence: kubeflow/trainer#2407
    """
    for container, processes, place in _counted(job):
        if 0 < processes < container.gpus:
            message = f"idle GPUs: {counted(processes, 'process')} for {counted(container.gpus, 'GPU')} per pod"
            yield Finding(place, message, f"start {counted(container.gpus, 'process')}, or ask for {counted(processes, 'GPU')}")


def uncounted_accelerators(job: LintedJob) -> Iterator[Finding]:
    """The trainer does not count accelerators whose resource name is not `gpu`: it starts one process for each CPU.

    Why: slices of a GPU (MIG), TPUs, NPUs and Trainium do not have `gpu` in their names, by which the trainer counts.
    Instead: set the number of processes.
    Before: resourcesPerNode: {limits: {cpu: 8, nvidia.com/mig-1g.5gb: 1}}
    After:
        numProcPerNode: 1
        resourcesPerNode: {limits: {cpu: 8, nvidia.com/mig-1g.5gb: 1}}
    Evidence: `GetNumGPUPerNode` of github.com/kubeflow/trainer pkg/runtime, 2.0 to 2.3
    """
    in_runtime = job.in_runtime("spec", "mlPolicy", "torch", "numProcPerNode")
    if job.runtime is None or job.get("spec", "trainer", "numProcPerNode") is not None or isinstance(in_runtime, int):
        return
    for container in job.training_containers:
        processes = text(container.variable(command_lines.NPROC_PER_NODE), "value")
        for name, place, number in container.other_accelerators if processes.isdigit() and not container.gpus else ():
            if number and processes != str(number):
                message = f"the trainer does not count `{name}`: {counted(int(processes), 'process')} for {number} per pod"
                yield Finding(place, message, f"write `numProcPerNode: {number}`")


def process_per_host_cpu(job: LintedJob) -> Iterator[Finding]:
    """Without a GPU and `nprocPerNode`, torchrun starts one process for each CPU of the node.

    Why: training-operator passes `auto` to torchrun by default; without an accelerator, torchrun counts the CPUs of the machine,
    not those that the pod may use. On a host of 96 CPUs, 96 processes fight for the pod's two, and for its memory.
    Instead: set the number of processes.
    Before: spec: {pytorchReplicaSpecs: {}}
    After: spec: {nprocPerNode: "1", pytorchReplicaSpecs: {}}
    Evidence: kubeflow/trainer#2407; `determine_local_world_size` of torch.distributed.run
    """
    for container in job.training_containers:
        said = container.variable(command_lines.NPROC_PER_NODE)
        if container.launcher != "torchrun" or text(said, "value") != "auto" or container.gpus or container.other_accelerators:
            continue
        if said and all(name != "--nproc-per-node" for name, _, _ in container.torchrun_flags):
            at = written(said.get("value"), container.tree)
            yield Finding(at, "torchrun starts one process for each CPU of the node, whatever the pod's limit", 'set `nprocPerNode: "1"`')


def backend_without_gpus(job: LintedJob) -> Iterator[Finding]:
    """The program uses the NCCL backend, and its pods request no GPU.

    Why: NCCL works between GPUs alone, and ends with "no GPUs found" elsewhere. Some nodes show their GPUs to pods that asked for none;
    then the job takes what the scheduler gave to others.
    Instead: ask for GPUs, or choose gloo.
    Before: args: [--backend, nccl]
    After: args: [--backend, gloo]
    Evidence: kubeflow/pytorch-operator#202, kubeflow/trainer#1358
    """
    for container, value, place in _backends(job):
        if value == "nccl" and not container.gpus and not container.other_accelerators:
            yield Finding(place, "NCCL needs GPUs, and the pod requests none", "request GPUs, or use gloo")


def unrequested_gpus(job: LintedJob) -> Iterator[Finding]:
    """A container that trains names its GPUs by `NVIDIA_VISIBLE_DEVICES`, and requests none.

    Why: the scheduler counts requests. It places the pod on any node, also one without GPUs; where the container runtime of a node follows
    the variable, the pod takes GPUs that other pods have been given.
    Instead: request the GPUs; NVIDIA's device plugin sets the variable then.
    Before: env: [{name: NVIDIA_VISIBLE_DEVICES, value: all}]
    After: resources: {limits: {nvidia.com/gpu: 1}}
    Evidence: NVIDIA/k8s-device-plugin#61, NVIDIA/k8s-device-plugin#87, GoogleCloudPlatform/container-engine-accelerators#239
    """
    if job.given.group_kind in RUNTIMES:  # whose TrainJobs request the GPUs
        return
    for container in job.training_containers:
        said = container.variable(_SHOWN)
        value = text(said, "value")
        if said is None or value in _NONE_SHOWN or "$" in value or not said.mark.line or only_launches(job, container):
            continue
        if not _may_have_devices(container):
            message = f"`{_SHOWN}={value}` without a request: the scheduler does not count these GPUs"
            yield Finding(said, message, "request `nvidia.com/gpu`, and remove the variable")


def absent_gpu(job: LintedJob) -> Iterator[Finding]:
    """`CUDA_VISIBLE_DEVICES` names a GPU by a number that the container does not have.

    Why: the numbers are those of the container, which begin at 0 whatever GPUs of the node it has been given. CUDA takes no GPU from the
    first number on that it does not know: the program finds fewer GPUs, or none, and ends with "no CUDA-capable device" or trains on CPUs.
    Instead: leave the variable out; the container sees its own GPUs alone.
    Before:
        env: [{name: CUDA_VISIBLE_DEVICES, value: '2,3'}]
        limits: {nvidia.com/gpu: 2}
    After:
        limits: {nvidia.com/gpu: 2}
    Evidence: NVIDIA/nvidia-docker#907, NVIDIA/k8s-device-plugin#183, OpenNMT/OpenNMT-py#609
    """
    for container in job.containers:
        requested = [name for name in container.resources if is_extended(name)]
        if not container.gpus or "nvidia.com/gpu" not in requested or _sees_gpus_of_node(container):
            continue
        for name, value, place in container.settings:
            numbers = value.split(",") if name == _VISIBLE else []
            absent = next((each for each in numbers if int(each) >= container.gpus), None) if all(map(str.isdigit, numbers)) else None
            if absent is not None:
                message = f"`{_VISIBLE}={value}`: the container has no GPU {absent}: it counts its {counted(container.gpus, 'GPU')} from 0"
                yield Finding(place, message, "remove the variable: the container sees its own GPUs alone")


def _sees_gpus_of_node(container: LintedContainer) -> bool:
    """True if a container may see more GPUs than it requests: it is privileged, or names those of the node."""
    is_privileged = text(container.tree, "securityContext", "privileged") == "True"
    return is_privileged or container.variable(_SHOWN) is not None or container.role.pod_tree.get("spec", "resourceClaims") is not None


def _may_have_devices(container: LintedContainer) -> bool:
    """True if a pod may get devices otherwise: by another resource, a claim, or an annotation of a scheduler that shares GPUs."""
    pod = container.role.pod_tree
    annotations = pod.get("metadata", "annotations")
    shares = annotations is not None and any("gpu" in key.lower() for key, _ in annotations.entries())
    return shares or any(map(is_extended, container.resources)) or pod.get("spec", "resourceClaims") is not None


def slow_backend(job: LintedJob) -> Iterator[Finding]:
    """The program uses the gloo backend between GPUs, which is slow.

    Why: gloo copies gradients through the memory of the host; NCCL moves them from GPU to GPU, many times faster.
    Instead: choose NCCL, or leave the choice to the program.
    Before: args: [--backend, gloo]
    After: args: [--backend, nccl]
    Evidence: https://docs.pytorch.org/docs/stable/distributed.html#which-backend-to-use
    """
    for container, value, place in _backends(job):
        if value == "gloo" and container.gpus:
            yield Finding(place, "gloo between GPUs is slow: it copies through host memory", "choose nccl")


def more_gpus_than_a_node(job: LintedJob) -> Iterator[Finding]:
    """A pod requests more GPUs than any common machine has.

    Why: a pod runs on one node; one that asks for more than a node has waits forever, without an error.
    Instead: ask for what a node has, and for more pods.
    Before: limits: {nvidia.com/gpu: 32}
    After: limits: {nvidia.com/gpu: 8}
    Evidence: kubeflow/kubeflow#5442
    """
    for container in job.containers:
        if container.gpus > MOST_OF_A_NODE:
            message = f"{container.gpus} GPUs in one pod: most nodes have at most {MOST_OF_A_NODE}"
            yield Finding(container.gpu_place, message, "use more pods with fewer GPUs each")


def uncounted_quota(document: LintedDocument) -> Iterator[Finding]:
    """A ResourceQuota has a key that the server does not count.

    Why: the server takes any name with a slash, and counts extended resources as `requests.NAME` alone, and objects as
    `count/PLURAL.GROUP`, such as `count/jobs.batch`. The quota stays at zero, and each namespace gets as many as it asks for.
    `limits.NAME` is an info, since schedulers such as Volcano may read it themselves.
    Instead: write `requests.` before the name of a resource, and the whole name of a kind.
    Before: hard: {nvidia.com/gpu: 8}
    After: hard: {requests.nvidia.com/gpu: 8}
    Evidence: `isExtendedResourceNameForQuota` of k8s.io/kubernetes pkg/quota/v1/evaluator/core; kubernetes/website#2460
    """
    hard = document.get("spec", "hard")
    for key in hard if isinstance(hard, dict) else ():
        place = ("spec", "hard", key)
        if key.startswith("count/"):
            if name := _counted_kind(key.removeprefix("count/"), document):
                yield Finding(place, f"no effect: the server counts these objects as `count/{name}`", f"write `count/{name}`")
            continue
        name = _bare(key)
        if "/" in key and "k8s.io/" not in key and not key.startswith("requests.") and is_extended(name):
            message = f"no effect: the server counts `{name}` as `requests.{name}` alone"
            severity: Severity | None = "info" if key == f"limits.{name}" else None
            yield Finding(place, message, f"write `requests.{name}`", severity=severity)


def _bare(key: str) -> str:
    """Return the resource that a key of a quota means.

    `request.` and `limit.` are taken for misspelt prefixes.
    """
    prefix, _, rest = key.partition(".")
    is_misspelt = prefix in ("request", "limit") and "." in rest.partition("/")[0]
    return rest if is_misspelt else key.removeprefix("limits.")


#: Parts of the names of groups that say nothing about whose they are.
_COMMON_PARTS = frozenset(("com", "dev", "io", "k8s", "org", "sigs", "x-k8s"))


def _counted_kind(name: str, document: LintedDocument) -> str:
    """Return the name by which the server counts the kind that a name means.

    If the name is right, or of no known kind, return an empty string.
    """
    resource, _, group = name.partition(".")
    alike = [each for each in every() if resource in (each.name.lower(), plural_of(each.name)) and each.component != "jobspec"]
    names = {f"{plural_of(each.name)}.{each.group}".rstrip("."): each for each in alike if _is_meant(group, each)}
    if name in names or (group and document.documents.of_name(CUSTOM_RESOURCE_DEFINITION, name)):
        return ""
    return min(names, key=lambda each: not names[each].is_builtin, default="")


def _is_meant(group: str, kind: Kind) -> bool:
    """True if a group is written for that of a kind.

    It may be absent, that of another kind of the project, or the same with a version.
    """
    bare, _, version = group.rpartition(".")
    if not group or group == kind.group or (bare == kind.group and version in kind.versions):
        return True
    return not kind.is_builtin and bool({*group.split(".")} & {*kind.group.split(".")} - _COMMON_PARTS)


def _counted(job: LintedJob) -> Iterator[tuple[LintedContainer, int, MarkedTree]]:
    """Each training container whose processes a launcher or the image may start by a number: that number, and who says it."""
    for container in job.training_containers:
        other = container.other_launcher
        if other and (option := other[0].count()):
            processes = other[0].processes(job.training_pods, container.gpus)
            if processes is not None and not _divides_gpus(container):
                yield container, processes, other[1][option.value_at]
            continue
        if container.launcher == "other":
            continue
        given = [(value, tree) for name, value, tree in container.torchrun_flags if name == "--nproc-per-node"]
        said = container.variable(command_lines.NPROC_PER_NODE)
        value, place = given[-1] if given else (text(said, "value"), written(said and said.get("value"), container.gpu_place))
        if not given and command_lines.NPROC_PER_NODE in container.program.exported:
            value, place = container.program.exported[command_lines.NPROC_PER_NODE], container.program.start
        if value.isdigit():
            yield container, int(value), place


def _divides_gpus(container: LintedContainer) -> bool:
    """Whether a container gives its GPUs to several programs: it says which ones a program sees, or serves a model beside the training."""
    return bool(container.variable(_VISIBLE)) or container.program.mentions(_VISIBLE, "vllm", "sglang")


def _backends(job: LintedJob) -> Iterator[tuple[LintedContainer, str, MarkedTree]]:
    for container in job.training_containers:
        yield from ((container, value, tree) for name, value, tree in container.flags if name in ("--backend", "--dist-backend"))


RULES = (
    Rule(more_processes_than_gpus, "warning", sees="any pods", reads=["gpu"]),
    Rule(idle_gpus, "warning", sees="any pods", reads=["gpu"]),
    Rule(uncounted_accelerators, "warning", reads=OTHER_ACCELERATORS),
    Rule(process_per_host_cpu, "warning", sees="PyTorchJob", reads=command_lines.NAMES),
    Rule(backend_without_gpus, "warning", sees="any pods", reads=["backend"]),
    Rule(unrequested_gpus, "warning", sees="any pods", reads=[_SHOWN]),
    Rule(absent_gpu, "warning", sees="any pods", reads=[_VISIBLE]),
    Rule(slow_backend, "warning", sees="any pods", reads=["backend"]),
    Rule(more_gpus_than_a_node, "info", sees="any pods", reads=["gpu"]),
    Rule(uncounted_quota, "warning", sees="document", of=[RESOURCE_QUOTA]),
)
