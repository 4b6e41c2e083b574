"""Custom kinds: those that the user's CRDs define (`--crd`), and those that JSON Schemas describe (`--schema-location`)."""

from __future__ import annotations

from _thread import allocate_lock

from jobspec.diagnostics import JobspecError
from jobspec.documents.reader import read
from jobspec.kinds import find
from jobspec.shapes import load_metadata
from jobspec.validation.builtin import is_judged
from jobspec.validation.compiling import root_shape
from jobspec.validation.crds.decode import decoded

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any, Literal

    from jobspec.diagnostics import Diagnostic
    from jobspec.documents.document import Document
    from jobspec.shapes import Shape
    from jobspec.targets import Target
    from jobspec.validation.json_schemas import JSONSchema

    Judge = Callable[[Document], Sequence[Diagnostic]]
    FindJSONSchema = Callable[[Document], JSONSchema | None]

CRD = ("apiextensions.k8s.io/v1", "CustomResourceDefinition")


def defined_by(crd: Document) -> tuple[str, str]:
    """The group and kind of a CRD's custom resources; both empty if the CRD lacks one."""
    try:
        return crd.data["spec"]["group"], crd.data["spec"]["names"]["kind"]
    except (KeyError, TypeError):
        return "", ""


def definitions_in(path: str, text: str, judge: Judge) -> tuple[list[Document], list[Diagnostic]]:
    """The CRDs in a file, and the errors in the file and in its CRDs; *judge* gives the diagnostics of a CRD."""
    documents, errors = read(text, file=path)
    crds = [each for each in documents if (each.api_version, each.kind) == CRD]
    return crds, errors + [each for crd in crds for each in judge(crd) if each.severity == "error"]


class UnreadFile:
    """A file from a folder of CRDs, parsed only if it may define the kind of an object that is judged: folders hold many CRDs."""

    def __init__(self, path: str, text: str) -> None:
        self.path = path
        self.text = text

    def may_define(self, group: str, kind: str) -> bool:
        """Whether the names of the group and the kind occur in the file."""
        return group in self.text and kind in self.text


class CustomKind:
    """One version of a custom kind, compiled from its CRD."""

    __slots__ = ("covers", "namespaced", "shape")

    def __init__(self, version: dict[str, Any], target: Target, *, namespaced: bool) -> None:
        self.namespaced = namespaced
        self.shape: Shape = root_shape(
            decoded(version["schema"]["openAPIV3Schema"]), load_metadata(target), subresources=version.get("subresources") or {}
        )
        self.covers: Literal["valid"] = "valid"


class CustomKinds:
    """The kinds that CRDs define or JSON Schemas describe. A kind is compiled when its first object is judged."""

    def __init__(self, crds: Sequence[Document | UnreadFile], json_schema: FindJSONSchema | None = None) -> None:
        self._crds: dict[tuple[str, str], Document] = {}
        self._unread: list[UnreadFile] = []
        self._reading = allocate_lock()
        for crd in crds:
            if isinstance(crd, UnreadFile):
                self._unread.append(crd)
            else:
                self._add(crd)
        self._wrong: dict[tuple[str, str], list[Diagnostic]] = {}
        self._compiled: dict[tuple[str, str], CustomKind] = {}
        self._find_json_schema = json_schema

    def find(self, document: Document, target: Target, judge: Judge) -> CustomKind | JSONSchema | list[Diagnostic] | None:
        """The document's custom kind; without a CRD of it, and if no verdict of ours is whole, its JSON Schema; None without either.

        A list of diagnostics means that the CRD cannot be used for the document. *judge* gives the diagnostics of a CRD.
        """
        group, _, version = document.api_version.rpartition("/")
        name = (group, document.kind)
        with self._reading:  # another thread waits until the CRDs are there
            self._read_files(name, judge)
        crd = self._crds.get(name)
        if crd is None:
            return self._wrong.get(name) or self._json_schema(document)
        served = {each["name"]: each for each in crd.data["spec"]["versions"] if each.get("served")}
        if version not in served:
            return [_not_served(document, crd, list(served))]
        key = (document.api_version, document.kind)
        if key not in self._compiled:
            self._compiled[key] = CustomKind(served[version], target, namespaced=crd.data["spec"]["scope"] == "Namespaced")
        return self._compiled[key]

    def defines(self, document: Document) -> bool:
        """Whether a CRD defines the document's kind, or is in a file that may."""
        name = (document.api_version.rpartition("/")[0], document.kind)
        return name in self._crds or any(each.may_define(*name) for each in self._unread)

    def _add(self, crd: Document) -> None:
        name = defined_by(crd)
        if name in self._crds:
            first = self._crds[name]
            raise JobspecError(f"--crd: {crd.name} is given twice, in {first.file} and in {crd.file}; give one of them")
        self._crds[name] = crd

    def _read_files(self, name: tuple[str, str], judge: Judge) -> None:
        """Read the files that may define a kind, and keep their CRDs, or the errors."""
        wanted = [each for each in self._unread if each.may_define(*name)] if all(name) else []
        self._unread = [each for each in self._unread if each not in wanted]
        for each in wanted:
            crds, errors = definitions_in(each.path, each.text, judge)
            self._wrong.setdefault(name, []).extend(errors)
            for crd in crds if not errors else ():
                self._add(crd)

    def _json_schema(self, document: Document) -> JSONSchema | None:
        if not self._find_json_schema or not document.api_version or not document.kind:
            return None
        known = find(document.api_version, document.kind)
        return None if known and (known.component or is_judged(known)) else self._find_json_schema(document)


def _not_served(document: Document, crd: Document, served: list[str]) -> Diagnostic:
    group, _ = defined_by(crd)
    message = f"{crd.file} serves " + (f"{document.kind} in {', '.join(served)} only" if served else f"no version of {document.kind}")
    hint = f"write `apiVersion: {group}/{served[0]}`" if len(served) == 1 else ""
    return document.problem("unknown-kind", message, ("apiVersion",), hint=hint)
