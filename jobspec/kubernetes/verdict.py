"""The verdict on a document: what the API server answers to a server-side dry run with strict field validation."""

from __future__ import annotations

from jobspec.apis import kinds
from jobspec.diagnostics.diagnostic import Diagnostic, has_error
from jobspec.diagnostics.problems import Problem
from jobspec.diagnostics.record import Record
from jobspec.go.values import MAX_INT32
from jobspec.kubernetes.metadata import metadata_problems
from jobspec.kubernetes.structural import schema_problems
from jobspec.schemas import shapes
from jobspec.schemas.shapes import Shape

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from dataclasses import KW_ONLY
    from typing import Any, Literal

    from jobspec.apis.kinds import Name
    from jobspec.apis.releases import Target
    from jobspec.documents.document import Document
    from jobspec.kubernetes.common_kinds import CommonKind
    from jobspec.kubernetes.custom_kinds import CustomKind, CustomKinds
    from jobspec.kubernetes.json_schema_kinds import JSONSchema

    Status = Literal["valid", "invalid", "partly", "unknown"]


class Verdict(Record):
    """Whether the server accepts a document, and the diagnostics.

    `partly`: there is no problem, but only some of the server's checks were made (built-in kinds, JSON Schemas). `unknown`: the document
    is no manifest or of an unknown kind, as its one diagnostic says.
    """

    status: Status
    diagnostics: list[Diagnostic]
    _: KW_ONLY
    near_miss: bool = False
    """Whether an unknown kind is a misspelling of one of our own kinds."""
    is_common: bool = False
    """Whether the kind is that of a common project, of which a cluster may have another release or none."""
    reason: str = ""
    """Why a document is checked partly."""
    problems: Sequence[Problem] = ()
    """What the diagnostics say, by paths; none if they do not come from paths alone."""

    def placed_in(self, document: Document) -> Verdict:
        """Return the verdict on a document that has the same problems."""
        return self.changed(diagnostics=[_reported(document, each) for each in self.problems])


class AdmissionAnswer(Record):
    """The answer of webhooks and plugins to a document: errors and warnings.

    *wanted*: the names of objects outside of the document's file that were looked up.
    """

    diagnostics: list[Diagnostic]
    wanted: Sequence[Name] = ()


def verdict(
    document: Document, target: Target, *, custom_kinds: CustomKinds | None = None, old: Document | None = None, skip_unknown: bool = False
) -> Verdict:
    """Judge a document as the API server does. If *old* is given, the document is an update.

    *custom_kinds* come before our own and built-in kinds. *skip_unknown*: do not report an unknown kind, unless one of ours was probably
    meant; a version of a built-in kind that is not served by default is an info.
    """
    custom = custom_kinds.find(document, target, lambda crd: verdict(crd, target).diagnostics) if custom_kinds else None
    if custom_kinds and custom is not None:
        return _by_crds(document, custom, custom_kinds.rivals(document, target), old)
    kind = kinds.find(document.api_version, document.kind)
    if not kind:
        from jobspec.kubernetes import common_kinds

        if common := common_kinds.find(document, target):
            return _by_common_kind(document, common)
        from jobspec.kubernetes.unknown_kinds import unknown_kind

        unknown = unknown_kind(document, target)
        is_told = unknown.is_near or unknown.is_preview or not skip_unknown  # else its place is not looked for
        said = _verdict(document, [unknown.problem], "unknown").diagnostics if is_told else []
        if skip_unknown and unknown.is_preview:
            said = [each.changed(severity="info") for each in said]
        return Verdict("unknown", said, near_miss=unknown.is_near)
    shape = shapes.load(document.api_version, document.kind, target)
    stored = old.data if old else None
    if shape and not kind.is_builtin:
        found = _of_custom_resource(document, shape, stored, names=kind.names, namespaced=kind.namespaced, target=target)
        return _verdict(document, found, "valid")
    if not shape:
        from jobspec.kubernetes.unknown_kinds import not_served

        return _verdict(document, [not_served(kind, document.api_version, target)], "invalid")
    from jobspec.kubernetes.builtin import builtin_problems, is_judged

    found = builtin_problems(document.data, document.api_version, document.kind, target, stored)
    if is_judged(kind, document.api_version):
        return _verdict(document, found, "valid")
    return _verdict(document, found, "partly", reason="structure and metadata only")


def _verdict(document: Document, found: Iterable[Problem], otherwise: Status, *, reason: str = "") -> Verdict:
    """Return the verdict with a diagnostic for each problem.

    It is a warning if a rule was not evaluated, and an error otherwise. If no diagnostic is an error, the status is *otherwise*.
    *reason*: why a document is checked partly.
    """
    problems = list(found)
    diagnostics = [_reported(document, each) for each in problems]
    if has_error(diagnostics):
        return Verdict("invalid", diagnostics, problems=problems)
    return Verdict(otherwise, diagnostics, reason=reason, problems=problems)


def _reported(document: Document, problem: Problem) -> Diagnostic:
    """The diagnostic of a problem; of a missing field it is where a patch has removed the field, if one has."""
    found = document.problem(
        problem.rule,
        problem.message,
        problem.path,
        hint=problem.hint,
        at_key=problem.at_key,
        severity="warning" if problem.rule == "rule-not-evaluated" else "error",
        remedy=problem.remedy,
    )
    removed = document.nearest(problem.path).child(problem.lacks) if problem.lacks else None
    return found.changed(mark=removed.place()) if removed else found


