"""Translate a partial pod template into a partial TrainJob, whose API differs from release to release.

A TrainJob has no pod template. Image, command, arguments, environment and resources of the training container belong to
`spec.trainer`; other fields of the pod belong to entries that change the runtime's pods, as far as the schema of these entries
goes. The rest can be expressed by a runtime only.
"""

from __future__ import annotations

from jobspec.apis.kinds import TRAINJOB
from jobspec.diagnostics.diagnostic import Diagnostic
from jobspec.diagnostics.places import Key, Path, spell, value_at
from jobspec.diagnostics.record import Record
from jobspec.documents.document import Document
from jobspec.documents.marked_tree import MarkedTree, items, with_marks
from jobspec.operators.trainer.runtimes import (
    ANCESTOR,
    API_VERSION,
    PATCH_FIELDS,
    TRAINER,
    RuntimeReference,
    ancestor,
    merges_resources,
    shares_with_launcher,
    training_jobs,
)
from jobspec.operators.workloads import CONTAINERS, PATCHED_JOBS, REPLICATED_JOBS, TEMPLATE, roles_in
from jobspec.overlays.merge import APPEND, REMOVE, is_removal, only_removes
from jobspec.schemas import shapes
from jobspec.schemas.shapes import Shape

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Iterator, Sequence
    from typing import Any

    from jobspec.apis.releases import Target


WAY_OUT = "set it in your own TrainingRuntime, and refer to that in `spec.runtimeRef`"
#: Fields of the training container -> where `spec.trainer` has them.
TRAINER_FIELD = {"image": "image", "command": "command", "args": "args", "env": "env", "resources": "resourcesPerNode"}
_METADATA = ("labels", "annotations")  # what the trainer takes of a pod template's metadata


