"""Keep what texts were decoded to.

A repository has much text several times, such as the same object for each of its clusters, and steps of a run read a file again. Of many
texts only the name of the object differs: they are decoded once, too.
"""

from __future__ import annotations

from jobspec.documents.scalars import resolve

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    #: Of each document of a text: the number, the data, and whether there are merge keys and aliases.
    Decoded = tuple[int, Any, bool, bool]


_kept: dict[str | tuple[str, str], Sequence[Decoded]] = {}
"""What texts were decoded to, those that were met last at the end.

The key is the text. If the text has one document, the key is its parts before and behind the name of the object.
"""
_MOST_KEPT, _LONGEST_KEPT = 2048, 1 << 14


def known(text: str) -> Sequence[Decoded] | None:
    """Return what a text is decoded to.

    If neither the text nor one that differs by the name alone was met, return None.
    """
    found = _met(text)
    if found is not None or not (parts := _around_name(text)):
        return found
    before, name, behind = parts
    found = _met((before, behind))
    if found is None:
        return None
    ((number, data, has_merges, has_aliases),) = found
    if data["metadata"]["name"] == name:
        return found
    return [(number, {**data, "metadata": {**data["metadata"], "name": name}}, has_merges, has_aliases)]


def keep(text: str, found: Sequence[Decoded], node: Any) -> None:
    """Keep what a text was decoded to.

    It takes the place of the text that was met longest ago. *node*: that of the last document.
    """
    if len(text) > _LONGEST_KEPT:
        return
    if len(_kept) >= _MOST_KEPT:
        try:  # noqa: SIM105 (loads `contextlib`)
            del _kept[next(iter(_kept))]
        except (KeyError, RuntimeError):  # another thread has just made place
            pass
    parts = _around_name(text)
    if parts and len(found) == 1 and not any(found[0][2:]) and _is_name(node, parts):
        _kept[parts[0], parts[2]] = found
    else:
        _kept[text] = found


def _met(key: str | tuple[str, str]) -> Sequence[Decoded] | None:
    found = _kept.pop(key, None)
    if found is not None:
        _kept[key] = found  # behind the others, as the one that was met last
    return found


def _around_name(text: str) -> tuple[str, str, str] | None:
    """Cut a text around the first plain `name`, which any other such name can replace.

    If there is none, return None.
    """
    before, key, rest = text.partition("name: ")
    name = rest[:_LONGEST_NAME].partition("\n")[0].partition("}")[0].partition(",")[0]
    if not (name.isascii() and name[:1].isalpha() and name.replace("-", "").replace(".", "").isalnum() and resolve(name) == name):
        return None
    return before + key, name, rest[len(name) :]


_LONGEST_NAME = 254


def _is_name(node: Any, parts: tuple[str, str, str]) -> bool:
    """True if the name of an object is written where its text is cut."""
    for step in ("metadata", "name"):
        children = getattr(node, "children", None)
        if not isinstance(children, dict) or step not in children:
            return False
        _, node = children[step]
    before, name, _ = parts
    is_plain = getattr(node, "value", None) == name and not (node.tag or node.anchor)
    return is_plain and getattr(node.start_mark, "index", None) == len(before)
