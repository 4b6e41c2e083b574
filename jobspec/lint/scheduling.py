"""Scheduling: what pods ask of nodes and of the server, in every kind that writes pods."""

from __future__ import annotations

from collections.abc import Iterator

from jobspec.apis.kinds import CRON_JOB, JOB, JOBSET, PRIORITY_CLASS, QUEUE_GROUP, QUEUE_KINDS, TRAINJOB, WORKLOADS, of_name
from jobspec.diagnostics.rules import Finding, Rule
from jobspec.go.values import mapping, structs, text
from jobspec.kubernetes.pods.defaults import ALL_CONTAINERS, disabled_fields, with_requests
from jobspec.kubernetes.pods.resources import is_extended
from jobspec.kubernetes.problems import closest, listed
from jobspec.lint.linted import LintedDocument
from jobspec.operators.workloads import holds_patterns, queue_of, queue_path

TYPE_CHECKING = False
if TYPE_CHECKING:
    from jobspec.diagnostics.places import Data, Path

_REQUIRED = ("affinity", "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution", "nodeSelectorTerms")
_EXPRESSIONS = ("matchExpressions", "matchFields")
#: The labels of roles of nodes, which were renamed: a term for each selects nodes of either name.
_OF_ROLES = "node-role.kubernetes.io/"


def ored_selector_terms(document: LintedDocument) -> Iterator[Finding]:
    """Each of several `nodeSelectorTerms` has a single expression, about another label each.

    Why: terms are alternatives, and the expressions of one term hold together. A node that fits one of the terms is enough: the right
    machine in the wrong zone, where the pod's volume is not.
    Instead: one term with all expressions, if a node needs all of them.
    Before:
        nodeSelectorTerms:
        - matchExpressions: [{key: family, operator: In, values: [large]}]
        - matchExpressions: [{key: zone, operator: In, values: [a]}]
    After:
        nodeSelectorTerms:
        - matchExpressions:
          - {key: family, operator: In, values: [large]}
          - {key: zone, operator: In, values: [a]}
    Evidence: https://kubernetes.io/docs/concepts/scheduling-eviction/assign-pod-node/#node-affinity
    """
    for path, spec in document.pod_specs:
        terms = structs(spec, *_REQUIRED)
        each_in_terms = [[one for field in _EXPRESSIONS for one in structs(term, field)] for term in terms]
        if len(terms) < 2 or any(len(each) != 1 for each in each_in_terms):
            continue
        expressions = [each[0] for each in each_in_terms]
        keys = [text(each, "key") for each in expressions]
        names = {key.rpartition("/")[2] for key in keys}
        are_alternatives = all(text(each, "operator") == "Exists" for each in expressions) or all(key.startswith(_OF_ROLES) for key in keys)
        if len(names) == len(keys) and not are_alternatives:
            message = f"a node needs only one of {listed(keys)}: `nodeSelectorTerms` are ORed"
            yield Finding((*path, *_REQUIRED), message, "put the expressions into one term, if a node needs all of them")


def foreign_scheduling_gate(document: LintedDocument) -> Iterator[Finding]:
    """A pod has a scheduling gate that neither its operator nor Kueue removes.

    Why: a pod with a gate is not scheduled. Kueue removes its own gates alone: the job is admitted, takes its quota, and its pods stay
    SchedulingGated until a program or a person removes the other gate.
    Instead: remove the gate, or make sure that something in the cluster removes it.
    Before: schedulingGates: [{name: example.com/approved}]
    After: spec: {}
    Evidence: kubernetes-sigs/kueue#9541
    """
    for path, spec in document.pod_specs:
        for index, gate in enumerate(structs(spec, "schedulingGates")):
            name = text(gate, "name")
            if name and not name.startswith(f"{QUEUE_GROUP}/"):
                message = f"pods wait until something removes the scheduling gate `{name}`: neither the operator nor Kueue does"
                yield Finding((*path, "schedulingGates", index, "name"), message, "remove it, if no controller of yours does")


