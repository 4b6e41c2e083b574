"""A project's journey: its file, its variants, what they render to, and what is wrong with any of them."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

from jobspec.apis.kinds import PROJECT, PROJECT_FILE
from jobspec.diagnostics.causes import deduplicated, joined
from jobspec.diagnostics.diagnostic import Diagnostic
from jobspec.diagnostics.errors import JobspecError
from jobspec.diagnostics.record import Record
from jobspec.diagnostics.results import FileResult
from jobspec.documents.decoding import decode
from jobspec.documents.document import Document
from jobspec.documents.marked_tree import MarkedTree
from jobspec.documents.reader import read
from jobspec.journey.journey import one_by_one
from jobspec.journey.outcomes import foresee
from jobspec.journey.steps import Checked, Source
from jobspec.kubernetes.problems import closest
from jobspec.lint.linting import lint
from jobspec.programs.contracts import Contract
from jobspec.project import tree
from jobspec.project.project import EngineSettings, LoadedProject, Sources, Unreadable
from jobspec.project.rendering import Clusters, RenderedVariant, documents_of, judged_together, render_variant
from jobspec.project.tree import EngineTree, Files, VariantsTree, complete, engine_tree, project_in, tree_of, with_inventory
from jobspec.project.variants import Combination, PlannedVariant, combinations_of, variant_of, variants_from
from jobspec.session import merges
from jobspec.session import trees as owned_trees
from jobspec.session.applied import AppliedFile
from jobspec.session.delivery import deliver
from jobspec.session.finding import projects_around
from jobspec.session.found import Found, skipped
from jobspec.session.inputs import RunContext, load_run_context
from jobspec.session.merges import UnfinishedMerge
from jobspec.session.options import Options
from jobspec.session.processes import spread_if_many, with_progress
from jobspec.session.reading import content_of, reader
from jobspec.session.trees import FilesAtRef, OwnedTree, ProjectFiles, before
from jobspec.world.world import Cluster, releases_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from jobspec.lint.topics import Chosen

FilesAround = ProjectFiles | FilesAtRef
_NO_CLUSTER = {"": Cluster()}
T = TypeVar("T")


@dataclass(frozen=True)
class RenderedProject:
    """What a project renders to, and everything that is wrong with it."""

    results: Sequence[FileResult]
    read: Sequence[Found]
    """The files that it was read from."""
    releases: dict[str, str]
    output: str = ""
    """The path of the folder that it renders to."""
    tree: VariantsTree = field(default_factory=VariantsTree)
    """The files of the variants' objects; none where there is an error."""
    earlier: Files = field(default_factory=dict)
    """The files of the earlier runs that stay in the tree."""
    engine_output: str = ""
    """The path of the folder of the engines' objects; empty where the project has no engines, or only some variants are rendered."""
    engine_files: Files = field(default_factory=dict)

    @property
    def valid(self) -> bool:
        """Whether nothing is wrong that keeps it from being written."""
        return all(each.valid for each in self.results)


def read_project(found: Found) -> LoadedProject | FileResult:
    """Return the project in a file, or what is wrong with the file.

    Raises JobspecError if the file holds anything else, too.
    """
    return project_in(Source(found.path, content_of(found)))


