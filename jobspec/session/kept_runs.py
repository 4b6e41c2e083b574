"""Keep what a whole run reports, and give it back to a run of the same command line on the same files.

A run is known by a digest of all that it can read: every file of the repository, the command line, the programs that it starts, what Git
ignores, and jobspec's own files. What it reports is kept only if that digest is the same when it has ended. Runs that may read anything
else are not kept: those with files outside of the repository, for example.
"""

from __future__ import annotations

import os
import re
import sys
import time
from contextlib import suppress
from hashlib import blake2b
from itertools import chain
from stat import S_ISREG

from jobspec.apis.kinds import MANIFEST_ENDINGS
from jobspec.apis.shipped import package_path, path_of_file
from jobspec.apis.shipped import path as shipped_path
from jobspec.diagnostics.record import Record
from jobspec.documents.document import PAGES
from jobspec.session.cache import Cache, cache_folder, digest_of
from jobspec.session.delivery import RunReport
from jobspec.session.disk import DISK
from jobspec.session.findings_cache import FindingsCache
from jobspec.session.folders import real_paths, repository_root
from jobspec.session.judging import EarlierRun
from jobspec.session.kept_facts import KeptFacts
from jobspec.session.kept_files import KeptChecks
from jobspec.session.kept_reports import CannotSealError, dumped, loaded, quoting
from jobspec.session.listing import Listing
from jobspec.session.options import Options
from jobspec.session.pickles import PROTOCOL, read_entries
from jobspec.session.secret_values import may_have_secret

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from jobspec.lint.ignores import ReportFilter
    from jobspec.session.judging import Depth, RunResults

_OWN = (package_path(), shipped_path("schemas"), shipped_path("overlays"))
"""The places of jobspec's own files."""
_WORTH_KEEPING = 48  # manifests; to judge fewer takes about as long as to look at the cache
_OTHERS = 16  # files for each manifest; to read more of them takes longer than is gained
_BYTES_OF_OTHERS = 1 << 28  # of those that are not large
_TICK = 2_000_000_000  # nanoseconds; file systems keep the time of a change at least as exactly as this
_LARGE = 1 << 20  # bytes of a file that is no manifest, from which on it is known by when it was changed
_ENDINGS = (*MANIFEST_ENDINGS, *PAGES)
#: The options with which runs are kept, since what they name is in the repository or in the command line.
_KNOWN = frozenset(
    (
        *("paths", "build", "skip_unknown", "markdown", "target", "closed_world", "admission", "outcome", "apply"),
        *("select", "ignore", "fail_on", "crd", "cluster", "by_environment"),
    )
)
#: The options that change nothing of what is found.
_OF_REPORTS = frozenset(("output_file", "reports", "statistics", "cache", "verbose", "disk"))
#: The options that choose what is reported of what is found, and the files.
_OF_CHOICE = frozenset(("paths", "select", "ignore", "fail_on"))
#: Variables of the environment that Git, and the search for files, go by.
_VARIABLES = re.compile("GIT_|HOME$|XDG_CONFIG_HOME$|TZ$|LC_|LANG")


class _Unkept(Exception):
    """Why a run is not kept."""


#: What is known of a file: its state on the disk, the digest of its content, and whether later runs may know that.
_Settled = tuple[tuple[int, ...], bytes, bool]


class _State(Record):
    """The digest of all that a run can read."""

    content: str
    """The same for the same content, wherever and whenever it was written."""
    changes: str
    """Another one after any change of a file, even one that was taken back."""
    scope: str
    """A digest of the options by which files are checked, and of the program."""
    scope_of_lint: str
    """The same with the choice of rules."""
    digests: Mapping[str, bytes]
    """A digest of each file, by its real path."""
    tree: bytes
    """A digest of the names of all files and folders, and where links lead."""
    contents: Mapping[str, bytes]
    """The digests of content. A large file that is no manifest has none: it is known by when it was changed."""
    settled: Mapping[str, _Settled]
    """What is known of each file that was last changed well before it was read."""
    number: int
    """The number of manifests."""
    listing: Listing
    """What the folders of the repository hold."""
    real_path: Callable[[str], str]
    """Gives the real path of a file or folder, and resolves each once."""


class Recall(Record):
    """What the cache has for a run."""

    report: RunReport | None
    """What an earlier run has reported on the same files; None if there was none."""
    said: str = ""
    """The same for people, or why the cache is not used."""
    before: _State | None = None
    """What the run can read when it begins; None if the run is not kept."""
    earlier: EarlierRun | None = None
    """What a run on other files has kept; None if this run is not kept."""


