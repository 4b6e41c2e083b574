"""`jobspec init`: write a small repository that passes its own checks, or only the checks for a project that is there."""

from __future__ import annotations

import os
import sys
from argparse import ArgumentParser
from collections.abc import Collection, Mapping
from json import dumps

from jobspec.apis.kinds import PROJECT_FILE
from jobspec.apis.releases import complete as newest
from jobspec.apis.releases import reported
from jobspec.apis.shipped import package_text
from jobspec.diagnostics.errors import JobspecError
from jobspec.documents.atomic_writes import add_files
from jobspec.documents.writer import is_plain
from jobspec.journey.steps import Source
from jobspec.kubernetes.metadata import bad_label_name
from jobspec.project.matrix import label_of
from jobspec.project.project import ENGINES_OUTPUT as ENGINE_OUTPUT
from jobspec.project.project import OUTPUT, LoadedProject, Unreadable
from jobspec.project.tree import complete, engine_tree, whole, with_inventory
from jobspec.session.folders import repository_root
from jobspec.session.found import Found
from jobspec.session.installation import NAME, OF_AN_INDEX, given_requirement, requirement_of_the_running, with_extra
from jobspec.session.options import Options
from jobspec.session.project import read_project
from jobspec.session.trees import ProjectFiles


def add_arguments(parser: ArgumentParser) -> None:
    """Declare its arguments and options."""
    add = parser.add_argument
    add("folder", nargs="?", default=".", metavar="DIR", help="the folder to write to, the working folder by default; no file is replaced")
    add("--kind", choices=KINDS, default=KINDS[0], help=f"the kind of the job; {KINDS[0]} by default")
    add("--name", default="mnist", help="the name of the job; `mnist` by default")
    add("--namespace", default="training", help="the namespace of the variants; `training` by default")
    add("--engine", choices=list(ENGINES), default="argocd", help="what syncs the tree; `argocd` by default")
    url = "https://git.example/ml/jobs.git"
    add("--repository", metavar="URL", default=url, help=f"the URL from which the engine fetches the repository; {url} by default")
    add(
        "--install",
        default="",
        metavar="REQUIREMENT",
        help=f"what the hooks and the workflow install: a version, a URL or a requirement of {NAME}; by default the source of this jobspec",
    )
    add(
        "--checks",
        action="store_true",
        help="write only the hooks, the workflow and .gitattributes, into the root of a repository that has a project",
    )


def run(options: Options) -> int:
    """Write the repository into a folder, in which none of its files may be yet; or the checks alone."""
    install = given_requirement(options.install) if options.install else requirement_of_the_running()
    if options.checks:
        code = _write_checks(options.folder, install)
    else:
        around = ProjectFiles(os.path.join(options.folder, PROJECT_FILE))
        files = scaffold(options, around.in_repository(os.path.join(options.folder, OUTPUT)), install)
        code = _write_files(options.folder, files, alone=[OUTPUT, ENGINE_OUTPUT])
    if install is None:
        sys.stderr.write(f"jobspec: {_UNKNOWN_SOURCE}\n")
    return code


#: What is said if no other machine can install what is running here.
_UNKNOWN_SOURCE = (
    f"this jobspec comes from a folder of this machine: the hooks run the jobspec on the PATH, and the workflow installs {OF_AN_INDEX}; "
    "name what both should install with --install"
)


def _write_checks(folder: str, install: str | None) -> int:
    """Write the hooks and the workflow into a folder that holds a project."""
    path = os.path.join(folder, PROJECT_FILE)
    if not os.path.isfile(path):
        raise JobspecError(f"--checks needs a project: {folder} has no {PROJECT_FILE}")
    project = read_project(Found(path, named=True))
    if not isinstance(project, LoadedProject):
        raise JobspecError(f"{path} is not a valid project: see `jobspec validate {path}`")
    engine_output = os.path.normpath(project.engines.output if project.engines else ENGINE_OUTPUT)
    wanted = checks(os.path.normpath(project.output), engine_output, install)
    there = {name: text for name, text in wanted.items() if os.path.lexists(os.path.join(folder, name))}
    code = _write_files(folder, {name: text for name, text in wanted.items() if name not in there})
    if (root := repository_root(folder)) not in ("", os.path.abspath(folder)):
        root = os.path.normpath(os.path.join(folder, os.path.relpath(root, folder)))
        note = f"hooks and workflows are read in the root of the repository alone: move them to {root}, and name {path} in them"
        sys.stderr.write(f"jobspec: {note}\n")
    for name, text in sorted(there.items()):
        sys.stdout.write(f"\n{os.path.normpath(os.path.join(folder, name))} exists and is unchanged; add what is missing of:\n\n")
        sys.stdout.write("".join(f"    {line}\n" if line else "\n" for line in text.decode().splitlines()))
    return code


def _write_files(folder: str, files: Mapping[str, bytes], *, alone: Collection[str] = ()) -> int:
    add_files(folder, lambda: files, alone=alone)
    sys.stdout.writelines(f"{os.path.normpath(os.path.join(folder, path))}\n" for path in sorted(files))
    return 0


