"""What stands against an overlay's word on a TrainJob, and is told: what the job cannot take away, and what a later entry says.

What a job does not say it cannot remove from its runtime, and of two entries the later has its way. Besides, the trainer
leaves out what Go holds for empty, so that it does not come through either.
"""

from __future__ import annotations

from jobspec.diagnostics import Diagnostic, Key, spell
from jobspec.overlays.behind import CONTAINER
from jobspec.overlays.merge import APPEND, excludes, identity
from jobspec.overlays.nodes import TRAINER, WAY_OUT, only_removes
from jobspec.overlays.tree import Tree, items

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from jobspec.diagnostics import Path
    from jobspec.overlays.entries import Source
    from jobspec.overlays.nodes import Nodes
    from jobspec.shapes import Shape

OF_NODE: Path = ("spec", "containers", Key(CONTAINER))
_ALWAYS_THERE = (("spec",), ("spec", "containers"))


class Change:
    """One thing that a partial pod template says: where, with the items of keyed lists under their keys, and what."""

    __slots__ = ("path", "shape", "tree")

    def __init__(self, path: Path, tree: Tree, shape: Shape | None) -> None:
        self.path = path
        self.tree = tree
        self.shape = shape

    @property
    def of_trainer(self) -> bool:
        """Whether it belongs to `spec.trainer`."""
        return self.path[:3] == OF_NODE and len(self.path) > 3 and self.path[3] in TRAINER

    @property
    def replaces(self) -> bool:
        """Whether it is a list in place of another, or behind its items."""
        return isinstance(self.tree.value, list) or self.tree.get(APPEND) is not None


def changes(said: Tree, shape: Shape | None, path: Path = ()) -> Iterator[Change]:
    """Everything that a partial pod template says, lists without merge keys as a whole."""
    value = said.value
    appended = said.get(APPEND)
    if shape and shape.merge and (appended or isinstance(value, list)):
        for item in items(appended or said):
            name = identity(item, shape)
            if name:
                yield from changes(item, shape.items, (*path, Key(",".join(name))))
        return
    if path:
        yield Change(path, said, shape)
    if isinstance(value, dict) and not appended:
        for name, child in value.items():
            step = Key(name) if shape and shape.fields is None else name
            yield from changes(child, shape.at((name,)) if shape else None, (*path, step))


def at(tree: Tree | None, path: Path, shape: Shape | None) -> Tree | None:
    """The value at a path in which the items of keyed lists stand under their keys."""
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


def last(sources: Sequence[Source], path: Path, shape: Shape | None) -> Source | None:
    """The last of the sources that says something at a path, which is what holds there; empty lists do not come through."""
    found = [source for source in sources if (there := at(source.template, path, shape)) and there.value not in (None, [])]
    return found[-1] if found else None


def tell(change: Change, job: Tree, nodes: Nodes) -> Iterator[Diagnostic]:
    """Why a change does not come through, where it does not."""
    if change.of_trainer:
        yield from _of_trainer(change, job, nodes)
        return
    if change.tree.value is None and (nodes.behind.runtime is None or change.path in _ALWAYS_THERE):
        yield _kept(change, f"the runtime `{nodes.behind.name}`", sure=change.path in _ALWAYS_THERE)
    for name in nodes.behind.jobs:
        yield from _of_pods(change, nodes.sources(job, name), nodes)


def _of_pods(change: Change, sources: list[Source], nodes: Nodes) -> Iterator[Diagnostic]:
    own = next(number for number, source in enumerate(sources) if source.own)
    others = [*sources[:own], *sources[own + 1 :]]
    shape = nodes.inherited
    if change.tree.value is None:
        found = last(others, change.path, shape)
        if found:
            yield _kept(change, found.name)
    elif change.replaces or not isinstance(change.tree.value, dict):
        later = last(sources[own + 1 :], change.path, shape)
        before = last(sources[:own], change.path, shape)
        if later and _differs(change, later, shape):
            yield _overruled(change, later.name)
        elif before and _is_left_out(change) and _differs(change, before, shape):
            yield _not_through(change, before.name)
        elif before and isinstance(change.tree.value, list) and _differs(change, before, shape):
            yield _replaced(change, before.name)
    else:
        yield from _beside(change, others, shape)


def _differs(change: Change, source: Source, shape: Shape | None) -> bool:
    there = at(source.template, change.path, shape)
    return there is not None and there.data() != change.tree.data()


