"""The error that ends a run: jobspec cannot do what it was asked for."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    pass


class JobspecError(Exception):
    """jobspec could not run as asked: wrong arguments, a missing file, an unwritable folder. Exit code 2."""
