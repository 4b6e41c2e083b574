"""`matchLabelKeys` and `mismatchLabelKeys`, whose values a selector takes from the pod.

Follows `ValidateMatchLabelKeysAndMismatchLabelKeys`, k8s.io/kubernetes pkg/apis/core/validation, and `applyLabelKeysToLabelSelector`,
pkg/registry/core/pod, 1.36.
"""

from __future__ import annotations

from jobspec.validation.metadata import bad_qualified_name
from jobspec.validation.problem import Problem

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from jobspec.diagnostics import Path

_FIELDS = ("matchLabelKeys", "mismatchLabelKeys")


def label_key_problems(term: dict[str, Any], path: Path) -> Iterator[Problem]:
    """The problems of the label keys of a term of affinity, or of a constraint of spread."""
    selector = term.get("labelSelector")
    for field in _FIELDS:
        keys = term.get(field) or ()
        if keys and selector is None:
            message = f"`{field}` narrows the `labelSelector`, which is not there"
            yield Problem("conflicting-values", (*path, field), message, "add the selector, or remove the keys", at_key=True)
            continue
        for index, key in enumerate(keys):
            if why := bad_qualified_name(key):
                yield Problem("wrong-format", (*path, field, index), f'"{key}" is no label key: {why}')
    unlike = term.get(_FIELDS[1]) or ()
    for index, key in enumerate(term.get(_FIELDS[0]) or ()):
        if key in unlike:
            message = f'the values of "{key}" cannot both match and not match'
            yield Problem("conflicting-values", (*path, _FIELDS[0], index), message, "remove it from one of the two lists")
    if selector is not None:
        yield from repeated_key_problems(term, {}, path)


def repeated_key_problems(term: dict[str, Any], labels: dict[str, str], path: Path) -> Iterator[Problem]:
    """The problems of keys that the selector has already, once the server has added those that are among the pod's *labels*."""
    selector = term.get("labelSelector") or {}
    wanted = {key: index for index, key in enumerate(term.get(_FIELDS[0]) or ())}
    seen = set(selector.get("matchLabels") or ())
    added = [key for field in _FIELDS for key in term.get(field) or () if key in labels]
    for key in (*(condition.get("key") or "" for condition in selector.get("matchExpressions") or ()), *added):
        if key in wanted and key in seen:
            message = f'"{key}" is in `matchLabelKeys` and in the `labelSelector` beside it'
            yield Problem("conflicting-values", (*path, _FIELDS[0], wanted[key]), message, "remove it from one of the two")
        seen.add(key)
