"""Suppressing findings: comments that ignore, settings of the checks, and a baseline of known findings."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from json import dumps, loads
from typing import Any

from jobspec.apis.releases import complete
from jobspec.diagnostics.diagnostic import SEVERITIES, Diagnostic
from jobspec.diagnostics.errors import JobspecError
from jobspec.diagnostics.explanations import DECODING, RENAMED
from jobspec.diagnostics.grouping import grouped
from jobspec.diagnostics.places import Mark, spell
from jobspec.diagnostics.results import FileResult
from jobspec.diagnostics.rules import UNJUDGED
from jobspec.documents.comments import Comment, placed_comments
from jobspec.documents.document import Document
from jobspec.documents.reader import read
from jobspec.kubernetes.problems import closest
from jobspec.schemas.shapes import part

#: A comment that ignores rules, in any case; without rules in brackets, it is reported.
_COMMENT = re.compile(
    r"#\s*jobspec(?:\s*:\s*ignore(?:\s*\[(?P<rules>[^\]]*)\])?|[\s:_-]+(?:ignor|disabl|no-?qa|skip|suppress|allow|exclud)\w*\s*(?:[\[(:=]|$))",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Ignore:
    """One rule that a comment ignores, and where."""

    rule: str
    """Empty where the comment names none."""
    mark: Mark
    _: KW_ONLY
    line: int | None = None
    """The line that it is about; None where that is a whole document."""
    document: int | None = None
    """The index of that document."""
    former: str = ""
    """The name that the comment has, where the rule has another one now."""


class Ignores:
    """The findings that comments of a file ignore."""

    __slots__ = ("_by_document", "_by_line", "_file", "_indices", "_starts", "each")

    def __init__(self, file: str, each: Sequence[Ignore], documents: Sequence[Document]) -> None:
        self._file = file
        self.each = each
        self._starts = [document.marks.mark.line for document in documents]
        self._indices = [document.index for document in documents]
        self._by_line = grouped((one for one in each if one.line is not None), lambda one: (one.rule, one.line))
        self._by_document = grouped((one for one in each if one.line is None), lambda one: (one.rule, one.document))

    def of(self, diagnostic: Diagnostic, path: str) -> list[Ignore]:
        """The comments that are about a diagnostic of the result of a file: this one, or a project that names it."""
        rule, mark = diagnostic.rule, diagnostic.mark
        if diagnostic.stage == "decoding":
            return []
        is_here = mark.file == self._file
        lines = range(mark.line, mark.end_line + 1) if is_here and self._by_line else ()
        found = [one for line in lines for one in self._by_line.get((rule, line), ())]
        document = diagnostic.document if path == self._file else self._document_at(mark.line) if is_here else None
        return [*found, *(self._by_document.get((rule, document), ()) if path == self._file or is_here else ())]

    def _document_at(self, line: int) -> int | None:
        at = bisect_right(self._starts, line)
        return self._indices[at - 1] if at else None


def ignores(text: str, file: str) -> Ignores:
    """The findings that comments of a file ignore."""
    found = [(comment, match) for comment in placed_comments(text) if (match := _COMMENT.search(comment.text))]
    documents = read(text, file=file)[0] if found else []
    lines, starts = text.split("\n"), [each.marks.mark.line for each in documents]
    return Ignores(file, [each for comment, match in found for each in _of(comment, match, lines, documents, starts, file)], documents)


def _of(
    comment: Comment, match: re.Match[str], lines: Sequence[str], documents: Sequence[Document], starts: Sequence[int], file: str
) -> Iterator[Ignore]:
    mark = Mark(file, comment.line, comment.column, comment.line, comment.column + len(comment.text))
    names = [each.strip().lower() for each in (match["rules"] or "").split(",")]
    is_alone = not lines[comment.line - 1].removeprefix("\ufeff")[: comment.column - 1].strip()
    for name in names:
        rule, former = RENAMED.get(name, name), name if name in RENAMED else ""
        if is_alone and comment.first_of_document:
            at = bisect_left(starts, comment.line)
            yield Ignore(rule, mark, document=documents[at].index if at < len(documents) else None, former=former)
        else:
            yield Ignore(rule, mark, line=_next_line(lines, comment.line) if is_alone else comment.line, former=former)


def _next_line(lines: Sequence[str], line: int) -> int:
    """The first line behind one that has more than a comment."""
    for number in range(line, len(lines)):
        if lines[number].strip() and not lines[number].lstrip().startswith("#"):
            return number + 1
    return line


def without_ignored(
    results: Sequence[FileResult], ignored: Mapping[str, Ignores], homes: Mapping[str, str], known: Container[str], asked: Container[str]
) -> list[FileResult]:
    """The results without what the comments of files ignore, each counted.

    A comment that hits nothing is a diagnostic itself, unless its rule was not *asked* for, or an error kept it from being looked at. It
    is reported in the result that *homes* says for its file: the file's own, or that of a project which names the file.
    """
    hit: set[int] = set()
    kept = [_not_ignored(each, ignored, hit) for each in results]
    errors = [(result.path, each.mark.file) for result in results for each in result.diagnostics if each.severity == "error"]
    faulty = {place for places in errors for place in places}
    unused: dict[str, list[Diagnostic]] = {}
    for file, home in homes.items():
        asked_here = () if file in faulty or home in faulty else asked
        idle = [each for each in ignored[file].each if id(each) not in hit]
        unhit = [each for each in idle if each.rule not in known or each.rule in DECODING or each.rule in asked_here]
        unused.setdefault(home, []).extend(_unused(each, known) for each in unhit)
        unused[home] += [_renamed(each) for each in ignored[file].each if each.former]
    return [
        result.with_only([*left, *unused.pop(result.path, ())], ignored=len(result.diagnostics) - len(left))
        for result, left in zip(results, kept, strict=True)
    ]


def _not_ignored(result: FileResult, ignored: Mapping[str, Ignores], hit: set[int]) -> list[Diagnostic]:
    """The diagnostics of a result that no comment ignores; *hit* gets the comments that ignore one."""
    kept = []
    for each in result.diagnostics:
        places = [place for place in dict.fromkeys((result.path, each.mark.file)) if place in ignored]
        found = [one for place in places for one in ignored[place].of(each, result.path)]
        hit.update(map(id, found))
        if not found:
            kept.append(each)
    return kept


def _renamed(ignore: Ignore) -> Diagnostic:
    message = f"the rule `{ignore.former}` is now named `{ignore.rule}`"
    return Diagnostic("renamed-rule", message, ignore.mark, document=ignore.document, severity="info", hint=f"write `{ignore.rule}`")


def _unused(ignore: Ignore, known: Container[str]) -> Diagnostic:
    if not ignore.rule:
        message, hint = "the comment names no rule in brackets, and ignores nothing", "write `# jobspec: ignore[rule] reason`"
    elif ignore.rule not in known:
        message, hint = f"unknown rule `{ignore.rule}`", "the rule is in brackets behind its message"
    elif ignore.rule in DECODING:
        message, hint = f"`{ignore.rule}` cannot be ignored: the file cannot be read", ""
    else:
        message, hint = f"unused: nothing here breaks the rule `{ignore.rule}`", "remove the comment"
    return Diagnostic("unused-ignore", message, ignore.mark, document=ignore.document, severity="warning", hint=hint)


# Settings of the checks: which rules are reported, what fails, the baseline, the contracts of images, and pods of other kinds.
STAGES = ("schema", "admission", "render", "outcome", "lint")


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportFilter:
    """The choice of findings, by options or in a file, by present or former names of rules."""

    select: Sequence[str] | None = None
    """Names of rules and stages; empty for all. None here, or as `fail_on`, means that nothing is said."""
    ignore: Sequence[str] = ()
    fail_on: str | None = None
    """The mildest severity that fails; errors alone where nothing is said."""
    baseline: str | None = None
    """The path of the baseline; empty where there is none."""
    contracts: Mapping[str, str] = field(default_factory=dict)
    """Image -> path of the JSON Schema of its flags."""
    pods: Mapping[str, Sequence[Mapping[str, Any]]] = field(default_factory=dict)
    """Kind with its group -> where its objects have pod templates."""
    exclude: Sequence[Any] = ()
    """Patterns of files that are left out of folders, with the folder that they begin at."""

    def __post_init__(self) -> None:
        """Rules have their present names."""
        object.__setattr__(self, "select", self.select and [RENAMED.get(each, each) for each in self.select])
        object.__setattr__(self, "ignore", [RENAMED.get(each, each) for each in self.ignore])

    def over(self, data: Mapping[str, Any]) -> ReportFilter:
        """These settings, from options, over those of a file: options win, but ignored rules and contracts are added to the file's."""
        return ReportFilter(
            select=data.get("select") if self.select is None else self.select,
            ignore=[*(data.get("ignore") or ()), *self.ignore],
            fail_on=data.get("failOn") if self.fail_on is None else self.fail_on,
            baseline=data.get("baseline") if self.baseline is None else self.baseline,
            contracts={**(data.get("contracts") or {}), **self.contracts},
            pods=data.get("pods") or {},
            exclude=data.get("exclude") or (),
        )

    def reports(self, rule: str, stage: str) -> bool:
        """Whether a rule's diagnostics are reported; those of unreadable files always are."""
        names = {rule, stage}
        is_unreadable = stage == "decoding" and rule != UNJUDGED
        return is_unreadable or ((not self.select or not names.isdisjoint(self.select)) and names.isdisjoint(self.ignore))

    def selected(self, diagnostics: Iterable[Diagnostic]) -> list[Diagnostic]:
        """The diagnostics of the rules that are reported."""
        return [each for each in diagnostics if self.reports(each.rule, each.stage)]

    def fails(self, results: Iterable[FileResult]) -> bool:
        """Whether reported diagnostics make the run fail."""
        enough = SEVERITIES[: SEVERITIES.index(self.fail_on or SEVERITIES[0]) + 1]
        return any(each.severity in enough for result in results for each in result.diagnostics)


