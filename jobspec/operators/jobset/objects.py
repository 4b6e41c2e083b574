"""What JobSet makes of a stored JobSet: its Service, its claims, its Jobs, and the labels that it writes on each.

Follows `reconcile` and `createHeadlessSvcIfNecessary`, sigs.k8s.io/jobset pkg/controllers, 0.8.2 to 0.12.0.
"""

from __future__ import annotations

from jobspec.apis.releases import Target, is_at_least
from jobspec.diagnostics.places import Data, Mark
from jobspec.diagnostics.record import Record
from jobspec.documents.marked_tree import MarkedTree, changed, is_true, items, number, set_by, text, with_appended, with_fields
from jobspec.go.values import mapping
from jobspec.operators.batch import POD_OF_JOB
from jobspec.operators.made import SHA1, UID, as_go_writes, at_most, operator_mark, owner_references
from jobspec.operators.workloads import TEMPLATE
from jobspec.schemas import shapes

JOBSET = ("jobset.x-k8s.io/v1alpha2", "JobSet")
"""Its `apiVersion` and `kind`."""
_CONTAINERS = (*TEMPLATE, "spec", "containers")
CONTROLLER = "jobset.sigs.k8s.io/jobset-controller"


def made_by_jobset(jobset: MarkedTree, target: Target) -> list[MarkedTree]:
    """The objects in the order in which they come; none where somebody else manages the JobSet, or where it has pods without containers."""
    jobs = items(jobset.get("spec", "replicatedJobs"))
    if text(jobset, "spec", "managedBy") not in ("", CONTROLLER) or not all(each.get(*_CONTAINERS) for each in jobs):
        return []
    owners = owned_by(jobset, operator_mark("jobset", target["jobset"]))
    made_claims = [_claim_of_template(*each, jobset, target, owners) for each in claims(jobset)] if makes_claims(target) else []
    return [*_services(jobset, target, owners), *made_claims, *jobs_of(jobset, target)]


def _services(jobset: MarkedTree, target: Target, owners: MarkedTree) -> list[MarkedTree]:
    """The headless Service through which the pods find each other by their host names; none where they need none."""
    network = jobset.get("spec", "network")
    if network is None or not is_true(network, "enableDNSHostnames"):
        return []
    name, early = jobset.value["metadata"].value["name"], network.get("publishNotReadyAddresses")
    metadata = {"name": _subdomain(jobset), "namespace": jobset.value["metadata"].value["namespace"], "ownerReferences": owners}
    spec = {
        "clusterIP": "None",
        "selector": {f"{PREFIX}/jobset-name": name},
        **({"publishNotReadyAddresses": early} if early and early.value else {}),
    }
    return [set_by(operator_mark("jobset", target["jobset"]), {"apiVersion": "v1", "kind": "Service", "metadata": metadata, "spec": spec})]


def _subdomain(jobset: MarkedTree) -> MarkedTree:
    """The subdomain of the pods, which is the name of the headless Service."""
    found = jobset.get("spec", "network", "subdomain")
    return found if found and found.value else jobset.value["metadata"].value["name"]


def headless_service(spec: Data, name: str) -> str:
    """Return the name of the headless Service of a JobSet from its spec.

    `_subdomain` has the same name. If the pods have no host names, return an empty string.
    """
    network = mapping(spec, "network")
    return "" if network.get("enableDNSHostnames") is False else network.get("subdomain") or name


# The Jobs of a JobSet, as JobSet sends them.
#
# Follows `reconcileReplicatedJobs` and `constructJob`, sigs.k8s.io/jobset pkg/controllers, 0.8.2 to 0.12.0.


