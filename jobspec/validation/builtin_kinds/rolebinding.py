"""What the server's Go code says of a RoleBinding or a ClusterRoleBinding.

Follows `ValidateRoleBinding`, `ValidateClusterRoleBinding` and their updates, k8s.io/kubernetes pkg/apis/rbac/validation, 1.36, after
`SetDefaults_RoleBinding` and `SetDefaults_Subject`, pkg/apis/rbac/v1.
"""

from __future__ import annotations

from jobspec.validation.builtin_kinds.texts import fixed
from jobspec.validation.complaints import missing_by_code, unsupported_choice
from jobspec.validation.metadata import bad_path_segment, bad_subdomain
from jobspec.validation.problem import Problem

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from jobspec.diagnostics import Path

_GROUP = "rbac.authorization.k8s.io"
_SUBJECTS = ("ServiceAccount", "User", "Group")


def problems(binding: dict[str, Any], _: Any) -> Iterator[Problem]:
    """The problems of the role that is bound, and of whom it is bound to."""
    is_cluster = binding["kind"] == "ClusterRoleBinding"
    yield from _role(binding.get("roleRef", {}), ("ClusterRole",) if is_cluster else ("Role", "ClusterRole"))
    for index, subject in enumerate(binding.get("subjects", ())):
        yield from _subject(subject, ("subjects", index), is_cluster=is_cluster)


def update_problems(binding: dict[str, Any], old: dict[str, Any]) -> Iterator[Problem]:
    """The problem of another role."""
    if _meant(binding.get("roleRef", {})) != _meant(old.get("roleRef", {})):
        yield fixed(("roleRef",), "a binding cannot change its `roleRef`", "delete it and make another one")


def _meant(role: dict[str, Any]) -> tuple[str, ...]:
    return role.get("apiGroup") or _GROUP, role.get("kind", ""), role.get("name", "")


def _role(role: dict[str, Any], kinds: tuple[str, ...]) -> Iterator[Problem]:
    path, (group, kind, name) = ("roleRef",), _meant(role)
    if group != _GROUP:
        yield unsupported_choice(group, (_GROUP,), (*path, "apiGroup"))
    if not kind:
        yield missing_by_code("kind", role, path, f"it is {' or '.join(f'`{each}`' for each in kinds)}")
    elif kind not in kinds:
        yield unsupported_choice(kind, kinds, (*path, "kind"))
    if not name:
        yield missing_by_code("name", role, path)
    elif why := bad_path_segment(name):
        yield Problem("invalid-name", (*path, "name"), f"`{name}` is no name for a role: {why}")


def _subject(subject: dict[str, Any], path: Path, *, is_cluster: bool) -> Iterator[Problem]:
    kind, name, group = subject.get("kind", ""), subject.get("name", ""), subject.get("apiGroup", "")
    if not name:
        yield missing_by_code("name", subject, path)
    if not kind:
        yield missing_by_code("kind", subject, path, "it is `ServiceAccount`, `User` or `Group`")
    elif kind not in _SUBJECTS:
        yield unsupported_choice(kind, _SUBJECTS, (*path, "kind"))
    elif kind == "ServiceAccount":
        yield from _account(subject, path, is_cluster=is_cluster)
    elif group not in ("", _GROUP):
        yield unsupported_choice(group, (_GROUP,), (*path, "apiGroup"))


def _account(subject: dict[str, Any], path: Path, *, is_cluster: bool) -> Iterator[Problem]:
    name, group = subject.get("name", ""), subject.get("apiGroup", "")
    if name and (why := bad_subdomain(name)):
        yield Problem("invalid-name", (*path, "name"), f"`{name}` is no name for a ServiceAccount: {why}")
    if group:
        yield Problem("unsupported-choice", (*path, "apiGroup"), f"a ServiceAccount is of the core group, not of `{group}`", "leave it out")
    if is_cluster and not subject.get("namespace"):
        yield missing_by_code("namespace", subject, path, "write the namespace of the ServiceAccount")
