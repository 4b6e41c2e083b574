"""The server's Go rules for a Namespace.

Follows `ValidateNamespace`, k8s.io/kubernetes pkg/apis/core/validation, 1.36.
"""

from __future__ import annotations

from jobspec.diagnostics.places import Data
from jobspec.diagnostics.problems import Problem, Problems
from jobspec.kubernetes import metadata
from jobspec.kubernetes.problems import (
    field_items,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    pass


def namespace_problems(namespace: Data, old: Data | None, _: str) -> Problems:
    """Yield the problems of a new namespace."""
    for path, name in field_items(namespace.get("spec", {}), "finalizers", ("spec",)) if old is None else ():
        if why := metadata.bad_qualified_name(name):
            yield Problem("invalid-name", path, f"`{name}` is not a valid name for a finalizer: {why}")
        elif "/" not in name and name not in metadata.KNOWN_FINALIZERS:
            message = f"`{name}` is not one of Kubernetes' own finalizers, and others need a domain: `example.com/{name}`"
            yield Problem("invalid-name", path, message)
