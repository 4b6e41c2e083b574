"""Fixes in files: `--fix` writes them, `--diff` shows them; candidates are checked before one is taken."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from jobspec.diagnostics.diagnostic import Diagnostic
from jobspec.diagnostics.errors import JobspecError
from jobspec.diagnostics.wording import counted
from jobspec.documents.atomic_writes import Replacement, replace_files
from jobspec.documents.decoding import decode
from jobspec.documents.document import PAGES
from jobspec.documents.markdown import kept, page_of
from jobspec.journey.checking import TextFile
from jobspec.journey.journey import Journey, travel
from jobspec.journey.steps import Checked, Source
from jobspec.lint.ignores import ReportFilter
from jobspec.project.tree import differences
from jobspec.session.choosing import wanted
from jobspec.session.finding import find_for
from jobspec.session.fixes import FixedText, fix_texts
from jobspec.session.found import STDIN, Found, skips_unknown
from jobspec.session.inputs import RunContext
from jobspec.session.judging import with_advice
from jobspec.session.options import Options
from jobspec.session.processes import with_progress
from jobspec.session.project import plans_in
from jobspec.session.reading import content_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from jobspec.lint.topics import Chosen


@dataclass(frozen=True, slots=True)
class FixedFile:
    """A file before and after its fixes."""

    found: Found
    before: str
    after: FixedText


def fix_files(options: Options, run_context: RunContext, settings: ReportFilter | None, chosen: Chosen | None) -> bool:
    """Write the fixes of manifests, or show them (*diff*); whether any are shown, which are all that is printed then.

    What *settings* and comments ignore is not fixed. Candidates are linted by the *chosen* rules if there are any, and judged with what
    becomes of accepted jobs if the command reports that.
    """
    if options.helm:
        raise JobspecError("--fix and --diff cannot be combined with --helm")
    if options.overlay:
        raise JobspecError("--fix and --diff cannot be combined with --overlay")
    found = files_to_fix(options, run_context, settings)
    if not options.diff and any(each.path == STDIN for each in found):
        raise JobspecError("--fix cannot write standard input; --diff shows the fixes")
    checker = CandidateChecker(found, run_context, chosen, options)
    fixed = fixed_files(found, checker, settings, lambda _, each: options.unsafe_fixes or each.has_safe_fix)
    changed = {each.found.path: Replacement(each.before.encode(), each.after.text.encode()) for each in fixed}
    changed = {path: each for path, each in changed.items() if each.before != each.after}
    if options.diff:
        show(changed)
    elif changed:
        replace_files(changed)
    if sys.stderr:
        _tell(fixed, done="would be fixed" if options.diff else "fixed")
    return bool(options.diff and changed)


def safe_fixes(
    found: Sequence[Found],
    checker: CandidateChecker,
    settings: ReportFilter | None,
    is_asked: Callable[[str], bool] = lambda _: True,
) -> str:
    """Return the safe fixes of files as a diff that `git apply` takes.

    No file is written. *is_asked*: whether a file is to be fixed.
    """
    fixed = fixed_files(found, checker, settings, lambda path, each: each.has_safe_fix and is_asked(path))
    return "".join(diff_lines({each.found.path: Replacement(each.before.encode(), each.after.text.encode()) for each in fixed}))


def files_to_fix(options: Options, run_context: RunContext, settings: ReportFilter | None) -> list[Found]:
    """Return the manifests of a command line that no build makes."""
    found = find_for(options, settings, encrypted=True)
    given = {each.path for each in found}
    files, _ = plans_in(found, options, run_context.cluster.contracts)
    return [each for each in files if each.path in given and not (each.in_build and each.in_build.role)]


def fixed_files(
    found: Sequence[Found],
    judge: CandidateChecker,
    settings: ReportFilter | None,
    is_wanted: Callable[[str, Diagnostic], bool] = lambda *_: True,
) -> list[FixedFile]:
    """Return the files that have anything to fix, with their fixes.

    *is_wanted*: whether a diagnostic of a file is to be fixed.
    """
    before = {each.path: (each, text) for each in found if isinstance(text := decode(content_of(each), each.path), str)}
    texts = {path: kept(text) if path.endswith(PAGES) else text for path, (_, text) in before.items()}

    def choose(path: str, text: str, said: Sequence[Diagnostic]) -> Sequence[Diagnostic]:
        chosen = wanted(said, path, page_of(text) if path.endswith(PAGES) else text, settings)
        return [each for each in chosen if is_wanted(path, each)]

    after = fix_texts(texts, judge, choose)
    pages = {path: replace(each, text=page_of(each.text)) for path, each in after.items() if path.endswith(PAGES)}
    return [FixedFile(*before[path], pages.get(path, each)) for path, each in after.items() if each.has_any]


def _tell(fixed: Sequence[FixedFile], *, done: str) -> None:
    for each in fixed:
        if number := len(each.after.done):
            sys.stderr.write(f"{each.found.path}: {counted(number, 'problem')} {done}\n")
        for diagnostic in each.after.refused:
            sys.stderr.write(f"{diagnostic.mark}: not {done}, fix it by hand [{diagnostic.rule}]\n")


# Files that a command gives new contents: shown as a diff, or all written or none.


def show(changed: Mapping[str, Replacement]) -> None:
    """Print what changes in files, by their paths, as a diff that `git apply` takes in the current folder."""
    sys.stdout.writelines(diff_lines(changed))
    sys.stdout.flush()


def diff_lines(changed: Mapping[str, Replacement]) -> Iterator[str]:
    """Yield the lines of a diff that `git apply` takes in the current folder."""
    named = {_in_diff(path): each for path, each in changed.items() if each.before != each.after}
    yield from differences({name: each.before for name, each in named.items()}, {name: each.after for name, each in named.items()})


def _in_diff(path: str) -> str:
    """The file that a path leads to, as from the current folder, or, where it lies elsewhere, as from the root."""
    if path == STDIN:
        return path
    whole = os.path.realpath(path) if os.path.isfile(path) else os.path.abspath(path)
    name = os.path.relpath(whole)
    return whole.lstrip(os.sep) if name.split(os.sep)[0] == os.pardir else name


# Judge candidates: files with other texts. Each text is checked once, and a file is judged among all the others.


class CandidateChecker:
    """Judges files with the texts that they would have."""

    def __init__(self, found: Sequence[Found], run_context: RunContext, chosen: Chosen | None, options: Options) -> None:
        self._found = {each.path: each for each in found}
        self._run_context = run_context
        self._chosen = chosen
        self._options = options
        self._checked: dict[tuple[str, str | bytes], Checked] = {}

    def __call__(self, texts: Mapping[str, str], about: Collection[str]) -> dict[str, Sequence[Diagnostic]]:
        """All diagnostics of some files, given the texts of all files."""
        files = [self._file(*each) for each in texts.items()]
        world = self._run_context.cluster

        def run(items: Sequence[Any], work: Callable[[Any], Checked]) -> list[Checked]:
            # Files that are read once more for their objects, or that meet another world, are not to be kept.
            if not all(isinstance(each, tuple) and each[1] is world for each in items):
                return with_progress(items, work)
            keys = [(each.source.name, each.source.content) for each, _ in items]
            new = {key: item for key, item in zip(keys, items, strict=True) if key not in self._checked}
            self._checked.update(zip(new, with_progress(list(new.values()), work), strict=True))
            return [self._checked[key] for key in keys]

        resolved = travel(Journey(files, world, outcome=self._options.outcome, spread=run))
        results = with_advice(resolved, world, self._chosen, about=about)
        return {each.path: each.diagnostics for each in results if each.path in about}

    def _file(self, path: str, text: str) -> TextFile:
        return TextFile(Source(path, text, skip_unknown=self._options.skip_unknown or skips_unknown(self._found[path])))
