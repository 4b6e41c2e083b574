"""The command line of `jobspec init`."""

from __future__ import annotations

import os
import sys
from argparse import ArgumentParser
from collections.abc import Mapping

from jobspec import additions, data
from jobspec.commands.files import Found
from jobspec.commands.project import read_project
from jobspec.commands.project_files import ProjectFiles
from jobspec.diagnostics import JobspecError
from jobspec.project.project import ENGINES_OUTPUT as ENGINE_OUTPUT
from jobspec.project.project import FILE, OUTPUT, Project
from jobspec.project.scaffold import ENGINES, KINDS, checks, scaffold

TYPE_CHECKING = False
if TYPE_CHECKING:
    from jobspec.commands.options import Options


def add_arguments(parser: ArgumentParser) -> None:
    """Declare its arguments and options."""
    add = parser.add_argument
    add("folder", nargs="?", default=".", metavar="DIR", help="where to; the working folder by default, and none of its files is replaced")
    add("--kind", choices=KINDS, default=KINDS[0], help=f"the kind of the job; {KINDS[0]} by default")
    add("--name", default="mnist", help="the name of the job; `mnist` by default")
    add("--namespace", default="training", help="the namespace of the variants; `training` by default")
    add("--engine", choices=list(ENGINES), default="argocd", help="what syncs the tree; `argocd` by default")
    url = "https://git.example/ml/jobs.git"
    add("--repository", metavar="URL", default=url, help=f"the URL from which the engine fetches the repository; {url} by default")
    add("--checks", action="store_true", help="write the hooks and the workflow alone, into the root of a repository that has a project")


def run(options: Options) -> int:
    """Run the command with what its command line says; the exit code."""
    if options.checks:
        return run_checks(options.folder)
    return init_repository(
        options.folder,
        kind=options.kind,
        name=options.name,
        namespace=options.namespace,
        engine=options.engine,
        repository=options.repository,
    )


# `jobspec init`: write a small repository that passes its own checks, or the checks alone for a project that is there.


def init_repository(folder: str, *, kind: str, name: str, namespace: str, engine: str, repository: str) -> int:
    """Write the repository into a folder, in which none of its files may be yet."""
    around = ProjectFiles(os.path.join(folder, FILE))
    files = scaffold(
        _template,
        kind=kind,
        name=name,
        namespace=namespace,
        engine=engine,
        repository=repository,
        place=lambda path: around.in_repository(os.path.join(folder, path)),
    )
    return _write(folder, files, alone=[OUTPUT, ENGINE_OUTPUT])


def run_checks(folder: str) -> int:
    """Write the hooks and the workflow into a folder that holds a project."""
    path = os.path.join(folder, FILE)
    if not os.path.isfile(path):
        raise JobspecError(f"--checks is for a project that is there: {folder} has no {FILE}")
    project = read_project(Found(path, named=True))
    if not isinstance(project, Project):
        raise JobspecError(f"{path} is no project that can be checked: see `jobspec validate {path}`")
    return _write(folder, checks(_template, os.path.normpath(project.output)))


def _write(folder: str, files: Mapping[str, bytes], *, alone: list[str] | None = None) -> int:
    if os.path.isdir(folder) and additions.complete(folder):
        sys.stderr.write("jobspec: an earlier run that was interrupted here is completed\n")
    additions.add(folder, lambda: files, alone=alone or ())
    sys.stdout.writelines(f"{os.path.normpath(os.path.join(folder, path))}\n" for path in sorted(files))
    return 0


def _template(name: str) -> str:
    with open(data.beside("scaffold", name), encoding="utf-8") as file:
        return file.read()
