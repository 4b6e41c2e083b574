"""The fields of pods that are pointers in Go: by what updates of pods are compared, and as our models have them."""

from collections.abc import Iterator

from jobspec.kubernetes.pods.update import is_pointer
from jobspec.schemas import shapes
from jobspec.schemas.shapes import Shape
from jobspec.targets import choose

_PLAIN = ("string", "integer", "boolean", "int-or-string")


def _scalars(shape: Shape, around: str) -> Iterator[tuple[str, str, bool]]:
    """The fields inside a shape that hold a text, a number or a boolean; each with the field around it, and whether it is a pointer."""
    for name, child in (shape.fields or {}).items():
        if child.type in _PLAIN and child.format != "quantity":
            yield name, around, child.pointer
        yield from _scalars(child.items or child, name)


def test_updates_of_pods_know_the_pointers_of_our_models() -> None:
    pod = shapes.load("v1", "Pod", choose([]))
    assert pod and pod.fields
    found = list(_scalars(pod.fields["spec"], "spec"))
    assert len(found) > 300
    assert [(name, around, pointer) for name, around, pointer in found if is_pointer(name, around) != pointer] == []
