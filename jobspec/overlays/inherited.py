"""What a TrainJob inherits from its runtime, written out where a change in the job would lose it, and told where it would stay.

The trainer replaces the runtime's `args` by the job's, before 2.3 its resources, too, and every list without merge keys. What
the job does not say it cannot take away from the runtime.
"""

from __future__ import annotations

from jobspec.diagnostics import Diagnostic, Key, spell
from jobspec.overlays.flags import set_flags
from jobspec.overlays.merge import APPEND, Merge, identity
from jobspec.overlays.nodes import CONTAINER, TRAINER, WAY_OUT, only_removes
from jobspec.overlays.tree import Tree, items
from jobspec.targets import reached

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from jobspec.diagnostics import Path
    from jobspec.overlays.nodes import Nodes
    from jobspec.shapes import Shape

MERGES_RESOURCES = "2.3"  # the trainer release from which on `resourcesPerNode` is merged with the runtime's resources

_OF_NODE: Path = ("spec", "containers", Key(CONTAINER))
_AT_HAND = "put the runtime into the same file"


def inherit(job: Tree, said: Tree, nodes: Nodes) -> Tree:
    """The job with what its runtime has and a partial pod template is about to replace."""
    job = _resources(job, said, nodes)
    for path, change in _changes(said, nodes.inherited):
        if change.value is None:
            _tell_kept(path, change, nodes)
        elif path[:3] != _OF_NODE or path[3] not in TRAINER:
            job = _list(job, path, change, nodes)
    return job


def set_trainer_flags(job: Tree, flags: Tree, nodes: Nodes, *, layer: str, entry: int) -> Tree:
    """The job with flags set in the command and the arguments that its containers come to have."""
    trainer = job.get("spec", "trainer")
    given = {name: child for name in ("command", "args") if trainer and (child := trainer.get(name)) and child.value is not None}
    container = next(iter(_containers(nodes)), None)
    if "args" not in given and container is None:
        message = f"flags stand in arguments, and the job has no `spec.trainer.args`; its runtime `{nodes.runtime_name}` is not at hand"
        hint = f"write `args` into the job, or {_AT_HAND}"
        nodes.problems.append(Diagnostic("unresolved-reference", message, flags.place(), field="spec.trainer.args", hint=hint))
        return job
    inherited = {name: child for name in ("command", "args") if container and (child := container.get(name))}
    before = flags.having({**inherited, **given})
    after, problems = set_flags(before, flags, ("spec", "trainer"), layer=layer, entry=entry)
    nodes.problems += problems
    changed = {name: after.get(name) for name in ("command", "args") if _data(after.get(name)) != _data(before.get(name))}
    return _trainer_with(job, changed, flags) if changed else job


def _data(tree: Tree | None) -> object:
    return tree.data() if tree else None


def _trainer_with(job: Tree, changed: dict[str, Tree | None], place: Tree) -> Tree:
    def change(spec: Tree) -> Tree:
        old = spec.get("trainer")
        trainer = old if old and isinstance(old.value, dict) else place.having({})
        fields = {name: child for name, child in {**trainer.value, **changed}.items() if child is not None}
        return spec.having({**spec.value, "trainer": trainer.having(fields)})

    return job.put(("spec",), change)


def _containers(nodes: Nodes) -> list[Tree]:
    """The training containers of the runtime, that of the trainer's own job first."""
    found = [each for template in nodes.behind() for each in items(template.get("spec", "containers"))]
    return [each for each in found if (name := each.get("name")) and name.value == CONTAINER]


def _resources(job: Tree, said: Tree, nodes: Nodes) -> Tree:
    """Before 2.3, the runtime's resources as the job's own, where the job is about to get some in their place."""
    wanted = _at(said, (*_OF_NODE, "resources"), nodes.inherited)
    own = job.get("spec", "trainer", TRAINER["resources"])
    if wanted is None or (own and own.value is not None) or reached(nodes.release, MERGES_RESOURCES):
        return job
    if nodes.runtime is None:
        if not only_removes(wanted):
            message = f"trainer {nodes.release} takes these resources in place of all that the runtime `{nodes.runtime_name}` has"
            hint = f"write all of them into `spec.trainer.resourcesPerNode`, or {_AT_HAND}"
            nodes.problems.append(Diagnostic("unresolved-reference", message, wanted.place(), severity="warning", hint=hint))
        return job
    inherited = [found for each in _containers(nodes)[:1] if (found := each.get("resources")) and found.value]
    return _trainer_with(job, {TRAINER["resources"]: inherited[0]}, wanted) if inherited else job


