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


def _namespace(team: str, level: str) -> dict[str, Any]:
    labels = {"team": team, "pod-security.kubernetes.io/enforce": level}
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "ml", "labels": labels}}


def test_an_object_of_a_name_is_an_alternative_if_it_changes_an_answer() -> None:
    namespaces = [_namespace("a", "baseline"), _namespace("b", "restricted"), _namespace("c", "restricted")]
    index = Index(namespaces).recording()
    asked = [("find", ("", "Namespace"), "", "ml"), ("deciding_on_pods", "ml"), ("in_namespace", ("", "LimitRange"), "ml")]
    assert [other.labels("ml")["team"] for _, other in index.alternatives("ml", asked)] == ["a", "b"]
    assert list(index.alternatives("ml", asked[2:])) == []
    assert list(index.alternatives("other", asked)) == []
    assert ("rivals", "ml") in (index.asked or ())


def test_further_objects_replace_one_object_and_join_several() -> None:
    assert _cohorts(Index([_queue("a")]).with_others([_queue("b")])) == ["b"]
    assert _cohorts(Index([_queue("a")]).recording([_queue("b"), _queue("a")])) == ["b", "a"]
    several = Index([_queue("a"), _queue("b")])
    assert _cohorts(several.recording()) == ["a", "b"]
    assert _cohorts(several.recording([_queue("a")])) == ["b", "a"]
    assert _cohorts(several.with_others([_queue("c")])) == ["a", "b", "c"]


def _config_map(script: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "scripts", "namespace": "ml"}, "data": {"train.sh": script}}


def test_the_only_config_map_of_a_name_is_found_and_that_of_a_file_replaces_all_others() -> None:
    place = (("", "ConfigMap"), "ml", "scripts")
    assert Index([_config_map("a"), _config_map("a")]).find_only(*place) == _config_map("a")
    several = Index([_config_map("a"), _config_map("b")])
    assert several.find_only(*place) is None
    for script in ("a", "b", "c"):
        assert several.with_others([_config_map(script)]).find_only(*place) == _config_map(script)
        assert several.recording([_config_map(script)]).find_only(*place) == _config_map(script)
