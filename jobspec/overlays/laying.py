"""One job, and overlays being laid on it."""

from __future__ import annotations

from jobspec import shapes, workloads
from jobspec.diagnostics import Diagnostic, Key, spell
from jobspec.documents.document import Document
from jobspec.kinds import TRAINJOB
from jobspec.overlays import settings
from jobspec.overlays.flags import set_flags
from jobspec.overlays.merge import APPEND, Merge
from jobspec.overlays.parameters import TRAINING, Substitution
from jobspec.overlays.tree import Tree, grow, items

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from jobspec.diagnostics import Path
    from jobspec.overlays.layer import Layer
    from jobspec.overlays.nodes import Nodes
    from jobspec.overlays.settings import Setting
    from jobspec.targets import Target


class Laying:
    """A job as it becomes, overlay by overlay."""

    def __init__(self, document: Document, beside: Iterable[Document], target: Target) -> None:
        """*beside* are the documents among which the job's runtime may be."""
        shape = shapes.load(document.api_version, document.kind, target)
        assert shape
        self.document = document
        self.beside = beside
        self.target = target
        self.shape = shape
        self.tree = grow(document.data, document.marks)
        self.nodes: Nodes | None = None
        self.volumes: list[Tree] = []
        """The volumes that were meant for some roles alone and came to be on every node."""
        self.problems: list[Diagnostic] = []

    def lay(self, layers: Sequence[Layer]) -> None:
        """Lay overlays in order; what they say to pods reaches the pods of roles, too, that any of them adds to the job."""
        for layer in layers:
            _Change(self, layer).job()
        self.problems = [problem for problem in self.problems if problem.severity == "warning"]
        changed = Document(self.tree.data(), self.tree.marks, file=self.document.file)
        self.nodes = self._nodes(changed)
        roles = workloads.roles(changed)
        by_layer: list[tuple[Layer, list[Setting]]] = []
        for layer in layers:
            change = _Change(self, layer)
            change.job()
            change.pods(roles)
            if not layer.override:
                self._tell_conflicts(by_layer, layer, change.settings)
            by_layer.append((layer, change.settings))
        if self.nodes:
            self.problems += self.nodes.problems

    def _nodes(self, job: Document) -> Nodes | None:
        """A TrainJob's nodes, with the runtime behind them; None for other kinds."""
        if job.group_kind != TRAINJOB:
            return None
        from jobspec.overlays.nodes import Nodes
        from jobspec.runtimes.runtime import runtime_of

        return Nodes(job, self.shape, runtime_of(job, self.beside, self.target), self.target)

    def _tell_conflicts(self, before: list[tuple[Layer, list[Setting]]], layer: Layer, later: list[Setting]) -> None:
        for other, earlier in before:
            if other.name != layer.name:
                for pair in settings.conflicts(earlier, later):
                    self.problems.append(settings.report(*pair, (other.name, layer.name)))


