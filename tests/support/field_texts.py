"""Texts for the fields of a kind, from a file of `tests/cases/mutants`; a hole in one, `<name>`, takes any text of the pool `name`."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from random import Random

import yaml

from tests.support.reference import ROOT

_HOLE = re.compile(r"<([a-z ]+)>")


@dataclass(frozen=True)
class FieldTexts:
    """What a manifest of a kind can be made of."""

    good: dict[str, str]
    """The fields of a good specification."""
    fields: dict[str, list[str]]
    metadata: list[str]
    pools: dict[str, list[str]]
    status: Sequence[str] = ()

    def spec(self, changed: Iterable[str], random: Random) -> dict[str, str]:
        """The good specification after some of its fields got any of their texts."""
        return {**self.good, **{field: self.filled(self.fields[field], random) for field in changed}}

    def filled(self, texts: Sequence[str], random: Random) -> str:
        """One of some texts, with its holes filled."""
        return _HOLE.sub(lambda hole: self.filled(self.pools[hole[1]], random), random.choice(texts))


def field_texts(name: str) -> FieldTexts:
    """The texts of a file."""
    return FieldTexts(**yaml.load((ROOT / "tests" / "cases" / "mutants" / f"{name}.yaml").read_text(), yaml.CSafeLoader))
