"""A project's journey: its file, its variants, what they render to, and what is wrong with any of them."""

from __future__ import annotations

from jobspec.cluster import Cluster
from jobspec.commands.files import Found, content_of
from jobspec.commands.inputs import Inputs, load
from jobspec.commands.output import how_to_run, with_progress
from jobspec.commands.project_files import ProjectFiles
from jobspec.commands.rendered_tree import before
from jobspec.diagnostics import Diagnostic, JobspecError
from jobspec.gitops.combinations import combinations_of
from jobspec.gitops.engine_tree import EngineTree, engine_tree
from jobspec.gitops.project import Project
from jobspec.gitops.rendering import RenderedVariant, judged_together, refused_variant, render_variant
from jobspec.gitops.sources import Sources, Unreadable
from jobspec.gitops.tree import Tree, tree_of
from jobspec.gitops.variants import variant_of, variants_from
from jobspec.gitops.whole import project_in
from jobspec.kubernetes.problems import closest
from jobspec.pipeline import Source
from jobspec.results import FileResult

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
    from typing import TypeVar

    from jobspec.commands.inputs import Setting
    from jobspec.commands.ref_files import FilesAtRef
    from jobspec.gitops.combinations import Combination
    from jobspec.gitops.engines.declared import Engines
    from jobspec.gitops.tree import Files as TreeFiles
    from jobspec.gitops.variants import Variant
    from jobspec.programs.contracts import Contract

    Files = ProjectFiles | FilesAtRef
    T = TypeVar("T")


class RenderedProject:
    """What a project renders to, and everything that is wrong with it."""

    __slots__ = ("earlier", "engine_files", "engine_output", "output", "read", "releases", "results", "tree")

    def __init__(
        self,
        results: Sequence[FileResult],
        *,
        read: Sequence[Found],
        releases: dict[str, str],
        output: str = "",
        tree: Tree | None = None,
        earlier: TreeFiles | None = None,
        engine_output: str = "",
        engine_files: TreeFiles | None = None,
    ) -> None:
        self.results = results
        self.read = read
        """The files that it was read from."""
        self.releases = releases
        self.output = output
        """The path of the folder that it renders to."""
        self.tree = tree or Tree({})
        """The files of the variants' objects; none where there is an error."""
        self.earlier: TreeFiles = earlier or {}
        """The files of the earlier runs that stay in the tree."""
        self.engine_output = engine_output
        """The path of the folder of the engines' objects; empty where the project has no engines, or only some variants are rendered."""
        self.engine_files: TreeFiles = engine_files or {}

    @property
    def valid(self) -> bool:
        """Whether nothing is wrong that keeps it from being written."""
        return all(each.valid for each in self.results)


def read_project(found: Found) -> Project | FileResult:
    """The project in a file, or what is wrong with the file. Raises JobspecError where it holds anything else, too."""
    return project_in(Source(found.path, content_of(found)))