@dataclass(frozen=True)
class Plan:
    """The variants of a project before they are rendered, and the cluster that they meet."""

    results: Sequence[FileResult]
    """What is wrong with the project, and with its variants where they are made; with an error, there is nothing to render."""
    files: FilesAround
    clusters: Mapping[str, Cluster]
    """The clusters that variants meet, by the paths that these name; the project's own by an empty one."""
    project: LoadedProject | None = None
    """The project; None where there is nothing to render."""
    sources: Sources | None = None
    output: str = ""
    """The path of the folder that it renders to."""
    remarks: Sequence[FileResult] = ()
    combinations: Sequence[Combination] = ()
    variants: Sequence[PlannedVariant] = ()
    """The variants of all combinations where they are made."""
    engines: PlannedEngines | None = None
    """The engines whose objects are written; None where there are none."""

    @property
    def valid(self) -> bool:
        """Whether nothing is wrong that keeps it from being rendered."""
        return all(each.valid for each in self.results)

    @property
    def read(self) -> list[Found]:
        """The files that it was read from."""
        return [self.files.project, *self.files.found]

    @property
    def bases(self) -> set[str]:
        """The files of the bases of its variants."""
        return {os.path.normpath(each.file) for variant in self.variants for each in variant.base.documents}

    @property
    def cluster(self) -> Cluster:
        """The project's own cluster."""
        return self.clusters[""]

    @property
    def releases(self) -> dict[str, str]:
        """The releases that a report names: those of the clusters that its variants meet."""
        return releases_of(self.met)

    @property
    def met(self) -> list[Cluster]:
        """The clusters that its variants meet; the project's own where it has none."""
        return list(dict.fromkeys(self.clusters[each.cluster] for each in self.combinations)) or [self.cluster]

    def met_by(self, variant: PlannedVariant | Combination) -> Cluster:
        """The cluster that a variant meets."""
        return self.clusters[variant.cluster]

    def variant(self, combination: Combination) -> PlannedVariant | list[Diagnostic]:
        """The variant of a combination, or what is wrong with it."""
        assert self.project
        assert self.sources
        return variant_of(combination, self.project, self.sources)

    def with_variants(self) -> Plan:
        """The same with the variants of all combinations, and with what is wrong with them."""
        if not self.project or not self.sources:
            return self
        made, wrong = variants_from(self.combinations, self.project, self.sources)
        return replace(self.with_problems(wrong), variants=made)

    def among(self, objects: Sequence[Document]) -> Plan:
        """The same in a cluster that has these objects, too."""
        return replace(self, clusters={path: each.with_objects(objects) for path, each in self.clusters.items()})

    def with_problems(self, wrong: Sequence[Diagnostic]) -> Plan:
        """The same, and what is *wrong* in the project besides."""
        path = self.files.project.path
        return replace(self, results=[each.with_diagnostics(wrong) if each.path == path else each for each in self.results])


@dataclass(frozen=True, slots=True)
class PlannedEngines:
    """The engines of a project, the folder of their objects, and where the rendered tree and the project's file are in the repository."""

    declared: EngineSettings
    folder: str
    path: str
    home: str

    def tree(self, rendered: Sequence[RenderedVariant], tree: VariantsTree, *, earlier: Files) -> EngineTree:
        """Their objects, for rendered variants and the files of those."""
        return engine_tree(self.declared, rendered, tree, earlier=earlier, path=self.path, project=self.home)


def plan(options: Options, files: FilesAround) -> Plan:
    """Read a project with the overlays that it names.

    If there are releases of an upgrade, they take the place of the project's own. Raises JobspecError if the project's file holds anything
    else, too.
    """
    path = files.project.path
    project = read_project(files.project)
    if isinstance(project, FileResult):
        return Plan([project], files, _NO_CLUSTER)
    problems = [*project.wrong_releases(), *_wrong_outputs(project, files), *(project.engines.mistakes() if project.engines else ())]
    if problems:
        return Plan([FileResult(path, (), problems)], files, _NO_CLUSTER)
    asked_releases = {**project.asked_releases, **options.releases}
    is_named = options.cluster is None and options.pinned is None
    try:
        run_context = _run_context(asked_releases, options, files, str(project.cluster.value) if project.cluster and is_named else "")
    except Unreadable as error:
        assert project.cluster
        return Plan([FileResult(path, (), [_no_cluster(project.cluster, error)])], files, _NO_CLUSTER)
    clusters, wrong, unread = {"": run_context.cluster}, [*run_context.wrong], dict[str, Unreadable]()

    def find(named: str) -> Cluster:
        """The cluster at a path that a variant names; the project's own where the options name one, or where it cannot be read."""
        if named not in clusters:
            clusters[named] = run_context.cluster
            try:
                other = _run_context(asked_releases, options, files, named) if is_named else run_context
            except Unreadable as error:
                unread[named] = error
            else:
                wrong.extend(other.wrong if other is not run_context else ())
                clusters[named] = other.cluster
        return clusters[named]

    sources = Sources(files.read, run_context.cluster, find)
    combinations, problems = combinations_of(project, sources)
    for each in combinations:
        find(each.cluster)
        if each.cluster in unread:
            problems.append(_no_cluster(each.entry.value["cluster"].with_value(each.cluster), unread[each.cluster]))
    results = wrong or [FileResult(path, (), deduplicated(problems))]
    output = files.output(project.output)
    return Plan(
        results,
        files,
        clusters,
        project=project,
        sources=sources,
        output=output,
        remarks=run_context.remarks,
        combinations=combinations,
        engines=_engines(project, files, output),
    )


