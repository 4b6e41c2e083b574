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
    from collections.abc import Callable
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


def read_entries(cache: Cache, name: str, shared: Callable[[bytes], Any] | None = None) -> dict[Any, Any]:
    """Return the pickled mapping that an entry of the cache holds.

    If there is none, return an empty mapping. *shared*: as in `unpickled`.
    """
    content = cache.read(name)
    found = unpickled(content, shared) if content is not None else None
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
        self._parts: dict[int, dict[bytes, Any]] = {}
        """What the cache has, by part."""
        self._new: dict[bytes, Any] = {}
        self._used = set[bytes]()
        """The digests of the data that values of this run have."""

    def __call__(self, digest: bytes) -> Any:
        """Return the data that all documents with a digest share.

        Raises KeyError if the cache does not have it.
        """
        found = self._part(_part_of(digest))[digest]
        self._used.add(digest)
        return found

    def pickled(self, value: Any) -> bytes:
        """Return a pickled value without the data of its documents, which is kept apart."""
        content = io.BytesIO()
        pickler = _WithoutData(content)
        pickler.dump(value)
        for each in pickler.documents.values():
            self._used.add(each.digest)
            if each.digest not in self._part(_part_of(each.digest)):
                self._new[each.digest] = each.data
        return content.getvalue()

    def write(self) -> None:
        """Write the data that values of this run have, where it is other data than before."""
        by_part: dict[int, set[bytes]] = {number: set() for number in range(_PARTS)}
        for digest in self._used:
            by_part[_part_of(digest)].add(digest)
        for number, digests in by_part.items():
            before = self._part(number)
            if digests != before.keys():
                known = {**before, **self._new}
                self._cache.write(self._name(number), pickle.dumps({each: known[each] for each in sorted(digests)}, protocol=PROTOCOL))

    def _part(self, number: int) -> dict[bytes, Any]:
        if number not in self._parts:
            self._parts[number] = read_entries(self._cache, self._name(number))
        return self._parts[number]

    def _name(self, number: int) -> str:
        return f"{self._scope}-data-{number}"


def _part_of(digest: bytes) -> int:
    return digest[0] % _PARTS
