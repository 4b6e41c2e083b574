"""The index of given objects: one name has one object, and several that differ are all known to whoever asks for their group."""

import pickle
from typing import Any

import pytest

from jobspec.apis.kinds import configures_queues
from jobspec.kubernetes.index import GivenObject, Index, says

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
    assert ("rivals_with_origins", "ml") in (index.asked or ())


def test_rivals_from_other_files_are_another_answer() -> None:
    """Messages name the file of a rival, also if the rival is equal to one of another file."""

    def answer(origin: str) -> str:
        first, last = ({**_namespace(each, "baseline"), "kind": "ResourceQuota"} for each in "ab")
        first["metadata"] = last["metadata"] = {"name": "gpus", "namespace": "ml"}
        first["spec"] = {"hard": {"pods": "1"}}
        index = Index([GivenObject(first, origin), GivenObject(last, "last.yaml")]).recording()
        assert [each["spec"] for _, each in index.rivals("ml")] == [{"hard": {"pods": "1"}}]
        (question,) = index.asked or {()}
        return repr(index.answer(question))

    assert answer("a.yaml") == answer("a.yaml") != answer("b.yaml")


def test_further_objects_replace_one_object_and_join_several() -> None:
    assert _cohorts(Index([_queue("a")]).with_others([_queue("b")])) == ["b"]
    assert _cohorts(Index([_queue("a")]).recording([_queue("b"), _queue("a")])) == ["b", "a"]
    several = Index([_queue("a"), _queue("b")])
    assert _cohorts(several.recording()) == ["a", "b"]
    assert _cohorts(several.recording([_queue("a")])) == ["b", "a"]
    assert _cohorts(several.with_others([_queue("c")])) == ["a", "b", "c"]


_QUESTIONS: list[tuple[str, tuple[Any, ...]]] = [
    ("find", (_KIND, "", "team")),
    ("find_only", (_KIND, "", "team")),
    ("in_namespace", (_KIND, "")),
    ("named", (_KIND, "", "team")),
    ("of_group", (_GROUP,)),
    ("of_kind", (_KIND,)),
    ("selected", (_KIND, configures_queues)),
    ("names", (_KIND, "")),
    ("rivals_with_origins", ("ml",)),
    ("deciding_on_pods", ("ml",)),
    ("others_than", ((_KIND,),)),
]
_WITHOUT_RECORD = {"recording", "with_others", "alternatives", "answer", "note", "has_policies_of", "once", "prepared"}
_BY_OTHERS = {"rivals", "labels", "priority_class", "default_priority_class"}


@pytest.mark.parametrize("question", _QUESTIONS, ids=[name for name, _ in _QUESTIONS])
def test_each_question_is_recorded_also_by_an_index_with_others(question: tuple[str, tuple[Any, ...]]) -> None:
    name, arguments = question
    index = Index([_queue("a"), _namespace("a", "baseline")]).recording()
    assert index.answer((name, *arguments)) == index.with_others([]).answer((name, *arguments))
    for there in (index.recording(), index.recording().with_others([_queue("b")])):
        getattr(there, name)(*arguments)
        assert (name, *arguments) in (there.asked or ())


def test_no_method_that_looks_at_objects_is_left_out_of_the_questions() -> None:
    methods = {name for name, each in vars(Index).items() if callable(each) and not name.startswith("_")}
    assert methods == {name for name, _ in _QUESTIONS} | _WITHOUT_RECORD | _BY_OTHERS


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


@pytest.mark.parametrize(
    ("question", "is_said"),
    [
        (("find", ("", "Service"), "default", "train-1-master-0"), True),
        (("given", ("find", ("", "Service"), "default", "train-1")), True),
        (("find", ("", "Service"), "default", "train-2"), False),
        (("selected", ("", "Pod"), len), False),
    ],
)
def test_a_question_says_the_names_in_its_words(question: tuple[object, ...], *, is_said: bool) -> None:
    assert says(question, "train-1") == is_said
    assert not says(question, "")
