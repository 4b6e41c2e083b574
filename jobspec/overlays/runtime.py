"""TrainJobs whose changes replace values of the runtime: these values are copied into the job, and changes without effect found.

The trainer replaces the runtime's `args` by those of the job; before 2.3 its resources, too; each variable of the same name;
and each list without merge keys.

Follows `Builder.Trainer` and `TrainingRuntime.mergeRuntimePatches` (`mergePodSpecOverrides` in 2.0), github.com/kubeflow/trainer
pkg/runtime/framework/plugins/jobset and pkg/runtime/core, 2.0.0 to 2.3.0.
"""

from __future__ import annotations

from jobspec.diagnostics.diagnostic import Diagnostic
from jobspec.diagnostics.places import Key, Path, spell
from jobspec.diagnostics.record import Record
from jobspec.documents.marked_tree import MarkedTree, by_rank, items
from jobspec.overlays.flags import set_flags
from jobspec.overlays.merge import APPEND, EntryMerge, below, excludes, identity, is_removal, only_removes
from jobspec.overlays.trainjob import CONTAINER, TRAINER_FIELD, WAY_OUT, PodSource, TrainJobPods, nested, same_field
from jobspec.schemas.shapes import Shape

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


_AT_HAND = "add the runtime to the same file"


def keep_runtime_values(job: MarkedTree, template: MarkedTree, pods: TrainJobPods, *, overlay: str, entry: int) -> MarkedTree:
    """Add to a job the values of its runtime that a partial pod template would replace.

    What cannot take effect becomes a problem.
    """
    node = at_address(template, NODE_PATH, pods.template_shape)
    if node:
        job = _keep_resources(job, node, pods)
        job = _keep_variables(job, node, pods, overlay=overlay, entry=entry)
    for change in changes_in(template, pods.template_shape):
        pods.problems.extend(why_ineffective(change, job, pods))
        _report_double_mounts(change, job, pods)
        if not change.of_trainer and isinstance(change.tree.value, dict) and change.tree.get(APPEND):
            for name in pods.runtime.jobs:
                job = _keep_list(job, change, pods, name, overlay=overlay, entry=entry)
    return job


def _report_double_mounts(change: TemplateChange, job: MarkedTree, pods: TrainJobPods) -> None:
    """Report mounts that share a volume or a path.

    Their key is the volume in an entry of the job, and the path in pods.
    """
    if len(change.path) < 2 or change.path[-2] != "volumeMounts" or not isinstance(change.tree.value, dict):
        return
    for job_name in pods.runtime.jobs:
        for mount in items(at_address(pods.own_template(job, job_name), change.path[:-1], pods.template_shape)):
            if same_field(change.tree, mount, "mountPath") != same_field(change.tree, mount, "name"):
                pods.report_double_mount(change.tree, change.path, str(mount.value["name"].value))


def set_trainer_flags(job: MarkedTree, flags: MarkedTree, pods: TrainJobPods, *, overlay: str, entry: int) -> MarkedTree:
    """Set flags in `spec.trainer` of a job.

    They are set in the command and arguments that the training container will have.
    """
    trainer = job.get("spec", "trainer")
    given = {name: child for name in ("command", "args") if trainer and (child := trainer.get(name)) and child.value is not None}
    container = pods.runtime.training_container()
    if pods.runtime.trainer_job() is None:
        pods.report_no_trainer(flags, ("spec", "trainer", "args"))
        return job
    if "args" not in given and container is None:
        message = f"flags need `spec.trainer.args`, and the runtime `{pods.runtime.name}` is not among the given files"
        hint = f"write `args` into the job, or {_AT_HAND}"
        pods.problems.append(Diagnostic("unresolved-reference", message, flags.place(), field="spec.trainer.args", hint=hint))
        return job
    inherited = {name: child for name in ("command", "args") if container and (child := container.get(name))}
    start = {**inherited, **given}
    before, _ = set_flags(flags.with_value(start), flags.with_value({}), ("spec", "trainer"), overlay=overlay, entry=entry)
    after, problems = set_flags(before, flags, ("spec", "trainer"), overlay=overlay, entry=entry)
    pods.problems.extend(problems)
    changed = {}
    for name in ("command", "args"):
        words = after.get(name)
        if words is None and name in start and (container is None or items(inherited.get(name))):
            words = start[name].with_value([])  # without a list of its own, the job would get the runtime's
        if name in given or _bound_words(words) != _bound_words(before.get(name)):
            changed[name] = words
    return _trainer_with(job, changed, flags) if changed else job


