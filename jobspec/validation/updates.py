"""Check which metadata an update changes.

Follows `ValidateObjectMetaAccessorUpdate`, k8s.io/apimachinery pkg/api/validation, 0.36.
"""

from __future__ import annotations

from jobspec.validation.problem import Problem
from jobspec.validation.wording import describe

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from jobspec.diagnostics import Path

_META: Path = ("metadata",)
_IDENTITY = ("uid", "resourceVersion")  # if set, the update is for this object or version only
_FIXED = ("deletionTimestamp", "deletionGracePeriodSeconds")


def metadata_update_problems(new: Any, old: Any, *, builtin: bool = False) -> Iterator[Problem]:
    """The problems of changes from the *old* metadata to the *new*; absent fields keep their values.

    `generateName` of a custom resource can be anything that fits into a URL; `metadata_problems` checks that of *builtin* kinds.
    """
    if not isinstance(new, dict) or not isinstance(old, dict):
        return
    prefix = new.get("generateName")
    if isinstance(prefix, str) and not builtin and (set("/%") & set(prefix)):
        yield Problem(
            "invalid-name", (*_META, "generateName"), f"`{prefix}` cannot begin a name: it cannot hold `/` or `%`", "leave it out"
        )
    for field in _IDENTITY:
        if new.get(field) and old.get(field) and new[field] != old[field]:
            message = (
                f"`{field}` is {describe(new[field])}, and the stored object's is {describe(old[field])}: another state of it is meant"
            )
            yield Problem("immutable-field", (*_META, field), message, "leave it out")
    for field in _FIXED:
        if new.get(field) is not None and new[field] != old.get(field):
            yield Problem("immutable-field", (*_META, field), f"`{field}` cannot be set by an update", "leave it out")
    kept = old.get("finalizers") or []
    for index, name in enumerate(new.get("finalizers") or [] if old.get("deletionTimestamp") else []):
        if name not in kept:
            message = f"`{name}` cannot be added to the finalizers of an object that is being deleted"
            yield Problem("immutable-field", (*_META, "finalizers", index), message)
