"""Read two states of a repository as it is: at a Git ref, and in the working tree. Both sides are built, as far as the change reaches."""

from __future__ import annotations

import functools
import os
import re
from collections.abc import Callable, Collection, Container, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager

from jobspec.apis.kinds import MANIFEST_ENDINGS, OVERLAY, PROJECT_FILE, WEBHOOK_LOOKUPS, WRAPPING_KINDS, is_cluster_scoped
from jobspec.diagnostics.errors import JobspecError
from jobspec.diagnostics.places import Mark, Marks
from jobspec.diagnostics.record import Record
from jobspec.documents.document import CHART, ENGINES, KUSTOMIZATIONS, Document
from jobspec.documents.syntax import kinds_in
from jobspec.journey.reading import read as read_file
from jobspec.project.edited_lines import EditedFile, edited_lines
from jobspec.project.object_changes import AppliedObject, State
from jobspec.repository.engines import APPLYING_KINDS
from jobspec.repository.helm import RenderedChart
from jobspec.repository.in_build import AppliedFolder
from jobspec.session.builds import UNBUILT_KUSTOMIZATION
from jobspec.session.exclusions import without_ignored
from jobspec.session.finding import find
from jobspec.session.found import Found
from jobspec.session.git import git, git_files
from jobspec.session.processes import spread_if_many
from jobspec.session.reading import crds_among, parts_with, source_of
from jobspec.world.world import Cluster

TYPE_CHECKING = False
if TYPE_CHECKING:
    from jobspec.diagnostics.places import Children

_FILES = (b"100644", b"100755")
_LINK = b"120000"
_LARGEST = 3 << 20
"""Bytes of a file that a build may read; larger files, such as data, are left out."""


_DECIDING = {kind for _, kind in APPLYING_KINDS}


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


class States(Record):
    """Both sides of a change."""

    before: State
    after: State
    edits: Mapping[str, EditedFile]
    """The edited files by their real paths in the working tree."""


def change_since(ref: str, paths: Sequence[str]) -> RepositoryChange:
    """Return what differs in a repository since a Git ref. Raises JobspecError outside of a repository, and for another ref."""
    from jobspec.session.trees import commit_of

    folders = (each if os.path.isdir(each) else os.path.dirname(each) or os.curdir for each in paths if os.path.lexists(each))
    folder = next(folders, os.curdir)
    top = _top_of(folder)
    commit = commit_of(folder, ref)
    listed = git(top, "ls-tree", "-r", "-z", "--name-only", commit, why=f"cannot compare with {ref}").split(b"\0")
    then = {os.fsdecode(each) for each in listed}
    for path in paths:
        inside = os.path.relpath(os.path.realpath(path), top)
        if not os.path.lexists(path) and not any(each == inside or each.startswith(f"{inside}/") for each in then):
            raise JobspecError(f"{path}: no such file or folder, here and at {ref}")
    why = f"cannot compare with {ref}"
    names = git(top, "diff", "--name-only", "--no-renames", "--no-ext-diff", "-z", commit, why=why).split(b"\0")
    names += git(top, "ls-files", "--others", "--exclude-standard", "-z", why=why).split(b"\0")
    return RepositoryChange(top, ref, commit, paths or [os.curdir], sorted({os.fsdecode(each) for each in names if each}))


def _top_of(folder: str) -> str:
    where = os.path.realpath(folder)
    found = git(folder, "rev-parse", "--show-toplevel", why=f"{where} is in no Git repository")
    return os.path.realpath(os.fsdecode(found.removesuffix(b"\n")))


@contextmanager
def states_of(change: RepositoryChange, cluster: Cluster, charts: Sequence[str] = (), values: Sequence[str] = ()) -> Iterator[States]:
    """Build both sides of a change. The states are to be compared inside of the context, since files are read when a place is asked for.

    *charts* and *values*: Helm charts to render, with files of values.
    """
    with _exported(change) as root:
        here, there = _Side(change, cluster, change.top), _Side(change, cluster, root)
        edits = dict(_edits(change, root))
        decided = _decided_folders(change, root)
        before, after = (side.state(charts, values, decided) for side in (there, here))
        yield States(before, after, edits)