class TrainJobPods:
    """The pods of a TrainJob: its schema for changes to the pods, and its runtime."""

    def __init__(self, shape: Shape, runtime: JobRuntime, target: Target, problems: Iterable[Diagnostic] = ()) -> None:
        self.shape = shape
        self._target = target
        self.release = target["trainer"]
        self.overrides = PodOverrides(shape)
        self.runtime = runtime
        self.template_shape = shapes.part(API_VERSION, "ClusterTrainingRuntime", target, (*REPLICATED_JOBS, 0, *TEMPLATE))
        """The shape of the runtime's pod templates."""
        self.problems = list(problems)
        """What a TrainJob cannot express, and what else is wrong with the overlays so far."""

    def with_own_problems(self) -> TrainJobPods:
        """Return the pods with their own copy of the list of problems."""
        return TrainJobPods(self.shape, self.runtime, self._target, self.problems)

    def sources(self, job: MarkedTree, name: str) -> list[PodSource]:
        """Return the sources of the pod template of the replicated job *name*.

        One source is the overlays' own. A later source overrides an earlier one.
        """
        template, field = self.runtime.templates.get(name), self.overrides.field
        inherited = [PodSource(f"the runtime `{self.runtime.name}`", template)] if template else []
        entries = [
            PodSource(f"`spec.{field}[{number}]`", template, own=own)
            for number, entry in enumerate(items(job.get("spec", field)))
            for own in [self.overrides.is_own(entry, name)]
            for template in self.overrides.templates(entry, name) or [entry.with_value({})] * own
        ]
        if not any(each.own for each in entries):
            return [*inherited, *entries, PodSource("", job.with_value({}), own=True)]
        last = max(number for number, each in enumerate(entries) if each.own)
        return [*inherited, *(PodSource(each.name, each.template, own=number == last) for number, each in enumerate(entries))]

    def own_template(self, job: MarkedTree, name: str) -> MarkedTree:
        """Return how the overlays' own entry changes the pod template of a replicated job.

        *name*: the replicated job. If there is no entry, the change is empty.
        """
        return next(source.template for source in self.sources(job, name) if source.own)

    def translate(self, template: MarkedTree, job: MarkedTree) -> tuple[MarkedTree, MarkedTree]:
        """Translate a partial pod template into a partial TrainJob.

        Returns the whole partial TrainJob, and the part of it that changes *job*.
        """
        trainer: dict[str, MarkedTree] = {}
        pod: dict[str, MarkedTree] = {}
        for name, child in template.value.items():
            if name == "spec" and isinstance(child.value, dict):
                spec = self._spec(child, trainer)
                if spec:
                    pod[name] = child.with_value(spec)
            else:
                pod |= self._field(child, self.overrides.template, (name,))
        everything = dict.fromkeys(self.runtime.jobs if pod else (), template.with_value(pod))
        changes = {name: kept for name in everything if (kept := without_useless_removals(everything[name], self.own_template(job, name)))}
        if changes:
            self._report_shared_entries(job)
        return self._partial(template, trainer, everything), self._partial(template, trainer, changes)

    def _partial(self, place: MarkedTree, trainer: dict[str, MarkedTree], pods: dict[str, MarkedTree]) -> MarkedTree:
        spec = {"trainer": place.with_value(trainer)} if trainer else {}
        if pods:
            spec[self.overrides.field] = place.with_value(self.entries_for(pods))
        return place.with_value({"spec": place.with_value(spec)})

    def entries_for(self, pods: dict[str, MarkedTree]) -> list[MarkedTree]:
        """Return the entries that change pod templates, which are added in the order of the runtime's replicated jobs."""
        return self.overrides.entries_for(pods, list(self.runtime.jobs))

    def _report_shared_entries(self, job: MarkedTree) -> None:
        """Report an entry for several replicated jobs.

        2.0 accepts one entry for a job, which leaves no room for the overlays' own entry.
        """
        for entry in items(job.get("spec", "podSpecOverrides")) if self.overrides.field == "podSpecOverrides" else ():
            targets = [str(name.value) for each in items(entry.get("targetJobs")) if (name := each.get("name"))]
            shared = [name for name in targets if name in self.runtime.jobs]
            if shared and len(targets) > 1:
                message = f"trainer {self.release} accepts only one entry for `{shared[0]}`, and this one is for other jobs, too"
                self.not_expressible(entry, ("spec", "podSpecOverrides"), message, "split the entry into one for each job")

    def _spec(self, spec: MarkedTree, trainer: dict[str, MarkedTree]) -> dict[str, MarkedTree]:
        """Return the part of a partial pod spec that changes the pod.

        The part that belongs to `spec.trainer` is added to *trainer*.
        """
        found = {}
        for name, child in spec.value.items():
            if name in ("containers", "initContainers") and (child.get(APPEND) or isinstance(child.value, list)):
                changes = self._containers(name, child, trainer)
                if changes:
                    found[name] = child.with_value({APPEND: child.with_value(changes)})
            else:
                found |= self._field(child, self.overrides.pod, ("spec", name))
        return found

    def _containers(self, field: str, child: MarkedTree, trainer: dict[str, MarkedTree]) -> list[MarkedTree]:
        shape = self.overrides.pod.at((field, 0))
        appended = child.get(APPEND)
        changes = []
        for name, item in self._named_once(items(appended or child), field):
            if is_removal(item) or not self._is_there(field, name, adding=bool(appended)):
                continue
            change = {"name": name}
            for key, value in item.value.items():
                path: Path = ("spec", field, Key(name.value), key)
                if field == "containers" and name.value == CONTAINER and key in TRAINER_FIELD:
                    trainer[TRAINER_FIELD[key]] = value
                    self._report_unreached(key, value, path)
                elif key != "name":
                    change |= self._field(self._mounted_once(value, path) if key == "volumeMounts" else value, shape, path)
            if len(change) > 1:
                changes.append(item.with_value(change))
        return changes

    def _named_once(self, containers: list[MarkedTree], field: str) -> Iterator[tuple[MarkedTree, MarkedTree]]:
        """Yield the name of each container with the container.

        A container without a name, and a second one of a name, are problems.
        """
        seen = set()
        for item in containers:
            name = item.get("name")
            if name is None or not isinstance(name.value, str):
                message = f"an item of `{field}` needs `name`, which identifies the items"
                self.problems.append(Diagnostic("invalid-overlay", message, item.place(), field=spell(("spec", field))))
            elif name.value in seen:
                message = f"duplicate item `{name.value}` of `{field}`"
                self.problems.append(Diagnostic("invalid-overlay", message, item.place(), field=spell(("spec", field))))
            else:
                seen.add(name.value)
                yield name, item

    def _mounted_once(self, mounts: MarkedTree, path: Path) -> MarkedTree:
        """The mounts, one for each volume: an entry of the job cannot have more."""
        appended = mounts.get(APPEND)
        kept: dict[object, MarkedTree] = {}
        for number, item in enumerate(items(appended or mounts)):
            name = item.get("name")
            if kept.setdefault(name.value if name and isinstance(name.value, str) else number, item) is not item and name:
                self.report_double_mount(item, path, str(name.value))
        new = mounts.with_value(list(kept.values()))
        return mounts.with_value({APPEND: new}) if appended else new if isinstance(mounts.value, list) else mounts

    def report_double_mount(self, mount: MarkedTree, path: Path, volume: str) -> None:
        """Report that an entry of the job cannot mount a volume twice, nor two volumes at one path."""
        message = f"the overlays' entry of `spec.{self.overrides.field}` mounts `{volume}` already, and has one place for each volume"
        self.not_expressible(mount, path, message, "give the same source a second volume, with another name, and mount that")

    def _is_there(self, field: str, name: MarkedTree, *, adding: bool) -> bool:
        """True if all training jobs of the runtime have a container, as far as it is known.

        They always have `node`.
        """
        lists = [[each.get("name") for each in items(template.get("spec", field))] for template in self.runtime.templates.values()]
        known = [[str(each.value) for each in names if each] for names in lists]
        if (field, name.value) == ("containers", CONTAINER) or (all(name.value in names for names in known) and (known or not adding)):
            return True
        path = ("spec", field)
        if adding:
            self.not_expressible(name, path, f"a TrainJob cannot add the container `{name.value}` to its pods")
        else:
            lacking = next(names for names in known if name.value not in names)
            there = ", ".join(f"`{each}`" for each in lacking) or "none"
            message = f"the runtime `{self.runtime.name}` has no container `{name.value}` in `{field}`; it has {there}"
            self.problems.append(Diagnostic("missing-container", message, name.place(), field=spell(path)))
        return False

    def _field(self, child: MarkedTree, shape: Shape | None, path: Path) -> dict[str, MarkedTree]:
        placed = self._placed(child, shape, path)
        return {str(path[-1]): placed} if placed else {}

    def _placed(self, child: MarkedTree, shape: Shape | None, path: Path) -> MarkedTree | None:
        """The part of a pod field that the release's API can express; the rest is a problem.

        A removal needs no place: where the release has none, the job has nothing to remove.
        """
        name = str(path[-1])
        fields = shape.fields if shape and shape.fields is not None else {}
        if name not in fields or (path[0] == "metadata" and len(path) == 2 and name not in _METADATA):
            if not only_removes(child):
                self.not_expressible(child, path, f"a TrainJob of trainer {self.release} has no field for `{name}` of its pods")
            return None
        below = fields[name]
        if below.fields is None or not isinstance(child.value, dict):
            return child
        inside = {key: self._placed(inner, below, (*path, key)) for key, inner in child.value.items()}
        return child.with_value({key: inner for key, inner in inside.items() if inner})

    def _report_unreached(self, field: str, value: MarkedTree, path: Path) -> None:
        """Report a field of the training container that `spec.trainer` does not bring to the pods."""
        if only_removes(value):
            return
        if self.runtime.trainer_job() is None:
            self.report_no_trainer(value, path)
            return
        missed = self.runtime.jobs_without(field)
        if missed:
            self.not_expressible(
                value, path, f"`spec.trainer.{TRAINER_FIELD[field]}` does not reach the pods of `{missed[0]}`, which also train"
            )
        if field == "resources":
            self._report_ignored_resources(value, path)
        for item in items(value.get(APPEND) or value) if field == "env" else ():
            lost = item.get("valueFrom", "fileKeyRef")
            if lost and lost.value is not None:
                self.not_expressible(lost, (*path, "valueFrom", "fileKeyRef"), "the trainer drops `fileKeyRef` of a variable")

    def report_no_trainer(self, tree: MarkedTree, path: Path) -> None:
        """Report that the runtime's pods get nothing of `spec.trainer`."""
        what = f"no replicated job with the label `{ANCESTOR}: trainer`, so `spec.trainer` has no effect on its pods"
        self.not_expressible(tree, path, f"the runtime `{self.runtime.name}` has {what}", "label the runtime's Job template")

    def _report_ignored_resources(self, resources: MarkedTree, path: Path) -> None:
        claims = resources.get("claims")
        if claims and claims.value is not None:
            self.not_expressible(claims, (*path, "claims"), "the trainer uses only limits and requests, and drops `claims`")
        if self.runtime.merges_resources and self.runtime.document and not self.runtime.policy():
            what = "no `mlPolicy`, without which the trainer ignores `resourcesPerNode`"
            self.not_expressible(resources, path, f"the runtime `{self.runtime.name}` has {what}", "give the runtime an `mlPolicy`")

    def not_expressible(self, tree: MarkedTree, path: Path, message: str, hint: str = WAY_OUT) -> None:
        """Report that a TrainJob cannot express something."""
        self.problems.append(Diagnostic("not-expressible", message, tree.place(), field=spell(path), hint=hint))


