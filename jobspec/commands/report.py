"""`jobspec report`: a page with all variants of a project, or all jobs in files, for whoever reviews them."""

from __future__ import annotations

import os
import sys
from argparse import ArgumentParser
from collections.abc import Iterable, Iterator, Sequence

from jobspec.apis.kinds import PROJECT_FILE
from jobspec.apis.releases import Target
from jobspec.diagnostics.diagnostic import Diagnostic
from jobspec.diagnostics.errors import JobspecError
from jobspec.diagnostics.grouping import gathered
from jobspec.diagnostics.results import FileResult
from jobspec.diagnostics.rules import Rule
from jobspec.documents.document import Document
from jobspec.documents.marked_tree import walk, with_marks
from jobspec.documents.text_edits import origins
from jobspec.journey.rendering import text_of
from jobspec.journey.steps import Checked
from jobspec.lint.documents import Documents
from jobspec.lint.linted import linted_job
from jobspec.lint.linting import seen
from jobspec.operators.workloads import is_workload
from jobspec.project.blame import Blame, Blamed, Origin, Stage, stages_of
from jobspec.project.capacity import PriceList, capacity_of
from jobspec.project.comparison import compare
from jobspec.project.variants import PlannedVariant
from jobspec.reports.diff import ComparisonView, spelt
from jobspec.reports.expansion import containers_text
from jobspec.reports.page import ObjectText, PageRow, ReportPage, object_text, page_report, page_summary
from jobspec.reports.text import from_here
from jobspec.reports.topology import topology_of
from jobspec.session.chosen_rules import chosen
from jobspec.session.comparing import prices_in, sides, tree_at
from jobspec.session.delivery import deliver
from jobspec.session.found import Found
from jobspec.session.inputs import project_among, settings_of
from jobspec.session.judging import Depth
from jobspec.session.options import Option, Options, choice_options, declare, journey_options, kind_options, repository_options
from jobspec.session.progress import with_progress
from jobspec.session.project import Plan, judged_variant, tree_before
from jobspec.session.reading import reader
from jobspec.session.terminal import is_terminal
from jobspec.session.verdict import chosen_results, context_for, results_of
from jobspec.session.writing import write_whole
from jobspec.world.world import Cluster


def add_arguments(parser: ArgumentParser) -> None:
    """Declare its arguments and options."""
    what = "manifests, folders or a project; a commit such as `main` shows what changes against it; without a path, the project here"
    parser.add_argument("paths", nargs="*", metavar="PATH|REF", help=what)
    options = [
        Option("--output", "-o", dest="page", metavar="FILE", what="the page; standard output by default"),
        Option("--prices", metavar="FILE", what="a price list, to show what jobs cost at most"),
        *journey_options(),
        *repository_options(),
        *kind_options(),
        *(each for each in choice_options() if each.dest not in ("write_baseline", "contract")),
    ]
    declare(parser, options, paths="[PATH|REF ...]")


def run(options: Options) -> int:
    """Write the page; 1 where an error was found, as `lint` says."""
    if options.page is None and is_terminal(sys.stdout):
        raise JobspecError("the page is HTML: write it to a file with `-o page.html`")
    paths, ref = _paths_and_ref(options.paths)
    options = options.changed(paths=paths, write_baseline=None, contract=(), fix=False, diff=False)
    listed = prices_in(options.prices) if options.prices is not None else None
    if isinstance(listed, FileResult):
        deliver([listed], {}, Options(), sys.stderr, read=reader([Found(listed.path, named=True)]))
        return 1
    project = project_among(paths) if paths or os.path.isfile(PROJECT_FILE) else None
    view, obstacle = _change(options, ref, project, listed) if ref is not None else (None, "")
    settings = settings_of(options)
    rules = chosen(settings)
    rows: list[PageRow] = []

    def judge_variants(planned: Plan) -> list[FileResult]:
        """Return the results of the variants of a planned project, which become rows."""
        made = _variants(planned, rules) if planned.valid else []
        rows.extend(made)
        return [FileResult(planned.files.project.path, (), each.findings) for each in made]

    context, depth = context_for(options, settings), Depth(rules=rules, judge_variants=judge_variants)
    results = results_of(options, context, settings, depth)
    files, fails = chosen_results(results, options, settings, depth)
    rows = [*_jobs(results.judged, results.linted, context.cluster), *rows]
    title = project or ", ".join(map(_shown_path, paths[:3])) or _shown_path(os.curdir)
    releases = view.releases if view else context.cluster.releases
    noun = "variant" if project else "job"
    page = ReportPage(title, rows, [*context.remarks, *files], noun=noun, releases=releases, prices=listed, view=view, obstacle=obstacle)
    text = page_report(page, reader(results.read))
    if options.page is None:
        sys.stdout.write(text)
    else:
        write_whole(options.page, text)
        sys.stdout.write(f"{options.page}: {page_summary(page)}\n")
    return 1 if fails else 0


