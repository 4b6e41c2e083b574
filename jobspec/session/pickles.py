"""Pickle the results of checks for the cache.

The data of documents, which many results have alike, is kept once.
Nothing but plain values and values of jobspec's own classes is unpickled.
"""

from __future__ import annotations

import io
import pickle
from functools import cache

from jobspec.apis.kinds import configures_queues
from jobspec.documents.document import Document

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection
    from typing import Any

    from jobspec.session.cache import Cache

PROTOCOL = 5
_CLASSES = frozenset((("builtins", "set"), ("builtins", "frozenset")))
_PARTS = 16  # entries of the cache for the data of the documents of one command line


def unpickled(content: bytes, shared: Callable[[bytes], Any] | None = None) -> Any:
    """Return a pickled value.

    If it holds anything but plain values and values of jobspec's own classes, return None. *shared*: gives the data of a digest.
    """
    try:
        return _OwnValues(io.BytesIO(content), shared).load()
    except Exception:
        return None


def read_entries(cache: Cache, name: str) -> dict[Any, Any]:
    """Return the pickled mapping that an entry of the cache holds.

    If there is none, return an empty mapping.
    """
    content = cache.read(name)
    found = unpickled(content) if content is not None else None
    return found if isinstance(found, dict) else {}


@cache
def _own_class(module: str, name: str) -> Any:
    """Return a class by the names in a pickle. Raises UnpicklingError if it is not jobspec's own, nor one of plain values."""
    if module.startswith("jobspec.") or (module, name) in _CLASSES:
        found = pickle.Unpickler(io.BytesIO()).find_class(module, name)  # noqa: S301 (of one class, without a content)
        if found is configures_queues or (isinstance(found, type) and found.__module__ == module):
            return found
    raise pickle.UnpicklingError(name)


class _OwnValues(pickle.Unpickler):
    """Unpickles plain values, and values of jobspec's own classes."""

    find_class = staticmethod(_own_class)  # and no method, whose calls for each of many values take long

    def __init__(self, content: io.BytesIO, shared: Callable[[bytes], Any] | None) -> None:
        super().__init__(content)
        self._shared = shared

    def persistent_load(self, pid: Any) -> Any:
        if self._shared is None or not isinstance(pid, bytes):
            raise pickle.UnpicklingError
        return self._shared(pid)


class _WithoutData(pickle.Pickler):
    """Pickles a value with the digests of its documents in the place of their data."""

    def __init__(self, content: io.BytesIO) -> None:
        super().__init__(content, protocol=PROTOCOL)
        self.documents: dict[int, Document] = {}
        """Those seen so far, by the identity of their data."""

    def persistent_id(self, value: Any) -> bytes | None:
        if value.__class__ is Document and isinstance(value.data, dict):
            self.documents[id(value.data)] = value
        elif id(value) in self.documents:
            return self.documents[id(value)].digest
        return None


class SharedData:
    """The data of documents that the cache has for the checks of one command line, by digest."""

    def __init__(self, cache: Cache, scope: str) -> None:
        self._cache, self._scope = cache, scope
        self._pickled: dict[int, dict[bytes, bytes]] = {}
        """What the cache has, by part."""
        self._new: dict[bytes, bytes] = {}
        self._made: dict[bytes, Any] = {}

    def __call__(self, digest: bytes) -> Any:
        """Return the data that all documents with a digest share.

        Raises KeyError if the cache does not have it.
        """
        if digest not in self._made:
            self._made[digest] = unpickled(self._part(_part_of(digest))[digest])
        return self._made[digest]

    def pickled(self, value: Any) -> tuple[bytes, Collection[bytes]]:
        """Return a pickled value without the data of its documents, and the digests of the data."""
        content = io.BytesIO()
        pickler = _WithoutData(content)
        pickler.dump(value)
        found = {each.digest: each for each in pickler.documents.values()}
        for digest, document in found.items():
            if digest not in self._new and digest not in self._part(_part_of(digest)):
                self._new[digest] = pickle.dumps(document.data, protocol=PROTOCOL)
        return content.getvalue(), tuple(found)

    def write(self, used: Collection[bytes]) -> None:
        """Write the data of the *used* digests, where these are others than before."""
        by_part: dict[int, set[bytes]] = {number: set() for number in range(_PARTS)}
        for digest in used:
            by_part[_part_of(digest)].add(digest)
        for number, digests in by_part.items():
            before = self._part(number)
            if digests != before.keys():
                known = {**before, **self._new}
                kept = {each: known[each] for each in sorted(digests) if each in known}
                self._cache.write(self._name(number), pickle.dumps(kept, protocol=PROTOCOL))

    def _part(self, number: int) -> dict[bytes, bytes]:
        if number not in self._pickled:
            self._pickled[number] = read_entries(self._cache, self._name(number))
        return self._pickled[number]

    def _name(self, number: int) -> str:
        return f"{self._scope}-data-{number}"


def _part_of(digest: bytes) -> int:
    return digest[0] % _PARTS
