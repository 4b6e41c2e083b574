"""Report findings of built objects at the files that they were built of."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from jobspec.diagnostics.causes import deduplicated
from jobspec.diagnostics.diagnostic import Diagnostic
from jobspec.diagnostics.results import DocumentResult, FileResult
from jobspec.documents.document import KUSTOMIZATIONS, result_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from jobspec.repository.builds import Build


def at_sources(results: Sequence[FileResult], builds: Mapping[str, Build]) -> list[FileResult]:
    """Report each finding of files and builds once, in the file that its object was written in.

    *builds*: by the path of the result. What a kustomization generates is counted with the kustomization.
    """
    own = {each.path: each for each in results if each.path not in builds}
    built = {each.path: each for each in results if each.path in builds}
    rows = {each.path: list(each.documents) for each in own.values()}
    rows |= {path: [DocumentResult(0, "skipped", reason=builds[path].what)] for path in built}
    objects: dict[tuple[str, int], dict[str, list[DocumentResult]]] = {}
    found: dict[tuple[Any, ...], list[tuple[str, tuple[str, int], Diagnostic]]] = {}
    for root, result in built.items():
        sources = builds[root].sources()
        places = {}
        for row in result.documents:
            path = sources[row.index] if sources[row.index] in rows else root
            places[row.index] = path, _place_of(row, rows[path], is_generated=path == root)
            objects.setdefault(places[row.index], {}).setdefault(root, []).append(row)
        for each in _at_losses(result.diagnostics):
            place = (root, 0) if each.document is None else places.get(each.document, (root, 0))
            is_in_source = each.mark.file == place[0] and place[0] not in built
            said = () if _is_of_names(each) else (each.message, each.hint)
            key = (each.rule, str(each.mark), *said, *([*place, each.field] if is_in_source else []))
            found.setdefault(key, []).append((root, place, each))
    for (path, number), by_root in objects.items():
        rows[path][number] = _combined(rows[path][number], [row for several in by_root.values() for row in several])
    diagnostics = {path: list(each.diagnostics) for path, each in own.items()}
    for several in found.values():
        _, (path, number), each = several[0]
        with_it = {root for root, *_ in several}
        is_of_some = each.mark.file == path and path not in built and with_it != objects.get((path, number), {}).keys()
        folders = [_folder_of(root) for root in sorted(with_it)]
        others = len({other.message for *_, other in several}) - 1
        message = f"{each.message} (and {others} more name{'s' * (others > 1)})" if others else each.message
        found_in = each.changed(message=message, document=rows[path][number].index, builds=folders, is_of_some_builds=is_of_some)
        diagnostics.setdefault(path, []).append(found_in)
    return [
        FileResult(path, each, deduplicated(diagnostics.get(path, ())), ignored=own[path].ignored if path in own else 0)
        for path, each in rows.items()
    ]


def _is_of_names(found: Diagnostic) -> bool:
    """True if a kustomization is the cause, with a prefix or suffix of all its names."""
    return found.field == "metadata.name" and os.path.basename(found.mark.file) in KUSTOMIZATIONS


def _at_losses(diagnostics: Sequence[Diagnostic]) -> Iterator[Diagnostic]:
    """Yield the findings of a build. An error that names what a patch has lost is at the patch, with its own place besides."""
    losses = [each for each in diagnostics if each.replaced]
    for each in diagnostics:
        cause = next((loss for loss in losses if _names_loss(each, loss)), None) if each.severity == "error" else None
        yield each.changed(mark=cause.mark, field=cause.field, related=[each, *each.related], changes=()) if cause else each


def _names_loss(found: Diagnostic, loss: Diagnostic) -> bool:
    lost = loss.replaced.lost if loss.replaced else ()
    is_elsewhere = found.mark.file != loss.mark.file and found.document == loss.document
    return is_elsewhere and any(f"`{each}`" in found.message for each in lost)


def _place_of(row: DocumentResult, rows: list[DocumentResult], *, is_generated: bool) -> int:
    """The place among the rows of a file of the document that an object is built of; what is generated gets a new row."""
    kind = row.api_version, row.kind
    alike = [] if is_generated else [at for at, each in enumerate(rows) if each.kind == row.kind and (each.api_version, each.kind) == kind]
    if len(alike) != 1:  # a patch may have renamed it
        alike = [at for at in alike if rows[at].name in row.name]
    if alike:
        return max(alike, key=lambda at: len(rows[at].name))
    rows.append(DocumentResult(len(rows), "skipped", api_version=row.api_version, kind=row.kind, name=row.name))
    return len(rows) - 1


_WORST = ("invalid", "partly", "valid", "skipped")


def _combined(row: DocumentResult, several: Sequence[DocumentResult]) -> DocumentResult:
    """The worst of the results of all objects that are built from a document."""
    worst = min(several, key=lambda each: _WORST.index(each.status))
    runs = False if any(each.runs is False for each in several) else worst.runs
    shown = [each.diff for each in several if each.diff is not None]
    of = row if row.kind else worst
    combined = result_of(of, worst.status, diff="".join(shown) if shown else None, runs=runs, reason=worst.reason)
    return combined.stopped_before(*worst.not_reached)


def _folder_of(root: str) -> str:
    return os.path.dirname(root) or os.curdir