def _bound_words(words: MarkedTree | None) -> list[tuple[object, int | None]]:
    return [(word.value, word.bound) for word in items(words)]


def _trainer_with(job: MarkedTree, changed: dict[str, MarkedTree | None], place: MarkedTree) -> MarkedTree:
    def change(spec: MarkedTree) -> MarkedTree:
        old = spec.get("trainer")
        trainer = old if old and isinstance(old.value, dict) else place.with_value({})
        fields = {name: child for name, child in {**trainer.value, **changed}.items() if child is not None}
        return spec.with_value({**spec.value, "trainer": trainer.with_value(fields)})

    return job.replace_at(("spec",), change)


def _keep_resources(job: MarkedTree, node: MarkedTree, pods: TrainJobPods) -> MarkedTree:
    """Give the job the runtime's resources as its own, for releases before 2.3.

    This is needed if the job has none, and the change gives it some.
    """
    wanted = node.get("resources")
    own = job.get("spec", "trainer", TRAINER_FIELD["resources"])
    container = pods.runtime.training_container()
    inherited = container and container.get("resources")
    if wanted is None or (own and own.value is not None):
        return job
    claims = inherited and inherited.get("claims")
    if claims and claims.value:
        pods.not_expressible(wanted, (*NODE_PATH, "resources"), f"the pods lose the `claims` of the runtime `{pods.runtime.name}`")
    if pods.runtime.merges_resources:
        return job
    if pods.runtime.document is None:
        if not only_removes(wanted):
            message = f"trainer {pods.release} uses these resources in place of all that the runtime `{pods.runtime.name}` has"
            hint = f"write all of them into `spec.trainer.resourcesPerNode`, or {_AT_HAND}"
            pods.problems.append(Diagnostic("unresolved-reference", message, wanted.place(), severity="warning", hint=hint))
        return job
    if pods.runtime.configures_nodes and len(_different_resources(pods)) > 1:
        message = f"trainer {pods.release} uses these resources in place of those of both the launcher and the nodes, which differ"
        pods.not_expressible(wanted, (*NODE_PATH, "resources"), message)
    return _trainer_with(job, {TRAINER_FIELD["resources"]: inherited}, wanted) if inherited and inherited.value else job


def _different_resources(pods: TrainJobPods) -> list[object]:
    """The resources of the training containers of the launcher and the nodes, each once."""
    found: list[object] = []
    for container in pods.runtime.configured_containers("resources"):
        resources = container.get("resources")
        data = (resources.data() if resources else None) or {}
        if data not in found:
            found.append(data)
    return found


def _keep_variables(job: MarkedTree, node: MarkedTree, pods: TrainJobPods, *, overlay: str, entry: int) -> MarkedTree:
    """Add to the job the runtime's variables that the change is for.

    The trainer takes a variable whole from either the job or the runtime.
    """
    wanted = node.get("env")
    container = pods.runtime.training_container()
    shape = pods.shape.at(("spec", "trainer", "env"))
    if wanted is None or container is None or shape is None:
        return job
    own = items(job.get("spec", "trainer", "env"))
    there = {identity(item, shape): item for item in items(container.get("env"))}
    new = [
        there[name].with_rank((overlay, entry, number))
        for number, item in enumerate(items(wanted.get(APPEND) or wanted))
        if not is_removal(item) and (name := identity(item, shape)) in there and name not in [identity(each, shape) for each in own]
    ]
    return _trainer_with(job, {"env": wanted.with_value(by_rank([*own, *new]))}, wanted) if new else job


