"""A TrainJob's changes to its runtime, read in the words of one release and written in those of another.

They are `podSpecOverrides` in 2.0, `podTemplateOverrides` in 2.1 and `runtimePatches` from 2.2 on; until 2.1, `labels` and `annotations`
of the spec are for the JobSet.
"""

from __future__ import annotations

from jobspec.documents.marked_tree import MarkedTree, items, text
from jobspec.migration.facts import NAMED
from jobspec.migration.made import by_migration, present

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

OF_JOBSET = ("labels", "annotations")
FIELDS = ("podSpecOverrides", "podTemplateOverrides", "runtimePatches")
_MANAGER = "jobspec.dev/migrated"
_PATCH = ("trainingRuntimeSpec", "template")
_POD = ("spec", "template")


class JobChange:
    """Changes to one replicated job: the metadata of its Jobs, and its pod template."""

    __slots__ = ("metadata", "name", "template")

    def __init__(self, name: MarkedTree, template: MarkedTree | None, metadata: MarkedTree | None = None) -> None:
        self.name = name
        self.template = template
        self.metadata = metadata


class JobSetChange:
    """One entry: who makes it, the metadata of the JobSet, and the changes to replicated jobs."""

    __slots__ = ("jobs", "jobset", "manager", "place")

    def __init__(
        self, place: MarkedTree, jobs: Sequence[JobChange], *, jobset: MarkedTree | None = None, manager: MarkedTree | None = None
    ) -> None:
        self.place = place
        self.jobs = jobs
        self.jobset = jobset
        self.manager = manager


def read_changes(spec: MarkedTree) -> list[JobSetChange]:
    """The changes that a TrainJob's spec makes, in whichever words it has."""
    return [
        *_of_jobset(spec),
        *map(_pod_spec, items(spec.get(FIELDS[0]))),
        *map(_pod_template, items(spec.get(FIELDS[1]))),
        *_patches(spec),
    ]


def _of_jobset(spec: MarkedTree) -> list[JobSetChange]:
    found = present({name: spec.get(name) for name in OF_JOBSET})
    return [JobSetChange(spec, (), jobset=next(iter(found.values())).with_value(found))] if found else []


def _pod_spec(entry: MarkedTree) -> JobSetChange:
    rest = entry.with_value({name: each for name, each in entry.value.items() if name != "targetJobs"})
    return _targeted(entry, entry.with_value({"spec": rest}))


def _pod_template(entry: MarkedTree) -> JobSetChange:
    return _targeted(entry, entry.with_value({name: each for name, each in entry.value.items() if name != "targetJobs"}))


def _targeted(entry: MarkedTree, template: MarkedTree) -> JobSetChange:
    return JobSetChange(entry, [JobChange(each.value["name"], template) for each in items(entry.get("targetJobs"))])


def _patches(spec: MarkedTree) -> list[JobSetChange]:
    found = []
    for entry in items(spec.get(FIELDS[2])):
        jobs = [
            JobChange(each.value["name"], each.get("template", *_POD), each.get("template", "metadata"))
            for each in items(entry.get(*_PATCH, "spec", "replicatedJobs"))
        ]
        found.append(JobSetChange(entry, jobs, jobset=entry.get(*_PATCH, "metadata"), manager=entry.get("manager")))
    return found


def written(changes: Sequence[JobSetChange], field: str) -> dict[str, MarkedTree]:
    """The fields of a spec that make the changes, in the words of the release that has *field*."""
    if field == FIELDS[2]:
        entries = [_patch(change, number) for number, change in enumerate(changes, 1)]
        return {field: entries[0].with_value(entries)} if entries else {}
    found = _metadata_of(changes)
    entries = _templates(changes) if field == FIELDS[1] else _specs(changes)
    return {**found, **({field: entries[0].with_value(entries)} if entries else {})}


def unwritten(changes: Sequence[JobSetChange]) -> list[MarkedTree]:
    """The metadata of Jobs, for which no field but `runtimePatches` has a place."""
    return [job.metadata for change in changes for job in change.jobs if job.metadata]


def _patch(change: JobSetChange, number: int) -> MarkedTree:
    manager = change.manager or by_migration(f"{_MANAGER}-{number}", change.place)
    jobs = [
        {"name": job.name, "template": present({"metadata": job.metadata, "spec": {"template": job.template} if job.template else None})}
        for job in change.jobs
    ]
    template = present({"metadata": change.jobset, "spec": {"replicatedJobs": jobs} if jobs else None})
    return by_migration({"manager": manager, "trainingRuntimeSpec": {"template": template}}, change.place)


def _metadata_of(changes: Sequence[JobSetChange]) -> dict[str, MarkedTree]:
    found: dict[str, MarkedTree] = {}
    for change in changes:
        for name in OF_JOBSET:
            own = change.jobset.get(name) if change.jobset else None
            if own:
                found[name] = merged(found[name], own) if name in found else own
    return found


def _templates(changes: Sequence[JobSetChange]) -> list[MarkedTree]:
    """An entry for each template, with all the replicated jobs of a change that have it."""
    entries: list[MarkedTree] = []
    for change in changes:
        by_template: dict[int, list[JobChange]] = {}
        for job in change.jobs:
            by_template.setdefault(id(job.template), []).append(job)
        entries += [_entry(jobs, change, jobs[0].template.value) for jobs in by_template.values() if jobs[0].template]
    return entries


def _specs(changes: Sequence[JobSetChange]) -> list[MarkedTree]:
    """An entry for each replicated job, since none may be named twice; jobs with the same changes share one."""
    by_job: dict[str, tuple[JobChange, list[MarkedTree], JobSetChange]] = {}
    for change in changes:
        for job in change.jobs:
            spec = job.template.get("spec") if job.template else None
            if spec:
                by_job.setdefault(str(job.name.value), (job, [], change))[1].append(spec)
    groups: dict[tuple[int, ...], list[JobChange]] = {}
    for job, specs, _ in by_job.values():
        groups.setdefault(tuple(map(id, specs)), []).append(job)
    entries = []
    for jobs in groups.values():
        _, specs, change = by_job[str(jobs[0].name.value)]
        whole = specs[0]
        for spec in specs[1:]:
            whole = merged(whole, spec)
        entries.append(_entry(jobs, change, whole.value))
    return entries


def _entry(jobs: Sequence[JobChange], change: JobSetChange, fields: dict[str, MarkedTree]) -> MarkedTree:
    return by_migration({"targetJobs": [{"name": job.name} for job in jobs], **fields}, change.place)


def merged(one: MarkedTree, other: MarkedTree, name: str = "") -> MarkedTree:
    """Two changes as one, the later on top; items of a list by their names."""
    if isinstance(one.value, dict) and isinstance(other.value, dict):
        both = {key: merged(one.value[key], each, key) if key in one.value else each for key, each in other.value.items()}
        return one.with_value({**one.value, **both})
    if isinstance(one.value, list) and name in NAMED:
        kept = {text(each, NAMED[name]): each for each in items(one)}
        for each in items(other):
            key = text(each, NAMED[name])
            kept[key] = merged(kept[key], each) if key in kept else each
        return one.with_value(list(kept.values()))
    return other
