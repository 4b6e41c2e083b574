"""Translate a partial pod template into a partial TrainJob, whose API differs from release to release.

A TrainJob has no pod template. Image, command, arguments, environment and resources of the training container belong to
`spec.trainer`; other fields of the pod belong to entries that change the runtime's pods, as far as the schema of these entries
goes. The rest can be expressed by a runtime only.
"""

from __future__ import annotations

from jobspec.diagnostics import Diagnostic, Key, spell
from jobspec.documents.marked_tree import MarkedTree, items
from jobspec.operators.trainer.runtimes import ANCESTOR, API_VERSION
from jobspec.overlays.directives import APPEND, is_removal, only_removes
from jobspec.overlays.job_runtime import CONTAINER, JOBS
from jobspec.overlays.pod_overrides import PodOverrides, without_useless_removals
from jobspec.schemas import shapes
from jobspec.workloads import TEMPLATE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from jobspec.diagnostics import Path
    from jobspec.overlays.job_runtime import JobRuntime
    from jobspec.overlays.pod_overrides import PodSource
    from jobspec.schemas.shapes import Shape
    from jobspec.targets import Target

WAY_OUT = "set it in a TrainingRuntime of your own, and name that in `spec.runtimeRef`"

#: Fields of the training container -> where `spec.trainer` has them.
TRAINER = {"image": "image", "command": "command", "args": "args", "env": "env", "resources": "resourcesPerNode"}

_METADATA = ("labels", "annotations")  # what the trainer takes of a pod template's metadata


