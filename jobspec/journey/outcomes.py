"""Foresee what becomes of accepted jobs."""

from __future__ import annotations

import jobspec.apis.kinds as kinds
from jobspec.diagnostics.causes import deduplicated
from jobspec.diagnostics.diagnostic import Diagnostic, has_error
from jobspec.diagnostics.grouping import grouped
from jobspec.diagnostics.results import FileResult
from jobspec.documents.document import Document
from jobspec.documents.routes import placed_in, routed, said_by
from jobspec.journey.steps import document_key
from jobspec.kubernetes.index import data_of, says
from jobspec.operators.workloads import is_known_controller, is_workload, may_have_templates
from jobspec.world.alike_results import AlikeResults, SameResults

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from typing import Any

    from jobspec.diagnostics.results import DocumentResult
    from jobspec.documents.routes import PlacedFinding
    from jobspec.journey.steps import Checked
    from jobspec.journey.worlds import Worlds
    from jobspec.kubernetes.index import Index, Question
    from jobspec.operators.templates import PodTemplate
    from jobspec.outcome.ordinary import Foresight
    from jobspec.repository.substitution import Variables
    from jobspec.world.world import Cluster

    #: Questions about objects, with the answers.
    _Answers = Sequence[tuple[Question, Any]]
    #: What becomes of a job, its findings by routes, and the answers that it met.
    _KeptOutcome = tuple[Foresight, Sequence[PlacedFinding], _Answers]


def context_of(file: Checked, files: Sequence[Checked], cluster: Cluster) -> list[Document]:
    """Return the objects that jobs of a file may refer to: its own, others' runtimes, classes.

    Those of its own that the server refuses are left out.

    Of several in other files that have one name, nobody knows which is meant.
    """
    objects = (each for other in files if other is not file for each in other.objects)
    named = (each for each in objects if each.group_kind in kinds.WEBHOOK_LOOKUPS)
    others = grouped(named, lambda each: (each.group_kind, each.namespace, each.name)).values()
    return [*_accepted(file), *(several[0] for several in others if len(several) == 1), *cluster.lookups]


def _accepted(file: Checked) -> list[Document]:
    """Return the documents of a file that the server does not refuse."""
    refused = {document_key(row) for row in file.result.documents if row.status == "invalid"}
    return [each for each in file.documents if document_key(each) not in refused]


def foresee(file: Checked, cluster: Cluster) -> Checked:
    """Add the outcomes of the jobs of a file, as far as its own documents and the cluster say.

    This comes before `resolve`.
    """
    return _for_any_numbers(file, lambda each: _foreseen_alone(each, cluster))


def waiting(file: Checked, substitution: Variables | None, cluster: Cluster) -> Checked:
    """Return a checked file that awaits the outcomes of its jobs.

    If it has no job that the server accepts, return the file unchanged. The check of a Pod asks which objects decide on it.
    """
    rows = {document_key(row): row for row in reversed(file.result.documents)}
    places = [(each, row) for each in file.seen if (row := rows.get(document_key(each)))]
    if not any(_may_have_outcome(each, row, cluster) for each, row in places):
        return file
    asked = {("deciding_on_pods", each.namespace) for each in file.documents if each.group_kind == kinds.POD}
    return file.changed(awaits_outcome=True, substitution=substitution, asked=file.asked | asked)


def _may_have_outcome(document: Document, row: DocumentResult, cluster: Cluster) -> bool:
    """Return True for an accepted job, and for an object of which pods may be made."""
    if is_workload(document) or _is_of_queued_kind(document):
        return row.later_status == "valid" or not is_workload(document)
    return _may_be_made(row) and bool(cluster.templates_in(document))


