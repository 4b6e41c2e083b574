"""The commands, one module each: its options and what it does. A module is loaded when its command is asked for.

A module is loaded when its command is asked for. `options`, where a module has it, lets plain command lines be read without argparse.
"""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import ModuleType


#: Each command, in the order of a job's way: what it does, and the module of its command line.
COMMANDS = {
    "init": ("write a small repository that passes its own checks", "init"),
    "import": ("make existing manifests variants of the project here", "import_manifests"),
    "validate": ("predict an API server's verdict on manifests", "validate"),
    "lint": ("validate manifests, and tell what is accepted and bites", "lint"),
    "render": ("apply overlays to jobs, check the result and write it", "render"),
    "diff": ("tell what a change of a project does to fields, in the cluster, and to pods and cost", "diff"),
    "blame": ("tell where each value of a rendered file comes from", "blame"),
    "expand": ("print the pods and other objects that operators will make of jobs", "expand"),
    "run": ("run a job on this machine, one process for each pod", "run"),
    "migrate": ("make PyTorchJobs TrainJobs, or those of another release, and tell what is lost", "migrate"),
    "dry-run": ("ask a real API server for its verdict on manifests", "dry_run"),
    "explain": ("explain a rule, or a field of a kind", "explain"),
    "schema": ("print CRDs, write schemas for editors and kustomize, check them", "schema"),
    "completion": ("print what has a shell complete commands, options and files", "completion"),
}


def command_line(command: str) -> ModuleType:
    """The module of a command."""
    name = f"{__name__}.{COMMANDS[command][1]}"
    __import__(name)  # importlib takes a millisecond to load
    return sys.modules[name]


# The commands, one module each: values in, exit code out.
