"""Paths inside of volumes, and the modes of their files.

Follows `ValidateLocalNonReservedPath`, `validateLocalDescendingPath` and `validatePathNoBacksteps`, k8s.io/kubernetes
pkg/apis/core/validation, 1.36.
"""

from __future__ import annotations

from jobspec.validation.pods.complaints import describe
from jobspec.validation.problem import Problem, name_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from jobspec.diagnostics import Path

_MAX_MODE = 0o777


def leads_up(text: str) -> bool:
    """Whether a part of the path is `..`."""
    return ".." in text.split("/")


def backstep_problems(text: str, path: Path) -> Iterator[Problem]:
    """The problem of a path with `..` in it."""
    if leads_up(text):
        yield Problem("wrong-format", path, f"{name_of(path)} cannot hold `..`, as {describe(text)} does", "write where it leads to")


def relative_path_problems(text: str, path: Path) -> Iterator[Problem]:
    """The problems of a path that has to stay inside of its volume."""
    if text.startswith("/"):
        hint = f"write `{text.lstrip('/')}`" if text.strip("/") else ""
        yield Problem("wrong-format", path, f"{name_of(path)} is a path inside of the volume, and cannot begin with `/`", hint)
    yield from backstep_problems(text, path)


def file_path_problems(text: str, path: Path) -> Iterator[Problem]:
    """The problems of the path of a file that the kubelet writes, which keeps names that begin with `..` for itself."""
    yield from relative_path_problems(text, path)
    if text.startswith("..") and not text.startswith("../") and not leads_up(text):
        yield Problem("wrong-format", path, f"{name_of(path)} cannot begin with `..`, which the kubelet keeps for itself")


def mode_problems(mode: int | None, path: Path) -> Iterator[Problem]:
    """The problem of permission bits outside of 0 to 0777."""
    if mode is not None and not 0 <= mode <= _MAX_MODE:
        yield Problem("out-of-range", path, f"{name_of(path)} takes 0 to 0777, which is 511 in decimal, not {mode}", _mode_hint(mode))


def _mode_hint(mode: int) -> str:
    """The octal notation of a mode whose digits were meant as octal."""
    digits = str(mode)
    return f"write `0{digits}`" if len(digits) == 3 and set(digits) <= set("01234567") else ""
