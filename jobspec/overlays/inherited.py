"""What the pods of a TrainJob have already, written into the job where a change in it would lose that.

The trainer replaces the runtime's `args` by the job's, before 2.3 its resources, too, every variable of the same name, and
every list without merge keys.
"""

from __future__ import annotations

from jobspec.diagnostics import Diagnostic, spell
from jobspec.overlays.entries import nested, same
from jobspec.overlays.flags import set_flags
from jobspec.overlays.kept import OF_NODE, at, changes, last, tell
from jobspec.overlays.merge import APPEND, Merge, identity
from jobspec.overlays.nodes import TRAINER, only_removes
from jobspec.overlays.tree import Tree, in_rank, items

TYPE_CHECKING = False
if TYPE_CHECKING:
    from jobspec.diagnostics import Path
    from jobspec.overlays.kept import Change
    from jobspec.overlays.nodes import Nodes
    from jobspec.shapes import Shape

_AT_HAND = "put the runtime into the same file"


def inherit(job: Tree, said: Tree, nodes: Nodes, *, layer: str, entry: int) -> Tree:
    """The job with what its pods have and a partial pod template is about to replace; what it cannot change becomes a problem."""
    node = at(said, OF_NODE, nodes.inherited)
    if node:
        job = _resources(job, node, nodes)
        job = _variables(job, node, nodes, layer=layer, entry=entry)
    for change in changes(said, nodes.inherited):
        nodes.problems += tell(change, job, nodes)
        _tell_mounted(change, job, nodes)
        if not change.of_trainer and isinstance(change.tree.value, dict) and change.tree.get(APPEND):
            for name in nodes.behind.jobs:
                job = _list(job, change, nodes, name, layer=layer, entry=entry)
    return job


def _tell_mounted(change: Change, job: Tree, nodes: Nodes) -> None:
    """Mounts in an entry of the job are told apart by their volumes, in pods by their paths."""
    if len(change.path) < 2 or change.path[-2] != "volumeMounts" or not isinstance(change.tree.value, dict):
        return
    for job_name in nodes.behind.jobs:
        for mount in items(at(nodes.own(job, job_name), change.path[:-1], nodes.inherited)):
            if same(change.tree, mount, "mountPath") != same(change.tree, mount, "name"):
                nodes.tell_mounted(change.tree, change.path, str(mount.value["name"].value))


def set_trainer_flags(job: Tree, flags: Tree, nodes: Nodes, *, layer: str, entry: int) -> Tree:
    """The job with flags set in the command and the arguments that its training container comes to have."""
    trainer = job.get("spec", "trainer")
    given = {name: child for name in ("command", "args") if trainer and (child := trainer.get(name)) and child.value is not None}
    container = nodes.behind.container()
    if nodes.behind.trained_by() is None:
        nodes.tell_no_trainer(flags, ("spec", "trainer", "args"))
        return job
    if "args" not in given and container is None:
        message = f"flags stand in arguments, and the job has no `spec.trainer.args`; its runtime `{nodes.behind.name}` is not at hand"
        hint = f"write `args` into the job, or {_AT_HAND}"
        nodes.problems.append(Diagnostic("unresolved-reference", message, flags.place(), field="spec.trainer.args", hint=hint))
        return job
    inherited = {name: child for name in ("command", "args") if container and (child := container.get(name))}
    start = {**inherited, **given}
    before, _ = set_flags(flags.having(start), flags.having({}), ("spec", "trainer"), layer=layer, entry=entry)
    after, problems = set_flags(before, flags, ("spec", "trainer"), layer=layer, entry=entry)
    nodes.problems += problems
    changed = {}
    for name in ("command", "args"):
        words = after.get(name)
        if words is None and name in start and (container is None or items(inherited.get(name))):
            words = start[name].having([])  # without a list of its own, the job would get the runtime's
        if name in given or _words(words) != _words(before.get(name)):
            changed[name] = words
    return _trainer_with(job, changed, flags) if changed else job


def _words(words: Tree | None) -> list[tuple[object, int | None]]:
    return [(word.value, word.bound) for word in items(words)]