def _for_any_numbers(file: Checked, foreseen: Callable[[Checked], Checked]) -> Checked:
    """Add the outcomes that hold whatever numbers are filled in for the placeholders of a file."""
    done = foreseen(file)
    if done is file or not (notes := file.result.stand_ins):
        return done
    from jobspec.repository.other_numbers import found_with_both, with_other_numbers

    documents = with_other_numbers(file.documents, notes)
    if documents is None:
        return done
    changed = {id(before): after for before, after in zip(file.documents, documents, strict=True)}
    others = {name: [changed.get(id(each), each) for each in getattr(file, name)] for name in ("objects", "unforeseen")}
    other = foreseen(file.changed(documents=documents, **others))
    known = set(map(id, file.result.diagnostics))
    new = [each for each in done.result.diagnostics if id(each) not in known]
    kept = [*(each for each in done.result.diagnostics if id(each) in known), *found_with_both(new, other.result.diagnostics)]
    return done.changed(result=done.result.with_only(kept, ignored=0), asked=done.asked | other.asked)


def _foreseen_alone(file: Checked, cluster: Cluster) -> Checked:
    """A file with the outcomes that its own documents and the cluster tell."""
    result = file.result
    if any(map(_is_undecoded, result.documents)):
        rows = [row.stopped_before("outcome") if _is_undecoded(row) else row for row in result.documents]
        file = file.changed(result=result.with_documents(rows))
    jobs = [each for each in file.seen if is_workload(each) or _is_of_queued_kind(each)]
    if any(map(may_have_templates, file.seen)):
        file = _with_outcomes_of_templates(file, cluster)
    if not jobs:
        return file
    context = [each for each in _accepted(file) if each.group_kind in kinds.WEBHOOK_LOOKUPS]
    return _with_outcomes(file, jobs, [*context, *cluster.lookups] if cluster.objects else context, cluster)


def _is_of_queued_kind(document: Document) -> bool:
    """True if Kueue queues objects of a kind, also in unknown versions."""
    from jobspec.operators.kueue.versions import KINDS

    return document.group_kind in KINDS


def _is_undecoded(row: DocumentResult) -> bool:
    """Whether a document could not be decoded, so that it may be a job."""
    return row.status == "invalid" and not row.kind


def foresee_rest(files: Sequence[Checked], worlds: Worlds) -> list[Checked]:
    """Resolved files with what becomes of the jobs whose runtimes are in other files, each in its cluster."""
    if not any(file.unforeseen for file in files):
        return list(files)
    context = [each for file in files for each in file.objects if each.group_kind in kinds.WEBHOOK_LOOKUPS]

    def foreseen(number: int, file: Checked) -> Checked:
        if not file.unforeseen:
            return file
        return _for_any_numbers(file, lambda each: _with_outcomes(each, each.unforeseen, context, worlds.of(number)))

    return _each_warning_once([foreseen(number, file) for number, file in enumerate(files)])


def _with_outcomes(file: Checked, jobs: Sequence[Document], context: Sequence[Document], cluster: Cluster) -> Checked:
    """A file with what becomes of some of its jobs; *context*: what these may refer to, such as runtimes and priority classes."""
    rows, unforeseen = list(file.result.documents), []
    found: dict[tuple[str, str, str], Diagnostic] = {}
    places = {document_key(row): at for at, row in reversed(list(enumerate(rows)))}
    accepted = list[Document]()
    for given in jobs:
        at = places[document_key(given)]
        if is_workload(given) and rows[at].later_status != "valid":
            rows[at] = rows[at].changed(runs=False if rows[at].status == "invalid" else None).stopped_before("outcome")
        else:
            accepted.append(given)
    if not accepted:
        return file.changed(result=FileResult(file.result.path, rows, file.result.diagnostics))
    index = cluster.index.recording(data_of(file.objects))
    classes = [each for each in context if each.group_kind == kinds.PRIORITY_CLASS]
    runtimes: dict[str, list[Document]] = {}
    for each in context:
        if each.group_kind != kinds.PRIORITY_CLASS:
            runtimes.setdefault(each.name, []).append(each)
    for given in accepted:
        at = places[document_key(given)]
        job = _as_changed(given, index, cluster) if index.change_objects and rows[at].later_status == "valid" else given
        if not is_workload(job):
            said = [*_queue_problems(job, context, cluster, index)] if rows[at].later_status != "invalid" else []
            rows[at] = rows[at].changed(runs=False) if has_error(said) else rows[at]
            found.update(((one.rule, str(one.mark), one.message), one) for one in said)
            continue
        known = [*(_of_its_name(job, runtimes) if runtimes else ()), *classes]
        foresight = _foreseen(job, known, cluster, index, is_reviewed=not file.settled, is_as_written=job is given)
        if foresight is None:
            unforeseen.append(given)
            rows[at] = rows[at].stopped_before("outcome")
        else:
            of_update = _of_update(given, known, cluster)
            rows[at] = rows[at].with_outcome(runs=False if of_update or rows[at].corrected else foresight.runs)
            # a mistake that hits several jobs, such as one in their runtime, is reported once
            said = [*foresight.diagnostics, *of_update]
            for one in (each.without_fixes() for each in said) if rows[at].corrected else said:
                found.setdefault((one.rule, str(one.mark), one.message.replace(f"`{job.name}", "`")), one)
    result = FileResult(file.result.path, rows, deduplicated([*file.result.diagnostics, *found.values()]))
    return file.changed(result=result, unforeseen=unforeseen, asked=file.asked | (index.asked or frozenset()))


