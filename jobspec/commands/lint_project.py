"""Lint a project: each variant as it renders, on the lines of the base or overlay that say so."""

from __future__ import annotations

from jobspec.commands.project import mistakes_of, plan_with_contracts
from jobspec.commands.project_files import ProjectFiles
from jobspec.gitops.rendering import documents_of
from jobspec.lint.linting import DEFAULT, lint
from jobspec.pipeline import Checked, foresee

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from jobspec.cluster import Cluster
    from jobspec.commands.inputs import Inputs
    from jobspec.contracts import Contract
    from jobspec.diagnostics import Diagnostic
    from jobspec.gitops.variants import Variant
    from jobspec.lint.rule import Rule


def advice_on(
    path: str, inputs: Inputs, others: Collection[str], rules: Sequence[Rule] = DEFAULT, contracts: Mapping[str, Contract] | None = None
) -> list[Diagnostic]:
    """What is wrong with a project whose document is valid by itself, and what becomes of its variants and bites in them.

    Each is told once, however many variants have it. *others* are the files that are reported by themselves; *contracts*: of images,
    besides those that the project declares.
    """
    planned = plan_with_contracts(inputs, ProjectFiles(path), contracts)
    mistakes = mistakes_of(planned, path, others)
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
    """The errors of a variant, or what becomes of its objects and bites in them, which are a world of their own."""
    checked, objects = documents_of(variant, cluster)
    if not checked.result.valid:
        yield from checked.result.diagnostics
        return
    foreseen = foresee(Checked(checked.result, list(objects.values()), checked.objects), cluster)
    (result,) = lint([foreseen], cluster.target, rules)
    yield from (each for each in result.diagnostics if each.stage in ("outcome", "lint"))
