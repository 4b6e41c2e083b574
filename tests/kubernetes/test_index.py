"""The index of given objects: one name has one object, and several that differ are all known to whoever asks for their group."""

import pickle
from typing import Any

from jobspec.kubernetes.index import Index

_GROUP = "kueue.x-k8s.io"
_KIND = (_GROUP, "ClusterQueue")


def _queue(cohort: str) -> dict[str, Any]:
    return {"apiVersion": f"{_GROUP}/v1beta2", "kind": "ClusterQueue", "metadata": {"name": "team"}, "spec": {"cohortName": cohort}}


def _cohorts(index: Index) -> list[str]:
    return [each["spec"]["cohortName"] for each in index.of_group(_GROUP)]


def test_the_last_of_several_objects_counts_and_the_group_has_all() -> None:
    index = Index([_queue("a"), _queue("b"), _queue("b")])
    assert index.find(_KIND, "", "team") == _queue("b")
    assert _cohorts(index) == ["a", "b"]
    assert _cohorts(pickle.loads(pickle.dumps(index))) == ["a", "b"]


def test_further_objects_replace_one_object_and_join_several() -> None:
    assert _cohorts(Index([_queue("a")]).with_others([_queue("b")])) == ["b"]
    assert _cohorts(Index([_queue("a")]).recording([_queue("b"), _queue("a")])) == ["b", "a"]
    several = Index([_queue("a"), _queue("b")])
    assert _cohorts(several.recording()) == ["a", "b"]
    assert _cohorts(several.recording([_queue("a")])) == ["b", "a"]
    assert _cohorts(several.with_others([_queue("c")])) == ["a", "b", "c"]
