"""Keep facts about files in the user's cache.

They are found out before any file is checked, such as the kinds that a text names.
"""

from __future__ import annotations

from jobspec.session.pickles import PROTOCOL, read_entries

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Mapping
    from typing import Any, TypeVar

    from jobspec.session.cache import Cache

    T = TypeVar("T")


class KeptFacts:
    """The facts of an earlier run with the same options, and those that this run adds."""

    def __init__(self, cache: Cache, scope: str, digests: Mapping[str, bytes], tree: bytes, real_path: Callable[[str], str]) -> None:
        """*scope*: a digest of the options, and of the program.

        *digests*: those of the content of files in the repository, by real path. *tree*: a digest of the names of all files and folders.

        *real_path*: gives the real path of a file.
        """
        self._cache, self._scope = cache, scope
        self.digests, self.tree = digests, tree
        self._real_path = real_path
        self._before: dict[str, Mapping[Any, Any]] = {}
        """The facts of the earlier run, by the name of what they are about."""
        self._used: dict[str, dict[Any, Any]] = {}
        """Those that this run used or added."""

    def digest_of(self, path: str) -> bytes | None:
        """Return the digest of a file's content.

        If it is not known, return None.
        """
        return self.digests.get(self._real_path(path))

    def known(self, name: str, key: Hashable, kind: type[T]) -> T | None:
        """Return a fact of a kind. If it is not known, return None. *key*: all that the fact follows from."""
        found = self._of(name).get(key)
        if not isinstance(found, kind):
            return None
        self._used[name][key] = found
        return found

    def once(self, name: str, key: Hashable, find: Callable[[], bool]) -> bool:
        """Return whether something holds.

        If no earlier run has found that out, find it out and keep it. *key*: all that the fact follows from.
        """
        found = self.known(name, key, bool)
        if found is None:
            found = find()
            self.learned(name, key, found)
        return found

    def learned(self, name: str, key: Hashable, fact: Any) -> None:
        """Keep a fact."""
        self._of(name)
        self._used[name][key] = fact

    def write(self) -> None:
        """Write the facts that this run used or added, where they are others than before."""
        import pickle

        for name, used in self._used.items():
            if used.keys() != self._before[name].keys():
                self._cache.write(self._entry(name), pickle.dumps(used, protocol=PROTOCOL))

    def _of(self, name: str) -> Mapping[Any, Any]:
        if name not in self._before:
            self._before[name] = read_entries(self._cache, self._entry(name))
            self._used[name] = {}
        return self._before[name]

    def _entry(self, name: str) -> str:
        return f"{self._scope}-{name}"
