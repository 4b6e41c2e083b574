"""What an overlay says to training pods, on a TrainJob: each part where the API of the release takes it.

A TrainJob has no pod template. Image, command, arguments, environment and resources of the training container belong to
`spec.trainer`; a part of the pod can be changed by entries of the job, as far as their schema goes. What else an overlay says
only a runtime can say.
"""

from __future__ import annotations

from jobspec import shapes
from jobspec.diagnostics import Diagnostic, Key, spell
from jobspec.overlays.behind import CONTAINER, JOBS, Behind
from jobspec.overlays.entries import Entries, worth
from jobspec.overlays.merge import APPEND
from jobspec.overlays.tree import Tree, items
from jobspec.runtimes.runtime import ANCESTOR, API_VERSION, TEMPLATE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from jobspec.diagnostics import Path
    from jobspec.documents.document import Document
    from jobspec.overlays.entries import Source
    from jobspec.shapes import Shape
    from jobspec.targets import Target

WAY_OUT = "say it in a TrainingRuntime of your own, and name that in `spec.runtimeRef`"

#: Fields of the training container -> where `spec.trainer` has them.
TRAINER = {"image": "image", "command": "command", "args": "args", "env": "env", "resources": "resourcesPerNode"}

_METADATA = ("labels", "annotations")  # what the trainer takes of a pod template's metadata


