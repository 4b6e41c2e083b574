"""Apply overlays to a file, and check its documents in a world."""

from __future__ import annotations

import jobspec.apis.kinds as kinds
from jobspec.diagnostics.causes import deduplicated
from jobspec.diagnostics.diagnostic import Diagnostic, has_error
from jobspec.diagnostics.record import Record
from jobspec.diagnostics.results import DocumentResult, FileResult
from jobspec.diagnostics.rules import REFUSALS
from jobspec.documents.document import KUSTOMIZATIONS, Document, result_of
from jobspec.go.values import mapping, structs
from jobspec.journey.reading import read
from jobspec.journey.steps import Checked, document_key
from jobspec.world.alike_results import AlikeResults
from jobspec.world.judging import judge, objects_for

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Container, Mapping, Sequence
    from typing import Self

    from jobspec.apis.kinds import GroupKind
    from jobspec.journey.steps import Manifests, Source
    from jobspec.overlays.load import LoadedOverlay
    from jobspec.repository.substitution import Variables
    from jobspec.world.judged import Judged
    from jobspec.world.world import Cluster


class TextFile(Record):
    """A text with overlays, as a file that a journey starts from."""

    source: Source
    overlays: Sequence[LoadedOverlay] = ()
    folder: str = ""
    is_left_out: bool = False
    has_placeholders: bool = False

    def load(self, world: Cluster) -> Manifests:
        """Read the documents, and apply the overlays."""
        return load(self.source, self.overlays, world)

    def parts_with(self, _: Collection[GroupKind], __: Collection[str]) -> Sequence[Self]:
        """Return no parts: the text is not read again."""
        return ()


def checked(source: Source, overlays: Sequence[LoadedOverlay], cluster: Cluster) -> Checked:
    """One file: read, with overlays applied, and checked."""
    return check(load(source, overlays, cluster), cluster)


def load(source: Source, overlays: Sequence[LoadedOverlay], cluster: Cluster) -> Manifests:
    """The documents of a file, with overlays applied."""
    return apply(read(source, cluster.target), overlays, cluster)


def with_stand_ins(
    manifests: Manifests, checked: Checked, cluster: Cluster, judge: Callable[[Manifests], Checked]
) -> tuple[Manifests, Checked]:
    """Put values in place of the placeholders that a server refuses, and *judge* again.

    It refuses them in the manifests, and in the objects that operators create. Each place has a note without a message. Overlays and
    projects fill in their own, which are parameters.
    """
    documents, notes = stand_ins(manifests.documents, checked.result, manifests.substitution, cluster)
    if not notes or manifests.settled is not None:
        return manifests, checked
    changed = manifests.changed(documents=documents, diagnostics=[*manifests.diagnostics, *notes])
    return with_stand_ins(changed, judge(changed), cluster, judge)


def stand_ins(
    documents: Sequence[Document], result: FileResult, given: Variables | None, cluster: Cluster
) -> tuple[Sequence[Document], Sequence[Diagnostic]]:
    """Return documents with values in place of the placeholders that a server refuses.

    With them comes a note for each place. *given*: what fills in other placeholders; None if nothing does.
    """
    from jobspec.repository.stand_ins import stood_in
    from jobspec.repository.substitution import Variables

    own = {each.index for each in documents if each.group_kind[0] == kinds.OVERLAY[0]}
    errors = [
        each
        for each in result.diagnostics
        if each.severity == "error" and each.document not in own and (each.stage != "outcome" or each.rule in REFUSALS)
    ]
    given = given or Variables(is_open=True)
    met = ("no placeholders", *((each.field, each.stage) for each in errors), repr(given))
    sound = cluster.once("without placeholders", AlikeResults) if len(documents) == 1 else None
    if sound and sound.of(documents[0], *met):
        return documents, ()
    filled, notes = stood_in(documents, errors, cluster.target, given)
    if sound and not notes:
        sound.keep(documents[0], True, *met)
    return filled, notes