def jobs_of(jobset: MarkedTree, target: Target) -> list[MarkedTree]:
    """The Jobs of a stored JobSet, in the order in which they come; while it is suspended, none that depend on others."""
    template, waits = shapes.part(*JOBSET, target, ("spec", "replicatedJobs", 0, "template")), is_true(jobset, "spec", "suspend")
    mark, release = operator_mark("jobset", target["jobset"]), target["jobset"]
    return [
        as_go_writes(_job(JobPlace(jobset, replicated, index, mark, release)), template)
        for replicated in items(jobset.get("spec", "replicatedJobs"))
        for index in range(at_most(_replicas(replicated), "Jobs of a replicated job"))
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
        job = changed(job, POD_OF_JOB, lambda pod: with_fields(pod, {"subdomain": _subdomain(jobset)}))
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


# What JobSet writes on each Job and its pods, as labels and as annotations: of which JobSet it is, and which number it has in it.
#
# Follows `labelAndAnnotateObject`, sigs.k8s.io/jobset pkg/controllers, 0.8.2 to 0.12.0.


PREFIX = "jobset.sigs.k8s.io"
EXCLUSIVE = "alpha.jobset.sigs.k8s.io/exclusive-topology"
NODE_SELECTOR = "alpha.jobset.sigs.k8s.io/node-selector"
"""The annotation by which a user says that nodes are labelled for each Job already."""


class JobPlace(Record):
    """The place of a Job in its JobSet."""

    jobset: MarkedTree
    replicated: MarkedTree
    index: int
    """The number of the Job among those of its replicated job."""
    mark: Mark
    """The place of what JobSet sets itself."""
    release: str
    """Of JobSet."""

    @property
    def name(self) -> str:
        """The name of the Job."""
        return f"{text(self.jobset, 'metadata', 'name')}-{text(self.replicated, 'name')}-{self.index}"


def labelled(metadata: MarkedTree, place: JobPlace) -> MarkedTree:
    """Metadata of a Job, or of its pod template, with JobSet's labels and annotations."""
    own = {name: set_by(place.mark, value) for name, value in _labels(place).items()}
    labels = metadata.get("labels") or MarkedTree({}, place.mark)
    annotations = metadata.get("annotations") or MarkedTree({}, place.mark)
    exclusive = _exclusive(place)
    return with_fields(metadata, {"labels": with_fields(labels, own), "annotations": with_fields(annotations, {**own, **exclusive})})


def _labels(place: JobPlace) -> dict[str, MarkedTree | str]:
    """The labels that tell a Job and its pods which one of the JobSet it is."""
    name = place.replicated.value["name"]
    jobs = items(place.jobset.get("spec", "replicatedJobs"))
    group = place.replicated.get("groupName")
    found: dict[str, MarkedTree | str] = {
        "jobset-name": place.jobset.value["metadata"].value["name"],
        "replicatedjob-name": name,
        "restart-attempt": "0",
        "replicatedjob-replicas": str(_replicas(place.replicated)),
        "global-replicas": str(sum(map(_replicas, jobs))),
        "job-index": str(place.index),
        "job-key": SHA1,
        "job-global-index": str(_before(jobs, name.value) + place.index),
    }
    if is_at_least(place.release, "0.10.1"):
        grouped = [each for each in jobs if text(each, "groupName") == text(place.replicated, "groupName")]
        found |= {
            "jobset-uid": UID,
            "group-name": group or "",
            "group-replicas": str(sum(map(_replicas, grouped))),
            "job-group-index": str(_before(grouped, name.value) + place.index),
        }
    coordinator = place.jobset.get("spec", "coordinator")
    if coordinator:
        found["coordinator"] = coordinator.with_value(_endpoint(coordinator, place))
    return {f"{PREFIX}/{key}": value for key, value in found.items()}


def _replicas(replicated: MarkedTree) -> int:
    return number(replicated, "replicas", default=1)


def _before(jobs: list[MarkedTree], name: str) -> int:
    """The number of Jobs before the first of a replicated job."""
    names = [text(each, "name") for each in jobs]
    return sum(map(_replicas, jobs[: names.index(name)]))


def _endpoint(coordinator: MarkedTree, place: JobPlace) -> str:
    pod = f"{number(coordinator, 'jobIndex', default=0)}-{number(coordinator, 'podIndex', default=0)}"
    return f"{text(place.jobset, 'metadata', 'name')}-{text(coordinator, 'replicatedJob')}-{pod}.{_subdomain(place.jobset).value}"


def _exclusive(place: JobPlace) -> dict[str, MarkedTree]:
    """The annotations that give each Job a topology for itself, from the JobSet or, before that, the replicated job."""
    found: dict[str, MarkedTree] = {}
    for own in (place.jobset.get("metadata", "annotations"), place.replicated.get("template", "metadata", "annotations")):
        if own and own.get(EXCLUSIVE):
            found |= {name: each for name in (EXCLUSIVE, NODE_SELECTOR) if (each := own.get(name))}
    return found


# The volume claims of a JobSet, which it makes from templates from 0.11 on.
#
# Follows `createPVCsIfNecessary` and `addVolumes`, sigs.k8s.io/jobset pkg/controllers, 0.11.1 to 0.12.0.


def makes_claims(target: Target) -> bool:
    """Whether JobSet makes claims of templates."""
    return is_at_least(target["jobset"], "0.11.1")


def claims(jobset: MarkedTree) -> list[tuple[MarkedTree, MarkedTree]]:
    """Return the claim templates that have a name, each with its policy."""
    policies = items(jobset.get("spec", "volumeClaimPolicies"))
    return [(policy, template) for policy in policies for template in items(policy.get("templates")) if template.get("metadata", "name")]


def claim_name(template: MarkedTree, jobset: MarkedTree) -> str:
    """The name of the claim that is made of a template, given by its name."""
    return f"{template.value}-{text(jobset, 'metadata', 'name')}"


def _claim_of_template(policy: MarkedTree, template: MarkedTree, jobset: MarkedTree, target: Target, owners: MarkedTree) -> MarkedTree:
    """The claim of a template; one that goes with the JobSet has it as its owner."""
    mark = operator_mark("jobset", target["jobset"])
    own = template.value["metadata"]
    name = own.value["name"]
    labels = with_fields(own.get("labels") or MarkedTree({}, mark), {f"{PREFIX}/jobset-name": jobset.value["metadata"].value["name"]})
    metadata = {
        "name": name.with_value(claim_name(name, jobset)),
        "namespace": jobset.value["metadata"].value["namespace"],
        "labels": labels,
        **({"annotations": annotations} if (annotations := own.get("annotations")) else {}),
        **({"ownerReferences": owners} if text(policy, "retentionPolicy", "whenDeleted") == "Delete" else {}),
    }
    spec = template.get("spec") or MarkedTree({}, mark)
    return set_by(mark, {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": metadata, "spec": spec})