def _as_changed(job: Document, policies: Index, cluster: Cluster) -> Document:
    """Return a job as policies leave it."""
    from jobspec.journey.policies import as_changed

    return as_changed(job, policies, cluster)


def _foreseen(
    job: Document, known: Sequence[Document], cluster: Cluster, index: Index, *, is_reviewed: bool, is_as_written: bool
) -> Foresight | None:
    """Foresee what becomes of a job.

    Of jobs that meet the same and have the same data, do it once. If no policy looks at the name and no finding says it, that holds for
    jobs that are alike. *is_as_written*: no policy has changed the job. A value that a policy has set has another place than one in a file.
    """
    if cluster.stored or not is_as_written or not index.has_policies_of(cluster.index):
        return _foresee(job, known, cluster, index, is_reviewed=is_reviewed)
    alike, same = cluster.once("outcomes of jobs that are alike", AlikeResults), cluster.once("outcomes", SameResults)
    met = (is_reviewed, *(each.digest for each in known))
    found: _KeptOutcome | None = None if index.have_policies else alike.of(job, met)  # a policy may look at the name
    found = found or same.of(job, met)
    if found and _are_same_answers(index, found[2]):
        return found[0].changed(diagnostics=placed_in(job, found[1]))
    own = index.recording()
    foresight = _foresee(job, known, cluster, own, is_reviewed=is_reviewed)
    asked = own.asked or ()
    index.note(asked)
    if foresight and (placed := routed(foresight.diagnostics, job)) is not None:
        answers = [(each, index.answer(each)) for each in asked]
        is_said = any(job.name in f"{each.message}\n{each.hint}" for each in foresight.diagnostics)
        if index.have_policies or is_said or any(says(each, job.name) for each in asked):
            same.keep(job, (foresight, placed, answers), met)
        else:
            said = (foresight.runs, said_by(placed), answers) if placed else None
            alike.keep(job, (foresight, placed, answers), met, said=said)
    return foresight


def _foresee(job: Document, known: Sequence[Document], cluster: Cluster, index: Index, *, is_reviewed: bool) -> Foresight | None:
    """Foresee what becomes of a job, whichever of several objects of one name is there."""
    if index.rivals(job.namespace):
        from jobspec.journey.rivals import foresee_by_all

        return foresee_by_all(job, known, cluster, index, is_reviewed=is_reviewed)
    from jobspec.outcome.ordinary import foresee

    return foresee(job, known, cluster, index, is_reviewed=is_reviewed)


def _are_same_answers(index: Index, answers: _Answers) -> bool:
    """Whether the index gives these answers."""
    return all(index.answer(question) == answer for question, answer in answers)


