"""Keep the findings of lint in single files in the user's cache, beside the checks of these files."""

from __future__ import annotations

from jobspec.session.kept_files import sealed
from jobspec.session.pickles import PROTOCOL, read_entries, unpickled

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from jobspec.diagnostics.diagnostic import Diagnostic
    from jobspec.lint.kept_findings import Answers
    from jobspec.session.cache import Cache
    from jobspec.session.kept_files import KeptChecks

    #: What rules have asked, and the pickled findings, sealed if the file may have a Secret.
    _Entry = tuple[Answers, bytes]


class FindingsCache:
    """The findings of an earlier run with the same options and rules, and those that this run adds."""

    def __init__(self, cache: Cache, scope: str, checks: KeptChecks) -> None:
        """*scope*: a digest of the options and rules. *checks*: know what the check of each file has read."""
        self._cache, self._scope, self._checks = cache, scope, checks
        self._parts: dict[int, Mapping[bytes, _Entry]] = {}
        """The findings of the earlier run."""
        self._used: dict[int, dict[bytes, _Entry]] = {}
        """Those of this run, too."""

    def place(self, path: str) -> bytes | None:
        """Return a digest of all that the check of a file has read.

        If it is not known, return None.
        """
        read = self._checks.read_by(path)
        return read.digest if read else None

    def known(self, path: str) -> tuple[Answers, list[Diagnostic]] | None:
        """Return the findings in a file whose check has read the same, and what its rules have asked.

        If there are none, return None.
        """
        read = self._checks.read_by(path)
        entry = self._part(read.part).get(read.digest) if read else None
        if read is None or entry is None:
            return None
        answers, content = entry
        found = unpickled(sealed(content, read.seal_for("findings"))) if content else []
        if not isinstance(found, list):
            return None
        self._used.setdefault(read.part, {})[read.digest] = entry
        return answers, found

    def learned(self, path: str, answers: Answers, found: list[Diagnostic]) -> None:
        """Keep the findings in a file."""
        import pickle

        if read := self._checks.read_by(path):
            content = sealed(pickle.dumps(found, protocol=PROTOCOL), read.seal_for("findings")) if found else b""
            self._used.setdefault(read.part, {})[read.digest] = answers, content

    def write(self) -> None:
        """Write the findings that this run used or added, where they are others than before."""
        import pickle

        for number in sorted({*self._parts, *self._used}):
            used = self._used.get(number, {})
            if used != self._parts.get(number, {}):
                self._cache.write(self._name(number), pickle.dumps(used, protocol=PROTOCOL))

    def _part(self, number: int) -> Mapping[bytes, _Entry]:
        if number not in self._parts:
            self._parts[number] = read_entries(self._cache, self._name(number))
        return self._parts[number]

    def _name(self, number: int) -> str:
        return f"{self._scope}-findings-{number}"
