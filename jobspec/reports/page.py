"""A page for the reviewer: one HTML file with all variants or jobs, what is found in them, where values come from, and what a change does.

The file needs nothing else: style and script stand in it, and its policy lets nothing else run. Without JavaScript it shows everything.
"""

from __future__ import annotations

from base64 import b64encode
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from functools import cache
from hashlib import sha256
from html import escape
from os.path import normpath
from typing import Any

from jobspec.apis.shipped import package_text
from jobspec.diagnostics.diagnostic import SEVERITIES, Diagnostic, Reasons
from jobspec.diagnostics.grouping import gathered
from jobspec.diagnostics.places import Mark, Marks
from jobspec.diagnostics.results import FileResult, by_cause_of_all
from jobspec.diagnostics.wording import counted, severity_counts, shortened
from jobspec.documents.document import PAGES
from jobspec.documents.markdown import yaml_of
from jobspec.documents.reader import read as read_documents
from jobspec.lint.catalogue import rules
from jobspec.project.blame import Blamed, Origin
from jobspec.project.capacity import Capacity, Cost, PriceList, cost_of
from jobspec.project.comparison import SECRET_PARTS, VariantChange
from jobspec.project.effects import Meaning, ObjectChange
from jobspec.reports import diff
from jobspec.reports.blame import line_of
from jobspec.reports.diff import NONE, WORDS, ComparisonView, duration, spelt
from jobspec.reports.places import layer_of
from jobspec.reports.printable import clean
from jobspec.reports.topology import JOB_NAME, WIDTH, JobTopology, drawing, sentence

TYPE_CHECKING = False
if TYPE_CHECKING:
    from jobspec.reports.text import ReadText

_FEW = 30  # rows that are printed with all about them; of more, all that is made when a row is opened
_MASK = "•••"


@dataclass(frozen=True, slots=True)
class ObjectText:
    """The text of an object, and the origin of each line's value."""

    name: str
    lines: Sequence[str]
    places: Sequence[str]
    """Layer, file and line of each line's value; empty for a line without one."""
    notes: Sequence[str]
    """What the values are made of, and what they overrode."""


@dataclass(frozen=True, slots=True)
class PageRow:
    """A variant of a project, or a job in a file."""

    name: str
    kind: str
    object_name: str
    namespace: str
    written: Sequence[str]
    """Where it is written: its file or base, and its overlays."""
    capacity: Capacity | None
    """None where it has an error."""
    topology: JobTopology | None
    pods: str
    """What runs in its containers, as text."""
    objects: Sequence[ObjectText]
    findings: Sequence[Diagnostic]


@dataclass(frozen=True, slots=True)
class ReportPage:
    """The content of a page."""

    title: str
    rows: Sequence[PageRow]
    results: Sequence[FileResult]
    """All that is reported, of rows and of other files."""
    _: KW_ONLY
    noun: str
    """What a row is: `variant` or `job`."""
    releases: Mapping[str, str]
    prices: PriceList | None
    view: ComparisonView | None
    """What changes, where that was asked for and can be said."""
    obstacle: str = ""
    """Why nobody can say what changes; empty where it was not asked, or is said."""


def page_report(page: ReportPage, read: ReadText) -> str:
    """Write the whole page. *read* returns the text of a file."""
    sources = _Sources(read)
    groups = _groups(page.view)
    whole = _Whole(
        page, sources, _Findings(page.results, sources), {each.name: (group, each) for group in groups for each in group.changes}, {}
    )
    table = _table(whole)
    parts = [
        _header(whole),
        '<main id="main">',
        _changes(page.view, groups) if page.view else "",
        f'<section id="changes"><h2>Changes</h2><p class="note">{_prose(page.obstacle)}</p></section>' if page.obstacle else "",
        _found(whole),
        table,
        "</main>",
        f"<footer><p>{_html(diff.by_rules_of(page.releases))}</p></footer>",
        _symbols(whole.drawings),
    ]
    return _document(page.title, "".join(parts), with_details=len(page.rows) <= _FEW)


def page_summary(page: ReportPage) -> str:
    """Write the page in a line: its rows, the findings, the changes."""
    counts = [counted(len(page.rows), page.noun)]
    found = [each for result in by_cause_of_all(page.results, for_people=True) for each in result.diagnostics]
    counts += [severity_counts(found)] if found else []
    if page.view:
        counts.append(f"{len(page.view.comparison.variants)} changed against {page.view.ref} ({page.view.commit[:8]})")
    return ", ".join(counts)


