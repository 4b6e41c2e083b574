"""Check files in the tests' own process."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from jobspec.diagnostics.diagnostic import Diagnostic
from jobspec.diagnostics.results import FileResult
from jobspec.documents.document import Document
from jobspec.journey import checking, reading
from jobspec.journey.steps import Checked, Manifests, Source
from jobspec.overlays.load import LoadedOverlay
from jobspec.session.fixes import FixedText, fix_texts
from jobspec.world.world import Cluster


def checked(path: Path | str, cluster: Cluster, overlays: Sequence[LoadedOverlay] = ()) -> Checked:
    """The whole journey of a file that the user names."""
    return checking.checked(_source(path), overlays, cluster)


def result(path: Path | str, cluster: Cluster) -> FileResult:
    """The result of a file that the user names."""
    return checked(path, cluster).result


def documents(path: Path | str, target: Mapping[str, str]) -> Sequence[Document]:
    """The documents of a file, a `v1` List's items in its place."""
    return read(path, target).documents


def read(path: Path | str, target: Mapping[str, str]) -> Manifests:
    """The manifests of a file."""
    return reading.read(_source(path), target)


def fix(text: str, judge: Callable[[str], Sequence[Diagnostic]], *, file: str) -> FixedText:
    """The text of a file by itself with every remedy that its diagnostics have."""
    return fix_texts({file: text}, lambda texts, _: {file: judge(texts[file])})[file]


def _source(path: Path | str) -> Source:
    return Source(str(path), Path(path).read_bytes())
