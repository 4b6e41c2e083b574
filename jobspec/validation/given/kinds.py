"""The kinds that users bring along: their CRDs (`--crd`), and JSON Schemas in kubeconform's layout (`--schema-location`)."""

from __future__ import annotations

from jobspec.diagnostics import JobspecError
from jobspec.documents.files import find, text_of
from jobspec.documents.reader import read
from jobspec.targets import KINDS
from jobspec.validation.given.custom import CustomKind, problems
from jobspec.validation.verdict import told, verdict

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from jobspec.diagnostics import Diagnostic
    from jobspec.documents.document import Document
    from jobspec.targets import Target
    from jobspec.validation.given.json_schemas import JSONSchema
    from jobspec.validation.verdict import Status

CRD = ("apiextensions.k8s.io/v1", "CustomResourceDefinition")


def defined_by(crd: Document) -> tuple[str, str]:
    """Group and kind of what a CRD defines; empty where it does not say."""
    try:
        return crd.data["spec"]["group"], crd.data["spec"]["names"]["kind"]
    except (KeyError, TypeError):
        return "", ""


class Unread:
    """A file of a folder with a CRD in it, read when an object of a kind is judged that it may define: folders hold many."""

    def __init__(self, path: str, text: str) -> None:
        self.path = path
        self.text = text

    def may_define(self, group: str, kind: str) -> bool:
        """Whether the kind's names stand in the file at all."""
        return group in self.text and kind in self.text


class Kinds:
    """The kinds of given CRDs, each made ready when its first object is judged, and the places of JSON Schemas."""

    def __init__(self, crds: Sequence[Document | Unread], schema_locations: Sequence[str] = ()) -> None:
        self._crds: dict[tuple[str, str], Document] = {}
        self._unread: list[Unread] = []
        for crd in crds:
            if isinstance(crd, Unread):
                self._unread.append(crd)
            else:
                self._add(crd)
        self._wrong: dict[tuple[str, str], list[Diagnostic]] = {}
        self._known: dict[tuple[str, str], CustomKind] = {}
        self._schemas = _templates(schema_locations)
        self._json_schemas: dict[str, JSONSchema] = {}

    def _add(self, crd: Document) -> None:
        name = defined_by(crd)
        if name in self._crds:
            first = self._crds[name]
            raise JobspecError(f"--crd: {crd.name} is given twice, in {first.file} and in {crd.file}; give one of them")
        self._crds[name] = crd

    def _look_for(self, name: tuple[str, str], target: Target) -> None:
        """Read the files that may define a kind."""
        wanted = [each for each in self._unread if each.may_define(*name)] if all(name) else []
        self._unread = [each for each in self._unread if each not in wanted]
        for each in wanted:
            crds, errors = _read(each.path, each.text, target)
            self._wrong.setdefault(name, []).extend(errors)
            for crd in crds if not errors else ():
                self._add(crd)

    def verdict(self, document: Document, target: Target, *, old: Document | None = None) -> tuple[Status, list[Diagnostic]] | None:
        """What a server with these CRDs says to a document, or a JSON Schema to one that nothing else is known of; None without either."""
        group, _, version = document.api_version.rpartition("/")
        self._look_for((group, document.kind), target)
        crd = self._crds.get((group, document.kind))
        if crd is None and self._wrong.get((group, document.kind)):
            return "invalid", self._wrong[group, document.kind]
        if crd is None:
            return self._by_json_schema(document)
        served = {each["name"]: each for each in crd.data["spec"]["versions"] if each.get("served")}
        if version not in served:
            return "invalid", [_not_served(document, crd, list(served))]
        name = (document.api_version, document.kind)
        if name not in self._known:
            self._known[name] = CustomKind(served[version], target, namespaced=crd.data["spec"]["scope"] == "Namespaced")
        found = problems(document.data, self._known[name], old.data if old else None)
        diagnostics = told(document, found)
        return "invalid" if any(each.severity == "error" for each in diagnostics) else "valid", diagnostics

    def _by_json_schema(self, document: Document) -> tuple[Status, list[Diagnostic]] | None:
        if not self._schemas or not document.api_version or not document.kind or (document.api_version, document.kind) in KINDS:
            return None
        from jobspec.validation.given import json_schemas

        file = json_schemas.find(document, self._schemas)
        if not file:
            return None
        if file not in self._json_schemas:
            self._json_schemas[file] = json_schemas.JSONSchema(file)
        diagnostics = told(document, json_schemas.problems(document, self._json_schemas[file]))
        return "invalid" if diagnostics else "partly", diagnostics


def _templates(locations: Sequence[str]) -> list[str]:
    if not locations:
        return []
    from jobspec.validation.given import json_schemas

    return json_schemas.templates(locations)


def _not_served(document: Document, crd: Document, served: list[str]) -> Diagnostic:
    group, _ = defined_by(crd)
    what = (
        f"{crd.file} serves {document.kind} in {', '.join(served)} only" if served else f"{crd.file} serves no version of {document.kind}"
    )
    hint = f"write `apiVersion: {group}/{served[0]}`" if len(served) == 1 else ""
    return document.problem("unknown-kind", what, ("apiVersion",), hint=hint)


def find_crds(paths: Sequence[str], target: Target) -> tuple[list[Document | Unread], dict[str, list[Diagnostic]]]:
    """The CRDs in files, what is wrong with them by file, and the files of folders that hold some.

    Raises JobspecError for a path without any CRD.
    """
    crds: list[Document | Unread] = []
    wrong: dict[str, list[Diagnostic]] = {}
    for path in paths:
        texts = [(found.path, text_of(found.path)) for found in find([path]) if not found.named]
        unread = [Unread(file, text) for file, text in texts if isinstance(text, str) and CRD[1] in text]
        read_now, errors = ([], {}) if unread else read_crds([path], target)
        crds += [*unread, *read_now]
        wrong |= errors
    return crds, wrong


def read_crds(paths: Sequence[str], target: Target) -> tuple[list[Document], dict[str, list[Diagnostic]]]:
    """The CRDs in files and folders, and what is wrong with them by file. Raises JobspecError for a path without any CRD."""
    crds: list[Document] = []
    wrong: dict[str, list[Diagnostic]] = {}
    for path in paths:
        before = len(crds)
        for found in find([path]):
            text = text_of(found.path)
            defining, errors = ([], [text]) if not isinstance(text, str) else _read(found.path, text, target)
            crds += defining
            if errors and (defining or found.named):
                wrong[found.path] = errors
        if len(crds) == before and not wrong:
            raise JobspecError(f"--crd {path}: there is no CustomResourceDefinition of {CRD[0]} in it")
    return crds, wrong


def _read(path: str, text: str, target: Target) -> tuple[list[Document], list[Diagnostic]]:
    """The CRDs in a file, and what is wrong with it and with them."""
    documents, errors = read(text, file=path)
    defining = [each for each in documents if (each.api_version, each.kind) == CRD]
    return defining, errors + [each for crd in defining for each in verdict(crd, target)[1] if each.severity == "error"]