class _Change:
    """One overlay on one job, and everything that it sets."""

    def __init__(self, laying: Laying, layer: Layer) -> None:
        self.laying = laying
        self.layer = layer
        self.settings: list[Setting] = []

    def job(self) -> None:
        """The partial manifest for the job's kind."""
        partial = self.layer.spec.get("job", self.laying.document.kind)
        said = self._said(partial, {}) if partial else None
        if said:
            self._merge(said, (), entry=-1)

    def pods(self, there: list[workloads.Role]) -> None:
        """What the overlay says to training pods, on each role's template."""
        by_entry: list[tuple[Tree | None, list[Setting]]] = []
        for number, entry in enumerate(items(self.layer.spec.get("pods"))):
            wanted = entry.get("roles")
            roles = [role for role in there if role.answers_to(wanted.data() if wanted else ())]
            if not roles:
                self._no_role(entry, wanted, there)
            already = len(self.settings)
            for role in roles:
                self._pod(role, entry, number)
            by_entry.append((wanted, self.settings[already:]))
        if self.laying.nodes:
            self._tell_roles(by_entry)

    def _pod(self, role: workloads.Role, entry: Tree, number: int) -> None:
        said = self._said(entry, {TRAINING: role.container})
        if said and self.laying.nodes:
            self._node(self.laying.nodes, said, entry.get("roles"), number)
        elif said:
            template, flags = said.get("template"), said.get("flags")
            if template:
                self._merge(template, role.path, entry=number)
            if flags:
                self._flags(flags, role, number)

    def _node(self, nodes: Nodes, said: Tree, wanted: Tree | None, number: int) -> None:
        """What is said to the pods of a TrainJob, whose templates its runtime has."""
        from jobspec.overlays.inherited import inherit, set_trainer_flags

        template, flags = said.get("template"), said.get("flags")
        laying = self.laying
        if template:
            if wanted and len(set(wanted.data())) == 1:
                volumes = template.get("spec", "volumes")
                laying.volumes += items(volumes and volumes.get(APPEND)) or items(volumes)
            laying.tree = inherit(laying.tree, template, nodes, layer=self.layer.name, entry=number)
            everything, patch = nodes.land(template, laying.tree)
            self._merge(patch, (), entry=number, said=everything)
        if flags:
            laying.tree = set_trainer_flags(laying.tree, flags, nodes, layer=self.layer.name, entry=number)
            self.settings += settings.flatten_flags(flags, ("spec", "trainer"))

    def _merge(self, patch: Tree, path: Path, *, entry: int, said: Tree | None = None) -> None:
        """Lay a patch; *said* is all that stands in it or needed not."""
        shape = self.laying.shape.at(path)
        merge = Merge(self.layer.name, entry)
        self.laying.tree = self.laying.tree.put(path, lambda base: merge(base, patch, shape, path))
        self.laying.problems += merge.problems
        self.settings += settings.flatten(said or patch, shape, path)

    def _flags(self, flags: Tree, role: workloads.Role, number: int) -> None:
        path = (*role.path, "spec", "containers")
        containers = items(self.laying.tree.get(*map(str, path)))
        for index, container in enumerate(containers):
            name = container.get("name")
            if name and name.value == role.container:
                containers[index], found = set_flags(container, flags, (*path, index), layer=self.layer.name, entry=number)
                self.laying.problems += found
                self.laying.tree = self.laying.tree.put(path, lambda tree: tree.having(containers))
                self.settings += settings.flatten_flags(flags, (*path, Key(role.container)))
                return
        if any(problem.rule == "missing-container" for problem in self.laying.problems):
            return  # the same mistake, told already
        message = f"the {role.name} has no container `{role.container}`, which is the one that trains"
        self.laying.problems.append(Diagnostic("missing-container", message, flags.place()))

    def _said(self, tree: Tree, given: dict[str, str]) -> Tree | None:
        substitution = Substitution({**self.layer.values, **given})
        said = substitution(tree)
        self.laying.problems += substitution.problems
        return said

    def _tell_roles(self, by_entry: list[tuple[Tree | None, list[Setting]]]) -> None:
        """Nodes are masters and workers in one, to whom an overlay cannot say different things."""
        for number, (roles, later) in enumerate(by_entry):
            for others, earlier in by_entry[:number]:
                if (roles and sorted(roles.data())) != (others and sorted(others.data())):
                    for other, setting in settings.conflicts(earlier, later):
                        message = (
                            f"`{self.layer.name}` says different things to roles (see {other.mark}), and a TrainJob has one kind of pod"
                        )
                        hint = "say it to all pods, or leave the overlay out"
                        self.laying.problems.append(
                            Diagnostic("not-expressible", message, setting.mark, field=spell(setting.address), hint=hint)
                        )

    def _no_role(self, entry: Tree, wanted: Tree | None, there: list[workloads.Role]) -> None:
        names = ", ".join(wanted.data()) if wanted else "any role"
        known = " and ".join(role.name for role in there) or "none"
        message = f"`{self.layer.name}` changes pods of {names}, and the job {self.laying.document.name} has pods of {known} only"
        place = wanted.place() if wanted else entry.place()
        self.laying.problems.append(Diagnostic("missing-role", message, place, hint="add the role to the job, or leave the overlay out"))