@dataclass(frozen=True, slots=True)
class _Whole:
    """A page with what its parts share."""

    page: ReportPage
    sources: _Sources
    findings: _Findings
    changes: Mapping[str, tuple[_Group, VariantChange]]
    """By name, the change of a row and those that change alike."""
    drawings: dict[str, str]
    """The shapes of drawings, each with its name."""


def change_report(view: ComparisonView) -> str:
    """Write a page of a change alone."""
    head = '<header class="top"><p class="brand">jobspec diff</p></header>'
    foot = f"<footer><p>{_html(diff.by_rules_of(view.releases))}</p></footer>"
    return _document(_against(view), f'{head}<main id="main">{_changes(view, _groups(view), heading="h1")}</main>{foot}')


# The frame: a policy that lets this style and this script alone be used, and the summary at the top.


def _document(title: str, body: str, *, with_details: bool = True) -> str:
    """An HTML document. *with_details*: when it is printed, all about each row is, too."""
    style, script = (package_text("reports", name) for name in ("page.css", "page.js"))
    policy = f"default-src 'none'; style-src '{_hash(style)}'; script-src '{_hash(script)}'; base-uri 'none'; form-action 'none'"
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n<meta name="color-scheme" content="light dark">\n'
        f"<title>{_html(title)}</title>\n<style>{style}</style>\n<script>{script}</script>\n</head>\n"
        f"<body{' class=few' * with_details}>\n"
        f'<a class="skip" href="#main">Skip to the content</a>\n{body}\n</body>\n</html>\n'
    )


def _hash(content: str) -> str:
    return f"sha256-{b64encode(sha256(content.encode()).digest()).decode()}"


def _html(text: str) -> str:
    """A text in one line that is safe anywhere in HTML."""
    return escape(clean(text))


def _at(mark: Mark) -> str:
    """A place, as the report says it."""
    return str(mark).removeprefix("./")


def _prose(text: str) -> str:
    """A sentence, in which what stands between backquotes is code."""
    parts = _html(text).split("`")
    if len(parts) % 2 == 0:
        return "`".join(parts)
    return "".join(f"<code>{each}</code>" if at % 2 else each for at, each in enumerate(parts))


def _lines_of_pre(lines: Iterable[str]) -> str:
    """Lines of a text for a `<pre>`."""
    return "\n".join(map(_html, lines))


def _scroll(label: str, inside: str, kind: str = "") -> str:
    """A part that scrolls sideways where it is wider than the page, with the keyboard, too."""
    return f'<div class="scroll{kind}" tabindex="0" role="group" aria-label="{_html(label)}">{inside}</div>'


def _header(whole: _Whole) -> str:
    page, findings = whole.page, whole.findings
    numbers = [(counted(len(page.rows), page.noun).partition(" ")[2], f"{len(page.rows):,}")]
    sizes = [each.capacity for each in page.rows if each.capacity]
    numbers += [("pods", f"{sum(each.number for each in sizes):,}"), ("GPUs", f"{sum(each.gpus for each in sizes):,}")]
    if page.prices:
        costs = [cost_of(each, page.prices).amount for each in sizes]
        known = [each for each in costs if each is not None]
        unknown = f", {len(costs) - len(known)} unknown" if len(known) < len(costs) else ""
        numbers.append((f"{page.prices.currency} at most{unknown}", f"{sum(known):,.2f}"))
    stats = "".join(f"<div><dd>{_html(value)}</dd><dt>{_html(name)}</dt></div>" for name, value in numbers)
    for severity in SEVERITIES:
        number = sum(each[0].severity == severity for each in findings.all)
        if number:
            stats += f'<div class="{severity}"><dd>{number:,}</dd><dt>{counted(number, severity).partition(" ")[2]}</dt></div>'
    links = [("changes", "Changes", len(whole.changes))] if page.view or page.obstacle else []
    links += [("findings", "Findings", len(findings.all)), ("rows", f"{page.noun.capitalize()}s", len(page.rows))]
    nav = "".join(f'<a href="#{name}">{title} <span class="count">{number:,}</span></a>' for name, title, number in links)
    return (
        f'<header class="top"><p class="brand">jobspec report</p><h1>{_html(page.title)}</h1>'
        f'<dl class="stats">{stats}</dl></header><nav aria-label="Sections">{nav}</nav>'
    )