def _keep_list(job: MarkedTree, change: TemplateChange, pods: TrainJobPods, name: str, *, overlay: str, entry: int) -> MarkedTree:
    """Add a list of the runtime's pods to the job's own entry, if the change appends to it."""
    sources = pods.sources(job, name)
    (own,) = [source for source in sources if source.own]
    there = at_address(own.template, change.path, pods.template_shape)
    if there is not None and there.value is not None:
        return job
    found = last_source(sources[: sources.index(own)], change.path, pods.template_shape)
    if found:
        value = at_address(found.template, change.path, pods.template_shape)
        assert value
        if pods.overrides.has_place(change.path):
            around = pods.entries_for({name: _partial_at(value, change.path, pods.template_shape)})
            patch = nested(value.with_value(around), ("spec", pods.overrides.field))
            return EntryMerge(overlay, entry)(job, patch, pods.shape, ())
    elif pods.runtime.document is None:
        what = f"cannot add to `{change.path[-1]}` of the runtime `{pods.runtime.name}`, which is not among the given files"
        hint = f"write the whole list, or {_AT_HAND}"
        field = spell(change.path)
        pods.problems.append(Diagnostic("unresolved-reference", what, change.tree.place(), field=field, hint=hint))
    return job


def _partial_at(value: MarkedTree, path: Path, shape: Shape | None) -> MarkedTree:
    """Return a partial value with only *value*, at a path.

    The step to an item of a keyed list is made of the item's keys.
    """
    if not path:
        return value
    step = path[0]
    if shape and shape.merge:
        inner = _partial_at(value, path[1:], shape.items)
        keys = zip(shape.merge, str(step).split(","), strict=True)
        item = value.with_value({**{key: value.with_value(text) for key, text in keys}, **inner.value})
        return value.with_value({APPEND: value.with_value([item])})
    return value.with_value({str(step): _partial_at(value, path[1:], shape.at((step,)) if shape else None)})


# Find changes to the pods of a TrainJob that would have no effect.
#
# A job cannot remove what its runtime sets, and a later entry of the job overrides an earlier one. Besides, the trainer drops
# values that are empty in Go, such as `""` and `false`.
#
# Follows `TrainingRuntime.mergeRuntimePatches` (`mergePodSpecOverrides` in 2.0), github.com/kubeflow/trainer pkg/runtime/core, 2.0.0 to
# 2.3.0.


NODE_PATH: Path = ("spec", "containers", Key(CONTAINER))
_ALWAYS_THERE = (("spec",), ("spec", "containers"), NODE_PATH)


class TemplateChange(Record):
    """One value of a partial pod template, and its path.

    The step to an item of a keyed list is made of the item's keys.
    """

    path: Path
    tree: MarkedTree
    shape: Shape | None

    @property
    def of_trainer(self) -> bool:
        """True if the change belongs to `spec.trainer`."""
        return self.path[:3] == NODE_PATH and len(self.path) > 3 and self.path[3] in TRAINER_FIELD

    @property
    def replaces(self) -> bool:
        """True if the change replaces a list or appends to one."""
        return isinstance(self.tree.value, list) or self.tree.get(APPEND) is not None


def changes_in(template: MarkedTree, shape: Shape | None, path: Path = ()) -> Iterator[TemplateChange]:
    """Yield all changes in a partial pod template.

    A list without merge keys is one change; a removed item is a change to null.
    """
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
            step, inner = below(shape, name)
            yield from changes_in(child, inner, (*path, step))


def at_address(tree: MarkedTree | None, path: Path, shape: Shape | None) -> MarkedTree | None:
    """Return the value at a path. The step to an item of a keyed list is made of its keys."""
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
    """Return the last source that has a value at a path. Its value is the effective one.

    The trainer drops empty lists.
    """
    found = [source for source in sources if (there := at_address(source.template, path, shape)) and there.value not in (None, [])]
    return found[-1] if found else None


