"""The Jobs of a JobSet, as JobSet sends them.

Follows `reconcileReplicatedJobs` and `constructJob`, sigs.k8s.io/jobset pkg/controllers, 0.8.2 to 0.12.0.
"""

from __future__ import annotations

from jobspec.apis.releases import Target
from jobspec.diagnostics.places import Mark
from jobspec.documents.marked_tree import MarkedTree, changed, is_true, items, set_by, text, with_appended, with_fields
from jobspec.operators.batch import POD_OF_JOB
from jobspec.operators.jobset import JOBSET
from jobspec.operators.jobset.claims import claim_name, claims
from jobspec.operators.jobset.labels import EXCLUSIVE, NODE_SELECTOR, JobPlace, labelled, number_of_jobs
from jobspec.operators.jobset.service import subdomain
from jobspec.operators.made import as_go_writes, at_most, operator_mark, owner_references
from jobspec.schemas import shapes


def jobs_of(jobset: MarkedTree, target: Target) -> list[MarkedTree]:
    """The Jobs of a stored JobSet, in the order in which they come; while it is suspended, none that depend on others."""
    template, waits = shapes.part(*JOBSET, target, ("spec", "replicatedJobs", 0, "template")), is_true(jobset, "spec", "suspend")
    mark, release = operator_mark("jobset", target["jobset"]), target["jobset"]
    return [
        as_go_writes(_job(JobPlace(jobset, replicated, index, mark, release)), template)
        for replicated in items(jobset.get("spec", "replicatedJobs"))
        for index in range(at_most(number_of_jobs(replicated), "Jobs of a replicated job"))
        if not (waits and items(replicated.get("dependsOn")))
    ]


def owned_by(jobset: MarkedTree, mark: Mark) -> MarkedTree:
    """The owner references of what a JobSet controls."""
    return owner_references(mark, *JOBSET, jobset.value["metadata"].value["name"])


def _job(place: JobPlace) -> MarkedTree:
    """A Job of the JobSet, before it is written as Go writes it."""
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
    if is_true(jobset, "spec", "network", "enableDNSHostnames"):
        job = changed(job, POD_OF_JOB, lambda pod: with_fields(pod, {"subdomain": subdomain(jobset)}))
    return _with_claims(_on_labelled_nodes(job, place), place)


def _on_labelled_nodes(job: MarkedTree, place: JobPlace) -> MarkedTree:
    """A Job that has nodes for itself, which a user has labelled and tainted."""
    annotations = job.get("metadata", "annotations")
    if not annotations or EXCLUSIVE not in annotations.value or NODE_SELECTOR not in annotations.value:
        return job
    key = "alpha.jobset.sigs.k8s.io/namespaced-job"
    node = {key: set_by(place.mark, f"{text(job, 'metadata', 'namespace')}_{place.name}")}
    taint = {"key": "alpha.jobset.sigs.k8s.io/no-schedule", "operator": "Exists", "effect": "NoSchedule"}

    def pod(spec: MarkedTree) -> MarkedTree:
        tolerant = with_appended(spec, "tolerations", [set_by(place.mark, taint)])
        return changed(tolerant, ("nodeSelector",), lambda each: with_fields(each, node))

    return changed(job, POD_OF_JOB, pod)


def _with_claims(job: MarkedTree, place: JobPlace) -> MarkedTree:
    """A Job with a volume for each claim of the JobSet that one of its containers mounts."""
    if place.jobset.get("spec", "volumeClaimPolicies") is None:
        return job
    pod = job.get(*POD_OF_JOB)
    containers = [each for name in ("containers", "initContainers") for each in items(pod.get(name) if pod else None)]
    mounted = {text(mount, "name") for each in containers for mount in items(each.get("volumeMounts"))}
    added = [
        set_by(place.mark, {"name": name, "persistentVolumeClaim": {"claimName": name.with_value(claim_name(name, place.jobset))}})
        for _, claim in claims(place.jobset)
        for name in [claim.value["metadata"].value["name"]]
        if name.value in mounted
    ]
    return changed(job, POD_OF_JOB, lambda spec: with_appended(spec, "volumes", added)) if added else job
