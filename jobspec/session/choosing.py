"""What the caller chose to have reported: options, the settings of the working folder, comments in files, and a baseline."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from jobspec.apis.kinds import PROJECT_FILE
from jobspec.diagnostics.diagnostic import Diagnostic
from jobspec.diagnostics.errors import JobspecError
from jobspec.diagnostics.results import PATCH, FileResult
from jobspec.diagnostics.wording import counted
from jobspec.documents.document import PAGES
from jobspec.documents.markdown import yaml_of
from jobspec.documents.reader import read
from jobspec.journey.reading import may_ignore
from jobspec.lint.catalogue import rules, stage_of
from jobspec.lint.ignores import Ignores, ReportFilter, declared, ignores, require_known, without_ignored
from jobspec.session.disk import Disk
from jobspec.session.exclusions import Patterns
from jobspec.session.folders import folders_above
from jobspec.session.found import Found, disk_of
from jobspec.session.options import Options
from jobspec.session.reading import reader
from jobspec.session.writing import write_whole

PYPROJECT = "pyproject.toml"


def settings_of(options: Options) -> ReportFilter:
    """The settings of options over those of the working folder. Raises JobspecError for names that there are not."""
    given = ReportFilter(
        select=_split_names(options.select) if options.select else None,
        ignore=_split_names(options.ignore),
        fail_on=options.fail_on or None,
        baseline=options.baseline,
        contracts=dict(map(_contract, options.contract)),
    )
    require_known(given, rules())
    data, where = _in_folder(options.disk)
    settings = given.over(data)
    require_known(settings, rules(), where)
    return settings


def _split_names(given: Sequence[str]) -> list[str]:
    return [name.strip() for each in given for name in each.split(",") if name.strip()]


def _contract(text: str) -> tuple[str, str]:
    image, _, path = text.partition("=")
    if not image or not path:
        raise JobspecError(f"--contract {text}: write IMAGE=FILE, such as ghcr.io/example/train=contract.json")
    return image, path


def _in_folder(disk: Disk) -> tuple[Mapping[str, Any], str]:
    """The settings of the nearest file that declares any: in the working folder, or in one above it in the repository."""
    for folder in (".", *folders_above(os.curdir, disk.root)):
        for name, find in ((PROJECT_FILE, _of_project), (PYPROJECT, _of_python)):
            path = os.path.normpath(os.path.join(folder, name))
            if os.path.isfile(path):
                data = find(disk.read(path))
                if data is not None:
                    return _from_here(declared(data, path), folder), path
    return {}, ""


def _from_here(settings: Mapping[str, Any], folder: str) -> Mapping[str, Any]:
    """Settings with paths from the working folder; a file gives them from its own."""
    if settings.get("exclude"):
        settings = {**settings, "exclude": [Patterns(folder, settings["exclude"])]}
    if folder == ".":
        return settings
    baseline, contracts = settings.get("baseline"), settings.get("contracts") or {}
    placed = {image: os.path.join(folder, path) if path.endswith(".json") else path for image, path in contracts.items()}
    return {**settings, "contracts": placed, **({"baseline": os.path.join(folder, baseline)} if baseline else {})}


def _of_project(content: bytes) -> Any:
    documents, _ = read(content.decode(errors="replace"), file=PROJECT_FILE)
    data = documents[0].data if documents else None
    spec = data.get("spec") if isinstance(data, dict) and str(data.get("apiVersion")).startswith("jobspec.dev/") else None
    return spec.get("checks") if isinstance(spec, dict) else None


def _of_python(content: bytes) -> Any:
    """The table `tool.jobspec`, whose names may have dashes."""
    import tomllib

    try:
        table = tomllib.loads(content.decode()).get("tool", {}).get("jobspec")
    except ValueError as error:
        raise JobspecError(f"{PYPROJECT}: {error}") from None
    return {_camel(key): value for key, value in table.items()} if isinstance(table, dict) else table


def _camel(name: str) -> str:
    first, *others = name.replace("_", "-").split("-")
    return first + "".join(each.capitalize() for each in others)


def verdict_of(
    results: Sequence[FileResult],
    settings: ReportFilter | None,
    found: Sequence[Found],
    options: Options,
    *,
    marked: Collection[str],
    read: Mapping[str, Sequence[Found]],
    lint: bool,
) -> tuple[list[FileResult], bool]:
    """The results that are reported, and whether they fail.

    *marked*: the files with comments for jobspec; *read*: by project, the files that it was read from; *lint*: whether lint was asked.
    """
    settings = settings or ReportFilter()
    unasked = [*([] if options.outcome else ["outcome"]), *([] if lint else ["lint"])]
    asked = frozenset(name for name in rules() if (stage := stage_of(name)) not in unasked and settings.reports(name, stage))
    text = reader(found)
    named = _named_by_projects(read, results)
    ignored = {path: _ignores(text(path), path) for path in (*marked, *named)}
    patches = {each.path for each in results if any(row.reason == PATCH for row in each.documents)}
    homes = {path: path for path in marked if path not in patches} | (named if lint else {})  # builds of patches may not be judged
    reported = without_ignored(results, ignored, homes, rules(), asked) if ignored else results
    reported = [each.with_only(settings.selected(each.diagnostics)) for each in reported]
    if options.write_baseline is not None:
        from jobspec.lint.ignores import written

        write_whole(options.write_baseline, written(reported, _placed(options.write_baseline), options.paths or [os.curdir]))
        number = sum(len(each.diagnostics) for each in reported)
        sys.stderr.write(f"jobspec: {counted(number, 'finding')} written to {options.write_baseline}\n")
        return reported, False
    if settings.baseline:
        reported = _beyond_baseline(reported, settings.baseline, asked, options)
    return reported, settings.fails(reported)


def wanted(diagnostics: Sequence[Diagnostic], path: str, text: str, settings: ReportFilter | None) -> list[Diagnostic]:
    """What of a file's diagnostics neither settings nor the comments in its text ignore."""
    reported = settings.selected(diagnostics) if settings else list(diagnostics)
    if not reported or not may_ignore(text.encode(errors="replace")):
        return reported
    ignored = _ignores(text, path)
    return [each for each in reported if not ignored.of(each, path)]


