"""Resolve references between files."""

from __future__ import annotations

from jobspec.diagnostics.causes import deduplicated
from jobspec.diagnostics.grouping import gathered
from jobspec.diagnostics.results import DocumentResult, FileResult
from jobspec.journey.steps import document_key, reaches
from jobspec.world.judging import policies_for, reviewed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from jobspec.apis.kinds import Name
    from jobspec.diagnostics.results import Status
    from jobspec.documents.document import Document
    from jobspec.journey.steps import Checked
    from jobspec.kubernetes.index import Index
    from jobspec.operators.webhooks import Objects
    from jobspec.world.judged import Judged
    from jobspec.world.world import Cluster


def resolve(files: Sequence[Checked], cluster: Cluster, folders: Sequence[str] = ()) -> list[Checked]:
    """Resolve references between files: to accepted objects of other files, too.

    Only documents with such a reference are reviewed again. *folders*: as in `check_files`.
    """
    from jobspec.world.names import names_of

    holders = gathered((name, (number, each)) for number, file in enumerate(files) for each in file.objects for name in names_of(each))
    refused = gathered((name, each) for file in files for each in file.refused for name in names_of(each))
    folders = folders or [""] * len(files)

    def of_name(name: Name, number: int) -> list[Document]:
        """Return the documents of other files that hold, or make, an object of a name.

        The namespace `*` stands for any.
        """
        kind, namespace, own = name
        found = [*holders.get(name, ()), *holders.get((kind, "*", own), ())]
        if namespace == "*":
            found = [each for (its, _, called), several in holders.items() if (its, called) == (kind, own) for each in several]
        return [each for at, each in found if at != number and reaches(each, folders[at], folders[number])]

    return [
        _resolved(file, lambda name, number=number: of_name(name, number), refused, cluster)  # type: ignore[misc]
        for number, file in enumerate(files)
    ]


def _resolved(
    file: Checked, of_name: Callable[[Name], Sequence[Document]], refused: Mapping[Name, Sequence[Document]], cluster: Cluster
) -> Checked:
    """A file whose pending documents are reviewed again with the objects of other files that they name."""
    result = file.result
    known: dict[tuple[int, ...], tuple[Objects, Index | None]] = {}

    def seeing(own: Objects, found: Sequence[Document], refused: Sequence[Document] = ()) -> tuple[Objects, Index | None]:
        """The objects with those of other files, and the policies among them, which most documents of a file have alike."""
        key = (id(own), *map(id, (*found, None, *refused)))
        if key not in known:
            objects = own.changed(elsewhere=[*own.elsewhere, *found], refused=[*own.refused, *refused])
            known[key] = objects, policies_for(objects, cluster)
        return known[key]

    for judged, own in file.pending:
        answer, found = judged, []
        while new := [each for name in answer.wanted for each in of_name(name) if each not in found]:
            found += new  # a found object may refer to further ones
            objects, policies = seeing(own, found)
            answer = reviewed(judged, objects, cluster, policies)
        if broken := [each for name in answer.wanted if not of_name(name) for each in refused.get(name, ())]:
            objects, policies = seeing(own, found, broken)
            answer = reviewed(judged, objects, cluster, policies)
        if found or broken:
            result = _replaced(result, judged, answer)
    return file.changed(result=result)


def _replaced(result: FileResult, before: Judged, after: Judged) -> FileResult:
    """A file's result with a new answer of the webhooks to one document."""
    old = set(map(id, before.by_webhooks))
    kept = [each for each in result.diagnostics if id(each) not in old]
    status: Status = after.status if after.status in ("valid", "partly") else "invalid"
    identity = document_key(before.document)
    reason = after.by_server.reason if status == "partly" else ""

    def answered(row: DocumentResult) -> DocumentResult:
        if row.corrected:
            return row.as_corrected(status)
        foreseen = row.runs if row.status == "valid" else None
        return row.changed(status=status, runs=foreseen if status == "valid" else False, reason=reason, diff=None)

    rows = [answered(row) if document_key(row) == identity else row for row in result.documents]
    is_corrected = any(row.corrected and document_key(row) == identity for row in rows)
    said = [each.without_fixes() for each in after.by_webhooks] if is_corrected else after.by_webhooks
    return FileResult(result.path, rows, deduplicated([*kept, *said]))
