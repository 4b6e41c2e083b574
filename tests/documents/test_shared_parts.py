"""Equal parts of data are one value, and the data stay the same."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from jobspec.documents import shared_parts
from jobspec.documents.shared_parts import is_shared, shared

_SCALARS = st.none() | st.booleans() | st.integers(-2, 2) | st.floats(-1, 1, width=16) | st.sampled_from(["", "a", "1", "None"])
_DATA: st.SearchStrategy[Any] = st.recursive(_SCALARS, lambda inside: st.lists(inside) | st.dictionaries(st.sampled_from("abc"), inside))


@given(_DATA, _DATA)
def test_shared_data_are_the_same(first: Any, second: Any) -> None:
    for each in (first, second):
        assert repr(shared(each)) == repr(each)
    assert not isinstance(first, dict | list) or shared(first) is shared(first)
    if isinstance(first, dict | list) and isinstance(second, dict | list):
        assert (shared(first) is shared(second)) == (repr(first) == repr(second))


def test_equal_parts_are_one_value() -> None:
    made = shared({"a": {"b": [1]}, "c": [{"b": [1]}, {"b": [True]}, {"b": [1.0]}]})
    assert made["a"] is made["c"][0]
    assert made["c"][0] is not made["c"][1] is not made["c"][2] and repr(made["c"]) == "[{'b': [1]}, {'b': [True]}, {'b': [1.0]}]"
    assert is_shared(made["a"]["b"]) and not is_shared([1])


def test_parts_are_forgotten_if_there_are_many() -> None:
    for number in range(shared_parts._MOST + 10):
        shared([number])
    assert len(shared_parts._parts) < shared_parts._MOST
