"""What to say to a document of an unknown kind, and to a built-in kind that the target's release of Kubernetes does not serve."""

from __future__ import annotations

from jobspec import kinds, shapes
from jobspec.targets import RELEASES
from jobspec.validation.problem import Problem
from jobspec.validation.wording import closest, nearest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from jobspec.diagnostics import Diagnostic
    from jobspec.documents.document import Document
    from jobspec.kinds import Kind
    from jobspec.targets import Target

_KUBERNETES = "Kubernetes"
#: Groups that Kubernetes moved its kinds out of.
_FORMER_GROUPS = ("extensions",)


def not_served(kind: Kind, api_version: str, target: Target) -> Problem:
    """The problem of a built-in kind that another release of Kubernetes serves than the target's."""
    known = list(RELEASES["kubernetes"])
    serving, own = shapes.releases(api_version, kind.name), target["kubernetes"]
    message = f"{_KUBERNETES} {own} does not serve {kind.name} of {api_version}"
    if known.index(serving[0]) > known.index(own):
        return Problem("unknown-kind", ("apiVersion",), f"{message} yet: it came with {serving[0]}", _say(serving[0]))
    newer = next((each for each in kind.api_versions if own in shapes.releases(each, kind.name)), "")
    hint = f"write `apiVersion: {newer}`" if newer else _say(serving[-1])
    return Problem("unknown-kind", ("apiVersion",), f"{message} any more: {serving[-1]} was the last to do so", hint)


def _say(release: str) -> str:
    return f"if the cluster is of that release, say `--target kubernetes={release}`"


def unknown(document: Document) -> tuple[Diagnostic, bool]:
    """What to say to a document of an unknown kind, or without a kind, and whether a known kind was probably meant."""
    if not document.api_version or not document.kind:
        return _not_a_manifest(document), False
    message = f"jobspec does not know the kind {document.kind} of {document.api_version}"
    at_version = any(kind.name == document.kind for kind in [*kinds.with_schema(), *kinds.built_in()])
    hint, is_meant = _near_kind(document)
    return document.problem("unknown-kind", message, ("apiVersion",) if at_version else ("kind",), hint=hint), is_meant


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
    wrong = {nearest(key, ("apiVersion", "kind")) for key in data} - data.keys() - {""}
    return f"did you mean `{min(wrong)}`?" if wrong else ""


def _near_kind(document: Document) -> tuple[str, bool]:
    """A hint that names the kind that was probably meant, empty without one, and whether the document can mean nothing else.

    The group has to be one of ours or a misspelling, since other groups can have kinds of the same name. A version of a built-in kind that
    is no stable one may be switched on in a cluster.
    """
    (group, name), version = document.group_kind, document.api_version.rpartition("/")[2]
    ours = _candidates(group)
    for kind in ours:
        if kind.name.lower() == name.lower():
            is_preview = kind.is_builtin and kind.group == group and ("alpha" in version or "beta" in version)
            return f"write `apiVersion: {kind.api_versions[0]}` and `kind: {kind.name}`", not is_preview
    same = [kind.name for kind in ours if document.api_version in kind.api_versions]
    hint = closest(name, same) if same else ""
    return hint, bool(hint)


def _candidates(group: str) -> list[Kind]:
    """The kinds that a document of a group may mean: of built-in kinds, those of this group, or of one whose short name it misspells."""
    ours, builtin = kinds.with_schema(), [kind for kind in kinds.built_in() if not kind.component]
    groups = [kind.group for kind in ours]
    near = ours if group in groups or closest(group, groups) else []
    meant = {group, nearest(group, {kind.group for kind in builtin if kind.group}) if "." not in group else group}
    return [*near, *(kind for kind in builtin if group in _FORMER_GROUPS or kind.group in meant)]
