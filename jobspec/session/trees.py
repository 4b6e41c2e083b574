"""Rendered trees on disk, as they are, as they were committed, and compared with what they should be; and the files of a project."""

from __future__ import annotations

import os
import posixpath
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from shlex import quote

from jobspec.diagnostics.errors import JobspecError
from jobspec.documents.atomic_writes import HEADER, Wanted, read_folder, remove_leftovers, replace_folder
from jobspec.documents.decoding import MAX_FILE
from jobspec.journey.steps import Source
from jobspec.project import tree
from jobspec.project.project import Unreadable
from jobspec.project.tree import Files, differences
from jobspec.session import merges
from jobspec.session.disk import DISK, Disk
from jobspec.session.folders import repository_root
from jobspec.session.found import Found
from jobspec.session.git import git
from jobspec.session.merges import UnfinishedMerge
from jobspec.session.reading import content_of


@dataclass(frozen=True)
class OwnedTree:
    """A folder, and what is to be in it."""

    folder: str
    to_be: Callable[[Files, Mapping[str, str]], Files]

    def wanted(self, found: Files) -> Files:
        """The whole tree to be, given the one that is there. Raises JobspecError for an invalid inventory."""
        return self.to_be(found, hashes_in(self.folder, found))

    def overwritten(self, found: Files, wanted: Files) -> UnfinishedMerge | None:
        """The merge whose leftovers are overwritten; None where there is none.

        Raises JobspecError where files would be lost that somebody else wrote or changed.
        """
        merge = None
        edited, foreign = tree.state_of(found, hashes_in(self.folder, found), wanted)
        if edited or foreign or tree.inventory_in(found) is None:
            merge = merges.unfinished(self.folder)
        if merge and (edited or foreign):
            edited, foreign = tree.state_of(found, merge.hashes(found), wanted)
        if foreign:
            more = f" and {len(foreign) - 1} more" if len(foreign) > 1 else ""
            if all(found[path].startswith(HEADER.encode()) for path in foreign):
                way_out = f"if they are left of an earlier render, remove them: `git clean -f -- {quote(self.folder)}`"
                unlisted = f"{self.folder} holds {foreign[0]}{more}, which {tree.NAME} does not list"
                raise JobspecError(f"{unlisted}: nothing is written: {way_out}, and render again")
            raise JobspecError(f"{self.folder} holds {foreign[0]}{more}, which jobspec did not write and would remove: nothing is written")
        if edited:
            before = {path: wanted[path] for path in edited if path in wanted}
            lines = "".join(differences(before, {path: found[path] for path in edited}, self.folder))
            names = ", ".join(f"{self.folder}/{path}" for path in edited)
            hint = "put the change into a base, an overlay or the project, then restore or delete the file"
            raise JobspecError(f"{names}: edited by hand since it was rendered; nothing is written: {hint}\n{lines}")
        return merge


def compare(owned: Sequence[OwnedTree], *, in_full: bool) -> list[str]:
    """Return a line for each file that differs from what the trees are to be, or with *in_full* the lines of a unified diff."""
    found = [read_folder(each.folder) for each in owned]
    pairs = [(each.folder, here, each.wanted(here)) for each, here in zip(owned, found, strict=True)]
    if in_full:
        return [line for folder, here, wanted in pairs for line in differences(here, wanted, folder)]
    return [line for folder, here, wanted in pairs for line in _changed_files(folder, here, wanted)]


def _changed_files(folder: str, here: Files, wanted: Files) -> Iterator[str]:
    """Yield a line for each file that a render would add, change or remove."""
    for path in sorted(here.keys() | wanted.keys()):
        if here.get(path) != wanted.get(path):
            action = "add" if path not in here else "remove" if path not in wanted else "change"
            yield f"would {action} {folder}/{path}\n"


@dataclass(frozen=True)
class Written:
    """What a render changed."""

    changed: Sequence[str]
    """The paths of the files that changed."""
    merges: Mapping[str, UnfinishedMerge]
    """The merges whose leftovers were overwritten, by the folder of the tree."""


