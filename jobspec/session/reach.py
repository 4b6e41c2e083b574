"""Find the files of a repository that a change can reach, by the paths and words in its files: all others are neither read nor built."""

from __future__ import annotations

import os
import posixpath
import re
from collections.abc import Collection, Iterable, Iterator, Mapping

from jobspec.apis.kinds import MANIFEST_ENDINGS, WEBHOOK_LOOKUPS
from jobspec.diagnostics.record import Record
from jobspec.documents.document import CHART, ENGINES, KUSTOMIZATIONS
from jobspec.session.git import git

DECIDING_WORDS = (*ENGINES, b"argocd-cm")
"""A file that says how engines apply folders has one of these words."""
_MEANT_ANYWHERE = (
    *(each.decode() for each in DECIDING_WORDS),
    *("decryption", "postBuild"),  # what a patch may add to Kustomizations of Flux
    *("CustomResourceDefinition", *(kind for _, kind in WEBHOOK_LOOKUPS)),
)
"""A file may matter to objects of other files if it has one of these words."""
_TAKES_VALUES = "substituteFrom"
_GIVE_VALUES = ("ConfigMap", "Secret")


class Reach(Record):
    """What a change can reach on one side of it, by real paths."""

    edited: Collection[str]
    """The edited files, and the folders that are gone with them."""
    folders: tuple[str, ...]
    """Folders whose files are all compared, each with a `/` at its end."""
    files: Collection[str]
    """All files that are read."""
    repository: str
    """The folder of the repository, whose programs say how kustomize is run."""

    def __contains__(self, path: object) -> bool:
        return path in self.edited or (bool(self.folders) and isinstance(path, str) and f"{path}/".startswith(self.folders))

    @property
    def manifests(self) -> list[str]:
        """Return the files that may be manifests."""
        return sorted(each for each in self.files if each.lower().endswith(MANIFEST_ENDINGS))

    @property
    def kustomizations(self) -> list[str]:
        """Return the kustomizations."""
        return [each for each in self.files if os.path.basename(each) in KUSTOMIZATIONS]


class SideFiles(Record):
    """The files on one side of a change, by their paths from the top of the repository."""

    names: Collection[str]
    kustomizations: Mapping[str, bytes]
    """The kustomizations, each with its text."""
    links: Mapping[str, str]
    """The links, each with the path that it leads to."""
    meant_anywhere: Collection[str]
    """The files that may matter to objects of other files."""


def is_kustomization(name: str) -> bool:
    """True if a file is a kustomization that is built: it is in no hidden folder."""
    return posixpath.basename(name) in KUSTOMIZATIONS and "node_modules" not in name and not is_hidden(name)


def is_hidden(name: str) -> bool:
    """True if a file or a folder around it is hidden."""
    return name.startswith(".") or "/." in name


def reached_names(side: SideFiles, edited: Collection[str], decided: Collection[str]) -> set[str]:
    """Return the names of the files on one side that a change can reach.

    *edited*: the files that the change edits, on either side. *decided*: folders whose files are all compared.
    """
    paths = _Paths(side, edited)
    around = tuple(f"{each}/" if each else "" for each in decided)
    known = {name for name in side.names if not is_hidden(name)}
    begin = {*edited, *(name for name in known if around and name.startswith(around))}
    named = {each: paths.named_in(each) for each in side.kustomizations}
    left = [*_kustomizations_of(begin, named, paths), *_beside({*begin, *side.meant_anywhere}, side.kustomizations)]
    left += [each for each, those in named.items() if not those.isdisjoint(side.meant_anywhere)]
    found = {*begin, *side.meant_anywhere, *side.links, *filter(is_always_read, side.names)}
    read: set[str] = set()
    while left:
        each = left.pop()
        if each not in read:
            read.add(each)
            found |= named[each]
            left += [inner for one in named[each] if (inner := one if one in named else paths.kustomization_in(one))]
    return {each for name in found | read for each in paths.below(name)}


def _kustomizations_of(begin: Collection[str], named: Mapping[str, Collection[str]], paths: _Paths) -> set[str]:
    """Return the kustomizations whose builds read one of some files."""
    users: dict[str, list[str]] = {}
    for kustomization, those in named.items():
        for each in those:
            users.setdefault(paths.kustomization_in(each) or each, []).append(kustomization)
    found: set[str] = set()
    left = [*begin, *{posixpath.dirname(each) for each in begin}]
    left += list({above for each in left for above in _above(each)})
    while left:
        each = left.pop()
        new = [*users.get(each, ()), *((each,) if each in named else ())]
        left += [one for one in new if one not in found]
        found |= set(new)
    return found