def _no_cluster(named: MarkedTree, error: Unreadable) -> Diagnostic:
    return Diagnostic("invalid-project", f"no cluster at `{named.value}`: {error}", named.mark)


def plan_with_contracts(options: Options, files: ProjectFiles, given: Mapping[str, Contract] | None = None) -> Plan:
    """What `plan` gives, in clusters that know the contracts of images which the project declares, and those that are *given*."""
    from jobspec.session.contracts import contracts_of

    planned = plan(options, files)
    if not planned.project or not (given or planned.project.contracts):
        return planned
    contracts, wrong = contracts_of(planned.project, files)
    known = {**contracts, **(given or {})}
    return replace(planned.with_problems(wrong), clusters={path: each.with_contracts(known) for path, each in planned.clusters.items()})


def plans_in(found: Sequence[Found], options: Options, given: Mapping[str, Contract]) -> tuple[list[Found], dict[str, Plan]]:
    """The files, and by path the projects among them whose variants are judged: what these were rendered to is skipped.

    Files that a hook names are judged by the project around them, as in a folder, where they are its bases or its tree.
    """
    asked = [each for each in found if not each.named or (options.skip_unknown and each.content is None)]
    names = {os.path.normpath(each.path) for each in asked}
    around = projects_around(found) if options.skip_unknown else []
    plans = {}
    for each in [*asked, *around]:
        if os.path.basename(each.path) == PROJECT_FILE and not (each.in_build and each.in_build.role) and _is_project(each):
            planned = plan_with_contracts(options, ProjectFiles(each.path, each.disk), given).with_variants()
            if planned.valid and (each not in around or _is_about(planned, names)):
                plans[each.path] = planned
    trees = tuple(map(_tree_of, plans.values()))
    rendered = {id(each) for each in asked if os.path.normpath(each.path).startswith(trees)}
    files = [skipped(each.path, "rendered file") if id(each) in rendered else each for each in found]
    return [*files, *(each for each in around if each.path in plans)], plans


def _tree_of(planned: Plan) -> str:
    return os.path.join(os.path.normpath(planned.output), "")


def _is_about(planned: Plan, names: Collection[str]) -> bool:
    """Whether files of these names are bases of a project, or what it was rendered to."""
    return not planned.bases.isdisjoint(names) or any(each.startswith(_tree_of(planned)) for each in names)


def _is_project(found: Found) -> bool:
    text = decode(content_of(found), found.path)
    return isinstance(text, str) and [each.group_kind for each in read(text, file=found.path)[0]] == [PROJECT]


def _engines(project: LoadedProject, files: FilesAround, output: str) -> PlannedEngines | None:
    """The engines of a project that has any."""
    engines = project.engines
    if not engines or not (engines.argocd or engines.flux):
        return None
    return PlannedEngines(engines, files.output(engines.output, output), files.in_repository(output), files.home())


