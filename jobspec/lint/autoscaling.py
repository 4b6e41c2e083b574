"""The autoscaler of an elastic PyTorchJob: whether it can compute its metrics.

Follows `calculatePodRequests`, k8s.io/kubernetes pkg/controller/podautoscaler, 1.30 to 1.37, and `SetDefaults_HorizontalPodAutoscaler`,
pkg/apis/autoscaling/v2.
"""

from __future__ import annotations

from jobspec.diagnostics.rules import Finding, Rule
from jobspec.documents.marked_tree import MarkedTree, items, text
from jobspec.go.values import mapping, structs
from jobspec.kubernetes.pods.defaults import with_requests

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from jobspec.diagnostics.places import Data
    from jobspec.lint.linted import LintedJob

#: The resources whose use the metrics server knows.
_MEASURED = ("cpu", "memory")
#: The replica type that the autoscaler scales.
_SCALED = "Worker"


def autoscaler_without_request(job: LintedJob) -> Iterator[Finding]:
    """The autoscaler of an elastic job targets a share of a request that a container of its pods lacks.

    Why: utilization is the use divided by the request. Without a request in each container, sidecars included, the autoscaler reports
    "missing request for cpu" (FailedGetResourceMetric), and the number of Workers stays. A limit alone counts as the request. With an
    empty list of `metrics`, the server targets 80 percent of the CPU.
    Instead: request the resource in each container, or target an `AverageValue`.
    Before:
        elasticPolicy: {metrics: [{type: Resource, resource: {name: cpu, target: {type: Utilization, averageUtilization: 80}}}]}
        limits: {nvidia.com/gpu: 1}
    After:
        elasticPolicy: {metrics: [{type: Resource, resource: {name: cpu, target: {type: Utilization, averageUtilization: 80}}}]}
        limits: {nvidia.com/gpu: 1, cpu: 8}
    Evidence: https://kubernetes.io/docs/concepts/workloads/autoscaling/horizontal-pod-autoscale/#how-does-a-horizontalpodautoscaler-work
    """
    role = next((each for each in job.roles if each.name == _SCALED), None)
    if not job.is_pytorchjob or role is None:
        return
    spec: Data = {}
    for place, resource, container in _utilization_targets(job):
        spec = spec or _with_defaults(job, role.pod_tree.data())
        lacking = next((each for each in _lacking(spec, resource) if container in ("", each)), "")
        if lacking:
            message = f"the autoscaler cannot scale by `{resource}`: `{lacking}` of the Workers has no request of it"
            yield Finding(place, message, f"request `{resource}` in each container, or target an `AverageValue`")


def _with_defaults(job: LintedJob, pod: Data) -> Data:
    """Return the spec of a pod with the requests that LimitRanges and limits give."""
    from jobspec.kubernetes.admission.limits import with_limit_defaults

    return with_requests(mapping(with_limit_defaults(pod, job.given.namespace, job.documents.limit_ranges), "spec"))


def _utilization_targets(job: LintedJob) -> Iterator[tuple[MarkedTree, str, str]]:
    """Yield each target that is a share of a request: its place, the resource, and the container, empty for all of the pod."""
    metrics = job.tree.get("spec", "elasticPolicy", "metrics")
    if metrics and metrics.value == []:
        yield metrics, "cpu", ""
    for metric in items(metrics):
        for field in ("resource", "containerResource"):
            name = metric.get(field, "name")
            if name and text(name) in _MEASURED and text(metric, field, "target", "type") == "Utilization":
                yield name, text(name), text(metric, field, "container")


def _lacking(spec: Data, resource: str) -> Iterator[str]:
    """Yield the containers and sidecars without a request of a resource; none if the pod as a whole has one."""
    if resource in mapping(spec, "resources", "requests"):
        return
    sidecars = [each for each in structs(spec, "initContainers") if each.get("restartPolicy") == "Always"]
    for each in (*structs(spec, "containers"), *sidecars):
        if resource not in mapping(each, "resources", "requests"):
            yield str(each.get("name"))


RULES = (Rule(autoscaler_without_request, "warning", sees="training-operator", reads=["metrics"]),)