def apply(manifests: Manifests, overlays: Sequence[LoadedOverlay], cluster: Cluster) -> Manifests:
    """The manifests with overlays applied to their jobs.

    They are applied only to a file that is valid without them, by all checks but the webhooks'; else its own mistakes are reported.
    """
    if not overlays or manifests.settled is not None:
        return manifests
    from jobspec.overlays.apply import apply as apply_overlays

    base, manifests = check(manifests, cluster.for_bases(), corrects=False), manifests.changed(text="")
    if not base.result.valid:
        return manifests.changed(documents=base.documents, diagnostics=base.result.diagnostics, settled=base.result.documents)
    applied = apply_overlays(base.documents, overlays, cluster.target, cluster.lookups)
    if has_error(applied.diagnostics):
        from jobspec.operators.training_roles import overlaid_jobs

        jobs = {document_key(each) for each in overlaid_jobs(base.documents)}
        rows = base.result.documents
        settled = [result_of(row, "invalid").stopped_before("admission") if document_key(row) in jobs else row for row in rows]
        return manifests.changed(documents=base.documents, diagnostics=applied.diagnostics, settled=settled)
    return manifests.changed(documents=applied.documents, diagnostics=applied.diagnostics)


def check(manifests: Manifests, cluster: Cluster, *, engines: bool = True, corrects: bool = True) -> Checked:
    """The result of a file's manifests in a cluster.

    *engines*: an object that an engine recreates is a new one. *corrects*: later stages judge what is refused for unknown fields alone.
    """
    if manifests.settled is not None:
        result = FileResult(manifests.name, manifests.settled, manifests.diagnostics)
        generating = [each for each in manifests.documents if cluster.complete.every and each.group_kind == kinds.KUSTOMIZATION]
        return Checked(result, manifests.documents, generating, comments=manifests.comments, settled=True)
    of_text, diagnostics = list(manifests.diagnostics), []
    broken = {problem.document for problem in of_text if problem.severity == "error" and not problem.mark.layer}
    judged, remarks = _judged(manifests, cluster, broken, engines=engines)
    diagnostics += remarks
    documents: list[Document] = []
    rows: dict[int, list[DocumentResult]] = {}
    pending = []
    again = _as_corrected(judged, manifests, cluster, broken=broken) if corrects else {}
    corrected: dict[int, Document] = {}
    objects = objects_for(judged, cluster) if any(each.wanted for each in (*judged, *again.values())) else None
    for at, each in enumerate(judged):
        document = each.document
        if document.is_held:
            diagnostics += _of_held(each)
            continue
        row, wrong = _of_overlay(document, _row_of(each, skip_unknown=manifests.skip_unknown), cluster)
        diagnostics += wrong
        rows.setdefault(document.index, []).append(row)
        if row.status == "skipped":
            of_text = [known for known in of_text if known.document != document.index or known.severity == "warning"]
            diagnostics += [said for said in each.diagnostics if each.status == "unknown" and said.severity == "info"]
        else:
            diagnostics += each.diagnostics
        further = again.get(at) if row.status == "invalid" else None
        if further:
            rows[document.index][-1] = row.as_corrected(further.status)
            corrected[len(documents)] = further.document
            diagnostics += further.by_webhooks
        if row.status != "skipped" or (document.kind and document.name):
            documents.append(document)
        met = further or each
        if objects and met.wanted:
            pending.append((met, objects))
    for index in broken - rows.keys():
        if index is not None:
            rows[index] = [DocumentResult(index, "invalid").stopped_before("schema", "admission")]
    result = FileResult(manifests.name, [row for index in sorted(rows) for row in rows[index]], deduplicated([*of_text, *diagnostics]))
    given = [each.seen for each in judged if each.can_be_looked_up]
    refused = [each.document for each in judged if each.status == "invalid" and each.document.group_kind in kinds.WEBHOOK_LOOKUPS]
    engine = manifests.by_engine
    return Checked(
        result,
        documents,
        _shared(given, cluster),
        pending,
        refused=refused,
        comments=manifests.comments,
        sync=manifests.sync,
        by_server=bool(engine and engine.by_server),
        filled_in_by_engine=bool(engine and engine.substitution),
        corrected=corrected,
    )


def _judged(
    manifests: Manifests, cluster: Cluster, broken: Container[int | None], *, engines: bool
) -> tuple[list[Judged], list[Diagnostic]]:
    """Judge the documents of a file.

    With *engines*, what an engine recreates is judged as a new object, and remarks say so.
    """
    judged = judge(manifests.documents, cluster, broken=broken, skip_unknown=manifests.skip_unknown)
    if not (cluster.stored and engines):
        return judged, []
    from jobspec.journey.updates import by_engines

    return by_engines(judged, manifests, cluster, broken=broken)


