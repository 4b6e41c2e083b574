"""Find changes to the pods of a TrainJob that would have no effect.

A job cannot remove what its runtime sets, and a later entry of the job overrides an earlier one. Besides, the trainer drops
values that are empty in Go, such as `""` and `false`.

Follows `TrainingRuntime.mergeRuntimePatches` (`mergePodSpecOverrides` in 2.0), github.com/kubeflow/trainer pkg/runtime/core, 2.0.0 to
2.3.0.
"""

from __future__ import annotations

from jobspec.diagnostics import Diagnostic, Key, spell
from jobspec.documents.marked_tree import MarkedTree, items
from jobspec.overlays.directives import APPEND, is_removal, only_removes
from jobspec.overlays.job_runtime import CONTAINER
from jobspec.overlays.merge import excludes, identity
from jobspec.overlays.trainjob import TRAINER, WAY_OUT

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from jobspec.diagnostics import Path
    from jobspec.overlays.pod_overrides import PodSource
    from jobspec.overlays.trainjob import TrainJobPods
    from jobspec.schemas.shapes import Shape

NODE_PATH: Path = ("spec", "containers", Key(CONTAINER))
_ALWAYS_THERE = (("spec",), ("spec", "containers"), NODE_PATH)


class TemplateChange:
    """One value of a partial pod template, and its path, in which an item of a keyed list has its keys as its step."""

    __slots__ = ("path", "shape", "tree")

    def __init__(self, path: Path, tree: MarkedTree, shape: Shape | None) -> None:
        self.path = path
        self.tree = tree
        self.shape = shape

    @property
    def of_trainer(self) -> bool:
        """Whether it belongs to `spec.trainer`."""
        return self.path[:3] == NODE_PATH and len(self.path) > 3 and self.path[3] in TRAINER

    @property
    def replaces(self) -> bool:
        """Whether it replaces a list or appends to one."""
        return isinstance(self.tree.value, list) or self.tree.get(APPEND) is not None


def changes_in(template: MarkedTree, shape: Shape | None, path: Path = ()) -> Iterator[TemplateChange]:
    """All changes in a partial pod template; a list without merge keys is one change, a removed item a change to null."""
    value = template.value
    appended = template.get(APPEND)
    if shape and shape.merge and (appended or isinstance(value, list)):
        for item in items(appended or template):
            name = identity(item, shape)
            if name:
                change = item.with_value(None) if is_removal(item) else item
                yield from changes_in(change, shape.items, (*path, Key(",".join(name))))
        return
    if path:
        yield TemplateChange(path, template, shape)
    if isinstance(value, dict) and not appended:
        for name, child in value.items():
            step = Key(name) if shape and shape.fields is None else name
            yield from changes_in(child, shape.at((name,)) if shape else None, (*path, step))


def at_address(tree: MarkedTree | None, path: Path, shape: Shape | None) -> MarkedTree | None:
    """The value at a path in which an item of a keyed list has its keys as its step."""
    for step in path:
        if tree is not None and tree.get(APPEND):
            tree = tree.get(APPEND)
        if tree is None or shape is None:
            return None
        if isinstance(tree.value, list):
            named = [item for item in tree.value if identity(item, shape) == tuple(str(step).split(","))]
            tree, shape = (named[-1] if named else None), shape.items
        else:
            tree, shape = tree.get(str(step)), shape.at((step,))
    return tree


def last_source(sources: Sequence[PodSource], path: Path, shape: Shape | None) -> PodSource | None:
    """The last of the sources that has a value at a path, which is the effective one; the trainer drops empty lists."""
    found = [source for source in sources if (there := at_address(source.template, path, shape)) and there.value not in (None, [])]
    return found[-1] if found else None


def why_ineffective(change: TemplateChange, job: MarkedTree, pods: TrainJobPods) -> Iterator[Diagnostic]:
    """Diagnostics that say why a change has no effect, or not the wanted one; none where it has."""
    if change.of_trainer:
        yield from _in_trainer(change, job, pods)
        return
    if change.tree.value is None and (pods.runtime.document is None or change.path in _ALWAYS_THERE):
        yield _cannot_remove(change, f"the runtime `{pods.runtime.name}`", sure=change.path in _ALWAYS_THERE)
    for name in pods.runtime.jobs:
        yield from _in_pods(change, pods.sources(job, name), pods)


def _in_pods(change: TemplateChange, sources: list[PodSource], pods: TrainJobPods) -> Iterator[Diagnostic]:
    own = next(number for number, source in enumerate(sources) if source.own)
    others = [*sources[:own], *sources[own + 1 :]]
    shape = pods.template_shape
    if change.tree.value is None:
        found = last_source(others, change.path, shape)
        if found:
            yield _cannot_remove(change, found.name)
    elif change.replaces or not isinstance(change.tree.value, dict):
        later = last_source(sources[own + 1 :], change.path, shape)
        before = last_source(sources[:own], change.path, shape)
        if later and _differs(change, later, shape):
            yield _overruled(change, later.name)
        elif before and _is_left_out(change) and _differs(change, before, shape):
            yield _dropped_by_trainer(change, before.name)
        elif before and isinstance(change.tree.value, list) and _differs(change, before, shape):
            yield _replaced(change, before.name)
    else:
        yield from _excluded_field_stays(change, others, shape)


