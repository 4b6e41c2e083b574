"""The problem of a mistake in a CustomResourceDefinition."""

from __future__ import annotations

from jobspec.validation.problem import Problem

TYPE_CHECKING = False
if TYPE_CHECKING:
    from jobspec.diagnostics import Path


def invalid(path: Path, message: str, hint: str = "") -> Problem:
    """A problem `invalid-crd`."""
    return Problem("invalid-crd", path, message, hint)
