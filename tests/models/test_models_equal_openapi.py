"""The models of built-in kinds have the fields, types, required fields and list keys of upstream's OpenAPI document."""

from collections.abc import Iterator
from typing import Any

import pytest

from jobspec import models
from jobspec.apis.releases import RELEASES
from jobspec.schemas.structure import structure_of, structure_of_builtin

_NEWEST = list(RELEASES["kubernetes"])[-1]


def _differences(model: dict[str, Any], upstream: dict[str, Any], path: str) -> Iterator[str]:
    """What a model says otherwise than upstream; bits of a number that may be text are no fact of models."""
    types = [(each["type"], each.get("format", "") if each["type"] != "int-or-string" else "") for each in (model, upstream)]
    if types[0] != types[1]:
        yield f"{path}: {types[0]}, upstream {types[1]}"
    for fact in ("required", "keys"):
        if sorted(model.get(fact, ())) != sorted(upstream.get(fact, ())):
            yield f"{path}: {fact} {model.get(fact)}, upstream {upstream.get(fact)}"
    ours, theirs = model.get("fields", {}), upstream.get("fields", {})
    yield from (f"{path}.{name}: only in {'the model' if name in ours else 'upstream'}" for name in ours.keys() ^ theirs.keys())
    for name in ours.keys() & theirs.keys():
        yield from _differences(ours[name], theirs[name], f"{path}.{name}")
    for inner in ("items", "values"):
        if inner in model or inner in upstream:
            yield from _differences(model[inner], upstream[inner], f"{path}[]")


@pytest.mark.parametrize("release", [each for each in RELEASES["kubernetes"] if each != "1.30"])  # which had no list types
def test_pods_and_claims(release: str) -> None:
    for name in ("PodTemplate", "PersistentVolumeClaim"):
        found = list(_differences(structure_of(getattr(models, name), release), structure_of_builtin("v1", name, release), name))
        assert found == []


def test_the_status_of_pods() -> None:
    """That of earlier releases had fewer fields, of which nobody makes schemas."""
    assert list(_differences(structure_of(models.Pod, _NEWEST), structure_of_builtin("v1", "Pod", _NEWEST), "Pod")) == []