def claim_without_scheduler(document: LintedDocument) -> Iterator[Finding]:
    """Pods name their node, and claim devices by a template, which the scheduler alone allocates.

    Why: a pod with `nodeName` is not scheduled. Its new ResourceClaims are never allocated, so that the kubelet does not start it.
    Instead: a node selector, `kubernetes.io/hostname`, with which the pod is scheduled to that node.
    Before: "{nodeName: gpu-1, resourceClaims: [{name: gpu, resourceClaimTemplateName: one-gpu}]}"
    After:
        nodeSelector: {kubernetes.io/hostname: gpu-1}
        resourceClaims: [{name: gpu, resourceClaimTemplateName: one-gpu}]
    Evidence: kubernetes/kubernetes#114005, #118209; "Pre-scheduled Pods" of
    https://kubernetes.io/docs/concepts/scheduling-eviction/dynamic-resource-allocation/
    """
    for path, spec in document.pod_specs:
        new = [each for each in structs(spec, "resourceClaims") if text(each, "resourceClaimTemplateName")]
        if text(spec, "nodeName") and new:
            message = f"pods never start: nothing allocates the claim `{text(new[0], 'name')}` of a pod that is not scheduled"
            yield Finding((*path, "nodeName"), message, f"write `nodeSelector: {{kubernetes.io/hostname: {text(spec, 'nodeName')}}}`")


def misspelt_priority_class(document: LintedDocument) -> Iterator[Finding]:
    """Pods name a PriorityClass that is not among the files, and a class of nearly the same name is.

    Why: the server refuses pods of a class that does not exist: the job is accepted, and its pods never come.
    Instead: name the class of the files, or pass the file of the other one, too.
    Before: priorityClassName: hgih
    After: priorityClassName: high
    Evidence: `getPriorityClass` of k8s.io/kubernetes plugin/pkg/admission/priority
    """
    documents = document.documents
    is_in_queue = bool(queue_path(document.given.group_kind) and queue_of(document.given)) and documents.has(QUEUE_KINDS)
    if is_in_queue or document.cluster.complete.lack(PRIORITY_CLASS, ""):  # what becomes of the job says it
        return
    for path, spec in document.pod_specs:
        name = text(spec, "priorityClassName")
        if not name or documents.of_name(PRIORITY_CLASS, name) or documents.may_get_name(PRIORITY_CLASS, name):
            continue
        hint = closest(name, sorted({each.name for each in documents.of_kind(PRIORITY_CLASS)}))
        if hint and not name.startswith("system-"):
            yield Finding((*path, "priorityClassName"), f"pods refused: no PriorityClass `{name}` among the files", hint)


#: The kinds that hold the spec of a Job -> its path. The server drops a field of a CronJob's when a Job is made.
_JOB_SPECS = {JOB: ("spec",), CRON_JOB: ("spec", "jobTemplate", "spec")}


def disabled_field(document: LintedDocument) -> Iterator[Finding]:
    """The server drops a field silently: its feature gate is off by default.

    Why: the schema has the field, so that the server accepts it, without a warning, and does not store it. What it asks for never happens.
    Instead: remove the field, or turn the feature gate on in the cluster.
    Before: spec: {scheduling: {schedulingPolicy: {gang: {minCount: 2}}}}
    After: spec: {}
    Evidence: `dropDisabledFields` of k8s.io/kubernetes pkg/api/pod and pkg/registry/batch/job, 1.37.2
    """
    release = document.target["kubernetes"]
    off = [(*path, *inside) for path, spec in document.pod_specs for inside in disabled_fields(spec, release)]
    if document.given.group_kind in _JOB_SPECS:
        from jobspec.kubernetes.workloads.jobs import disabled_fields_of_job

        at = _JOB_SPECS[document.given.group_kind]
        spec = mapping(document.given.data, *at)
        off += [(*at, name) for name in sorted(disabled_fields_of_job(release)) if spec.get(name) is not None]
    for path in off:
        message = f"no effect: the server drops `{path[-1]}`, whose feature gate is off by default in Kubernetes {release}"
        yield Finding(path, message, "remove it, or turn the feature gate on")


