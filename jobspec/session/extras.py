"""The error of a command whose packages are not installed."""

from __future__ import annotations

from jobspec.diagnostics.errors import JobspecError


def missing_package(error: ModuleNotFoundError, command: str) -> Exception:
    """What to raise where a *command* that asks a server lacks a package of the extra `dry-run`; a module of our own is our bug."""
    package = (error.name or "").partition(".")[0]
    return error if package == "jobspec" else JobspecError(f"{command} needs the package `{package}`: pip install kubernetes urllib3")
