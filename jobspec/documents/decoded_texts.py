"""Keep what texts were decoded to.

A repository has much text several times, such as the same object for each of its clusters, and steps of a run read a file again. Of many
texts only the name of the object differs: they are decoded once, too.
"""

from __future__ import annotations

from jobspec.documents.scalars import resolve
from jobspec.documents.shared_parts import is_shared

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any, TypeVar

    K = TypeVar("K")
    V = TypeVar("V")

    #: Of each document of a text: the number, the data, and whether there are merge keys and aliases.
    Decoded = tuple[int, Any, bool, bool]


_kept: dict[str | tuple[str, str], Sequence[Decoded]] = {}
"""What texts were decoded to, those that were met last at the end.

The key is the text. If the text has one document, the key is its parts before and behind the name of the object.
"""
_MOST_KEPT, _SHORT = 2048, 1 << 14
_long: dict[bytes, tuple[int, Sequence[Decoded]]] = {}
"""The weights of longer texts, such as CRDs that several folders have, and what they were decoded to.

The key is a digest of the text.
"""
_MOST_LONG = 1 << 22  # the weight of all longer texts: their characters, but for those whose parts are shared
_SHARED = 64  # such a text weighs that part of its characters


def known(text: str) -> Sequence[Decoded] | None:
    """Return what a text is decoded to.

    If neither the text nor one that differs by the name alone was met, return None.
    """
    if len(text) > _SHORT:
        weighed = _met(_long, _digest_of(text))
        return weighed[1] if weighed else None
    found = _met(_kept, text)
    if found is not None or not (parts := _around_name(text)):
        return found
    before, name, behind = parts
    found = _met(_kept, (before, behind))
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
    if len(text) > _SHORT:
        weight = len(text) // _SHARED if all(is_shared(data) for _, data, _, _ in found) else len(text)
        if weight <= _MOST_LONG:
            _make_room(_long, lambda: sum(each for each, _ in _long.values()) + weight > _MOST_LONG)
            _long[_digest_of(text)] = weight, found
        return
    _make_room(_kept, lambda: len(_kept) >= _MOST_KEPT)
    parts = _around_name(text)
    if parts and len(found) == 1 and not any(found[0][2:]) and _is_name(node, parts):
        _kept[parts[0], parts[2]] = found
    else:
        _kept[text] = found


def _digest_of(text: str) -> bytes:
    from _blake2 import blake2b  # without the milliseconds that loading `hashlib` takes

    return blake2b(text.encode(errors="surrogatepass"), digest_size=32).digest()


def _met(kept: dict[K, V], key: K) -> V | None:
    found = kept.pop(key, None)
    if found is not None:
        kept[key] = found  # behind the others, as the one that was met last
    return found


def _make_room(kept: dict[K, V], is_full: Callable[[], bool]) -> None:
    """Drop what was met longest ago."""
    while kept and is_full():
        try:  # noqa: SIM105 (loads `contextlib`)
            del kept[next(iter(kept))]
        except (KeyError, RuntimeError):  # another thread has just made place
            pass


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
