"""Check which metadata an update changes.

Follows `ValidateObjectMetaAccessorUpdate`, k8s.io/apimachinery pkg/api/validation, 0.36.
"""

from __future__ import annotations

from jobspec.diagnostics.places import Path
from jobspec.diagnostics.problems import Problem, Problems
from jobspec.kubernetes.metadata import bad_segment_prefix
from jobspec.kubernetes.problems import describe, fixed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


_METADATA: Path = ("metadata",)
_IDENTITY = ("uid", "resourceVersion")  # if set, the update is for this object or version only
_FIXED = ("deletionTimestamp", "deletionGracePeriodSeconds")


def metadata_update_problems(new: Any, old: Any, *, builtin: bool = False) -> Problems:
    """Yield the problems of changes from *old* to *new* metadata.

    Absent fields keep their values. `generateName` can be anything that fits into a URL; `metadata_problems` checks that of most
    *builtin* kinds.
    """
    if not isinstance(new, dict) or not isinstance(old, dict):
        return
    prefix = new.get("generateName")
    if isinstance(prefix, str) and not builtin and bad_segment_prefix(prefix):
        message = f"`{prefix}` cannot begin a name: {bad_segment_prefix(prefix)}"
        yield Problem("invalid-name", (*_METADATA, "generateName"), message, "remove it")
    for field in _IDENTITY:
        if new.get(field) and old.get(field) and new[field] != old[field]:
            both = f"`{field}` is {describe(new[field])}, and the stored object's is {describe(old[field])}"
            yield fixed((*_METADATA, field), f"{both}: the update is for another version of the object", "remove it")
    for field in _FIXED:
        if new.get(field) is not None and new[field] != old.get(field):
            yield fixed((*_METADATA, field), f"`{field}` cannot be set by an update", "remove it")
    kept, wanted = (each if isinstance(each, list) else [] for each in (old.get("finalizers"), new.get("finalizers")))
    for index, name in enumerate(wanted if old.get("deletionTimestamp") else []):
        if name not in kept:
            message = f"`{name}` cannot be added to the finalizers of an object that is being deleted"
            yield Problem("immutable-field", (*_METADATA, "finalizers", index), message)
