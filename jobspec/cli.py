"""The command line: arguments, exit codes, and the one place where errors end."""

from __future__ import annotations

import atexit
import gc
import io
import os
import sys

from jobspec import __version__
from jobspec.arguments import Option, Options, declare, read
from jobspec.diagnostics import JobspecError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import ArgumentParser, HelpFormatter
    from collections.abc import Callable, Sequence
    from typing import Any, NoReturn

    from jobspec.choice.settings import Settings
    from jobspec.commands.inputs import Inputs

_EXIT_CODES = """\
exit codes:
  0  clean
  1  the input is at fault
  2  could not run as asked: arguments, a missing file, an unwritable folder, a silent server
  3  a bug of jobspec
"""


def program() -> NoReturn:
    """Run the command of this process, and end the process.

    `os._exit` leaves memory to the system: Python's own end would take a tenth of the time of a verdict.
    """
    gc.disable()  # a command lives for moments: collecting cycles costs more than the memory is worth
    code = main(sys.argv[1:])
    atexit._run_exitfuncs()
    for stream in filter(None, (sys.stdout, sys.stderr)):
        try:  # noqa: SIM105 (a start has no time for contextlib)
            stream.flush()
        except OSError:  # the error is reported already, or nobody reads any more
            pass
    os._exit(code)


def main(arguments: Sequence[str]) -> int:
    """Run one command and return its exit code."""
    try:
        _write_utf8()
        code = _run(arguments)
        sys.stdout.flush()
        return code
    except JobspecError as error:
        return _cannot(str(error))
    except BrokenPipeError:  # the reader has closed the pipe
        _close_stdout()
        return 2
    except OSError as error:
        _close_stdout()
        return _cannot(f"cannot write the output: {error.strerror}")
    except KeyboardInterrupt:
        return 130
    except Exception:
        import traceback

        traceback.print_exc()
        sys.stderr.write("jobspec: this is a bug of jobspec; please report it with the lines above and the file that caused it\n")
        return 3


def _run(arguments: Sequence[str]) -> int:
    try:
        run, options = _parse(arguments)
    except SystemExit as end:  # argparse has printed its help or an error
        return int(end.code or 0)
    return run(options)


def _cannot(why: str) -> int:
    if sys.stderr:
        sys.stderr.write(f"jobspec: {why}\n")
    return 2


def _write_utf8() -> None:
    """Write UTF-8 whatever the locale; bytes of paths that are not UTF-8 are written unchanged."""
    if sys.stdout is None:
        raise JobspecError("cannot write the output: standard output is closed")
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(encoding="utf-8", errors="surrogateescape")


