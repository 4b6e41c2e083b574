"""The manifests that a live server and `validate` are asked about: those of others, our own, and mutants of both."""

import re
import textwrap
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from random import Random

from jobspec.apis.kinds import MODELS
from jobspec.schemas import shapes
from tests.support.mutants import Change, can_be_read
from tests.support.reference import ROOT, folder
from tests.support.server import PLURALS

VERSIONS = {kind: version for version, kind in MODELS if kind in PLURALS}
_KIND = re.compile(rf"^kind: *[\"']?({'|'.join(VERSIONS)})[\"']? *(?:#.*)?$", re.MULTILINE)
_START = re.compile(r"^(?=---(?:\s|$))", re.MULTILINE)
_LONGEST = 6000  # characters of what is mutated

#: A quantity with which a server needs minutes, where Go code looks at it.
ENDLESS = re.compile(r"\d[eE][+-]?\d{7}")


@dataclass(frozen=True)
class Case:
    """One document in its own text, and the kind that it is sent as."""

    name: str
    kind: str
    text: str


@cache
def of_projects() -> list[Case]:
    """The manifests of real projects, and the probes."""
    named = sorted(folder("golden", "probes").rglob("*.yaml"))
    walked = sorted(each for part in ("manifests", "companions") for each in folder("corpus", part).rglob("*.y*ml"))
    return [*_documents(named), *_documents(walked)]


@cache
def our_own() -> list[Case]:
    """The cases of `validate`."""
    return list(_documents(sorted((ROOT / "tests" / "cases" / "validate").glob("*.yaml"))))


def of_web_pages() -> list[Case]:
    """What stands on web pages: blocks that begin like a manifest and go on as long as they stand as deep."""
    cases = []
    for page in sorted(folder("seeds").glob("*.txt")):
        text = page.read_text()
        for start in re.finditer(r"^( *)apiVersion:.*\n(?:(?:\1.*| *)\n)*", text, re.MULTILINE):
            block = textwrap.dedent(start[0])
            cases += [Case(f"{page.name}@{start.start()}", found[1], block) for found in [_KIND.search(block)] if found]
    return cases


def _documents(paths: Iterable[Path]) -> Iterator[Case]:
    """The documents of files that are, or were meant to be, of a kind that jobspec has a schema of."""
    for path in paths:
        for number, text in enumerate(_START.split(path.read_text())):
            found = _KIND.search(text)
            if found:
                yield Case(f"{path.name}[{number}]", found[1], re.sub(r"\A---.*\n", "", text))


def mutants(
    bases: list[Case], change: Change, count: int, *, target: Mapping[str, str], random: Random, endless: Collection[str]
) -> Iterator[Case]:
    """Random changes of manifests, as many of each kind; quantities without end are left out where code of Go meets them."""
    by_kind = {
        kind: [base for base in bases if base.kind == kind and len(base.text) < _LONGEST and can_be_read(base.text)] for kind in VERSIONS
    }
    for number in range(count):
        kind = random.choice([kind for kind in by_kind if by_kind[kind]])
        base = random.choice(by_kind[kind])
        shape = shapes.load(VERSIONS[kind], kind, target)
        assert shape
        text = change(base.text, shape, random)
        if kind not in endless or not ENDLESS.search(text):
            yield Case(f"{base.name} changed {change.__name__}, number {number}", kind, text)
