"""Kinds of the training operator beside PyTorchJob: their CRDs differ from PyTorchJob's as our table says."""

from typing import Any

import pytest
import yaml

from jobspec.apis.releases import RELEASES, choose
from jobspec.apis.sibling_kinds import SIBLINGS
from jobspec.schemas import shapes
from tests.support.reference import crd_in_go_cache

CASES = [(kind, release) for kind, each in SIBLINGS.items() for release in RELEASES["training-operator"] if each.is_in(release)]


def _crd(kind: str, release: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """The schema of the only version of a kind, without descriptions, and its subresources."""
    path = crd_in_go_cache(f"github.com/kubeflow/training-operator@v{release}", f"manifests/base/crds/kubeflow.org_{kind.lower()}s.yaml")
    (version,) = yaml.load(path.read_text(), yaml.CSafeLoader)["spec"]["versions"]
    return _bare(version["schema"]["openAPIV3Schema"]), version["subresources"]


def _bare(node: Any) -> Any:
    if isinstance(node, dict):
        return {key: _bare(value) for key, value in node.items() if not (key == "description" and isinstance(value, str))}
    return [_bare(each) for each in node] if isinstance(node, list) else node


@pytest.mark.parametrize(("kind", "release"), CASES)
def test_the_crd_has_what_pytorchjob_has_and_fields_of_its_own(kind: str, release: str) -> None:
    sibling = SIBLINGS[kind]
    theirs, subresources = _crd(kind, release)
    schema, of_pytorchjob = _crd("PyTorchJob", release)
    spec = schema["properties"]["spec"]["properties"]
    own = {name: {key: row[key] for key in ("type", "format") if key in row} for name, row in sibling.own.items()}
    if sibling.elastic:
        policy = spec["elasticPolicy"]
        own["elasticPolicy"] = {**policy, "properties": {name: policy["properties"][name] for name in sibling.elastic}}
    properties = {**own, "runPolicy": spec["runPolicy"], sibling.replicas: spec["pytorchReplicaSpecs"]}
    expected = {**schema["properties"]["spec"], "properties": properties, "required": sorted([*sibling.required, sibling.replicas])}
    assert theirs == {**schema, "properties": {**schema["properties"], "spec": expected}}
    scale = {key: path.replace("pytorchReplicaSpecs", sibling.replicas) for key, path in of_pytorchjob["scale"].items()}
    assert subresources == {"status": {}, **({"scale": scale} if sibling.is_scaled else {})}


@pytest.mark.parametrize(("kind", "release"), CASES)
def test_the_shape_is_made_of_pytorchjobs(kind: str, release: str) -> None:
    sibling = SIBLINGS[kind]
    shape = shapes.load("kubeflow.org/v1", kind, choose([f"training-operator={release}"]))
    spec = shape and shape.at(("spec",))
    assert shape and spec and spec.fields
    assert set(spec.fields) == {"runPolicy", sibling.replicas, *sibling.own, *(["elasticPolicy"] if sibling.elastic else [])}
    assert set(shape.scale) == ({"specReplicasPath", "statusReplicasPath", "labelSelectorPath"} if sibling.is_scaled else set())
