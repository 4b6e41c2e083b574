"""Convert TrainJobs and runtimes from one trainer release to another."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import KW_ONLY, dataclass

from jobspec.apis.kinds import RUNTIMES, TRAINJOB
from jobspec.apis.releases import Target
from jobspec.diagnostics.diagnostic import Diagnostic
from jobspec.diagnostics.grouping import grouped
from jobspec.documents.document import Document
from jobspec.documents.marked_tree import MarkedTree, items, text, with_marks
from jobspec.migrate.facts import NAMED, job_facts
from jobspec.migrate.jobs import LOST, NOTE, SEVERITIES, MigratedJob, path_at
from jobspec.migrate.writing import by_migration, present
from jobspec.operators.trainer.runtimes import API_VERSION, PATCH_FIELDS, RESERVED, takes_words_for_processes
from jobspec.schemas import shapes
from jobspec.schemas.shapes import Shape
from jobspec.world.world import Cluster

KINDS = (TRAINJOB, *RUNTIMES)


def migrate_runtime(runtime: Document, target: Target) -> tuple[MarkedTree, list[Diagnostic]]:
    """Return a runtime for a release, and the fields that the release does not have."""
    tree, dropped = pruned(with_marks(runtime.data, runtime.marks), target)
    return tree, [_reported(each, runtime, target) for each in dropped]


def _reported(dropped: Dropped, document: Document, target: Target) -> Diagnostic:
    name, path = dropped.name, path_at(dropped.tree.place(), document)
    if name == "numProcPerNode":
        is_default = dropped.tree.value == "auto"
        message = f"a runtime of trainer {target['trainer']} has no number of processes"
        hint = "" if is_default else "set `spec.trainer.numProcPerNode` in the TrainJobs that use it"
        rule = NOTE if is_default else LOST
        return document.problem(rule, message, path, hint=hint, severity=SEVERITIES[rule])
    message = f"`{name}` has no counterpart in trainer {target['trainer']}"
    return document.problem(LOST, message, path, severity=SEVERITIES[LOST])


def migrate_trainjob(
    job: Document, old: Sequence[Document], new: Sequence[Document], before: Target, cluster: Cluster
) -> tuple[MigratedJob, list[Diagnostic]]:
    """Migrate a TrainJob to the trainer release of a cluster.

    *old* and *new*: the runtimes and other objects that the job may refer to, before and after.
    """
    seen = job_facts(job, old, before)
    tree, dropped = pruned(_in_words_of(with_marks(job.data, job.marks), cluster.target), cluster.target)
    dropped += _of_jobs(with_marks(job.data, job.marks).value["spec"], tree.value["spec"])
    first = MigratedJob(job, [tree], seen, cluster, new)
    others = [MigratedJob(job, [repaired], seen, cluster, new) for repaired in _repaired(tree, first)]
    return min(first, *others, key=MigratedJob.cost) if others else first, [_reported(each, job, cluster.target) for each in dropped]


def _of_jobs(before: MarkedTree, after: MarkedTree) -> Iterator[Dropped]:
    """The metadata of Jobs that a spec has no place for: pods do not show them."""
    if PATCH_FIELDS[2] in before.value and PATCH_FIELDS[2] not in after.value:
        yield from (Dropped("template.metadata", each) for each in unwritten(read_changes(before)))


def _in_words_of(tree: MarkedTree, target: Target) -> MarkedTree:
    spec, known = tree.value["spec"], shapes.part(API_VERSION, "TrainJob", target, ("spec",)).fields or {}
    field = next(each for each in reversed(PATCH_FIELDS) if each in known)
    kept = dict(spec.value)
    if not kept.keys() <= known.keys():
        kept = {name: each for name, each in kept.items() if name not in (*PATCH_FIELDS, *OF_JOBSET)} | written(read_changes(spec), field)
    if "trainer" in kept and isinstance(kept["trainer"].value, dict) and not takes_words_for_processes(target["trainer"]):
        kept["trainer"] = _with_numbers(kept["trainer"])
    return tree.with_value({**tree.value, "spec": spec.with_value(kept)})


def _with_numbers(trainer: MarkedTree) -> MarkedTree:
    """Return a trainer without what 2.2 refuses.

    2.2 refuses words for the number of processes, and variables that the operator sets anyway.
    """
    fields = dict(trainer.value)
    number = fields.get("numProcPerNode")
    if number is not None and not isinstance(number.value, int):
        del fields["numProcPerNode"]
    env = [each for each in items(fields.get("env")) if text(each, "name") not in RESERVED["torch"]]
    if "env" in fields and len(env) != len(items(fields["env"])):
        fields["env"] = fields["env"].with_value(env)
    return trainer.with_value(fields)


def _repaired(tree: MarkedTree, first: MigratedJob) -> Iterator[MarkedTree]:
    """Yield the job with the number of processes of its nodes, if the releases count otherwise."""
    counts = [each.before for each in first.differences if each.key[-1] in ("PET_NPROC_PER_NODE", "nproc_per_node") and each.before]
    numbers = {int(each.value) for each in counts if str(each.value).isdecimal()} - {0}
    trainer = tree.value["spec"].get("trainer")
    if trainer and len(numbers) == 1:
        number = MarkedTree(numbers.pop(), (trainer.get("numProcPerNode") or trainer).mark)
        nodes = {name: each for name, each in trainer.value.items() if name == "numNodes"}
        rest = {name: each for name, each in trainer.value.items() if name not in ("numNodes", "numProcPerNode")}
        changed = trainer.with_value({**nodes, "numProcPerNode": number, **rest})
        yield tree.with_value({**tree.value, "spec": tree.value["spec"].with_value({**tree.value["spec"].value, "trainer": changed})})


# A TrainJob's changes to its runtime, read from the field of one release and written to that of another.
#
# They are `podSpecOverrides` in 2.0, `podTemplateOverrides` in 2.1 and `runtimePatches` from 2.2 on; until 2.1, `labels` and `annotations`
# of the spec are for the JobSet.


OF_JOBSET = ("labels", "annotations")
_MANAGER = "jobspec.dev/migrated"
_PATCH = ("trainingRuntimeSpec", "template")
_POD = ("spec", "template")


@dataclass(frozen=True, slots=True)
class JobChange:
    """Changes to one replicated job: the metadata of its Jobs, and its pod template."""

    name: MarkedTree
    template: MarkedTree | None
    metadata: MarkedTree | None = None


@dataclass(frozen=True, slots=True)
class JobSetChange:
    """One entry: who makes it, the metadata of the JobSet, and the changes to replicated jobs."""

    place: MarkedTree
    jobs: Sequence[JobChange]
    _: KW_ONLY
    jobset: MarkedTree | None = None
    manager: MarkedTree | None = None


def read_changes(spec: MarkedTree) -> list[JobSetChange]:
    """Return the changes of a TrainJob's spec, from all fields for changes."""
    return [
        *_of_jobset(spec),
        *(_override(each, is_spec=True) for each in items(spec.get(PATCH_FIELDS[0]))),
        *(_override(each, is_spec=False) for each in items(spec.get(PATCH_FIELDS[1]))),
        *_patches(spec),
    ]