def empty_quantity(document: LintedDocument) -> Iterator[Finding]:
    """A limit or request has no value.

    Why: the server drops it from a custom resource, without a warning, and takes it for 0 in a built-in kind. A pod with an empty limit of
    GPUs gets no GPU; one with an empty limit of memory has no limit.
    Instead: write the amount, or remove the line.
    Before: limits: {nvidia.com/gpu: }
    After: limits: {nvidia.com/gpu: 1}
    Evidence: `Quantity.UnmarshalJSON` of k8s.io/apimachinery; `PruneNonNullableNullsWithoutDefaults` of k8s.io/apiextensions-apiserver
    """
    if holds_patterns(document.given):
        return
    known = of_name(document.given.group_kind)
    becomes = "takes it for 0" if known and known.is_builtin else "drops it"
    for path, resources in _written_resources(document):
        amounts = {(field, name): amount for field in ("limits", "requests") for name, amount in mapping(resources, field).items()}
        given = {name for (_, name), amount in amounts.items() if amount is not None}
        for field, name in (each for each, amount in amounts.items() if amount is None):
            effect = ", and the container gets none" if is_extended(name) and name not in given else ""
            message = f"no value for `{name}` in `{field}`: the server {becomes}{effect}"
            yield Finding((*path, field, name), message, "write the amount, or remove the line")


def _written_resources(document: LintedDocument) -> Iterator[tuple[Path, Data]]:
    """Yield the resources of pods, of their containers and of a TrainJob's nodes, with their paths."""
    places: list[Path] = [("spec", "trainer", "resourcesPerNode")] if document.given.group_kind == TRAINJOB else []
    for path, spec in document.pod_specs:
        places.append((*path, "resources"))
        places += [(*path, field, at, "resources") for field in ALL_CONTAINERS for at, _ in enumerate(structs(spec, field))]
    yield from ((place, found) for place in places if isinstance(found := document.get(*place), dict))


def pod_resources_below_containers(document: LintedDocument) -> Iterator[Finding]:
    """The pods of a workload are refused: with defaults, their containers request more than the pod as a whole.

    Why: the server checks the template as it is written, and a pod with its defaults: a container that has a limit alone requests as much.
    The workload is accepted, each of its pods is refused, and only an event says so.
    Instead: write the requests of the containers, or raise that of the pod.
    Before: {resources: {requests: {cpu: 1}}, containers: [{resources: {limits: {cpu: 2}}}]}
    After: {resources: {requests: {cpu: 2}}, containers: [{resources: {limits: {cpu: 2}}}]}
    Evidence: Kubernetes 1.36.3 and 1.37.2
    """
    release = document.target["kubernetes"]
    for path, written in document.pod_specs:
        if not mapping(written, "resources"):
            continue
        from jobspec.go.codec import decode_as_go
        from jobspec.kubernetes.pods.resources import pod_resources_problems, with_resources
        from jobspec.schemas import shapes

        spec = decode_as_go(written, shapes.part("v1", "Pod", document.target, ("spec",)))
        before = {problem.path for problem in pod_resources_problems(spec, path)}
        for problem in pod_resources_problems(with_resources(with_requests(spec), release), path):
            if problem.path not in before:
                yield Finding(problem.path, f"pods refused: {problem.message}", problem.hint)


RULES = (
    Rule(ored_selector_terms, "info", sees="document"),
    Rule(foreign_scheduling_gate, "info", sees="document"),
    Rule(claim_without_scheduler, "warning", sees="document"),
    Rule(misspelt_priority_class, "warning", sees="document", kinds=[PRIORITY_CLASS]),
    Rule(disabled_field, "warning", sees="document"),
    Rule(empty_quantity, "warning", sees="document"),
    Rule(pod_resources_below_containers, "error", sees="document", of=[*WORKLOADS, JOBSET]),
)
