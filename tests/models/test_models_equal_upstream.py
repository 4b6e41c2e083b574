"""The models and upstream's CRDs say the same, in both directions: every node, but for descriptions, which are our own."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from jobspec import models
from jobspec.apis.kinds import MODELS
from jobspec.apis.releases import OPERATORS, RELEASES
from jobspec.models.base import Model
from jobspec.schemas.files import crd
from tests.support.reference import ROOT, crd_of, folder

CASES = sorted({(kind, release) for (_, kind), component in MODELS.items() if component in OPERATORS for release in RELEASES[component]})


def _ours(kind: str, release: str) -> dict[str, Any]:
    model: type[Model] = getattr(models, kind)
    return crd(model, release)


def _upstream(kind: str, release: str) -> dict[str, Any]:
    resource = getattr(models, kind).RESOURCE
    document: dict[str, Any] = yaml.load(crd_of(resource.plural, resource.group, release).read_text(), yaml.CSafeLoader)
    del document["metadata"]["annotations"]  # which generator wrote it
    for version in document["spec"]["versions"]:
        if version.get("subresources") == {}:  # as good as none
            del version["subresources"]
    return document


def _comparable(node: Any, path: str = "") -> dict[str, Any]:
    """Every leaf by its path, descriptions of the schema left out, what has no order sorted."""
    if isinstance(node, dict):
        in_schema = "/openAPIV3Schema" in path and not path.endswith("/properties")
        kept = {key: value for key, value in node.items() if not (in_schema and key == "description")}
        return {"": {}} if not kept else {leaf: value for key, value in kept.items() for leaf, value in _at(f"{path}/{key}", value).items()}
    if isinstance(node, list) and path.endswith(("/required", "/enum")):
        return {path: sorted(node)}
    return {leaf: value for index, item in enumerate(node) for leaf, value in _at(f"{path}/{index}", item).items()}


def _at(path: str, value: Any) -> dict[str, Any]:
    return _comparable(value, path) if value and isinstance(value, dict | list) else {path: value}


def _differences(ours: dict[str, Any], theirs: dict[str, Any]) -> list[str]:
    one, other = _comparable(ours), _comparable(theirs)
    return [
        f"{path}: ours {one.get(path, 'nothing')!r}, upstream's {other.get(path, 'nothing')!r}"
        for path in sorted(one.keys() | other.keys())
        if (path in one, one.get(path)) != (path in other, other.get(path))
    ]


@pytest.mark.parametrize(("kind", "release"), CASES)
def test_our_crd_equals_upstreams_node_by_node(kind: str, release: str) -> None:
    assert _differences(_ours(kind, release), _upstream(kind, release)) == []


def test_every_crd_of_these_kinds_is_compared() -> None:
    groups = {version.partition("/")[0] for (version, _), component in MODELS.items() if component in OPERATORS}
    stored = {path.name for path in folder("crds").glob("*.yaml") if path.name.partition("@")[0].partition(".")[2] in groups}
    assert {Path(f"{crd(getattr(models, kind), release)['metadata']['name']}@v{release}.yaml").name for kind, release in CASES} >= stored


def test_a_compiled_schema_holds_each_shape_once() -> None:
    """Of those that are committed, which are what the models give."""
    for path in (ROOT / "schemas" / "compiled").rglob("*.json"):
        shapes = [json.dumps(shape) for shape in json.loads(path.read_text())["shapes"]]
        assert len(shapes) == len(set(shapes)), path
