"""Kinds that Flux, Argo CD, roles and policies name in a group that does not have them.

Follows `ReferenceToObjMetadataSet`, github.com/fluxcd/kustomize-controller internal/inventory, 1.7.3, `ignoreNormalizer.Normalize`,
github.com/argoproj/argo-cd util/argo/normalizers, 3.2, and `RuleAllows`, k8s.io/kubernetes plugin/pkg/auth/authorizer/rbac, 1.36.
"""

from __future__ import annotations

from collections.abc import Iterator

from jobspec.apis import kinds
from jobspec.apis.kinds import APPLICATION, FLUX, GroupKind
from jobspec.diagnostics.places import value_at
from jobspec.diagnostics.rules import Finding, Rule
from jobspec.go.values import mapping, text
from jobspec.lint.linted import LintedDocument
from jobspec.operators.workloads import JOBS

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


def jobs_of_another_group(document: LintedDocument) -> Iterator[Finding]:
    """A role or a policy names jobs in an API group that does not have them, or by their kind.

    Why: the server compares group and resource as texts. `jobs` in the core group are no Jobs, and the resource of a PyTorchJob is
    `pytorchjobs`: the role grants nothing, so that a launcher or a pipeline is forbidden to create jobs, and the policy sees none of them.
    Instead: the group of the kind, and its plural in small letters.
    Before: "rules: [{apiGroups: [''], resources: [pods, jobs], verbs: [create]}]"
    After: "rules: [{apiGroups: [''], resources: [pods], verbs: [create]}, {apiGroups: [batch], resources: [jobs], verbs: [create]}]"
    Evidence: `RuleAllows` of k8s.io/kubernetes plugin/pkg/auth/authorizer/rbac; flightctl/flightctl#2825
    """
    place, does = _OF_RESOURCES[document.given.group_kind]
    rules = list(_entries(document.given.data, place))
    reached = {(group, resource) for _, rule in rules for group in _texts(rule, "apiGroups") for resource in _bases(rule)}
    for path, rule in rules:
        groups = _texts(rule, "apiGroups")
        for at, resource in enumerate(_bases(rule)):
            meant = [each for each in _job_kinds() if resource.lower() in (each.name.lower(), kinds.plural_of(each.name))]
            if not meant or any(_names(each) & reached for each in meant):
                continue
            own = next((each for each in meant if each.group in groups), None)
            if own or (groups and all(_is_complete(each) for each in groups)):
                right = own or meant[0]
                plural = kinds.plural_of(right.name)
                said = f"the resource of a {right.name} is `{plural}`" if own else f"`{plural}` are in the group `{right.group}`"
                yield Finding((*path, "resources", at), f"{does} nothing: {said}", f"write `{plural}` in a rule of `{right.group}`")


#: Kinds of roles and policies -> where their rules are, and what a rule does.
_OF_RESOURCES: dict[GroupKind, tuple[Path, str]] = {
    ("rbac.authorization.k8s.io", "Role"): (("rules",), "grants"),
    ("rbac.authorization.k8s.io", "ClusterRole"): (("rules",), "grants"),
    kinds.VALIDATING_POLICY: (("spec", "matchConstraints", "resourceRules"), "matches"),
    kinds.MUTATING_POLICY: (("spec", "matchConstraints", "resourceRules"), "matches"),
}


def _names(kind: kinds.Kind) -> set[tuple[str, str]]:
    """Return the groups and resources that a rule names a kind by."""
    return {(group, resource) for group in (kind.group, "*") for resource in (kinds.plural_of(kind.name), "*")}


def _job_kinds() -> list[kinds.Kind]:
    """Return the kinds of jobs, that of Kubernetes first."""
    return sorted((each for each in kinds.every() if (each.group, each.name) in JOBS), key=lambda each: not each.is_builtin)


def _texts(rule: dict[str, Any], field: str) -> list[str]:
    found = rule.get(field)
    return [str(each) for each in found] if isinstance(found, list) else []


def _bases(rule: dict[str, Any]) -> list[str]:
    """Return the resources of a rule without their subresources."""
    return [each.partition("/")[0] for each in _texts(rule, "resources")]


def _is_complete(group: str) -> bool:
    """True if a group has no kinds but those of Kubernetes."""
    return "." not in group and group not in (_REMOVED, "*") and bool(kinds.in_group(group))


RULES = (
    Rule(kind_of_another_group, "warning", sees="document", of=[FLUX, *_LISTS]),
    Rule(jobs_of_another_group, "warning", sees="document", of=[*_OF_RESOURCES]),
)
