"""What the server's Go code says of an object of a built-in kind, found by the kind's module in this folder.

Such a module has `problems`, for what holds on each create, and on each update but for those of `_ONLY_CHANGES`; and `update_problems`
where some fields cannot change. Both take objects as they are decoded.
"""

from __future__ import annotations

from importlib import import_module

from jobspec.validation.pods.found import beside
from jobspec.validation.problem import Problem
from jobspec.validation.typed import typed_value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from jobspec.shapes import Shape

#: The modules by kind; a kind without one has no rules but those of metadata.
_MODULES = {
    "ClusterRole": "role",
    "ClusterRoleBinding": "rolebinding",
    "ConfigMap": "configmap",
    "LimitRange": "limitrange",
    "Namespace": "namespace",
    "NetworkPolicy": "networkpolicy",
    "PodDisruptionBudget": "poddisruptionbudget",
    "PriorityClass": "priorityclass",
    "ResourceQuota": "resourcequota",
    "Role": "role",
    "RoleBinding": "rolebinding",
    "Secret": "secret",
}
#: The kinds of which an update looks at what changes, and not at the rest.
_ONLY_CHANGES = ("Namespace", "PriorityClass")
#: The kinds of which the server sets `metadata.generation` itself.
_OWN_GENERATION = ("NetworkPolicy", "PodDisruptionBudget", "PriorityClass")


def code_problems(data: dict[str, Any], found: list[Problem], shape: Shape, old: Any) -> list[Problem]:
    """The problems of an object besides its metadata: those *found* in its structure, and those of Go code.

    The object is an update unless *old* is None.
    """
    return beside(found, list(_problems(typed_value(data, shape), data["kind"], typed_value(old, shape))))


def _problems(made: dict[str, Any], kind: str, old: dict[str, Any] | None) -> Iterator[Problem]:
    if old is None and kind not in _OWN_GENERATION:
        yield from _generation(made.get("metadata", {}))
    if kind not in _MODULES:
        return
    module = import_module(f"jobspec.validation.builtin_kinds.{_MODULES[kind]}")
    if old is None or kind not in _ONLY_CHANGES:
        yield from module.problems(made, old)
    if old is not None and hasattr(module, "update_problems"):
        yield from module.update_problems(made, old)


def _generation(metadata: dict[str, Any]) -> Iterator[Problem]:
    generation = metadata.get("generation", 0)
    if generation < 0:
        message = f"`generation` cannot be negative, as {generation} is"
        yield Problem("out-of-range", ("metadata", "generation"), message, "leave it out; the server sets it")
