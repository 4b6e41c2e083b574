"""What an overlay says to training pods, on a TrainJob: each part where the API of the release takes it.

A TrainJob has no pod template. Image, command, arguments, environment and resources of the training container belong to
`spec.trainer`; a part of the pod can be changed by `podSpecOverrides` (2.0), `podTemplateOverrides` (2.1) or `runtimePatches`
(2.2 on), as far as their schema goes. What else an overlay says only a runtime can say.
"""

from __future__ import annotations

from jobspec import shapes
from jobspec.diagnostics import Diagnostic, Key, spell
from jobspec.overlays.merge import APPEND
from jobspec.overlays.tree import Tree, grow, items
from jobspec.runtimes.runtime import API_VERSION, TEMPLATE, Reference, replicated_jobs, training_jobs

TYPE_CHECKING = False
if TYPE_CHECKING:
    from jobspec.diagnostics import Path
    from jobspec.documents.document import Document
    from jobspec.shapes import Shape
    from jobspec.targets import Target

MANAGER = "jobspec.dev/overlays"
CONTAINER = "node"
WAY_OUT = "say it in a TrainingRuntime of your own, and name that in `spec.runtimeRef`"

#: Fields of the training container -> where `spec.trainer` has them.
TRAINER = {"image": "image", "command": "command", "args": "args", "env": "env", "resources": "resourcesPerNode"}

_FIELDS = ("runtimePatches", "podTemplateOverrides", "podSpecOverrides")
_IN_PATCHES: Path = ("trainingRuntimeSpec", "template", "spec", "replicatedJobs", 0, "template", "spec", "template")