def _run_context(releases: Mapping[str, str], options: Options, files: FilesAround, named: str) -> RunContext:
    """The cluster of a project's releases, with the command line's kinds and the objects of the cluster in the *named* file, if any.

    Raises Unreadable where that cannot be read.
    """
    return load_run_context(
        Options(
            target=[f"{operator}={release}" for operator, release in releases.items()],
            admission=options.admission,
            closed_world=options.closed_world,
            cluster=options.cluster,
            pinned=files.read(named) if named else options.pinned,
            crd=options.crd,
            schema_location=options.schema_location,
        )
    )


def render_project(options: Options, path: str, *, only: Collection[str]) -> RenderedProject:
    """Render the project in a file.

    *only*: the variants to render; if none is named, all of them. Raises JobspecError for unknown variants.
    """
    planned = plan_with_contracts(options, ProjectFiles(path, options.disk))
    releases = planned.releases
    if not planned.valid:
        planned = planned.with_variants()  # what is wrong with them is reported at once
        return RenderedProject(planned.results, read=planned.read, releases=releases)
    _require(only, planned.combinations)
    folders = tree_before(planned.combinations, planned.output)
    rendered = _rendered_variants(planned, path, folders, outcome=options.outcome)
    chosen = [each for each in rendered if not only or each.name in only]
    tree = tree_of(rendered)
    earlier = {path: folders[each.name][path] for each in chosen for path in each.earlier}
    engines = None if only else planned.engines
    made = engines.tree(rendered, tree, earlier=earlier) if engines else EngineTree()
    fixed = _unchangeable(planned, chosen, folders)
    result = result_of(path, planned, chosen, [*tree.diagnostics, *made.diagnostics, *fixed])
    return RenderedProject(
        [*planned.remarks, result],
        read=planned.read,
        releases=releases,
        output=planned.output,
        tree=tree,
        earlier=earlier,
        engine_output=engines.folder if engines else "",
        engine_files=made.files,
    )


def tree_before(combinations: Sequence[Combination], output: str) -> dict[str, dict[str, bytes]]:
    """Return the tree before this render by folder and path, if a variant depends on it.

    A variant depends on the tree by earlier runs that stay, or by a fixed name.
    """
    return before(output) if any(each.keeps_runs or not each.hashed for each in combinations) else {}


def _unchangeable(planned: Plan, rendered: Sequence[RenderedVariant], folders: Mapping[str, Mapping[str, bytes]]) -> list[Diagnostic]:
    """The warnings of changes that jobs under fixed names cannot take."""
    fixed = {each.name: each for each in planned.combinations if each.name in folders and not each.hashed}
    if not fixed:
        return []
    from jobspec.project.effects import committed_before, unchangeable

    found = [(fixed[each.name], committed_before(each, folders[each.name])) for each in rendered if each.name in fixed]
    changed = [(combination, committed) for combination, committed in found if committed is not None]

    def warnings_of(each: tuple[Combination, bytes]) -> list[Diagnostic]:
        combination, committed = each
        variant = planned.variant(combination)
        return [] if isinstance(variant, list) else list(unchangeable(variant, committed, planned.met_by(variant)))

    warnings = spread_if_many(changed, warnings_of)
    return [warning for each in warnings for warning in each]


def mistakes_of(planned: Plan, path: str, others: Collection[str]) -> list[Diagnostic]:
    """The problems of a project whose document is valid by itself, without those in *others*, files whose own results report them."""
    found = [problem for each in planned.results for problem in each.diagnostics]
    return [each for each in found if each.mark.file == path or each.mark.file not in others]


def _wrong_outputs(project: LoadedProject, files: FilesAround) -> Iterator[Diagnostic]:
    output = ""
    try:
        output = files.output(project.output)
    except Unreadable as error:
        message = f"cannot render to `{project.output}`: {error}"
        yield Diagnostic("invalid-project", message, project.output_place, hint="name a folder of its own, such as `rendered`")
    if engines := project.engines:
        try:
            files.output(engines.output, output)
        except Unreadable as error:
            message = f"cannot write the engines' objects to `{engines.output}`: {error}"
            yield Diagnostic("invalid-project", message, engines.output_place, hint="name a folder of its own, such as `engines`")


