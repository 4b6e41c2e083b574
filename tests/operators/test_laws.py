"""What holds of every job that expands."""

from collections.abc import Iterator, Mapping
from random import Random
from typing import Any

import pytest

from jobspec.apis.releases import RELEASES, choose
from jobspec.diagnostics.places import Mark
from jobspec.documents.manifest import document_of
from jobspec.documents.marked_tree import MarkedTree, set_by
from jobspec.operators.api_defaults import with_api_defaults
from jobspec.operators.expansion import expand
from jobspec.operators.made import as_go_writes
from jobspec.schemas import shapes
from tests.support.job_growth import grown_job
from tests.support.pod_growth import grown
from tests.support.seeds import seed

_JOBS = 30
_STEPS = 200


def _scalars(tree: MarkedTree) -> Iterator[MarkedTree]:
    children = tree.value.values() if isinstance(tree.value, dict) else tree.value if isinstance(tree.value, list) else None
    if children is None:
        yield tree
    else:
        for child in children:
            yield from _scalars(child)


def _jobs(target: Mapping[str, str]) -> Iterator[tuple[dict[str, Any], list[MarkedTree]]]:
    random = Random(seed())
    for number in range(_JOBS):
        data = grown_job(f"j{number}", random)
        yield data, list(expand(document_of(data, "job.yaml"), (), target).objects)


@pytest.mark.parametrize("release", RELEASES["training-operator"])
def test_every_value_has_a_place_and_is_the_same_again(release: str) -> None:
    target = choose([f"training-operator={release}"])
    found = 0
    for data, objects in _jobs(target):
        whole = with_api_defaults(objects, (), target)
        places = {scalar.mark.file for each in whole for scalar in _scalars(each)}
        assert places <= {"job.yaml", f"training-operator {release}", "kube-apiserver 1.37", "the CRD of PyTorchJob"}
        again = expand(document_of(data, "job.yaml"), (), target).objects
        assert [each.data() for each in again] == [each.data() for each in objects]
        assert [each.data() for each in with_api_defaults(whole, (), target)] == [each.data() for each in whole]
        found += len(objects)
    assert found > _JOBS


def test_what_go_writes_it_writes_again() -> None:
    whole = shapes.load("kubeflow.org/v1", "PyTorchJob", choose([]))
    shape = whole.at(("spec", "pytorchReplicaSpecs", "Worker", "template", "spec")) if whole else None
    assert shape
    random = Random(seed())
    spec: Any = {"containers": [{"name": "a"}]}
    for _ in range(_STEPS):
        spec = grown(spec, shape, random)
        once = as_go_writes(set_by(Mark("pod"), spec), shape)
        assert as_go_writes(once, shape).data() == once.data()
