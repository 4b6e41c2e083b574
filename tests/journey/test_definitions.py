"""Without their schemas, CRDs take little room in results, in whichever part of a result they stand."""

import pickle

import pytest

from jobspec.apis.kinds import CUSTOM_RESOURCE_DEFINITION
from jobspec.journey.checking import TextFile
from jobspec.journey.journey import Journey, travel
from jobspec.journey.steps import Checked, Source
from jobspec.world.world import Cluster

_TEXT = """\
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: racks.example.com}
spec:
  group: example.com
  names: {kind: Rack, plural: racks}
  scope: Namespaced
  versions:
    - name: v1
      served: true
      storage: true
      schema: {openAPIV3Schema: {type: object, description: shibboleth}}
---
apiVersion: v1
kind: Pod
metadata: {name: a, namespace: b}
spec: {containers: [{name: a, image: a}]}
"""


def _checked(*, documents: bool, definitions: bool) -> Checked:
    file = TextFile(Source("a.yaml", _TEXT))
    (found,) = travel(Journey([file], Cluster(), outcome=True, documents=documents, definitions=definitions))
    return found


@pytest.mark.parametrize("documents", [True, False])
def test_no_schema_of_a_definition_is_in_a_result(documents: bool) -> None:
    found = _checked(documents=documents, definitions=False)
    assert found.pending  # with all objects of the file
    assert b"shibboleth" not in pickle.dumps(found)
    there = [each for each in found.objects if each.group_kind == CUSTOM_RESOURCE_DEFINITION]
    assert [each.name for each in there] == ["racks.example.com"]
    assert [each.nearest(("metadata", "name")).place().line for each in there] == [3]


def test_schemas_come_back_if_they_are_asked_for() -> None:
    found = _checked(documents=True, definitions=True)
    assert found.documents[0].data["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["description"] == "shibboleth"
