"""The options of a command, declared once and read in two ways.

`read` takes plain command lines, as people and hooks write them. Mistakes, `--help` and all others are left to argparse, which takes as
long to load as a verdict.
"""

from __future__ import annotations

from jobspec.apis.kinds import PROJECT_FILE
from jobspec.session.disk import DISK

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Container, Mapping, Sequence
    from typing import Any

    from jobspec.journey.steps import Source
    from jobspec.kubernetes.applying import Side
    from jobspec.session.disk import Disk


class Option:
    """One option: its names, the longest first, its help text, and the values that it takes."""

    def __init__(
        self,
        *names: str,
        what: str,
        dest: str = "",
        metavar: str = "",
        repeatable: bool = False,
        choices: Sequence[str] = (),
        exclusive: bool = False,
        into_files: bool = False,
    ) -> None:
        self.names = names
        self.what = f"{what}; repeatable" if repeatable and "; repeatable" not in what else what
        self.dest = dest or names[0][2:].replace("-", "_")
        self.metavar = metavar
        """The name of the value in help texts; an option without it and without choices takes no value."""
        self.repeatable = repeatable
        self.exclusive = exclusive
        """Whether a command line may have only one of the command's options that are exclusive."""
        self.choices = choices
        """The values that it takes; the first one is its default."""
        self.into_files = into_files
        """Whether a choice can be followed by `=FILE`."""
        self.default: Any = choices[0] if choices else None
        if not self.takes_value:
            self.default = names[0].startswith("--no-")

    @property
    def takes_value(self) -> bool:
        """Whether the option takes a value, and is no plain switch."""
        return bool(self.metavar or self.choices)

    def allows(self, value: str) -> bool:
        """Whether the option takes a value."""
        name = value.partition("=")[0] if self.into_files and not value.endswith("=") else value
        return not self.choices or name in self.choices


#: How --fix keeps lists that a patch of kustomize replaces; the first one is the default.
LIST_FIXES = SCHEMA, JSON_PATCH = ("schema", "json-patch")


class InputOptions:
    """Which files are read, and how they become documents."""

    paths: Sequence[str] = ()
    overlay: Sequence[str] = ()
    set: Sequence[str] = ()
    skip_unknown: bool = False
    variants_of_bases: bool = True
    """Whether a project's base that a hook names, with `skip_unknown`, stands for the variants of it."""
    build: bool = True
    cache: bool = True
    """Whether results of earlier runs are taken from the user's cache, and results are kept there."""
    helm: Sequence[str] = ()
    values: Sequence[str] = ()
    helm_set: Sequence[str] = ()
    helm_set_file: Sequence[str] = ()
    substitute: Sequence[str] = ()
    set_env: Sequence[str] = ()
    markdown: bool = False
    project: str = PROJECT_FILE
    """The path of a project."""
    disk: Disk = DISK
    """The files that are read."""
    by_environment: Sequence[str] = ()
    """The names of the options that the environment gives."""


class WorldOptions:
    """What files are checked against."""

    target: Sequence[str] = ()
    cluster: str | None = None
    pinned: Source | None = None
    """The cluster's file, if it was read already."""
    releases: Mapping[str, str] = {}
    """The releases of components that projects are judged by in place of their own."""
    crd: Sequence[str] = ()
    schema_location: Sequence[str] = ()
    admission: bool = True
    closed_world: bool = False
    outcome: bool = True
    stored: str | None = None
    """The file or folder of the objects that manifests update."""
    stored_ref: str | None = None
    """The Git ref at which the files were the objects that manifests update."""
    apply: Side = "client"
    """The side that applies the updates."""
    queues: Sequence[str] = ()
    """The files and folders of Kueue's queues."""
    gang_scheduler: str | None = None


class ChoiceOptions:
    """Which findings are reported, and which of them fail."""

    select: Sequence[str] = ()
    ignore: Sequence[str] = ()
    fail_on: str | None = None
    baseline: str | None = None
    write_baseline: str | None = None
    contract: Sequence[str] = ()
    changed_since: str | None = None
    within: str | None = None
    fix: bool = False
    fix_only: bool = False
    unsafe_fixes: bool = False
    fix_lists: str = "schema"
    """How lists that patches of kustomizations replace are fixed."""
    diff: bool = False
    """Whether a diff is shown in place of what would be written."""
    show_fixes: bool = False