def require_known(settings: ReportFilter, rules: Iterable[str], where: str = "") -> None:
    """Raise JobspecError for names of no rule or stage, and for an unknown severity.

    *where*: the file, if not options.
    """
    known = [*rules, *STAGES]
    wrong = [name for name in (*(settings.select or ()), *settings.ignore) if name not in known]
    problems = [
        f"{where or '--select or --ignore'}: unknown rule `{name}`; {closest(name, known) or '`jobspec explain` lists all rules'}"
        for name in wrong
    ]
    if settings.fail_on and settings.fail_on not in SEVERITIES:
        hint = closest(settings.fail_on, SEVERITIES) or f"the severities are {', '.join(SEVERITIES)}"
        problems.append(f"{where or '--fail-on'}: unknown severity `{settings.fail_on}`; {hint}")
    if problems:
        raise JobspecError("\n".join(problems))


def declared(data: Any, where: str) -> Mapping[str, Any]:
    """Return the settings of a file. Raises JobspecError with all mistakes in them."""
    from jobspec.kubernetes.structural import schema_problems_at

    shape = part("jobspec.dev/v1alpha1", "Project", complete({}), ("spec", "checks"))
    wrong = [f"{where}: {spell(each.path)}: {each.message}" for each in schema_problems_at(data, shape, ())]
    if wrong:
        raise JobspecError("\n".join(wrong))
    return data if isinstance(data, dict) else {}


