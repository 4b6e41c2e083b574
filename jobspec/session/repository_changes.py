"""Find what a repository changes since a Git ref, and the files that the change can reach; write those at the ref to a folder."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager

from jobspec.diagnostics.errors import JobspecError
from jobspec.diagnostics.record import Record
from jobspec.documents.streams import kinds_in
from jobspec.repository.engines import APPLYING_KINDS
from jobspec.session.git import git
from jobspec.session.reach import DECIDING_WORDS, Reach, SideFiles, is_kustomization, is_manifest, names_meant_anywhere, reached_names


class RepositoryChange(Record):
    """A change of a repository: the working tree against a commit."""

    top: str
    """The real path of the repository's folder."""
    ref: str
    commit: str
    paths: Sequence[str]
    """The files and folders that are compared."""
    edited: Sequence[str]
    """The files that differ, by their paths from the top, those that are gone and new ones among them."""


def change_since(ref: str, paths: Sequence[str], within: str = "") -> RepositoryChange:
    """Return what differs in a repository since a Git ref.

    *within*: as in `repository_root`. Raises JobspecError outside of a repository, in a part of one by *within*, and for an unknown ref.
    """
    from jobspec.session.trees import commit_of

    folders = (each if os.path.isdir(each) else os.path.dirname(each) or os.curdir for each in paths if os.path.lexists(each))
    folder = next(folders, os.curdir)
    top = _top_of(folder)
    if within not in ("", top):
        raise JobspecError("a change is that of a whole repository, and only a folder of the repository may be read")
    commit = commit_of(folder, ref)
    why = f"cannot compare with {ref}"
    for path in (each for each in paths if not os.path.lexists(each)):
        inside = os.path.relpath(os.path.realpath(path), top)
        if not git(top, "ls-tree", "-z", "--name-only", commit, "--", inside, why=why):
            raise JobspecError(f"{path}: no such file or folder, here and at {ref}")
    names = git(top, "diff", "--name-only", "--no-renames", "--no-ext-diff", "-z", commit, why=why).split(b"\0")
    names += git(top, "ls-files", "--others", "--exclude-standard", "-z", why=why).split(b"\0")
    return RepositoryChange(top, ref, commit, paths or [os.curdir], sorted({os.fsdecode(each) for each in names if each}))


def _top_of(folder: str) -> str:
    where = os.path.realpath(folder)
    found = git(folder, "rev-parse", "--show-toplevel", why=f"{where} is in no Git repository")
    return os.path.realpath(os.fsdecode(found.removesuffix(b"\n")))


# The files that a change can reach.


class ReachedFiles(Record):
    """The files that a change can reach, on both sides."""

    root: str
    """The folder that has those at the ref."""
    before: Reach
    after: Reach
    texts: Sequence[Mapping[str, bytes]]
    """The edited files at the ref, and in the working tree."""

    def edited_texts(self, name: str) -> tuple[bytes, bytes]:
        """Return the content of an edited file before and after; empty where there is no such file."""
        before, after = (each.get(name, b"") for each in self.texts)
        return before, after


_FILES = (b"100644", b"100755")
_LINK = b"120000"
_LARGEST = 3 << 20
"""Bytes of a file that a build may read; larger files, such as data, are left out."""


@contextmanager
def exported(change: RepositoryChange, further: Sequence[str]) -> Iterator[ReachedFiles]:
    """Write the files at the ref that a change can reach to a temporary folder, while they are needed.

    *further*: folders and files that are written, too, such as Helm charts and files of values.
    """
    import tempfile

    from jobspec.session.builds import WORK_PREFIX

    files = _Files(change)
    given = [os.path.relpath(os.path.realpath(each), change.top) for each in further]
    asked = {name for name in files.before.names if any(name == each or name.startswith(f"{each}/") for each in given)}
    texts = (files.edited_before, files.edited_after)
    decided = {folder for each in texts for folder in _decided_folders(each)}
    before, after = (reached_names(side, change.edited, decided) for side in (files.before, files.after))
    with tempfile.TemporaryDirectory(prefix=WORK_PREFIX) as folder:
        root = os.path.realpath(folder)
        os.mkdir(os.path.join(root, ".git"))  # the root of a repository, outside of which nothing is read
        for name, content in files.at_ref(before | asked):
            _write(root, name, content, is_link=name in files.before.links)
        yield ReachedFiles(root, _reach(change, root, before, decided), _reach(change, change.top, after, decided), texts)


def _reach(change: RepositoryChange, root: str, names: Collection[str], decided: Iterable[str]) -> Reach:
    def here(name: str) -> str:
        return os.path.join(root, name)

    gone = [name for name in change.edited if not os.path.lexists(here(name))]
    folders = {each for name in gone for each in _folders_around(name) if not os.path.lexists(here(each))}
    files = [each for each in map(here, names) if os.path.isfile(each)]
    return Reach(set(map(here, (*change.edited, *folders))), tuple(here(os.path.join(each, "")) for each in decided), files, change.top)


