"""Run a Python program whose Kubernetes clients meet the capturing server alone."""

from __future__ import annotations

import os
import subprocess

from jobspec.captures import redirection
from jobspec.diagnostics.errors import JobspecError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence


def run_program(python: str, script: str, arguments: Sequence[str], port: int, kubeconfig: str) -> int:
    """Run a script with its own Python, and return its exit code.

    What the script prints goes to standard error. Raises JobspecError if there is no such Python.
    """
    command = [python, redirection.__file__, str(port), kubeconfig, script, *arguments]
    try:
        with os.fdopen(os.dup(2), "w") as standard_error:
            return subprocess.run(command, stdout=standard_error, check=False).returncode  # noqa: S603 (the user's own program)
    except OSError as error:
        raise JobspecError(f"--python {python}: {error.strerror}") from None
