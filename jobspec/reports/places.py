"""Places in reports: paths for reports that are read elsewhere, such as by a code scanning service, and the names of overlays."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from jobspec.diagnostics import Mark


def from_here(path: str) -> str:
    """The path relative to the working folder, mostly the repository's root; unchanged for a file outside of it."""
    relative = os.path.relpath(path)
    return path if relative.split(os.sep, 1)[0] == os.pardir else relative


def layer_of(mark: Mark) -> str:
    """` (overlay NAME)` for a place in an overlay, ` (variant NAME)` for one of a variant; empty where the place names it already."""
    return f" ({mark.layer_kind} {mark.layer})" if mark.layer and mark.file != f"overlay {mark.layer}" else ""
