"""Case files: YAML with what is expected beside its cause.

    # target: trainer=2.1                     (in the first line, where the case is about other releases than the newest)
    replicaz: 1  # ~ unknown-field            (a rule, or several with commas between them)
    flags: {epochs: 1}  # ~ invalid-overlay: `epochs` is no flag     (a rule, and words of its message)

In cases of updates, a line `--- # becomes` separates the stored objects from their updates.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from jobspec.apis.releases import choose
from jobspec.diagnostics.diagnostic import Diagnostic
from jobspec.lint.catalogue import rules

_EXPECTATION = re.compile(r"# ~ ([a-z-]+(?:, [a-z-]+)*)(?:: ?(.*))?$")
_TARGET = re.compile(r"# target: (.*)")
_BECOMES = re.compile(r"^--- # becomes$\n", re.MULTILINE)
_RULES = rules().keys()


class Expectation(NamedTuple):
    """A diagnostic that a case wants: its line, its rule and words of its message."""

    line: int
    rule: str
    words: str


def target_of(text: str) -> Mapping[str, str]:
    """The releases that a case is about."""
    named = _TARGET.match(text)
    return choose(named[1].split() if named else [])


def expectations(text: str) -> list[Expectation]:
    """The expectations of a case, by line; a comment that begins like one and names no rule fails the test."""
    return sorted(each for number, line in enumerate(text.splitlines(), 1) if "# ~" in line for each in _of_line(number, line))


def _of_line(number: int, line: str) -> list[Expectation]:
    match = _EXPECTATION.search(line)
    assert match, f"line {number} has no expectation that can be read: {line}"
    names = match[1].split(", ")
    assert set(names) <= _RULES, f"line {number} expects a rule that there is not: {line}"
    return [Expectation(number, name, match[2] or "") for name in names]


def every_place(file: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The findings of a file in a JSON report, one for each of its places."""
    return [{**found, **place} for found in file["diagnostics"] for place in ({}, *found.get("related", ()))]


def states(text: str) -> tuple[str, str]:
    """The stored objects of a case and their updates, both on the lines that they have in the case."""
    before, after = _BECOMES.split(text)
    return before, "\n" * (before.count("\n") + 1) + after


def assert_reported(expected: Sequence[Expectation], found: Sequence[Diagnostic]) -> None:
    """Assert that each expectation has its own diagnostic, with a place and a message, and that there are no others."""
    reported = sorted((each.mark.line, each.rule, each.message) for each in found)
    assert [each[:2] for each in reported] == [each[:2] for each in expected], reported
    assert [(want, message) for want, (_, _, message) in zip(expected, reported, strict=True) if want.words not in message] == []
    assert all(each.mark.column and each.message for each in found)