# The entries of a TrainJob that change its runtime's pod templates: their field in each release, and which entry is the overlays' own.
#
# The field is `podSpecOverrides` (2.0), `podTemplateOverrides` (2.1) or `runtimePatches` (2.2 on).


MANAGER = "jobspec.dev/overlays"


class PodSource(Record):
    """A source of a replicated job's pod template: the runtime, or an entry of the job."""

    name: str
    """For messages."""
    template: MarkedTree
    own: bool = False
    """Whether it is the entry that overlays write."""


class PodOverrides:
    """The field of a TrainJob that changes pod templates, at a release."""

    def __init__(self, shape: Shape) -> None:
        spec = shape.at(("spec",))
        assert spec and spec.fields
        self.field = next(name for name in reversed(PATCH_FIELDS) if name in spec.fields)
        """The name of the field in `spec`."""
        inside: Path = (*PATCHED_JOBS, 0, *TEMPLATE) if self.field == "runtimePatches" else ()
        entry = shape.at(("spec", self.field, 0, *inside))
        assert entry
        self.template = entry if self.field != "podSpecOverrides" else None
        """The shape of a change to a pod template; None where only its `spec` can be changed."""
        pod = self.template.at(("spec",)) if self.template else entry
        assert pod
        self.pod = pod
        """The shape of a change to the `spec` of a pod template."""

    def has_place(self, path: Path) -> bool:
        """True if an entry can change the value at a path of a pod template."""
        shape, steps = (self.pod, path[1:]) if path[0] == "spec" else (self.template, path)
        for step in steps:
            shape = shape and (shape.items or shape.at((step,)))
        return shape is not None

    def entries_for(self, pods: dict[str, MarkedTree], order: Sequence[str] = ()) -> list[MarkedTree]:
        """Return the entries that change pod templates, given by the names of replicated jobs. *order*: that in which entries are added."""
        place = next(iter(pods.values()))
        if self.field == "runtimePatches":
            listed = [place.with_value({"name": pod.with_value(name), **nested(pod, TEMPLATE).value}) for name, pod in pods.items()]
            listed = [_ranked(each, name, order) for each, name in zip(listed, pods, strict=True)]
            return [place.with_value({"manager": place.with_value(MANAGER), **nested(place.with_value(listed), PATCHED_JOBS).value})]
        entries = []
        for name, pod in pods.items():
            inside = pod.value if self.template else dict(pod.entries("spec"))
            entry = pod.with_value({"targetJobs": pod.with_value([pod.with_value({"name": pod.with_value(name)})]), **inside})
            entries.append(_ranked(entry, name, order))
        return entries

    def is_own(self, entry: MarkedTree, name: str) -> bool:
        """True if overlays write the entry for the replicated job *name*."""
        (own,) = self.entries_for({name: entry.with_value({})})
        return same_field(entry, own, "manager" if self.field == "runtimePatches" else "targetJobs")

    def templates(self, entry: MarkedTree, name: str) -> list[MarkedTree]:
        """Return the changes that an entry makes to the pod template of the replicated job *name*."""
        if self.field == "runtimePatches":
            listed = [each for each in items(entry.get(*map(str, PATCHED_JOBS))) if is_named(each, name)]
            return [template for each in listed if (template := each.get(*map(str, TEMPLATE)))]
        if not any(is_named(each, name) for each in items(entry.get("targetJobs"))):
            return []
        return [entry if self.template else entry.with_value({"spec": entry})]