class Plan:
    """The variants of a project before they are rendered, and the cluster that they meet."""

    __slots__ = ("_files", "_sources", "cluster", "combinations", "engines", "output", "project", "remarks", "results", "variants")

    def __init__(
        self,
        results: Sequence[FileResult],
        files: Files,
        cluster: Cluster,
        *,
        project: Project | None = None,
        sources: Sources | None = None,
        output: str = "",
        remarks: Sequence[FileResult] = (),
        combinations: Sequence[Combination] = (),
        variants: Sequence[Variant] = (),
        engines: PlannedEngines | None = None,
    ) -> None:
        self.results = results
        """What is wrong with the project, and with its variants where they are made; with an error, there is nothing to render."""
        self._files = files
        self.cluster = cluster
        self.project = project
        """The project; None where there is nothing to render."""
        self._sources = sources
        self.output = output
        """The path of the folder that it renders to."""
        self.remarks = remarks
        self.combinations = combinations
        self.variants = variants
        """The variants of all combinations where they are made."""
        self.engines = engines
        """The engines whose objects are written; None where there are none."""

    @property
    def read(self) -> list[Found]:
        """The files that it was read from."""
        return [self._files.project, *self._files.found]

    def variant(self, combination: Combination) -> Variant | list[Diagnostic]:
        """The variant of a combination, or what is wrong with it."""
        assert self.project
        assert self._sources
        return variant_of(combination, self.project, self._sources)

    def with_variants(self) -> Plan:
        """The same with the variants of all combinations, and with what is wrong with them."""
        if not self.project or not self._sources:
            return self
        made = variants_from(self.combinations, self.project, self._sources)
        return self._changed(self.cluster, made.diagnostics, made.variants)

    def with_cluster(self, cluster: Cluster, wrong: Sequence[Diagnostic]) -> Plan:
        """The same in another cluster, and what is *wrong* in the project besides."""
        return self._changed(cluster, wrong, self.variants)

    def _changed(self, cluster: Cluster, wrong: Sequence[Diagnostic], variants: Sequence[Variant]) -> Plan:
        path = self._files.project.path
        return Plan(
            [each.with_diagnostics(wrong) if each.path == path else each for each in self.results],
            self._files,
            cluster,
            project=self.project,
            sources=self._sources,
            output=self.output,
            remarks=self.remarks,
            combinations=self.combinations,
            variants=variants,
            engines=self.engines,
        )


class PlannedEngines:
    """The engines of a project, the folder of their objects, and where the rendered tree is in the repository."""

    __slots__ = ("declared", "folder", "path")

    def __init__(self, declared: Engines, folder: str, path: str) -> None:
        self.declared = declared
        self.folder = folder
        self.path = path


def plan(inputs: Inputs, files: Files) -> Plan:
    """Read a project with the overlays that it names. Raises JobspecError where its file holds anything else, too."""
    path = files.project.path
    project = read_project(files.project)
    if isinstance(project, FileResult):
        return Plan([project], files, Cluster())
    problems = [*project.wrong_releases(), *_wrong_outputs(project, files), *(project.engines.mistakes() if project.engines else ())]
    if problems:
        return Plan([FileResult(path, (), problems)], files, Cluster())
    setting = _setting(project, inputs)
    sources = Sources(files.read, setting.cluster)
    found = combinations_of(project, sources)
    results = setting.wrong or [FileResult(path, (), found.diagnostics)]
    output = files.output(project.output)
    return Plan(
        results,
        files,
        setting.cluster,
        project=project,
        sources=sources,
        output=output,
        remarks=setting.remarks,
        combinations=found.combinations,
        engines=_engines(project, files, output),
    )


def plan_with_contracts(inputs: Inputs, files: ProjectFiles, given: Mapping[str, Contract] | None = None) -> Plan:
    """The same, in a cluster that knows the contracts of images which the project declares, and those that are *given*."""
    from jobspec.commands.contracts import contracts_of

    planned = plan(inputs, files)
    if not planned.project or not (given or planned.project.contracts):
        return planned
    contracts, wrong = contracts_of(planned.project, files)
    return planned.with_cluster(planned.cluster.with_contracts({**contracts, **(given or {})}), wrong)


def _engines(project: Project, files: Files, output: str) -> PlannedEngines | None:
    """The engines of a project that has any."""
    engines = project.engines
    if not engines or not (engines.argocd or engines.flux):
        return None
    return PlannedEngines(engines, files.output(engines.output, output), files.in_repository(output))


def _setting(project: Project, inputs: Inputs) -> Setting:
    """The cluster of the project's releases, with the command line's kinds."""
    return load(
        Inputs(
            inputs.paths,
            targets=[f"{operator}={release}" for operator, release in project.wishes.items()],
            admission=inputs.admission,
            closed_world=inputs.closed_world,
            crds=inputs.crds,
            schema_locations=inputs.schema_locations,
        )
    )


