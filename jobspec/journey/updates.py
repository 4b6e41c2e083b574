"""Judge the documents of a file that update stored objects, with what their engine does in place of an update."""

from __future__ import annotations

from jobspec.diagnostics.diagnostic import Diagnostic, has_error
from jobspec.world.judging import judge, objects_for, policies_for

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Container, Iterator

    from jobspec.diagnostics.diagnostic import Severity
    from jobspec.documents.document import Document
    from jobspec.journey.steps import Manifests
    from jobspec.repository.recreation import Recreation, When
    from jobspec.world.judged import Judged
    from jobspec.world.world import Cluster


def by_engines(
    judged: list[Judged], manifests: Manifests, cluster: Cluster, *, broken: Container[int | None]
) -> tuple[list[Judged], list[Diagnostic]]:
    """Judge the documents of a file that an engine recreates as new objects.

    Return a remark for each, and for what an apply loses.

    Documents with a *broken* index are invalid.
    """
    judged, remarks = _with_recreated(judged, manifests, cluster, broken)
    return judged, [*remarks, *_lost(judged, manifests, cluster)]


def _with_recreated(
    judged: list[Judged], manifests: Manifests, cluster: Cluster, broken: Container[int | None]
) -> tuple[list[Judged], list[Diagnostic]]:
    """Judge the documents that an engine recreates as new objects, and return a remark for each."""
    assert cluster.stored
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


def _lost(judged: list[Judged], manifests: Manifests, cluster: Cluster) -> Iterator[Diagnostic]:
    """Yield a remark for each update that takes away what a webhook or policy added at the creation alone."""
    from jobspec.repository.recreation import sync_options
    from jobspec.world.reapplying import lost_in_apply, may_be_changed

    assert cluster.stored
    policies = policies_for(objects_for(judged, cluster), cluster)
    for each in judged:
        before = cluster.stored.of(each.document)  # as it was applied, without what was added to it
        if not (each.old and before) or each.status not in ("valid", "partly") or not may_be_changed(each.document, policies):
            continue
        by_server = (manifests.by_engine and manifests.by_engine.by_server) or "ServerSideApply=true" in sync_options(each.document)
        lost = lost_in_apply(each.document, before, cluster, policies, "server" if by_server else cluster.stored.side)
        if lost:
            weight: Severity = "warning" if lost.by_policy or lost.on_server else "info"
            yield Diagnostic(
                "lost-in-apply",
                lost.message,
                lost.mark,
                field=lost.field,
                document=each.document.index,
                severity=weight,
                hint=lost.hint,
                stage="admission",
            )


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