class ReportOptions:
    """How results are written."""

    output_file: str | None = None
    reports: Sequence[str] = ()
    """Formats of reports; of those that go into files, FORMAT=FILE."""
    statistics: bool = False
    verbose: bool = False
    """Whether the run says what the cache had for it."""
    report_format: str | None = None
    """The format of the report of a command that writes one report; None of commands that write several."""
    form: str = "text"
    """The format of what a command prints that is no report of findings."""

    @property
    def output(self) -> str:
        """The format of what goes to standard output, or else of the first report in a file."""
        if self.report_format is not None:
            return self.report_format
        return min(self.reports, key=lambda each: "=" in each, default="text").partition("=")[0]


class CommandOptions:
    """What single commands are given."""

    # blame, diff, report
    path: str = ""
    field: str | None = None
    ref: str = "HEAD"
    prices: str | None = None
    exit_code: bool = False
    page: str | None = None
    # capture
    script: str = ""
    arguments: Sequence[str] = ()
    into_project: bool = False
    runtimes: Sequence[str] = ()
    python: str | None = None
    # dry-run, pin
    context: str | None = None
    envtest: bool = False
    kubernetes: str = ""
    recreate: bool = False
    delete: bool = False
    pods: bool = False
    check_file: str | None = None
    # expand, explain, list
    defaults: bool = False
    origin: bool = False
    queued: bool = False
    name: str | None = None
    recursive: bool = False
    what: str | None = None
    # import, init, migrate, render, upgrade
    preview: bool = False
    folder: str = "."
    checks: bool = False
    install: str = ""
    from_files: Sequence[str] = ()
    engine: str = ""
    kind: str = ""
    namespace: str = ""
    repository: str = ""
    to: str = ""
    to_dir: str | None = None
    to_releases: Sequence[str] = ()
    since: Sequence[str] = ()
    in_place: bool = False
    strict: bool = False
    only: Sequence[str] = ()
    check: bool = False
    # run
    args: str | None = None
    command: str | None = None
    back_off: str | None = None
    kill: Sequence[str] = ()
    max_restarts: str | None = None
    timeout: str | None = None
    # completion, mcp, lsp, schema
    shell: str = ""
    root: str = "."
    stdio: bool = False
    action: str = ""
    all: bool = False
    kinds: Sequence[str] = ()
    base: str | None = None
    into: Sequence[str] = ()
    clones: str = ""
    release_folders: Sequence[str] = ()
    api_version: str = ""
    layout: str = ""
    # policy
    rules: Sequence[str] = ()
    validation_action: str = ""
    parameters: str = ""
    parameters_namespace: str | None = None
    namespace_label: Sequence[str] = ()
    namespaces: Sequence[str] = ()
    listed: bool = False


class Options(InputOptions, WorldOptions, ChoiceOptions, ReportOptions, CommandOptions):
    """The values of a command line. A name that no group has is an error; values do not change."""

    def __init__(self, **values: object) -> None:
        for name in values:
            if not hasattr(type(self), name):
                raise TypeError(f"there is no option `{name}`")
        self.__dict__.update(values)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"option `{name}` cannot be changed: `changed` gives others")

    def declares(self, name: str) -> bool:
        """True if the command has an option."""
        return name in vars(self)

    def changed(self, **values: object) -> Options:
        """Return the options with other values of some."""
        return Options(**{**vars(self), **values})


def read(arguments: Sequence[str], options: Sequence[Option]) -> Options | None:
    """Read a plain command line of paths and options.

    If argparse has to read the command line, return None.
    """
    values: dict[str, Any] = {option.dest: [] if option.repeatable else option.default for option in options}
    paths: list[str] = []
    known = {name: option for option in options for name in option.names}
    rest = iter(arguments)
    for argument in rest:
        if argument[:1] != "-" or argument == "-":
            paths.append(argument)
            continue
        name, has_value, value = argument.partition("=")
        option = known.get(name)
        if option is None or (has_value and not option.takes_value):
            return None
        if not option.takes_value:
            values[option.dest] = not option.default
            continue
        if not has_value:
            value = next(rest, "-")
            if value[:1] == "-":
                return None
        if not option.allows(value):
            return None
        if option.repeatable:
            values[option.dest].append(value)
        else:
            values[option.dest] = value
    if not paths or sum(option.exclusive and values[option.dest] is not None for option in options) > 1:
        return None
    return Options(paths=paths, **values)