def write(owned: Sequence[OwnedTree]) -> Written:
    """Replace each of the trees in one step.

    Raises JobspecError, with none of them changed, where one of them holds what would be lost.
    """
    for each in owned[1:]:  # the first is looked at in any case before anything is replaced
        remove_leftovers(each.folder)
        found = read_folder(each.folder)
        each.overwritten(found, each.wanted(found))
    changed: list[str] = []
    overwritten: dict[str, UnfinishedMerge] = {}
    for each in owned:
        if merge := _replace(each, changed):
            overwritten[each.folder] = merge
    return Written(changed, overwritten)


def _replace(owned: OwnedTree, changed: list[str]) -> UnfinishedMerge | None:
    merge: list[UnfinishedMerge | None] = []

    def wanted() -> Wanted | None:
        found = read_folder(owned.folder)
        files = owned.wanted(found)
        merge.append(owned.overwritten(found, files))
        same = {path for path, content in files.items() if found.get(path) == content}
        changed.extend(f"{owned.folder}/{path}" for path in sorted(files) if path not in same)
        return Wanted(files, same=same, last=tree.NAME) if files != found else None

    replace_folder(owned.folder, wanted)
    return merge[0] if merge else None


# What a rendered tree was: its inventory, and the files before this render.


def hashes_in(folder: str, found: Files) -> Mapping[str, str]:
    """The hashes in the inventory of a tree, or in a merge those of all sides; none without an inventory."""
    known = tree.inventory_in(found)
    if known is not None:
        return known
    if merge := merges.unfinished(folder):
        return merge.hashes(found)
    hint = "restore it from Git, or remove the folder if nothing in it was edited"
    raise JobspecError(f"{folder}/{tree.NAME} is not an inventory of a rendered tree: {hint}")


def before(folder: str) -> dict[str, dict[str, bytes]]:
    """The tree before this render, by folder and path: what is committed at HEAD, or what is on disk where Git does not keep the tree.

    In a merge, it has the files of both parents. What was rendered since the last commit was never synced by anybody, so that it is no run.
    """
    committed = _committed(folder)
    if committed is None:
        found = read_folder(folder)
        committed = tree.ours(found, hashes_in(folder, found))
    folders: dict[str, dict[str, bytes]] = {}
    for path, content in committed.items():
        folders.setdefault(path.rpartition("/")[0], {})[path] = content
    return folders


def _committed(folder: str) -> Files | None:
    """The files of a tree at HEAD and at the commits that are being merged; None where no repository keeps it."""
    parent, name = merges.nearest(os.path.abspath(folder))
    if not _is_true("rev-parse", "--is-inside-work-tree", folder=parent):
        return None
    files: dict[str, bytes] = {}
    if _is_true("rev-parse", "--verify", "--quiet", "HEAD^{tree}", folder=parent):  # there is no HEAD before the first commit
        for commit in (*merges.merged_commits(parent), "HEAD"):
            files |= merges.files_at(parent, name, commit)
    return None if not files and _is_true("check-ignore", "--", f"{name}/", folder=parent) else files


def _is_true(*arguments: str, folder: str) -> bool:
    """Whether git says yes to a question about a folder; it says no where there is no git."""
    try:
        return git(folder, *arguments, why="").strip() != b"false"
    except JobspecError:
        return False


# The files around a project, on disk or at a Git ref: its own, those that it names, and the folder that it renders to.


