"""What a run reports, as an entry of the cache holds it.

The result of a file is sealed if a finding may quote a Secret of the file: by a key that is made of the file, so that the cache alone does
not give it.
"""

from __future__ import annotations

from functools import partial
from hashlib import blake2b

from jobspec.apis.shipped import path_of_file
from jobspec.diagnostics.results import FileResult
from jobspec.session.cache import digest_of
from jobspec.session.delivery import RunReport
from jobspec.session.disk import DISK
from jobspec.session.kept_files import sealed
from jobspec.session.mentions import has_no_secret
from jobspec.session.pickles import PROTOCOL, unpickled
from jobspec.session.secret_values import has_generator, may_have_secret, may_quote_secret

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from jobspec.reports.text import ReadText
    from jobspec.session.judging import EarlierRun


class CannotSealError(Exception):
    """No key can be made for the result of a file, whose path it has."""


def quoting(report: RunReport, read: ReadText, earlier: EarlierRun | None) -> set[str]:
    """Return the paths of the files with findings that may quote a Secret of theirs.

    *read*: gives the text of a file. *earlier*: what an earlier run has kept; None if there is no such run.
    """
    facts = earlier.facts if earlier else None

    def once(path: str, words: str, find: Callable[[], bool]) -> bool:
        """Look at the words of findings once for all that the check of their file has read."""
        met = earlier.checks.read_by(path) if earlier else None
        return earlier.facts.once("quotes", digest_of((met.digest, words)), find) if earlier and met else find()

    return {
        each.path
        for each in report.files
        if may_quote_secret(each, read, may_have_one=not has_no_secret(each.path, facts), once=partial(once, each.path))
    }


def dumped(report: RunReport, to_seal: Collection[str], name: str) -> bytes:
    """Return a report as the entry *name* holds it. Raises CannotSealError.

    *to_seal*: the paths of the files whose results are sealed.
    """
    import pickle

    def kept(result: FileResult) -> FileResult | tuple[str, bytes]:
        if result.path not in to_seal:
            return result
        return result.path, sealed(pickle.dumps(result, protocol=PROTOCOL), _seal_of(result.path, name))

    return pickle.dumps(([kept(each) for each in report.files], report.fails, dict(report.releases)), protocol=PROTOCOL)


def loaded(content: bytes, name: str) -> RunReport | None:
    """Return the report in the entry *name*. If the entry holds anything else, return None."""
    match unpickled(content):
        case (list() as files, bool() as fails, dict() as releases):
            found = [_opened(each, name) for each in files]
            return RunReport([each for each in found if each], fails, releases) if all(found) else None
    return None


def _opened(kept: object, name: str) -> FileResult | None:
    """Return the result of a file. If it cannot be opened, return None."""
    match kept:
        case FileResult():
            return kept
        case (str() as path, bytes() as content):
            try:
                result = unpickled(sealed(content, _seal_of(path, name)))
            except (CannotSealError, OSError):
                return None
            return result if isinstance(result, FileResult) else None
    return None


def _seal_of(path: str, name: str) -> bytes:
    """Return the key for the result of a file in the entry *name*. Raises CannotSealError.

    What a generator makes a Secret of is in other files, too, so that its own file makes no key.
    """
    content = DISK.read(path_of_file(path))
    if has_generator(content) or not may_have_secret(content):
        raise CannotSealError(path)
    return blake2b(content, key=digest_of((name, path)), digest_size=32).digest()
