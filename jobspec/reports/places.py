"""Paths of files for reports that are read in another place, such as a code scanning service."""

from __future__ import annotations

import os


def from_here(path: str) -> str:
    """The path relative to the working folder, mostly the repository's root; unchanged for a file outside of it."""
    relative = os.path.relpath(path)
    return path if relative.split(os.sep, 1)[0] == os.pardir else relative
