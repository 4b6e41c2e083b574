"""The error of a command whose packages are not installed."""

from __future__ import annotations

from jobspec.diagnostics.errors import JobspecError


def missing_package(error: ModuleNotFoundError, command: str) -> Exception:
    """Return the exception for a package of the extra `dry-run` that a *command* lacks.

    The command asks a server. If a module of our own is missing, return the error itself, because that is our bug.
    """
    package = (error.name or "").partition(".")[0]
    return error if package == "jobspec" else JobspecError(f"{command} needs the package `{package}`: pip install kubernetes urllib3")
