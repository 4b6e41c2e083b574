"""Custom kinds: those that the user's CRDs define (`--crd`), and those that JSON Schemas describe (`--schema-location`)."""

from __future__ import annotations

from _thread import allocate_lock
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from jobspec.apis import kinds
from jobspec.diagnostics.diagnostic import Diagnostic
from jobspec.diagnostics.errors import JobspecError
from jobspec.diagnostics.places import Data
from jobspec.documents.document import Document, items_of
from jobspec.documents.reader import pieces, read, read_piece
from jobspec.documents.shared_parts import shared
from jobspec.kubernetes.builtin import is_judged
from jobspec.kubernetes.compiling import root_shape
from jobspec.kubernetes.crds.decoding import decoded
from jobspec.schemas.shapes import Shape, load_metadata

TYPE_CHECKING = False
if TYPE_CHECKING:
    from jobspec.apis.releases import Target
    from jobspec.documents.node_marks import Piece
    from jobspec.kubernetes.json_schema_kinds import JSONSchema

    Judge = Callable[[Document], Sequence[Diagnostic]]
    FindJSONSchema = Callable[[Document], "JSONSchema | None"]


CRD = ("apiextensions.k8s.io/v1", "CustomResourceDefinition")


def defined_by(crd: Document) -> tuple[str, str]:
    """Return the group and kind of a CRD's custom resources. If one is missing, both are empty."""
    try:
        return crd.data["spec"]["group"], crd.data["spec"]["names"]["kind"]
    except (KeyError, TypeError):
        return "", ""


def definitions_in(path: str, text: str, judge: Judge) -> tuple[list[Document], list[Diagnostic]]:
    """Return the CRDs in a file, and the errors of the file and of the CRDs.

    *judge* gives the diagnostics of a CRD.
    """
    documents, errors = read(text, file=path)
    crds = [each for document in documents for each in items_of(document) if (each.api_version, each.kind) == CRD]
    return crds, errors + [each for crd in crds for each in judge(crd) if each.severity == "error"]


@dataclass(frozen=True, slots=True)
class UnreadFile:
    """A file from a folder of CRDs. It is parsed only if it may define the kind of an object.

    Folders hold many CRDs.
    """

    path: str
    text: str

    def may_define(self, group: str, kind: str) -> bool:
        """True if the names of the group and the kind are in the file's text."""
        return group in self.text and kind in self.text


class CustomKind:
    """One version of a custom kind, compiled from its CRD."""

    def __init__(self, version: Data, target: Target, *, namespaced: bool, file: str) -> None:
        from jobspec.kubernetes.formats_of_releases import checked_by

        self.namespaced = namespaced
        self.file = file
        """The file of the CRD."""
        schema = checked_by(target["kubernetes"], decoded(shared(version["schema"]["openAPIV3Schema"])))
        self.shape: Shape = root_shape(schema, load_metadata(target), subresources=version.get("subresources") or {})
        self.covers: Literal["valid"] = "valid"