# What changes: the table of variants that differ, then their fields, those that change alike once.


@dataclass(frozen=True, slots=True)
class _Group:
    """Variants that change alike, and the anchor of what is said of them."""

    anchor: str
    changes: Sequence[VariantChange]


def _groups(view: ComparisonView | None) -> list[_Group]:
    found = diff.alike(view.comparison.variants) if view else []
    return [_Group(f"change-{number}", each) for number, each in enumerate(found, 1)]


def _against(view: ComparisonView) -> str:
    return f"Changes against {view.ref} ({view.commit[:8]})"


def _changes(view: ComparisonView, groups: Sequence[_Group], *, heading: str = "h2") -> str:
    title = f"<{heading}>{_html(_against(view))}</{heading}>"
    head = f'<section id="changes">{title}<p class="lead">{_html(_sentence(diff.headline(view)))}</p>'
    if diff.table(view):
        names = diff.header(view)
        cells = "".join(f'<th scope="col"{_class_of_number(at)}>{_html(each)}</th>' for at, each in enumerate(names))
        rows = "".join(_change_row(variants, cells, names[2:]) for variants, cells in diff.table(view))
        last = diff.totals(view)
        foot = "".join(f'<td{_class_of_number(at)} data-of="{_html(names[at])}">{_html(each)}</td>' for at, each in enumerate(last) if at)
        foot = f'<tfoot><tr><th scope="row">{_html(last[0])}</th>{foot}</tr></tfoot>' if last else ""
        head += _scroll(
            "Variants that change" if view.comparison.noun == "variant" else "Jobs that change",
            f'<table class="effects"><thead><tr>{cells}</tr></thead><tbody>{rows}</tbody>{foot}</table>',
        )
    notes = "".join(f"<li>{_prose(each)}</li>" for each in diff.notes(view))
    head += f'<ul class="notes">{notes}</ul>' if notes else ""
    is_open = len(groups) <= _OPEN
    return head + "".join(_group(each, is_open=is_open) for each in groups) + "</section>"


def _sentence(text: str) -> str:
    """Write a sentence, which begins with a capital letter unless it begins with a field such as `spec.template`."""
    first = text.partition(" ")[0]
    is_field = "." in first or "[" in first
    return f"{text if is_field else text[:1].upper() + text[1:]}."


def _class_of_number(column: int) -> str:
    """The class of a column with numbers."""
    return ' class="number"' if column > 1 else ""


def _change_row(variants: Sequence[str], cells: Sequence[str], numbers: Sequence[str]) -> str:
    """Write a row of the table of changes. *numbers*: the names of the columns with numbers."""
    first, *others = cells
    meaning = next(each for each, words in WORDS.items() if first.startswith(words))
    return (
        f'<tr><th scope="row">{_html(shortened(variants))}</th><td><span class="tag {meaning}">{_html(first)}</span></td>'
        + "".join(f'<td class="number" data-of="{_html(name)}">{_arrow(each)}</td>' for name, each in zip(numbers, others, strict=True))
        + "</tr>"
    )


def _arrow(cell: str) -> str:
    """A cell with the old value, if there is one, and the new one."""
    before, arrow, after = cell.partition(" → ")
    return f'<del>{_html(before)}</del> <span aria-label="becomes">→</span> <ins>{_html(after)}</ins>' if arrow else _html(cell)


def _group(group: _Group, *, is_open: bool) -> str:
    first = group.changes[0]
    number = sum(len(diff.rows(each)) for each in first.objects)
    fields = f" · {counted(number, 'field')}" if number else ""
    names = ", ".join(each.name for each in group.changes) if len(group.changes) <= 12 else shortened([each.name for each in group.changes])
    inside = "".join(_object_html([each.objects[at] for each in group.changes], first.meaning) for at in range(len(first.objects)))
    return (
        f'<details class="group" id="{group.anchor}"{" open" * is_open}><summary><b>{_html(names)}</b> '
        f'<span class="tag {first.meaning}">{WORDS[first.meaning]}</span><span class="dim">{fields}</span></summary>'
        f'<div class="body">{inside}</div></details>'
    )


