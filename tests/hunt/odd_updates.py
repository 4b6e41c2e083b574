"""Updates of objects that no server would store: each ends in a report, and never in an error of our own.

What an update leaves alone may be wrong, and then webhooks and rules meet values that their schema does not take.
"""

import json
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

from jobspec.apis import kinds
from jobspec.apis.releases import OPERATORS, RELEASES, choose
from jobspec.documents.document import Document
from jobspec.documents.reader import read
from jobspec.schemas import shapes
from jobspec.world.world import Cluster, StoredObjects
from tests.hunt.finds import Find, bug
from tests.support import crd_documents
from tests.support.cases import states, target_of
from tests.support.checking import result
from tests.support.mutants import mutant
from tests.support.reference import ROOT

_FOLDERS = ("validate", "admission", "updates", "kueue")
_START = re.compile(r"^---.*\n", re.MULTILINE)


def finds(random: Random, folder: Path, *, count: int = 300) -> Iterator[Find]:
    """The updates that end in an error of our own."""
    bases = _bases()
    for _ in range(count):
        text = _update(bases[random.choice(sorted(bases))], bases["TrainingRuntime"], random)
        if said := difference(text, folder):
            yield Find(text, said, "a report")


def difference(text: str, folder: Path) -> str:
    """The error in which a case of an update ends; empty where it ends in a report."""
    before, after = states(text)
    (folder / "new.yaml").write_text(after)
    try:
        result(folder / "new.yaml", Cluster(target_of(text), stored=StoredObjects(_documents(before))))
    except Exception:
        return bug()
    return ""


@cache
def _bases() -> dict[str, list[str]]:
    """The cases of each kind that has a schema, one document each."""
    paths = sorted(path for part in _FOLDERS for path in (ROOT / "tests" / "cases" / part).glob("*.yaml"))
    texts = [text for path in paths for text in _START.split(path.read_text())]
    texts += [json.dumps(definition) for definition, _ in crd_documents.cases()]
    known = {kind.name for kind in kinds.with_model()} - {"Cluster", "Overlay", "Prices"}  # which are no objects of a server
    found: dict[str, list[str]] = {kind: [] for kind in known}
    for text in texts:
        for document in _documents(text):
            if document.kind in known and shapes.load(document.api_version, document.kind, choose([])):
                found[document.kind].append(text)
    return found


def _documents(text: str) -> list[Document]:
    """The documents of a text; none where it has a mistake of YAML."""
    found, problems = read(text, file="text.yaml")
    return [] if problems else found


def _update(bases: list[str], runtimes: list[str], random: Random) -> str:
    """An object after some changes, and what becomes of it: itself after a few more, or another one; beside it a runtime that stays."""
    target = [f"{operator}={random.choice(list(RELEASES[operator]))}" for operator in OPERATORS]
    runtime = _changed(random.choice(runtimes), random.choice((0, 1, 3)), random)
    old = _changed(random.choice(bases), random.choice((0, 1, 3, 9)), random)
    new = _changed(old if random.random() < 0.8 else random.choice(bases), random.choice((0, 1, 1, 2)), random)
    before, after = (f"{_named(runtime)}---\n{_named(text)}" for text in (old, new))
    return f"# target: {' '.join(target)}\n{before}--- # becomes\n{after}"


def _changed(text: str, times: int, random: Random) -> str:
    """A manifest after as many changes, those left out that it cannot be read after."""
    for _ in range(times):
        (document,) = _documents(text)
        shape = shapes.load(document.api_version, document.kind, choose([]))
        changed = mutant(text, shape, random) if shape else text
        found = _documents(changed)
        if found and isinstance(found[0].data, dict):
            text = json.dumps(found[0].data, ensure_ascii=False)
    return text


def _named(text: str) -> str:
    """A manifest as JSON, under the name that all have: one is an update of another, and a job's runtime is the one beside it."""
    (document,) = _documents(text)
    data: dict[str, Any] = {**document.data}
    if isinstance(data.get("metadata"), dict):
        data["metadata"] = {**data["metadata"], "name": "a"}
    if document.kind == "TrainJob" and isinstance(data.get("spec"), dict):
        data["spec"] = {**data["spec"], "runtimeRef": {"name": "a", "kind": "TrainingRuntime"}}
    return json.dumps(data, ensure_ascii=False) + "\n"
