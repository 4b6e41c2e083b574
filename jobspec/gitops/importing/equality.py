"""Whether objects are the same as data: `1`, `1.0`, `"1"` and `true` are four values."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from jobspec.diagnostics import Path
    from jobspec.documents.document import Document


def difference(one: Any, other: Any, path: Path = ()) -> Path | None:
    """The path of the first value in which two data differ; None where they are the same."""
    if isinstance(one, dict) and isinstance(other, dict):
        for name in [*one, *(each for each in other if each not in one)]:
            if name not in one or name not in other:
                return (*path, name)
            if (found := difference(one[name], other[name], (*path, name))) is not None:
                return found
        return None
    if isinstance(one, list) and isinstance(other, list):
        for index, pair in enumerate(zip(one, other, strict=False)):
            if (found := difference(*pair, (*path, index))) is not None:
                return found
        return None if len(one) == len(other) else path
    return None if type(one) is type(other) and one == other else path


def same_objects(some: Iterable[Document], others: Iterable[Document]) -> bool:
    """Whether documents are the same objects, whatever their order; an object that stands twice has to be the same both times."""
    first, second = _by_identity(some), _by_identity(others)
    if first.keys() != second.keys():
        return False
    return all(difference(one, second[identity][0]) is None for identity, all_of_it in first.items() for one in all_of_it) and all(
        difference(first[identity][0], one) is None for identity, all_of_it in second.items() for one in all_of_it
    )


def _by_identity(documents: Iterable[Document]) -> dict[tuple[str, ...], list[Any]]:
    found: dict[tuple[str, ...], list[Any]] = {}
    for each in documents:
        found.setdefault((each.api_version, each.kind, each.namespace, each.name), []).append(each.data)
    return found