def _object_html(changes: Sequence[ObjectChange], shown_above: Meaning) -> str:
    """Write the change of an object, for variants that change alike.

    *shown_above*: the effect that the heading shows.
    """
    first = changes[0]
    tag = f'<span class="tag {first.meaning}">{WORDS[first.meaning]}</span> ' if first.meaning != shown_above else ""
    found = diff.rows(first)
    notes = "".join(f'<p class="note">{_prose(_sentence(each))}</p>' for each in first.notes)
    body = "".join(_field_html(each, first.meaning) for each in found)
    heads = "".join(f'<th scope="col">{each}</th>' for each in ("field", "before", "after", "file and line"))
    table = f'<table class="fields"><thead><tr>{heads}</tr></thead><tbody>{body}</tbody></table>'
    table = _scroll("Changed fields", table) if body else ""
    return f"<p>{tag}{_html(diff.names_of(changes))}</p>{notes}{table}"


def _field_html(row: diff.FieldRow, shown_above: Meaning) -> str:
    differing = f' <span class="tag {row.meaning}">{WORDS[row.meaning]}</span>' if row.meaning != shown_above else ""
    before, after = (
        f'<{tag} class="value">{_html(said)}</{tag}>' if said is not None else f'<span class="dim">{NONE}</span>'
        for tag, said in (("del", row.before), ("ins", row.after))
    )
    place = f'<code class="place">{_html(row.place)}</code>'
    cells = "".join(f'<td data-of="{name}">{each}</td>' for name, each in (("before", before), ("after", after), ("in", place)))
    return f'<tr><th scope="row"><code>{_broken(row.field)}</code>{differing}</th>{cells}</tr>'


def _broken(field: str) -> str:
    """A field's name that may be broken at its steps."""
    return _html(field).replace(".", "<wbr>.").replace("[", "<wbr>[")


# What is found: each cause once, at its line, with the source beside it and the rows that have it.


_OPEN = 6  # findings, and groups of changes, that are open from the beginning where there are no more
_MANY = 24  # findings, from which on those of a rule stand together
_AROUND = 2  # lines of the source before and behind a finding


class _Findings:
    """The findings by cause, with the numbers of the findings in a row."""

    def __init__(self, results: Sequence[FileResult], sources: _Sources) -> None:
        found = [[each, *each.related] for result in by_cause_of_all(results, for_people=True) for each in result.diagnostics]
        number = Counter((same[0].severity, same[0].rule) for same in found)
        found.sort(key=lambda same: (SEVERITIES.index(same[0].severity), -number[same[0].severity, same[0].rule], same[0].rule))
        self._numbers = {_key_of_cause(each): number for number, same in enumerate(found, 1) for each in same}
        self.all = [[sources.masked(each) for each in same] for same in found]

    def of(self, row: PageRow) -> list[int]:
        """Return the numbers of what is found in a row, and reported."""
        found = (self._numbers.get(_key_of_cause(each)) for each in row.findings)
        return sorted({number for number in found if number is not None})


def _key_of_cause(each: Diagnostic) -> tuple[object, ...]:
    """Return a key that is the same for findings of one cause in several variants.

    Their messages may name the variant.
    """
    mark, message = each.mark, each.message
    words = message.cause if isinstance(message, Reasons) else message
    return each.rule, normpath(mark.file), mark.line, mark.column, "" if mark.layer else words


def _found(whole: _Whole) -> str:
    findings = whole.findings
    if not findings.all:
        return '<section id="findings"><h2>Findings</h2><p class="note">Nothing found.</p></section>'
    rows = gathered((number, row.name) for row in whole.page.rows for number in findings.of(row))
    explained = rules()
    said = gathered(
        ((same[0].severity, same[0].rule), _finding(number, same, rows.get(number, []), whole, explained.get(same[0].rule, "")))
        for number, same in enumerate(findings.all, 1)
    )
    inside = "".join(each for listed in said.values() for each in listed)
    if len(findings.all) > _MANY:
        several = {each: _of_rule(*each, explained.get(each[1], ""), listed) for each, listed in said.items() if len(listed) > 1}
        inside = "".join(several.get(each, listed[0]) for each, listed in said.items())
    return f'<section id="findings"><h2>Findings</h2>{inside}</section>'


