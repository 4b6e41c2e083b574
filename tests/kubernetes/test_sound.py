"""What is made of an accepted object is checked where it differs, and the answer is the same as if all of it were."""

import json
from pathlib import Path
from random import Random
from typing import Any

import pytest

from jobspec.cluster import Cluster
from jobspec.documents.document import Document
from jobspec.documents.reader import read
from jobspec.kubernetes.verdict import marked_valid, verdict
from jobspec.pipeline import judge
from jobspec.schemas.shapes import load
from jobspec.targets import choose
from tests.support.pod_mutants import changed
from tests.support.reference import ROOT
from tests.support.seeds import seed

TARGET = choose([])
GUIDES = sorted((ROOT / "tests" / "cases" / "guides").glob("*.yaml"))


def _sharing(value: Any, base: Any) -> Any:
    """A value whose parts are those of the base where they are equal."""
    if json.dumps(value) == json.dumps(base):
        return base
    if isinstance(value, dict) and isinstance(base, dict):
        return {name: _sharing(child, base.get(name)) for name, child in value.items()}
    if isinstance(value, list) and isinstance(base, list):
        return [_sharing(item, base[index] if index < len(base) else None) for index, item in enumerate(value)]
    return value


def _with(data: Any, path: tuple[str | int, ...], value: Any) -> Any:
    """The data with another value at a path, and the same ones elsewhere."""
    if not path:
        return value
    if isinstance(data, list):
        return [_with(item, path[1:], value) if number == path[0] else item for number, item in enumerate(data)]
    return {**(data or {}), path[0]: _with((data or {}).get(path[0]), path[1:], value)}


def _told(data: Any, base: Document, *, of_sound: bool) -> list[tuple[str, str, str, str]]:
    document = Document(data, base.marks, file=base.file, sound=marked_valid(base, TARGET).sound if of_sound else None)
    (judged,) = judge([document], Cluster(TARGET))
    return [(each.rule, each.message, each.field, each.hint) for each in judged.diagnostics]


@pytest.mark.parametrize("path", GUIDES, ids=lambda path: path.stem)
def test_the_verdict_on_a_changed_object_is_the_same(path: Path) -> None:
    (base, *_), _ = read(path.read_text(), file=path.name)
    shape = load(base.api_version, base.kind, TARGET)
    assert shape
    assert verdict(base, TARGET).status == "valid"
    random, wrong = Random(seed()), 0
    for _ in range(400):
        data = _sharing(changed(base.data, shape, random, times=random.randint(1, 3)), base.data)
        found = _told(data, base, of_sound=True)
        assert found == _told(data, base, of_sound=False), data
        wrong += bool(found)
    assert wrong > 50


@pytest.mark.parametrize(
    ("name", "place"),
    [
        ("mnist", ("spec", "pytorchReplicaSpecs", "Master", "template", "spec", "containers", 0, "resources")),
        ("trainjob", ("spec", "trainer", "resourcesPerNode")),
    ],
)
def test_a_value_that_go_cannot_read_is_found_beside_what_it_can(name: str, place: tuple[str | int, ...]) -> None:
    (path,) = (each for each in GUIDES if each.stem == name)
    (base, *_), _ = read(path.read_text(), file=path.name)
    data = _with(base.data, place, {"limits": {"memory": "1e1.5"}})
    found = _told(data, base, of_sound=True)
    assert found == _told(data, base, of_sound=False)
    assert "undecodable-value" in [rule for rule, *_ in found]


def test_what_an_accepted_object_has_is_not_looked_at_again() -> None:
    (base, *_), _ = read(GUIDES[0].read_text(), file="job.yaml")
    wrong = {**base.data, "spec": {"replicaz": 1}}
    assert not _told(wrong, Document(wrong, base.marks, file=base.file), of_sound=True)
