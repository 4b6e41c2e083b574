"""The overlays of a command line: names and paths to files, and `--set` to values."""

from __future__ import annotations

import os

from jobspec.diagnostics import JobspecError
from jobspec.overlays.load import OverlayFile, load, shipped, shipped_file
from jobspec.overlays.parameters import Given

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from jobspec.diagnostics import Diagnostic
    from jobspec.overlays.overlay import Overlay
    from jobspec.targets import Target


def load_overlays(names: Sequence[str], sets: Sequence[str], target: Target) -> tuple[list[Overlay], list[Diagnostic]]:
    """The overlays with these names or paths, in order, each once, with the values of `--set`, and the problems of both.

    Raises JobspecError for a name that is no overlay and for a `--set` that fits none.
    """
    return load([_file(name) for name in dict.fromkeys(names)], [_given(text) for text in sets], target)


def _file(name: str) -> OverlayFile:
    """The overlay of a shipped name, or in the file at a path."""
    if os.sep not in name and not name.endswith((".yaml", ".yml", ".json")):
        return _shipped(name)
    if not os.path.isfile(name):
        raise JobspecError(f"no overlay at {name}: there is no such file")
    try:
        with open(name, "rb") as file:
            return OverlayFile(name, file.read())
    except OSError as error:
        raise JobspecError(f"{name}: {error.strerror}") from None


def _shipped(name: str) -> OverlayFile:
    known = shipped()
    if name in known:
        return shipped_file(name)
    from jobspec.kubernetes.problems import closest

    hint = closest(name, known)
    raise JobspecError(f"no overlay `{name}`: {f'{hint} ' if hint else ''}jobspec ships {', '.join(known)}; your own is given by its path")


def _given(text: str) -> Given:
    """The value in the text of a `--set`, `OVERLAY.NAME=VALUE`."""
    place, equals, value = text.partition("=")
    overlay, dot, name = place.rpartition(".")
    if not equals or not dot or not overlay or not name:
        raise JobspecError(f"--set {text}: write OVERLAY.NAME=VALUE")
    if not text.isascii() and any("\ud800" <= character <= "\udfff" for character in text):
        raise JobspecError(f"--set {place}: the value is not UTF-8")
    return Given(overlay, name, value, f"--set {text}")
