"""Options that several commands have, and the values of them."""

from __future__ import annotations

from jobspec.arguments import Option

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import ArgumentParser
    from typing import Any

    from jobspec.arguments import Options
    from jobspec.choice.settings import Settings
    from jobspec.commands.inputs import Inputs


def add_paths(parser: ArgumentParser, *, number: str = "+") -> ArgumentParser:
    """Declare the paths of manifests, and give the parser back."""
    what = "a file, a folder of *.yaml, *.yml and *.json files, or - for standard input"
    parser.add_argument("paths", nargs=number, metavar="PATH", help=what)
    return parser


def target_option(what: str) -> Option:
    """The option that chooses a release; *what* is its help."""
    return Option("--target", metavar="OPERATOR=RELEASE", repeatable=True, what=what)


def input_options() -> list[Option]:
    """The options that say how files are judged and reported."""
    from jobspec.reports.formats import FORMATS

    return [
        *journey_options(),
        Option("--output", "-o", choices=FORMATS, what="the format of the report"),
        Option("--output-file", metavar="FILE", what="write the report into a file, whole or not at all"),
    ]


def journey_options() -> list[Option]:
    """The options that say how files become documents and are judged."""
    return [
        Option("--overlay", metavar="NAME", repeatable=True, what="apply this overlay to every job: a shipped name, or a path; repeatable"),
        Option("--set", metavar="OVERLAY.NAME=VALUE", repeatable=True, what="give a parameter of an overlay a value; repeatable"),
        target_option("judge by this release, not by the newest; repeatable"),
        Option("--skip-unknown", what="skip documents that are no manifest or of an unknown kind, and count them"),
        Option("--no-admission", dest="admission", what="skip the operators' webhooks, as on a cluster without them"),
        Option(
            "--closed-world",
            what="report an error, not a warning, for a runtime that is in none of the files and not shipped with the trainer",
        ),
    ]


def kind_options() -> list[Option]:
    """The options that bring schemas of further kinds."""
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


def fix_options() -> list[Option]:
    """The options that have files mended."""
    return [
        Option("--fix", what="first mend in the files what has one certain remedy, such as a misspelt field"),
        Option("--diff", what="show what --fix would change, and write nothing"),
        Option("--markdown", what="read the manifests in Markdown pages of folders, too; in a page that is named they always are"),
    ]


def choice_options() -> list[Option]:
    """The options that choose which findings are reported, and which of them fail."""

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


def inputs_of(options: Options) -> Inputs:
    """What a command is about, by those of these options that it has."""
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


def settings_of(options: Options) -> Settings | None:
    """What the caller chose to be told; None where neither an option nor a file of the working folder says anything of it."""
    from jobspec.commands.files import mentions

    given = (options.select, options.ignore, options.fail_on, options.baseline, options.contract)
    in_toml = mentions("pyproject.toml", b"tool.jobspec") or (
        mentions("pyproject.toml", b"[tool]") and mentions("pyproject.toml", b"jobspec")
    )
    if not any(given) and not mentions("jobspec.yaml", b"checks:") and not in_toml:
        return None
    from jobspec.commands import choosing

    return choosing.settings_of(*given)
