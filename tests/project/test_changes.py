"""Laws of the fields of two objects: nothing is reported twice, nothing is passed over."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobspec.apis.releases import choose
from jobspec.diagnostics.places import Mark, marks_at
from jobspec.documents.document import Document
from jobspec.project.fields import FieldChange, changes, fields_of

TARGET = choose([])

_WORDS = st.lists(st.sampled_from(["--lr", "--lr=1", "1", "-1", "--", "x", "--amp"]), max_size=5)
_NAMED = st.lists(
    st.fixed_dictionaries({"name": st.sampled_from("abc")}, optional={"value": st.sampled_from(["1", "", "x"])}),
    max_size=3,
    unique_by=lambda each: str(each["name"]),
)
_CONTAINER = st.fixed_dictionaries(
    {"name": st.just("pytorch"), "image": st.sampled_from(["a", "b"])},
    optional={
        "args": _WORDS,
        "command": _WORDS,
        "env": _NAMED,
        "resources": st.fixed_dictionaries(
            {}, optional={"limits": st.dictionaries(st.sampled_from(["cpu", "nvidia.com/gpu"]), st.integers(1, 2))}
        ),
    },
)
_POD = st.fixed_dictionaries(
    {"containers": st.lists(_CONTAINER, min_size=1, max_size=1)},
    optional={
        "tolerations": st.lists(st.fixed_dictionaries({}, optional={"key": st.sampled_from("ab")}), max_size=3),
        "volumes": st.lists(
            st.fixed_dictionaries({"name": st.sampled_from("ab")}, optional={"emptyDir": st.just({})}),
            max_size=2,
            unique_by=lambda each: str(each["name"]),
        ),
        "hostNetwork": st.booleans(),
    },
)
_JOB = st.fixed_dictionaries(
    {"apiVersion": st.just("kubeflow.org/v1"), "kind": st.just("PyTorchJob"), "metadata": st.just({"name": "job"})},
    optional={
        "spec": st.dictionaries(
            st.just("pytorchReplicaSpecs"),
            st.dictionaries(
                st.sampled_from(["Master", "Worker"]), st.fixed_dictionaries({"template": st.fixed_dictionaries({"spec": _POD})})
            ),
        )
    },
)


def _changes(old: dict[str, Any], new: dict[str, Any]) -> list[FieldChange]:
    documents = [Document(data, marks_at(data, Mark(name, 1)), file=name) for name, data in (("old", old), ("new", new))]
    return changes(*(fields_of(each, TARGET) for each in documents))


def _text(data: object) -> str:
    return json.dumps(data, sort_keys=True)


@given(_JOB, _JOB)
def test_two_objects_have_no_changes_where_they_are_equal_and_only_there(old: dict[str, Any], new: dict[str, Any]) -> None:
    assert bool(_changes(old, new)) == (_text(old) != _text(new))


@given(_JOB, _JOB)
def test_the_way_back_reports_the_same_fields(old: dict[str, Any], new: dict[str, Any]) -> None:
    there, back = _changes(old, new), _changes(new, old)
    assert [each.field for each in there] == [each.field for each in back]
    assert all(each.place is None if each.after is None else each.place.file == "new" for each in there if each.place or each.after is None)
    assert all(each.was is None if each.before is None else each.was.file == "old" for each in there)


@pytest.mark.parametrize(("before", "after"), [(1, True), (1, "1"), (0, False), ("", None), ("true", True)])
def test_values_of_other_types_are_other_values(before: object, after: object) -> None:
    job = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}}
    (found,) = _changes({**job, "data": {"a": before}}, {**job, "data": {"a": after}})
    assert (found.field, found.before and found.before.value, found.after and found.after.value) == ("data[a]", before, after)