def recall(options: Options, settings: ReportFilter | None, depth: Depth) -> Recall:
    """Look for what an earlier run has reported on the same files."""
    try:
        before = _state(options, settings, depth)
    except (_Unkept, OSError) as why:
        return Recall(None, f"cache: not used, {why}")
    cache = _cache()
    content = cache.read(before.content)
    report = loaded(content, before.content) if content is not None else None
    said = f"cache: the result of an earlier run on the same files, from {cache.folder}"
    if report:
        return Recall(report, said, before)
    kept = _cache("checks")
    facts = KeptFacts(kept, before.scope, before.contents, before.tree, before.real_path)
    checks = KeptChecks(kept, before.scope, before.digests, before.real_path, facts)
    findings = FindingsCache(kept, before.scope_of_lint, checks) if depth.chosen is not None else None
    return Recall(None, said, before, EarlierRun(checks, findings, facts, before.listing))


def checks_of_earlier_runs(options: Options, settings: ReportFilter | None, depth: Depth) -> KeptChecks | None:
    """Return the checks that runs of the command line have kept, for an editor.

    They hold for what meets no open text. If the editor can use none, return None.
    """
    try:
        state = _state(options.changed(disk=DISK), settings, depth)
    except (_Unkept, OSError):
        return None
    opened = options.disk.opened or {}
    digests = {path: digest for path, digest in state.digests.items() if path not in opened}
    return KeptChecks(_cache("checks"), state.scope, digests, state.real_path)


def keep(report: RunReport, results: RunResults, known: Recall, *, options: Options, settings: ReportFilter | None, depth: Depth) -> str:
    """Keep what a run reports and its checks, unless a file has changed since it began.

    Return what is to be said of that.
    """
    cache, before = _cache(), known.before
    assert before
    try:
        _require_inside(results, before)
        after = _state(options, settings, depth, before)
        if (after.content, after.changes, after.scope) != (before.content, before.changes, before.scope):
            raise _Unkept("a file has changed meanwhile")
        _keep_settled(repository_root(os.getcwd()), after.settled)
        to_seal = quoting(report, results.text, known.earlier)
        if known.earlier:
            known.earlier.write()
            _cache("checks").trim()
        _require_all_built(results)
        if not cache.write(before.content, dumped(report, to_seal, before.content)):
            raise _Unkept(f"{cache.folder} cannot be written")
    except CannotSealError as path:
        return f"cache: not kept, {path} generates a Secret, and findings may quote it"
    except (_Unkept, OSError, RecursionError) as why:
        return f"cache: not kept, {why}"
    cache.trim()
    return f"cache: kept in {cache.folder}"


def _cache(name: str = "runs") -> Cache:
    return Cache(os.path.join(cache_folder(), name))


def _state(options: Options, settings: ReportFilter | None, depth: Depth, before: _State | None = None) -> _State:
    """Digest all that a run can read. Raises _Unkept if it may read anything else, or if that takes too long.

    *before*: the state at the beginning of the run. Its files that are as they were are not read again.
    """
    root = _repository(options, settings)
    content, changes = blake2b(), blake2b()
    lints = depth.chosen is not None
    choice = (settings.select, settings.ignore) if settings else ()
    given = {name: value for name, value in sorted(vars(options).items()) if name not in _OF_REPORTS}
    environment = sorted((name, value) for name, value in os.environ.items() if _VARIABLES.match(name))
    around = (depth.outcome, os.getcwd(), root, environment, list(_programs()), *_of_python())
    content.update(repr(around).encode("utf-8", "replace"))
    listing = Listing()
    number = before.number if before else sum(1 for each in options.paths or [os.curdir] for _ in _manifests_in(each, listing))
    if number < _WORTH_KEEPING:
        raise _Unkept("there are few files")
    read = _Digests(before.settled if before else _settled(root))
    for path, kind, about in chain(*(_below(each, listing, {"__pycache__"}, "") for each in _OWN)):
        if kind == b"file":
            content.update(repr((os.fsencode(path), read.digest(path, about, is_known=True))).encode())
    scope = content.copy()
    of_checks = {name: value for name, value in given.items() if name not in _OF_CHOICE}
    scope.update(repr((of_checks, lints, settings.pods if settings else {})).encode("utf-8", "replace"))
    scope_of_lint = scope.copy()
    scope_of_lint.update(repr(choice).encode("utf-8", "replace"))
    content.update(repr((given, lints, choice)).encode("utf-8", "replace"))
    files: list[str] = []
    digests: dict[str, bytes] = {}
    of_others = 0
    tree, held, states = list[bytes](), list[bytes](), list[str]()
    kept = os.path.realpath(cache_folder())
    for path, kind, about in _below(root, listing, {".git"}, kept):
        files.append(path)
        if len(files) > _OTHERS * number:
            raise _Unkept("the repository has many other files")
        tree += (os.fsencode(path), kind)
        if kind == b"file":
            is_manifest = path.lower().endswith(_ENDINGS)
            of_others += about.st_size if about.st_size <= _LARGE and not is_manifest else 0
            if of_others > _BYTES_OF_OTHERS:
                raise _Unkept("the other files of the repository are large")
            digests[path] = read.digest(path, about, is_known=is_manifest)
            held.append(digests[path])
        if kind != b"folder":
            states.append(" ".join(map(str, _on_disk(about))))
    of_tree = blake2b(b"\0".join(tree)).digest()
    content.update(of_tree + repr(held).encode())
    changes.update("\n".join(states).encode())
    for each in _said_by_git(root, files):
        content.update(blake2b(each).digest())
    return _State(
        content=content.hexdigest(),
        changes=changes.hexdigest(),
        scope=scope.hexdigest()[:32],
        scope_of_lint=scope_of_lint.hexdigest()[:32],
        digests=digests,
        tree=of_tree,
        contents=read.contents,
        settled=read.settled,
        number=number,
        listing=listing,
        real_path=real_paths(digests),
    )