def _by_crds(
    document: Document, custom: CustomKind | JSONSchema | list[Diagnostic], others: Sequence[tuple[str, CustomKind]], old: Document | None
) -> Verdict:
    """Judge a document by a custom kind.

    If one of *others* says otherwise whether it is valid, check it only partly. *others*: custom kinds with the files of their CRDs.
    """
    found = _by_custom_kind(document, custom, old)
    for file, other in others:
        if has_error(_by_custom_kind(document, other, old).diagnostics) != has_error(found.diagnostics):
            return Verdict("partly", [], reason=f"CRDs among the files differ, such as {file}")
    return found


def _by_custom_kind(document: Document, custom: CustomKind | JSONSchema | list[Diagnostic], old: Document | None) -> Verdict:
    if isinstance(custom, list):
        return Verdict("invalid", custom)
    if custom.covers == "partly":
        return _verdict(document, custom.problems(document), "partly", reason="JSON Schema and metadata only")
    found = _of_custom_resource(document, custom.shape, old.data if old else None, namespaced=custom.namespaced)
    return _verdict(document, _with_file(found, custom.file, document), "valid")


def _with_file(found: Sequence[Problem], file: str, document: Document) -> list[Problem]:
    """Return problems whose hints about unknown fields name the *file* of the CRD.

    If that is the document's own file, return the same problems.
    """
    if file in ("", document.file):
        return list(found)
    whose = f"by the CRD in {file}"
    return [each.changed(hint=f"{each.hint}; {whose}" if each.hint else whose) if each.rule == "unknown-field" else each for each in found]


def _by_common_kind(document: Document, common: CommonKind) -> Verdict:
    """Return the verdict on an object of a common project.

    The cluster may have another release of the project.
    """
    found = _of_custom_resource(document, common.shape, None, namespaced=common.namespaced)
    diagnostics = _verdict(document, found, "partly").diagnostics
    reported = [each if _is_certain(document, each) else _as_warning(each, common.release) for each in diagnostics]
    if has_error(reported):
        return Verdict("invalid", reported, is_common=True)
    return Verdict("partly", reported, is_common=True, reason=f"schema of {common.release} without CEL rules")


def _is_certain(document: Document, found: Diagnostic) -> bool:
    """Whether all releases refuse what is found: metadata, and a wrong type in a kind of Argo CD or Flux, which have kept all types."""
    is_of_engine = document.group_kind[0].endswith((".toolkit.fluxcd.io", "argoproj.io"))
    return found.field.startswith("metadata") or (is_of_engine and found.rule == "wrong-type")


def _as_warning(found: Diagnostic, release: str) -> Diagnostic:
    whose = f"by the schema of {release}; `jobspec schema add` keeps that of your cluster"
    hint = f"{found.hint}; {whose}" if found.hint else whose
    return Diagnostic(found.rule, found.message, found.mark, field=found.field, document=found.document, severity="warning", hint=hint)


def _of_custom_resource(
    document: Document, shape: Shape, stored: Any, *, namespaced: bool, names: str = "subdomain", target: Target | None = None
) -> list[Problem]:
    """The problems of a custom resource, as an update of *stored* unless that is None.

    *names* is the kind's rule for names in `jobspec.apis.kinds`; *target* is None for kinds of other people.
    """
    data = document.data
    found = schema_problems(data, shape)
    if found and (lost := _lost_indentation(found, data, shape)):
        return lost
    if found and target:
        from jobspec.kubernetes.builtin import with_releases

        found = with_releases(found, data, (document.api_version, document.kind), target)
    needs_more = shape.ruled_on_create or shape.combined or shape.embeds or not _has_plain_scale(data, shape) or _limits_names(shape)
    if stored is None and not needs_more:
        return [*found, *metadata_problems(data.get("metadata"), names=names, builtin=False, namespaced=namespaced)]
    from jobspec.kubernetes.custom_resources import custom_resource_problems

    return custom_resource_problems(data, shape, found, stored, namespaced=namespaced)


def _limits_names(shape: Shape) -> bool:
    """True if the kind's schema has limits for `metadata.name`.

    They apply to generated names, too.
    """
    name = shape.at(("metadata", "name"))
    return name is not None and name.plain is None


def _has_plain_scale(data: Any, shape: Shape) -> bool:
    """True if the scale subresource reads nothing of a new object, or only valid replicas.

    Replicas may be absent, too. It reads the status as well; a new object has none if that is a subresource.
    """
    for step in shape.scale.get("specReplicasPath", ()):
        data = data.get(step, 0) if isinstance(data, dict) else 0
    others = [steps for name, steps in shape.scale.items() if name != "specReplicasPath" and (shape.keeps_status or steps[0] != "status")]
    return not shape.scale or (not others and type(data) is int and 0 <= data <= MAX_INT32)


def _lost_indentation(found: list[Problem], data: Any, shape: Shape) -> list[Problem]:
    """The one problem of an object whose indentation was lost; no problems for other objects."""
    if not any(problem.rule in ("unknown-field", "wrong-type") for problem in found):
        return []
    from jobspec.kubernetes.builtin import lost_parent

    return [lost] if (lost := lost_parent(found, data, shape)) else []