def _close_stdout() -> None:
    """Discard what is still buffered: it cannot be written, and Python must not try at its end."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)


def _validate(options: Options) -> int:
    from jobspec.commands import validate

    return validate.run(
        _inputs(options),
        stored=options.stored,
        ref=options.ref,
        outcome=options.outcome,
        fix=options.fix,
        diff=options.diff,
        settings=_settings(options),
        write_baseline=options.write_baseline,
    )


def _lint(options: Options) -> int:
    from jobspec.commands import lint

    return lint.run(
        _inputs(options), fix=options.fix, diff=options.diff, settings=_settings(options), write_baseline=options.write_baseline
    )


def _settings(options: Options) -> Settings | None:
    """What the caller chose to be told; None where neither an option nor a file of the working folder says anything of it."""
    from jobspec.commands.files import mentions

    given = (options.select, options.ignore, options.fail_on, options.baseline, options.contract)
    if not any(given) and not mentions("jobspec.yaml", b"checks:") and not mentions("pyproject.toml", b"tool.jobspec"):
        return None
    from jobspec.commands.choosing import settings_of

    return settings_of(*given)


def _render(options: Options) -> int:
    from jobspec.commands import render

    return render.run(_inputs(options), to=options.to, only=options.only, check=options.check)


def _expand(options: Options) -> int:
    from jobspec.commands import expand

    return expand.run(
        _inputs(options), form=options.form, defaults=options.defaults, origin=options.origin, gang_scheduler=options.gang_scheduler or ""
    )


def _blame(options: Options) -> int:
    from jobspec.commands import blame
    from jobspec.commands.inputs import Inputs

    inputs = Inputs([options.path], output=options.output, crds=options.crd, schema_locations=options.schema_location)
    return blame.run(inputs, options.field, project=options.project)


def _init(options: Options) -> int:
    from jobspec.commands import init

    if options.checks:
        return init.run_checks(options.folder)
    return init.run(
        options.folder,
        kind=options.kind,
        name=options.name,
        namespace=options.namespace,
        engine=options.engine,
        repository=options.repository,
    )


def _import(options: Options) -> int:
    from jobspec.commands import import_manifests
    from jobspec.commands.inputs import Inputs

    inputs = Inputs(options.paths, targets=options.target, skip_unknown=options.skip_unknown)
    return import_manifests.run(inputs, to=options.to, preview=options.preview)


def _migrate(options: Options) -> int:
    from jobspec.commands import migrate
    from jobspec.commands.inputs import Inputs

    writing = migrate.Writing(diff=options.diff, folder=options.to_dir, in_place=options.in_place)
    inputs = Inputs(
        options.paths,
        targets=options.target,
        output=options.output,
        output_file=options.output_file,
        skip_unknown=options.skip_unknown,
    )
    return migrate.run(inputs, to=options.to, writing=writing, strict=options.strict, gang_scheduler=options.gang_scheduler or "")


def _dry_run(options: Options) -> int:
    try:
        from jobspec.commands import dry_run
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        if package == "jobspec":
            raise
        raise JobspecError(f"dry-run needs the package `{package}`: pip install 'jobspec-k8s[dry-run]'") from None

    place = dry_run.Place(
        context=options.context,
        envtest=options.envtest,
        kubernetes=options.kubernetes,
        recreate=options.recreate,
        delete=options.delete,
    )
    return dry_run.run(_inputs(options), place, diff=options.diff, pods=options.pods)


def _run_job(options: Options) -> int:
    from jobspec.commands import run

    return run.run(_inputs(options), command=options.command, kills=options.kill)


def _diff(options: Options) -> int:
    from jobspec.commands import diff

    return diff.run(_inputs(options), options.ref, project=options.project, prices=options.prices, exit_code=options.exit_code)


def _explain(options: Options) -> int:
    from jobspec.commands import explain

    if options.name and options.markdown:
        raise JobspecError("--markdown is for all rules: leave the name out")
    return explain.run(options.name, targets=options.target, recursive=options.recursive, markdown=options.markdown)


def _schema(options: Options) -> int:
    from jobspec.commands import schema

    if options.action == "crd":
        return schema.crd(options.kinds, everything=options.all, targets=options.target, output=options.output)
    if options.action == "kustomize":
        return schema.kustomize(options.base, targets=options.target)
    if options.action == "kubernetes":
        from jobspec.commands import kubernetes_kinds

        return kubernetes_kinds.run(options.releases)
    return schema.check(options.folder) if options.action == "check" else schema.export(options.folder)


def _completion(options: Options) -> int:
    from jobspec.commands import completion

    whole = _parser("jobspec", "")
    commands = whole.add_subparsers()
    for name, (what, add_arguments, _) in _COMMANDS.items():
        add_arguments(commands.add_parser(name, help=what))
    return completion.run(whole, options.shell)


def _inputs(options: Options) -> Inputs:
    from jobspec.commands.inputs import Inputs

    def said(name: str, default: object) -> Any:
        return getattr(options, name, default)

    return Inputs(
        said("paths", ()),
        overlays=said("overlay", ()),
        sets=said("set", ()),
        targets=said("target", ()),
        output=said("output", "text"),
        output_file=said("output_file", None),
        skip_unknown=said("skip_unknown", False),
        admission=said("admission", True),
        closed_world=said("closed_world", False),
        crds=said("crd", ()),
        schema_locations=said("schema_location", ()),
        markdown=said("markdown", False),
    )


def _parse(arguments: Sequence[str]) -> tuple[Callable[[Options], int], Options]:
    """The function that runs the command, and its options; argparse is loaded only where `read` cannot take the command line."""
    command = arguments[0] if arguments else ""
    if command == "validate" and (options := read(arguments[1:], _validate_options(), _BEFORE)):
        return _validate, options
    if command == "lint" and (options := read(arguments[1:], _lint_options())):
        return _lint, options
    if command == "render" and (options := read(arguments[1:], _render_options())):
        return _render, options
    if command == "expand" and (options := read(arguments[1:], _expand_options())):
        return _expand, options
    if command in _COMMANDS:
        what, add_arguments, run = _COMMANDS[command]
        parser = add_arguments(_parser(f"jobspec {command}", what))
        mixed = command != "schema" and "--" not in arguments  # argparse cannot mix paths and options beside these
        return run, (parser.parse_intermixed_args if mixed else parser.parse_args)(arguments[1:], Options())
    what = "configure and check Kubernetes training jobs: layered overlays, and an API server's verdict offline"
    commands = "".join(f"  {name:12}{does}\n" for name, (does, *_) in _COMMANDS.items())
    parser = _parser("jobspec", what, epilog=f"commands:\n{commands}\n{_EXIT_CODES}")
    parser.add_argument("--version", action="version", version=f"jobspec {__version__}")
    parser.add_argument(
        "command", choices=list(_COMMANDS), metavar="COMMAND", help="one of those below; `jobspec COMMAND --help` lists its options"
    )
    parser.parse_args(arguments)
    raise AssertionError(arguments)  # without a known command, parse_args has ended the program


def _parser(prog: str, what: str, *, epilog: str | None = None) -> ArgumentParser:
    from argparse import ArgumentParser

    return ArgumentParser(prog=prog, description=f"{what[:1].upper()}{what[1:]}.", epilog=epilog, formatter_class=_formatter)


def _formatter(prog: str) -> HelpFormatter:
    """A formatter with a known width: argparse finds one by `shutil`, which loads three compression libraries."""
    from argparse import RawDescriptionHelpFormatter

    try:
        width = os.get_terminal_size().columns
    except OSError:
        width = 100
    return RawDescriptionHelpFormatter(prog, width=width - 2)


def _validate_arguments(parser: ArgumentParser) -> ArgumentParser:
    declare(_with_paths(parser), _validate_options(), _BEFORE)
    return parser


def _lint_arguments(parser: ArgumentParser) -> ArgumentParser:
    declare(_with_paths(parser), _lint_options())
    return parser


def _render_arguments(parser: ArgumentParser) -> ArgumentParser:
    declare(_with_paths(parser, number="*"), _render_options())
    return parser


def _with_paths(parser: ArgumentParser, *, number: str = "+") -> ArgumentParser:
    what = "a file, a folder of *.yaml, *.yml and *.json files, or - for standard input"
    parser.add_argument("paths", nargs=number, metavar="PATH", help=what)
    return parser


def _input_options() -> list[Option]:
    from jobspec.reports.formats import FORMATS

    return [
        *_journey_options(),
        Option("--output", "-o", choices=FORMATS, what="the format of the report"),
        Option("--output-file", metavar="FILE", what="write the report into a file, whole or not at all"),
    ]


def _journey_options() -> list[Option]:
    """The options that say how files become documents and are judged."""
    return [
        Option("--overlay", metavar="NAME", repeatable=True, what="apply this overlay to every job: a shipped name, or a path; repeatable"),
        Option("--set", metavar="OVERLAY.NAME=VALUE", repeatable=True, what="give a parameter of an overlay a value; repeatable"),
        _target("judge by this release, not by the newest; repeatable"),
        Option("--skip-unknown", what="skip documents that are no manifest or of an unknown kind, and count them"),
        Option("--no-admission", dest="admission", what="skip the operators' webhooks, as on a cluster without them"),
        Option(
            "--closed-world",
            what="report an error, not a warning, for a runtime that is in none of the files and not shipped with the trainer",
        ),
    ]


def _kind_options() -> list[Option]:
    return [
        Option(
            "--crd",
            metavar="PATH",
            repeatable=True,
            what="judge objects by the CustomResourceDefinitions in this file or folder, before our own schemas; repeatable",
        ),
        Option(
            "--schema-location",
            metavar="TEMPLATE",
            repeatable=True,
            what="JSON Schemas of kinds that jobspec has none of: a folder, or a path with kubeconform's {{.ResourceKind}}; repeatable",
        ),
    ]


#: The options that say which objects are updated; they exclude each other.
_BEFORE = ("stored", "ref")


def _validate_options() -> list[Option]:
    return [
        *_input_options(),
        *_kind_options(),
        Option(
            "--from", dest="stored", metavar="PATH", what="judge updates of the objects in this file or folder; all other objects are new"
        ),
        Option("--from-ref", dest="ref", metavar="REF", what="judge updates of the objects in the same files at a Git ref"),
        Option("--no-outcome", dest="outcome", what="stop at the server's own answer, and do not tell what becomes of accepted jobs"),
        *_fix_options(),
        *_choice_options(),
    ]


def _choice_options() -> list[Option]:
    def add(name: str, metavar: str, what: str, *, repeatable: bool = False) -> Option:
        return Option(name, metavar=metavar, what=what, repeatable=repeatable)

    return [
        add("--select", "RULE,...", "tell of these rules or stages alone, besides what cannot be read; repeatable", repeatable=True),
        add("--ignore", "RULE,...", "do not tell of these rules or stages; repeatable", repeatable=True),
        add("--fail-on", "SEVERITY", "exit with 1 on an error (the default), on a warning, too, or on an info, too"),
        add("--baseline", "FILE", "do not tell what this baseline has, and tell which of its entries are stale"),
        add("--write-baseline", "FILE", "write all that is found as a baseline, and succeed"),
        add("--contract", "IMAGE=FILE", "check the flags of this image's program by a JSON Schema of them; repeatable", repeatable=True),
    ]


def _fix_options() -> list[Option]:
    return [
        Option("--fix", what="first mend in the files what has one certain remedy, such as a misspelt field"),
        Option("--diff", what="show what --fix would change, and write nothing"),
        Option("--markdown", what="read the manifests in Markdown pages of folders, too; in a page that is named they always are"),
    ]


def _lint_options() -> list[Option]:
    return [*_input_options(), *_kind_options(), *_fix_options(), *_choice_options()]


def _render_options() -> list[Option]:
    to = Option("--to", metavar="DIR", what="write one file for each resource into DIR, instead of a stream to standard output")
    only = Option("--only", metavar="VARIANT", repeatable=True, what="of a project, render this variant and leave the others; repeatable")
    check = Option("--check", what="of a project, write nothing, and fail with a diff where the rendered tree is another one")
    return [*_input_options(), *_kind_options(), to, only, check]


def _expand_options() -> list[Option]:
    forms = ("auto", "table", "yaml", "json")
    return [
        *_journey_options(),
        Option("--output", "-o", dest="form", choices=forms, what="a table on a terminal and YAML elsewhere (auto), or one of these"),
        Option("--defaults", what="add what the API server fills in, as `kubectl get` will show it"),
        Option(
            "--gang-scheduler",
            metavar="NAME",
            what="expand as a training-operator with this `--gang-scheduler-name` does: volcano, or a scheduler of scheduler-plugins",
        ),
        Option("--origin", what="write behind each line of YAML where it comes from"),
    ]


def _target(what: str) -> Option:
    return Option("--target", metavar="OPERATOR=RELEASE", repeatable=True, what=what)


def _blame_arguments(parser: ArgumentParser) -> ArgumentParser:
    add = parser.add_argument
    add("path", metavar="FILE", help="a file that a project renders, such as rendered/VARIANT/pytorchjob-NAME.yaml")
    what = "a field as messages spell it, or one around it; an item also by its name, an argument by its flag: args[--lr]"
    add("field", nargs="?", metavar="FIELD", help=f"{what}; `.` is every field, those that are gone, too; without it, the whole file")
    add("--project", metavar="PROJECT", help="the project's file; else the nearest jobspec.yaml above FILE that renders to its folder")
    declare(parser, [*_kind_options(), Option("--output", "-o", choices=("text", "json"), what="the format of the answer")])
    return parser


def _dry_run_arguments(parser: ArgumentParser) -> ArgumentParser:
    declare(_with_paths(parser, number="*"), _input_options())
    parser.add_argument("--diff", action="store_true", help="print what an apply would change in the live objects")
    parser.add_argument(
        "--pods", action="store_true", help="ask about the pods of accepted jobs, too: quotas and policies answer for those"
    )
    server = parser.add_argument_group(
        "the server", "by default the kind cluster `jobspec`, created where it does not exist (needs Docker)"
    )
    other = server.add_mutually_exclusive_group()
    other.add_argument("--context", metavar="NAME", help="ask the cluster of this context of your kubeconfig; nothing is stored there")
    other.add_argument("--envtest", action="store_true", help="start etcd and kube-apiserver from KUBEBUILDER_ASSETS for this run")
    what = "store the CustomResourceDefinitions in this file or folder first, on kind and with --envtest; repeatable"
    server.add_argument("--crd", action="append", default=[], metavar="PATH", help=what)
    server.add_argument("--kubernetes", default="", metavar="RELEASE", help="the Kubernetes of the kind cluster, 1.34.0 for example")
    server.add_argument("--recreate", action="store_true", help="create the kind cluster again")
    server.add_argument("--delete", action="store_true", help="delete the kind cluster at the end; without a PATH, at once")
    return parser


def _expand_arguments(parser: ArgumentParser) -> ArgumentParser:
    declare(_with_paths(parser), _expand_options())
    return parser


def _run_arguments(parser: ArgumentParser) -> ArgumentParser:
    command = Option("--command", metavar="COMMAND", what="what each pod runs in place of its container's `command`; the `args` stay")
    kill = Option("--kill", metavar="POD@TIME", repeatable=True, what="kill the process of a pod once, such as worker-1@30s; repeatable")
    declare(_with_paths(parser), [*_input_options(), command, kill])
    return parser


def _diff_arguments(parser: ArgumentParser) -> ArgumentParser:
    from jobspec.reports.formats import DIFF_FORMATS

    add = parser.add_argument
    add("ref", nargs="?", default="HEAD", metavar="REF", help="the commit to compare with, such as `main`; HEAD by default")
    add("--project", default="jobspec.yaml", metavar="FILE", help="the project, if it is not jobspec.yaml in the working folder")
    add("--prices", metavar="FILE", help="a price list, by which to tell what jobs cost at most")
    add("--exit-code", action="store_true", help="exit with 1 where the project renders to something else")
    options = [
        *_kind_options(),
        Option("--output", "-o", choices=DIFF_FORMATS, what="the format of the report"),
        Option("--output-file", metavar="FILE", what="write the report into a file, whole or not at all"),
    ]
    declare(parser, options)
    return parser


def _init_arguments(parser: ArgumentParser) -> ArgumentParser:
    from jobspec.gitops.scaffold import ENGINES, KINDS

    add = parser.add_argument
    add("folder", nargs="?", default=".", metavar="DIR", help="where to; the working folder by default, and none of its files is replaced")
    add("--kind", choices=KINDS, default=KINDS[0], help=f"the kind of the job; {KINDS[0]} by default")
    add("--name", default="mnist", help="the name of the job; `mnist` by default")
    add("--namespace", default="training", help="the namespace of the variants; `training` by default")
    add("--engine", choices=list(ENGINES), default="argocd", help="what syncs the tree; `argocd` by default")
    url = "https://git.example/ml/jobs.git"
    add("--repository", metavar="URL", default=url, help=f"the URL from which the engine fetches the repository; {url} by default")
    add("--checks", action="store_true", help="write the hooks and the workflow alone, into the root of a repository that has a project")
    return parser


def _import_arguments(parser: ArgumentParser) -> ArgumentParser:
    add = _with_paths(parser).add_argument
    add("--to", metavar="DIR", default="base", help="the folder for the bases, below the working folder; `base` by default")
    declare(parser, [_target("make a new project for this release, not for the newest; repeatable")])
    add("--skip-unknown", action="store_true", help="skip documents that are no manifest or of an unknown kind")
    add("--preview", action="store_true", help="write nothing, and print what would be written, as a diff")
    return parser


def _migrate_arguments(parser: ArgumentParser) -> ArgumentParser:
    from jobspec.reports.formats import MIGRATION_FORMATS

    add = _with_paths(parser).add_argument
    what = "TrainJob, for PyTorchJobs; or trainer=RELEASE, for TrainJobs and runtimes of another release"
    add("--to", metavar="KIND|RELEASE", required=True, help=what)
    add("--in-place", action="store_true", help="write the files again, all of them or none")
    add("--to-dir", metavar="DIR", help="write the files that change into a folder, under the same names")
    add("--diff", action="store_true", help="print what would change, and write nothing")
    add("--strict", action="store_true", help="write nothing and exit with 1 where anything is lost")
    add("--skip-unknown", action="store_true", help="skip documents that are no manifest or of an unknown kind")
    add("--gang-scheduler", metavar="NAME", help="the `--gang-scheduler-name` that training-operator was started with")
    options = [
        _target("with --to TrainJob the releases to come from and to go to; else the trainer to come from; repeatable"),
        Option("--output", "-o", choices=MIGRATION_FORMATS, what="the format of the report"),
        Option("--output-file", metavar="FILE", what="write the report into a file, whole or not at all"),
    ]
    declare(parser, options)
    return parser


def _explain_arguments(parser: ArgumentParser) -> ArgumentParser:
    add = parser.add_argument
    add(
        "name",
        nargs="?",
        metavar="RULE|KIND.PATH",
        help="a rule, the name in brackets behind a message; or a field, such as TrainJob.spec.trainer, as messages spell it, too; "
        "without it, all rules are listed",
    )
    declare(parser, [_target("explain the field as of this release, not of the newest; repeatable")])
    add("--recursive", action="store_true", help="print the names and types of all fields below, nothing else")
    add("--markdown", action="store_true", help="print the pages of all rules as Markdown, which is docs/rules.md")
    return parser


def _schema_arguments(parser: ArgumentParser) -> ArgumentParser:
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION", prog="jobspec schema")

    def action(name: str, what: str) -> ArgumentParser:
        return actions.add_parser(name, help=what, description=f"{what[0].upper()}{what[1:]}.", formatter_class=_formatter)

    crd = action("crd", "print the CustomResourceDefinitions of kinds, as `kubectl apply` takes them")
    crd.add_argument("kinds", nargs="*", metavar="KIND", help="PyTorchJob, TrainJob and so on, in upper or lower case")
    crd.add_argument("--all", action="store_true", help="every kind of the operators")
    declare(crd, [_target("the CRD of this release, not of the newest; repeatable")])
    crd.add_argument("-o", "--output", choices=("yaml", "json"), default="yaml", help="json is compact: one line for each kind")
    kustomize = action("kustomize", "print an OpenAPI document by which kustomize merges the lists of these kinds as overlays do")
    kustomize.add_argument("--base", metavar="FILE", help="the document to add them to, instead of the one of the cluster at hand")
    declare(kustomize, [_target("the fields of this release, not of the newest; repeatable")])
    action("export", "write all schemas").add_argument("folder", metavar="DIR", help="where to")
    check = action("check", "fail where a schema that was written differs from the models")
    check.add_argument("folder", nargs="?", metavar="DIR", help="where `schema export` wrote them; jobspec's own, if nothing is said")
    kubernetes = action("kubernetes", "print the table of built-in kinds, `schemas/kubernetes.json`, from upstream's OpenAPI documents")
    kubernetes.add_argument("releases", nargs="+", metavar="RELEASE=DIR", help="1.36=FOLDER, the folder api/openapi-spec of its source")
    return parser


def _completion_arguments(parser: ArgumentParser) -> ArgumentParser:
    what = "put it where the shell reads it, such as `jobspec completion bash > ~/.local/share/bash-completion/completions/jobspec`"
    parser.add_argument("shell", choices=("bash", "zsh", "fish"), help=what)
    return parser


#: Each command, in the order of a job's way: what it does, its arguments, and what runs it.
_COMMANDS = {
    "init": ("write a small repository that passes its own checks", _init_arguments, _init),
    "import": ("make existing manifests variants of the project here", _import_arguments, _import),
    "validate": ("predict an API server's verdict on manifests", _validate_arguments, _validate),
    "lint": ("validate manifests, and tell what is accepted and bites", _lint_arguments, _lint),
    "render": ("apply overlays to jobs, check the result and write it", _render_arguments, _render),
    "diff": ("tell what a change of a project does to fields, in the cluster, and to pods and cost", _diff_arguments, _diff),
    "blame": ("tell where each value of a rendered file comes from", _blame_arguments, _blame),
    "expand": ("print the pods and other objects that operators will make of jobs", _expand_arguments, _expand),
    "run": ("run a job on this machine, one process for each pod", _run_arguments, _run_job),
    "migrate": ("make PyTorchJobs TrainJobs, or those of another release, and tell what is lost", _migrate_arguments, _migrate),
    "dry-run": ("ask a real API server for its verdict on manifests", _dry_run_arguments, _dry_run),
    "explain": ("explain a rule, or a field of a kind", _explain_arguments, _explain),
    "schema": ("print CRDs, write schemas for editors and kustomize, check them", _schema_arguments, _schema),
    "completion": ("print what has a shell complete commands, options and files", _completion_arguments, _completion),
}
