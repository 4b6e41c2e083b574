"""Find and read the files that jobspec ships: overlays, schemas, templates."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


_LABEL = "overlay "
_HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def path(*parts: str) -> str:
    """Return the path of a file or folder below `overlays/` or `schemas/`."""
    installed = os.path.join(_HERE, "_data")
    return os.path.join(installed if os.path.isdir(installed) else os.path.dirname(_HERE), *parts)


def overlay_path(name: str) -> str:
    """Return the path of an overlay that comes with jobspec."""
    return path("overlays", f"{name}.yaml")


def overlay_content(name: str) -> bytes:
    """Read the file of an overlay that comes with jobspec. Raises OSError if there is none."""
    with open(overlay_path(name), "rb") as file:
        return file.read()


def overlay_label(name: str) -> str:
    """Return the name that diagnostics show for the file of a shipped overlay."""
    return f"{_LABEL}{name}"


def path_of_file(shown: str) -> str:
    """Return the path of a file by the name that diagnostics show.

    For a shipped overlay, that is the path of the overlay's file; for any other file, the name itself.
    """
    return overlay_path(shown.removeprefix(_LABEL)) if shown.startswith(_LABEL) else shown


def package_path(*parts: str) -> str:
    """Return the path of a file in the package itself."""
    return os.path.join(_HERE, *parts)


def package_text(*parts: str) -> str:
    """Return the text of a file in the package itself."""
    with open(package_path(*parts), encoding="utf-8") as file:
        return file.read()


def load(path: str) -> Any:
    """Return the data of a JSON file of ours.

    The file is read by the parser that CPython's `json` is built on, if there is one: to import that package takes longer than to read a
    schema. If the file is broken, `json` reads it again and says where. Raises ValueError, with the file's name in a note, if the file
    holds no JSON; only a broken installation can cause that.
    """
    with open(path, encoding="utf-8") as file:
        text = file.read()
    try:
        from _json import make_scanner

        return make_scanner(_Plain())(text, 0)[0]  # type: ignore[arg-type]  # typeshed takes the scanner for its own argument
    except (ImportError, AttributeError, TypeError, StopIteration, ValueError):  # it is CPython's own affair, and may change
        import json

        try:
            return json.loads(text)
        except ValueError as error:
            error.add_note(f"in {path}")
            raise


class _Plain:
    """How the parser is to read: as `json.loads` does when it has no options."""

    strict = True
    object_hook = None
    object_pairs_hook = None
    parse_float = float
    parse_int = int
    parse_constant = None
    memo: dict[str, str] = {}  # noqa: RUF012 (the parser asks for it)