class ProjectFiles:
    """Reads what a project names, from its folder, and from nowhere outside of the repository."""

    def __init__(self, project: str, disk: Disk = DISK) -> None:
        """Raises JobspecError where the project's file itself is a link that leads out."""
        self.project = Found(project, named=True, disk=disk)
        """The project's own file."""
        self._folder = os.path.dirname(project)
        here = os.path.realpath(self._folder or os.curdir)
        self._root = repository_root(here, disk.root) or here
        """The root of the Git repository around it; its folder where there is none."""
        if not _is_inside(os.path.realpath(project), self._root):
            raise JobspecError(f"{project} is a link that leads out of the repository: a project is the same on every machine")
        self.found: list[Found] = []
        """The other files that were read, for reports."""

    def read(self, path: str) -> Source:
        """A file by its path from the project's folder. Raises Unreadable."""
        place = self._place(path)
        if not _is_inside(os.path.realpath(place), self._root):
            raise Unreadable("it leads out of the repository")
        if not os.path.isfile(place):
            raise Unreadable("it is not a file" if os.path.exists(place) else "there is no such file")
        found = Found(place, named=True, disk=self.project.disk)
        try:
            content = content_of(found)
        except JobspecError as error:
            raise Unreadable(str(error)) from None
        self.found.append(found)
        return Source(place, content)

    def output(self, path: str, other: str = "") -> str:
        """A folder that a project renders to. Raises Unreadable for one that must not be replaced, or that overlaps the *other* one."""
        place = self._place(path)
        real, here = os.path.realpath(place), os.path.realpath(self._folder or os.curdir)
        if _is_inside(here, real):
            raise Unreadable("the project itself is in it")
        if not _is_inside(real, self._root):
            raise Unreadable("it is outside of the repository")
        if ".git" in os.path.relpath(real, self._root).lower().split(os.sep):  # `.GIT` is the same on some file systems
            raise Unreadable("it is inside of .git")
        if os.path.lexists(place) and not os.path.isdir(place):
            raise Unreadable("it is not a folder")
        context = os.path.realpath(other) if other else ""
        if other and (_is_inside(real, context) or _is_inside(context, real)):
            raise Unreadable(f"it overlaps `{other}`, which holds the rendered tree")
        return place

    def _place(self, path: str) -> str:
        """A path from the working folder. Raises Unreadable for one that no file can have."""
        if "\0" in path:
            raise Unreadable("a path cannot contain NUL")
        return os.path.normpath(os.path.join(self._folder, path))

    def in_repository(self, place: str) -> str:
        """The path of a folder from the root of the repository, as engines write it."""
        return os.path.relpath(os.path.realpath(place), self._root).replace(os.sep, "/")

    def home(self) -> str:
        """The path of the project's file from the root of the repository."""
        return self.in_repository(self.project.path)


def _is_inside(path: str, folder: str) -> bool:
    return os.path.commonpath((path, folder)) == folder


# The files around a project as they were at a Git ref: the same ones that `ProjectFiles` reads from the disk.


#: Why a file cannot be read, by what `git cat-file` says of it.
_MISSING = {
    **dict.fromkeys(("missing", "notdir", "ambiguous"), "there is no such file"),
    "dangling": "it is a broken link",
    "loop": "it is a link to itself",
    "symlink": "it leads out of the repository",
}