def _of_rule(severity: str, rule: str, explanation: str, listed: Sequence[str]) -> str:
    """The findings of a rule, where there are many in all."""
    what = _prose(explanation.partition(". ")[0].rstrip(".") or rule)
    return (
        f'<details class="rule"><summary><span class="sev {severity}">{severity}</span> <span class="message">{what}</span> '
        f'<span class="dim">{_html(rule)} · {counted(len(listed), "finding")}</span></summary>'
        f'<div class="inner">{"".join(listed)}</div></details>'
    )


def _finding(number: int, same: Sequence[Diagnostic], rows: Sequence[str], whole: _Whole, explanation: str) -> str:
    """One cause: what is wrong, what to do, and why, beside the source."""
    first = same[0]
    concerned = counted(len(rows), whole.page.noun) if rows else ""
    places = [each for each in dict.fromkeys(_at(each.mark) for each in same) if each != _at(first.mark)]
    words = [f'<p class="hint">{_prose(_sentence(first.hint))}</p>'] if first.hint else []
    words += [f'<p class="why">{_prose(explanation)}</p>']
    words += [f'<p class="dim">{_prose(_sentence(first.build_words))}</p>'] if first.is_of_some_builds else []
    words += [f'<p class="dim">Field <code>{_broken(first.field)}</code></p>'] if first.field else []
    words += [f'<p class="dim">Also at {_html(shortened(places))}</p>'] if places else []
    words += [f'<p class="dim where" data-f="{number}">In {concerned}: {_html(shortened(rows))}</p>'] if rows else []
    about = " · ".join(filter(None, (first.rule, concerned)))
    state = " open" * (len(whole.findings.all) <= _OPEN)
    place = _html(_at(first.mark) + layer_of(first.mark))
    return (
        f'<details class="finding" id="finding-{number}" data-rule="{_html(first.rule)}" data-severity="{first.severity}"{state}>'
        f'<summary><span class="sev {first.severity}">{first.severity}</span> <span class="message">{_prose(first.message)}</span> '
        f'<span class="dim">{_html(about)}</span> <code class="place">{place}</code></summary>'
        f'<div class="body"><div class="words">{"".join(words)}</div>'
        f'<figure class="source"><figcaption>{place}</figcaption>{whole.sources.excerpt(first.mark)}</figure></div></details>'
    )


class _Sources:
    """The lines of files, in which the values of Secrets are masked."""

    def __init__(self, read: ReadText) -> None:
        self._file = cache(lambda name: _Masked(read(name), name))

    def masked(self, found: Diagnostic) -> Diagnostic:
        """Return a finding that does not quote the value of a Secret."""
        value = self._file(found.mark.file).secrets.get((found.mark.line, found.mark.column))
        if value is None:
            return found
        said, got, _ = found.message.partition(", got ")
        message = f"{said}{got}{_MASK}" if got else said.replace(value, _MASK) if value else said
        return found.with_message(message).with_hint(found.hint.replace(value, _MASK) if len(value) > 1 else found.hint)

    def excerpt(self, mark: Mark) -> str:
        """Return the lines around a place, with the place marked.

        If there is no such place, or if it is unknown what is secret, return an empty string.
        """
        lines = self._file(mark.file).lines
        if not 0 < mark.line <= len(lines):
            return ""
        first, last = max(mark.line - _AROUND, 1), min(mark.line + _AROUND, len(lines))
        line = lines[mark.line - 1]
        start = mark.column - 1
        end = max(mark.end_column - 1 if mark.end_line == mark.line else len(line), start + 1)
        hit = f"{_html(line[:start])}<mark>{_html(line[start:end]) or ' '}</mark>{_html(line[end:])}"
        before, after = (_lines_of_pre(lines[at:to]) for at, to in ((first - 1, mark.line - 1), (mark.line, last)))
        numbers = "\n".join(map(str, range(first, last + 1)))
        code = "\n".join(
            [*([before] if first < mark.line else []), f'<span class="hit">{hit}</span>', *([after] if last > mark.line else [])]
        )
        return _scroll("Source", f'<pre class="at" aria-hidden="true">\n{numbers}</pre><pre>\n{code}</pre>', " code")


