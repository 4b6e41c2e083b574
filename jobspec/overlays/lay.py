"""Lay overlays on jobs.

The laws, each a property test: laying nothing changes nothing; `[a, b]` at once equals `a`, then `b`; twice equals once;
overlays that do not conflict commute.
"""

from __future__ import annotations

from jobspec import shapes, workloads
from jobspec.diagnostics import Diagnostic
from jobspec.documents.document import Document
from jobspec.overlays import settings
from jobspec.overlays.flags import set_flags
from jobspec.overlays.merge import Merge
from jobspec.overlays.parameters import TRAINING, Substitution
from jobspec.overlays.settings import Setting
from jobspec.overlays.tree import Tree, grow

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from jobspec.diagnostics import Path
    from jobspec.overlays.layer import Layer
    from jobspec.shapes import Shape
    from jobspec.targets import Target


class Job:
    """A training job with the overlays that were laid on it so far."""

    __slots__ = ("document", "layers", "settings", "tree")

    def __init__(self, document: Document, tree: Tree, layers: tuple[Layer, ...] = (), settings: tuple[Setting, ...] = ()) -> None:
        self.document = document
        """The base."""
        self.tree = tree
        self.layers = layers
        self.settings = settings
        """Everything that the overlays set, to tell conflicts by."""


class Variant:
    """The documents of a file with overlays laid on its jobs, and the companions that came with them."""

    __slots__ = ("companions", "parts")

    def __init__(self, parts: Sequence[Document | Job], companions: Sequence[Tree] = ()) -> None:
        self.parts = parts
        self.companions = companions

    def documents(self) -> list[Document]:
        """The documents in the file's order, then companions; those without a namespace stand in the first job's."""
        documents = [part if isinstance(part, Document) else _document(part) for part in self.parts]
        namespaces = [part.tree.get("metadata", "namespace") for part in self.parts if isinstance(part, Job)]
        for number, companion in enumerate(self.companions):
            tree = _in_namespace(companion, namespaces[0] if namespaces else None)
            documents.append(Document(tree.data(), tree.marks, file=documents[0].file, index=len(self.parts) + number))
        return documents


def start(documents: Iterable[Document]) -> Variant:
    """The documents before anything is laid on them."""
    return Variant([Job(each, grow(each.data, each.marks)) if workloads.is_workload(each) else each for each in documents])


def lay(variant: Variant, layers: Iterable[Layer], target: Target) -> tuple[Variant, list[Diagnostic]]:
    """The variant with the overlays laid on every job of it, in order, and everything that stands in their way."""
    problems: list[Diagnostic] = []
    for layer in layers:
        parts: list[Document | Job] = []
        for part in variant.parts:
            if isinstance(part, Job):
                part, found = _lay_on(part, layer, target)
                problems += found
            parts.append(part)
        companions, found = _companions(variant, layer)
        problems += found
        variant = Variant(parts, companions)
    return variant, problems


def _document(job: Job) -> Document:
    if not job.layers:
        return job.document
    return Document(job.tree.data(), job.tree.marks, file=job.document.file, index=job.document.index)


def _lay_on(job: Job, layer: Layer, target: Target) -> tuple[Job, list[Diagnostic]]:
    problems = list(_excluded(job, layer))
    change = _Change(job, layer, target)
    change.pods()
    change.job()
    problems += change.problems
    for earlier, later in settings.conflicts(list(job.settings), change.settings):
        problems.append(settings.report(earlier, later))
    return Job(job.document, change.tree, (*job.layers, layer), (*job.settings, *change.settings)), problems


def _excluded(job: Job, layer: Layer) -> Iterator[Diagnostic]:
    """Overlays that name each other, or one the other, in `conflicts`."""
    for other in job.layers:
        for one, another in ((layer, other), (other, layer)):
            for name in one.conflicts():
                if name.value == another.name and another.name != one.name:
                    message = f"`{one.name}` and `{another.name}` exclude each other"
                    yield Diagnostic("overlay-conflict", message, name.mark, hint="lay one of them only")


