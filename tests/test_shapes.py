"""Compiled schemas are read whatever their layout."""

import json

import pytest

from jobspec import data
from jobspec.schemas import shapes
from jobspec.targets import choose


@pytest.mark.parametrize("indent", [None, 1])
def test_a_compiled_schema_in_another_layout_is_the_same(indent: int | None, monkeypatch: pytest.MonkeyPatch) -> None:
    read = data.text
    target = choose([])
    names = ("replicas", "restartPolicy", "template")
    expected = _described(target, names)
    monkeypatch.setattr(shapes, "_loaded", {})
    monkeypatch.setattr(data, "text", lambda path: json.dumps(json.loads(read(path)), indent=indent))
    assert _described(target, names) == expected


def _described(target: dict[str, str], names: tuple[str, ...]) -> list[object]:
    whole = shapes.load("kubeflow.org/v1", "PyTorchJob", target)
    role = whole and whole.at(("spec", "pytorchReplicaSpecs", "Worker"))
    assert role and role.fields
    return [(name, role.fields[name].type, role.fields[name].parsed, role.fields[name].raw) for name in names]