class _Masked:
    """The lines of a text without the values of its Secrets.

    If the text cannot be read and may have a Secret, there are no lines.
    """

    def __init__(self, text: str, file: str) -> None:
        self.lines = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n").split("\n")
        self.lines = self.lines[:-1] if self.lines[-1] == "" else self.lines
        self.secrets: dict[tuple[int, int], str] = {}
        """The values by line and column."""
        if "ecret" not in text:
            return
        documents, problems = read_documents(yaml_of(text) if file.endswith(PAGES) else text, file=file)
        if any(each.rule != "duplicate-key" for each in problems):
            self.lines = []
            return
        for mark, value in (place for each in documents for place in _secret_places(each.data, each.marks)):
            self.secrets[mark.line, mark.column] = value
            last = mark.end_line if mark.end_column > 1 else mark.end_line - 1
            for number in range(mark.line, min(max(last, mark.line), len(self.lines)) + 1):
                kept = self.lines[number - 1][: mark.column - 1] if number == mark.line else ""
                self.lines[number - 1] = kept + _MASK


def _secret_places(value: Any, marks: Marks) -> Iterator[tuple[Mark, str]]:
    """Yield the places of secret values.

    They are in Secrets, with their annotations, and in the literals of kustomize's secretGenerator.
    """
    if isinstance(value, list):
        for number, each in enumerate(value):
            if inner := marks.child(number):
                yield from _secret_places(each, inner)
    for name, each in value.items() if isinstance(value, dict) else ():
        inner = marks.child(name)
        is_secret = value.get("kind") == "Secret"
        if inner and ((is_secret and name in SECRET_PARTS) or name == "secretGenerator"):
            yield from _scalars(each, inner)
        elif inner and is_secret and name == "metadata" and isinstance(each, dict):
            yield from _scalars(each.get("annotations"), inner.nearest(("annotations",))) if "annotations" in each else ()
        elif inner:
            yield from _secret_places(each, inner)


def _scalars(value: Any, marks: Marks) -> Iterator[tuple[Mark, str]]:
    inside = list(value.items()) if isinstance(value, dict) else list(enumerate(value)) if isinstance(value, list) else []
    if not inside:
        yield marks.mark, str(value)
    for step, each in inside:
        if inner := marks.child(step):
            yield from _scalars(each, inner)


# The rows: a table that can be searched, sorted and filtered, and below each row all about it.


def _table(whole: _Whole) -> str:
    page, findings = whole.page, whole.findings
    names = [page.noun, "kind", "pods", "GPUs", "deadline"]
    names += [f"{page.prices.currency} at most"] if page.prices else []
    names += ["findings", *(["change"] if page.view else [])]
    kinds = ["", "kind", "number pods", "number gpus", "number deadline", *(["number cost"] if page.prices else []), "found", "changed"]
    heads = "".join(f'<th scope="col" class="{kind}">{_html(each)}</th>' for kind, each in zip(kinds, names, strict=False))
    seen: dict[str, int] = {}
    bodies = ""
    for row in page.rows:
        seen[row.name] = seen.get(row.name, 0) + 1
        bodies += _row_html(row, whole, len(names), f"{row.name}~{seen[row.name]}" if seen[row.name] > 1 else row.name)
    chosen = Counter(rule for row in page.rows for rule in {findings.all[number - 1][0].rule for number in findings.of(row)})
    options = "".join(f'<option value="{_html(rule)}">{_html(rule)} ({number})</option>' for rule, number in sorted(chosen.items()))
    changed = '<label class="check"><input type="checkbox" id="changed"> changed only</label>' if page.view else ""
    tools = (
        '<form class="tools" role="search" hidden><label class="vh" for="search">Search</label>'
        f'<input type="search" id="search" placeholder="Search {_html(page.noun)}s" autocomplete="off">'
        '<label class="vh" for="filter">Findings</label><select id="filter"><option value="">With and without findings</option>'
        '<option value="*">Any finding</option><option value="error">Errors</option><option value="warning">Warnings</option>'
        f'<optgroup label="Rule">{options}</optgroup></select>{changed}<output id="shown" aria-live="polite"></output></form>'
    )
    empty = "" if page.rows else f'<p class="note">No {_html(page.noun)}s.</p>'
    return (
        f'<section id="rows"><h2>{_html(page.noun.capitalize())}s</h2>{tools}{empty}<div class="scroll wide">'
        f'<table class="rows"><caption class="vh">All {_html(page.noun)}s; a row opens to its topology, findings and values</caption>'
        f"<thead><tr>{heads}</tr></thead>{bodies}</table></div></section>"
    )