class FilesAtRef:
    """Reads what a project named at a ref, each file under the name that git has for it: `HEAD:base/job.yaml`."""

    def __init__(self, ref: str, project: str) -> None:
        """*project* is the path of the project's file in the working tree. Raises JobspecError where there is no such ref."""
        folder = os.path.normpath(os.path.dirname(project) or os.curdir)
        self._repository = _nearest(folder)
        self.ref = ref
        below = os.path.relpath(folder, self._repository).removeprefix(os.curdir).removeprefix(os.sep)
        inside = _prefix(self._repository) + (posixpath.join(below.replace(os.sep, "/"), "") if below else "")
        self.commit = commit_of(self._repository, ref)
        self._folder = inside.rstrip("/")
        self.found: list[Found] = []
        """The other files that were read, for reports."""
        path = f"{inside}{os.path.basename(project)}"
        content = self._content(path)
        self.project = Found(f"{ref}:{path}", named=True, content=content if isinstance(content, bytes) else None)
        """The project's own file; without content where the ref has none."""

    def read(self, path: str) -> Source:
        """A file by its path from the project's folder. Raises Unreadable."""
        place = posixpath.normpath(posixpath.join("/", self._folder, path))
        if _leads_out(self._folder, path):
            raise Unreadable("it leads out of the repository")
        content = self._content(place[1:])
        if isinstance(content, str):
            raise Unreadable(content)
        name = f"{self.ref}:{place[1:]}"
        self.found.append(Found(name, named=True, content=content))
        return Source(name, content)

    def output(self, path: str, other: str = "") -> str:  # noqa: ARG002 (nothing is written, so that no folder is in the way of another)
        """A folder that the project rendered to, from the repository's root. Raises Unreadable for one outside of it."""
        if _leads_out(self._folder, path):
            raise Unreadable("it is outside of the repository")
        return posixpath.normpath(posixpath.join(self._folder, path))

    @staticmethod
    def in_repository(place: str) -> str:
        """The path of a folder from the root of the repository, which it is already."""
        return place

    def home(self) -> str:
        """The path of the project's file from the root of the repository."""
        return self.project.path.removeprefix(f"{self.ref}:")

    def below(self, folder: str) -> set[str]:
        """The files that the ref has below a folder, which `output` gave, by their paths from there."""
        why = f"cannot list {self.ref}:{folder}"
        listed = git(self._repository, "ls-tree", "-r", "-z", "--name-only", "--full-tree", self.commit, "--", f"{folder}/", why=why)
        return {os.fsdecode(path).removeprefix(f"{folder}/") for path in listed.split(b"\0") if path}

    def _content(self, path: str) -> bytes | str:
        """The content of a file by its path from the root, as far as it can matter; or why it cannot be read."""
        if "\n" in path:
            return _MISSING["missing"]
        asked = os.fsencode(f"{self.commit}:{path}\n")
        answer = git(self._repository, "cat-file", "--batch", "--follow-symlinks", why=f"cannot read {self.ref}:{path}", stdin=asked)
        about, _, rest = answer.partition(b"\n")
        words = about.decode(errors="replace").split()
        if words[0] in _MISSING:
            return _MISSING[words[0]]
        if words[-1] in _MISSING:
            return _MISSING[words[-1]]
        return rest[: min(int(words[2]), MAX_FILE + 1)] if words[1] == "blob" else "it is not a file"


def _leads_out(folder: str, path: str) -> bool:
    """Whether a path from a folder of the repository leaves it."""
    inside = posixpath.normpath(posixpath.join(folder or ".", path))
    return posixpath.isabs(inside) or inside.split("/")[0] == ".."


def _nearest(folder: str) -> str:
    """Return the nearest folder around a folder that is there."""
    while not os.path.isdir(folder):
        folder = os.path.dirname(folder) or os.curdir
    return folder


def _prefix(folder: str) -> str:
    """The path of a folder from the repository's root, empty or with a `/` at its end. Raises JobspecError outside of a working tree."""
    where = os.path.realpath(folder)
    is_inside = git(folder, "rev-parse", "--is-inside-work-tree", why=f"{where} is in no Git repository").strip()
    if is_inside != b"true":
        raise JobspecError(f"{where} is in no working tree of its Git repository, and what would be compared is the working tree")
    return os.fsdecode(git(folder, "rev-parse", "--show-prefix", why=f"cannot find the repository of {where}").removesuffix(b"\n"))


def commit_of(folder: str, ref: str) -> str:
    """The commit that a ref names. Raises JobspecError where it names none."""
    try:
        found = git(folder, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{ref}^{{commit}}", why=f"`{ref}` names no commit")
    except JobspecError as error:
        raise JobspecError(f"{error}: {_hint(folder, ref)}") from None
    return found.decode().strip()


def _hint(folder: str, ref: str) -> str:
    """What to do about a ref that names no commit."""
    if ".." in ref:
        return "give one ref, such as `main`: the other side is the working tree"
    if os.path.exists(ref):
        return "this is a path; name a commit, such as `main`, and the path as the project"
    is_shallow = git(folder, "rev-parse", "--is-shallow-repository", why="cannot ask about the clone").strip() == b"true"
    if is_shallow:
        return "this is a shallow clone, so fetch more of it first (in GitHub Actions, `fetch-depth: 2` of actions/checkout gives `HEAD^1`)"
    if not git(folder, "for-each-ref", "--count=1", why="cannot list refs"):
        return "the repository has no commit yet"
    return "fetch it first, if it is one of another clone"