#: The options that the environment may give: `JOBSPEC_TARGET` is `--target`. They say what holds for all runs, as in an image for CI.
OF_ENVIRONMENT = (
    *("baseline", "changed-since", "closed-world", "cluster", "context", "contract", "crd", "fail-on", "fix-lists", "gang-scheduler"),
    *("ignore", "no-admission", "no-build", "no-outcome", "output", "prices", "queues", "schema-location", "select", "set-env"),
    *("skip-unknown", "substitute", "target"),
)


#: Those of them that have no value, and what a variable says of them; another text is an error of the option.
_SWITCHES = frozenset(("closed-world", "no-admission", "no-build", "no-outcome", "skip-unknown"))
_SAID = {**dict.fromkeys(("1", "true", "yes"), "on"), **dict.fromkeys(("", "0", "false", "no"), "")}


def variable_of(name: str) -> str:
    """Return the name of the variable for an option: `JOBSPEC_FAIL_ON` for `fail-on`."""
    return f"JOBSPEC_{name.upper().replace('-', '_')}"


def with_output_file(options: Options, given: str | None) -> Options:
    """Split a value of `--output`, such as `html=page.html`, into format and file."""
    form, _, file = (given or "text").partition("=")
    changed = {name: form for name in ("form", "report_format") if options.declares(name)}
    return options.changed(**changed, output_file=file or options.output_file)


def of_environment(
    arguments: Sequence[str], repeatable: Mapping[str, bool], formats: Container[str], environment: Mapping[str, str]
) -> list[str]:
    """Return the arguments that variables of the environment stand for.

    If the command line gives an option, its variable does not count. *repeatable*: the long names of a command's options, without dashes,
    and whether each may be repeated, for which blanks separate values. *formats*: those of the command's report; another one in the
    variable is for other commands.
    """
    given = {each.partition("=")[0] for each in arguments[: arguments.index("--") if "--" in arguments else None] if each[:1] == "-"}
    given |= {"--output"} if any(each[:2] == "-o" for each in given) else set()
    found: list[str] = []
    for name in OF_ENVIRONMENT:
        value = environment.get(variable_of(name), "").strip()
        if name in _SWITCHES and value.lower() in _SAID:
            value = _SAID[value.lower()]
            found += [f"--{name}"] if name in repeatable and value and f"--{name}" not in given else []
        elif name in repeatable and value and f"--{name}" not in given:
            values = value.split() if repeatable[name] else [value]
            found += [f"--{name}={each}" for each in values if name != "output" or each in formats]
    return found


PROJECT_HERE = "the project here, jobspec.yaml"
PROJECT_OR_FOLDER = f"{PROJECT_HERE}, or else this folder"
THIS_FOLDER = "this folder, with its project"


def target_option(what: str) -> Option:
    """The option that chooses a release; *what* is its help."""
    return Option("--target", metavar="OPERATOR=RELEASE", repeatable=True, what=what)


def cluster_option() -> Option:
    """The option that names a pinned cluster."""
    return Option("--cluster", metavar="FILE", what="check as in the cluster that `jobspec pin` wrote to this file")


def input_options() -> list[Option]:
    """The options that say how files are judged and reported."""
    from jobspec.reports.formats import FORMATS

    return [
        *journey_options(),
        Option(
            "--output",
            "-o",
            dest="reports",
            choices=FORMATS,
            repeatable=True,
            into_files=True,
            what="output format; FORMAT=FILE writes it to a file; repeatable, for several reports of one run",
        ),
        Option("--output-file", metavar="FILE", what="write the report to this file"),
        Option("--statistics", what="print how often each rule was reported instead of the findings"),
    ]


def journey_options() -> list[Option]:
    """The options that say how files become documents and are judged."""
    return [
        Option("--overlay", metavar="NAME", repeatable=True, what="apply this overlay to every job: a shipped name, or a path"),
        Option("--set", metavar="OVERLAY.NAME=VALUE", repeatable=True, what="give a parameter of an overlay a value"),
        target_option("go by this release, such as trainer=2.2, instead of the newest"),
        cluster_option(),
        Option("--skip-unknown", what="skip documents that are not manifests or of an unknown kind, and count them"),
        Option("--no-admission", dest="admission", what="skip the operators' webhooks, as on a cluster without them"),
        Option(
            "--closed-world", what="report an error, not a warning, for a runtime that is neither in the files nor shipped with the trainer"
        ),
    ]


