"""Judge the files of a command line: find, build, check, lint, and judge the variants of projects among them."""

from __future__ import annotations

import os

from jobspec.apis.kinds import PROJECT, PROJECT_FILE, group_kind
from jobspec.diagnostics.diagnostic import has_error
from jobspec.diagnostics.record import Record
from jobspec.diagnostics.results import DocumentResult, FileResult
from jobspec.documents.document import PAGES, result_of
from jobspec.journey.journey import Journey, one_by_one, travel
from jobspec.journey.parts import PART
from jobspec.journey.steps import Checked
from jobspec.operators.workloads import takes_overlays
from jobspec.session.finding import find_for, projects_around
from jobspec.session.found import Found
from jobspec.session.found_file import FoundFile
from jobspec.session.inputs import RunContext, require_workload
from jobspec.session.options import Options
from jobspec.session.processes import alike_together, spread_if_many, with_progress
from jobspec.session.reading import UNREAD, look_through, parts_of, reader
from jobspec.session.reported import reported

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence
    from dataclasses import KW_ONLY
    from typing import Any

    from jobspec.journey.journey import Kept
    from jobspec.lint.ignores import ReportFilter
    from jobspec.lint.kept_findings import EarlierFindings
    from jobspec.lint.topics import Chosen
    from jobspec.reports.text import ReadText
    from jobspec.session.applied import AppliedFile
    from jobspec.session.findings_cache import FindingsCache
    from jobspec.session.kept_facts import KeptFacts
    from jobspec.session.kept_files import KeptChecks
    from jobspec.session.listing import Listing
    from jobspec.session.processes import R, Run, T
    from jobspec.session.project import Plan
    from jobspec.session.reading import LookedThrough, TextLikeness
    from jobspec.world.world import Cluster

    #: A function of a project's plan that gives a result for each of its variants.
    JudgeVariants = Callable[[Plan], Sequence[FileResult]]


class Depth(Record):
    """How far files are judged, and which parts of the results come back."""

    outcome: bool = True
    """Whether it is foreseen what becomes of accepted jobs."""
    chosen: Chosen | None = None
    """Which rules of lint are looked at; None if lint is not asked."""
    _: KW_ONLY
    documents: bool = False
    """Whether the documents that a cluster gets come back, for views that show more than findings."""
    kept: Kept | None = None
    """Gives earlier results of files; None if there are none."""
    about: Callable[[Sequence[Checked]], Collection[str]] | None = None
    """Gives the paths of the files whose results are wanted; None if all are."""
    lint_run: Run | None = None
    """How files are linted one after the other; None for the usual way."""
    findings: EarlierFindings | None = None
    """Gives the findings of an earlier look at the same files; None if there is no such look."""
    earlier: EarlierRun | None = None
    """What an earlier run has kept; None if there is no such run."""
    judge_variants: JudgeVariants | None = None
    """Judges the variants of a project; None for the usual way."""


class EarlierRun(Record):
    """What an earlier run with the same options has kept, to which this run adds."""

    checks: KeptChecks
    findings: FindingsCache | None
    """The findings by the same rules of lint; None if lint is not asked."""
    facts: KeptFacts
    listing: Listing
    """What the folders of the repository hold."""

    def write(self) -> None:
        """Write what this run used or added."""
        self.checks.write()
        self.facts.write()
        if self.findings:
            self.findings.write()


class RunResults(Record):
    """What a run finds out about the files of a command line. Commands show parts of it."""

    context: RunContext
    """What the files were checked with."""
    found: Sequence[Found]
    """The files. Those that projects are rendered to are skipped."""
    checked: Sequence[Checked]
    """All files as they were checked, the bases of projects among them."""
    judged: Sequence[Checked]
    """The files that are judged by themselves: all but the bases of projects."""
    linted: Sequence[FileResult]
    """The results of these files by their own lines, before builds are reported at their sources."""
    files: Sequence[FileResult]
    """The results of all files, as they are reported unless something is ignored."""
    projects: Mapping[str, Plan]
    """The projects among the files, by path."""
    applied: Sequence[AppliedFile]
    """The files and variants that a cluster gets, each in its world; none unless documents were asked for."""
    text: ReadText
    """Gives the text of a file, which is read once more for all that is said of its lines."""

    @property
    def read(self) -> list[Found]:
        """All files that were read, those of projects among them."""
        return [*self.found, *(each for planned in self.projects.values() for each in planned.read)]

    @property
    def valid(self) -> bool:
        """True if no file has an error."""
        return all(each.valid for each in self.files)