def _outcomes_of_templates(
    document: Document, templates: Sequence[PodTemplate], classes: Sequence[Document], cluster: Cluster, index: Index
) -> Sequence[Diagnostic]:
    """Foresee what becomes of an object with pod templates.

    Of equal objects that meet the same, do it once.
    """
    from jobspec.outcome.templates import template_outcomes

    def foreseen_in(world: Index) -> Sequence[Diagnostic]:
        return template_outcomes(document, templates, classes, cluster, world)

    def foreseen(met: Index) -> Sequence[Diagnostic]:
        if not met.rivals(document.namespace):
            return foreseen_in(met)
        from jobspec.journey.rivals import common_diagnostics

        return common_diagnostics(document.namespace, met, foreseen_in)

    if not index.has_policies_of(cluster.index):
        return foreseen(index)
    same = cluster.once("outcomes of templates", SameResults)
    met = (tuple(templates), *(each.digest for each in classes))
    found: tuple[Sequence[PlacedFinding], _Answers] | None = same.of(document, met)
    if found and _are_same_answers(index, found[1]):
        return placed_in(document, found[0])
    own = index.recording()
    said = foreseen(own)
    asked = own.asked or ()
    index.note(asked)
    if (placed := routed(said, document)) is not None:
        same.keep(document, (placed, [(each, index.answer(each)) for each in asked]), met)
    return said


def _with_outcomes_of_templates(file: Checked, cluster: Cluster) -> Checked:
    """A file with what becomes of its objects of which the pod templates alone are known."""
    rows = list(file.result.documents)
    places = {document_key(row): at for at, row in reversed(list(enumerate(rows)))}
    judged = [(each, at) for each in file.seen if (at := places.get(document_key(each))) is not None and _may_be_made(rows[at])]
    found = [(each, at, templates) for each, at in judged if (templates := cluster.templates_in(each))]
    if not found:
        return file
    index = cluster.index.recording(data_of(file.objects))
    classes = [each for each in (*file.documents, *cluster.lookups) if each.group_kind == kinds.PRIORITY_CLASS]
    diagnostics: list[Diagnostic] = []
    for document, at, templates in found:
        said = _outcomes_of_templates(document, templates, classes, cluster, index)
        diagnostics += said
        rows[at] = rows[at].changed(
            runs=False if has_error(said) or rows[at].corrected else rows[at].runs, by_template=not is_known_controller(document.group_kind)
        )
    result = FileResult(file.result.path, rows, deduplicated([*file.result.diagnostics, *diagnostics]), ignored=file.result.ignored)
    return file.changed(result=result, asked=file.asked | (index.asked or frozenset()))


def _may_be_made(row: DocumentResult) -> bool:
    """Whether pods of a document may be made: a server accepts it, or its kind is not known here."""
    return row.later_status in ("valid", "partly") or (row.status == "skipped" and not row.reason)


def _of_update(job: Document, known: Sequence[Document], cluster: Cluster) -> list[Diagnostic]:
    """The diagnostics about an accepted update of a job that its operator cannot carry out; none if an engine recreates the job."""
    if not cluster.stored:
        return []
    from jobspec.outcome.updates import update_outcomes
    from jobspec.repository.in_build import AppliedFolder
    from jobspec.repository.recreation import recreation_of

    how = recreation_of(job, AppliedFolder())
    if how and how.when in ("always", "never"):
        return []
    return [job.diagnostic(each) for each in update_outcomes(job, known, cluster.stored, cluster.target)]


def _queue_problems(job: Document, context: Sequence[Document], cluster: Cluster, index: Index) -> Iterator[Diagnostic]:
    """The diagnostics about the queue of a job of a kind that only Kueue looks at."""
    if not index.have_queues:
        return
    from jobspec.outcome.queueing import is_queued, queue_outcomes

    if is_queued(job, cluster.target, index):
        yield from map(job.diagnostic, queue_outcomes(job, context, cluster, index))


def _of_its_name(job: Document, runtimes: Mapping[str, Sequence[Document]]) -> Sequence[Document]:
    """The runtimes, given by name, that a job may refer to."""
    from jobspec.operators.trainer.runtimes import RuntimeReference

    return runtimes.get(str(RuntimeReference(job.data).name), ())


def _each_warning_once(files: Sequence[Checked]) -> list[Checked]:
    """The files without warnings about a line, such as one of a runtime, that an earlier file has, too.

    An error stays in each file that it hits, none of which is valid.
    """
    changed, known = [], set()
    for file in files:
        kept = []
        for each in file.result.diagnostics:
            mistake = (each.rule, str(each.mark), each.message)
            if each.stage != "outcome" or each.severity == "error" or mistake not in known:
                kept.append(each)
            known.add(mistake)
        changed.append(file.changed(result=file.result.with_only(kept, ignored=0)))
    return changed