def _differs(change: TemplateChange, source: PodSource, shape: Shape | None) -> bool:
    there = at_address(source.template, change.path, shape)
    return there is not None and there.data() != change.tree.data()


def _is_left_out(change: TemplateChange) -> bool:
    """Whether the trainer's Go types drop a value, so that the runtime's stays; they keep entries of maps."""
    name, value = change.path[-1], change.tree.value
    return not isinstance(name, Key) and (value in ("", []) or (name == "readOnly" and value is False))


def _excluded_field_stays(change: TemplateChange, others: list[PodSource], shape: Shape | None) -> Iterator[Diagnostic]:
    """A problem for each field that excludes one of the change, and that comes from another source, where it would stay."""
    for source in others:
        there = at_address(source.template, change.path, shape)
        for name in sorted(excludes(change.tree, change.shape)):
            child = there.get(name) if there else None
            if child and child.value is not None:
                message = f"`{name}` of `{change.path[-1]}` comes from {source.name} and would stay beside this"
                yield _problem(change, message, "give this another name, or " + WAY_OUT)


def _in_trainer(change: TemplateChange, job: MarkedTree, pods: TrainJobPods) -> Iterator[Diagnostic]:
    """Why a change to the training container in `spec.trainer` has no effect on that of the runtime."""
    inside = change.path[3:]
    name, source = str(inside[0]), f"the runtime `{pods.runtime.name}`"
    shape = pods.template_shape and pods.template_shape.at((*NODE_PATH[:2], 0))
    for container in pods.runtime.training_containers(pods.runtime.jobs_without(name)) if change.tree.value is None else ():
        missed = at_address(container, inside, shape)
        if missed and missed.value not in (None, [], {}):
            yield _cannot_remove(change, source)
    own = job.get("spec", "trainer", TRAINER[name])
    own = own if own and own.value is not None else None
    found = [at_address(container, inside, shape) for container in pods.runtime.configured_containers(name)]
    there = next((each for each in found if each and each.value), found[0] if found else None)
    if name == "resources" and not pods.runtime.merges_resources:
        removes = only_removes(change.tree) if pods.runtime.document is None and own is None else _removes_all(change.tree, own)
        if len(inside) == 1 and removes and (there is None or there.value):
            yield _cannot_remove(change, source, sure=there is not None)
    elif name == "env" and len(inside) > 1 and (len(inside) > 2 or change.tree.value is not None):
        return  # the job has the variable, and that of the runtime does not count
    elif change.tree.value is None:
        if pods.runtime.document is None:
            yield _cannot_remove(change, source, sure=name == "image")
        elif there and there.value not in (None, [], {}):
            yield _cannot_remove(change, source)
    elif name in ("command", "args") and own is None and there and there.data() not in (None, [], change.tree.data()):
        yield _replaced(change, source)


def _removes_all(resources: MarkedTree, own: MarkedTree | None) -> bool:
    """Whether a change leaves the job without resources, so that those of the runtime hold again."""
    fields = dict(own.value) if own and isinstance(own.value, dict) else {}
    fields |= resources.value if isinstance(resources.value, dict) else dict.fromkeys(fields, resources)
    return not any(child.value is not None for name, child in fields.items() if name != "claims")


def _cannot_remove(change: TemplateChange, source: str, *, sure: bool = True) -> Diagnostic:
    if sure:
        return _problem(change, f"`{change.path[-1]}` comes from {source}, and this change of the job cannot remove it")
    message = f"if {source}, which is not at hand, has `{change.path[-1]}`, a TrainJob cannot remove it"
    return Diagnostic("unresolved-reference", message, change.tree.place(), field=spell(change.path), severity="warning", hint=WAY_OUT)


def _overruled(change: TemplateChange, source: str) -> Diagnostic:
    message = f"{source} sets `{change.path[-1]}` to another value and overrides this, since it comes after the entry of the overlays"
    return _problem(change, message, "remove it there, or move that entry to the front")


def _dropped_by_trainer(change: TemplateChange, source: str) -> Diagnostic:
    text = "an empty list" if isinstance(change.tree.value, list) else "an empty text" if change.tree.value == "" else "`false`"
    return _problem(change, f"the trainer drops {text}, so that `{change.path[-1]}` of {source} would stay")


def _replaced(change: TemplateChange, source: str) -> Diagnostic:
    name = change.path[-1]
    hint = "use `flags` to set single ones" if name in ("args", "command") else "write `{$append: [...]}` to add to it"
    message = f"`{name}` of {source} is replaced as a whole"
    return Diagnostic("list-replaced", message, change.tree.place(), field=spell(change.path), severity="warning", hint=hint)


def _problem(change: TemplateChange, message: str, hint: str = WAY_OUT) -> Diagnostic:
    return Diagnostic("not-expressible", message, change.tree.place(), field=spell(change.path), hint=hint)