class Nodes:
    """A TrainJob as overlays see it: what its kind can say, and the runtime behind it where that is at hand."""

    __slots__ = ("field", "inherited", "jobs", "pod", "problems", "release", "runtime", "runtime_name", "shape", "template")

    def __init__(self, job: Document, shape: Shape, runtime: Document | None, target: Target) -> None:
        self.shape = shape
        spec = shape.at(("spec",))
        assert spec and spec.fields
        self.field = next(name for name in _FIELDS if name in spec.fields)
        """Which field of `spec` changes pods."""
        template = shape.at(("spec", self.field, 0, *(_IN_PATCHES if self.field == "runtimePatches" else ())))
        assert template
        self.template = template
        """The shape of the changes to a pod template, or to its `spec` where nothing else can be changed."""
        pod = template if self.field == "podSpecOverrides" else template.at(("spec",))
        assert pod
        self.pod = pod
        kind = shapes.load(API_VERSION, "ClusterTrainingRuntime", target)
        assert kind
        self.inherited = kind.at(("spec", "template", "spec", "replicatedJobs", 0, *TEMPLATE))
        """The shape of the runtime's pod templates."""
        self.release = target["trainer"]
        self.runtime = runtime
        self.runtime_name = Reference(job.data).name
        self.jobs = training_jobs(runtime)
        self.problems: list[Diagnostic] = []

    def behind(self) -> list[Tree]:
        """The pod templates of the runtime's training jobs, none where the runtime is not at hand."""
        if self.runtime is None:
            return []
        tree = grow(self.runtime.data, self.runtime.marks).get("spec", "template", "spec", "replicatedJobs")
        names = [job["name"] for job in replicated_jobs(self.runtime)]
        found = [job.get(*map(str, TEMPLATE)) for job, name in zip(items(tree), names, strict=True) if name in self.jobs]
        return [template for template in found if template]

    def changes(self, job: Tree) -> list[tuple[Tree, bool]]:
        """The changes that a job makes to the pod template of its nodes, in order, and whether they stand where overlays put theirs."""
        found = []
        for entry in items(job.get("spec", self.field)):
            (own,) = self._entries(entry.having({}), self.jobs[:1])
            if self.field == "runtimePatches":
                listed = items(entry.get(*map(str, _IN_PATCHES[:4])))
                mine = _same(entry, own, "manager")
                found += [(template, mine) for each in listed if _named(each, self.jobs[0]) and (template := each.get(*map(str, TEMPLATE)))]
            elif any(_named(each, self.jobs[0]) for each in items(entry.get("targetJobs"))):
                template = entry if self.field == "podTemplateOverrides" else entry.having({"spec": entry})
                found.append((template, _same(entry, own, "targetJobs")))
        return found

    def land(self, said: Tree) -> Tree:
        """A partial pod template as a partial TrainJob; what it cannot say becomes a problem."""
        trainer: dict[str, Tree] = {}
        pod: dict[str, Tree] = {}
        for name, child in said.value.items():
            if name == "spec":
                spec = self._spec(child, trainer)
                if spec:
                    pod[name] = child.having(spec)
            else:
                pod |= self._field(child, self.template if self.field != "podSpecOverrides" else None, (name,))
        landed = {"trainer": said.having(trainer)} if trainer else {}
        if pod:
            landed[self.field] = said.having(self._entries(said.having(pod), self.jobs))
        return said.having({"spec": said.having(landed)})

    def _spec(self, spec: Tree, trainer: dict[str, Tree]) -> dict[str, Tree]:
        """What of a partial pod is a change of the pod; what belongs to the trainer goes into *trainer*."""
        found = {}
        for name, child in spec.value.items():
            if name in ("containers", "initContainers") and child.value is not None:
                changes = self._containers(name, child, trainer)
                if changes:
                    found[name] = child.having({APPEND: child.having(changes)})
            else:
                found |= self._field(child, self.pod, ("spec", name))
        return found

    def _containers(self, field: str, child: Tree, trainer: dict[str, Tree]) -> list[Tree]:
        shape = self.pod.at((field, 0))
        appended = child.get(APPEND)
        changes = []
        for item in items(appended or child):
            name = item.get("name")
            if name is None or not self._is_there(field, name, adding=bool(appended)):
                continue
            change = {"name": name}
            for key, value in item.value.items():
                if field == "containers" and name.value == CONTAINER and key in TRAINER:
                    trainer[TRAINER[key]] = value
                elif key != "name":
                    change |= self._field(value, shape, ("spec", field, Key(name.value), key))
            if len(change) > 1:
                changes.append(item.having(change))
        return changes

    def _is_there(self, field: str, name: Tree, *, adding: bool) -> bool:
        """Whether the runtime has a container, as far as it is at hand; `node` it always has."""
        templates = self.behind()
        names = [each.get("name") for template in templates for each in items(template.get("spec", field))]
        known = [str(each.value) for each in names if each]
        if name.value in known or (not templates and not adding) or (field == "containers" and name.value == CONTAINER):
            return True
        path = ("spec", field)
        if adding:
            self.cannot(name, path, f"a TrainJob cannot add the container `{name.value}` to its pods")
        else:
            there = ", ".join(f"`{each}`" for each in known) or "none"
            message = f"the runtime `{self.runtime_name}` has no container `{name.value}` in `{field}`; it has {there}"
            self.problems.append(Diagnostic("missing-container", message, name.place(), field=spell(path)))
        return False

    def _field(self, child: Tree, shape: Shape | None, path: Path) -> dict[str, Tree]:
        placed = self._placed(child, shape, path)
        return {str(path[-1]): placed} if placed else {}

    def _placed(self, child: Tree, shape: Shape | None, path: Path) -> Tree | None:
        """What the release has a place for, of a field of the pod and everything in it; the rest is a problem.

        What is only to be removed needs no place: without one, the job has nothing there.
        """
        name = str(path[-1])
        fields = shape.fields if shape and shape.fields is not None else {}
        if name not in fields:
            if not only_removes(child):
                self.cannot(child, path, f"a TrainJob of trainer {self.release} has no place for `{name}` of its pods")
            return None
        below = fields[name]
        if below.fields is None or not isinstance(child.value, dict):
            return child
        inside = {key: self._placed(inner, below, (*path, key)) for key, inner in child.value.items()}
        return child.having({key: inner for key, inner in inside.items() if inner})

    def cannot(self, tree: Tree, path: Path, message: str, hint: str = WAY_OUT) -> None:
        """Note that a TrainJob cannot say something."""
        self.problems.append(Diagnostic("not-expressible", message, tree.place(), field=spell(path), hint=hint))

    def _entries(self, pod: Tree, jobs: list[str]) -> list[Tree]:
        """The entries that change the pods of replicated jobs."""
        names = [pod.having(job) for job in jobs]
        if self.field == "runtimePatches":
            template = nested(pod, tuple(map(str, TEMPLATE)))
            listed = pod.having([pod.having({"name": name, **template.value}) for name in names])
            return [pod.having({"manager": pod.having(MANAGER), **nested(listed, tuple(map(str, _IN_PATCHES[:4]))).value})]
        inside = pod.value if self.field == "podTemplateOverrides" else dict(pod.entries("spec"))
        return [pod.having({"targetJobs": pod.having([pod.having({"name": name})]), **inside}) for name in names]


def _named(tree: Tree, name: str) -> bool:
    own = tree.get("name")
    return bool(own and own.value == name)


def _same(one: Tree, other: Tree, field: str) -> bool:
    first, second = one.get(field), other.get(field)
    return bool(first and second and first.data() == second.data())


def nested(tree: Tree, path: tuple[str, ...]) -> Tree:
    """A tree as the value at *path* of mappings that have its place."""
    for step in reversed(path):
        tree = tree.having({step: tree})
    return tree


def only_removes(patch: Tree) -> bool:
    """Whether a patch only takes things away."""
    if isinstance(patch.value, dict):
        return bool(patch.value) and all(map(only_removes, patch.value.values()))
    return patch.value is None
