"""The server's Go rules for a RoleBinding or a ClusterRoleBinding.

Follows `ValidateRoleBinding`, `ValidateClusterRoleBinding` and their updates, k8s.io/kubernetes pkg/apis/rbac/validation, 1.36, after
`SetDefaults_RoleBinding` and `SetDefaults_Subject`, pkg/apis/rbac/v1.
"""

from __future__ import annotations

from jobspec.diagnostics.places import Data, Path
from jobspec.diagnostics.problems import Problem, Problems
from jobspec.kubernetes import metadata
from jobspec.kubernetes.problems import (
    field_items,
    fixed,
    named,
    one_of,
    required,
    required_choice,
    required_name,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    pass


_GROUP = "rbac.authorization.k8s.io"
_SUBJECTS = ("ServiceAccount", "User", "Group")


def rolebinding_problems(binding: Data, old: Data | None, _: str) -> Problems:
    """Yield the problems of the role reference, which cannot change, and of the subjects."""
    is_cluster = binding["kind"] == "ClusterRoleBinding"
    yield from _role(binding.get("roleRef", {}), ("ClusterRole",) if is_cluster else ("Role", "ClusterRole"))
    for at, subject in field_items(binding, "subjects", ()):
        yield from _subject(subject, at, is_cluster=is_cluster)
    if old is not None and _meant(binding.get("roleRef", {})) != _meant(old.get("roleRef", {})):
        yield fixed(("roleRef",), "a binding cannot change its `roleRef`", "delete and recreate it")


def _meant(role: Data) -> tuple[str, ...]:
    return role.get("apiGroup") or _GROUP, role.get("kind", ""), role.get("name", "")


def _role(role: Data, kinds: tuple[str, ...]) -> Problems:
    path = ("roleRef",)
    yield from one_of(role.get("apiGroup") or _GROUP, (_GROUP,), (*path, "apiGroup"))
    yield from required_choice(role, "kind", kinds, path, f"it is {' or '.join(f'`{each}`' for each in kinds)}")
    yield from required_name(role, "name", "a role", metadata.bad_path_segment, path)


def _subject(subject: Data, path: Path, *, is_cluster: bool) -> Problems:
    kind, name, group = subject.get("kind", ""), subject.get("name", ""), subject.get("apiGroup", "")
    yield from required(subject, "name", path)
    yield from required_choice(subject, "kind", _SUBJECTS, path, "it is `ServiceAccount`, `User` or `Group`")
    if kind in ("User", "Group"):
        yield from one_of(group or _GROUP, (_GROUP,), (*path, "apiGroup"))
    if kind != "ServiceAccount":
        return
    if name:
        yield from named(name, "a ServiceAccount", metadata.bad_subdomain, (*path, "name"))
    if group:
        yield Problem("unsupported-choice", (*path, "apiGroup"), f"a ServiceAccount is of the core group, not of `{group}`", "remove it")
    if is_cluster:
        yield from required(subject, "namespace", path, "write the namespace of the ServiceAccount")
