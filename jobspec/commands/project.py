"""A project's journey: its file, its variants, what they render to, and what is wrong with any of them."""

from __future__ import annotations

from jobspec.cluster import Cluster
from jobspec.commands.files import Found, content_of
from jobspec.commands.inputs import Inputs, load
from jobspec.commands.output import how_to_run, with_progress
from jobspec.commands.project_files import ProjectFiles
from jobspec.commands.rendered_tree import before
from jobspec.diagnostics import Diagnostic, JobspecError
from jobspec.gitops.engine_tree import EngineTree, engine_tree
from jobspec.gitops.project import Project
from jobspec.gitops.rendering import RenderedVariant, judged_together, render_variant
from jobspec.gitops.sources import Sources, Unreadable
from jobspec.gitops.tree import Tree, tree_of
from jobspec.gitops.variants import variants_of
from jobspec.gitops.whole import project_in
from jobspec.pipeline import Source
from jobspec.results import FileResult
from jobspec.validation.wording import closest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from jobspec.commands.inputs import Setting
    from jobspec.commands.ref_files import FilesAtRef
    from jobspec.contracts import Contract
    from jobspec.gitops.engines.declared import Engines
    from jobspec.gitops.tree import Files as TreeFiles
    from jobspec.gitops.variants import Variant

    Files = ProjectFiles | FilesAtRef


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

    __slots__ = ("cluster", "engines", "output", "project", "read", "remarks", "results", "variants")

    def __init__(
        self,
        results: Sequence[FileResult],
        read: Sequence[Found],
        cluster: Cluster,
        *,
        project: Project | None = None,
        output: str = "",
        remarks: Sequence[FileResult] = (),
        variants: Sequence[Variant] = (),
        engines: PlannedEngines | None = None,
    ) -> None:
        self.results = results
        """What is wrong with the project, its bases and overlays; with an error, there is nothing to render."""
        self.read = read
        """The files that it was read from."""
        self.cluster = cluster
        self.project = project
        """The project; None where there is nothing to render."""
        self.output = output
        """The path of the folder that it renders to."""
        self.remarks = remarks
        self.variants = variants
        self.engines = engines
        """The engines whose objects are written; None where there are none."""

    def with_cluster(self, cluster: Cluster, results: Sequence[FileResult]) -> Plan:
        """The same in another cluster, with other results."""
        return Plan(
            results,
            self.read,
            cluster,
            project=self.project,
            output=self.output,
            remarks=self.remarks,
            variants=self.variants,
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
    """Read a project with its bases and overlays. Raises JobspecError where its file holds anything else, too."""
    path, read = files.project.path, [files.project]
    project = read_project(files.project)
    if isinstance(project, FileResult):
        return Plan([project], read, Cluster())
    problems = [*project.wrong_releases(), *_wrong_outputs(project, files), *(project.engines.mistakes() if project.engines else ())]
    if problems:
        return Plan([FileResult(path, (), problems)], read, Cluster())
    setting = _setting(project, inputs)
    found = variants_of(project, Sources(files.read, setting.cluster))
    results = setting.wrong or [FileResult(path, (), found.diagnostics)]
    output = files.output(project.output)
    return Plan(
        results,
        [*read, *files.found],
        setting.cluster,
        project=project,
        output=output,
        remarks=setting.remarks,
        variants=found.variants,
        engines=_engines(project, files, output),
    )


def plan_with_contracts(inputs: Inputs, files: ProjectFiles, given: Mapping[str, Contract] | None = None) -> Plan:
    """The same, in a cluster that knows the contracts of images which the project declares, and those that are *given*."""
    from jobspec.commands.contracts import contracts_of

    planned = plan(inputs, files)
    if not planned.project or not (given or planned.project.contracts):
        return planned
    contracts, wrong = contracts_of(planned.project, files)
    results = [*planned.results, *([FileResult(files.project.path, (), wrong)] if wrong else [])]
    return planned.with_cluster(planned.cluster.with_contracts({**contracts, **(given or {})}), results)


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
        return RenderedProject(planned.results, read=planned.read, releases=releases)
    _require(only, planned.variants)
    folders = tree_before(planned.variants, planned.output)
    variants = [each.with_runs(folders.get(each.name, {})) for each in planned.variants]
    rendered = rendered_variants(variants, planned.cluster)
    chosen = [each for each in rendered if not only or each.name in only]
    tree = tree_of(each for each in rendered if each.checked.result.valid)
    earlier = {path: folders[each.name][path] for each in chosen for path in each.earlier}
    engines = None if only else planned.engines
    made = engine_tree(engines.declared, rendered, tree, earlier=earlier, path=engines.path) if engines else EngineTree({})
    fixed = _unchangeable(variants, chosen, folders, planned.cluster)
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


def tree_before(variants: Sequence[Variant], output: str) -> dict[str, dict[str, bytes]]:
    """The tree before this render by folder and path, where a variant depends on it: by earlier runs that stay, or by a fixed name."""
    return before(output) if any(each.history or not each.hashed for each in variants) else {}


def _unchangeable(
    variants: Sequence[Variant], rendered: Sequence[RenderedVariant], folders: dict[str, dict[str, bytes]], cluster: Cluster
) -> list[Diagnostic]:
    """The warnings of changes that jobs under fixed names cannot take."""
    fixed = {each.name: each for each in variants if not each.hashed and each.name in folders}
    if not fixed:
        return []
    from jobspec.gitops.fixed_names import committed_before, unchangeable

    found = [(fixed[each.name], committed_before(each, folders[each.name])) for each in rendered if each.name in fixed]
    changed = [(variant, committed) for variant, committed in found if committed is not None]

    def warnings_of(each: tuple[Variant, bytes]) -> list[Diagnostic]:
        variant, committed = each
        return list(unchangeable(variant, committed, cluster))

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


def _require(names: Collection[str], variants: Sequence[Variant]) -> None:
    known = [each.name for each in variants]
    for name in names:
        if name not in known:
            raise JobspecError(
                f"--only {name}: {closest(name, known) or f'the project has no variant of this name, but {len(known)} others'}"
            )


def rendered_variants(variants: Sequence[Variant], cluster: Cluster) -> list[RenderedVariant]:
    """The variants of a project rendered; many of them are spread over processes."""

    def render_one(variant: Variant) -> RenderedVariant:
        return render_variant(variant, cluster)

    rendered = with_progress(variants, render_one, how_to_run(variants), done_to_each=("rendered", "variant"))
    return judged_together(rendered, cluster)


def result_of(path: str, planned: Plan, variants: Sequence[RenderedVariant], problems: Iterable[Diagnostic]) -> FileResult:
    """The result of a project: the objects of its variants, and each problem once, however many variants have it."""
    results = [each.checked.result for each in variants]
    said = [problem for each in planned.results for problem in each.diagnostics]
    found = [*said, *problems, *(problem for each in results for problem in each.diagnostics)]
    once = {(each.rule, str(each.mark), each.message): each for each in reversed(found)}
    return FileResult(path, [row for each in results for row in each.documents], list(once.values())[::-1])