def _row_html(row: PageRow, whole: _Whole, columns: int, name: str) -> str:
    """A row and all about it; *name* is that of no other."""
    page, findings, changed = whole.page, whole.findings, whole.changes.get(row.name)
    numbers = findings.of(row)
    size = row.capacity
    anchor = _html(name.replace(" ", "_"))
    cells = [f'<td class="dim kind">{_html(row.kind)}</td>']
    counts = (diff.number_of_pods(size), diff.number_of_gpus(size)) if size else (NONE, NONE)
    cells += [f'<td class="number {kind}">{_html(each)}</td>' for kind, each in zip(("pods", "gpus"), counts, strict=True)]
    cells.append(
        f'<td class="number deadline" data-v="{size.deadline if size and size.deadline is not None else -1}">{_deadline(size)}</td>'
    )
    if page.prices:
        cost = cost_of(size, page.prices) if size else None
        sorts_last = "" if cost and cost.amount is not None else ' data-v="-1"'
        cells.append(f'<td class="number cost"{sorts_last}>{_cost(cost)}</td>')
    cells.append(_severities([findings.all[number - 1][0] for number in numbers]))
    if page.view:
        meaning = changed[1].meaning if changed else None
        cells.append(f'<td><span class="tag {meaning}">{WORDS[meaning]}</span></td>' if meaning else f'<td class="dim">{NONE}</td>')
    sub = " · ".join(row.written)
    about = (
        f"<details><summary>About {_html(row.name)}</summary>"
        f'<div class="about" id="about-{anchor}">{_about(row, whole, numbers)}</div></details>'
    )
    later = len(page.rows) > _FEW
    return (
        f'<tbody id="row-{anchor}"{" data-changed" if changed else ""} data-f="{" ".join(map(str, numbers))}">'
        f'<tr><th scope="row"><a class="open" href="#about-{anchor}">{_html(row.name)}</a> <span class="sub">{_html(sub)}</span></th>'
        f'{"".join(cells)}</tr><tr class="more{" later" * later}"><td colspan="{columns}">'
        f"{f'<noscript>{about}</noscript>' if later else about}</td></tr></tbody>"
    )


def _deadline(size: Capacity | None) -> str:
    return _html(duration(size.deadline)) if size else NONE


def _cost(cost: Cost | None) -> str:
    if cost is None or cost.amount is None:
        return f'<span title="{_html(cost.why)}">{NONE}</span>' if cost else NONE
    return f"{cost.amount:,.2f}"


def _severities(found: Sequence[Diagnostic]) -> str:
    """A cell with how many findings of each severity there are."""
    counts = {severity: sum(each.severity == severity for each in found) for severity in SEVERITIES}
    weight = counts["error"] * 1_000_000 + counts["warning"] * 1000 + counts["info"]
    said = " ".join(f'<span class="sev {name}">{counted(number, name)}</span>' for name, number in counts.items() if number)
    return f'<td data-v="{weight}">{said or NONE}</td>'


def _about(row: PageRow, whole: _Whole, numbers: Sequence[int]) -> str:
    known = {"object": row.object_name, "namespace": row.namespace, "deadline": _deadline(row.capacity)}
    facts = "".join(f"<div><dt>{name}</dt><dd>{_html(value)}</dd></div>" for name, value in known.items() if value)
    parts = [f'<dl class="facts">{facts}</dl>']
    if row.topology and row.topology.lanes:
        parts.append(_figure(row.topology, row.object_name, whole.drawings))
    if numbers:
        listed_findings = "".join(_linked(number, whole.findings.all[number - 1][0]) for number in numbers)
        parts.append(f'<h3>Findings</h3><ul class="links">{listed_findings}</ul>')
    if row.name in whole.changes:
        group, change = whole.changes[row.name]
        number = sum(len(diff.rows(each)) for each in change.objects)
        said = f"{WORDS[change.meaning]}, {counted(number, 'field')}" if number else WORDS[change.meaning]
        parts.append(f'<h3>Changes</h3><ul class="links"><li><a href="#{group.anchor}">{said}</a></li></ul>')
    if row.pods:
        text = _lines_of_pre(row.pods.split("\n"))
        parts.append("<h3>Pods</h3>" + _scroll("Pods", f'<pre class="pods">\n{text}</pre>'))
    if row.objects:
        parts.append("<h3>Values</h3>" + "".join(map(_text_with_origins, row.objects)))
    return "".join(parts)


