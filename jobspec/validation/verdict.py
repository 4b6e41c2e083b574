"""The verdict on a document: what a strict server-side dry-run of it would answer."""

from __future__ import annotations

from jobspec import kinds, shapes
from jobspec.validation import metadata, structural

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any, Literal

    from jobspec.diagnostics import Diagnostic
    from jobspec.documents.document import Document
    from jobspec.kinds import Kind
    from jobspec.shapes import Shape
    from jobspec.targets import Target
    from jobspec.validation.custom_kinds import CustomKinds
    from jobspec.validation.given.custom import CustomKind
    from jobspec.validation.json_schemas import JSONSchema
    from jobspec.validation.structural import Problem

    Status = Literal["valid", "invalid", "partly", "unknown"]


class Verdict:
    """Whether the server would take a document, and the diagnostics about it.

    `partly`: nothing was found, and only a part of what the server checks was looked at (built-in kinds, JSON Schemas). `unknown`:
    the document is no manifest, or nothing is known of its kind; the one diagnostic says which.
    """

    __slots__ = ("diagnostics", "near_miss", "status")

    def __init__(self, status: Status, diagnostics: list[Diagnostic], *, near_miss: bool = False) -> None:
        self.status = status
        self.diagnostics = diagnostics
        self.near_miss = near_miss
        """Of an unknown kind: it is a wrong spelling of one of our own kinds."""

    def refused(self) -> Verdict:
        """The same diagnostics about a document that is invalid whatever they say, since it could not be decoded without an error."""
        return Verdict("invalid", self.diagnostics, near_miss=self.near_miss)


def verdict(document: Document, target: Target, *, custom_kinds: CustomKinds | None = None, old: Document | None = None) -> Verdict:
    """The verdict on a document; with *old*, as an update of that; *custom_kinds* come before our own and the built-in ones."""
    custom = custom_kinds.find(document, target, lambda crd: verdict(crd, target).diagnostics) if custom_kinds else None
    if custom is not None:
        return _by_custom_kind(document, custom, old)
    kind = kinds.find(document.api_version, document.kind)
    if not kind:
        return _unknown(document)
    shape = shapes.load(document.api_version, document.kind, target)
    typed = kind.component == "kubernetes"
    found = structural.problems(document.data, shape, typed=typed) if shape else _metadata_types(document, target)
    if found and not typed and shape:
        from jobspec.validation import releases

        found = releases.told(found, document.data, (document.api_version, document.kind), target)
    if not any(problem.rule == "wrong-indentation" for problem in found):
        found = _with_code(document, kind, shape, found, old.data if old else None)
    return _verdict(document, found, "valid" if shape else "partly")


def _verdict(document: Document, found: Iterable[Problem], otherwise: Status) -> Verdict:
    diagnostics = told(document, found)
    return Verdict("invalid" if any(each.severity == "error" for each in diagnostics) else otherwise, diagnostics)


def _by_custom_kind(document: Document, custom: CustomKind | JSONSchema | list[Diagnostic], old: Document | None) -> Verdict:
    if isinstance(custom, list):
        return Verdict("invalid", custom)
    found = custom.problems(document) if custom.covers == "partly" else custom.problems(document, old.data if old else None)
    return _verdict(document, found, custom.covers)


def told(document: Document, found: Iterable[Problem]) -> list[Diagnostic]:
    """Problems in their places; a rule that nobody could evaluate is a warning."""
    return [
        document.problem(
            problem.rule,
            problem.message,
            problem.path,
            hint=problem.hint,
            at_key=problem.at_key,
            severity="warning" if problem.rule == "rule-not-evaluated" else "error",
        )
        for problem in found
    ]


def _with_code(document: Document, kind: Kind, shape: Shape | None, found: list[Problem], old: Any) -> list[Problem]:
    """What was *found* in the structure, and what the server's code and the kind's rules have against the object besides."""
    if old is not None:
        from jobspec.validation import updates

        found = updates.problems(document.data, old, None if kind.is_builtin else shape, found)
    if document.group_kind == kinds.PERSISTENT_VOLUME_CLAIM:
        from jobspec.validation import claim

        found = claim.problems(document.data, found, is_new=old is None)
    if document.group_kind == kinds.CUSTOM_RESOURCE_DEFINITION and shape:
        from jobspec.validation.crds import definition

        found = definition.definition_problems(document.data, found, shape, old)
    meta = document.data.get("metadata")
    if meta is None or isinstance(meta, dict):
        problems = metadata.problems(meta or {}, names=kind.names, builtin=kind.is_builtin, namespaced=kind.namespaced)
        found += (problem for problem in problems if old is None or kind.is_builtin or problem.path[-1] != "generateName")
    if shape and shape.ruled > (old is None):
        from jobspec.validation import rules

        found += rules.problems(document.data, shape, found, old)
    return found


def _metadata_types(document: Document, target: Target) -> list[structural.Problem]:
    """The structure of the metadata of a built-in kind, which is that of any kind."""
    claim = shapes.load("v1", "PersistentVolumeClaim", target)
    assert claim
    meta = claim.at(("metadata",))
    assert meta
    return structural.typed_problems_at(document.data.get("metadata"), meta, ("metadata",))


def _unknown(document: Document) -> Verdict:
    """The verdict on a document of no kind that jobspec can judge."""
    if not document.api_version or not document.kind:
        return Verdict("unknown", [_not_a_manifest(document)])
    message = f"jobspec does not know the kind {document.kind} of {document.api_version}"
    at_version = any(kind.name == document.kind for kind in kinds.with_schema())
    hint = _near_kind(document)
    problem = document.problem("unknown-kind", message, ("apiVersion",) if at_version else ("kind",), hint=hint)
    return Verdict("unknown", [problem], near_miss=bool(hint))


def _not_a_manifest(document: Document) -> Diagnostic:
    data = document.data
    if not isinstance(data, dict):
        what = "a list" if isinstance(data, list) else "a single value"
        return document.problem("not-a-manifest", f"a manifest is a mapping; this document is {what}")
    for key in ("apiVersion", "kind"):
        if not isinstance(data.get(key), str) and data.get(key) is not None:
            return document.problem("not-a-manifest", f"`{key}` has to be text", (key,), hint="put it in quotes")
    missing = " and ".join(f"`{key}`" for key in ("apiVersion", "kind") if not data.get(key))
    return document.problem("not-a-manifest", f"the document has no {missing}, so it is no Kubernetes manifest", hint=_near_key(data))


def _near_key(data: dict[str, object]) -> str:
    from jobspec.validation.wording import closest

    wrong = {"apiVersion", "kind"} & {found for key in data for found in _named(closest(key, ("apiVersion", "kind")))} - data.keys()
    return f"did you mean `{min(wrong)}`?" if wrong else ""


def _named(suggestion: str) -> list[str]:
    return suggestion.split("`")[1:2]


def _near_kind(document: Document) -> str:
    """The kind of ours that was meant, when its name is right and the version wrong, or the other way round.

    Another group can have a kind of the same name, so that its group has to be ours, or be spelt like ours.
    """
    from jobspec.validation.wording import closest

    ours, (group, name) = kinds.with_schema(), document.group_kind
    groups = [kind.group for kind in ours]
    if group not in groups and not closest(group, groups):
        return ""
    for kind in ours:
        if kind.name.lower() == name.lower():
            return f"write `apiVersion: {kind.api_versions[0]}` and `kind: {kind.name}`"
    same = [kind.name for kind in ours if document.api_version in kind.api_versions]
    return closest(name, same) if same else ""
