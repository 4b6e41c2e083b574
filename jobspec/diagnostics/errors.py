"""The error that ends a run: jobspec cannot do what it was asked for."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    pass


class JobspecError(Exception):
    """jobspec cannot run as asked: wrong arguments, a missing file, an unwritable folder.

    The exit code is 2.
    """
