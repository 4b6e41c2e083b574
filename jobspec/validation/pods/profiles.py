"""The profiles that confine processes: seccomp and AppArmor.

Follows `validateSeccompProfileField` and `ValidateAppArmorProfileField`, k8s.io/kubernetes pkg/apis/core/validation, 1.36.
"""

from __future__ import annotations

from jobspec.validation.pods.complaints import excluded, missing, unsupported
from jobspec.validation.problem import Problem

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from jobspec.diagnostics import Path

_TYPES = ("RuntimeDefault", "Localhost", "Unconfined")
_LONGEST_PATH = 4095


def profile_problems(security: dict[str, Any], path: Path) -> Iterator[Problem]:
    """The problems of both profiles of a security context, a pod's or a container's."""
    if "seccompProfile" in security:
        profile, at = security["seccompProfile"], (*path, "seccompProfile")
        yield from _type(profile, at)
        yield from _seccomp_file(profile, at)
    if "appArmorProfile" in security:
        profile, at = security["appArmorProfile"], (*path, "appArmorProfile")
        yield from _type(profile, at)
        yield from _app_armor_file(profile, at)


def _type(profile: dict[str, Any], path: Path) -> Iterator[Problem]:
    kind = profile.get("type")
    if not kind:
        yield missing("type", profile, path, "it is `RuntimeDefault`, `Localhost` or `Unconfined`")
    elif kind not in _TYPES:
        yield unsupported(kind, _TYPES, (*path, "type"))


def _seccomp_file(profile: dict[str, Any], path: Path) -> Iterator[Problem]:
    file, at = profile.get("localhostProfile"), (*path, "localhostProfile")
    if profile.get("type") != "Localhost":
        if file is not None:
            yield excluded(at, "`localhostProfile` belongs to `type: Localhost`", "remove it, or write that type")
    elif file is None:
        yield missing("localhostProfile", profile, path, "it names a file below the kubelet's seccomp folder")
    elif file.startswith("/") or ".." in file.split("/"):
        message = f"`{file}` is no path below the kubelet's seccomp folder: it begins with `/` or holds `..`"
        yield Problem("wrong-format", at, message)


def _app_armor_file(profile: dict[str, Any], path: Path) -> Iterator[Problem]:
    file, kind, at = profile.get("localhostProfile"), profile.get("type"), (*path, "localhostProfile")
    if kind != "Localhost":
        if file is not None and kind in _TYPES:
            yield excluded(at, "`localhostProfile` belongs to `type: Localhost`", "remove it, or write that type")
    elif not file:
        yield missing("localhostProfile", profile, path, "it names a profile that is loaded on the node")
    elif file != file.strip():
        yield Problem("wrong-format", at, f'there are blanks around the profile "{file}"', f"write `{file.strip()}`")
    elif len(file.encode()) > _LONGEST_PATH:
        yield Problem("wrong-size", at, f"the profile has {len(file.encode()):,} bytes, more than {_LONGEST_PATH:,}")


#: What the deprecated annotations say for each type of a profile; a profile of the node comes after `localhost/`.
DEFAULT, UNCONFINED, LOCALHOST = "runtime/default", "unconfined", "localhost/"