def _settled(root: str) -> Mapping[str, _Settled]:
    """Return what an earlier run has kept of the files of a repository."""
    return read_entries(_cache("files"), _name_of(root))


def _name_of(root: str) -> str:
    """Return the name of the entry for the files of a repository.

    The form of the entry is a part of the name.
    """
    return digest_of((root, "state, digest, may be known later")).hex()


def _keep_settled(root: str, settled: Mapping[str, _Settled]) -> None:
    """Keep what is known of the manifests of a repository.

    Those with a Secret are left out, as files are that generators may make one of: a digest would confirm a guess of their content.
    """
    import pickle

    known = {path: each for path, each in settled.items() if each[2]}
    if known != _settled(root):
        cache = _cache("files")
        cache.write(_name_of(root), pickle.dumps(known, protocol=PROTOCOL))
        cache.trim()


def _repository(options: Options, settings: ReportFilter | None) -> str:
    """Return the root of the repository that holds all that the options name. Raises _Unkept if there is none."""
    for name, value in vars(options).items():
        if name not in _KNOWN | _OF_REPORTS and value and value != getattr(Options, name):
            raise _Unkept(f"with --{name.replace('_', '-')}")
    if options.disk.opened is not None or options.disk.root:
        raise _Unkept("in an editor")
    if settings and (settings.baseline or settings.contracts):
        raise _Unkept("with a baseline or contracts")
    root = repository_root(os.getcwd())
    if not root:
        raise _Unkept("outside of a repository")
    paths = options.paths or [os.curdir]
    for each in (*paths, *options.crd, *([options.cluster] if options.cluster else ())):
        folder = each if os.path.isdir(each) else os.path.dirname(each)
        if each == "-" or repository_root(os.path.realpath(folder)) != root or repository_root(folder) != root:
            raise _Unkept(f"{each} is outside of this repository")
    return root


def _manifests_in(path: str, listing: Listing) -> Iterator[str]:
    if os.path.isdir(path):
        for _, folders, names in listing.walk(path):
            folders[:] = [each for each in folders if not each.startswith(".")]
            yield from (name for name in names if name.lower().endswith(_ENDINGS))


def _below(folder: str, listing: Listing, left_out: set[str], kept: str) -> Iterator[tuple[str, bytes, os.stat_result]]:
    """Yield all that is in a folder, sorted: its path, its kind or where it links to, and its state.

    *left_out*: the names of folders that are named alone. *kept*: the folder of the cache, which is left out. Raises _Unkept if a folder
    cannot be read, or a link leads out.
    """
    left = [folder]
    while left:
        here = left.pop()
        try:
            inside = os.path.join(here, "")
            for each in listing.inside(here):
                path = f"{inside}{each.name}"
                if path == kept:
                    continue
                about = os.lstat(path)
                if each.is_link:
                    if os.path.commonpath((os.path.realpath(path), folder)) != folder:
                        raise _Unkept(f"{path} links to a place outside of the repository")
                    yield path, b"link " + os.fsencode(os.readlink(path)), about
                elif each.is_folder:
                    yield path, b"folder", about
                    left += [path] if each.name not in left_out else []
                else:
                    yield path, b"file" if S_ISREG(about.st_mode) else b"other", about
        except OSError as error:
            raise _Unkept(f"{here}: {error.strerror}") from None