def _paths_and_ref(given: Sequence[str]) -> tuple[list[str], str | None]:
    """The arguments that are paths, and the one that is a Git ref. Raises JobspecError for two refs."""
    paths = [each for each in given if each == "-" or os.path.lexists(each)]
    others = [each for each in given if each not in paths]
    if len(others) > 1:
        raise JobspecError("\n".join(f"{each}: no such file or folder" for each in others))
    return paths, others[0] if others else None


def _shown_path(path: str) -> str:
    """A path, or the name of the folder where it is that of the working folder or one above."""
    return os.path.basename(os.path.abspath(path)) if set(os.path.normpath(path)) <= {".", os.sep} else path


def _change(options: Options, ref: str, project: str | None, prices: PriceList | None) -> tuple[ComparisonView | None, str]:
    """The changes against a ref, or why they are unknown. Raises JobspecError for an invalid ref, or without a project."""
    if project is None:
        raise JobspecError(
            f"{ref}: no such file or folder, and no commit can be compared with: that takes a project, such as {PROJECT_FILE}"
        )
    asked = options.changed(project=project, ref=ref)
    try:
        then, before, after = sides(asked)
    except JobspecError as error:
        raise JobspecError(f"{ref}: no such file or folder; {error}") from None
    if before.state is None or after.state is None:
        wrong = [each for side in (before, after) if side.state is None for result in side.results for each in result.diagnostics]
        first = next(each for each in wrong if each.severity == "error")
        return None, f"No comparison with {ref}: {first.mark}: {first.message}"
    comparison = compare(before.state, after.state, committed=tree_at(then, before.state, after.state))
    return ComparisonView(comparison, ref=ref, commit=then.commit, releases=after.releases, prices=prices), ""


# The variants of a project as rows.


def _variants(planned: Plan, rules: Sequence[Rule]) -> list[PageRow]:
    folders = tree_before(planned.combinations, planned.output)
    planned_variants = [each.with_runs(folders.get(each.name, {})) for each in planned.variants]

    known: dict[int, Sequence[Stage]] = {}

    def row_of(variant: PlannedVariant) -> PageRow:
        return _of_variant(variant, planned, rules, known)

    return with_progress(planned_variants, row_of, done_to_each=("drawn", "variant"))


def _of_variant(variant: PlannedVariant, planned: Plan, rules: Sequence[Rule], known: dict[int, Sequence[Stage]]) -> PageRow:
    assert planned.project
    cluster = planned.met_by(variant)
    judged = judged_variant(variant, cluster, rules)
    objects, findings = judged.objects, judged.result.diagnostics
    target = cluster.target
    stages = stages_of(variant, planned.project, cluster, known) if objects else ()
    texts = []
    for name, document in objects.items():
        text = text_of([document], target)
        blamed = Blame(variant, planned.project, cluster, document, text, stages).fields()
        texts.append(object_text(name, text, blamed, is_secret=document.kind == "Secret"))
    job = next(filter(is_workload, objects.values()), None)
    base = from_here(variant.base.file)
    written = [base, *filter(None, [", ".join(_overlays_of_variant(variant))])]
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


# The jobs in files as rows.


def _jobs(checked: Sequence[Checked], results: Sequence[FileResult], cluster: Cluster) -> list[PageRow]:
    """The jobs that files and builds hold; those that a server refuses without their pods."""
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
        if not any(job is one for one in seen(file)):
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
