"""Annotations that stand for fields of former versions of a kind, and have to hold what the field held.

Follows `Convert_v1_Deployment_To_apps_Deployment` and `Convert_v1_DaemonSet_To_apps_DaemonSet`, k8s.io/kubernetes pkg/apis/apps/v1, 1.36.
"""

from __future__ import annotations

from jobspec.diagnostics import Key
from jobspec.validation.problem import Problem
from jobspec.validation.reading import mapping, string_map

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

_LARGEST = 2**63 - 1


def number_in_annotation(data: dict[str, Any], name: str, *, least: int | None = None, may_be_empty: bool = True) -> Iterator[Problem]:
    """The problem of an annotation that holds no number of 64 bits, or one below *least*."""
    value = string_map(mapping(data, "metadata"), "annotations").get(name)
    if value is None or (not value and may_be_empty):
        return
    found = _integer(value)
    path = ("metadata", "annotations", Key(name))
    if found is None:
        yield Problem("wrong-format", path, f'the annotation `{name}` holds a number, not "{value}"', "remove the annotation")
    elif least is not None and found < least:
        yield Problem("out-of-range", path, f"the annotation `{name}` is at least {least}, not {found}", "remove the annotation")


def _integer(text: str) -> int | None:
    digits = text[1:] if text[:1] in ("+", "-") else text
    if not digits.isascii() or not digits.isdecimal():
        return None
    return number if len(digits.lstrip("0")) < 20 and -_LARGEST - 1 <= (number := int(text)) <= _LARGEST else None
