"""Find and read the files that jobspec ships: overlays, schemas, templates."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


_LABEL = "overlay "
_HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def path(*parts: str) -> str:
    """The path of a file or folder below `overlays/` or `schemas/`."""
    installed = os.path.join(_HERE, "_data")
    return os.path.join(installed if os.path.isdir(installed) else os.path.dirname(_HERE), *parts)


def overlay_path(name: str) -> str:
    """The path of an overlay that comes with jobspec."""
    return path("overlays", f"{name}.yaml")


def overlay_label(name: str) -> str:
    """What diagnostics show as the file of an overlay that comes with jobspec."""
    return f"{_LABEL}{name}"


def path_of_file(shown: str) -> str:
    """The path of a file by what diagnostics show: of an overlay that comes with jobspec its own, of any other file the same."""
    return overlay_path(shown.removeprefix(_LABEL)) if shown.startswith(_LABEL) else shown


def package_path(*parts: str) -> str:
    """The path of a file that stands in the package itself."""
    return os.path.join(_HERE, *parts)


def package_text(*parts: str) -> str:
    """The text of a file that stands in the package itself."""
    with open(package_path(*parts), encoding="utf-8") as file:
        return file.read()


def load(path: str) -> Any:
    """What a JSON file of ours holds.

    It is read by the parser that CPython's `json` is built on, where there is one: to import that package takes longer than to read a
    schema. What is broken is left to `json`, which says where.

    Raises:
        ValueError: the file holds no JSON, which only a broken installation can cause; it is named in a note.

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
