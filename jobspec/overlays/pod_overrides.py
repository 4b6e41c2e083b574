"""The entries of a TrainJob that change its runtime's pod templates: their field in each release, and which entry is the overlays' own.

The field is `podSpecOverrides` (2.0), `podTemplateOverrides` (2.1) or `runtimePatches` (2.2 on).
"""

from __future__ import annotations

from jobspec.documents.marked_tree import MarkedTree, items
from jobspec.overlays.directives import APPEND, REMOVE, is_removal
from jobspec.overlays.job_runtime import is_named
from jobspec.workloads import TEMPLATE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from jobspec.diagnostics import Path
    from jobspec.overlays.job_runtime import JobRuntime
    from jobspec.schemas.shapes import Shape

MANAGER = "jobspec.dev/overlays"

_FIELDS = ("runtimePatches", "podTemplateOverrides", "podSpecOverrides")
_JOBS: Path = ("trainingRuntimeSpec", "template", "spec", "replicatedJobs")


class PodSource:
    """A source of the pod template of a replicated job: the runtime, or an entry of the job that changes it."""

    __slots__ = ("name", "own", "template")

    def __init__(self, name: str, template: MarkedTree, *, own: bool = False) -> None:
        self.name = name
        """For messages."""
        self.template = template
        self.own = own
        """Whether it is the entry that overlays write."""


class PodOverrides:
    """The field of a TrainJob that changes pod templates, at a release."""

    __slots__ = ("field", "pod", "template")

    def __init__(self, shape: Shape) -> None:
        spec = shape.at(("spec",))
        assert spec and spec.fields
        self.field = next(name for name in _FIELDS if name in spec.fields)
        """The name of the field in `spec`."""
        inside: Path = (*_JOBS, 0, *TEMPLATE) if self.field == "runtimePatches" else ()
        entry = shape.at(("spec", self.field, 0, *inside))
        assert entry
        self.template = entry if self.field != "podSpecOverrides" else None
        """The shape of a change to a pod template; None where only its `spec` can be changed."""
        pod = self.template.at(("spec",)) if self.template else entry
        assert pod
        self.pod = pod
        """The shape of a change to the `spec` of a pod template."""

    def has_place(self, path: Path) -> bool:
        """Whether an entry can change the value at a path of a pod template."""
        shape, steps = (self.pod, path[1:]) if path[0] == "spec" else (self.template, path)
        for step in steps:
            shape = shape and (shape.items or shape.at((step,)))
        return shape is not None

    def entries_for(self, pods: dict[str, MarkedTree]) -> list[MarkedTree]:
        """The entries that make changes to pod templates, given by the names of the replicated jobs."""
        place = next(iter(pods.values()))
        if self.field == "runtimePatches":
            listed = [place.with_value({"name": pod.with_value(name), **nested(pod, TEMPLATE).value}) for name, pod in pods.items()]
            return [place.with_value({"manager": place.with_value(MANAGER), **nested(place.with_value(listed), _JOBS).value})]
        entries = []
        for name, pod in pods.items():
            inside = pod.value if self.template else dict(pod.entries("spec"))
            entries.append(pod.with_value({"targetJobs": pod.with_value([pod.with_value({"name": pod.with_value(name)})]), **inside}))
        return entries

    def sources(self, job: MarkedTree, name: str, runtime: JobRuntime) -> list[PodSource]:
        """The sources of the pod template of the replicated job *name*, one of them the overlays' own; a later one overrides an earlier.

        Of several entries for the same job, overlays change the last; where there is none, they add one at the end.
        """
        template = runtime.templates.get(name)
        inherited = [PodSource(f"the runtime `{runtime.name}`", template)] if template else []
        entries = [
            PodSource(f"`spec.{self.field}[{number}]`", template, own=own)
            for number, entry in enumerate(items(job.get("spec", self.field)))
            for own in [self._is_own(entry, name)]
            for template in self._templates(entry, name) or [entry.with_value({})] * own
        ]
        if not any(each.own for each in entries):
            return [*inherited, *entries, PodSource("", job.with_value({}), own=True)]
        last = max(number for number, each in enumerate(entries) if each.own)
        return [*inherited, *(PodSource(each.name, each.template, own=number == last) for number, each in enumerate(entries))]

    def own_template(self, job: MarkedTree, name: str, runtime: JobRuntime) -> MarkedTree:
        """The change that the overlays' own entry makes to the pod template of the replicated job *name*; empty where there is none."""
        return next(source.template for source in self.sources(job, name, runtime) if source.own)

    def _is_own(self, entry: MarkedTree, name: str) -> bool:
        (own,) = self.entries_for({name: entry.with_value({})})
        return same_field(entry, own, "manager" if self.field == "runtimePatches" else "targetJobs")

    def _templates(self, entry: MarkedTree, name: str) -> list[MarkedTree]:
        """The changes that an entry makes to the pod template of the replicated job *name*."""
        if self.field == "runtimePatches":
            listed = [each for each in items(entry.get(*map(str, _JOBS))) if is_named(each, name)]
            return [template for each in listed if (template := each.get(*map(str, TEMPLATE)))]
        if not any(is_named(each, name) for each in items(entry.get("targetJobs"))):
            return []
        return [entry if self.template else entry.with_value({"spec": entry})]


def without_useless_removals(patch: MarkedTree, own: MarkedTree | None) -> MarkedTree | None:
    """The patch without removals of what *own* does not have; None where nothing is left of it."""
    if patch.value is None:
        return patch if own and own.value is not None else None
    if isinstance(patch.value, list):
        return _without_useless_item_removals(patch, own)
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


def _without_useless_item_removals(patch: MarkedTree, own: MarkedTree | None) -> MarkedTree | None:
    kept = [each for item in items(patch) for each in (_removals(item, own) if is_removal(item) else [item])]
    return patch.with_value(kept) if kept or not patch.value else None


def _removals(item: MarkedTree, own: MarkedTree | None) -> list[MarkedTree]:
    """The removals of those items of *own* that an item says to remove, by `name`: mounts have another key in pods than in entries."""
    keys = item.value.keys() - {REMOVE}
    found = [each for each in items(own) if all(same_field(item, each, key) for key in keys)]
    return [item.with_value({"name": each.value["name"], REMOVE: item.value[REMOVE]}) for each in found]


def same_field(one: MarkedTree, other: MarkedTree, field: str) -> bool:
    """Whether two mappings have a field with the same value."""
    first, second = one.get(field), other.get(field)
    return bool(first and second and first.data() == second.data())


def nested(tree: MarkedTree, path: Path) -> MarkedTree:
    """The tree inside of mappings, one for each step of *path*, at its own place."""
    for step in reversed(path):
        tree = tree.with_value({str(step): tree})
    return tree