class CustomKinds:
    """The kinds that CRDs define or JSON Schemas describe.

    A kind is compiled when its first object is judged.
    """

    def __init__(
        self,
        crds: Sequence[Document | UnreadFile],
        json_schema: FindJSONSchema | None = None,
        *,
        among_files: Sequence[UnreadFile] = (),
    ) -> None:
        """Take the given CRDs, and those *among_files* of the objects.

        Of the latter, the nearest one of a kind is used, and several are no error.
        """
        self.given = (*crds, *among_files)
        """The CRDs, and the files that may have some."""
        self._crds: dict[tuple[str, str], Document] = {}
        self._unread = [each for each in crds if isinstance(each, UnreadFile)]
        self._reading = allocate_lock()
        for crd in (each for each in crds if not isinstance(each, UnreadFile)):
            self._add(crd)
        self._wrong: dict[tuple[str, str], list[Diagnostic]] = {}
        self._compiled: dict[tuple[int, str], CustomKind] = {}
        self._find_json_schema = json_schema
        self._among_files = among_files
        self._beside: dict[tuple[str, str], Sequence[Document]] = {}
        self._with_group: dict[str, Sequence[UnreadFile]] = {}
        """The files among those of the objects that name a group."""
        self._in_pieces: dict[tuple[str, int], list[Document]] = {}
        """The CRDs in each parsed piece of a file, by path and line."""

    def with_files(self, files: Sequence[UnreadFile]) -> CustomKinds:
        """Return the same kinds, with those that the CRDs in further files define."""
        return CustomKinds([*self._crds.values(), *self._unread], self._find_json_schema, among_files=files)

    def find(self, document: Document, target: Target, judge: Judge) -> CustomKind | JSONSchema | list[Diagnostic] | None:
        """Return the document's custom kind, or its JSON Schema, or the errors of its CRD.

        A JSON Schema counts if no CRD defines the kind, and if jobspec has no complete verdict of its own. If there is neither, return
        None. A list of diagnostics means that the CRD cannot be used for the document. *judge* gives the diagnostics of a CRD.
        """
        name, version = document.group_kind, document.api_version.rpartition("/")[2]
        crd = next(iter(self.crds_for(document, judge)), None)
        if crd is None:
            return self._wrong.get(name) or self._json_schema(document)
        served = _served(crd)
        return self._version_of(crd, version, target) if version in served else [_not_served(document, crd, list(served))]

    def _version_of(self, crd: Document, version: str, target: Target) -> CustomKind:
        key = (id(crd), version)
        if key not in self._compiled:
            namespaced = crd.data["spec"]["scope"] == "Namespaced"
            self._compiled[key] = CustomKind(_served(crd)[version], target, namespaced=namespaced, file=crd.file)
        return self._compiled[key]

    def rivals(self, document: Document, target: Target) -> list[tuple[str, CustomKind]]:
        """Return the other custom kinds that CRDs as near as that of `find` define.

        Each comes with the file of its CRD. Those that equal the one of `find` are left out.
        """
        version = document.api_version.rpartition("/")[2]
        around = [] if document.group_kind in self._crds else self._around(document)
        return [(each.file, self._version_of(each, version, target)) for each in around[1:] if each.digest != around[0].digest]

    def crds_for(self, document: Document, judge: Judge) -> list[Document]:
        """Return the CRDs that define a document's kind.

        The first one counts. The others are among the files, and as near to the document. Those that the server refuses are left out.
        """
        with self._reading:  # another thread waits until the CRDs are there
            self._read_files(document.group_kind, judge)
        given = self._crds.get(document.group_kind)
        return [given] if given else self._around(document)

    def defines(self, document: Document) -> bool:
        """True if a CRD defines the document's kind, or if an unread file may define it."""
        name = document.group_kind
        return self._crd_of(document) is not None or (name not in self._beside and any(each.may_define(*name) for each in self._unread))

    def shape(self, document: Document) -> Shape | None:
        """Return the structure of a document that was judged by its CRD; None for other documents."""
        found = self._compiled.get((id(self._crd_of(document)), document.api_version.rpartition("/")[2]))
        return found.shape if found else None

    def plural(self, document: Document) -> str:
        """Return the resource of a document's kind as its CRD names it. If there is none, return ""."""
        crd = self._crd_of(document)
        return str(crd.data["spec"]["names"].get("plural") or "") if crd else ""

    def versions(self, document: Document) -> list[str]:
        """Return the versions of a document's kind in its CRD, served or not.

        If no CRD defines the kind, the list is empty.
        """
        crd = self._crd_of(document)
        return [each["name"] for each in crd.data["spec"]["versions"]] if crd else []

    def is_converted_by_name(self, document: Document) -> bool:
        """True if the CRD converts between versions of a document's kind by `apiVersion` alone."""
        crd = self._crd_of(document)
        return crd is not None and (crd.data["spec"].get("conversion") or {}).get("strategy", "None") == "None"

    def _crd_of(self, document: Document) -> Document | None:
        """Return the CRD of a document's kind: the given one, or the nearest among the files that serves its version."""
        name = document.group_kind
        return self._crds[name] if name in self._crds else next(iter(self._around(document)), None)

    def _around(self, document: Document) -> list[Document]:
        """Return the CRDs among the files that are nearest to a document, and serve its version."""
        version = document.api_version.rpartition("/")[2]
        return _nearest([each for each in self._beside.get(document.group_kind, ()) if version in _served(each)], document.file)

    def _add(self, crd: Document) -> None:
        name = defined_by(crd)
        if name in self._crds:
            first = self._crds[name]
            raise JobspecError(f"--crd: {crd.name} is given twice, in {first.file} and in {crd.file}; give one of them")
        self._crds[name] = crd

    def _read_files(self, name: tuple[str, str], judge: Judge) -> None:
        """Read the files that may define a kind, and keep their CRDs, or the errors of given files."""
        if name in self._beside:
            return
        known, (group, kind) = kinds.of_name(name), name
        may_be_there = all(name) and not (known and known.is_builtin)
        if may_be_there and group not in self._with_group:
            self._with_group[group] = [each for each in self._among_files if group in each.text]
        files = [each for each in self._with_group[group] if kind in each.text] if may_be_there else ()
        self._beside[name] = [crd for each in files for crd in self._accepted_in(each, name, judge)]
        wanted = [each for each in self._unread if each.may_define(*name)] if all(name) else []
        self._unread = [each for each in self._unread if each not in wanted]
        for each in wanted:
            crds, errors = definitions_in(each.path, each.text, judge)
            self._wrong.setdefault(name, []).extend(errors)
            for crd in crds if not errors else ():
                self._add(crd)

    def _accepted_in(self, file: UnreadFile, name: tuple[str, str], judge: Judge) -> list[Document]:
        """Return the CRDs in a file that define a kind and that a server accepts.

        Those that the server refuses are reported for themselves.
        """
        parts = [each for each in pieces(file.text.removeprefix("\ufeff"), file=file.path) if all(word in each.text for word in name)]
        crds = [crd for each in parts for crd in self._crds_in(each)]
        named = [each for each in crds if defined_by(each) == name]
        accepted = [each for each in named if not any(problem.severity == "error" for problem in judge(each))]
        for each in crds:
            each.forget_marks()
        return accepted

    def _crds_in(self, piece: Piece) -> list[Document]:
        """Return the CRDs in a piece of a file.

        The piece is parsed once, though it may name several kinds.
        """
        place = piece.file, piece.first_line
        if place not in self._in_pieces:
            documents: list[Document] = []
            read_piece(piece, 0, documents, [])
            objects = [item for each in documents for item in items_of(each)]
            self._in_pieces[place] = [each for each in objects if (each.api_version, each.kind) == CRD]
        return self._in_pieces[place]

    def _json_schema(self, document: Document) -> JSONSchema | None:
        if not self._find_json_schema or not document.api_version or not document.kind:
            return None
        known = kinds.find(document.api_version, document.kind)
        return None if known and (known.component or is_judged(known, document.api_version)) else self._find_json_schema(document)


def _served(crd: Document) -> dict[str, Data]:
    """The versions that a CRD serves, by name."""
    return {each["name"]: each for each in crd.data["spec"]["versions"] if each.get("served")}


def _nearest(crds: Sequence[Document], file: str) -> list[Document]:
    """The CRDs whose folders have the most in common with that of a file; the least deep one comes first."""

    def distance(crd: Document) -> tuple[int, int]:
        here, there = file.split("/")[:-1], crd.file.split("/")[:-1]
        common = next((at for at, (one, other) in enumerate(zip(here, there, strict=False)) if one != other), min(len(here), len(there)))
        return -common, len(there) - common

    in_order = sorted(crds, key=distance)
    least = distance(in_order[0])[0] if in_order else 0
    return [each for each in in_order if distance(each)[0] == least]


def _not_served(document: Document, crd: Document, served: list[str]) -> Diagnostic:
    message = f"{crd.file} serves " + (f"{document.kind} in {', '.join(served)} only" if served else f"no version of {document.kind}")
    hint = f"write `apiVersion: {defined_by(crd)[0]}/{served[0]}`" if len(served) == 1 else ""
    return document.problem("unknown-kind", message, ("apiVersion",), hint=hint)