# A baseline: the diagnostics that a repository begins with, kept in a file and not reported again.


#: File, object, rule and field of a diagnostic: not its line, which changes with every edit above it.
Known = tuple[str, str, str, str]
_FIELDS = ("file", "object", "rule", "field")


def written(results: Sequence[FileResult], place: Callable[[str], str], paths: Iterable[str]) -> str:
    """Write a baseline of results. *place* gives the path of a file in the baseline.

    *paths*: the files and folders that were given. A baseline holds all that is reported, also what cannot be read.
    """
    pairs = (pair for result in results for pair in zip(result.diagnostics, _baseline_keys(result, place), strict=True))
    known = Counter(key for _, key in pairs)
    lines = [dumps(dict(zip(_FIELDS, key, strict=True)) | {"times": known[key]}, ensure_ascii=False) for key in sorted(known)]
    inside = ",\n  ".join(lines)
    given = dumps(sorted(map(place, paths)), ensure_ascii=False)
    return f'{{"known": [\n  {inside}\n], "paths": {given}}}\n' if lines else f'{{"known": [], "paths": {given}}}\n'


def read_baseline(text: str, path: str) -> tuple[Counter[Known], list[str]]:
    """Read the entries of a baseline, its files and its folders.

    Raises JobspecError for a file that is no baseline.
    """
    known: Counter[Known] = Counter()
    try:
        data = loads(text)
        paths = list(map(str, data.get("paths", ())))
        for entry in data["known"]:
            file, of, rule, spelt = (str(entry[name]) for name in _FIELDS)
            known[file, of, RENAMED.get(rule, rule), spelt] += int(entry["times"])
    except (ValueError, KeyError, TypeError, AttributeError):
        raise JobspecError(f"{path}: this is not a baseline; --write-baseline writes one") from None
    return known, paths


def without_known(
    results: Iterable[FileResult], known: Counter[Known], place: Callable[[str], str], *, looked_at: Callable[[str, str], bool]
) -> tuple[list[FileResult], list[Known]]:
    """Drop the findings that a baseline knows, and return its stale entries.

    *looked_at* says whether a rule was looked at in a file of the baseline.
    """
    left = Counter(known)
    kept = [_without_known(each, left, place) for each in results]
    return kept, sorted(key for key, times in left.items() if times > 0 and looked_at(key[0], key[2]))


def stale_entries(stale: Iterable[Known], baseline: str, text: str) -> Iterator[Diagnostic]:
    """A warning about each stale entry of a baseline, at its line."""
    lines = text.split("\n")
    for key in stale:
        file, _, rule, path = key
        parts = [f'"{name}": {dumps(value, ensure_ascii=False)}' for name, value in zip(_FIELDS, key, strict=True)]
        line = next((number for number, each in enumerate(lines, 1) if all(part in each for part in parts)), 0)
        message = f"`{rule}` is not broken as often in {file} any more{f', {path}' if path else ''}"
        yield Diagnostic("stale-baseline", message, Mark(baseline, line, 1), severity="warning", hint="write the baseline again")


def _without_known(result: FileResult, left: Counter[Known], place: Callable[[str], str]) -> FileResult:
    kept = []
    for each, key in zip(result.diagnostics, _baseline_keys(result, place), strict=True):
        if left[key] > 0:
            left[key] -= 1
        else:
            kept.append(each)
    return result.with_only(kept)


def _baseline_keys(result: FileResult, place: Callable[[str], str]) -> Iterator[Known]:
    named = {each.index: f"{each.kind}/{each.name}" for each in result.documents}
    for each in result.diagnostics:
        index = each.document
        yield place(each.mark.file), named.get(index, "") if index is not None else "", each.rule, each.field