def _require(names: Collection[str], combinations: Sequence[Combination]) -> None:
    known = [each.name for each in combinations]
    for name in names:
        if name not in known:
            raise JobspecError(
                f"--only {name}: {closest(name, known) or f'the project has no variant of this name, but {len(known)} others'}"
            )


def _rendered_variants(planned: Plan, path: str, folders: Mapping[str, Mapping[str, bytes]], *, outcome: bool) -> list[RenderedVariant]:
    """The variants of a project rendered, of which *folders* has the files before; many are made and rendered in several processes."""

    def render_one(combination: Combination) -> RenderedVariant:
        variant = planned.variant(combination)
        if isinstance(variant, list):
            return RenderedVariant(combination.name, Checked(FileResult(path, (), variant), ()), (), ())
        return render_variant(variant.with_runs(folders.get(variant.name, {})), planned.met_by(variant), outcome=outcome)

    return judged(planned.combinations, render_one, planned.clusters)


def judged(items: Sequence[T], render_one: Callable[[T], RenderedVariant], clusters: Clusters) -> list[RenderedVariant]:
    """The variants of a project rendered; many of them are spread over processes."""
    rendered = with_progress(items, render_one, done_to_each=("rendered", "variant"))
    return judged_together(rendered, clusters)


def result_of(path: str, planned: Plan, variants: Sequence[RenderedVariant], problems: Iterable[Diagnostic]) -> FileResult:
    """The result of a project: the objects of its variants, and each problem once, with all variants that have it."""
    results = [each.checked.result for each in variants]
    said = [problem for each in planned.results for problem in each.diagnostics]
    found = [*said, *problems, *(problem for each in results for problem in each.diagnostics)]
    once = joined(found, lambda each: (each.rule, str(each.mark), each.message))
    return FileResult(path, [row for each in results for row in each.documents], once)


class JudgedVariant(Record):
    """A variant's result, and its objects."""

    result: FileResult
    objects: Mapping[str, Document]
    """The objects by file; none if the variant has an error."""
    applied: AppliedFile | None
    """What a cluster gets of it; None if nobody asks for documents."""


def judged_variants(planned: Plan, chosen: Chosen | None, *, outcome: bool, documents: bool = False) -> list[JudgedVariant]:
    """Judge each variant of a valid project: what is wrong with its objects, what becomes of them, and what *chosen* rules find."""
    variants = planned.variants if planned.valid else ()

    def of_variant(variant: PlannedVariant) -> JudgedVariant:
        judged = judged_variant(variant, planned.met_by(variant), chosen, outcome=outcome)
        return judged if documents else JudgedVariant(judged.result, {}, None)

    return with_progress(variants, of_variant, run=one_by_one if documents else None, done_to_each=("checked", "variant"))


def reported_once(variants: Iterable[FileResult], reported: Iterable[Diagnostic]) -> list[Diagnostic]:
    """The diagnostics of some variants, each once with all variants that have it, without those *reported* for files already."""
    of_files = set(map(_place_of_diagnostic, reported))
    found = [each for one in variants for each in one.diagnostics if _place_of_diagnostic(each) not in of_files]
    return joined(found, lambda each: (*_place_of_diagnostic(each), "" if each.mark.layer else each.message))


def _place_of_diagnostic(each: Diagnostic) -> tuple[str, str, int, int]:
    return each.rule, os.path.normpath(each.mark.file), each.mark.line, each.mark.column