# The files of a new repository: a project of two variants, hooks, a workflow, Git's attributes, and the tree that the project renders to.


#: The kinds of jobs that a repository can begin with, each the name of its template, too.
KINDS = ("TrainJob", "PyTorchJob")
#: What `spec.engines` says of each engine, by its name there.
ENGINES = {"argocd": "{repoURL: GIT_URL, revision: main, autosync: true}", "flux": "{url: GIT_URL, ref: {branch: main}}"}
_ALLOWED = frozenset("abcdefghijklmnopqrstuvwxyz0123456789-")


def scaffold(options: Options, tree: str, install: str | None) -> dict[str, bytes]:
    """The files by path; *tree* is the path of the rendered tree in the repository, *install* the requirement of jobspec.

    Raises JobspecError for a name or namespace that Kubernetes does not take, and for a URL that the engine does not take.
    """
    name = options.name or ""
    _require_names(name, options.namespace)
    words = {
        "JOB_NAMESPACE": options.namespace,
        "JOB_NAME": name,
        "ENGINE": options.engine,
        **{operator.upper().replace("-", "_"): release.rpartition(".")[0] for operator, release in reported(newest({})).items()},
        "SYNCED": ENGINES[options.engine].replace("GIT_URL", dumps(options.repository)),
    }
    templates = {"README.md": "README.md", PROJECT_FILE: PROJECT_FILE, f"base/{name}.yaml": f"{options.kind}.yaml"}
    texts = {path: _filled(each, words) for path, each in templates.items()}
    written = {path: text.encode() for path, text in texts.items()}
    return written | checks(OUTPUT, ENGINE_OUTPUT, install) | _rendered_project(texts, tree)


def checks(output: str, engine_output: str, install: str | None) -> dict[str, bytes]:
    """The hooks, the workflow and Git's attributes of a repository whose project renders to *output* and *engine_output*.

    Hooks and workflow install the requirement *install*. If it is None, the hooks run the jobspec on the PATH.

    Raises JobspecError for a folder that a shell or a pattern would read in another way.
    """
    for folder in (output, engine_output):
        if not set(folder.lower()) <= _ALLOWED | set("/._"):
            raise JobspecError(f"the hooks cannot name the folder `{folder}`: write its name with letters, digits, `-`, `_` and `.` alone")
    language = f"python\n        additional_dependencies: [{dumps(install)}]" if install else "system"
    words = {
        "OUTPUT_FOLDER": output,
        "ENGINE_FOLDER": engine_output,
        "JOBSPEC_REQUIREMENT": install or OF_AN_INDEX,
        "JOBSPEC_WITH_DRY_RUN": with_extra(install or OF_AN_INDEX, "dry-run"),
        "JOBSPEC_LANGUAGE": language,
    }
    templates = {
        ".gitattributes": "gitattributes",
        ".pre-commit-config.yaml": "pre-commit.yaml",
        ".github/workflows/jobspec.yaml": "workflow.yaml",
    }
    return {path: _filled(each, words).encode() for path, each in templates.items()}


def _require_names(name: str, namespace: str) -> None:
    if label_of(name) != name or not name:
        raise JobspecError(f"--name {name}: a job's name is a DNS label, such as `{label_of(name) or 'mnist'}`")
    if bad_label_name(namespace):
        raise JobspecError(f"--namespace {namespace}: a namespace is a DNS label, such as `training`")
    for option, value in (("--name", name), ("--namespace", namespace)):
        if not is_plain(value):
            raise JobspecError(f"{option} {value}: without quotes, YAML does not read this as a string; choose another")


def _filled(template: str, words: Mapping[str, str]) -> str:
    """The text of a template with values in place of words."""
    text = package_text("scaffold", template)
    for word, value in words.items():
        text = text.replace(word, value)
    return text


def _rendered_project(texts: Mapping[str, str], path: str) -> dict[str, bytes]:
    """What the project among the texts renders to, *path* being that of the tree in the repository.

    Raises JobspecError where something is wrong with it.
    """

    def read(path: str) -> Source:
        if path not in texts:
            raise Unreadable("there is no such file")
        return Source(path, texts[path])

    found = whole(Source(PROJECT_FILE, texts[PROJECT_FILE]), read)
    engines = found.project.engines if found.project else None
    made = engine_tree(engines, found.rendered, found.tree, earlier={}, path=path, project=PROJECT_FILE)
    inside = (problem for each in found.rendered for problem in each.checked.result.diagnostics)
    wrong = dict.fromkeys(each.message for each in (*found.diagnostics, *inside, *made.diagnostics) if each.severity == "error")
    if wrong:
        raise JobspecError("\n".join(wrong))
    tree = {f"{OUTPUT}/{each}": content for each, content in complete(found.tree, {}, {}).items()}
    return tree | {f"{ENGINE_OUTPUT}/{each}": content for each, content in with_inventory(made.files).items()}