def why_ineffective(change: TemplateChange, job: MarkedTree, pods: TrainJobPods) -> Iterator[Diagnostic]:
    """Diagnostics of a change without the wanted effect; none for one that has it."""
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
    """True if the trainer's Go types drop a value, so that the runtime's stays.

    They keep entries of maps.
    """
    name, value = change.path[-1], change.tree.value
    return not isinstance(name, Key) and (value in ("", []) or (name == "readOnly" and value is False))


def _excluded_field_stays(change: TemplateChange, others: list[PodSource], shape: Shape | None) -> Iterator[Diagnostic]:
    """Yield a problem for each field of another source that excludes one of the change.

    The field would stay.
    """
    for source in others:
        there = at_address(source.template, change.path, shape)
        for name in sorted(excludes(change.tree, change.shape)):
            child = there.get(name) if there else None
            if child and child.value is not None:
                message = f"`{name}` of `{change.path[-1]}` comes from {source.name}, and would be kept, too"
                yield _problem(change, message, "give this another name, or " + WAY_OUT)


def _in_trainer(change: TemplateChange, job: MarkedTree, pods: TrainJobPods) -> Iterator[Diagnostic]:
    """Yield why a change in `spec.trainer` has no effect on the runtime's container."""
    inside = change.path[3:]
    name, source = str(inside[0]), f"the runtime `{pods.runtime.name}`"
    shape = pods.template_shape.at((*NODE_PATH[:2], 0))
    for container in pods.runtime.training_containers(pods.runtime.jobs_without(name)) if change.tree.value is None else ():
        missed = at_address(container, inside, shape)
        if missed and missed.value not in (None, [], {}):
            yield _cannot_remove(change, source)
    own = job.get("spec", "trainer", TRAINER_FIELD[name])
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
    """True if a change leaves the job without resources, so that the runtime's hold again."""
    fields = dict(own.value) if own and isinstance(own.value, dict) else {}
    fields |= resources.value if isinstance(resources.value, dict) else dict.fromkeys(fields, resources)
    return not any(child.value is not None for name, child in fields.items() if name != "claims")


def _cannot_remove(change: TemplateChange, source: str, *, sure: bool = True) -> Diagnostic:
    if sure:
        return _problem(change, f"`{change.path[-1]}` comes from {source}, and this change of the job cannot remove it")
    message = f"if {source}, which is not among the given files, has `{change.path[-1]}`, a TrainJob cannot remove it"
    return Diagnostic("unresolved-reference", message, change.tree.place(), field=spell(change.path), severity="warning", hint=WAY_OUT)


def _overruled(change: TemplateChange, source: str) -> Diagnostic:
    message = f"{source} sets `{change.path[-1]}` to another value and overrides this, since it comes after the entry of the overlays"
    return _problem(change, message, "remove it there, or move that entry to the front")


def _dropped_by_trainer(change: TemplateChange, source: str) -> Diagnostic:
    text = "an empty list" if isinstance(change.tree.value, list) else "an empty string" if change.tree.value == "" else "`false`"
    return _problem(change, f"the trainer drops {text}: `{change.path[-1]}` of {source} would be kept")


def _replaced(change: TemplateChange, source: str) -> Diagnostic:
    name = change.path[-1]
    hint = "use `flags` to set single ones" if name in ("args", "command") else "write `{$append: [...]}` to add to it"
    message = f"`{name}` of {source} is replaced as a whole"
    return Diagnostic("list-replaced", message, change.tree.place(), field=spell(change.path), severity="warning", hint=hint)


def _problem(change: TemplateChange, message: str, hint: str = WAY_OUT) -> Diagnostic:
    return Diagnostic("not-expressible", message, change.tree.place(), field=spell(change.path), hint=hint)