def _of_jobset(spec: MarkedTree) -> list[JobSetChange]:
    found = present({name: spec.get(name) for name in OF_JOBSET})
    return [JobSetChange(spec, (), jobset=next(iter(found.values())).with_value(found))] if found else []


def _override(entry: MarkedTree, *, is_spec: bool) -> JobSetChange:
    """Return the change of an entry for the jobs that it names.

    The other fields of the entry are a pod template, or its spec.
    """
    fields = entry.with_value({name: each for name, each in entry.value.items() if name != "targetJobs"})
    template = entry.with_value({"spec": fields}) if is_spec else fields
    return JobSetChange(entry, [JobChange(each.value["name"], template) for each in items(entry.get("targetJobs"))])


def _patches(spec: MarkedTree) -> list[JobSetChange]:
    found = []
    for entry in items(spec.get(PATCH_FIELDS[2])):
        jobs = [
            JobChange(each.value["name"], each.get("template", *_POD), each.get("template", "metadata"))
            for each in items(entry.get(*_PATCH, "spec", "replicatedJobs"))
        ]
        found.append(JobSetChange(entry, jobs, jobset=entry.get(*_PATCH, "metadata"), manager=entry.get("manager")))
    return found


def written(changes: Sequence[JobSetChange], field: str) -> dict[str, MarkedTree]:
    """Write the changes as fields of a spec, for the release that has *field*."""
    if field == PATCH_FIELDS[2]:
        entries = [_patch(change, number) for number, change in enumerate(changes, 1)]
        return {field: entries[0].with_value(entries)} if entries else {}
    found = _metadata_of(changes)
    entries = _templates(changes) if field == PATCH_FIELDS[1] else _specs(changes)
    return {**found, **({field: entries[0].with_value(entries)} if entries else {})}


def unwritten(changes: Sequence[JobSetChange]) -> list[MarkedTree]:
    """Return the metadata of Jobs, for which no field but `runtimePatches` has a place."""
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
        by_template = grouped(change.jobs, lambda job: id(job.template))
        entries += [_entry(jobs, change, jobs[0].template.value) for jobs in by_template.values() if jobs[0].template]
    return entries


def _specs(changes: Sequence[JobSetChange]) -> list[MarkedTree]:
    """Return an entry for each replicated job, since a job may be named only once.

    Jobs with the same changes share an entry.
    """
    by_job: dict[str, tuple[JobChange, list[MarkedTree], JobSetChange]] = {}
    for change in changes:
        for job in change.jobs:
            spec = job.template.get("spec") if job.template else None
            if spec:
                by_job.setdefault(str(job.name.value), (job, [], change))[1].append(spec)
    entries = []
    for several in grouped(by_job.values(), lambda each: tuple(map(id, each[1]))).values():
        _, (whole, *specs), change = several[0]
        for spec in specs:
            whole = merged(whole, spec)
        entries.append(_entry([job for job, _, _ in several], change, whole.value))
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


# Drop the fields of a manifest that another release does not have, and list them.


@dataclass(frozen=True, slots=True)
class Dropped:
    """A field that is not there any more."""

    name: str
    tree: MarkedTree


def pruned(tree: MarkedTree, target: Target) -> tuple[MarkedTree, list[Dropped]]:
    """Return a manifest without the fields that a release lacks, and those fields."""
    dropped: list[Dropped] = []
    return _pruned(tree, shapes.part(text(tree, "apiVersion"), text(tree, "kind"), target), dropped), dropped


def _pruned(tree: MarkedTree, shape: Shape, dropped: list[Dropped]) -> MarkedTree:
    if isinstance(tree.value, list) and shape.items is not None:
        return tree.with_value([_pruned(each, shape.items, dropped) for each in tree.value])
    if not isinstance(tree.value, dict) or (shape.fields is None and shape.values is None):
        return tree
    known = {name: child for name in tree.value if (child := shape.at((name,)))}
    dropped += [Dropped(name, each) for name, each in tree.value.items() if name not in known]
    return tree.with_value({name: _pruned(tree.value[name], child, dropped) for name, child in known.items()})