def judged_variant(variant: PlannedVariant, cluster: Cluster, chosen: Chosen | None, *, outcome: bool = True) -> JudgedVariant:
    """Judge a variant's objects by themselves, foresee what becomes of them, and lint them."""
    checked, objects = documents_of(variant, cluster)
    accepted = Checked(checked.result, list(objects.values()), checked.objects)
    if not checked.result.valid:
        return JudgedVariant(checked.result, {}, AppliedFile(accepted, cluster, variant=variant.name))
    accepted = foresee(accepted, cluster) if outcome else accepted
    (result,) = lint([accepted], cluster, chosen) if chosen else [accepted.result]
    found = result.with_only([each for each in result.diagnostics if each.stage in ("outcome", "lint")], ignored=0)
    return JudgedVariant(found, objects, AppliedFile(accepted, cluster, variant=variant.name))


def write_project(options: Options, path: str) -> int:
    """Render a project, or with `--check` compare only.

    Return 1 if there is an error, or a difference.
    """
    if options.overlay or options.set or (options.target and "target" not in options.by_environment):
        raise JobspecError(f"--overlay, --set and --target are for manifests: a project declares in {path} what is rendered")
    rendered = render_project(options, path, only=options.only)
    if options.to == "-":
        if rendered.valid:
            sys.stdout.write(rendered.tree.only(options.only).text() if options.only else rendered.tree.text())
        deliver(rendered.results, rendered.releases, options, sys.stderr, read=reader(rendered.read))
        return 0 if rendered.valid else 1
    is_text = options.output == "text"
    if rendered.valid and (options.check or options.diff):
        lines = owned_trees.compare(trees_of(rendered, options.only), in_full=options.diff)
        sys.stdout.writelines(lines)
        if lines and is_text:
            more = "" if options.diff else "; `jobspec render --diff` shows the difference"
            sys.stderr.write(f"jobspec: {rendered.output} is not what {path} renders to: run `jobspec render`, and commit it{more}\n")
        return 1 if lines else 0
    if rendered.valid:
        written = owned_trees.write(trees_of(rendered, options.only))
        if is_text:
            sys.stdout.writelines(f"{path}\n" for path in written.changed)
        sys.stderr.writelines(_note(folder, merge, rendered) for folder, merge in written.merges.items())
    deliver(rendered.results, rendered.releases, options, sys.stderr if is_text else sys.stdout, read=reader(rendered.read))
    return 0 if rendered.valid else 1


def _note(folder: str, merge: UnfinishedMerge, rendered: RenderedProject) -> str:
    """The note of a render that resolved a merge by overwriting the conflicted files."""
    runs = [path for path in rendered.earlier if path not in merge.sides[0] and path in merge.sides[1]] if folder == rendered.output else []
    kept = f", and kept the other side's runs {', '.join(runs)}" if runs else ""
    number = len(merge.conflicts)
    what = f"{number} conflicting file{'s' * (number != 1)}" if number else "what the merge left"
    return f"{folder}: resolved {what} by rendering the merged sources{kept}; next: git add --all {folder}\n"


def trees_of(rendered: RenderedProject, only: Collection[str]) -> list[OwnedTree]:
    """Return the tree of variants, and that of engines if all variants are rendered.

    The tree of engines depends on all variants.
    """

    def variants(found: Files, hashes: Mapping[str, str]) -> Files:
        """The rendered variants with the earlier runs that stay; with *only* some, the files of the others as they are."""
        if only and (merge := merges.unfinished(rendered.output)) and merge.conflicts:
            raise JobspecError(f"{rendered.output} has conflicts of a merge: render all variants, without --only")
        others = [path for path in hashes if path in found and "/" in path and path.partition("/")[0] not in only] if only else []
        kept = {path: found[path] for path in others} | dict(rendered.earlier)
        known = dict(hashes) | {path: tree.digest_of(content) for path, content in rendered.earlier.items()}
        return complete(rendered.tree.only(only) if only else rendered.tree, kept, known)

    owned = [OwnedTree(rendered.output, variants)]
    if rendered.engine_output:
        owned.append(OwnedTree(rendered.engine_output, lambda *_: with_inventory(rendered.engine_files)))
    return owned
