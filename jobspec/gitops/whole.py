"""A whole project from the text of its file: its variants, what they render to, and what is wrong with any of them."""

from __future__ import annotations

from jobspec import pipeline
from jobspec.cluster import Cluster
from jobspec.diagnostics import JobspecError, has_error
from jobspec.documents.reader import decode
from jobspec.gitops.project import Project
from jobspec.gitops.rendering import judged_together, render_variant
from jobspec.gitops.sources import Sources
from jobspec.gitops.tree import Tree, tree_of
from jobspec.gitops.variants import variants_of
from jobspec.kinds import PROJECT
from jobspec.results import FileResult

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from jobspec.diagnostics import Diagnostic
    from jobspec.gitops.engines.declared import Engines
    from jobspec.gitops.rendering import RenderedVariant
    from jobspec.gitops.sources import ReadFile


class Whole:
    """What a project renders to, and what is wrong with it."""

    __slots__ = ("diagnostics", "engines", "tree", "variants")

    def __init__(
        self,
        diagnostics: Sequence[Diagnostic],
        variants: Sequence[RenderedVariant] = (),
        tree: Tree | None = None,
        engines: Engines | None = None,
    ) -> None:
        self.diagnostics = diagnostics
        """What is wrong with the project, its bases and overlays, and with the tree; what is wrong with a variant is in the variant."""
        self.variants = variants
        self.tree = tree or Tree({})
        """The files of the variants' objects."""
        self.engines = engines
        """What syncs them, None where the project says nothing of it."""

    @property
    def valid(self) -> bool:
        """Whether nothing is wrong that keeps the project from being rendered."""
        return not has_error(self.diagnostics)


def project_in(source: pipeline.Source) -> Project | FileResult:
    """The project in a file, or what is wrong with the file. Raises JobspecError where it holds anything else, too."""
    checked = pipeline.checked(source, (), Cluster())
    if not checked.result.valid:
        return checked.result
    if [each.group_kind for each in checked.documents] != [PROJECT]:
        raise JobspecError(f"{source.name}: a project's file holds one document, the project")
    text = source.content if isinstance(source.content, str) else decode(source.content, source.name)
    assert isinstance(text, str)
    return Project(checked.documents[0], text)


def whole(source: pipeline.Source, read: ReadFile) -> Whole:
    """The project in a file, with the files that it names."""
    project = project_in(source)
    if isinstance(project, FileResult):
        return Whole(project.diagnostics)
    wrong = [*project.wrong_releases(), *(project.engines.mistakes() if project.engines else ())]
    if wrong:
        return Whole(wrong)
    cluster = Cluster(project.wishes)
    planned = variants_of(project, Sources(read, cluster))
    if not FileResult(source.name, (), planned.diagnostics).valid:
        return Whole(planned.diagnostics)
    variants = judged_together([render_variant(each, cluster) for each in planned.variants], cluster)
    tree = tree_of(each for each in variants if each.checked.result.valid)
    return Whole([*planned.diagnostics, *tree.diagnostics], variants, tree, project.engines)
