"""Ray clusters whose pods run, and which no worker, no client or no job ever reaches; programs that KubeRay never submits.

Follows `FetchHeadServiceURL`, github.com/ray-project/kuberay ray-operator/controllers/ray/utils, `BuildJobSubmitCommand` and
`BuildServeService`, ray-operator/controllers/ray/common, and `reconcilePods`, ray-operator/controllers/ray, 1.4.2 to 1.7.0.
"""

from __future__ import annotations

from jobspec.diagnostics.places import Path, value_at
from jobspec.diagnostics.rules import Finding
from jobspec.documents.marked_tree import MarkedTree, items, of_kind, text
from jobspec.go.values import structs
from jobspec.kubernetes.problems import listed
from jobspec.operators.kuberay import (
    CLUSTER_SPECS,
    HEAD,
    HEAD_GROUP,
    HTTP_MODE,
    INTERACTIVE_MODE,
    JOB_MODE,
    JOB_SPECS,
    NODE_TYPE,
    PORTS,
    SIDECAR_MODE,
    WORKER,
)
from jobspec.operators.kuberay.submitter import METADATA_SINCE, keeps_metadata, writes_command_in_vain

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from jobspec.diagnostics.places import Data
    from jobspec.operators.expansion import ExpandedJob

_MODES = (JOB_MODE, SIDECAR_MODE, HTTP_MODE, INTERACTIVE_MODE)


def ray_outcomes(job: ExpandedJob) -> Iterator[Finding]:
    """What becomes of a Ray object that the server and KubeRay accept."""
    path = CLUSTER_SPECS.get(job.job.kind, ())
    cluster = value_at(job.job.data, path)
    if isinstance(cluster, dict):
        yield from _taken_group_names(cluster, path)
        yield from _unreachable_heads(job, path)
    if job.job.kind == "RayService":
        yield from _not_served(job, path)
    at = JOB_SPECS.get(job.job.kind)
    spec = value_at(job.job.data, at) if at else None
    if at and isinstance(spec, dict):
        yield from _not_submitted(job, spec, at)


def _taken_group_names(cluster: Data, path: Path) -> Iterator[Finding]:
    """Groups of workers whose pods KubeRay counts as those of another group."""
    known = [HEAD_GROUP]
    for number, group in enumerate(structs(cluster, "workerGroupSpecs")):
        name = str(group.get("groupName"))
        if name in known:
            other = "the head" if name == HEAD_GROUP else "the other group"
            message = f"two groups are named `{name}`: KubeRay counts pods of {other} as theirs, and deletes or never creates some"
            yield Finding((*path, "workerGroupSpecs", number, "groupName"), message, "rename it", rule="group-name-taken")
        known.append(name)


def _unreachable_heads(job: ExpandedJob, path: Path) -> Iterator[Finding]:
    """Services of the head that lead to no pod, or not to the port of the head."""
    pods = [each for each in of_kind(job.objects, "Pod") if text(each, "metadata", "labels", NODE_TYPE) == HEAD]
    has_workers = any(text(each, "metadata", "labels", NODE_TYPE) == WORKER for each in of_kind(job.objects, "Pod"))
    for service in of_kind(job.objects, "Service") if pods else ():
        selector = dict(service.entries("spec", "selector"))
        if text(service, "metadata", "labels", NODE_TYPE) != HEAD:
            continue
        labels = dict(pods[0].entries("metadata", "labels"))
        other = [name for name, each in selector.items() if name not in labels or labels[name].value != each.value]
        is_own = text(items(service.get("metadata", "ownerReferences"))[0], "kind") == "RayCluster"
        name = text(service, "metadata", "name")
        if other:
            message = f"the Service `{name}` leads to no pod: it selects {listed(other)}, which the head has with another value"
            hint = "remove the label from the head's group or template"
            yield Finding(labels.get(other[0]), message, hint, rule="head-unreachable", severity="error" if is_own else "warning")
        elif is_own and has_workers and text(service, "spec", "clusterIP") != "None" and not _has_port(service, _port(job, path)):
            message = f"workers never reach the head: the Service `{name}` has no port {_port(job, path)}"
            place = (*path, "headGroupSpec", "template", "spec", "containers", 0, "ports")
            yield Finding(place, message, f"add the container port `gcs-server`, {_port(job, path)}", rule="head-unreachable")


def _port(job: ExpandedJob, path: Path) -> str:
    """The port at which workers look for the head."""
    return str(value_at(job.job.data, (*path, "headGroupSpec", "rayStartParams", "port")) or PORTS["gcs-server"])


def _has_port(service: MarkedTree, port: str) -> bool:
    return any(text(each, "port") == port for each in items(service.get("spec", "ports")))


def _not_served(job: ExpandedJob, path: Path) -> Iterator[Finding]:
    """A RayService without a Service at which its programs answer."""
    services = of_kind(job.objects, "Service")
    if not services or any(text(each, "metadata", "labels", "ray.io/serve") for each in services):
        return
    message = "the RayService is never ready: no port of the head is named `serve`, so that KubeRay makes no Service for it"
    place = (*path, "headGroupSpec", "template", "spec", "containers", 0, "ports")
    yield Finding(place, message, "add the container port `serve`, 8000", rule="head-unreachable")


def _not_submitted(job: ExpandedJob, spec: Data, path: Path) -> Iterator[Finding]:
    """Why KubeRay, or the Job that it makes, never submits the program of a RayJob."""
    mode, rule = str(spec.get("submissionMode") or JOB_MODE), "never-submitted"
    if mode not in _MODES:
        message = f"KubeRay knows no submission mode `{mode}`: it makes the cluster, and never submits the program"
        yield Finding((*path, "submissionMode"), message, f"the modes are {listed(_MODES)}", rule=rule)
    cluster = spec.get("rayClusterSpec")
    if not isinstance(cluster, dict):
        return
    heads = [each for each in of_kind(job.objects, "Service") if text(each, "metadata", "labels", NODE_TYPE) == HEAD]
    named = [text(each, "name") for service in heads for each in items(service.get("spec", "ports"))]
    if heads and "dashboard" not in named:
        message = "KubeRay never submits the program: no port of the head is named `dashboard`"
        place = (*path, "rayClusterSpec", "headGroupSpec", "template", "spec", "containers", 0, "ports")
        yield Finding(place, message, "add the container port `dashboard`, 8265", rule=rule)
    if mode not in (JOB_MODE, SIDECAR_MODE):
        return
    template = structs(spec, "submitterPodTemplate", "spec", "containers")
    has_own_command = bool(mode == JOB_MODE and template and template[0].get("command"))
    writes_command = not has_own_command or writes_command_in_vain(job.target["kuberay"])
    if spec.get("metadata") and writes_command and not keeps_metadata(str(cluster.get("rayVersion") or ""), job.target["kuberay"]):
        message = f"KubeRay never submits the program: `metadata` needs a `rayVersion` of {METADATA_SINCE} or newer"
        yield Finding((*path, "metadata"), message, "write `rayVersion`, or remove `metadata`", rule=rule)
    if not has_own_command and not str(spec.get("entrypoint") or "").strip():
        message = "the program is never submitted: the RayJob has no `entrypoint`"
        yield Finding((*path, "entrypoint"), message, "write the command that the job runs", rule=rule)
