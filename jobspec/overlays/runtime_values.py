"""Copy values of the runtime into a TrainJob where a change of the job would replace them.

The trainer replaces the runtime's `args` by those of the job; before 2.3 its resources, too; each variable of the same name;
and each list without merge keys.

Follows `Builder.Trainer` and `TrainingRuntime.mergeRuntimePatches` (`mergePodSpecOverrides` in 2.0), github.com/kubeflow/trainer
pkg/runtime/framework/plugins/jobset and pkg/runtime/core, 2.0.0 to 2.3.0.
"""

from __future__ import annotations

from jobspec.diagnostics import Diagnostic, spell
from jobspec.documents.marked_tree import MarkedTree, by_rank, items
from jobspec.overlays.directives import APPEND, is_removal, only_removes
from jobspec.overlays.flags import set_flags
from jobspec.overlays.ineffective import NODE_PATH, at_address, changes_in, last_source, why_ineffective
from jobspec.overlays.merge import Merge, identity
from jobspec.overlays.pod_overrides import nested, same_field
from jobspec.overlays.trainjob import TRAINER

TYPE_CHECKING = False
if TYPE_CHECKING:
    from jobspec.diagnostics import Path
    from jobspec.overlays.ineffective import TemplateChange
    from jobspec.overlays.trainjob import TrainJobPods
    from jobspec.schemas.shapes import Shape

_AT_HAND = "put the runtime into the same file"


def keep_runtime_values(job: MarkedTree, template: MarkedTree, pods: TrainJobPods, *, overlay: str, entry: int) -> MarkedTree:
    """The job with those values of its runtime that a partial pod template would replace; what cannot take effect becomes a problem."""
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
    """Report mounts that share a volume or a path: their key is the volume in an entry of the job, and the path in pods."""
    if len(change.path) < 2 or change.path[-2] != "volumeMounts" or not isinstance(change.tree.value, dict):
        return
    for job_name in pods.runtime.jobs:
        for mount in items(at_address(pods.own_template(job, job_name), change.path[:-1], pods.template_shape)):
            if same_field(change.tree, mount, "mountPath") != same_field(change.tree, mount, "name"):
                pods.report_double_mount(change.tree, change.path, str(mount.value["name"].value))


def set_trainer_flags(job: MarkedTree, flags: MarkedTree, pods: TrainJobPods, *, overlay: str, entry: int) -> MarkedTree:
    """The job with flags set in `spec.trainer`, in the command and arguments that its training container will have."""
    trainer = job.get("spec", "trainer")
    given = {name: child for name in ("command", "args") if trainer and (child := trainer.get(name)) and child.value is not None}
    container = pods.runtime.training_container()
    if pods.runtime.trainer_job() is None:
        pods.report_no_trainer(flags, ("spec", "trainer", "args"))
        return job
    if "args" not in given and container is None:
        message = f"flags are set in arguments, and the job has no `spec.trainer.args`; its runtime `{pods.runtime.name}` is not at hand"
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
        if name in given or _words(words) != _words(before.get(name)):
            changed[name] = words
    return _trainer_with(job, changed, flags) if changed else job


def _words(words: MarkedTree | None) -> list[tuple[object, int | None]]:
    return [(word.value, word.bound) for word in items(words)]


def _trainer_with(job: MarkedTree, changed: dict[str, MarkedTree | None], place: MarkedTree) -> MarkedTree:
    def change(spec: MarkedTree) -> MarkedTree:
        old = spec.get("trainer")
        trainer = old if old and isinstance(old.value, dict) else place.with_value({})
        fields = {name: child for name, child in {**trainer.value, **changed}.items() if child is not None}
        return spec.with_value({**spec.value, "trainer": trainer.with_value(fields)})

    return job.replace_at(("spec",), change)


def _keep_resources(job: MarkedTree, node: MarkedTree, pods: TrainJobPods) -> MarkedTree:
    """Before 2.3: the job with the runtime's resources as its own, where it has none and the change gives it some."""
    wanted = node.get("resources")
    own = job.get("spec", "trainer", TRAINER["resources"])
    container = pods.runtime.training_container()
    inherited = container and container.get("resources")
    if wanted is None or (own and own.value is not None):
        return job
    claims = inherited and inherited.get("claims")
    if claims and claims.value:
        pods.not_expressible(
            wanted, (*NODE_PATH, "resources"), f"with them the pods lose the `claims` of the runtime `{pods.runtime.name}`"
        )
    if pods.runtime.merges_resources:
        return job
    if pods.runtime.document is None:
        if not only_removes(wanted):
            message = f"trainer {pods.release} takes these resources in place of all that the runtime `{pods.runtime.name}` has"
            hint = f"write all of them into `spec.trainer.resourcesPerNode`, or {_AT_HAND}"
            pods.problems.append(Diagnostic("unresolved-reference", message, wanted.place(), severity="warning", hint=hint))
        return job
    if pods.runtime.configures_nodes and len(_different_resources(pods)) > 1:
        message = f"trainer {pods.release} takes these resources in place of those of both the launcher and the nodes, which differ"
        pods.not_expressible(wanted, (*NODE_PATH, "resources"), message)
    return _trainer_with(job, {TRAINER["resources"]: inherited}, wanted) if inherited and inherited.value else job


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
    """The job with the runtime's variables that the change is for, since the trainer takes a variable whole from either of the two."""
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
    """The job with a list of the runtime's pods in its own entry, where the change appends to that list."""
    sources = pods.sources(job, name)
    (own,) = [source for source in sources if source.own]
    if _filled(at_address(own.template, change.path, pods.template_shape)):
        return job
    found = last_source(sources[: sources.index(own)], change.path, pods.template_shape)
    if found:
        value = at_address(found.template, change.path, pods.template_shape)
        assert value
        if pods.overrides.has_place(change.path):
            around = pods.overrides.entries_for({name: _partial_at(value, change.path, pods.template_shape)})
            patch = nested(value.with_value(around), ("spec", pods.overrides.field))
            return Merge(overlay, entry)(job, patch, pods.shape, ())
    elif pods.runtime.document is None:
        what = f"`{change.path[-1]}` of the runtime `{pods.runtime.name}`, which the job's would replace, is not at hand to be added to"
        hint = f"write the whole list, or {_AT_HAND}"
        field = spell(change.path)
        pods.problems.append(Diagnostic("unresolved-reference", what, change.tree.place(), field=field, hint=hint))
    return job


def _filled(tree: MarkedTree | None) -> bool:
    return tree is not None and tree.value is not None


def _partial_at(value: MarkedTree, path: Path, shape: Shape | None) -> MarkedTree:
    """A partial value with *value* at a path in which an item of a keyed list has its keys as its step, and nothing else."""
    if not path:
        return value
    step = path[0]
    if shape and shape.merge:
        inner = _partial_at(value, path[1:], shape.items)
        keys = zip(shape.merge, str(step).split(","), strict=True)
        item = value.with_value({**{key: value.with_value(text) for key, text in keys}, **inner.value})
        return value.with_value({APPEND: value.with_value([item])})
    return value.with_value({str(step): _partial_at(value, path[1:], shape.at((step,)) if shape else None)})