class TrainJobPods:
    """The pods of a TrainJob: the schema of what the job can change in them, and the runtime that they come from."""

    __slots__ = ("_target", "overrides", "problems", "release", "runtime", "shape", "template_shape")

    def __init__(self, shape: Shape, runtime: JobRuntime, target: Target, problems: Iterable[Diagnostic] = ()) -> None:
        self.shape = shape
        self._target = target
        self.release = target["trainer"]
        self.overrides = PodOverrides(shape)
        self.runtime = runtime
        kind = shapes.load(API_VERSION, "ClusterTrainingRuntime", target)
        assert kind
        self.template_shape = kind.at((*JOBS, 0, *TEMPLATE))
        """The shape of the runtime's pod templates."""
        self.problems = list(problems)
        """What a TrainJob cannot express, and what else is wrong with the overlays so far."""

    def with_own_problems(self) -> TrainJobPods:
        """The same pods, with a list of problems of their own that begins with those so far."""
        return TrainJobPods(self.shape, self.runtime, self._target, self.problems)

    def sources(self, job: MarkedTree, name: str) -> list[PodSource]:
        """The sources of the pod template of the replicated job *name*, in order."""
        return self.overrides.sources(job, name, self.runtime)

    def own_template(self, job: MarkedTree, name: str) -> MarkedTree:
        """The change that overlays have made already to the pod template of the replicated job *name*, beside `spec.trainer`."""
        return self.overrides.own_template(job, name, self.runtime)

    def translate(self, template: MarkedTree, job: MarkedTree) -> tuple[MarkedTree, MarkedTree]:
        """A partial pod template as a partial TrainJob: the whole, and the part of it that changes *job*.

        What a TrainJob cannot express becomes a problem.
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
            spec[self.overrides.field] = place.with_value(self.overrides.entries_for(pods))
        return place.with_value({"spec": place.with_value(spec)})

    def _report_shared_entries(self, job: MarkedTree) -> None:
        """Report an entry for several replicated jobs: 2.0 takes one entry for a job, which leaves no room for the overlays' own."""
        for entry in items(job.get("spec", "podSpecOverrides")) if self.overrides.field == "podSpecOverrides" else ():
            targets = [str(name.value) for each in items(entry.get("targetJobs")) if (name := each.get("name"))]
            shared = [name for name in targets if name in self.runtime.jobs]
            if shared and len(targets) > 1:
                message = f"trainer {self.release} takes one entry only for `{shared[0]}`, and this one is for other jobs, too"
                self.not_expressible(entry, ("spec", "podSpecOverrides"), message, "split the entry into one for each job")

    def _spec(self, spec: MarkedTree, trainer: dict[str, MarkedTree]) -> dict[str, MarkedTree]:
        """The part of a partial pod spec that changes the pod; the part that belongs to `spec.trainer` goes into *trainer*."""
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
                if field == "containers" and name.value == CONTAINER and key in TRAINER:
                    trainer[TRAINER[key]] = value
                    self._report_unreached(key, value, path)
                elif key != "name":
                    change |= self._field(self._mounted_once(value, path) if key == "volumeMounts" else value, shape, path)
            if len(change) > 1:
                changes.append(item.with_value(change))
        return changes

    def _named_once(self, containers: list[MarkedTree], field: str) -> Iterator[tuple[MarkedTree, MarkedTree]]:
        """The name of each container with the container; one without a name and a second of a name are problems."""
        seen = set()
        for item in containers:
            name = item.get("name")
            if name is None or not isinstance(name.value, str):
                message = f"an item of `{field}` needs `name`, which identifies the items"
                self.problems.append(Diagnostic("invalid-overlay", message, item.place(), field=spell(("spec", field))))
            elif name.value in seen:
                message = f"`{name.value}` stands twice in this list of `{field}`"
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
        """Whether all training jobs of the runtime have a container, as far as the runtime is at hand; `node` they always have."""
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
        """The part of a field of the pod that the release has a place for; the rest is a problem.

        A removal needs no place: where the release has none, the job has nothing to remove.
        """
        name = str(path[-1])
        fields = shape.fields if shape and shape.fields is not None else {}
        if name not in fields or (path[0] == "metadata" and len(path) == 2 and name not in _METADATA):
            if not only_removes(child):
                self.not_expressible(child, path, f"a TrainJob of trainer {self.release} has no place for `{name}` of its pods")
            return None
        below = fields[name]
        if below.fields is None or not isinstance(child.value, dict):
            return child
        inside = {key: self._placed(inner, below, (*path, key)) for key, inner in child.value.items()}
        return child.with_value({key: inner for key, inner in inside.items() if inner})

    def _report_unreached(self, field: str, value: MarkedTree, path: Path) -> None:
        """Report a field of the training container that `spec.trainer` takes and does not bring to the pods."""
        if only_removes(value):
            return
        if self.runtime.trainer_job() is None:
            self.report_no_trainer(value, path)
            return
        missed = self.runtime.jobs_without(field)
        if missed:
            self.not_expressible(value, path, f"`spec.trainer.{TRAINER[field]}` does not reach the pods of `{missed[0]}`, which train, too")
        if field == "resources":
            self._report_ignored_resources(value, path)
        for item in items(value.get(APPEND) or value) if field == "env" else ():
            lost = item.get("valueFrom", "fileKeyRef")
            if lost and lost.value is not None:
                self.not_expressible(lost, (*path, "valueFrom", "fileKeyRef"), "the trainer drops `fileKeyRef` of a variable")

    def report_no_trainer(self, tree: MarkedTree, path: Path) -> None:
        """Report that the runtime's pods get nothing of `spec.trainer`."""
        what = f"no replicated job with the label `{ANCESTOR}: trainer`, so nothing of `spec.trainer` reaches its pods"
        self.not_expressible(tree, path, f"the runtime `{self.runtime.name}` has {what}", "give the label to the runtime's Job template")

    def _report_ignored_resources(self, resources: MarkedTree, path: Path) -> None:
        claims = resources.get("claims")
        if claims and claims.value is not None:
            self.not_expressible(claims, (*path, "claims"), "the trainer takes limits and requests only, and drops `claims`")
        if self.runtime.merges_resources and self.runtime.document and not self.runtime.policy():
            what = "no `mlPolicy`, without which the trainer does not look at `resourcesPerNode`"
            self.not_expressible(resources, path, f"the runtime `{self.runtime.name}` has {what}", "give the runtime an `mlPolicy`")

    def not_expressible(self, tree: MarkedTree, path: Path, message: str, hint: str = WAY_OUT) -> None:
        """Report that a TrainJob cannot express something."""
        self.problems.append(Diagnostic("not-expressible", message, tree.place(), field=spell(path), hint=hint))
