"""The Jobs of a JobSet, as JobSet sends them.

Follows `reconcileReplicatedJobs` and `constructJob`, sigs.k8s.io/jobset pkg/controllers, 0.8.2 to 0.12.0.
"""

from __future__ import annotations

from jobspec.documents.marked_tree import MarkedTree, items, text
from jobspec.operators.edits import changed, is_true, number, with_fields
from jobspec.operators.go_types import as_go_writes
from jobspec.operators.jobset.labels import EXCLUSIVE, NODE_SELECTOR, JobPlace, labelled
from jobspec.operators.objects import few, operator_mark, set_by
from jobspec.operators.stored import UID
from jobspec.schemas import shapes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from jobspec.diagnostics import Mark
    from jobspec.targets import Target

_POD = ("spec", "template", "spec")


def jobs_of(jobset: MarkedTree, target: Target) -> list[MarkedTree]:
    """The Jobs of a stored JobSet, in the order in which they come; while it is suspended, none that depend on others."""
    shape = shapes.load("jobset.x-k8s.io/v1alpha2", "JobSet", target)
    template = shape and shape.at(("spec", "replicatedJobs", 0, "template"))
    assert template
    waits = is_true(jobset, "spec", "suspend")
    return [
        as_go_writes(_job(place), template) for place in _places(jobset, target) if not (waits and items(place.replicated.get("dependsOn")))
    ]


def owned_by(jobset: MarkedTree, mark: Mark) -> MarkedTree:
    """The owner references of what a JobSet controls."""
    owner = {"apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet", "name": jobset.value["metadata"].value["name"], "uid": UID}
    return set_by(mark, [{**owner, "controller": True, "blockOwnerDeletion": True}])


def _places(jobset: MarkedTree, target: Target) -> Iterator[JobPlace]:
    mark = operator_mark("jobset", target["jobset"])
    for replicated in items(jobset.get("spec", "replicatedJobs")):
        for index in range(few(number(replicated, "replicas", default=1), "Jobs of a replicated job")):
            yield JobPlace(jobset, replicated, index, mark=mark, release=target["jobset"])


def _job(place: JobPlace) -> MarkedTree:
    jobset, mark = place.jobset, place.mark
    template = place.replicated.value["template"]
    own = template.get("metadata")
    metadata = MarkedTree({name: each for name in ("labels", "annotations") if own and (each := own.get(name))}, mark)
    name = jobset.value["metadata"].value["name"].with_value(place.name)
    named = with_fields(metadata, {"name": name, "namespace": jobset.value["metadata"].get("namespace")})
    spec = with_fields(template.value["spec"], {"suspend": jobset.get("spec", "suspend") or MarkedTree(False, mark)})
    job = set_by(mark, {"apiVersion": "batch/v1", "kind": "Job", "metadata": labelled(named, place), "spec": spec})
    job = changed(job, ("metadata",), lambda each: with_fields(each, {"ownerReferences": owned_by(jobset, mark)}))
    job = changed(job, ("spec", "template", "metadata"), lambda each: labelled(each, place))
    return _with_claims(_on_labelled_nodes(_with_subdomain(job, place), place), place)


def _with_subdomain(job: MarkedTree, place: JobPlace) -> MarkedTree:
    if not is_true(place.jobset, "spec", "network", "enableDNSHostnames"):
        return job
    return changed(job, _POD, lambda pod: with_fields(pod, {"subdomain": place.subdomain}))


def _on_labelled_nodes(job: MarkedTree, place: JobPlace) -> MarkedTree:
    """A Job that has nodes for itself, which a user has labelled and tainted."""
    annotations = job.get("metadata", "annotations")
    if not annotations or EXCLUSIVE not in annotations.value or NODE_SELECTOR not in annotations.value:
        return job
    key = "alpha.jobset.sigs.k8s.io/namespaced-job"
    node = {key: set_by(place.mark, f"{text(job, 'metadata', 'namespace')}_{place.name}")}
    taint = {"key": "alpha.jobset.sigs.k8s.io/no-schedule", "operator": "Exists", "effect": "NoSchedule"}

    def pod(spec: MarkedTree) -> MarkedTree:
        tolerations = spec.get("tolerations")
        more = (tolerations or spec).with_value([*items(tolerations), set_by(place.mark, taint)])
        return changed(with_fields(spec, {"tolerations": more}), ("nodeSelector",), lambda each: with_fields(each, node))

    return changed(job, _POD, pod)


def _with_claims(job: MarkedTree, place: JobPlace) -> MarkedTree:
    """A Job with a volume for each claim of the JobSet that one of its containers mounts."""
    if place.jobset.get("spec", "volumeClaimPolicies") is None:
        return job
    from jobspec.operators.jobset.claims import claim_name, claims

    pod = job.get(*_POD)
    containers = [each for name in ("containers", "initContainers") for each in items(pod.get(name) if pod else None)]
    mounted = {text(mount, "name") for each in containers for mount in items(each.get("volumeMounts"))}
    added = [
        set_by(place.mark, {"name": name, "persistentVolumeClaim": {"claimName": name.with_value(claim_name(name, place.jobset))}})
        for _, claim in claims(place.jobset)
        for name in [claim.value["metadata"].value["name"]]
        if name.value in mounted
    ]
    if not added:
        return job

    def with_volumes(spec: MarkedTree) -> MarkedTree:
        volumes = spec.get("volumes")
        return with_fields(spec, {"volumes": (volumes or spec).with_value([*items(volumes), *added])})

    return changed(job, _POD, with_volumes)
