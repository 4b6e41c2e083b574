"""The verdict on a document: what a strict server-side dry-run of it would answer."""

from __future__ import annotations

from jobspec import shapes
from jobspec.targets import KINDS
from jobspec.validation import metadata, structural
from jobspec.validation.builtin import is_cluster_scoped

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any, Literal

    from jobspec.diagnostics import Diagnostic
    from jobspec.documents.document import Document
    from jobspec.shapes import Shape
    from jobspec.targets import Target
    from jobspec.validation.structural import Problem

    Status = Literal["valid", "invalid", "partly", "skipped"]


def verdict(
    document: Document, target: Target, *, old: Document | None = None, skip_unknown: bool = False
) -> tuple[Status, list[Diagnostic]]:
    """Whether the server would take the document, and everything that speaks against it; with *old*, as an update of that.

    `partly` is a built-in kind, of which only decoding and metadata are checked. With *skip_unknown*, what is no manifest
    or of no known kind is `skipped`; a wrong spelling of one of our own kinds is an error all the same.
    """
    unknown = _unknown(document)
    if unknown:
        near_miss = unknown.rule == "unknown-kind" and unknown.hint
        return ("skipped", []) if skip_unknown and not near_miss else ("invalid", [unknown])
    shape = shapes.load(document.api_version, document.kind, target)
    typed = KINDS.get((document.api_version, document.kind)) == "kubernetes"
    found = structural.problems(document.data, shape, typed=typed) if shape else _metadata_types(document, target)
    if found and not typed and shape:
        from jobspec.validation import releases

        found = releases.told(found, document.data, (document.api_version, document.kind), target)
    if not any(problem.rule == "wrong-indentation" for problem in found):
        found = _with_code(document, shape, found, old.data if old else None, builtin=typed or not shape)
    diagnostics = told(document, found)
    return "invalid" if any(each.severity == "error" for each in diagnostics) else "valid" if shape else "partly", diagnostics


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


def _with_code(document: Document, shape: Shape | None, found: list[Problem], old: Any, *, builtin: bool) -> list[Problem]:
    """What was *found* in the structure, and what the server's code and the kind's rules have against the object besides."""
    if old is not None:
        from jobspec.validation import updates

        found = updates.problems(document.data, old, None if builtin else shape, found)
    if document.kind == "PersistentVolumeClaim":
        from jobspec.validation import claim

        found = claim.problems(document.data, found, is_new=old is None)
    if document.kind == "CustomResourceDefinition" and shape:
        from jobspec.validation.crds import definition

        found = definition.problems(document.data, found, shape, old)
    meta = document.data.get("metadata")
    if meta is None or isinstance(meta, dict):
        namespaced = not is_cluster_scoped(document.kind)
        problems = metadata.problems(meta or {}, kind=document.kind, builtin=builtin, namespaced=namespaced)
        found += (problem for problem in problems if old is None or builtin or problem.path[-1] != "generateName")
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


def _unknown(document: Document) -> Diagnostic | None:
    """Why the document is of no kind that jobspec can judge."""
    if not document.api_version or not document.kind:
        return _not_a_manifest(document)
    pair = (document.api_version, document.kind)
    if pair in KINDS:
        return None
    from jobspec.validation.builtin import is_builtin

    if is_builtin(*pair):
        return None
    message = f"jobspec does not know the kind {document.kind} of {document.api_version}"
    at_version = any(kind == document.kind for _, kind in KINDS)
    return document.problem("unknown-kind", message, ("apiVersion",) if at_version else ("kind",), hint=_near_kind(*pair))


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


def _near_kind(api_version: str, kind: str) -> str:
    """The kind of ours that was meant, when its name is right and the version wrong, or the other way round."""
    from jobspec.validation.wording import closest

    for known_version, known in KINDS:
        if known.lower() == kind.lower():
            return f"write `apiVersion: {known_version}` and `kind: {known}`"
    same = [known for known_version, known in KINDS if known_version == api_version]
    return closest(kind, same) if same else ""