def _beside(names: Iterable[str], kustomizations: Mapping[str, bytes]) -> Iterator[str]:
    """Yield the kustomizations in the folders of some files and above them: they say what is a patch, and what is left out."""
    for folder in {above for each in names for above in _above(each)}:
        yield from (each for name in KUSTOMIZATIONS if (each := posixpath.join(folder, name)) in kustomizations)


def _above(name: str) -> Iterator[str]:
    while name:
        name = posixpath.dirname(name)
        yield name


_BETWEEN = re.compile(rb"[\s\"'=,\[\]{}]+")


_MOST_LINKS = 8
"""Links behind each other that are followed."""


class _Paths:
    """Finds files and folders by the words of kustomizations."""

    def __init__(self, side: SideFiles, edited: Collection[str]) -> None:
        self._side = side
        self._names = {*side.names, *edited}
        self._folders = {above for each in self._names for above in _above(each)}
        self._links = tuple(f"{each}/" for each in side.links)
        self._odd = [each for each in self._names if _BETWEEN.search(os.fsencode(each))]

    def named_in(self, kustomization: str) -> set[str]:
        """Return the files and folders that a kustomization seems to name."""
        text, folder = self._side.kustomizations[kustomization], posixpath.dirname(kustomization)
        words = {os.fsdecode(each) for each in _BETWEEN.split(text)} - {"", ".", "..", "/", "-", "#"}
        found = {self._resolved(posixpath.join(folder, each)) for each in words}
        found = {each for each in found if each in self._names or each in self._folders}
        return found | {each for each in self._odd if os.fsencode(posixpath.basename(each)) in text}

    def _resolved(self, path: str) -> str:
        path = posixpath.normpath(path)
        for _ in range(_MOST_LINKS):
            if not f"{path}/".startswith(self._links):
                break
            link = next(each for each in (path, *_above(path)) if each in self._side.links)
            path = posixpath.normpath(posixpath.join(posixpath.dirname(link), self._side.links[link], path[len(link) + 1 :]))
        return path

    def kustomization_in(self, folder: str) -> str:
        """Return the kustomization of a folder; empty if it has none."""
        if folder not in self._folders:
            return ""
        return next((each for name in KUSTOMIZATIONS if (each := posixpath.join(folder, name)) in self._side.kustomizations), "")

    def below(self, name: str) -> Iterator[str]:
        """Yield a file of this side, or the files of a folder that has no kustomization."""
        if name in self._side.names:
            yield name
        elif name in self._folders and name and not self.kustomization_in(name):
            yield from (each for each in self._side.names if each.startswith(f"{name}/"))


def names_meant_anywhere(top: str, commit: str, edited: Mapping[str, bytes]) -> tuple[set[str], set[str]]:
    """Return the files that may matter to objects of other files, at a commit and in the working tree.

    *edited*: the edited files that are in the working tree, with their content.
    """

    def in_edited(words: Iterable[str]) -> set[str]:
        return {name for name, content in edited.items() if is_manifest(name) and any(word.encode() in content for word in words)}

    def in_both(words: tuple[str, ...]) -> tuple[set[str], set[str]]:
        return _grep(top, commit, words), in_edited(words)

    takes = in_both((_TAKES_VALUES,))
    words = (*_MEANT_ANYWHERE, *(_GIVE_VALUES if any(takes) else ()))
    return in_both(words)


def is_manifest(name: str) -> bool:
    """True if a file may be a manifest."""
    return name.lower().endswith(MANIFEST_ENDINGS) and not is_hidden(name)


def is_always_read(name: str) -> bool:
    """True if a file says by its place alone what the files around it are."""
    return posixpath.basename(name) == CHART or name.endswith("vendor/modules.txt")


def _grep(top: str, commit: str, words: Iterable[str]) -> set[str]:
    """Return the manifests at a commit that have one of some words."""
    why = f"cannot search {commit}"
    patterns = [each for word in words for each in ("-e", word)]
    kinds = [f":(icase)*{ending}" for ending in MANIFEST_ENDINGS]
    options = ("-l", "-z", "-F", "--no-color", "--full-name")
    found = git(top, "grep", *options, *patterns, commit, "--", *kinds, why=why, codes=(0, 1))  # 1: no file has them, or none that is there
    names = (os.fsdecode(each).partition(":")[2] for each in found.split(b"\0") if each)
    return {each for each in names if not is_hidden(each)}