def _ranked(entry: MarkedTree, name: str, order: Sequence[str]) -> MarkedTree:
    """Return an entry for a replicated job that is added at the job's place in an order."""
    return entry.with_rank(("", 0, order.index(name))) if name in order else entry


def without_useless_removals(patch: MarkedTree, own: MarkedTree | None) -> MarkedTree | None:
    """Leave out removals of fields and items that *own* does not have.

    If nothing of the patch is left, return None.
    """
    if patch.value is None:
        return patch if own and own.value is not None else None
    if isinstance(patch.value, list):
        kept_items = [each for item in items(patch) for each in (_removals(item, own) if is_removal(item) else [item])]
        return patch.with_value(kept_items) if kept_items or not patch.value else None
    if not isinstance(patch.value, dict) or not patch.value:
        return patch
    changed = {}
    for name, child in patch.value.items():
        inside = own.get(name) if own else None
        kept = (
            _without_useless_container_removals(child, inside)
            if name in ("containers", "initContainers")
            else without_useless_removals(child, inside)
        )
        if kept:
            changed[name] = kept
    return patch.with_value(changed) if changed else None


def _without_useless_container_removals(patch: MarkedTree, own: MarkedTree | None) -> MarkedTree | None:
    appended = patch.get(APPEND)
    if appended is None:
        return without_useless_removals(patch, own)
    changed = []
    for item in items(appended):
        there = [each for each in items(own) if same_field(each, item, "name")]
        kept = without_useless_removals(item, there[-1] if there else None)
        if kept and len(kept.value) > 1:
            changed.append(kept)
    return patch.with_value({APPEND: appended.with_value(changed)}) if changed else None


