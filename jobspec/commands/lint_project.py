"""Lint a project: each variant as it renders, on the lines of the base or overlay that say so."""

from __future__ import annotations

from jobspec.commands.project import mistakes_in, plan
from jobspec.commands.project_files import ProjectFiles
from jobspec.gitops.rendering import documents_of
from jobspec.lint.linting import DEFAULT, lint
from jobspec.pipeline import Checked

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from jobspec.cluster import Cluster
    from jobspec.commands.inputs import Inputs
    from jobspec.diagnostics import Diagnostic
    from jobspec.gitops.variants import Variant
    from jobspec.lint.rule import Rule


def advice_on(path: str, inputs: Inputs, others: Collection[str], rules: Sequence[Rule] = DEFAULT) -> list[Diagnostic]:
    """What is wrong with a project whose document is valid by itself, and what lint finds in its variants, once however many have it.

    *others* are the files that are reported by themselves.
    """
    mistakes = mistakes_in(path, inputs, others)
    planned = plan(inputs, ProjectFiles(path))
    if not all(each.valid for each in planned.results):
        return mistakes
    found = (each for variant in planned.variants for each in _of_variant(variant, planned.cluster, rules))
    once = {
        (each.rule, str(each.mark), each.message if not each.mark.layer else ""): each
        for each in found
        if each.mark.file == path or each.mark.file not in others
    }
    return [*mistakes, *once.values()]


def _of_variant(variant: Variant, cluster: Cluster, rules: Sequence[Rule]) -> Iterator[Diagnostic]:
    """The errors of a variant, or what lint finds in its objects, which are a world of their own."""
    checked, objects = documents_of(variant, cluster)
    if not checked.result.valid:
        yield from checked.result.diagnostics
        return
    (result,) = lint([Checked(checked.result, list(objects.values()))], cluster.target, rules)
    yield from (each for each in result.diagnostics if each.stage == "lint")
