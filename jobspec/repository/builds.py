"""What a builder prints for a kustomization, and the objects in it with their origins.

Follows `resource.Origin`, sigs.k8s.io/kustomize/api, 0.21.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple, Protocol

from jobspec.diagnostics.diagnostic import Diagnostic
from jobspec.diagnostics.results import DocumentResult
from jobspec.documents.document import Document, result_of
from jobspec.documents.reader import read
from jobspec.documents.streams import cut, kinds_in
from jobspec.go.values import mapping
from jobspec.repository.accumulation import Identity, ObjectOrigin, origins_of
from jobspec.repository.layers import Layer
from jobspec.repository.origins import TracedMarks
from jobspec.repository.replaced_lists import lost_by_patches
from jobspec.repository.roles import joined
from jobspec.repository.source_files import SourceFiles

_ORIGIN = re.compile(r"^ *(path|configuredIn): (.*)$", re.MULTILINE)
_CHANGED_IN = re.compile(r"configuredIn: (.*)$", re.MULTILINE)
_ANNOTATIONS = ("config.kubernetes.io/origin", "alpha.config.kubernetes.io/transformations")


class KeptObjects(Protocol):
    """Reads the objects of an output that is not in memory, since many builds of large CRDs need too much of it. It can be pickled."""

    @property
    def size(self) -> int:
        """The number of bytes."""

    def read(self) -> bytes:
        """Return the objects, in UTF-8."""


class Output(NamedTuple):
    """The output of a builder."""

    folder: str
    """The folder that its paths begin at."""
    text: str = ""
    """The objects, if they are not kept elsewhere."""
    kept: KeptObjects | None = None
    """Reads the objects that are kept elsewhere; None if they are not."""
    documents: Mapping[str, Sequence[DocumentResult]] = {}
    """What `documents_listed` gives of the manifests that it is built of, by their real paths."""
    sources: Sequence[str] | None = None
    """Where each object comes from, as its annotation names it, empty where it is generated; None where the objects were not read."""
    kinds: frozenset[str] | None = None
    """The kinds that are named in the objects; None where they were not read."""

    def read(self) -> bytes:
        """The objects, in UTF-8."""
        return self.kept.read() if self.kept else self.text.encode()

    @property
    def size(self) -> int:
        """How many bytes there are to read."""
        return self.kept.size if self.kept else len(self.text.encode())


def output_of(printed: str, folder: str, manifests: Iterable[str], files: SourceFiles) -> Output:
    """Return the output of a builder as lines of JSON, which are read ten times as fast.

    If its YAML has problems, the output stays as it is.

    Of each object the first line, a comment, has where it comes from and what changed it, and the second line has the object without the
    annotations that say so.
    """
    objects = _printed_objects(printed)
    listed = _documents_of(manifests, files)
    if objects is None:
        return Output(folder, printed, documents=listed)
    return _as_lines(folder, listed, [each.said for each in objects], objects)


def output_without_annotations(
    printed: str, folder: str, manifests: Iterable[str], files: SourceFiles, root: Layer, layers: Mapping[str, Layer]
) -> Output | None:
    """Return the output of a builder that printed no annotations.

    If the files of the kustomization *root* do not determine all origins, return None. *layers*: all kustomizations by their folders.
    """
    objects = _printed_objects(printed)
    if objects is None:
        return None
    origins = origins_of([each.identity for each in objects], root, layers, lambda path: identities_in(files.text(path)))
    if origins is None:
        return None
    return _as_lines(folder, _documents_of(manifests, files), origins, objects)


def _documents_of(manifests: Iterable[str], files: SourceFiles) -> dict[str, Sequence[DocumentResult]]:
    return {each: documents_listed(files.text(each)) for each in sorted(manifests)}


def _as_lines(
    folder: str, listed: Mapping[str, Sequence[DocumentResult]], said: Sequence[ObjectOrigin], objects: Sequence[_Printed]
) -> Output:
    import json

    text = "---\n".join(f"# {json.dumps(notes)}\n{each.data}\n" for notes, each in zip(said, objects, strict=True))
    return Output(folder, text, documents=listed, sources=[source for source, _ in said], kinds=kinds_in(text.encode()))


class _Printed(NamedTuple):
    """An object that a builder has printed."""

    said: ObjectOrigin
    identity: Identity
    data: str
    """The object without the annotations of the builder, as JSON."""


def _printed_objects(printed: str) -> list[_Printed] | None:
    """Return the objects of an output. If its YAML has problems, return None."""
    objects = []
    for piece in (each for each, _ in cut(printed) if each.strip()):
        if (found := _with_origin(piece)) is None:
            return None
        objects.append(found)
    return objects


_OF_METADATA = re.compile(r"^metadata:\n(?: .*\n|\n)*", re.MULTILINE)
_ANNOTATION = re.compile(rf"^    ({'|'.join(map(re.escape, _ANNOTATIONS))}): \|\n((?:      .*\n)*)", re.MULTILINE)


def _with_origin(piece: str) -> _Printed | None:
    """Return a printed object, as `_as_json` gives it.

    ObjectOrigin that are written as kustomize does are cut out before, since many builds have the same object but for these.
    """
    found = _OF_METADATA.search(piece)
    cut_out = dict(_ANNOTATION.findall(found[0])) if found else {}
    bare = f"{piece[: found.start()]}{_ANNOTATION.sub('', found[0])}{piece[found.end() :]}" if found and cut_out else piece
    if (known := _as_json(bare)) is None:
        return None
    source, changed_in = known.said
    source_cut, changed_in_cut = _origin_of(*(cut_out.get(name, "") for name in _ANNOTATIONS))
    return known._replace(said=(source_cut or source, changed_in_cut or changed_in))


@lru_cache(maxsize=1024)
def _as_json(text: str) -> _Printed | None:
    """Return the one object in a text. If there is none, more than one, or a value that JSON does not have, return None."""
    import json

    documents, problems = read(text, file="")
    if problems or len(documents) != 1 or not isinstance(documents[0].data, dict):
        return None
    data, said = _annotations_of(documents[0].data)
    try:
        return _Printed(said, _identity_of(documents[0]), json.dumps(data, allow_nan=False))
    except ValueError:
        return None


def written(output: Output) -> str:
    """Write an output for a file. Its first line says what the output is."""
    import json

    listed = {path: list(map(vars, rows)) for path, rows in output.documents.items()}
    kinds = sorted(output.kinds) if output.kinds is not None else None
    return f"# {json.dumps([output.folder, listed, output.sources, kinds])}\n{output.text}"


def output_from(first_line: bytes, kept: KeptObjects) -> Output:
    """Return the output with this first line, as `written` gives it, and the objects after it."""
    import json

    folder, listed, sources, kinds = json.loads(first_line[2:])
    documents = {each: [DocumentResult(**row) for row in rows] for each, rows in listed.items()}
    return Output(folder, "", kept, documents, sources, None if kinds is None else frozenset(kinds))


class Build:
    """The objects of a build, and where they come from. It can be pickled."""

    what = "kustomization"
    """What is built."""
    has_actions = False
    """Whether its files have actions, `{{ name }}`, which the build fills in."""

    def __init__(
        self, path: str, output: Output, shown: Mapping[str, str], reads: Collection[str], changing: Collection[str] | None = None
    ) -> None:
        self.path = path
        """The kustomization as users name it."""
        self.reads = frozenset(reads)
        """The real paths of all files that it is built of."""
        self._changing = self.reads if changing is None else frozenset(changing)
        self._output = output
        self.size = output.size
        self.kinds = output.kinds
        """The kinds that are named in it; None where nobody has looked."""
        self._shown = shown
        """Real path -> the path as users name it."""

    @property
    def content(self) -> bytes:
        """What is built, as YAML."""
        return self._output.read()

    @property
    def text(self) -> str:
        """The same, decoded."""
        return self.content.decode()

    @property
    def names(self) -> list[tuple[str, str | None, bool]]:
        """Return the files that it is built of.

        Each has its real path, the path as users name it, and whether it may change objects of other files.
        """
        return [(each, self._shown.get(each), each in self._changing) for each in sorted(self.reads)]

    def read(self, text: str, files: SourceFiles, first_line: int = 0) -> tuple[list[Document], list[Diagnostic]]:
        """The documents of a part of the output, with the places where their values were written, and the problems of its YAML.

        *files* reads what it was built of. The annotations of the output are left out. What several builds have alike is parsed once,
        and its documents have the same data.
        """
        if objects := _objects_in(text):
            traced = [self._traced(_object(each), notes, at, files) for at, (notes, each) in enumerate(objects)]
            problems: list[Diagnostic] = []
        else:
            documents, problems = read(text, file=self.path, first_line=first_line)
            traced = [self._traced(*_annotations_of(each.data), each.index, files) for each in documents]
        lost = (found for each, marks in traced for found in lost_by_patches(each, marks.source, marks.kustomizations, files))
        return [each for each, _ in traced], [*problems, *lost]

    def _traced(self, data: Any, annotations: ObjectOrigin, index: int, files: SourceFiles) -> tuple[Document, TracedMarks]:
        source, changed_in = annotations
        kustomizations = tuple(dict.fromkeys((*map(self._path, reversed(changed_in)), self.path)))
        marks = TracedMarks(data, self._path(source), kustomizations, files)
        return Document(data, marks, file=self.path, index=index), marks

    def _path(self, named: str) -> str:
        """The path that users know, of one that is named in an annotation; without a name the kustomization itself."""
        real = joined(self._output.folder, named)
        return (self._shown.get(real) or os.path.relpath(real)) if named else self.path

    def sources(self) -> list[str]:
        """The file that each document was written in, or the kustomization that generates it."""
        named = self._output.sources
        if named is None:
            named = [_annotations_of(each.data)[1][0] for each in read(self.text, file=self.path)[0]]
        return list(map(self._path, named))


_NOTES = "# ["
"""How the line begins that has these of the object in the line behind it."""


def documents_listed(text: str) -> Sequence[DocumentResult]:
    """What `dropped` gives of a manifest's text; nothing where there are problems in it, or more than objects."""
    return _listed(text)[0]


