"""The reader of case files fails on everything that is not as the case says."""

import pytest

from jobspec.diagnostics.diagnostic import Diagnostic
from jobspec.diagnostics.places import Mark
from tests.support.cases import assert_reported, expectations, states

_CASE = "kind: A  # ~ unknown-kind: no kind, missing-field\nspec: 1  # ~ wrong-type, missing-field\n"
_LINES = [(1, "unknown-kind"), (2, "wrong-type"), (2, "missing-field")]


def _diagnostics(lines: list[tuple[int, str]], message: str = "`A` is no kind, missing-field") -> list[Diagnostic]:
    return [Diagnostic(rule, message, Mark("a.yaml", line, 1)) for line, rule in lines]


def test_what_is_expected_is_taken_in_any_order() -> None:
    assert_reported(expectations(_CASE), _diagnostics(_LINES[::-1]))


@pytest.mark.parametrize("found", [_LINES[1:], [*_LINES, _LINES[0]], [*_LINES, (1, "wrong-type")], [(2, "unknown-kind"), *_LINES[1:]], []])
def test_silence_and_more_than_expected_fail(found: list[tuple[int, str]]) -> None:
    with pytest.raises(AssertionError):
        assert_reported(expectations(_CASE), _diagnostics(found))


def test_other_words_fail() -> None:
    with pytest.raises(AssertionError):
        assert_reported(expectations(_CASE), _diagnostics(_LINES, "something else"))


@pytest.mark.parametrize(
    "comment", ["# ~ Wrong-Type", "# ~ no-such-rule", "# ~ ", "# ~ wrong-type and more", "# ~ wrong-type,missing-field"]
)
def test_an_expectation_that_says_nothing_fails(comment: str) -> None:
    with pytest.raises(AssertionError):
        expectations(f"a: 1  {comment}\n")


def test_what_an_object_becomes_stands_on_its_lines_in_the_case() -> None:
    assert states("a: 1\n--- # becomes\na: 2\n") == ("a: 1\n", "\n\na: 2\n")