def _decided_folders(change: RepositoryChange, root: str) -> set[str]:
    """The folders, from the top, that edited files may have engines apply in another way, so that all in them is compared."""
    found: set[str] = set()
    for folder in (root, change.top):
        for name in change.edited:
            content = _content(os.path.join(folder, name)) if name.endswith(MANIFEST_ENDINGS) else b""
            if any(word in content for word in (*ENGINES, b"argocd-cm")) and not kinds_in(content).isdisjoint(_DECIDING):
                found |= {""} if b"argocd-cm" in content else set(map(_from_top, _PATH.findall(content.decode(errors="replace"))))
    return found


_PATH = re.compile(r"""\bpath["']?:\s*["']?([^\s"'},]+)""")


def _from_top(path: str) -> str:
    """A folder of an engine as a path from the top; empty for the top itself."""
    return os.path.normpath(path.lstrip("/") or os.curdir).removeprefix(os.curdir)


def _content(path: str) -> bytes:
    try:
        if os.path.islink(path) or os.path.getsize(path) > _LARGEST:
            return b""
        with open(path, "rb") as file:
            return file.read()
    except OSError:
        return b""


def _edits(change: RepositoryChange, root: str) -> Iterator[tuple[str, EditedFile]]:
    for name in change.edited:
        here = os.path.join(change.top, name)
        texts = [_content(os.path.join(folder, name)) for folder in (root, change.top)]
        if b"\0" in texts[1]:
            continue
        before, after = (each.decode(errors="replace") for each in texts)
        is_kustomization = os.path.basename(name) in KUSTOMIZATIONS
        yield here, EditedFile(os.path.relpath(here), edited_lines(before, after), is_kustomization)


class _Reached(Record):
    """The real paths that a change reaches: edited files, and all files in some folders."""

    edited: Collection[str]
    folders: tuple[str, ...]
    """Each with a `/` at its end."""

    def __contains__(self, path: object) -> bool:
        return path in self.edited or (bool(self.folders) and isinstance(path, str) and f"{path}/".startswith(self.folders))


# Read one side.


