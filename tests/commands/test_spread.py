"""Work that is spread over processes."""

import os
from collections.abc import Callable

import pytest

from jobspec.commands import output as spreading
from jobspec.commands.output import spread


@pytest.fixture(autouse=True)
def two_processors(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spreading, "processors", lambda: 2)


def test_results_come_in_the_order_of_their_items_from_several_processes() -> None:
    found = spread(range(7), lambda number: (number, os.getpid()))
    assert [number for number, _ in found] == list(range(7))
    assert len({pid for _, pid in found}) == 2


def test_neighbours_are_worked_on_in_one_process() -> None:
    found = spread(range(165), lambda number: (number, os.getpid()))
    assert [number for number, _ in found] == list(range(165))
    rows = [{pid for _, pid in found[start : start + 10]} for start in range(0, 165, 10)]
    assert [len(row) for row in rows] == [1] * 17
    assert rows[0] != rows[1]
    assert rows[::2] == rows[:1] * 9


def test_the_first_item_is_worked_on_before_others_start() -> None:
    loaded: list[int] = []

    def work(number: int) -> list[int]:
        loaded.append(number)
        return loaded[:1]

    assert spread(range(7), work) == [[0]] * 7
    assert spread([], work) == []


def _fails(number: int) -> int:
    if number == 1:
        raise ValueError("no good")
    return number


@pytest.mark.parametrize(
    ("work", "error", "said"), [(_fails, ValueError, "no good"), (lambda number: lambda: number, AttributeError, "pickle")]
)
def test_what_ends_a_worker_is_reported(work: Callable[[int], object], error: type[Exception], said: str) -> None:
    with pytest.raises(error, match=said) as caught:
        spread(range(2), work)
    assert "In a worker process" in caught.value.__notes__[0]