class _Change:
    """One overlay on one job: the job's tree as it becomes, and what the overlay sets."""

    def __init__(self, job: Job, layer: Layer, target: Target) -> None:
        shape = shapes.load(job.document.api_version, job.document.kind, target)
        assert shape
        self.document = job.document
        self.tree = job.tree
        self.layer = layer
        self.shape: Shape = shape
        self.settings: list[Setting] = []
        self.problems: list[Diagnostic] = []

    def pods(self) -> None:
        """What the overlay says to training pods, on each role's template."""
        entries = self.layer.spec.get("pods")
        there = workloads.roles(self.document)
        for number, entry in enumerate(entries.value if entries else ()):
            wanted = entry.get("roles")
            roles = [role for role in there if not wanted or role.name in wanted.data()]
            if not roles:
                self._no_role(entry, wanted, there)
            for role in roles:
                self._pod(role, entry, number)

    def job(self) -> None:
        """The partial manifest for the job's kind."""
        partial = self.layer.spec.get("job", self.document.kind)
        said = self._said(partial, "") if partial else None
        if said:
            self._merge(said, (), number=len(self.settings))

    def _pod(self, role: workloads.Role, entry: Tree, number: int) -> None:
        template = entry.get("template")
        said = self._said(template, role.container) if template else None
        if said:
            self._merge(said, role.path, number=number)
        flags = entry.get("flags")
        said = self._said(flags, role.container) if flags else None
        if said and isinstance(said.value, dict):
            self._flags(said, role, number)

    def _merge(self, patch: Tree, path: Path, *, number: int) -> None:
        shape = self.shape.at(path)
        merge = Merge(self.layer.name, number)
        self.tree = self.tree.put(path, lambda base: merge(base, patch, shape, path))
        self.problems += merge.problems
        self._set(settings.flatten(patch, shape, tuple(map(str, path))))

    def _flags(self, flags: Tree, role: workloads.Role, number: int) -> None:
        path = (*role.path, "spec", "containers")
        containers = self.tree.get(*map(str, path))
        items = containers.value if containers and isinstance(containers.value, list) else []
        for index, container in enumerate(items):
            name = container.get("name")
            if name and name.value == role.container:
                changed, found = set_flags(container, flags, (*path, index), layer=self.layer.name, entry=number)
                self.problems += found
                self.tree = self.tree.put(path, lambda tree: tree.having([*tree.value[:index], changed, *tree.value[index + 1 :]]))  # noqa: B023
                self._set(settings.flatten_flags(flags, (*map(str, path), f"[{role.container}]")))
                return
        message = f"the {role.name} has no container `{role.container}`, which is the one that trains"
        self.problems.append(Diagnostic("missing-container", message, flags.place()))

    def _said(self, tree: Tree, container: str) -> Tree | None:
        substitution = Substitution({**self.layer.values, **({TRAINING: container} if container else {})})
        said = substitution(tree)
        self.problems += substitution.problems
        return said

    def _set(self, found: Iterable[tuple[settings.Address, str, object]]) -> None:
        for address, value, mark in found:
            self.settings.append(Setting(address, value, mark, self.layer.name, override=self.layer.override))  # type: ignore[arg-type]

    def _no_role(self, entry: Tree, wanted: Tree | None, there: list[workloads.Role]) -> None:
        names = ", ".join(wanted.data()) if wanted else "any role"
        known = " and ".join(role.name for role in there) or "none"
        message = f"`{self.layer.name}` changes pods of {names}, and the job {self.document.name or ''} has pods of {known} only"
        place = wanted.place() if wanted else entry.place()
        self.problems.append(Diagnostic("missing-role", message, place, hint="add the role to the job, or leave the overlay out"))


def _companions(variant: Variant, layer: Layer) -> tuple[list[Tree], list[Diagnostic]]:
    """The variant's companions with those of one overlay: each object once, in the order of the overlays' names."""
    declared = layer.spec.get("resources")
    substitution = Substitution(layer.values)
    found = list(variant.companions)
    problems: list[Diagnostic] = []
    for number, resource in enumerate(declared.value if declared else ()):
        said = substitution(resource)
        if said is None:
            continue
        said = said.ranked((layer.name, 0, number))
        same = [index for index, other in enumerate(found) if _object(other) == _object(said)]
        if not same:
            found.append(said)
        elif found[same[0]].data() == said.data():
            old = found[same[0]]
            assert old.rank and said.rank
            found[same[0]] = old.ranked(min(old.rank, said.rank))
        else:
            other = found[same[0]]
            message = f"`{layer.name}` adds another {_object(said)[1]} `{_object(said)[3]}` than {other.mark}"
            problems.append(Diagnostic("overlay-conflict", message, said.place()))
    found.sort(key=lambda tree: tree.rank or ("", 0, 0))
    return found, problems + substitution.problems


def _object(tree: Tree) -> tuple[str, ...]:
    """What tells an object apart: apiVersion, kind, namespace, name."""
    paths = (("apiVersion",), ("kind",), ("metadata", "namespace"), ("metadata", "name"))
    values = [tree.get(*path) for path in paths]
    return tuple(str(value.value) if value else "" for value in values)


def _in_namespace(companion: Tree, namespace: Tree | None) -> Tree:
    metadata = companion.get("metadata")
    if namespace is None or metadata is None or not isinstance(metadata.value, dict) or "namespace" in metadata.value:
        return companion
    return companion.put(("metadata",), lambda tree: tree.having({**tree.value, "namespace": namespace}))
