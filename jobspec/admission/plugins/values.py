"""Read plain data of pods: what is absent or null is empty, as it is once Go has decoded it."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from jobspec.diagnostics import Path

    Data = dict[str, Any]

#: The fields of a pod's spec that hold containers, in the order in which most plugins look at them.
CONTAINERS = ("initContainers", "containers")


def sequence(data: Any, field: str) -> list[Any]:
    """The items of a list that are mappings or scalars, an empty list where there is none; null items are empty mappings."""
    found = data.get(field) if isinstance(data, dict) else None
    return [{} if each is None else each for each in found] if isinstance(found, list) else []


def containers(spec: Data, fields: tuple[str, ...] = (*CONTAINERS, "ephemeralContainers")) -> Iterator[tuple[Path, Data]]:
    """The containers of a pod's spec, each with its path in the pod."""
    for field in fields:
        for index, each in enumerate(sequence(spec, field)):
            if isinstance(each, dict):
                yield ("spec", field, index), each