def _figure(topology: JobTopology, name: str, drawings: dict[str, str]) -> str:
    """The drawing, of which jobs of one shape have one."""
    inside, height = drawing(topology)
    symbol = drawings.setdefault(f'viewBox="0 0 {WIDTH} {height}">{inside}', f"shape-{len(drawings) + 1}")
    caption = f"<code>{_html(JOB_NAME)}</code> is <code>{_html(name)}</code> · " if name else ""
    also = f" · also {_html(shortened(topology.others))}" if topology.others else ""
    size = f'width="{WIDTH}" height="{height}" viewBox="0 0 {WIDTH} {height}"'
    drawn = _scroll("Topology", f'<svg role="img" {size} aria-label="{_html(sentence(topology))}"><use href="#{symbol}"/></svg>')
    return f'<figure class="topology">{drawn}<figcaption>{caption}created by {_html(topology.made_by)}{also}</figcaption></figure>'


def _symbols(drawings: Mapping[str, str]) -> str:
    """The shapes of all drawings, which stand once however many jobs have one."""
    if not drawings:
        return ""
    size = 'viewBox="0 0 8 8" refX="6" refY="4" markerWidth="6" markerHeight="6" orient="auto"'
    arrow = f'<marker id="arrow" {size}><path class="arrow" d="M0 .5L7 4L0 7.5"/></marker>'
    shapes = "".join(f'<symbol id="{name}" {shape}</symbol>' for shape, name in drawings.items())
    return f'<svg class="shapes" width="0" height="0" aria-hidden="true"><defs>{arrow}</defs>{shapes}</svg>'


def _linked(number: int, found: Diagnostic) -> str:
    return (
        f'<li><span class="sev {found.severity}">{found.severity}</span> <a href="#finding-{number}">{_prose(found.message)}</a> '
        f'<code class="place">{_html(_at(found.mark))}</code></li>'
    )


def _text_with_origins(text: ObjectText) -> str:
    """An object's text beside the places of its values."""
    parts = (("at", text.places), ("text", text.lines), ("notes", text.notes))
    inside = "".join(f'<pre class="{kind}">\n{_lines_of_pre(lines)}</pre>' for kind, lines in parts)
    return f'<details class="file"><summary>{_html(text.name)}</summary>{_scroll(text.name, inside, " code values")}</details>'


# Where the values of an object come from, as lines beside its text.


_LONGEST = 60  # characters of a value that was


def object_text(name: str, text: str, blamed: Iterable[Blamed], *, is_secret: bool) -> ObjectText:
    """Return the text of a rendered object with the origin of each value.

    The values of Secrets are left out.
    """
    lines = _Masked(text, name).lines
    by_line = {each.line: each for each in blamed}
    numbers = range(1, len(lines) + 1)
    places = [_origin(by_line[number].origin) if number in by_line else "" for number in numbers]
    notes = [_history(by_line[number], is_secret=is_secret) if number in by_line else "" for number in numbers]
    return ObjectText(name, lines, places, notes)


def _origin(origin: Origin) -> str:
    """Layer, file and line; the layer of a shipped overlay is its file."""
    mark = origin.mark
    layer = origin.layer if not mark.file.endswith(f"overlay {origin.layer}") else ""
    place = f"{mark.file}:{mark.line}" if mark.line else mark.file
    return f"{place} ({layer})".removeprefix("./") if layer else place.removeprefix("./")


def _history(blamed: Blamed, *, is_secret: bool) -> str:
    def value(said: object) -> str:
        text = _MASK if is_secret else spelt(said)
        return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"

    causes = [f"{each.label} = {value(each.value)} ({each.mark.file}:{each.mark.line})" for each in blamed.origin.causes]
    before = [f"{'removed' if each.removed else value(each.value)} ({line_of(each)})" for each in blamed.history[1:]]
    return "; ".join([*causes, *([f"was {', '.join(before)}"] if before else [])])
