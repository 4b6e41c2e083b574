"""Records are frozen data classes: the same parameters, comparison and text, with one `__init__` a class."""

import pickle
import pkgutil
from importlib import import_module
from typing import TYPE_CHECKING

import pytest

import jobspec
from jobspec.diagnostics.record import Record

if TYPE_CHECKING:
    from collections.abc import Sequence
    from dataclasses import KW_ONLY


class _Size(Record):
    width: int
    height: "int" = 1
    _: "KW_ONLY"
    unit: "str" = "cm"
    notes: "Sequence[str]" = ()


class _Length(Record):
    width: int


def test_attributes_are_given_in_order_or_by_name() -> None:
    assert _Size(2, 3, unit="mm").__dict__ == {"width": 2, "height": 3, "unit": "mm", "notes": ()}
    assert _Size(width=2) == _Size(2, 1, unit="cm", notes=())
    assert _Size(2).changed(unit="mm") == _Size(2, unit="mm")


@pytest.mark.parametrize(
    ("values", "named", "message"),
    [
        ((), {}, "missing 1 required positional argument: 'width'"),
        ((1, 2, "mm"), {}, "takes from 2 to 3 positional arguments but 4 were given"),
        ((1,), {"widht": 2}, "unexpected keyword argument 'widht'"),
        ((1,), {"width": 2}, "multiple values for argument 'width'"),
    ],
)
def test_a_wrong_number_or_name_is_an_error(values: tuple[object, ...], named: dict[str, object], message: str) -> None:
    with pytest.raises(TypeError, match=message):
        _Size(*values, **named)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="unexpected keyword argument 'colour'"):
        _Size(1).changed(colour="red")


def test_records_are_compared_by_class_and_value() -> None:
    assert _Size(1) != _Size(2)
    assert _Length(1) != _Size(1)
    assert _Size(1) != 1
    assert {_Size(1): "one"}[_Size(1)] == "one"


def test_the_text_of_a_record_names_its_attributes() -> None:
    assert repr(_Size(2, unit="mm")) == "_Size(width=2, height=1, unit='mm', notes=())"


def test_a_record_can_be_pickled() -> None:
    assert pickle.loads(pickle.dumps(_Size(2, notes=["a"]))) == _Size(2, notes=["a"])


def test_defaults_cannot_be_changed_and_no_record_has_subclasses() -> None:
    """A default is one value of all records: where it is a mapping or a list, its type gives no way to change it."""
    for each in pkgutil.walk_packages(jobspec.__path__, "jobspec."):
        if each.name != "jobspec.__main__":
            import_module(each.name)
    ours = [each for each in Record.__subclasses__() if each.__module__.startswith("jobspec.")]
    assert len(ours) > 40
    assert [each for each in ours if each.__subclasses__()] == []
    shared = [
        f"{each.__name__}.{name}: {kind}"
        for each in ours
        for name, kind in each.__annotations__.items()
        if isinstance(getattr(each, name, None), (dict, list, set)) and not kind.startswith(("Mapping", "Sequence", "Collection"))
    ]
    assert shared == []
