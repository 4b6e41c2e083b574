"""What the server's Go code says of a Namespace.

Follows `ValidateNamespace`, k8s.io/kubernetes pkg/apis/core/validation, 1.36. An update keeps the finalizers that there are.
"""

from __future__ import annotations

from jobspec.validation.metadata import bad_qualified_name
from jobspec.validation.problem import Problem

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

_KNOWN = ("kubernetes", "orphan", "foregroundDeletion")


def problems(namespace: dict[str, Any], _: Any) -> Iterator[Problem]:
    """The problems of a new namespace."""
    for index, name in enumerate(namespace.get("spec", {}).get("finalizers", ())):
        path = ("spec", "finalizers", index)
        if why := bad_qualified_name(name):
            yield Problem("invalid-name", path, f"`{name}` is no name for a finalizer: {why}")
        elif "/" not in name and name not in _KNOWN:
            message = f"`{name}` is none of Kubernetes' own finalizers, and others need a domain: `example.com/{name}`"
            yield Problem("invalid-name", path, message)