class Nodes:
    """A TrainJob as overlays see it: what its kind can say, and the runtime behind it."""

    __slots__ = ("behind", "entries", "inherited", "problems", "release", "shape")

    def __init__(self, job: Document, shape: Shape, runtime: Document | None, target: Target) -> None:
        self.shape = shape
        self.release = target["trainer"]
        self.entries = Entries(shape)
        self.behind = Behind(job, runtime, self.release)
        kind = shapes.load(API_VERSION, "ClusterTrainingRuntime", target)
        assert kind
        self.inherited = kind.at((*JOBS, 0, *TEMPLATE))
        """The shape of the runtime's pod templates."""
        self.problems: list[Diagnostic] = []

    def sources(self, job: Tree, name: str) -> list[Source]:
        """Who says what the pods of the replicated job *name* are, in order."""
        return self.entries.sources(job, name, self.behind)

    def own(self, job: Tree, name: str) -> Tree:
        """What overlays have said to the pods of the replicated job *name* already, beside `spec.trainer`."""
        return self.entries.own(job, name, self.behind)

    def land(self, said: Tree, job: Tree) -> tuple[Tree, Tree]:
        """A partial pod template as a partial TrainJob: all of it, and what of it changes *job*.

        What a TrainJob cannot say becomes a problem.
        """
        trainer: dict[str, Tree] = {}
        pod: dict[str, Tree] = {}
        for name, child in said.value.items():
            if name == "spec" and isinstance(child.value, dict):
                spec = self._spec(child, trainer)
                if spec:
                    pod[name] = child.having(spec)
            else:
                pod |= self._field(child, self.entries.template, (name,))
        everything = dict.fromkeys(self.behind.jobs if pod else (), said.having(pod))
        changes = {name: kept for name in everything if (kept := worth(everything[name], self.own(job, name)))}
        if changes:
            self._tell_shared_entries(job)
        return self._partial(said, trainer, everything), self._partial(said, trainer, changes)

    def _partial(self, said: Tree, trainer: dict[str, Tree], pods: dict[str, Tree]) -> Tree:
        spec = {"trainer": said.having(trainer)} if trainer else {}
        if pods:
            spec[self.entries.field] = said.having(self.entries.around(pods))
        return said.having({"spec": said.having(spec)})

    def _tell_shared_entries(self, job: Tree) -> None:
        """2.0 takes one entry for a replicated job, and one that it shares with others does not leave room for the overlays' own."""
        for entry in items(job.get("spec", "podSpecOverrides")) if self.entries.field == "podSpecOverrides" else ():
            targets = [str(name.value) for each in items(entry.get("targetJobs")) if (name := each.get("name"))]
            shared = [name for name in targets if name in self.behind.jobs]
            if shared and len(targets) > 1:
                message = f"trainer {self.release} takes one entry only for `{shared[0]}`, and this one is for other jobs, too"
                self.cannot(entry, ("spec", "podSpecOverrides"), message, "split the entry into one for each job")

    def _spec(self, spec: Tree, trainer: dict[str, Tree]) -> dict[str, Tree]:
        """What of a partial pod is a change of the pod; what belongs to the trainer goes into *trainer*."""
        found = {}
        for name, child in spec.value.items():
            if name in ("containers", "initContainers") and (child.get(APPEND) or isinstance(child.value, list)):
                changes = self._containers(name, child, trainer)
                if changes:
                    found[name] = child.having({APPEND: child.having(changes)})
            else:
                found |= self._field(child, self.entries.pod, ("spec", name))
        return found

    def _containers(self, field: str, child: Tree, trainer: dict[str, Tree]) -> list[Tree]:
        shape = self.entries.pod.at((field, 0))
        appended = child.get(APPEND)
        changes = []
        for name, item in self._named_once(items(appended or child), field):
            if not self._is_there(field, name, adding=bool(appended)):
                continue
            change = {"name": name}
            for key, value in item.value.items():
                path: Path = ("spec", field, Key(name.value), key)
                if field == "containers" and name.value == CONTAINER and key in TRAINER:
                    trainer[TRAINER[key]] = value
                    self._tell_unreached(key, value, path)
                elif key != "name":
                    change |= self._field(self._mounted_once(value, path) if key == "volumeMounts" else value, shape, path)
            if len(change) > 1:
                changes.append(item.having(change))
        return changes

    def _named_once(self, containers: list[Tree], field: str) -> Iterator[tuple[Tree, Tree]]:
        """The containers that have a name of their own, with it."""
        seen = set()
        for item in containers:
            name = item.get("name")
            if name is None or not isinstance(name.value, str):
                message = f"an item of `{field}` needs `name`, which tells the items apart"
                self.problems.append(Diagnostic("invalid-overlay", message, item.place(), field=spell(("spec", field))))
            elif name.value in seen:
                message = f"`{name.value}` stands twice in this list of `{field}`"
                self.problems.append(Diagnostic("invalid-overlay", message, item.place(), field=spell(("spec", field))))
            else:
                seen.add(name.value)
                yield name, item

    def _mounted_once(self, mounts: Tree, path: Path) -> Tree:
        """The mounts, of each volume one, as an entry of the job can have them."""
        appended = mounts.get(APPEND)
        kept: dict[object, Tree] = {}
        for number, item in enumerate(items(appended or mounts)):
            name = item.get("name")
            if kept.setdefault(name.value if name and isinstance(name.value, str) else number, item) is not item and name:
                self.tell_mounted(item, path, str(name.value))
        new = mounts.having(list(kept.values()))
        return mounts.having({APPEND: new}) if appended else new if isinstance(mounts.value, list) else mounts

    def tell_mounted(self, mount: Tree, path: Path, volume: str) -> None:
        """Note that an entry of the job cannot mount a volume twice, nor two volumes at one path."""
        message = f"the overlays' entry of `spec.{self.entries.field}` mounts `{volume}` already, and has one place for each volume"
        self.cannot(mount, path, message, "give the same source a second volume, with another name, and mount that")

    def _is_there(self, field: str, name: Tree, *, adding: bool) -> bool:
        """Whether the runtime has a container in all of its training jobs, as far as it is at hand; `node` it always has."""
        lists = [[each.get("name") for each in items(template.get("spec", field))] for template in self.behind.templates.values()]
        known = [[str(each.value) for each in names if each] for names in lists]
        if (field, name.value) == ("containers", CONTAINER) or (all(name.value in names for names in known) and (known or not adding)):
            return True
        path = ("spec", field)
        if adding:
            self.cannot(name, path, f"a TrainJob cannot add the container `{name.value}` to its pods")
        else:
            lacking = next(names for names in known if name.value not in names)
            there = ", ".join(f"`{each}`" for each in lacking) or "none"
            message = f"the runtime `{self.behind.name}` has no container `{name.value}` in `{field}`; it has {there}"
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
        if name not in fields or (path[0] == "metadata" and len(path) == 2 and name not in _METADATA):
            if not only_removes(child):
                self.cannot(child, path, f"a TrainJob of trainer {self.release} has no place for `{name}` of its pods")
            return None
        below = fields[name]
        if below.fields is None or not isinstance(child.value, dict):
            return child
        inside = {key: self._placed(inner, below, (*path, key)) for key, inner in child.value.items()}
        return child.having({key: inner for key, inner in inside.items() if inner})

    def _tell_unreached(self, field: str, value: Tree, path: Path) -> None:
        """Tell what of the training container `spec.trainer` takes and does not bring to the pods."""
        if only_removes(value):
            return
        if self.behind.trained_by() is None:
            self.tell_no_trainer(value, path)
            return
        missed = self.behind.missed(field)
        if missed:
            self.cannot(value, path, f"`spec.trainer.{TRAINER[field]}` does not reach the pods of `{missed[0]}`, which train, too")
        if field == "resources":
            self._tell_ignored(value, path)
        for item in items(value.get(APPEND) or value) if field == "env" else ():
            lost = item.get("valueFrom", "fileKeyRef")
            if lost and lost.value is not None:
                self.cannot(lost, (*path, "valueFrom", "fileKeyRef"), "the trainer loses `fileKeyRef` of a variable")

    def tell_no_trainer(self, said: Tree, path: Path) -> None:
        """Note that the runtime's pods get nothing of `spec.trainer`."""
        what = f"no replicated job with the label `{ANCESTOR}: trainer`, so nothing of `spec.trainer` reaches its pods"
        self.cannot(said, path, f"the runtime `{self.behind.name}` has {what}", "give the label to the runtime's Job template")

    def _tell_ignored(self, resources: Tree, path: Path) -> None:
        claims = resources.get("claims")
        if claims and claims.value is not None:
            self.cannot(claims, (*path, "claims"), "the trainer takes limits and requests only, and loses `claims`")
        if self.behind.merges_resources and self.behind.runtime and not self.behind.policy():
            what = "no `mlPolicy`, without which the trainer does not look at `resourcesPerNode`"
            self.cannot(resources, path, f"the runtime `{self.behind.name}` has {what}", "give the runtime an `mlPolicy`")

    def cannot(self, tree: Tree, path: Path, message: str, hint: str = WAY_OUT) -> None:
        """Note that a TrainJob cannot say something."""
        self.problems.append(Diagnostic("not-expressible", message, tree.place(), field=spell(path), hint=hint))


def only_removes(patch: Tree) -> bool:
    """Whether a patch only takes things away."""
    if isinstance(patch.value, dict):
        return bool(patch.value) and all(map(only_removes, patch.value.values()))
    return patch.value is None
