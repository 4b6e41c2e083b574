"""The labels and annotations of JobSet on each Job and its pods: of which JobSet it is, and which number it has in it.

Follows `labelAndAnnotateObject`, sigs.k8s.io/jobset pkg/controllers, 0.8.2 to 0.12.0.
"""

from __future__ import annotations

from jobspec.apis.releases import is_at_least
from jobspec.diagnostics.places import Mark
from jobspec.diagnostics.record import Record
from jobspec.documents.marked_tree import MarkedTree, items, number, set_by, text, with_fields
from jobspec.operators.jobset import PREFIX
from jobspec.operators.jobset.service import subdomain
from jobspec.operators.made import SHA1, UID

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
        "replicatedjob-replicas": str(number_of_jobs(place.replicated)),
        "global-replicas": str(sum(map(number_of_jobs, jobs))),
        "job-index": str(place.index),
        "job-key": SHA1,
        "job-global-index": str(_before(jobs, name.value) + place.index),
    }
    if is_at_least(place.release, "0.10.1"):
        grouped = [each for each in jobs if text(each, "groupName") == text(place.replicated, "groupName")]
        found |= {
            "jobset-uid": UID,
            "group-name": group or "",
            "group-replicas": str(sum(map(number_of_jobs, grouped))),
            "job-group-index": str(_before(grouped, name.value) + place.index),
        }
    coordinator = place.jobset.get("spec", "coordinator")
    if coordinator:
        found["coordinator"] = coordinator.with_value(_endpoint(coordinator, place))
    return {f"{PREFIX}/{key}": value for key, value in found.items()}


def number_of_jobs(replicated: MarkedTree) -> int:
    """The number of Jobs of a replicated job."""
    return number(replicated, "replicas", default=1)


def _before(jobs: list[MarkedTree], name: str) -> int:
    """The number of Jobs before the first of a replicated job."""
    names = [text(each, "name") for each in jobs]
    return sum(map(number_of_jobs, jobs[: names.index(name)]))


def _endpoint(coordinator: MarkedTree, place: JobPlace) -> str:
    pod = f"{number(coordinator, 'jobIndex', default=0)}-{number(coordinator, 'podIndex', default=0)}"
    return f"{text(place.jobset, 'metadata', 'name')}-{text(coordinator, 'replicatedJob')}-{pod}.{subdomain(place.jobset).value}"


def _exclusive(place: JobPlace) -> dict[str, MarkedTree]:
    """The annotations that give each Job a topology for itself, from the JobSet or, before that, the replicated job."""
    found: dict[str, MarkedTree] = {}
    for own in (place.jobset.get("metadata", "annotations"), place.replicated.get("template", "metadata", "annotations")):
        if own and own.get(EXCLUSIVE):
            found |= {name: each for name in (EXCLUSIVE, NODE_SELECTOR) if (each := own.get(name))}
    return found