def _trainer_with(job: Tree, changed: dict[str, Tree | None], place: Tree) -> Tree:
    def change(spec: Tree) -> Tree:
        old = spec.get("trainer")
        trainer = old if old and isinstance(old.value, dict) else place.having({})
        fields = {name: child for name, child in {**trainer.value, **changed}.items() if child is not None}
        return spec.having({**spec.value, "trainer": trainer.having(fields)})

    return job.put(("spec",), change)


def _resources(job: Tree, node: Tree, nodes: Nodes) -> Tree:
    """Before 2.3, the runtime's resources as the job's own, where the job is about to get some in their place."""
    wanted = node.get("resources")
    own = job.get("spec", "trainer", TRAINER["resources"])
    container = nodes.behind.container()
    inherited = container and container.get("resources")
    if wanted is None or (own and own.value is not None):
        return job
    claims = inherited and inherited.get("claims")
    if claims and claims.value:
        nodes.cannot(wanted, (*OF_NODE, "resources"), f"with them the pods lose the `claims` of the runtime `{nodes.behind.name}`")
    if nodes.behind.merges_resources:
        return job
    if nodes.behind.runtime is None:
        if not only_removes(wanted):
            message = f"trainer {nodes.release} takes these resources in place of all that the runtime `{nodes.behind.name}` has"
            hint = f"write all of them into `spec.trainer.resourcesPerNode`, or {_AT_HAND}"
            nodes.problems.append(Diagnostic("unresolved-reference", message, wanted.place(), severity="warning", hint=hint))
        return job
    return _trainer_with(job, {TRAINER["resources"]: inherited}, wanted) if inherited and inherited.value else job


def _variables(job: Tree, node: Tree, nodes: Nodes, *, layer: str, entry: int) -> Tree:
    """The job with the runtime's variables that are about to change, since the trainer takes each from one of the two as a whole."""
    wanted = node.get("env")
    container = nodes.behind.container()
    shape = nodes.shape.at(("spec", "trainer", "env"))
    if wanted is None or container is None or shape is None:
        return job
    own = items(job.get("spec", "trainer", "env"))
    there = {identity(item, shape): item for item in items(container.get("env"))}
    new = [
        there[name].ranked((layer, entry, number))
        for number, item in enumerate(items(wanted.get(APPEND) or wanted))
        if (name := identity(item, shape)) in there and name not in [identity(each, shape) for each in own]
    ]
    return _trainer_with(job, {"env": wanted.having(in_rank([*own, *new]))}, wanted) if new else job


def _list(job: Tree, change: Change, nodes: Nodes, name: str, *, layer: str, entry: int) -> Tree:
    """The job with the list that the pods of a replicated job have as its own, where something is to be added to that."""
    sources = nodes.sources(job, name)
    (own,) = [source for source in sources if source.own]
    if _filled(at(own.template, change.path, nodes.inherited)):
        return job
    found = last(sources[: sources.index(own)], change.path, nodes.inherited)
    if found:
        value = at(found.template, change.path, nodes.inherited)
        assert value
        if nodes.entries.has_place(change.path):
            around = nodes.entries.around({name: _around(value, change.path, nodes.inherited)})
            patch = nested(value.having(around), ("spec", nodes.entries.field))
            return Merge(layer, entry)(job, patch, nodes.shape, ())
    elif nodes.behind.runtime is None:
        what = f"`{change.path[-1]}` of the runtime `{nodes.behind.name}`, which the job's would replace, is not at hand to be added to"
        hint = f"write the whole list, or {_AT_HAND}"
        field = spell(change.path)
        nodes.problems.append(Diagnostic("unresolved-reference", what, change.tree.place(), field=field, hint=hint))
    return job


def _filled(tree: Tree | None) -> bool:
    return tree is not None and tree.value is not None


def _around(value: Tree, path: Path, shape: Shape | None) -> Tree:
    """A partial value that has *value* at a path in which the items of keyed lists stand under their keys, and nothing else."""
    if not path:
        return value
    step = path[0]
    if shape and shape.merge:
        inner = _around(value, path[1:], shape.items)
        keys = zip(shape.merge, str(step).split(","), strict=True)
        item = value.having({**{key: value.having(text) for key, text in keys}, **inner.value})
        return value.having({APPEND: value.having([item])})
    return value.having({str(step): _around(value, path[1:], shape.at((step,)) if shape else None)})