def _named_by_projects(read: Mapping[str, Sequence[Found]], results: Sequence[FileResult]) -> dict[str, str]:
    """The files with comments for jobspec that projects name, each with the first such project, but for those with results of their own."""
    own = {os.path.normpath(each.path) for each in results}
    named = {each.path: project for project, files in list(read.items())[::-1] for each in files}
    disk = disk_of(each for files in read.values() for each in files)
    return {path: project for path, project in named.items() if path not in own and disk.mentions(path, b"jobspec", b"Jobspec", b"JOBSPEC")}


def _ignores(text: str, path: str) -> Ignores:
    return ignores(yaml_of(text) if path.endswith(PAGES) else text, path)


def _placed(baseline: str) -> Callable[[str], str]:
    """A file's path as a baseline names it: from the baseline's folder, with `/`."""
    folder = os.path.dirname(os.path.abspath(baseline))
    return lambda path: os.path.relpath(os.path.abspath(path), folder).replace(os.sep, "/")


def _covers(given: Sequence[str], paths: Sequence[str]) -> bool:
    """Whether all of some paths that exist are among those that are given, or in folders among these."""
    around = [os.path.abspath(each) for each in given]
    wanted = [os.path.abspath(each) for each in paths if os.path.exists(each)]
    return all(any(each == one or each.startswith(os.path.join(one, "")) for one in around) for each in wanted)


def _beyond_baseline(results: Sequence[FileResult], path: str, asked: frozenset[str], options: Options) -> list[FileResult]:
    """The results without what a baseline has, and with its stale entries if all is given that the baseline is of."""
    from jobspec.lint.ignores import read_baseline as known_in
    from jobspec.lint.ignores import stale_entries, without_known

    try:
        with open(path, encoding="utf-8", errors="surrogateescape") as file:  # names of files need not be UTF-8
            text = file.read()
    except OSError as error:
        raise JobspecError(f"{path}: {error.strerror}; --write-baseline {path} writes one") from None
    placed, folder, known = _placed(path), os.path.dirname(os.path.abspath(path)), rules()
    valid = {placed(each.path): each.valid for each in results}

    def looked_at(file: str, rule: str) -> bool:
        """Whether a rule was checked in a file: lint and outcomes are not where it has an error; a removed file breaks no rule."""
        if file not in valid:
            return not os.path.exists(os.path.join(folder, file))
        return rule not in known or (rule in asked and (valid[file] or stage_of(rule) not in ("lint", "outcome")))

    entries, paths = known_in(text, path)
    left, stale = without_known(results, entries, placed, looked_at=looked_at)
    is_changed_part = options.changed_since is not None or options.within is not None
    is_part = is_changed_part or not _covers(options.paths or [os.curdir], [os.path.join(folder, each) for each in paths])
    is_part = is_part or any(file not in valid and os.path.exists(os.path.join(folder, file)) for file, *_ in entries)
    stale_ones = [] if is_part else list(stale_entries(stale, path, text))  # what needs the other files is not found in a part of them
    return [*left, FileResult(path, [], stale_ones)] if stale_ones else left