def _removals(item: MarkedTree, own: MarkedTree | None) -> list[MarkedTree]:
    """Return the removals of items of *own* by `name`, for an item that says what to remove.

    Mounts have another key in pods than in entries.
    """
    keys = item.value.keys() - {REMOVE}
    found = [each for each in items(own) if all(same_field(item, each, key) for key in keys)]
    return [item.with_value({"name": each.value["name"], REMOVE: item.value[REMOVE]}) for each in found]


def same_field(one: MarkedTree, other: MarkedTree, field: str) -> bool:
    """True if two mappings have a field with the same value."""
    first, second = one.get(field), other.get(field)
    return bool(first and second and first.data() == second.data())


def nested(tree: MarkedTree, path: Path) -> MarkedTree:
    """Wrap a tree in mappings, one for each step of *path*, at the tree's own place."""
    for step in reversed(path):
        tree = tree.with_value({str(step): tree})
    return tree


# The runtime that a TrainJob refers to: its pod templates, and which fields of the job reach them.
#
# Follows `Builder.Trainer`, github.com/kubeflow/trainer pkg/runtime/framework/plugins/jobset, 2.0.0 to 2.3.0.


CONTAINER = CONTAINERS[TRAINJOB]


class JobRuntime:
    """The runtime of a TrainJob, as far as it is known."""

    def __init__(self, job: Document, runtime: Document | None, release: str) -> None:
        self.document = runtime
        """None where the runtime is not among the documents and not shipped with the release."""
        self.name = RuntimeReference(job.data).name
        self.jobs = training_jobs(runtime)
        """The replicated jobs whose pods train."""
        self.merges_resources = merges_resources(release)
        self.configures_nodes = shares_with_launcher(release) and bool(value_at(self.policy(), ("mpi", "runLauncherAsNode")))
        """Whether the nodes beside MPI's launcher get the variables and resources of `spec.trainer`, too."""
        self.templates = self._templates()
        """The pod templates of the training jobs by their names, none where the runtime is not at hand."""

    def _templates(self) -> dict[str, MarkedTree]:
        if self.document is None:
            return {}
        tree = with_marks(self.document.data, self.document.marks).get(*map(str, REPLICATED_JOBS))
        names = [job.name for job in roles_in(self.document)]
        found = {name: job.get(*map(str, TEMPLATE)) for name, job in zip(names, items(tree), strict=True) if name in self.jobs}
        return {name: template for name, template in found.items() if template}

    def policy(self) -> Any:
        """Return the runtime's `mlPolicy`; None if there is none, or no known runtime."""
        return value_at(self.document.data, ("spec", "mlPolicy")) if self.document else None

    def trainer_job(self) -> str | None:
        """Return the replicated job that `spec.trainer` configures.

        If no job of the runtime has the label for it, return None.
        """
        if self.document is None:
            return self.jobs[0]
        return next((job.name for job in roles_in(self.document) if ancestor(job) == TRAINER), None)

    def training_container(self) -> MarkedTree | None:
        """Return the container that `spec.trainer` configures; None if the runtime is unknown."""
        return next(iter(self.training_containers([self.trainer_job()])), None)

    def training_containers(self, jobs: Container[str | None]) -> list[MarkedTree]:
        """Return the training containers of some of the replicated jobs."""
        templates = [template for name, template in self.templates.items() if name in jobs]
        return [each for template in templates for each in items(template.get("spec", "containers")) if is_named(each, CONTAINER)]

    def configured_containers(self, field: str) -> list[MarkedTree]:
        """Return the training containers that get a *field* from `spec.trainer`.

        The container of the trainer's own job is the first.
        """
        context = ["node"] if self.configures_nodes and field in ("env", "resources") else []
        return [container for name in dict.fromkeys((self.trainer_job(), *context)) for container in self.training_containers([name])]

    def jobs_without(self, field: str) -> list[str]:
        """Return the training jobs whose containers do not get a *field* from `spec.trainer`."""
        trainer = self.trainer_job()
        if trainer and field in ("command", "args"):
            return []
        both = (trainer, "node") if self.configures_nodes and field in ("env", "resources") else (trainer,)
        return [job for job in self.jobs if job not in both]


def is_named(tree: MarkedTree, name: str) -> bool:
    """True if the mapping's `name` is *name*."""
    own = tree.get("name")
    return bool(own and own.value == name)
