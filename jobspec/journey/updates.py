"""Judge the documents of a file that update stored objects, with what their engine does in place of an update."""

from __future__ import annotations

from jobspec.diagnostics.diagnostic import has_error
from jobspec.world.judging import judge

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Container

    from jobspec.diagnostics.diagnostic import Diagnostic
    from jobspec.documents.document import Document
    from jobspec.journey.steps import Manifests
    from jobspec.repository.recreation import Recreation, When
    from jobspec.world.judged import Judged
    from jobspec.world.world import Cluster


def judge_file(
    manifests: Manifests, cluster: Cluster, *, broken: Container[int | None], engines: bool
) -> tuple[list[Judged], list[Diagnostic]]:
    """Judge the documents of a file. With *engines*, judge those that an engine recreates as new objects, and return a remark for each.

    Documents with a *broken* index are invalid.
    """
    judged = judge(manifests.documents, cluster, broken=broken, skip_unknown=manifests.skip_unknown)
    if not (cluster.stored and engines):
        return judged, []
    from jobspec.repository.in_build import AppliedFolder
    from jobspec.repository.recreation import recreation_of

    folder = manifests.by_engine or AppliedFolder()
    found = [(each, how) for each in judged if each.old and (how := recreation_of(each.document, folder)) and _takes_place(each, how.when)]
    if not found:
        return judged, []
    new = {(each.document.index, id(each.document.data)) for each, _ in found}
    fresh = cluster.updating(cluster.stored.without([each.document for each, _ in found]))
    again = judge(manifests.documents, fresh, broken=broken, skip_unknown=manifests.skip_unknown)
    judged = [after if (after.document.index, id(after.document.data)) in new else each for each, after in zip(judged, again, strict=True)]
    return judged, [_remark(each.document, how) for each, how in found if each.old and each.old.data != each.document.data]


#: Refusals by admission whose status is `Invalid`, as that of the server's own checks; that of all others is `Forbidden`.
_INVALID = frozenset({"refused-by-policy", "jobset-frozen"})
#: Refusals that are `Forbidden`, and in other words than that a field is immutable.
_IN_OTHER_WORDS = frozenset({"patches-while-running"})


def _takes_place(judged: Judged, when: When) -> bool:
    """True if the engine does not update the object in place, given the errors of an update."""
    if when in ("always", "never"):
        return True
    forbidden = {each.rule for each in judged.by_webhooks if each.severity == "error"} - _INVALID
    if when == "immutable":
        forbidden &= _IN_OTHER_WORDS
    return has_error(judged.diagnostics) and not forbidden


def _remark(document: Document, how: Recreation) -> Diagnostic:
    """Say what the engine does with a changed object."""
    if how.when == "never":
        message = f"{how.engine} does not update the existing {document.kind}: {how.reason}"
        hint = "remove the annotation to have it updated"
    else:
        message = f"{how.engine} deletes the {document.kind} and recreates it: {how.reason}"
        hint = "the pods of the old one are deleted with it"
    return document.problem("recreated-object", message, ("metadata", "name"), hint=hint, severity="info")