def identities_in(text: str) -> Sequence[Identity]:
    """Return the identities of the objects in a manifest.

    If the text has problems, or a list of objects, return none.
    """
    return _listed(text)[1]


@lru_cache(maxsize=1024)  # of which several builds may read the same
def _listed(text: str) -> tuple[Sequence[DocumentResult], Sequence[Identity]]:
    documents, problems = read(text, file="")
    are_plain = not problems and "$patch" not in text and all(isinstance(each.data, dict) and not _is_list(each) for each in documents)
    return (dropped(documents), list(map(_identity_of, documents))) if are_plain else ((), ())


def _is_list(document: Document) -> bool:
    return document.kind == "List" or (document.kind.endswith("List") and "items" in document.data)


def _identity_of(document: Document) -> Identity:
    return Identity(document.api_version, document.kind, document.name, document.namespace)


def _objects_in(text: str) -> list[tuple[ObjectOrigin, str]]:
    """The annotations and the JSON of each object in a part of an output; none where it is no JSON."""
    import json

    pieces = [each.partition("\n") for each in text.removeprefix("---\n").split("\n---\n")] if _NOTES in text[:8] else []
    return [(tuple(json.loads(notes[2:])), data) for notes, _, data in pieces]


@lru_cache(maxsize=4096)
def _object(text: str) -> Any:
    import json

    return json.loads(text)


def _annotations_of(data: Any) -> tuple[Any, ObjectOrigin]:
    """The data of an object without the annotations of a builder, and what these say."""
    if not isinstance(data, dict):
        return data, ("", [])
    metadata = mapping(data, "metadata")
    annotations = dict(mapping(metadata, "annotations"))
    origin, changes = (str(annotations.pop(name, "")) for name in _ANNOTATIONS)
    metadata = {key: value for key, value in metadata.items() if key != "annotations"}
    return {**data, "metadata": {**metadata, "annotations": annotations} if annotations else metadata}, _origin_of(origin, changes)


def _origin_of(origin: str, changes: str) -> ObjectOrigin:
    """What the annotations of a builder say."""
    found = _ORIGIN.search(origin)
    return _unquoted(found[2]) if found else "", list(dict.fromkeys(map(_unquoted, _CHANGED_IN.findall(changes))))


def _unquoted(name: str) -> str:
    return name.strip("\"'")


def dropped(documents: Iterable[Document]) -> list[DocumentResult]:
    """Return the results of documents that their builds drop."""
    return [result_of(each, "skipped", reason="manifest: dropped by its builds") for each in documents]
