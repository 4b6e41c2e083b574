"""A whole project from the text of its file: its variants, what they render to, and what is wrong with any of them."""

from __future__ import annotations

from jobspec import pipeline
from jobspec.cluster import Cluster
from jobspec.documents.text import decode
from jobspec.gitops.project import Project
from jobspec.gitops.rendering import render_variant
from jobspec.gitops.sources import Sources
from jobspec.gitops.tree import Tree, tree_of
from jobspec.gitops.variants import variants_of
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
        return all(each.severity != "error" for each in self.diagnostics)


def whole(source: pipeline.Source, read: ReadFile) -> Whole:
    """The project in a file, with the files that it names."""
    found = pipeline.checked(source, (), Cluster())
    text = decode(source.content if isinstance(source.content, bytes) else source.content.encode(), source.name)
    if not found.result.valid or not isinstance(text, str):
        return Whole(found.result.diagnostics)
    project = Project(found.documents[0], text)
    wrong = [*project.wrong_releases(), *(project.engines.mistakes() if project.engines else ())]
    if wrong:
        return Whole(wrong)
    cluster = Cluster(project.wishes)
    planned = variants_of(project, Sources(read, cluster))
    if not FileResult(source.name, (), planned.diagnostics).valid:
        return Whole(planned.diagnostics)
    rendered = [render_variant(each, cluster) for each in planned.variants]
    checked = pipeline.resolve([each.checked for each in rendered], cluster)
    variants = [each.with_checked(answer) for each, answer in zip(rendered, checked, strict=True)]
    tree = tree_of(each for each in variants if each.checked.result.valid)
    return Whole([*planned.diagnostics, *tree.diagnostics], variants, tree, project.engines)
