"""Places in reports: paths for reports that are read elsewhere, such as by a code scanning service, and the names of overlays."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from jobspec.diagnostics.diagnostic import Diagnostic
    from jobspec.diagnostics.places import Mark


def from_here(path: str) -> str:
    """Return a path relative to the working folder, mostly the repository's root.

    If the file is outside of the folder, the path is unchanged.
    """
    relative = os.path.relpath(path)
    return path if relative.split(os.sep, 1)[0] == os.pardir else relative


def layer_of(mark: Mark, *, others: int = 0) -> str:
    """Return ` (overlay NAME)` or ` (variant NAME)` for a place in a layer.

    If the place names the layer already, return an empty string. *others*: how many further layers there are.
    """
    more = f" and {others} more" if others else ""
    return f" ({mark.layer_kind} {mark.layer}{more})" if mark.layer and mark.file != f"overlay {mark.layer}" else ""


def message_of(diagnostic: Diagnostic) -> str:
    """Return the message, with the overlay, the variants or the builds of the diagnostic."""
    mark = diagnostic.mark
    if not (mark.layer or diagnostic.is_of_some_builds):
        return diagnostic.message
    layers = {each.mark.layer for each in diagnostic.related if str(each.mark) == str(mark)}
    builds = f" ({diagnostic.build_words})" if diagnostic.is_of_some_builds else ""
    return diagnostic.message + layer_of(mark, others=len(layers - {mark.layer})) + builds