def _is_left_out(change: Change) -> bool:
    """Whether the trainer's own types leave a value out, so that another stays; entries of maps come through."""
    name, value = change.path[-1], change.tree.value
    return not isinstance(name, Key) and (value in ("", []) or (name == "readOnly" and value is False))


def _beside(change: Change, others: list[Source], shape: Shape | None) -> Iterator[Diagnostic]:
    """Of what a type can only have one: another that stands elsewhere, and so would stay beside it."""
    for source in others:
        there = at(source.template, change.path, shape)
        for name in sorted(excludes(change.tree, change.shape)):
            child = there.get(name) if there else None
            if child and child.value is not None:
                message = f"`{name}` of `{change.path[-1]}` comes from {source.name} and would stay beside this"
                yield _problem(change, message, "give this another name, or " + WAY_OUT)


def _of_trainer(change: Change, job: Tree, nodes: Nodes) -> Iterator[Diagnostic]:
    """What the job says of the training container takes the place of what the runtime says."""
    inside = change.path[3:]
    name, source = str(inside[0]), f"the runtime `{nodes.behind.name}`"
    shape = nodes.inherited and nodes.inherited.at((*OF_NODE[:2], 0))
    for container in nodes.behind.containers(nodes.behind.missed(name)) if change.tree.value is None else ():
        missed = at(container, inside, shape)
        if missed and missed.value not in (None, [], {}):
            yield _kept(change, source)
    own = job.get("spec", "trainer", TRAINER[name])
    own = own if own and own.value is not None else None
    there = at(nodes.behind.container(), inside, shape)
    if name == "resources" and not nodes.behind.merges_resources:
        removes = only_removes(change.tree) if nodes.behind.runtime is None and own is None else _removes_all(change.tree, own)
        if len(inside) == 1 and removes and (there is None or there.value):
            yield _kept(change, source, sure=there is not None)
    elif name == "env" and len(inside) > 1:
        return  # the job has the variable, and that of the runtime does not count
    elif change.tree.value is None:
        if nodes.behind.runtime is None:
            yield _kept(change, source, sure=name == "image")
        elif there and there.value not in (None, [], {}):
            yield _kept(change, source)
    elif name in ("command", "args") and own is None and there and there.data() not in (None, [], change.tree.data()):
        yield _replaced(change, source)


def _removes_all(resources: Tree, own: Tree | None) -> bool:
    """Whether nothing is left of the job's resources, so that the runtime's are there again."""
    fields = dict(own.value) if own and isinstance(own.value, dict) else {}
    fields |= resources.value if isinstance(resources.value, dict) else dict.fromkeys(fields, resources)
    return not any(child.value is not None for name, child in fields.items() if name != "claims")


def _kept(change: Change, source: str, *, sure: bool = True) -> Diagnostic:
    if sure:
        return _problem(change, f"`{change.path[-1]}` comes from {source}, and this change of the job cannot take it away")
    message = f"if {source}, which is not at hand, has `{change.path[-1]}`, a TrainJob cannot take it away"
    return Diagnostic("unresolved-reference", message, change.tree.place(), field=spell(change.path), severity="warning", hint=WAY_OUT)


def _overruled(change: Change, source: str) -> Diagnostic:
    message = f"{source} says something else of `{change.path[-1]}` and has its way, since it comes later than what overlays say"
    return _problem(change, message, "take it out there, or move the entry to the front")


def _not_through(change: Change, source: str) -> Diagnostic:
    text = "an empty list" if isinstance(change.tree.value, list) else "an empty text" if change.tree.value == "" else "`false`"
    return _problem(change, f"{text} does not come through the trainer, and `{change.path[-1]}` of {source} would stay")


def _replaced(change: Change, source: str) -> Diagnostic:
    name = change.path[-1]
    hint = "use `flags` to set single ones" if name in ("args", "command") else "write `{$append: [...]}` to add to it"
    message = f"`{name}` of {source} is replaced as a whole"
    return Diagnostic("list-replaced", message, change.tree.place(), field=spell(change.path), severity="warning", hint=hint)


def _problem(change: Change, message: str, hint: str = WAY_OUT) -> Diagnostic:
    return Diagnostic("not-expressible", message, change.tree.place(), field=spell(change.path), hint=hint)