def _as_corrected(
    judged: Sequence[Judged], manifests: Manifests, cluster: Cluster, *, broken: Container[int | None]
) -> Mapping[int, Judged]:
    """What later stages say of refused documents with their misspelt fields corrected, by their number in *judged*."""
    if not any(each.by_server.status == "invalid" for each in judged):
        return {}
    from jobspec.journey.misspelt import judged_as_corrected

    return judged_as_corrected(judged, manifests, cluster, broken=broken)


def _shared(given: Sequence[Document], cluster: Cluster) -> list[Document]:
    """The accepted objects of a file that documents of other files can refer to."""
    shared = [each for each in given if cluster.complete.every or _is_asked_for(each)]
    if any(each.group_kind in kinds.ADMISSION_POLICIES for each in shared):
        from jobspec.world.policies import parameters_in

        shared += parameters_in([each for each in given if each not in shared], shared)
    return shared


def _of_held(judged: Judged) -> list[Diagnostic]:
    """The diagnostics of a manifest that a ConfigMap holds, as infos; those of Kueue's configuration, which is read there, as they are."""
    if judged.document.group_kind == kinds.QUEUE_CONFIGURATION or judged.by_server.status == "unknown":
        return judged.diagnostics if judged.by_server.status != "unknown" else []
    return [each.changed(severity="info", changes=()) for each in judged.diagnostics]


def _is_asked_for(document: Document) -> bool:
    """Return whether checks of other files ask for an object in an open world.

    What pods mount may exist there, and is much data. Checks ask for Kueue's configuration, and scripts and settings of programs, anyway.
    """
    kind = document.group_kind
    if kind not in kinds.MOUNTED_KINDS and kind not in kinds.GENERATING_KINDS:
        return True
    if kinds.configures_queues(kind, document.data):
        return True
    if kind != kinds.CONFIG_MAP:
        return False
    from jobspec.operators.mounted_scripts import is_of_programs

    return is_of_programs(document.data)


def _row_of(judged: Judged, *, skip_unknown: bool) -> DocumentResult:
    """The result of a document; *skip_unknown*: what is no manifest or a part of one is skipped."""
    document = judged.document
    if judged.status != "unknown":
        part = _part_of_object(judged) if skip_unknown and judged.diagnostics else ""
        if part:
            return result_of(document, "skipped", reason=part)
        row = result_of(document, judged.status, reason=judged.by_server.reason if judged.status == "partly" else "")
        return row.stopped_before("admission") if judged.by_server.status == "invalid" else row
    if not skip_unknown or judged.by_server.near_miss:
        return result_of(document, "invalid").stopped_before("schema", "admission")
    is_kustomization = document.is_kustomization or document.group_kind[0] == kinds.KUSTOMIZATION[0]
    return result_of(document, "skipped", reason="kustomization" if is_kustomization else "")


def _part_of_object(judged: Judged) -> str:
    """What a document is that only lacks fields: a patch, such as one of `kubectl patch`, or the state that a test or a policy expects."""
    document, lacks = judged.document, [each.message for each in judged.diagnostics if each.rule == "missing-field"]
    if len(lacks) < len(judged.diagnostics) or document.file.rpartition("/")[2] in KUSTOMIZATIONS:
        return ""
    if document.data.get("status") and "spec" not in document.data:
        return "expected state"
    steps = kinds.POD_TEMPLATES.get(document.group_kind)
    pod = mapping(document.data, *steps, "spec") if steps else {}
    fields = {*mapping(document.data, "spec"), *pod, *(field for each in structs(pod, "containers") for field in each)}
    return "patch" if steps and fields.isdisjoint(("image", "selector", "restartPolicy")) else ""


def _of_overlay(document: Document, row: DocumentResult, cluster: Cluster) -> tuple[DocumentResult, list[Diagnostic]]:
    """The result of a document, and what is wrong with it where it is an overlay, which no server judges."""
    if row.status != "valid" or document.group_kind != kinds.OVERLAY:
        return row, []
    from jobspec.overlays.load import overlay_problems

    wrong = [each.in_document(document.index) for each in overlay_problems(document, cluster.target)]
    return result_of(document, "invalid") if wrong else row, wrong
