"""Read two states of a repository as it is: at a Git ref, and in the working tree. Both sides are built, as far as the change reaches."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager

from jobspec.apis.kinds import OVERLAY, PROJECT_FILE, WEBHOOK_LOOKUPS, is_cluster_scoped
from jobspec.diagnostics.places import Mark, Marks
from jobspec.diagnostics.record import Record
from jobspec.documents.document import CHART, KUSTOMIZATIONS, Document, without_wrapped
from jobspec.journey.reading import read as read_file
from jobspec.project.edited_lines import EditedFile, edited_lines
from jobspec.project.object_changes import AppliedObject, State
from jobspec.repository.helm import RenderedChart
from jobspec.repository.in_build import AppliedFolder
from jobspec.session.builds import why_unbuilt
from jobspec.session.finding import find_among
from jobspec.session.found import Found
from jobspec.session.processes import spread_if_many
from jobspec.session.reach import Reach
from jobspec.session.reading import look_through, parts_with, source_of
from jobspec.session.repository_changes import ReachedFiles, RepositoryChange, exported
from jobspec.world.world import Cluster

TYPE_CHECKING = False
if TYPE_CHECKING:
    from jobspec.diagnostics.places import Children
    from jobspec.repository.chart_values import ChartValues


class States(Record):
    """Both sides of a change."""

    before: State
    after: State
    edits: Mapping[str, EditedFile]
    """The edited files by their real paths in the working tree."""


@contextmanager
def states_of(
    change: RepositoryChange, cluster: Cluster, charts: Sequence[str], values: ChartValues, of_projects: Collection[str] = ()
) -> Iterator[States]:
    """Build both sides of a change. The states are to be compared inside of the context, since files are read when a place is asked for.

    *charts* and *values*: Helm charts to render, with their values. *of_projects*: files and folders, from the top of the
    repository, whose objects are left out, since the projects that have them are compared.
    """
    with exported(change, [*charts, *values.reads]) as files:
        edits = dict(_edits(change, files))
        sides = (_Side(change, cluster, files.root, files.before), _Side(change, cluster, change.top, files.after))
        before, after = (side.state(charts, values, of_projects) for side in sides)
        yield States(before, after, edits)


def _edits(change: RepositoryChange, files: ReachedFiles) -> Iterator[tuple[str, EditedFile]]:
    for name in change.edited:
        here = os.path.join(change.top, name)
        texts = files.edited_texts(name)
        if b"\0" in texts[1]:
            continue
        before, after = (each.decode(errors="replace") for each in texts)
        is_kustomization = os.path.basename(name) in KUSTOMIZATIONS
        yield here, EditedFile(os.path.relpath(here), edited_lines(before, after), is_kustomization)


# Read one side.


class _Side(Record):
    """One side of a change, whose files are below a folder."""

    change: RepositoryChange
    cluster: Cluster
    root: str
    reach: Reach

    @property
    def is_before(self) -> bool:
        """Whether it is the side at the ref."""
        return self.root != self.change.top

    def state(self, charts: Sequence[str], values: ChartValues, of_projects: Collection[str]) -> State:
        """Build and read the objects that an edited file can reach."""
        reached = self.reach
        edited = {os.path.join(self.root, each) for each in self.change.edited}
        left_out = tuple(os.path.join(self.root, each, "") for each in of_projects)
        found = [each for each in find_among(reached, run=spread_if_many) if not f"{os.path.realpath(each.path)}/".startswith(left_out)]
        found += self._charts(charts, values, edited)
        objects: list[AppliedObject] = []
        unread: dict[str, str] = {}
        places = tuple(os.path.join(os.path.realpath(self._place(each)), "") for each in self.change.paths)
        for each in found:
            build = each.in_build.build if each.in_build else None
            if self._is_compared(each, edited, places) and (why := why_unbuilt(each.in_build)):
                unread[self._unit(each)] = f"{f'at {self.change.ref}: ' * self.is_before}{why}"
            is_reached = build or (self._is_applied(each) and os.path.realpath(each.path) in reached)
            if is_reached and (isinstance(build, RenderedChart) or self._is_compared(each, edited, places)):
                objects += self._objects_in(each)
        if not objects:  # to read what they meet may take long
            return State((), self.cluster, unread)
        cluster = self.cluster.with_crds(look_through(found).crds)
        lookups = [document for each in found if self._is_applied(each) for document in self._lookups_in(each)]
        known = {id(each.document) for each in objects}
        given = [each.document for each in objects if each.document.group_kind in WEBHOOK_LOOKUPS]
        others = [each for each in lookups if id(each) not in known and not _is_among(each, given)]
        return State(objects, cluster.with_objects(_once([*given, *others])), unread)

    def _is_compared(self, found: Found, edited: Collection[str], places: tuple[str, ...]) -> bool:
        """True if a file or build is below the compared places, or is built of an edited file there."""
        build = found.in_build.build if found.in_build else None
        files = [os.path.realpath(found.path), *(each for each in build.reads if each in edited)] if build else [found.path]
        return any(f"{each}/".startswith(places) for each in files)

    def _charts(self, charts: Sequence[str], values: ChartValues, edited: Collection[str]) -> list[Found]:
        from jobspec.session.builds import rendered_charts

        given = values.at(self._place)
        there = [each for each in map(self._place, charts) if os.path.isfile(os.path.join(each, CHART))]
        reached = [each for each in there if any(os.path.realpath(one) in edited for one in given.reads) or any(map(_inside(each), edited))]
        made = rendered_charts(reached, given.among(os.path.isfile), self.cluster.target["kubernetes"]) if reached else {}
        return [Found(path, named=False, in_build=each) for path, each in made.items()]

    def _place(self, path: str) -> str:
        """The path at this side of a path in the working tree."""
        return os.path.join(self.root, os.path.relpath(os.path.realpath(path), self.change.top)) if self.is_before else path

    @staticmethod
    def _is_applied(found: Found) -> bool:
        within = found.in_build
        name = os.path.basename(found.path)
        return name not in (PROJECT_FILE, *KUSTOMIZATIONS) and not (within and (within.role or within.is_built or within.is_left_out))

    def _objects_in(self, found: Found) -> list[AppliedObject]:
        build = found.in_build.build if found.in_build else None
        reads = build.reads if build else {os.path.realpath(found.path)}
        here = frozenset(os.path.join(self.change.top, os.path.relpath(each, self.root)) for each in reads)
        folder = found.in_build.by_engine if found.in_build else AppliedFolder()
        return [AppliedObject(each, self._unit(found), folder, here) for each in self._documents_in(found)]

    def _lookups_in(self, found: Found) -> list[Document]:
        parts = parts_with(found, {kind for _, kind in WEBHOOK_LOOKUPS})
        return [each for part in parts for each in self._documents_in(part) if each.group_kind in WEBHOOK_LOOKUPS]

    def _documents_in(self, found: Found) -> list[Document]:
        manifests = read_file(source_of(found, skip_unknown=True), self.cluster.target)
        if manifests.settled is not None or any(each.severity == "error" for each in manifests.diagnostics):
            return []
        documents = [each for each in without_wrapped(manifests.documents) if _is_object(each)]
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
