"""One manifest has one text, in whatever order its keys were written."""

from collections.abc import Iterator
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jobspec.apis.kinds import MODELS
from jobspec.apis.releases import choose
from jobspec.documents.reader import read
from jobspec.documents.writer import write
from jobspec.journey.rendering import arrange
from jobspec.schemas.shapes import Shape, load

TARGET = choose([])
NAMES = st.text("abcxyz/.-_1", min_size=1, max_size=6)
ANYTHING = st.recursive(
    NAMES | st.integers(), lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3), max_leaves=6
)


def _shape(api_version: str, kind: str) -> Shape:
    shape = load(api_version, kind, TARGET)
    assert shape
    return shape


@st.composite
def _values(draw: st.DrawFn, shape: Shape, depth: int = 0) -> Any:
    """A value at a shape: some of an object's fields, and far down no more than scalars."""
    if shape.type == "array":
        assert shape.items
        return draw(st.lists(_values(shape.items, depth + 1), max_size=2 if depth < 12 else 0))
    if shape.fields is not None:
        some = 4 if shape.fields and depth < 12 else 0
        names = draw(st.lists(st.sampled_from(sorted(shape.fields)), unique=True, max_size=some)) if some else []
        return {name: draw(_values(shape.fields[name], depth + 1)) for name in names}
    if shape.values is not None:
        return draw(st.dictionaries(NAMES, _values(shape.values, depth + 1), max_size=3))
    return draw({"boolean": st.booleans(), "integer": st.integers(0, 9), "string": NAMES}.get(shape.type, ANYTHING))


def _manifests() -> st.SearchStrategy[tuple[Shape | None, Any]]:
    """Manifests of the kinds that have a model, and one that has none."""
    modelled = [_values(_shape(*pair)).map(lambda data, pair=pair: (_shape(*pair), data)) for pair in MODELS]  # type: ignore[misc]
    return st.one_of(
        *modelled, st.dictionaries(NAMES | st.sampled_from(["kind", "metadata", "spec", "data"]), ANYTHING).map(lambda d: (None, d))
    )


def _shuffled(data: Any, chance: Random) -> Any:
    if isinstance(data, list):
        return [_shuffled(item, chance) for item in data]
    if not isinstance(data, dict):
        return data
    keys = list(data)
    chance.shuffle(keys)
    return {key: _shuffled(data[key], chance) for key in keys}


def _out_of_order(data: Any, shape: Shape | None) -> Iterator[list[str]]:
    """The keys of every object that does not stand in the order of its model, and of every map not sorted."""
    if isinstance(data, list):
        for item in data:
            yield from _out_of_order(item, shape.items if shape else None)
    elif isinstance(data, dict):
        fields = shape.fields if shape else None
        wanted = sorted(data) if fields is None else [name for name in fields if name in data]
        if shape and (fields is not None or shape.values) and list(data) != wanted:
            yield list(data)
        for key, value in data.items():
            yield from _out_of_order(value, shape.at((key,)) if shape else None)


@pytest.mark.slow
@given(_manifests(), st.randoms(use_true_random=False))
@settings(max_examples=300, deadline=None)
def test_the_same_data_in_any_order_gives_the_same_bytes(manifest: tuple[Shape | None, Any], chance: Random) -> None:
    shape, data = manifest
    arranged = arrange(data, shape)
    assert arranged == data  # nothing lost, and every list in its order
    assert write([arranged]) == write([arrange(_shuffled(data, chance), shape)])
    assert list(_out_of_order(arranged, shape)) == []
    assert write([arrange(arranged, shape)]) == write([arranged])


UNORDERED = """\
spec:
  runPolicy: {ttlSecondsAfterFinished: 60, cleanPodPolicy: None}
  pytorchReplicaSpecs:
    Worker: {template: {spec: {containers: [{image: b, name: pytorch}]}}, replicas: 2}
    Master:
      template:
        spec:
          volumes: [{emptyDir: {}, name: z}, {name: a, emptyDir: {}}]
          containers:
            - resources: {limits: {nvidia.com/gpu: 1, cpu: 2}}
              env: [{value: "2", name: B}, {value: "1", name: A}]
              args: [--z, --a]
              image: a
              name: pytorch
        metadata: {labels: {name: b, app: a}}
      restartPolicy: Never
      replicas: 1
metadata: {labels: {name: b, app: a}, name: train}
kind: PyTorchJob
apiVersion: kubeflow.org/v1
"""
ORDERED = """\
apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata:
  name: train
  labels:
    app: a
    name: b
spec:
  runPolicy:
    cleanPodPolicy: None
    ttlSecondsAfterFinished: 60
  pytorchReplicaSpecs:
    Master:
      replicas: 1
      restartPolicy: Never
      template:
        metadata:
          labels:
            app: a
            name: b
        spec:
          containers:
          - name: pytorch
            image: a
            args:
            - --z
            - --a
            env:
            - name: B
              value: "2"
            - name: A
              value: "1"
            resources:
              limits:
                cpu: 2
                nvidia.com/gpu: 1
          volumes:
          - name: z
            emptyDir: {}
          - name: a
            emptyDir: {}
    Worker:
      replicas: 2
      template:
        spec:
          containers:
          - name: pytorch
            image: b
"""


def test_how_a_job_is_arranged() -> None:
    (document,), _ = read(UNORDERED, file="job.yaml")
    assert write([arrange(document.data, _shape("kubeflow.org/v1", "PyTorchJob"))]) == ORDERED


@pytest.mark.parametrize("shape", [None, _shape("v1", "PersistentVolumeClaim")])
def test_a_manifest_begins_with_what_it_is(shape: Shape | None) -> None:
    data = {
        "status": {},
        "spec": {},
        "extra": 1,
        "metadata": {"labels": {}, "namespace": "n", "name": "a"},
        "kind": "K",
        "apiVersion": "v1",
    }
    arranged = arrange(data, shape)
    assert list(arranged)[:3] == ["apiVersion", "kind", "metadata"]
    assert list(arranged["metadata"]) == ["name", "namespace", "labels"]
