"""Keep what checks of single files gave.

Then a run checks only the files that have changed, or that meet a changed world.

A check is known by a digest of all that it reads: the file, or what is built of it and the files that it is built of; its role in builds;
the options; and the world with its CRDs and policies. Of a check among the objects of all files, the questions that it asks of them are
kept with digests of the answers.

The check of a file with a Secret is sealed by a key that is made of the file, so that the cache alone does not give it.
What is built of such files is kept as the output of kustomize is.
"""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from functools import cache
from hashlib import blake2b, shake_256
from operator import attrgetter

from jobspec.diagnostics.record import Record
from jobspec.documents.document import Document
from jobspec.journey.steps import Checked
from jobspec.repository.in_build import InBuild
from jobspec.session.cache import digest_of
from jobspec.session.mentions import has_no_secret
from jobspec.session.pickles import PROTOCOL, SharedData, read_entries, unpickled
from jobspec.session.reading import content_of
from jobspec.session.secret_values import may_have_secret
from jobspec.world.judging import can_be_looked_up

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from typing import Any

    from jobspec.kubernetes.custom_kinds import UnreadFile
    from jobspec.kubernetes.index import Index, Question
    from jobspec.repository.builds import Build
    from jobspec.session.cache import Cache
    from jobspec.session.found import Found
    from jobspec.session.found_file import FoundFile
    from jobspec.session.kept_facts import KeptFacts
    from jobspec.world.world import Cluster

    #: The questions of a check, each with a digest of the answer.
    _Answers = Sequence[tuple[Question, bytes]]
    #: The same, a digest of all that the check has read, and the result; if the file may have a Secret, the result is pickled and sealed.
    _Entry = tuple[_Answers, bytes, Checked | bytes]

_PARTS = 32  # entries of the cache for the checks of one command line: a change writes one of them anew


class _Unknown(Exception):
    """A value of which there is no digest."""


class _Place(Record):
    """Where the cache has a check."""

    part: int
    key: bytes
    seal: bytes
    """The key that the check is sealed by; empty if the file has no Secret."""


class ReadByCheck(Record):
    """All that the check of a file has read, and where the cache keeps what follows from that."""

    part: int
    digest: bytes
    seal: bytes
    """The key that the check is sealed by; empty if the file has no Secret."""

    def seal_for(self, what: str) -> bytes:
        """Return the key for something else that follows; empty if the file has no Secret."""
        return blake2b(what.encode(), key=self.seal, digest_size=32).digest() if self.seal else b""


class _BuiltOf(Record):
    """Digests of what a build has read."""

    all: bytes
    """Of all files and the objects that are built."""
    changing: bytes
    """Of the files that may change objects of other files."""


