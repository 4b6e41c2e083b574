"""What the server's decoder leaves of data, on pods."""

from typing import Any

import pytest

from jobspec.apis.releases import choose
from jobspec.go.codec import decode_as_go
from jobspec.kubernetes.builtin import builtin_problems
from jobspec.schemas import shapes

_TARGET = choose([])


def _typed(spec: Any) -> Any:
    shape = shapes.load("v1", "Pod", _TARGET)
    assert shape
    return decode_as_go({"spec": spec}, shape).get("spec")


@pytest.mark.parametrize(
    ("spec", "left"),
    [
        ({"hostname": None, "hostNetwork": "yes", "nodeNam": "a"}, {}),
        ({"hostNetwork": False, "priority": 1 << 31}, {"hostNetwork": False}),
        ({"containers": [None, "a", {"name": 1}]}, {"containers": [{}, {}, {}]}),
        ({"containers": [{"args": [None, "a"], "command": "a"}]}, {"containers": [{"args": ["", "a"]}]}),
        ({"nodeSelector": {"a": None, "b": "c"}}, {"nodeSelector": {"a": "", "b": "c"}}),
        ({"overhead": {"cpu": None, "memory": 1.5, "a": "much", "b": True, "c": 1}}, {"overhead": {"cpu": "0", "memory": "1.5", "c": "1"}}),
        ({"securityContext": {"supplementalGroups": [None, 1, "2"]}}, {"securityContext": {"supplementalGroups": [0, 1, 0]}}),
        ({"volumes": []}, {"volumes": []}),
        ([], None),
        (None, None),
    ],
)
def test_what_is_left(spec: Any, left: Any) -> None:
    assert _typed(spec) == left


def test_plain_data_is_judged_without_a_document() -> None:
    pod: dict[str, Any] = {"metadata": {"name": "a"}, "spec": {"containers": [{"name": "a", "image": "a"}]}}
    assert builtin_problems(pod, "v1", "Pod", _TARGET) == []
    found = builtin_problems({**pod, "metadata": {"name": "A"}, "spec": {"containers": [{}]}}, "v1", "Pod", _TARGET)
    places = {("metadata", "name"), ("spec", "containers", 0, "name"), ("spec", "containers", 0, "image")}
    assert {problem.path for problem in found} == places


def test_what_could_not_be_decoded_is_reported_once() -> None:
    pod = {"metadata": {"name": "a"}, "spec": {"containers": {"name": "a"}}}
    assert [problem.rule for problem in builtin_problems(pod, "v1", "Pod", _TARGET)] == ["wrong-type"]
