"""The models and upstream's CRDs say the same, in both directions."""

import json
from typing import Any

import pytest
import yaml

from jobspec.models import PyTorchJob
from jobspec.schemas import files, shape_of
from jobspec.targets import RELEASES
from tests.reference import ROOT, folder

_INT_OR_STRING = [{"type": "integer"}, {"type": "string"}]


def _shape(node: dict[str, Any]) -> dict[str, Any]:  # noqa: C901 (one line a keyword)
    """A node of an OpenAPI schema in the words of our shapes."""
    known = {"description", "type", "properties", "required", "items", "additionalProperties", "format", "pattern", "default", "anyOf"}
    assert node.keys() - known <= {
        "x-kubernetes-int-or-string",
        "x-kubernetes-list-type",
        "x-kubernetes-list-map-keys",
        "x-kubernetes-map-type",
        "x-kubernetes-validations",
    }
    shape: dict[str, Any] = {"type": node.get("type")}
    if node.get("x-kubernetes-int-or-string"):
        assert node["anyOf"] == _INT_OR_STRING
        shape["type"] = "int-or-string"
    if "pattern" in node:
        shape["format"] = "quantity"
    for key in ("format", "default"):
        if key in node:
            shape[key] = node[key]
    if "properties" in node:
        shape["fields"] = {name: _shape(child) for name, child in node["properties"].items()}
    if "additionalProperties" in node:
        shape["values"] = _shape(node["additionalProperties"])
    if "items" in node:
        shape["items"] = _shape(node["items"])
    if "required" in node:
        shape["required"] = sorted(node["required"])
    match node.get("x-kubernetes-list-type"):
        case "map":
            shape["keys"] = node["x-kubernetes-list-map-keys"]
        case "set":
            shape["unique"] = True
        case "atomic":
            shape["atomic"] = True
    if "x-kubernetes-map-type" in node:
        shape["atomic"] = True
    if "x-kubernetes-validations" in node:
        shape["rules"] = node["x-kubernetes-validations"]
    return shape


def _comparable(shape: dict[str, Any]) -> dict[str, Any]:
    """Our shape without what only we say: the names of types and the merge keys of overlays."""
    kept = {key: value for key, value in shape.items() if key not in ("name", "merge", "meta", "replicas")}
    if "required" in kept:
        kept["required"] = sorted(kept["required"])
    if "fields" in kept:
        kept["fields"] = {name: _comparable(child) for name, child in kept["fields"].items()}
    for key in ("values", "items"):
        if key in kept:
            kept[key] = _comparable(kept[key])
    return kept


def _differences(ours: Any, theirs: Any, path: str = "") -> list[str]:
    if isinstance(ours, dict) and isinstance(theirs, dict):
        return [
            difference
            for key in sorted(ours.keys() | theirs.keys())
            for difference in _differences(ours.get(key), theirs.get(key), f"{path}/{key}")
        ]
    return [] if ours == theirs else [f"{path}: ours {ours!r}, upstream's {theirs!r}"]


def _upstream(release: str) -> tuple[dict[str, Any], dict[str, Any]]:
    crd = yaml.load(folder("crds", f"pytorchjobs.kubeflow.org@v{release}.yaml").read_text(), yaml.CSafeLoader)
    (version,) = crd["spec"]["versions"]
    return crd, version


@pytest.mark.parametrize("release", RELEASES["training-operator"])
def test_every_field_type_default_and_list_key_of_the_pytorchjob_crd(release: str) -> None:
    _, version = _upstream(release)
    theirs = _shape(version["schema"]["openAPIV3Schema"])
    ours = _comparable(shape_of(PyTorchJob, release))
    assert ours["fields"].pop("metadata")["type"] == theirs["fields"].pop("metadata")["type"] == "object"
    assert _differences(ours, theirs) == []


@pytest.mark.parametrize("release", RELEASES["training-operator"])
def test_what_the_server_knows_of_the_kind_besides_its_schema(release: str) -> None:
    crd, version = _upstream(release)
    resource = PyTorchJob.RESOURCE
    assert resource.scale
    assert (resource.group, resource.version) == (crd["spec"]["group"], version["name"])
    assert (resource.kind, resource.plural) == (crd["spec"]["names"]["kind"], crd["spec"]["names"]["plural"])
    assert resource.status == ("status" in version["subresources"])
    assert version["subresources"]["scale"] == {
        "specReplicasPath": resource.scale.replicas,
        "statusReplicasPath": resource.scale.status_replicas,
        "labelSelectorPath": resource.scale.selector,
    }
    columns = [{"name": column.name, "type": column.type, "jsonPath": column.path} for column in resource.columns]
    assert columns == version["additionalPrinterColumns"]


def test_committed_schemas_are_what_the_models_give() -> None:
    fresh = dict(files())
    committed = {path.relative_to(ROOT / "schemas").as_posix(): path.read_text() for path in (ROOT / "schemas").rglob("*.json")}
    assert committed == fresh


def test_a_compiled_schema_holds_each_shape_once() -> None:
    for name, text in files():
        shapes = [json.dumps(shape) for shape in json.loads(text)["shapes"]]
        assert len(shapes) == len(set(shapes)), name
