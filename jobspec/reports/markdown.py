"""The Markdown report: a table of what was found, for the text of a pull request."""

from __future__ import annotations

from jobspec.results import coverage

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from jobspec.diagnostics import Diagnostic
    from jobspec.results import FileResult


def report(files: Sequence[FileResult], releases: Mapping[str, str]) -> str:
    """The whole report."""
    return "".join(f"{line}\n" for line in _lines(files, releases))


def _lines(files: Sequence[FileResult], releases: Mapping[str, str]) -> Iterator[str]:
    found = [each for file in files for each in file.diagnostics]
    if found:
        yield "| where | what | rule |"
        yield "|---|---|---|"
        yield from map(_row, found)
        yield ""
    yield _escaped(coverage(files, releases))


def _row(each: Diagnostic) -> str:
    hint = f" ({each.hint})" if each.hint else ""
    return f"| {_escaped(str(each.mark))} | {_escaped(f'{each.message}{hint}')} | {each.rule} |"


def _escaped(text: str) -> str:
    """Text in one line in which nothing but backticks means anything to Markdown; between these, only the table's own bar does."""
    parts = " ".join(text.replace("|", "\\|").split()).split("`")
    return "`".join(part if number % 2 else _plain(part) for number, part in enumerate(parts))


def _plain(text: str) -> str:
    for character in ("<", "*", "_"):
        text = text.replace(character, f"\\{character}")
    return text