def _list(job: Tree, path: Path, change: Tree, nodes: Nodes) -> Tree:
    """The job with the list that its pods come to have as its own, where something is to be added to that."""
    changes = nodes.changes(job)
    if any(own and _at(template, path, nodes.inherited) for template, own in changes):
        return job
    before = [template for template, _ in reversed(changes)]
    found = [each for template in (*before, *nodes.behind()) if (each := _at(template, path, nodes.inherited))]
    if found:
        return Merge("", -1)(job, nodes.land(_around(found[0], path, nodes.inherited)), nodes.shape, ())
    if nodes.runtime is None:
        message = f"`{path[-1]}` of the runtime `{nodes.runtime_name}`, which the job's would replace, is not at hand to be added to"
        hint = f"write the whole list, or {_AT_HAND}"
        nodes.problems.append(Diagnostic("unresolved-reference", message, change.place(), field=spell(path), hint=hint))
    return job


def _tell_kept(path: Path, change: Tree, nodes: Nodes) -> None:
    """What is removed and the runtime has, a TrainJob cannot take away."""
    if path[:4] == (*_OF_NODE, "resources") and not reached(nodes.release, MERGES_RESOURCES):
        return  # the job has all of them, and those of the runtime do not count
    for template in nodes.behind():
        there = _at(template, path, nodes.inherited)
        if there and there.value is not None:
            message = f"`{path[-1]}` comes from the runtime `{nodes.runtime_name}`, and a TrainJob cannot take it away"
            nodes.problems.append(Diagnostic("not-expressible", message, change.place(), field=spell(path), hint=WAY_OUT))
            return


def _changes(said: Tree, shape: Shape | None, path: Path = ()) -> Iterator[tuple[Path, Tree]]:
    """Where a partial pod template removes something, or adds to a list without merge keys; items of other lists under their keys."""
    value = said.value
    if isinstance(value, dict) and APPEND in value:
        if not (shape and shape.merge):
            yield path, said
            return
        value = value[APPEND].value
    if value is None:
        yield path, said
    elif isinstance(value, dict):
        for name, child in value.items():
            yield from _changes(child, shape.at((name,)) if shape else None, (*path, name))
    elif isinstance(value, list) and shape and shape.merge:
        for item in value:
            name = identity(item, shape)
            if name:
                yield from _changes(item, shape.items, (*path, Key(",".join(name))))


def _at(tree: Tree | None, path: Path, shape: Shape | None) -> Tree | None:
    """The value at a path, in which the items of keyed lists stand under their keys."""
    for step in path:
        if tree is not None and isinstance(tree.value, dict) and APPEND in tree.value:
            tree = tree.get(APPEND)
        if tree is None or shape is None:
            return None
        if isinstance(tree.value, list):
            named = [item for item in tree.value if identity(item, shape) == tuple(str(step).split(","))]
            tree, shape = (named[0] if named else None), shape.items
        else:
            tree, shape = tree.get(str(step)), shape.at((step,))
    return tree


def _around(value: Tree, path: Path, shape: Shape | None) -> Tree:
    """A partial value that has *value* at a path in which the items of keyed lists stand under their keys, and nothing else."""
    if not path:
        return value
    step = path[0]
    if shape and shape.merge:
        inner = _around(value, path[1:], shape.items)
        keys = zip(shape.merge, str(step).split(","), strict=True)
        return value.having([value.having({**{key: value.having(text) for key, text in keys}, **inner.value})])
    return value.having({str(step): _around(value, path[1:], shape.at((step,)) if shape else None)})