def render_project(inputs: Inputs, path: str, *, only: Collection[str]) -> RenderedProject:
    """Render the project in a file; *only* some variants of it, where any are named. Raises JobspecError for unknown ones."""
    planned = plan_with_contracts(inputs, ProjectFiles(path))
    releases = planned.cluster.releases
    if not all(each.valid for each in planned.results):
        planned = planned.with_variants()  # what is wrong with them is told at once
        return RenderedProject(planned.results, read=planned.read, releases=releases)
    _require(only, planned.combinations)
    folders = tree_before(planned.combinations, planned.output)
    rendered = _rendered(planned, path, folders)
    chosen = [each for each in rendered if not only or each.name in only]
    tree = tree_of(each for each in rendered if each.checked.result.valid)
    earlier = {path: folders[each.name][path] for each in chosen for path in each.earlier}
    engines = None if only else planned.engines
    made = engine_tree(engines.declared, rendered, tree, earlier=earlier, path=engines.path) if engines else EngineTree({})
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
    """The tree before this render by folder and path, where a variant depends on it: by earlier runs that stay, or by a fixed name."""
    return before(output) if any(each.keeps_runs or not each.hashed for each in combinations) else {}


def _unchangeable(planned: Plan, rendered: Sequence[RenderedVariant], folders: Mapping[str, Mapping[str, bytes]]) -> list[Diagnostic]:
    """The warnings of changes that jobs under fixed names cannot take."""
    fixed = {each.name: each for each in planned.combinations if not each.hashed and each.name in folders}
    if not fixed:
        return []
    from jobspec.gitops.fixed_names import committed_before, unchangeable

    found = [(fixed[each.name], committed_before(each, folders[each.name])) for each in rendered if each.name in fixed]
    changed = [(combination, committed) for combination, committed in found if committed is not None]

    def warnings_of(each: tuple[Combination, bytes]) -> list[Diagnostic]:
        combination, committed = each
        variant = planned.variant(combination)
        return [] if isinstance(variant, list) else list(unchangeable(variant, committed, planned.cluster))

    warnings = how_to_run(changed)(changed, warnings_of)
    return [warning for each in warnings for warning in each]


def mistakes_of(planned: Plan, path: str, others: Collection[str]) -> list[Diagnostic]:
    """What is wrong with a project whose document is valid by itself, but for what is reported in *others* of the files."""
    found = [problem for each in planned.results for problem in each.diagnostics]
    return [each for each in found if each.mark.file == path or each.mark.file not in others]


def _wrong_outputs(project: Project, files: Files) -> Iterator[Diagnostic]:
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


def _rendered(planned: Plan, path: str, folders: Mapping[str, Mapping[str, bytes]]) -> list[RenderedVariant]:
    """The variants of a project rendered, of which *folders* has the files before; many are made and rendered in several processes."""

    def render_one(combination: Combination) -> RenderedVariant:
        variant = planned.variant(combination)
        if isinstance(variant, list):
            return refused_variant(combination.name, path, variant)
        return render_variant(variant.with_runs(folders.get(variant.name, {})), planned.cluster)

    return _judged(planned.combinations, render_one, planned.cluster)


def rendered_variants(variants: Sequence[Variant], cluster: Cluster) -> list[RenderedVariant]:
    """The variants of a project rendered; many of them are spread over processes."""

    def render_one(variant: Variant) -> RenderedVariant:
        return render_variant(variant, cluster)

    return _judged(variants, render_one, cluster)


def _judged(items: Sequence[T], render_one: Callable[[T], RenderedVariant], cluster: Cluster) -> list[RenderedVariant]:
    rendered = with_progress(items, render_one, how_to_run(items), done_to_each=("rendered", "variant"))
    return judged_together(rendered, cluster)


def result_of(path: str, planned: Plan, variants: Sequence[RenderedVariant], problems: Iterable[Diagnostic]) -> FileResult:
    """The result of a project: the objects of its variants, and each problem once, however many variants have it."""
    results = [each.checked.result for each in variants]
    said = [problem for each in planned.results for problem in each.diagnostics]
    found = [*said, *problems, *(problem for each in results for problem in each.diagnostics)]
    once = {(each.rule, str(each.mark), each.message): each for each in reversed(found)}
    return FileResult(path, [row for each in results for row in each.documents], list(once.values())[::-1])