def judge_files(found: Sequence[Found], options: Options, context: RunContext, depth: Depth) -> RunResults:
    """Judge files as the repository has them, with the variants of the projects among them.

    Every command takes this journey.
    """
    skip_unknown = options.skip_unknown
    found, plans, bases = plans_among(found, options, context)
    documents = depth.documents or depth.chosen is not None or depth.kept is not None  # a later look may lint what is kept
    earlier = depth.earlier
    if earlier:
        earlier.checks.met(found)
    words = look_through(found, earlier.facts if earlier else None)
    checked = check_files(
        found,
        context,
        words=words,
        skip_unknown=skip_unknown,
        outcome=depth.outcome,
        documents=documents,
        definitions=False,
        kept=depth.kept,
        earlier=earlier.checks if earlier else None,
    )
    unjudged = [each for each in checked if bases and os.path.normpath(each.result.path.partition(PART)[0]) in bases]
    left_out = set(map(id, unjudged))
    judged = [each for each in checked if id(each) not in left_out]
    about = depth.about(judged) if depth.about else None
    findings = earlier.findings if earlier else depth.findings
    linted = with_advice(
        judged, context.cluster, depth.chosen, about=about, run=depth.lint_run, earlier=findings, likenesses=words.likenesses
    )
    if about is not None:
        linted = [each for each in linted if each.path in about]
    text = reader(found)
    files = context.wrong or reported(linted, found, text, skip_unknown=skip_unknown, values=context.values)
    if context.overlays:
        files = require_workload(context.overlays, files)
    applied = _applied(judged, context) if depth.documents else []
    files, projects, variants = _with_projects(files, options, found, context, checked, depth, plans)
    files += [_unjudged(each.result) for each in unjudged]
    return RunResults(context, found, checked, judged, linted, files, projects, [*applied, *variants], text)


def with_advice(
    files: Sequence[Checked],
    world: Cluster,
    chosen: Chosen | None,
    *,
    about: Collection[str] | None = None,
    run: Run | None = None,
    earlier: EarlierFindings | None = None,
    likenesses: Mapping[str, TextLikeness] | None = None,
) -> list[FileResult]:
    """Return the results of files with the findings of the *chosen* rules, or without any if that is None.

    *about*: the paths of the files that are linted among the others; None lints all. *run*: how the files are gone through. *earlier*: the
    findings of an earlier run; None if there are none. *likenesses*: as in `LookedThrough`; None if they are not known.
    """
    if chosen is None:
        return [each.result for each in files]
    from jobspec.lint.linting import lint

    def shown(items: Sequence[Any], work: Callable[[Any], R]) -> list[R]:
        return alike_together(items, work, lambda file: (likenesses or {}).get(file.result.path.partition(PART)[0], UNREAD), linting)

    def linting(items: Sequence[T], work: Callable[[T], R]) -> list[R]:
        return with_progress(items, work, done_to_each=("linted", "file"))

    return lint(files, world, chosen, run=run or shown, only=about, earlier=earlier)


def _applied(files: Sequence[Checked], context: RunContext) -> list[AppliedFile]:
    """Return what a cluster gets of the files."""
    from jobspec.session.applied import AppliedFile

    return [AppliedFile(each, context.cluster, files) for each in files]


def plans_among(found: Sequence[Found], options: Options, run_context: RunContext) -> tuple[Sequence[Found], dict[str, Plan], set[str]]:
    """The files, and the projects in folders whose variants are judged in place of their bases, and of what they were rendered to.

    The bases come last: their files, but for those that the user named, and not a hook.
    """
    by_hook = options.skip_unknown and options.variants_of_bases
    candidates = [*found, *projects_around(found)] if by_hook else [each for each in found if not each.named]
    if run_context.wrong or run_context.overlays or not any(os.path.basename(each.path) == PROJECT_FILE for each in candidates):
        return found, {}, set()
    from jobspec.session.project import plans_in

    found, plans = plans_in(found, options, run_context.cluster.contracts)
    named = set() if by_hook else {os.path.normpath(each.path) for each in found if each.named}
    return found, plans, {base for planned in plans.values() for base in planned.bases} - named


def _unjudged(base: FileResult) -> FileResult:
    """The result of a base, of which only its variants are judged."""
    return FileResult(base.path, [result_of(each, "skipped", reason="project base") for each in base.documents], ())


