"""The rows of a report's page: the variants of a project, and the jobs in files."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from jobspec.apis.releases import Target
from jobspec.diagnostics.diagnostic import Diagnostic
from jobspec.diagnostics.grouping import gathered
from jobspec.diagnostics.results import FileResult
from jobspec.documents.document import Document
from jobspec.documents.marked_tree import walk, with_marks
from jobspec.documents.text_edits import origins
from jobspec.journey.rendering import text_of
from jobspec.journey.steps import Checked
from jobspec.lint.documents import Documents
from jobspec.lint.linted import linted_job
from jobspec.lint.linting import seen
from jobspec.operators.training_roles import job_among
from jobspec.operators.workloads import is_workload
from jobspec.project.blame import Blame, Blamed, Origin, Stage, stages_of
from jobspec.project.capacity import capacity_of
from jobspec.project.matrix import matrix_words
from jobspec.project.variants import PlannedVariant
from jobspec.reports.diff import spelt
from jobspec.reports.expansion import containers_text
from jobspec.reports.page import ObjectText, PageRow, object_text
from jobspec.reports.places import from_here
from jobspec.reports.topology import topology_of
from jobspec.schemas import shapes
from jobspec.session.processes import with_progress
from jobspec.session.project import Plan, judged_variant, tree_before
from jobspec.world.world import Cluster

TYPE_CHECKING = False
if TYPE_CHECKING:
    from jobspec.lint.topics import Chosen


def rows_of_variants(planned: Plan, chosen: Chosen) -> list[PageRow]:
    """Return a row for each variant of a project."""
    folders = tree_before(planned.combinations, planned.output)
    planned_variants = [each.with_runs(folders.get(each.name, {})) for each in planned.variants]

    known: dict[int, Sequence[Stage]] = {}

    def row_of(variant: PlannedVariant) -> PageRow:
        return _of_variant(variant, planned, chosen, known)

    return with_progress(planned_variants, row_of, done_to_each=("drawn", "variant"))


def _of_variant(variant: PlannedVariant, planned: Plan, chosen: Chosen, known: dict[int, Sequence[Stage]]) -> PageRow:
    assert planned.project
    cluster = planned.met_by(variant)
    judged = judged_variant(variant, cluster, chosen)
    objects, findings = judged.objects, judged.result.diagnostics
    target = cluster.target
    stages = stages_of(variant, planned.project, cluster, known) if objects else ()
    texts = []
    for name, document in objects.items():
        text = text_of([document], target)
        blamed = Blame(variant, planned.project, cluster, document, text, stages).fields()
        texts.append(object_text(name, text, blamed, is_secret=document.kind == "Secret"))
    job = job_among(objects.values()) or next(filter(is_workload, objects.values()), None)
    base = from_here(variant.base.file)
    written = [base, *filter(None, [", ".join(_overlays_of_variant(variant)), ", ".join(matrix_words(variant.values))])]
    if job is None:
        return PageRow(variant.name, "", "", "", written, None, None, "", texts, findings)
    return _row_of_job(variant.name, job, Documents([*objects.values()], cluster), written, texts, findings)


def _overlays_of_variant(variant: PlannedVariant) -> Iterator[str]:
    """The overlays of a variant, but for its own layer, with the parameters that it gives."""
    for each in variant.overlays:
        if each.name != variant.name:
            given = " ".join(f"{name}={spelt(each.values[name])}" for name in each.given)
            yield f"{each.name} {given}".strip()


def _row_of_job(
    name: str, job: Document, documents: Documents, written: Sequence[str], texts: Sequence[ObjectText], findings: Sequence[Diagnostic]
) -> PageRow:
    """The row of a job that a server accepts."""
    linted = linted_job(job, documents)
    capacity = capacity_of(job, documents.referred(job), documents.target)
    topology = topology_of(linted.expanded) if linted else None
    pods = containers_text(linted.expanded) if linted else ""
    return PageRow(name, job.kind, job.name, job.namespace, written, capacity, topology, pods, texts, findings)


def rows_of_jobs(checked: Sequence[Checked], results: Sequence[FileResult], cluster: Cluster) -> list[PageRow]:
    """Return the rows of the jobs in files and builds.

    Jobs that a server refuses are shown without their pods.
    """
    documents = Documents([each for file in checked for each in seen(file)], cluster)
    said = {each.path: each.diagnostics for each in results}
    elsewhere = gathered((str(each.mark), (result.path, each)) for result in results for each in result.diagnostics)
    jobs = [(job, file) for file in checked for job in file.documents if is_workload(job)]

    def row_of(each: tuple[Document, Checked]) -> PageRow:
        job, file = each
        findings = [one for one in said.get(file.result.path, ()) if one.document == job.index]
        # Of what kustomize builds, the mistakes of bases and patches are reported once, in their files.
        findings += [one for place in _places(job) for path, one in elsewhere.get(place, ()) if path != file.result.path]
        name = "/".join(filter(None, (job.namespace, job.name))) or job.kind
        mark = job.marks.nearest(("metadata", "name")).place()
        written = [f"{from_here(mark.file)}:{mark.line}"]
        is_served = shapes.load(job.api_version, job.kind, cluster.target) is not None
        if not is_served or not any(job is one for one in seen(file)):
            return PageRow(name, job.kind, job.name, job.namespace, written, None, None, "", (), findings)
        return _row_of_job(name, job, documents, written, [_rendered_text(job, cluster.target)], findings)

    return with_progress(jobs, row_of, done_to_each=("drawn", "job"))


def _places(job: Document) -> Iterable[str]:
    """Where the values of a job are written, each place once."""
    trees = [each for _, each in walk(with_marks(job.data, job.marks))]
    return dict.fromkeys(str(mark) for each in trees for mark in (each.mark, each.key) if mark)


def _rendered_text(job: Document, target: Target) -> ObjectText:
    """A job as it is rendered, each value with its line in the files."""
    text = text_of([job], target)
    places = dict(origins(with_marks(job.data, job.marks), text))
    blamed = [Blamed("", [Origin("", None, mark)], line) for line, mark in places.items()]
    return object_text(job.kind, text, blamed, is_secret=False)
