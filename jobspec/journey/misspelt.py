"""Judge the later stages of documents that a server refuses for misspelt or misplaced fields alone, as if these were corrected.

A field whose name can only be one other is renamed, or moved to the one place where it belongs. If it is not clear which field was
meant, or if the corrected document is refused, too, the document does not come to later stages: they could say what is not true, such as
that a field is missing which was meant.
"""

from __future__ import annotations

from jobspec.apis import kinds
from jobspec.documents.corrected import corrected
from jobspec.documents.document import Document
from jobspec.journey.steps import document_key
from jobspec.world.judging import judge

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Container, Mapping, Sequence

    from jobspec.journey.steps import Manifests
    from jobspec.world.judged import Judged
    from jobspec.world.world import Cluster

RULE = "unknown-field"


def judged_as_corrected(
    judged: Sequence[Judged], manifests: Manifests, cluster: Cluster, *, broken: Container[int | None]
) -> Mapping[int, Judged]:
    """Judge each document that is refused for unknown fields alone with these fields corrected, by its number in *judged*.

    Documents with a *broken* index have other mistakes, which were found when they were read.
    """
    fixed = {at: one for at, each in enumerate(judged) if each.document.index not in broken and (one := _corrected(each))}
    if not fixed:
        return {}
    documents = [fixed.get(at, each.document) for at, each in enumerate(judged)]
    again = judge(documents, cluster, broken=broken, skip_unknown=manifests.skip_unknown)
    accepted = {at: again[at] for at in fixed if again[at].by_server.status in ("valid", "partly")}
    return {at: each.reviewed([one.without_fixes() for one in each.by_webhooks], each.wanted) for at, each in accepted.items()}


def _corrected(judged: Judged) -> Document | None:
    """Return the document with its unknown fields corrected. If it has other errors, or several fields can be meant, return None."""
    document, found = judged.document, judged.by_server.diagnostics
    wrong = [each for each in found if each.severity == "error"]
    is_sent = not document.is_held and document.group_kind[0] != kinds.PROJECT[0] and judged.by_server.status == "invalid"
    if not wrong or not is_sent or judged.by_webhooks or any(each.rule != RULE for each in wrong):
        return None
    if not all(each.changes for each in wrong):
        return None
    inside = len(document.inside)
    changes = [each.changed(path=each.path[inside:]) for one in wrong for each in one.changes]
    fixed = corrected(document, changes)
    return fixed if fixed and document_key(fixed) == document_key(document) else None
