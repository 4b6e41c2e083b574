"""The entries of a TrainJob that change the pods of its runtime: where each release has them, and which of them is the overlays' own.

They are `podSpecOverrides` (2.0), `podTemplateOverrides` (2.1) or `runtimePatches` (2.2 on).
"""

from __future__ import annotations

from jobspec.overlays.behind import named
from jobspec.overlays.merge import APPEND
from jobspec.overlays.tree import Tree, items
from jobspec.runtimes.runtime import TEMPLATE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from jobspec.diagnostics import Path
    from jobspec.overlays.behind import Behind
    from jobspec.shapes import Shape

MANAGER = "jobspec.dev/overlays"

_FIELDS = ("runtimePatches", "podTemplateOverrides", "podSpecOverrides")
_JOBS: Path = ("trainingRuntimeSpec", "template", "spec", "replicatedJobs")


class Source:
    """Something that says what the pods of a replicated job are: the runtime, or an entry of the job that changes them."""

    __slots__ = ("name", "own", "template")

    def __init__(self, name: str, template: Tree, *, own: bool = False) -> None:
        self.name = name
        """For messages."""
        self.template = template
        self.own = own
        """Whether it is the entry that overlays change."""


class Entries:
    """The field of a TrainJob that changes pods, at a release."""

    __slots__ = ("field", "pod", "template")

    def __init__(self, shape: Shape) -> None:
        spec = shape.at(("spec",))
        assert spec and spec.fields
        self.field = next(name for name in _FIELDS if name in spec.fields)
        """Which field of `spec` it is."""
        inside: Path = (*_JOBS, 0, *TEMPLATE) if self.field == "runtimePatches" else ()
        entry = shape.at(("spec", self.field, 0, *inside))
        assert entry
        self.template = entry if self.field != "podSpecOverrides" else None
        """The shape of the changes to a pod template; None where only its `spec` can be changed."""
        pod = self.template.at(("spec",)) if self.template else entry
        assert pod
        self.pod = pod
        """The shape of the changes to the `spec` of a pod template."""

    def has_place(self, path: Path) -> bool:
        """Whether what stands at a path of a pod template can be changed."""
        shape, steps = (self.pod, path[1:]) if path[0] == "spec" else (self.template, path)
        for step in steps:
            shape = shape and (shape.items or shape.at((step,)))
        return shape is not None

    def around(self, pods: dict[str, Tree]) -> list[Tree]:
        """The entries that change the pods of replicated jobs, by the jobs' names."""
        place = next(iter(pods.values()))
        if self.field == "runtimePatches":
            listed = [place.having({"name": pod.having(name), **nested(pod, TEMPLATE).value}) for name, pod in pods.items()]
            return [place.having({"manager": place.having(MANAGER), **nested(place.having(listed), _JOBS).value})]
        entries = []
        for name, pod in pods.items():
            inside = pod.value if self.template else dict(pod.entries("spec"))
            entries.append(pod.having({"targetJobs": pod.having([pod.having({"name": pod.having(name)})]), **inside}))
        return entries

    def sources(self, job: Tree, name: str, behind: Behind) -> list[Source]:
        """Who says what the pods of the replicated job *name* are, one of them the overlays' own; of two, the later has its way.

        Of several entries for the same job, overlays change the last; where there is none, they add one at the end.
        """
        template = behind.templates.get(name)
        found = [Source(f"the runtime `{behind.name}`", template)] if template else []
        mine = None
        for number, entry in enumerate(items(job.get("spec", self.field))):
            own = self._is_own(entry, name)
            for said in self._said(entry, name) or [entry.having({})] * own:
                found.append(Source(f"`spec.{self.field}[{number}]`", said))
                mine = found[-1] if own else mine
        if mine is None:
            mine = Source("", job.having({}))
            found.append(mine)
        mine.own = True
        return found

    def own(self, job: Tree, name: str, behind: Behind) -> Tree:
        """What the overlays' own entry says to the pods of the replicated job *name*, which may be nothing."""
        return next(source.template for source in self.sources(job, name, behind) if source.own)

    def _is_own(self, entry: Tree, name: str) -> bool:
        (own,) = self.around({name: entry.having({})})
        return same(entry, own, "manager" if self.field == "runtimePatches" else "targetJobs")

    def _said(self, entry: Tree, name: str) -> list[Tree]:
        """What an entry says to the pods of the replicated job *name*."""
        if self.field == "runtimePatches":
            listed = [each for each in items(entry.get(*map(str, _JOBS))) if named(each, name)]
            return [template for each in listed if (template := each.get(*map(str, TEMPLATE)))]
        if not any(named(each, name) for each in items(entry.get("targetJobs"))):
            return []
        return [entry if self.template else entry.having({"spec": entry})]


def worth(patch: Tree, own: Tree | None) -> Tree | None:
    """What of a change to pods changes anything, which is all but what it removes from *own* and is not there."""
    if patch.value is None:
        return patch if own and own.value is not None else None
    if not isinstance(patch.value, dict) or not patch.value:
        return patch
    changed = {}
    for name, child in patch.value.items():
        inside = own.get(name) if own else None
        kept = _worth_of_containers(child, inside) if name in ("containers", "initContainers") else worth(child, inside)
        if kept:
            changed[name] = kept
    return patch.having(changed) if changed else None


def _worth_of_containers(patch: Tree, own: Tree | None) -> Tree | None:
    appended = patch.get(APPEND)
    if appended is None:
        return worth(patch, own)
    changed = []
    for item in items(appended):
        there = [each for each in items(own) if same(each, item, "name")]
        kept = worth(item, there[-1] if there else None)
        if kept and len(kept.value) > 1:
            changed.append(kept)
    return patch.having({APPEND: appended.having(changed)}) if changed else None


def same(one: Tree, other: Tree, field: str) -> bool:
    """Whether two mappings say the same in a field."""
    first, second = one.get(field), other.get(field)
    return bool(first and second and first.data() == second.data())


def nested(tree: Tree, path: Path) -> Tree:
    """A tree as the value at *path* of mappings that have its place."""
    for step in reversed(path):
        tree = tree.having({str(step): tree})
    return tree
