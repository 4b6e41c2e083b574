"""Kinds that Flux and Argo CD are told to look for, in a group that does not have them.

Follows `ReferenceToObjMetadataSet`, github.com/fluxcd/kustomize-controller internal/inventory, 1.7.3, and `ignoreNormalizer.Normalize`,
github.com/argoproj/argo-cd util/argo/normalizers, 3.2.
"""

from __future__ import annotations

from collections.abc import Iterator

from jobspec.apis import kinds
from jobspec.apis.kinds import APPLICATION, FLUX, GroupKind
from jobspec.diagnostics.places import value_at
from jobspec.diagnostics.rules import Finding, Rule
from jobspec.go.values import mapping, text
from jobspec.lint.linted import LintedDocument

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from jobspec.diagnostics.places import Path

_PROJECT: GroupKind = ("argoproj.io", "AppProject")
#: Kinds of Argo CD's objects -> their lists of groups and kinds, and what an entry does.
_LISTS: dict[GroupKind, list[tuple[Path, str]]] = {
    APPLICATION: [(("spec", "ignoreDifferences"), "ignores")],
    ("argoproj.io", "ApplicationSet"): [(("spec", "template", "spec", "ignoreDifferences"), "ignores")],
    _PROJECT: [
        *((("spec", f"{scope}ResourceWhitelist"), "allows") for scope in ("namespace", "cluster")),
        *((("spec", f"{scope}ResourceBlacklist"), "forbids") for scope in ("namespace", "cluster")),
    ],
}
#: What makes a text a pattern, or a placeholder.
_OF_PATTERNS = frozenset("*?[]{}$!")
#: The group of kinds that servers before 1.22 had.
_REMOVED = "extensions"
#: The version that Flux takes where a health check has none.
_IMPLIED = "apps/v1"


def kind_of_another_group(document: LintedDocument) -> Iterator[Finding]:
    """A health check of Flux, or an entry of Argo CD, names a kind that its API group does not have.

    Why: Flux waits for `v1` `Job` until its timeout, and the Kustomization is never ready, nor is what depends on it. Argo CD compares
    group and kind as texts: an entry of `ignoreDifferences` for another group, or for a group with a version, ignores nothing.
    Instead: `apiVersion: batch/v1` for Flux, `group: batch` for Argo CD. The group of Secrets and ConfigMaps is empty.
    Before: "healthChecks: [{apiVersion: v1, kind: Job, name: tune, namespace: nlp}]"
    After: "healthChecks: [{apiVersion: batch/v1, kind: Job, name: tune, namespace: nlp}]"
    Evidence: Flux 1.7.3 on a server; fluxcd/kustomize-controller#373, #931; argoproj/argo-cd#2322
    """
    if document.given.group_kind == FLUX:
        yield from _of_health_checks(document.given.data)
    for place, does in _LISTS.get(document.given.group_kind, ()):
        for path, entry in _entries(document.given.data, place):
            yield from _of_entry(path, entry, does)


def _of_health_checks(data: dict[str, Any]) -> Iterator[Finding]:
    """Report the health checks of a Kustomization that Flux can never pass."""
    if mapping(data, "spec").get("wait") is True:
        return
    for path, check in _entries(data, ("spec", "healthChecks")):
        version, kind = text(check, "apiVersion") or _IMPLIED, text(check, "kind")
        group = version.rpartition("/")[0]
        if _is_absent(group, kind):
            field, hint = _right(path, check, "apiVersion", group, kind)
            yield Finding(field, f"the health check fails: `{version}` has no kind `{kind}`", hint)
        elif not text(check, "namespace") and any(each.name == kind and each.namespaced for each in kinds.in_group(group)):
            message = f"the health check fails: it names no namespace of the {kind} `{text(check, 'name')}`"
            yield Finding((*path, "name"), message, "write `namespace`")


def _of_entry(path: Path, entry: dict[str, Any], does: str) -> Iterator[Finding]:
    """Report an entry of Argo CD that is about no kind."""
    group, kind = text(entry, "group"), text(entry, "kind")
    if "/" in group and not _OF_PATTERNS.intersection(group):
        message = f"{does} nothing: the group `{group}` has a version"
        yield Finding((*path, "group"), message, f"write `group: {group.partition('/')[0]}`")
    elif group != _REMOVED and _is_absent(group, kind) and _alike(kind):
        said = f"the group `{group}`" if group else "the core group"
        field, hint = _right(path, entry, "group", group, kind)
        yield Finding(field, f"{does} nothing: {said} has no kind `{kind}`", hint)


def _entries(data: dict[str, Any], place: Path) -> Iterator[tuple[Path, dict[str, Any]]]:
    """Return the objects of a list, with their paths."""
    found = value_at(data, place)
    for at, each in enumerate(found if isinstance(found, list) else ()):
        if isinstance(each, dict):
            yield (*place, at), each


def _is_absent(group: str, kind: str) -> bool:
    """True if no server has a kind in a group. Only a group without a dot has no kinds but those of Kubernetes."""
    is_plain = kind and not _OF_PATTERNS.intersection(group + kind) and "." not in group and "/" not in group
    return bool(is_plain) and all(each.name != kind for each in kinds.in_group(group))


def _alike(kind: str) -> list[kinds.Kind]:
    """Return the kinds of Kubernetes that a name may mean, also in lower case or in the plural."""
    return [each for each in kinds.built_in() if kind.lower() in (each.name.lower(), kinds.plural_of(each.name))]


def _right(path: Path, entry: dict[str, Any], field: str, group: str, kind: str) -> tuple[Path, str]:
    """Return the field of an entry that is wrong, and what would be right."""
    meant = next((each for each in _alike(kind) if each.group == group), next(iter(_alike(kind)), None))
    if meant is None:
        return (*path, "kind"), "name a kind of this group"
    if meant.group == group:
        return (*path, "kind"), f"write `kind: {meant.name}`"
    right = meant.api_versions[0] if field == "apiVersion" else meant.group or "''"
    return (*path, field if field in entry else "kind"), f"write `{field}: {right}`"


RULES = (Rule(kind_of_another_group, "warning", sees="document", of=[FLUX, *_LISTS]),)
