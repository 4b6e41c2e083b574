"""Find objects that kustomize builds, or that files have, and where each of their values was written."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence

from jobspec.apis.releases import Target
from jobspec.diagnostics.places import Mark
from jobspec.diagnostics.record import Record
from jobspec.documents.document import KUSTOMIZATIONS, Document
from jobspec.documents.reader import read
from jobspec.journey.reading import read as read_file
from jobspec.journey.rendering import text_of
from jobspec.project.blame import Blamed, Origin
from jobspec.project.fields import fields_of, spelling_of
from jobspec.repository.origins import written_as
from jobspec.session.builds import why_unbuilt
from jobspec.session.finding import find
from jobspec.session.found import Found
from jobspec.session.kustomize_schema import repository_of
from jobspec.session.processes import spread_if_many
from jobspec.session.reading import files_of, source_of


class BuiltObject(Record):
    """An object of a build, or of a file."""

    unit: str
    """The folder of the build, or the file."""
    source: str
    """The file that the object was written in; empty for one that is generated."""
    document: Document
    found: Found

    @property
    def name(self) -> str:
        """Return how users name it: `PyTorchJob/train`."""
        return f"{self.document.kind}/{self.document.name}"


class NamedObjects(Record):
    """The objects that a user names, among those of a repository."""

    objects: Sequence[BuiltObject]
    unbuilt: Mapping[str, str]
    """The kustomizations that cannot be built, and may have such objects, too, each with why."""
    others: Sequence[str]
    """The names of all other objects."""


def objects_named(wanted: str, folder: str, target: Target) -> NamedObjects:
    """Return the objects that a user names, in the builds and files below a folder.

    *wanted*: `KIND/NAME`, `KIND/NAMESPACE/NAME`, the folder of a kustomization or around some, or a file.
    """
    found = [each for each in find([repository_of(folder)], build=True, run=spread_if_many) if not _is_outside(_unit(each), folder)]
    objects = [one for each in found for one in _objects_in(each, target)]
    unbuilt = {_unit(each): why for each in found if (why := why_unbuilt(each.in_build))}
    if os.path.lexists(wanted):
        place = os.path.realpath(os.path.dirname(wanted) or os.curdir if os.path.basename(wanted) in KUSTOMIZATIONS else wanted)
        named = [each for each in objects if place in (os.path.realpath(each.unit), os.path.realpath(each.source or os.devnull))]
        is_build = os.path.isdir(place) and (bool(named) or any(place == os.path.realpath(each) for each in unbuilt))
        if os.path.isdir(place) and not is_build:
            named = [each for each in objects if not _is_outside(each.unit, place)]
        below = {each: why for each, why in unbuilt.items() if not os.path.isdir(place) or not _is_outside(each, place)}
        return NamedObjects(named, below, ())
    kind, _, name = wanted.lower().partition("/")
    named = [each for each in objects if each.document.kind.lower() == kind and name in _names_of(each.document)]
    return NamedObjects(named, unbuilt, sorted({each.name for each in objects if each not in named}))


def _names_of(document: Document) -> tuple[str, str]:
    return document.name.lower(), f"{document.namespace}/{document.name}".lower()


def _is_outside(unit: str, folder: str) -> bool:
    around = os.path.realpath(folder)
    return os.path.commonpath([around, os.path.realpath(unit)]) != around


def _unit(found: Found) -> str:
    """Return the folder of a kustomization, or a file."""
    is_build = os.path.basename(found.path) in KUSTOMIZATIONS or bool(found.in_build and found.in_build.build)
    return os.path.relpath((os.path.dirname(found.path) or os.curdir) if is_build else found.path)


def _objects_in(each: Found, target: Target) -> Iterator[BuiltObject]:
    manifests = read_file(source_of(each, skip_unknown=True), target)
    if manifests.settled is not None or any(one.severity == "error" for one in manifests.diagnostics):
        return
    sources = each.in_build.build.sources() if each.in_build and each.in_build.build else []
    for document in manifests.documents:
        if document.kind and document.name and not document.is_held:
            source = sources[document.index] if document.index < len(sources) else each.path
            yield BuiltObject(_unit(each), source, document, each)


def blamed_fields(each: BuiltObject, target: Target) -> tuple[list[Blamed], str]:
    """Return the fields of an object in the order of its text, and that text.

    Each field comes with the value that the base had.
    """
    text = text_of([each.document], target)
    lines = {path: tree.mark.line for path, tree in fields_of(read(text, file="")[0][0], target).values.items()}
    base = written_as(each.source, each.document.data, files_of(each.found)) if each.source else None
    before = fields_of(base, target).values if base else {}
    found: list[Blamed] = []
    for path, tree in fields_of(each.document, target).values.items():
        field = spelling_of(path)
        history = [Origin(field, tree.data(), _named_layer(tree.place(), each))]
        if (old := before.get(path)) is not None and old.data() != tree.data():
            history.append(Origin(field, old.data(), _named_layer(old.place(), each)))
        found.append(Blamed(field, history, lines.get(path, 0)))
    return sorted(found, key=lambda one: one.line), text


def _named_layer(mark: Mark, each: BuiltObject) -> Mark:
    """The place of a value, with what wrote it there: the base, a patch, or a field of a kustomization, such as `images`."""
    layer = "" if mark.file == each.source else "patch"
    if os.path.basename(mark.file) in KUSTOMIZATIONS:
        for document in files_of(each.found).documents(mark.file)[:1]:
            children = document.marks.children
            marks = children.items() if isinstance(children, dict) else ()
            before = [(one.key.line, name) for name, one in marks if one.key and one.key.line <= mark.line]
            field = max(before, default=(0, "kustomization"))[1]
            layer = "patch" if field.startswith("patches") else field
    return Mark(os.path.relpath(mark.file), mark.line, mark.column, mark.end_line, mark.end_column, layer)


def fields_at(blamed: Sequence[Blamed], field: str) -> list[Blamed]:
    """Return the fields at or below a field, or that end with it."""
    at = [each for each in blamed if each.field == field or each.field.startswith((f"{field}.", f"{field}["))]
    return at or [each for each in blamed if each.field.endswith((f".{field}", f"[{field}]"))]