def files_for(
    options: Options,
    run_context: RunContext,
    settings: ReportFilter | None,
    *,
    encrypted: bool = True,
    facts: KeptFacts | None = None,
) -> list[Found]:
    """Find the files of a command line, with what is built of them. *facts*: as in `in_builds`."""
    kubernetes = run_context.cluster.target["kubernetes"]
    return find_for(options, settings, build=options.build, kubernetes=kubernetes, encrypted=encrypted, run=spread_if_many, facts=facts)


def is_project(document: DocumentResult) -> bool:
    """Whether a document is a project that is valid by itself."""
    return document.status == "valid" and group_kind(document.api_version, document.kind) == PROJECT


def _with_projects(
    results: Sequence[FileResult],
    options: Options,
    found: Sequence[Found],
    context: RunContext,
    checked: Sequence[Checked],
    depth: Depth,
    plans: Mapping[str, Plan],
) -> tuple[list[FileResult], dict[str, Plan], list[AppliedFile]]:
    """Add the variants of projects to the results. Return the results, the projects by path, and the variants that a cluster gets.

    The variants of projects that the user names, and of *plans* in folders, are judged among the objects of the *checked* files.
    """
    projects: dict[str, Plan] = {}
    named = {each.path for each in found if each.named}
    earlier = [each for result in results for each in result.diagnostics]
    answers: list[FileResult] = []
    applied: list[AppliedFile] = []
    for each in results:
        if not any(map(is_project, each.documents)) or each.path.endswith(PAGES) or not os.path.isfile(each.path):
            answers.append(each)
            continue
        from jobspec.session.project import mistakes_of, plan_with_contracts, reported_once
        from jobspec.session.trees import ProjectFiles

        contracts = context.cluster.contracts
        planned = plans.get(each.path) or plan_with_contracts(options, ProjectFiles(each.path, options.disk), contracts).with_variants()
        wrong = mistakes_of(planned, each.path, [one.path for one in found])
        rows = [result_of(row, "invalid") if has_error(wrong) and is_project(row) else row for row in each.documents]
        variants: Sequence[FileResult] = ()
        if each.path in named or each.path in plans:
            variants = _judge_variants(
                planned.among([one for file in checked for one in file.objects if not takes_overlays(one)]), depth, applied
            )
        rows += [row for one in variants for row in one.documents]
        said = [*each.diagnostics, *wrong, *reported_once(variants, earlier)]
        answers.append(FileResult(each.path, rows, said, ignored=each.ignored))
        projects[each.path] = planned
    return answers, projects, applied


def _judge_variants(planned: Plan, depth: Depth, applied: list[AppliedFile]) -> Sequence[FileResult]:
    """Judge the variants of a project, and add to *applied* what a cluster gets of them, if documents are asked for."""
    if depth.judge_variants:
        return depth.judge_variants(planned)
    from jobspec.session.project import judged_variants

    judged = judged_variants(planned, depth.chosen, outcome=depth.outcome, documents=depth.documents)
    applied += [each.applied for each in judged if each.applied]
    return [each.result for each in judged]


def check_files(
    found: Sequence[Found],
    run_context: RunContext,
    *,
    skip_unknown: bool,
    outcome: bool = False,
    documents: bool = True,
    definitions: bool = True,
    kept: Kept | None = None,
    earlier: KeptChecks | None = None,
    words: LookedThrough | None = None,
) -> list[Checked]:
    """Check files with each other.

    *words*: the result of `look_through` for the files; None if it is not known.

    If there are many files, several processes check them, unless *kept* is given, or the *documents* are needed without the *outcome*.
    """
    if run_context.wrong:
        return []
    words = words or look_through(found)
    likenesses = words.likenesses

    def run(items: Sequence[Any], work: Callable[[Any], Checked]) -> list[Checked]:
        if kept is not None or (documents and not outcome):
            return with_progress(items, work, run=one_by_one)
        return alike_together(items, work, lambda item: likenesses.get(item[0].found.path, UNREAD), with_progress)

    files = [FoundFile(part, run_context, skip_unknown) for each in found for part in parts_of(each)]
    journey = Journey(
        files,
        run_context.cluster.with_crds(words.crds),
        outcome=outcome,
        documents=documents,
        definitions=definitions,
        reads_ahead=words.may_have_policies,
        waits=words.may_decide,
        spread=run,
        kept=kept,
        earlier=earlier,
    )
    return travel(journey)