def _on_disk(about: os.stat_result) -> tuple[int, ...]:
    """Return the state of a file on the disk, which any change of its content changes, too."""
    return about.st_mtime_ns, about.st_ctime_ns, about.st_size, about.st_ino


class _Digests:
    """Reads files for digests of their content, but for those that are as an earlier reading found them."""

    def __init__(self, settled: Mapping[str, _Settled]) -> None:
        self.settled = dict(settled)
        """As in `_State`."""
        self.contents: dict[str, bytes] = {}
        """As in `_State`."""
        self._begin = time.time_ns()

    def digest(self, path: str, about: os.stat_result, *, is_known: bool) -> bytes:
        """Return a digest of a file's content, or of a large file when it was changed unless its content *is_known* to matter."""
        on_disk = _on_disk(about)
        if about.st_size > _LARGE and not is_known:
            return repr(on_disk).encode()
        if path in self.settled and self.settled[path][0] == on_disk:
            self.contents[path] = self.settled[path][1]
            return self.contents[path]
        try:
            with open(path, "rb", buffering=0) as file:
                content = file.readall()
        except OSError as error:
            return f"unreadable: {error.errno}".encode()
        found = blake2b(content).digest()
        if max(about.st_mtime_ns, about.st_ctime_ns) < self._begin - _TICK:
            self.settled[path] = on_disk, found, is_known and not may_have_secret(content)
        self.contents[path] = found
        return found


def _programs() -> Iterator[tuple[str, str | None, object]]:
    """Yield the programs that a run starts, each with its place and when it was changed."""
    import shutil

    for name in ("git", "kustomize", "kubectl"):
        path = shutil.which(name)
        with suppress(OSError):
            about = os.stat(path) if path else None
            yield name, path, about and (about.st_size, about.st_mtime_ns)


def _of_python() -> Iterator[object]:
    """Yield the interpreter, and the packages that it can import with their versions, however it was started."""
    yield sys.version, sys.platform
    for each in sys.path:
        with suppress(OSError):
            if packages := sorted(name for name in os.listdir(each or os.curdir) if name.endswith(".dist-info")):
                yield packages


def _said_by_git(root: str, files: Sequence[str]) -> Iterator[bytes]:
    """Yield what Git says of the files of a repository: those that it tracks, and the manifests that it ignores."""
    import subprocess

    def said(*words: str, given: Iterable[str] = (), codes: tuple[int, ...] = (0,)) -> bytes:
        text = b"".join(os.fsencode(each) + b"\0" for each in given)
        try:
            done = subprocess.run(["git", "-c", "core.fsmonitor=false", *words], input=text, capture_output=True, check=False)  # noqa: S603, S607 (no shell)
        except OSError:
            return b"no Git"
        if done.returncode not in codes:
            raise _Unkept("Git cannot read the repository")
        return done.stdout

    listed = said("-C", root, "ls-files", "-v", "-z")
    yield listed
    if any(os.path.basename(each) == ".gitignore" for each in files):
        tracked = {os.fsdecode(each[2:]) for each in listed.split(b"\0")}
        manifests = (each.removeprefix(f"{root}{os.sep}") for each in files if each.lower().endswith(_ENDINGS))
        untracked = [each for each in manifests if each not in tracked]
        yield said("-C", root, "check-ignore", "-z", "--stdin", given=untracked, codes=(0, 1)) if untracked else b""


def _require_all_built(results: RunResults) -> None:
    """Raise _Unkept if a build was not done for a reason that may pass: on a busy machine it may have taken too long."""
    if any(each.in_build and each.in_build.may_be_built_later for each in results.found):
        raise _Unkept("a build was not done, and may be the next time")


def _require_inside(results: RunResults, before: _State) -> None:
    """Raise _Unkept if a run has read anything outside of the repository, or what no file holds."""
    root = repository_root(os.getcwd())
    built = (path for each in results.found if each.in_build and each.in_build.build for path in each.in_build.build.reads)
    inside = tuple(os.path.join(each, "") for each in (root, *_OWN))
    for path in dict.fromkeys((*(each.path for each in results.read), *built)):
        if not before.real_path(path_of_file(path)).startswith(inside):
            raise _Unkept(f"{path} is outside of this repository")
    if any(each.content is not None for each in results.read):
        raise _Unkept("not all files are on disk")
