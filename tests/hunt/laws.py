"""The laws of overlays, over worlds that are drawn with other seeds than those of the tests."""

import copy
import json
from collections.abc import Iterator
from random import Random
from typing import Any

from hypothesis import given, seed, settings
from hypothesis import strategies as st

from tests.hunt.finds import Find
from tests.overlays.test_overlay_laws import LAWS, WORLDS, World


class _Recorder:
    """Draws as Hypothesis does, and keeps what was drawn."""

    def __init__(self, drawing: st.DataObject) -> None:
        self.drawn: list[Any] = []
        self._drawing = drawing

    def draw(self, strategy: st.SearchStrategy[Any]) -> Any:
        value = self._drawing.draw(strategy)
        self.drawn.append(copy.deepcopy(value))
        return value


class _Again:
    """Draws what was drawn before."""

    def __init__(self, drawn: list[Any]) -> None:
        self._left = iter(drawn)

    def draw(self, _: st.SearchStrategy[Any]) -> Any:
        return next(self._left)


def finds(random: Random) -> Iterator[Find]:
    """For each law and world, the last example on which the law does not hold."""
    for name in LAWS:
        for world in WORLDS:
            yield from _finds(name, world, random.randrange(1 << 32))


def _finds(name: str, world: World, number: int) -> Iterator[Find]:
    last: list[_Recorder] = []

    @seed(number)
    @settings(world.law, database=None, print_blob=False)
    @given(st.data())
    def holds(drawing: st.DataObject) -> None:
        last[:] = [_Recorder(drawing)]
        LAWS[name](world, last[0])  # type: ignore[arg-type]

    try:
        holds()
    except Exception as error:
        example = {"law": name, "world": world.name, "drawn": last[0].drawn}
        yield Find(json.dumps(example, indent=1), f"{type(error).__name__}: {error}"[:600], "the law")


def difference(text: str) -> str:
    """What an example that was kept has against its law; empty where the law holds."""
    example = json.loads(text)
    (world,) = (each for each in WORLDS if each.name == example["world"])
    try:
        LAWS[example["law"]](world, _Again(example["drawn"]))  # type: ignore[arg-type]
    except AssertionError as error:
        return str(error) or "it does not hold"
    return ""
