"""PersistentVolumeClaims at random, whose fields hold any of their texts: `validate` and a server say the same to them."""

import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from random import Random

import yaml

from jobspec.cluster import Cluster
from jobspec.diagnostics import Diagnostic
from jobspec.targets import choose
from tests.hunt.finds import Find
from tests.support.checking import result
from tests.support.reference import ROOT
from tests.support.server import Server

_TEXTS = yaml.safe_load((ROOT / "tests" / "cases" / "mutants" / "claims.yaml").read_text())
_HOLE = re.compile(r"<([a-z ]+)>")


def finds(server: Server, random: Random, folder: Path, *, count: int = 800) -> Iterator[Find]:
    """The claims on which a server and we disagree."""
    texts = [_claim(random) for _ in range(count)]
    with ThreadPoolExecutor(6) as pool:
        answers = pool.map(lambda text: server.judge("PersistentVolumeClaim", text), texts)
        for text, answer in zip(texts, answers, strict=True):
            found = errors(text, folder / "claim.yaml")
            if answer.accepted != (not found):
                yield Find(text, str(found), str(answer), "control-plane", answer.accepted)


def errors(text: str, file: Path) -> list[Diagnostic]:
    """What we have against a claim."""
    file.write_text(text)
    return list(result(file, Cluster(choose([]))).diagnostics)


def _claim(random: Random) -> str:
    """A good claim after some of its fields got any of their texts, or were left out."""
    changed = random.sample(list(_TEXTS["fields"]), random.choice((0, 1, 1, 1, 2, 3)))
    spec = {**_TEXTS["good"], **{field: _filled(_TEXTS["fields"][field], random) for field in changed}}
    if "dataSource" in changed and random.random() < 0.3:
        spec["dataSourceRef"] = spec["dataSource"]
    if random.random() < 0.1:
        del spec[random.choice(list(spec))]
    metadata = _filled(_TEXTS["metadata"], random) if random.random() < 0.2 else "labels: {}"
    status = f"status: {_filled(_TEXTS['status'], random)}\n" if random.random() < 0.1 else ""
    head = f"apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {{name: a, {metadata}}}\nspec:\n"
    return head + "".join(f"  {field}: {value}\n" for field, value in spec.items()) + status


def _filled(pool: list[str], random: Random) -> str:
    """One of the pool's texts, with its holes filled."""
    return _HOLE.sub(lambda hole: _filled(_TEXTS["pools"][hole[1]], random), random.choice(pool))
