"""The bases and overlays that a project names, each read once for all variants."""

from __future__ import annotations

from jobspec import pipeline
from jobspec.diagnostics import Diagnostic, JobspecError
from jobspec.kubernetes.problems import closest
from jobspec.kubernetes.verdict import as_sound
from jobspec.overlays.load import OverlayFile, load, shipped, shipped_file
from jobspec.workloads import is_workload

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from jobspec.cluster import Cluster
    from jobspec.diagnostics import Mark
    from jobspec.documents.document import Document
    from jobspec.documents.marked_tree import MarkedTree
    from jobspec.overlays.overlay import Overlay
    from jobspec.pipeline import Source

    #: A file by its path from the project's folder, under the name that diagnostics show. Raises Unreadable.
    ReadFile = Callable[[str], Source]

_FILES = (".yaml", ".yml", ".json")


class Unreadable(Exception):
    """Why a file that a project names cannot be read, as the end of a sentence about its path."""


class Base:
    """A base: its documents, and what is wrong with it by itself."""

    __slots__ = ("diagnostics", "documents", "file")

    def __init__(self, file: str, documents: Sequence[Document], diagnostics: Sequence[Diagnostic]) -> None:
        self.file = file
        self.documents = documents
        self.diagnostics = diagnostics


class Sources:
    """Reads bases and overlays for a cluster; what is wrong with one is reported where the project names it, or in the file itself."""

    def __init__(self, read: ReadFile, cluster: Cluster) -> None:
        self._read = read
        self._cluster = cluster
        self._bases: dict[str, Base | str] = {}
        self._overlays: dict[str, Overlay | list[Diagnostic] | str] = {}

    def base(self, path: MarkedTree) -> Base:
        """The base at a path."""
        if path.value not in self._bases:
            self._bases[path.value] = self._base(path.value)
        found = self._bases[path.value]
        if isinstance(found, Base):
            return found
        return Base(path.value, (), [Diagnostic("wrong-base", f"no base at `{path.value}`: {found}", path.mark)])

    def _base(self, path: str) -> Base | str:
        try:
            source = self._read(path)
        except Unreadable as error:
            return str(error)
        checked = pipeline.check(pipeline.read(source, self._cluster.target), self._cluster.for_bases())
        jobs = [each for each in checked.documents if is_workload(each)]
        if checked.result.valid and len(jobs) != 1:
            return f"a base holds one training job, and this file {len(jobs) or 'none'}"
        documents = checked.documents
        if checked.result.valid and not self._cluster.custom_kinds:
            documents = [as_sound(each, self._cluster.target) for each in documents]
        return Base(source.name, documents, checked.result.diagnostics)

    def overlay(self, name: str, place: Mark) -> Overlay | list[Diagnostic]:
        """The overlay of a shipped name or at a path, without the values that the project gives to its parameters."""
        if name not in self._overlays:
            self._overlays[name] = self._overlay(name)
        found = self._overlays[name]
        if not isinstance(found, str):
            return found
        hint = "" if _is_path(name) else closest(name, shipped()) or f"jobspec ships {', '.join(shipped())}; your own is given by its path"
        return [Diagnostic("unknown-overlay", found, place, hint=hint)]

    def _overlay(self, name: str) -> Overlay | list[Diagnostic] | str:
        if not _is_path(name) and name not in shipped():
            return f"no overlay `{name}`"
        try:
            source = self._read(name) if _is_path(name) else None
        except Unreadable as error:
            return f"no overlay at `{name}`: {error}"
        try:
            file = OverlayFile(source.name, _encoded(source.content)) if source else shipped_file(name)
            loaded, problems = load([file], [], self._cluster.target)
        except JobspecError as error:
            return str(error)
        problems = [each for each in problems if each.rule != "missing-parameter"]
        return problems or loaded[0]


def _is_path(name: str) -> bool:
    return "/" in name or name.endswith(_FILES)


def _encoded(content: str | bytes) -> bytes:
    return content if isinstance(content, bytes) else content.encode()
