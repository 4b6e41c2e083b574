"""Lint a project: each variant as it renders, on the lines of the base or overlay that say so."""

from __future__ import annotations

import os

from jobspec.gitops.rendering import documents_of
from jobspec.lint.linting import lint
from jobspec.pipeline import Checked, foresee

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from jobspec.cluster import Cluster
    from jobspec.commands.project import Plan
    from jobspec.diagnostics import Diagnostic
    from jobspec.gitops.variants import Variant
    from jobspec.lint.rule import Rule


def advice_on(planned: Plan, told: Iterable[Diagnostic], chosen: Callable[[Rule], bool]) -> Iterator[Diagnostic]:
    """What becomes of a project's variants, and what bites in them: once however many have it, but for what is *told* of files already."""
    if not all(each.valid for each in planned.results):
        return
    of_files, of_variants = set(map(_place, told)), set()
    for variant in planned.variants:
        for each in _of_variant(variant, planned.cluster, chosen):
            identity = (*_place(each), "" if each.mark.layer else each.message)
            if _place(each) not in of_files and identity not in of_variants:
                of_variants.add(identity)
                yield each


def _place(each: Diagnostic) -> tuple[str, str, int, int]:
    return each.rule, os.path.normpath(each.mark.file), each.mark.line, each.mark.column


def _of_variant(variant: Variant, cluster: Cluster, chosen: Callable[[Rule], bool]) -> Iterator[Diagnostic]:
    """The errors of a variant, or what becomes of its objects and bites in them, which are a world of their own."""
    checked, objects = documents_of(variant, cluster)
    if not checked.result.valid:
        yield from checked.result.diagnostics
        return
    foreseen = foresee(Checked(checked.result, list(objects.values()), checked.objects), cluster)
    (result,) = lint([foreseen], cluster.target, chosen)
    yield from (each for each in result.diagnostics if each.stage in ("outcome", "lint"))