def values_of_charts() -> list[Option]:
    """The options that give values to charts in the command line."""
    return [
        Option("--helm-set", metavar="NAME=VALUE", repeatable=True, what="a value for the charts of --helm, as helm's --set has it"),
        Option("--helm-set-file", metavar="NAME=FILE", repeatable=True, what="a value for the charts of --helm: the text of a file"),
    ]


def repository_options() -> list[Option]:
    """The options that say what becomes of files before they are applied."""
    return [
        Option("--no-build", dest="build", what="check the files of kustomizations as they are, without building them"),
        Option("--no-cache", dest="cache", what="take nothing from the cache of earlier runs, and keep nothing there"),
        Option("--helm", metavar="CHART", repeatable=True, what="check what helm renders from this chart, offline"),
        Option("--values", "-f", metavar="FILE", repeatable=True, what="a file of values for the charts of --helm"),
        *values_of_charts(),
        Option(
            "--substitute",
            metavar="NAME=VALUE",
            repeatable=True,
            what="fill in the placeholder ${NAME} as Flux does, with its defaults and functions",
        ),
        Option("--set-env", metavar="FILE", repeatable=True, what="fill in the placeholders of a file of NAME=VALUE lines"),
    ]


def judging_options(*others: Option) -> list[Option]:
    """Return the options of the commands that judge files and fix them.

    *others*: the options that one of these commands has besides.
    """
    verbose = Option("--verbose", "-v", what="say on standard error whether the result was taken from the cache, and why not")
    return [*input_options(), verbose, *repository_options(), *kind_options(), *others, *fix_options(), *choice_options()]


def outcome_option() -> Option:
    """The option that leaves the outcome of jobs out."""
    return Option("--no-outcome", dest="outcome", what="check acceptance only, not whether accepted jobs will run")


def kind_options() -> list[Option]:
    """The options that bring schemas of further kinds."""
    return [
        Option(
            "--crd",
            metavar="PATH",
            repeatable=True,
            what="check objects by the CustomResourceDefinitions in this file or folder; they win over built-in schemas",
        ),
        Option(
            "--schema-location",
            metavar="TEMPLATE",
            repeatable=True,
            what="JSON Schemas of kinds that jobspec does not know: a folder, or a path with kubeconform's {{.ResourceKind}}",
        ),
    ]


def fix_options() -> list[Option]:
    """The options that fix files."""
    return [
        Option("--fix", what="fix the files where there is a single safe fix, as for a misspelt field"),
        Option("--unsafe-fixes", what="with --fix, --fix-only or --diff: also fixes that change what runs, as an Istio label"),
        Option(
            "--fix-lists",
            choices=LIST_FIXES,
            what="with --fix: keep lists that a merge patch of kustomize replaces, by a schema (the default) or as a JSON patch",
        ),
        Option("--fix-only", what="fix the files, and report nothing else; exit with 0 also where errors are left"),
        Option("--diff", what="show what --fix would change as a diff, write nothing"),
        Option("--markdown", what="also read manifests in Markdown pages of folders; a page that is named is always read"),
    ]


def choice_options() -> list[Option]:
    """Return the options that choose the findings to report, and those to fail on."""

    def add(name: str, metavar: str, what: str, *, repeatable: bool = False) -> Option:
        return Option(name, metavar=metavar, what=what, repeatable=repeatable)

    return [
        add("--select", "RULE,...", "report only these rules or stages, and unreadable files", repeatable=True),
        add("--ignore", "RULE,...", "do not report these rules or stages", repeatable=True),
        add("--fail-on", "SEVERITY", "exit with 1 from this severity on; error by default"),
        add("--changed-since", "REF", "report only on files that changed since this Git ref, and on what depends on them"),
        add("--within", "DIR", "read all of DIR for references; report only on the given files and their dependents"),
        add("--baseline", "FILE", "report only findings that are not in this baseline, and its stale entries"),
        add("--write-baseline", "FILE", "write all findings to a baseline, and exit with 0"),
        add("--contract", "IMAGE=FILE", "check the flags of this image's program by a JSON Schema of them", repeatable=True),
    ]