class KeptChecks:
    """The checks of an earlier run with the same options, and those that this run adds."""

    def __init__(
        self, cache: Cache, scope: str, digests: Mapping[str, bytes], real_path: Callable[[str], str], facts: KeptFacts | None = None
    ) -> None:
        """*scope*: a digest of the options, and of the program.

        *digests*: those of the content of each file in the repository, by real path. *real_path*: gives the real path of a file.

        *facts*: what an earlier run has found out about the files; None if there is no such run.
        """
        self._cache, self._scope, self._digests, self._facts = cache, scope, digests, facts
        self._data = SharedData(cache, scope)
        self._real_path = real_path
        self._parts: dict[int, dict[bytes, _Entry | None]] = {}
        """The checks of the earlier run; None for those that were taken, which are not held in memory."""
        self._used: dict[int, dict[bytes, tuple[_Answers, ReadByCheck, Checked] | None]] = {number: {} for number in range(_PARTS)}
        """The checks of this run; None for those that are in the cache."""
        self._worlds: dict[int, tuple[Cluster, bytes | None]] = {}
        self._places: dict[tuple[int, int], tuple[FoundFile, _Place | None]] = {}
        self._said: dict[int, tuple[object, str]] = {}
        self._answers: dict[tuple[int, Question], tuple[Index, bytes]] = {}
        self._read_by: dict[str, ReadByCheck] = {}
        self._builds: dict[str, _BuiltOf | None] = {}
        """What is built, by the path of the kustomization; None if there are no digests of that."""

    def met(self, found: Iterable[Found]) -> None:
        """Note what is built among the files of the run, since objects in it decide on other files."""
        for each in found:
            if each.in_build and (build := each.in_build.build):
                self._builds[each.path] = self._built_of(build)

    def read_by(self, path: str) -> ReadByCheck | None:
        """Return what the last check of a file has read.

        If the check is not kept, return None.
        """
        return self._read_by.get(path)

    def known(self, file: FoundFile, world: Cluster) -> Checked | None:
        """Return the result of an earlier check that read the same. If there is none, return None."""
        place = self._place(file, world)
        self._places[id(file), id(world)] = file, place
        entry = self._part(place.part).get(place.key) if place else None
        if place is None or entry is None:
            return None
        asked, digest, kept = entry
        if any(self._answer(world, question) != answer for question, answer in asked):
            return None
        checked = unpickled(sealed(kept, place.seal)) if isinstance(kept, bytes) else kept
        if not isinstance(checked, Checked):
            return None
        self._parts[place.part][place.key] = self._used[place.part][place.key] = None
        self._read_by[checked.result.path] = ReadByCheck(place.part, digest, place.seal)
        return checked

    def learned(self, file: FoundFile, world: Cluster, checked: Checked) -> Checked:
        """Return a new result, and keep the result if that is possible."""
        _, place = self._places.pop((id(file), id(world)))
        if place and (place.seal or _is_built(file) or all(row.kind != "Secret" for row in checked.result.documents)):
            asked = checked.asked if world.around is not None else ()
            answers = [(question, self._answer(world, question)) for question in asked]
            self._read_by[checked.result.path] = read_by = ReadByCheck(place.part, _digest_of(place, answers), place.seal)
            self._used[place.part][place.key] = answers, read_by, checked
        else:
            self._read_by.pop(checked.result.path, None)
        return checked

    def accepts(self, document: Document, world: Cluster) -> bool:
        """Return whether the server's own checks accept a policy or a namespace.

        If an earlier run has found out, the object is not judged anew.
        """
        facts, defined = self._facts, world.custom_kinds is not None and world.custom_kinds.defines(document)
        if facts is None or defined or world.later or may_have_secret(repr(document.data).encode(errors="surrogatepass")):
            return can_be_looked_up(document, world)
        return facts.once("accepted", document.digest, lambda: can_be_looked_up(document, world))

    def write(self) -> None:
        """Write the checks that this run used or added, where they are others than before."""
        for number, used in self._used.items():
            if used.keys() != self._parts.get(number, {}).keys() or any(used.values()):
                before = self._read(number) if None in used.values() else {}
                entries = {key: _entry_of(*new) if new else before.get(key) for key, new in used.items()}
                self._cache.write(self._name(number), self._data.pickled({key: each for key, each in entries.items() if each}))
        self._data.write()

    def _part(self, number: int) -> dict[bytes, _Entry | None]:
        if number not in self._parts:
            self._parts[number] = dict(self._read(number))
        return self._parts[number]

    def _read(self, number: int) -> Mapping[bytes, _Entry]:
        return read_entries(self._cache, self._name(number), self._data)

    def _name(self, number: int) -> str:
        return f"{self._scope}-{number}"

    def _place(self, file: FoundFile, world: Cluster) -> _Place | None:
        """Return where the cache has a check. If the check cannot be kept, return None."""
        try:
            of_file, of_world = self._said_of_file(file), self._said_of_world(world)
        except (_Unknown, OSError, RecursionError):
            return None
        if of_world is None:
            return None
        number = blake2b(file.found.path.encode(errors="surrogateescape"), digest_size=4).digest()[0] % _PARTS
        key = blake2b(of_file.encode(errors="surrogatepass") + of_world, digest_size=24).digest()
        return _Place(
            number, key, b"" if _is_built(file) or has_no_secret(file.found.path, self._facts) else _seal_of(content_of(file.found), key)
        )

    def _said_of_file(self, file: FoundFile) -> str:
        found = file.found
        if file.context.overlays or file.context.values is not None or found.content is not None:
            raise _Unknown
        if found.in_build and found.in_build.by_engine.substitution:
            raise _Unknown
        role = found.in_build and _said_of_role(found.in_build)
        is_built = found.in_build is not None and found.in_build.build is not None
        of_content = self._build_at(found.path).all if is_built else self._digest(self._real_path(found.path))
        about = (found.path, found.named, found.part, found.first_line, found.span, file.skip_unknown, file.folder, file.has_placeholders)
        return repr((about, role, of_content))

    def _built_of(self, build: Build) -> _BuiltOf | None:
        try:
            read = [(name, shown, self._digest(name), may_change) for name, shown, may_change in build.names]
            return _BuiltOf(digest_of((build.path, read, blake2b(build.content).digest())), digest_of([each for each in read if each[-1]]))
        except (_Unknown, OSError):
            return None

    def _build_at(self, path: str) -> _BuiltOf:
        if not (found := self._builds.get(path)):
            raise _Unknown
        return found

    def _digest(self, path: str) -> bytes:
        if path not in self._digests:
            raise _Unknown
        return self._digests[path]

    def _said_of_world(self, world: Cluster) -> bytes | None:
        """Return a digest of a world without the objects of all files.

        If there is none, return None.
        """
        if id(world) not in self._worlds:
            try:
                self._worlds[id(world)] = world, blake2b("".join(self._parts_of_world(world)).encode(errors="surrogatepass")).digest()
            except _Unknown:
                self._worlds[id(world)] = world, None
        return self._worlds[id(world)][1]

    def _parts_of_world(self, world: Cluster) -> Iterator[str]:
        if world.stored is not None or world.contracts:
            raise _Unknown
        yield _canonical((dict(world.target), world.later, world.webhooks, world.installed, dict(world.pods)))
        yield _canonical((world.complete.every, world.complete.pinned))
        if world.around is not None:
            yield repr(world.around.have_rivals)
        for given in (*world.objects, *(world.custom_kinds.given if world.custom_kinds else ())):
            yield self._once(given, lambda: self._said_of_object(given))  # noqa: B023 (called at once)

    def _said_of_object(self, given: Document | UnreadFile) -> str:
        if not isinstance(given, Document):
            return _canonical((given.path, given.text))
        if given.file not in self._builds:
            written: object = self._digest(self._real_path(given.file))
        else:
            build = self._build_at(given.file)
            is_traced = given.source != given.file
            written = (given.source, self._digest(self._real_path(given.source)), build.changing) if is_traced else build.all
        return repr((given.file, written, given.index, given.data, given.is_held))

    def _once(self, value: object, say: Callable[[], str]) -> str:
        """Return a digest of what is said of a value, which several worlds have."""
        if id(value) not in self._said:
            self._said[id(value)] = value, blake2b(say().encode(errors="surrogatepass"), digest_size=24).hexdigest()
        return self._said[id(value)][1]

    def _answer(self, world: Cluster, question: Question) -> bytes:
        """Return a digest of an answer of the world."""
        index = world.index
        key = id(index), question
        if key not in self._answers:
            answer = repr(index.answer(question))
            self._answers[key] = index, blake2b(answer.encode(errors="surrogatepass"), digest_size=16).digest()
        return self._answers[key][1]