class _Side(Record):
    """One side of a change, whose files are below a folder."""

    change: RepositoryChange
    cluster: Cluster
    root: str

    @property
    def is_before(self) -> bool:
        """Whether it is the side at the ref."""
        return self.root != self.change.top

    def state(self, charts: Sequence[str], values: Sequence[str], decided: Collection[str]) -> State:
        """Build and read the objects that an edited file can reach, and those in *decided* folders."""
        edited = {os.path.join(self.root, each) for each in self.change.edited}
        reached = _Reached(edited, tuple(os.path.join(self.root, each, "") for each in decided))
        found = self._found(reached)
        found += self._charts(charts, values, edited)
        cluster = self.cluster.with_crds(crds_among(found))
        objects: list[AppliedObject] = []
        unread: dict[str, str] = {}
        places = tuple(os.path.join(os.path.realpath(self._place(each)), "") for each in self.change.paths)
        for each in found:
            build = each.in_build.build if each.in_build else None
            if self._is_compared(each, edited, places) and (why := self._why_unbuilt(each)):
                unread[self._unit(each)] = why
            is_reached = build or (self._is_applied(each) and os.path.realpath(each.path) in reached)
            if is_reached and (isinstance(build, RenderedChart) or self._is_compared(each, edited, places)):
                objects += self._objects_in(each, cluster)
        lookups = [document for each in found if self._is_applied(each) for document in self._lookups_in(each, cluster)]
        known = {id(each.document) for each in objects}
        given = [each.document for each in objects if each.document.group_kind in WEBHOOK_LOOKUPS]
        others = [each for each in lookups if id(each) not in known and not _is_among(each, given)]
        return State(objects, cluster.with_objects(_once([*given, *others])), unread)

    def _why_unbuilt(self, found: Found) -> str:
        """Say why a kustomization that the change reaches is not built on this side."""
        within = found.in_build
        if not within or within.build or not within.role.startswith(UNBUILT_KUSTOMIZATION):
            return ""
        why = next((each.message for each in within.notes), within.role.removeprefix(UNBUILT_KUSTOMIZATION).strip(": "))
        return f"{self._unit(found)} is not compared, since it cannot be built{f' at {self.change.ref}' * self.is_before}: {why}"

    def _found(self, about: Container[str]) -> list[Found]:
        """The files of the whole repository, since any of them may say how an engine applies others."""
        found = find([self.root], build=True, run=spread_if_many, about=about) if _has_manifests(self.root) else []
        return found if self.is_before else without_ignored(found, [self.root])

    def _is_compared(self, found: Found, edited: Collection[str], places: tuple[str, ...]) -> bool:
        """True if a file or build is below the compared places, or is built of an edited file there."""
        build = found.in_build.build if found.in_build else None
        files = [os.path.realpath(found.path), *(each for each in build.reads if each in edited)] if build else [found.path]
        return any(f"{each}/".startswith(places) for each in files)

    def _charts(self, charts: Sequence[str], values: Sequence[str], edited: Collection[str]) -> list[Found]:
        from jobspec.session.builds import rendered_charts

        given = [self._place(each) for each in values]
        there = [each for each in map(self._place, charts) if os.path.isfile(os.path.join(each, CHART))]
        reached = [each for each in there if any(os.path.realpath(one) in edited for one in given) or any(map(_inside(each), edited))]
        made = (
            rendered_charts(reached, [each for each in given if os.path.isfile(each)], self.cluster.target["kubernetes"]) if reached else {}
        )
        return [Found(path, named=False, in_build=each) for path, each in made.items()]

    def _place(self, path: str) -> str:
        """The path at this side of a path in the working tree."""
        return os.path.join(self.root, os.path.relpath(os.path.realpath(path), self.change.top)) if self.is_before else path

    @staticmethod
    def _is_applied(found: Found) -> bool:
        within = found.in_build
        name = os.path.basename(found.path)
        return name not in (PROJECT_FILE, *KUSTOMIZATIONS) and not (within and (within.role or within.is_built or within.is_left_out))

    def _objects_in(self, found: Found, cluster: Cluster) -> list[AppliedObject]:
        build = found.in_build.build if found.in_build else None
        reads = build.reads if build else {os.path.realpath(found.path)}
        here = frozenset(os.path.join(self.change.top, os.path.relpath(each, self.root)) for each in reads)
        folder = found.in_build.by_engine if found.in_build else AppliedFolder()
        return [AppliedObject(each, self._unit(found), folder, here) for each in self._documents_in(found, cluster)]

    def _lookups_in(self, found: Found, cluster: Cluster) -> list[Document]:
        parts = parts_with(found, {kind for _, kind in WEBHOOK_LOOKUPS})
        return [each for part in parts for each in self._documents_in(part, cluster) if each.group_kind in WEBHOOK_LOOKUPS]

    def _documents_in(self, found: Found, cluster: Cluster) -> list[Document]:
        manifests = read_file(source_of(found, skip_unknown=True), cluster.target)
        if manifests.settled is not None or any(each.severity == "error" for each in manifests.diagnostics):
            return []
        wrapping = {each.index for each in manifests.documents if each.kind in WRAPPING_KINDS and not each.is_item}
        documents = [each for each in manifests.documents if _is_object(each) and not (each.is_item and each.index in wrapping)]
        return list(map(self._placed, documents))

    def _unit(self, found: Found) -> str:
        """What a file or build is called: the folder of a build, or the file, as users name it in the working tree."""
        is_build = os.path.basename(found.path) in KUSTOMIZATIONS or bool(found.in_build and found.in_build.build)
        path = (os.path.dirname(found.path) or os.curdir) if is_build else found.path
        real = os.path.join(self.change.top, os.path.relpath(os.path.realpath(path), self.root))
        return os.path.relpath(real)

    def _placed(self, document: Document) -> Document:
        """The document with places as users name them: from the working folder, or in the ref, `main:base/job.yaml`."""

        @functools.cache
        def name_of(file: str) -> str:
            real = os.path.realpath(file)
            if not self.is_before:
                return os.path.relpath(real)
            return f"{self.change.ref}:{os.path.relpath(real, self.root)}"

        return document.written_as(document.data, lambda: _renamed(document.marks, name_of))


def _renamed(marks: Marks, name_of: Callable[[str], str]) -> Marks:
    """The marks in files of other names, made when they are asked for."""

    def moved(mark: Mark) -> Mark:
        return Mark(name_of(mark.file), mark.line, mark.column, mark.end_line, mark.end_column, mark.layer)

    def inside() -> Children:
        children = marks.children
        if isinstance(children, dict):
            return {name: _renamed(each, name_of) for name, each in children.items()}
        return [_renamed(each, name_of) for each in children or ()]

    key = moved(marks.key) if marks.key else None
    return Marks(moved(marks.mark), key) if marks.is_scalar else Marks(moved(marks.mark), key, make=inside)