def _folders_around(name: str) -> Iterator[str]:
    while name := os.path.dirname(name):
        yield name


class _Files:
    """Lists the files of both sides of a change, and reads those that say what a change can reach."""

    def __init__(self, change: RepositoryChange) -> None:
        self._change = change
        self._why = f"cannot read {change.ref}"
        listed = git(change.top, "ls-tree", "-r", "-z", "-l", change.commit, why=self._why).split(b"\0")
        rows = [(os.fsdecode(name), about.split()) for about, _, name in (each.partition(b"\t") for each in listed) if name]
        sizes = {name: int(about[3]) for name, about in rows if about[3].isdigit()}  # `BAD` of a blob that this clone does not have
        self._blobs = {name: about[2] for name, about in rows if about[1] == b"blob" and sizes.get(name, _LARGEST + 1) <= _LARGEST}
        names = {name for name, about in rows if name in self._blobs and about[0] in (*_FILES, _LINK)}
        links = {name for name, about in rows if name in names and about[0] == _LINK}
        edited = set(change.edited)
        read = dict(self.at_ref({each for each in names if each in edited or each in links or is_kustomization(each)}))
        self.edited_before = {name: content for name, content in read.items() if name in edited}
        self.edited_after = {name: content for name in change.edited if (content := _content(os.path.join(change.top, name))) is not None}
        links_here = {each: os.readlink(path) for each in edited if os.path.islink(path := os.path.join(change.top, each))}
        anywhere = names_meant_anywhere(change.top, change.commit, self.edited_after)
        old = {each: os.fsdecode(read[each]) for each in links}
        texts = {each: content for each, content in read.items() if is_kustomization(each)}
        new = {each: content for each, content in self.edited_after.items() if is_kustomization(each)}
        self.before = SideFiles(names, texts, old, names & anywhere[0])
        self.after = SideFiles(
            (names - edited) | self.edited_after.keys() | links_here.keys(),
            {**{each: text for each, text in texts.items() if each not in edited}, **new},
            {**{each: to for each, to in old.items() if each not in edited}, **links_here},
            ((names & anywhere[0]) - edited) | anywhere[1],
        )

    def at_ref(self, names: Collection[str]) -> Iterator[tuple[str, bytes]]:
        """Yield some files at the ref, each with its content; of a link, the path that it leads to."""
        chosen = [each for each in names if each in self._blobs]
        asked = b"".join(self._blobs[each] + b"\n" for each in chosen)
        answers = git(self._change.top, "cat-file", "--batch", why=self._why, stdin=asked) if chosen else b""
        start = 0
        for name in chosen:
            line = answers.index(b"\n", start)
            start = line + 2 + int(answers[start:line].split()[2])
            yield name, answers[line + 1 : start - 1]


def _content(path: str) -> bytes | None:
    """What a file holds; empty of a large one. If there is no file, return None."""
    try:
        if os.path.islink(path) or not os.path.isfile(path):
            return None
        if os.path.getsize(path) > _LARGEST:
            return b""
        with open(path, "rb") as file:
            return file.read()
    except OSError:
        return None


def _write(root: str, name: str, content: bytes, *, is_link: bool) -> None:
    """Write a file at the ref. A link that leads out of the repository is left out."""
    place = os.path.join(root, name)
    os.makedirs(os.path.dirname(place), exist_ok=True)
    if is_link:
        to = os.fsdecode(content)
        if not os.path.isabs(to) and os.path.normpath(os.path.join(os.path.dirname(place), to)).startswith(os.path.join(root, "")):
            os.symlink(to, place)
        return
    with open(place, "wb") as file:
        file.write(content)


# Folders that engines apply in another way.


_DECIDING = {kind for _, kind in APPLYING_KINDS}
_PATH = re.compile(r"""\bpath["']?:\s*["']?([^\s"'},]+)""")


def _decided_folders(edited: Mapping[str, bytes]) -> Iterator[str]:
    """Yield the folders, from the top, that edited files may have engines apply in another way, so that all in them is compared."""
    for name, content in edited.items():
        if is_manifest(name) and any(word in content for word in DECIDING_WORDS) and not kinds_in(content).isdisjoint(_DECIDING):
            yield from ("",) if b"argocd-cm" in content else map(_from_top, _PATH.findall(content.decode(errors="replace")))


def _from_top(path: str) -> str:
    """A folder of an engine as a path from the top; empty for the top itself."""
    return os.path.normpath(path.lstrip("/") or os.curdir).removeprefix(os.curdir)
