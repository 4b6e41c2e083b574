"""Lay overlays on jobs.

The laws, each a property test: laying nothing changes nothing; `[a, b]` at once equals `a`, then `b`; twice equals once;
overlays that do not conflict commute.
"""

from __future__ import annotations

from jobspec import shapes, workloads
from jobspec.diagnostics import Diagnostic, Key
from jobspec.documents.document import Document
from jobspec.overlays import settings
from jobspec.overlays.companions import companions
from jobspec.overlays.flags import set_flags
from jobspec.overlays.merge import Merge
from jobspec.overlays.parameters import TRAINING, Substitution
from jobspec.overlays.tree import Tree, grow, items

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from jobspec.diagnostics import Path
    from jobspec.overlays.layer import Layer
    from jobspec.overlays.settings import Setting
    from jobspec.targets import Target


class Variant:
    """The documents of a file, the overlays on its jobs, and what comes of both."""

    __slots__ = ("_result", "base", "layers")

    def __init__(self, base: Sequence[Document], layers: Sequence[Layer], result: Sequence[Document]) -> None:
        self.base = base
        self.layers = layers
        self._result = result

    def documents(self) -> list[Document]:
        """The documents in the file's order, then companions."""
        return list(self._result)


def start(documents: Iterable[Document]) -> Variant:
    """The documents before anything is laid on them."""
    base = list(documents)
    return Variant(base, (), base)


def lay(variant: Variant, layers: Iterable[Layer], target: Target) -> tuple[Variant, list[Diagnostic]]:
    """The variant with further overlays laid on every job of it, in order, and everything that stands in their way."""
    layers = (*variant.layers, *layers)
    problems = list(_excluded(layers))
    result = []
    namespaces: dict[str, Tree | None] = {}
    for document in variant.base:
        if layers and workloads.is_workload(document):
            laying = _Laying(document, target)
            laying.lay(layers)
            problems += laying.problems
            result.append(Document(laying.tree.data(), laying.tree.marks, file=document.file, index=document.index))
            namespaces.setdefault(result[-1].namespace, laying.tree.get("metadata", "namespace"))
        else:
            result.append(document)
    added, found = companions(layers, list(namespaces.values()))
    if namespaces:
        problems += found
        for number, companion in enumerate(added, result[-1].index + 1):
            result.append(Document(companion.data(), companion.marks, file=result[0].file, index=number))
    return Variant(variant.base, layers, result), _each_once(problems)


def _excluded(layers: Sequence[Layer]) -> Iterator[Diagnostic]:
    """Overlays that name each other, or one the other, in `conflicts`."""
    for number, layer in enumerate(layers):
        for other in layers[:number]:
            named = [name for one, another in ((layer, other), (other, layer)) for name in one.conflicts() if name.value == another.name]
            if named and layer.name != other.name:
                message = f"`{layer.name}` and `{other.name}` exclude each other"
                yield Diagnostic("overlay-conflict", message, named[0].mark, hint="lay one of them only")


def _each_once(problems: list[Diagnostic]) -> list[Diagnostic]:
    """One mistake of an overlay is one diagnostic, however many roles and jobs it is laid on."""
    return list({(each.rule, str(each.mark)): each for each in reversed(problems)}.values())[::-1]


class _Laying:
    """A job as it becomes, overlay by overlay."""

    def __init__(self, document: Document, target: Target) -> None:
        shape = shapes.load(document.api_version, document.kind, target)
        assert shape
        self.document = document
        self.shape = shape
        self.tree = grow(document.data, document.marks)
        self.problems: list[Diagnostic] = []

    def lay(self, layers: Sequence[Layer]) -> None:
        """Lay overlays in order; what they say to pods reaches the pods of roles, too, that any of them adds to the job."""
        for layer in layers:
            _Change(self, layer).job()
        self.problems = [problem for problem in self.problems if problem.severity == "warning"]
        roles = workloads.roles(Document(self.tree.data(), self.tree.marks, file=self.document.file))
        by_layer: list[tuple[Layer, list[Setting]]] = []
        for layer in layers:
            change = _Change(self, layer)
            change.job()
            change.pods(roles)
            if not layer.override:
                self._tell_conflicts(by_layer, layer, change.settings)
            by_layer.append((layer, change.settings))

    def _tell_conflicts(self, before: list[tuple[Layer, list[Setting]]], layer: Layer, later: list[Setting]) -> None:
        for other, earlier in before:
            if other.name != layer.name:
                for pair in settings.conflicts(earlier, later):
                    self.problems.append(settings.report(*pair, (other.name, layer.name)))


class _Change:
    """One overlay on one job, and everything that it sets."""

    def __init__(self, laying: _Laying, layer: Layer) -> None:
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
        for number, entry in enumerate(items(self.layer.spec.get("pods"))):
            wanted = entry.get("roles")
            roles = [role for role in there if not wanted or role.name in wanted.data()]
            if not roles:
                self._no_role(entry, wanted, there)
            for role in roles:
                self._pod(role, entry, number)

    def _pod(self, role: workloads.Role, entry: Tree, number: int) -> None:
        said = self._said(entry, {TRAINING: role.container})
        template = said.get("template") if said else None
        flags = said.get("flags") if said else None
        if template:
            self._merge(template, role.path, entry=number)
        if flags:
            self._flags(flags, role, number)

    def _merge(self, patch: Tree, path: Path, *, entry: int) -> None:
        shape = self.laying.shape.at(path)
        merge = Merge(self.layer.name, entry)
        self.laying.tree = self.laying.tree.put(path, lambda base: merge(base, patch, shape, path))
        self.laying.problems += merge.problems
        self.settings += settings.flatten(patch, shape, path)

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

    def _no_role(self, entry: Tree, wanted: Tree | None, there: list[workloads.Role]) -> None:
        names = ", ".join(wanted.data()) if wanted else "any role"
        known = " and ".join(role.name for role in there) or "none"
        message = f"`{self.layer.name}` changes pods of {names}, and the job {self.laying.document.name} has pods of {known} only"
        place = wanted.place() if wanted else entry.place()
        self.laying.problems.append(Diagnostic("missing-role", message, place, hint="add the role to the job, or leave the overlay out"))