def _entry_of(answers: _Answers, read: ReadByCheck, checked: Checked) -> _Entry:
    """Return a new check as the cache has it."""
    import pickle

    return answers, read.digest, sealed(pickle.dumps(checked, protocol=PROTOCOL), read.seal) if read.seal else checked


def _digest_of(place: _Place, answers: _Answers) -> bytes:
    """Return a digest of all that a check has read."""
    said = sorted(repr(([getattr(each, "__qualname__", each) for each in question], answer)) for question, answer in answers)
    return digest_of((place.key, said))


def _is_built(file: FoundFile) -> bool:
    """True if a file is judged by what is built of it, which the cache keeps as it is printed."""
    return file.found.in_build is not None and file.found.in_build.build is not None


def _said_of_role(role: InBuild) -> str:
    """Return a text that equal roles of files have in common, whatever is built."""
    said = zip(_ATTRIBUTES, _values_of(role), _OF_NO_ROLE, strict=True)
    others = [(name, value) for name, value, usual in said if value is not usual]
    return "".join([f"{name}: {_canonical(sorted(value) if name == 'patched_in' else value)}" for name, value in others])


_ATTRIBUTES = tuple(each.name for each in fields(InBuild) if each.name != "build")
_values_of = attrgetter(*_ATTRIBUTES)
_OF_NO_ROLE = _values_of(InBuild())


def _canonical(value: Any) -> str:
    """Return a text that equal values have in common.

    The order in which their sets were made does not count. Raises _Unknown for values of other types.
    """
    kind = type(value)
    if value is None or kind in _PLAIN:
        return f"{kind.__name__} {value!r},"
    if kind in (list, tuple):
        return f"{kind.__name__}[{''.join(map(_canonical, value))}]"
    if kind in (set, frozenset):
        return f"set[{''.join(sorted(map(_canonical, value)))}]"
    if isinstance(value, (list, tuple)):
        return f"{kind.__name__}[{''.join(map(_canonical, value))}]"
    if isinstance(value, dict):
        return f"{{{''.join(f'{_canonical(key)}{_canonical(each)}' for key, each in value.items())}}}"
    if isinstance(value, (str, int, float, bytes)):
        return f"{kind.__name__} {value!r},"
    if isinstance(value, Record):
        return f"{kind.__name__}{_canonical(value.__dict__)}"
    if is_dataclass(value):
        return f"{kind.__name__}[{''.join(_canonical(getattr(value, each)) for each in _names_of(value.__class__))}]"
    if kind.__module__ == "jobspec.diagnostics.places":
        return f"{kind.__name__}[{''.join(_canonical(getattr(value, each)) for each in kind.__slots__)}]"
    raise _Unknown(kind)


_PLAIN = frozenset((str, int, float, bool, bytes))


@cache
def _names_of(kind: Any) -> list[str]:
    return [each.name for each in fields(kind)]


def _seal_of(content: bytes, place: bytes) -> bytes:
    """Return the key for the check of a file with a Secret.

    The key is made of the file's content. If the file has no Secret, it is empty. *place*: where the cache has the check. No two checks
    have one key, or who has both could tell in what they differ.
    """
    return blake2b(content, key=place, digest_size=32).digest() if may_have_secret(content) else b""


def sealed(content: bytes, seal: bytes) -> bytes:
    """Return a content sealed by a key, or what a sealed one holds; the same content if there is no key."""
    if not seal:
        return content
    stream = int.from_bytes(shake_256(seal).digest(len(content)), "big")
    return (int.from_bytes(content, "big") ^ stream).to_bytes(len(content), "big")