def _is_object(document: Document) -> bool:
    """True if a document is an object of a cluster, and no file of a tool."""
    has_name = bool(document.name) or (isinstance(document.data, dict) and bool((document.data.get("metadata") or {}).get("generateName")))
    group = document.api_version.rpartition("/")[0]
    is_of_tool = group in (OVERLAY[0], "kustomize.config.k8s.io", "builtin", "kind.x-k8s.io")
    return bool(document.api_version and document.kind) and has_name and not document.is_held and not is_of_tool


def _is_among(document: Document, others: Iterable[Document]) -> bool:
    return any(
        each.group_kind == document.group_kind and (each.namespace, each.name) == (document.namespace, document.name) for each in others
    )


def _once(documents: Iterable[Document]) -> list[Document]:
    """Keep one object of each name. If several builds have the name, the first one counts."""
    found: dict[object, Document] = {}
    for each in documents:
        found.setdefault((each.group_kind, is_cluster_scoped(each.api_version, each.kind) or each.namespace, each.name), each)
    return list(found.values())


def _inside(folder: str) -> Callable[[str], bool]:
    around = os.path.join(os.path.realpath(folder), "")
    return lambda path: path.startswith(around)


def _has_manifests(place: str) -> bool:
    """True if a place has a file that may be a manifest."""
    if not os.path.isdir(place):
        return os.path.isfile(place)
    return any(
        name.endswith(MANIFEST_ENDINGS) and not name.startswith(".")
        for _, folders, names in _walk(place)
        for name in names
        if folders is not None
    )


def _walk(place: str) -> Iterator[tuple[str, list[str], list[str]]]:
    for here, folders, names in os.walk(place):
        folders[:] = [each for each in folders if not each.startswith(".")]
        yield here, folders, names


# The files at the ref.


@contextmanager
def _exported(change: RepositoryChange) -> Iterator[str]:
    """Write what builds may read at the ref to a temporary folder while it is needed: manifests, charts, and what kustomizations name."""
    import tempfile

    from jobspec.session.builds import WORK_PREFIX

    why = f"cannot read {change.ref}"
    listed = git(change.top, "ls-tree", "-r", "-z", "-l", change.commit, why=why).split(b"\0")
    rows = [(os.fsdecode(name), about.split()) for about, _, name in (each.partition(b"\t") for each in listed) if name]
    sizes = {name: int(about[3]) if about[3].isdigit() else 0 for name, about in rows}
    charts = tuple(f"{os.path.dirname(name)}/".lstrip("/") for name in sizes if os.path.basename(name) == CHART)
    texts = git_files(change.top, change.commit, ".", why=why, wanted=lambda name, mode: mode in _FILES and _is_kustomization(name))
    named = _names_in(content for _, content in texts)

    def is_wanted(name: str, mode: bytes) -> bool:
        is_read = name.endswith(MANIFEST_ENDINGS) or _is_kustomization(name) or os.path.basename(name) in named
        return sizes[name] <= _LARGEST and (mode == _LINK or (mode in _FILES and (is_read or name.startswith(charts))))

    modes = {name: about[0] for name, about in rows}
    with tempfile.TemporaryDirectory(prefix=WORK_PREFIX) as folder:
        root = os.path.realpath(folder)
        os.mkdir(os.path.join(root, ".git"))  # the root of a repository, outside of which nothing is read
        for name, content in git_files(change.top, change.commit, ".", why=why, wanted=is_wanted):
            _write(root, name, content, is_link=modes[name] == _LINK)
        yield root


def _is_kustomization(name: str) -> bool:
    return os.path.basename(name) in KUSTOMIZATIONS


def _names_in(contents: Iterable[bytes]) -> set[str]:
    """The last parts of all paths that may be named in kustomizations."""
    import re

    words = (word for content in contents for word in re.split(r"[\s\"'=,\[\]{}]+", content.decode(errors="replace")))
    return {word.rpartition("/")[2] for word in words if word}


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
