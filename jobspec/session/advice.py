"""Lint checked files if rules of lint are asked for."""

from __future__ import annotations

from jobspec.session.processes import how_to_run
from jobspec.session.progress import with_progress

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from jobspec.diagnostics.results import FileResult
    from jobspec.diagnostics.rules import Rule
    from jobspec.journey.steps import Checked
    from jobspec.session.processes import R, Run, T
    from jobspec.world.world import Cluster


def with_advice(
    files: Sequence[Checked],
    world: Cluster,
    rules: Sequence[Rule] | None,
    *,
    about: Collection[str] | None = None,
    run: Run | None = None,
) -> list[FileResult]:
    """Return the results of files with the findings of *rules*, or without any if *rules* is None.

    *about*: the paths of the files that are linted among the others; None lints all. *run*: how the files are gone through.
    """
    if rules is None:
        return [each.result for each in files]
    from jobspec.lint.linting import lint

    asked = files if about is None else [each for each in files if each.result.path in about]

    def shown(items: Sequence[T], work: Callable[[T], R]) -> list[R]:
        return with_progress(items, work, run=how_to_run(asked), done_to_each=("linted", "file"))

    return lint(files, world, rules, run=run or shown, only=about)
