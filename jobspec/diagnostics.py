"""What is wrong, where, and what fixes it: diagnostics, what rules find, the results of files, and the places of values."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from dataclasses import KW_ONLY
    from typing import Any, Literal, Protocol, Self, TypeAlias, TypeVar, dataclass_transform

    from jobspec.explanations import Stage as Stage

    T = TypeVar("T")
    K = TypeVar("K")
    Severity = Literal["error", "warning", "info"]
    Action = Literal["set", "rename", "move", "remove", "quote"]
    Children = dict[str, "Marks"] | list["Marks"] | None
    #: A mark's file, layer, and span.
    Span = tuple[str, str, int, int, int, int]
    #: `partly`: the kind's structure or metadata alone was checked; `skipped`: no verdict was asked for, or none could be had.
    Status = Literal["valid", "invalid", "partly", "skipped"]

    #: What a rule of lint is called with: the `LintedJob` of a job of either kind or of one, of a runtime that is looked at alone, or of
    #: both jobs and runtimes (`pods`); the `LintedDocument` of any document, or of a runtime.
    Sees = Literal["pods", "job", "PyTorchJob", "TrainJob", "runtime's pods", "document", "runtime"]

    class HasPlace(Protocol):
        """A value that knows its place, such as a `MarkedTree`."""

        @property
        def mark(self) -> Mark:
            """Where it was written."""

        def place(self) -> Mark:
            """Where to point."""

    #: Where a finding is: a path in the document that a rule looks at, a value with a place, a line, or None for no line of any file.
    Place: TypeAlias = "Path | HasPlace | Mark | None"
else:

    def dataclass_transform() -> Callable[[type], type]:
        """What type checkers alone know."""
        return lambda each: each


#: A step of a path: the field of an object, the key of a map (`Key`), the index of a list.
Path = tuple["str | int", ...]
#: An object of a manifest, or a part of one, as plain data; and what rules yield. Only annotations name them, which nobody evaluates.
Data: TypeAlias = "dict[str, Any]"
Problems: TypeAlias = "Iterator[Problem]"
#: A place, and a change of the text behind it, whose path begins there.
Edit: TypeAlias = "tuple[Place, Change]"


#: From the gravest to the least.
SEVERITIES: tuple[Severity, ...] = ("error", "warning", "info")


class JobspecError(Exception):
    """jobspec could not run as asked: wrong arguments, a missing file, an unwritable folder. Exit code 2."""


@dataclass_transform()
class Record:
    """A value with the attributes that its class names: a data class, without the milliseconds that a start takes to load these."""

    def __init__(self, *values: Any, **named: Any) -> None:
        if values:
            named.update(zip(self.__annotations__, values, strict=False))
        self.__dict__ = named

    def changed(self, **named: Any) -> Self:
        """The same with other values of some attributes."""
        return type(self)(**{**self.__dict__, **named})


class Key(str):
    """A path step that is the key of a map, not the name of a field; spelt `[key]`."""

    __slots__ = ()


class Mark:
    """A place in a file; lines and columns count from 1, columns in code points; line 0 is the file as a whole."""

    __slots__ = ("column", "end_column", "end_line", "file", "layer", "line")

    layer_kind = "overlay"
    """What the layer is."""

    def __init__(self, file: str, line: int = 0, column: int = 0, end_line: int = 0, end_column: int = 0, layer: str = "") -> None:
        self.file = file
        self.line = line
        self.column = column
        self.end_line = end_line or line
        self.end_column = end_column or column
        self.layer = layer
        """Name of the overlay that the file holds, or of the variant that the place belongs to; empty for a base."""

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}" if self.line else self.file


class Reasons(str):
    """The message of one cause with several reasons: `namespace X enforces Y, which requires A, requires B`, reported once."""

    def __new__(cls, cause: str, reasons: Sequence[str]) -> Reasons:
        """The message of a cause; a verb that several reasons begin with stands once: `requires A, B`."""
        parts = [f"{verb} {', '.join(said)}" for verb, said in gathered(each.partition(" ")[::2] for each in reasons).items()]
        return super().__new__(cls, f"{cause} {' and '.join(parts)}")

    def __init__(self, cause: str, reasons: Sequence[str]) -> None:
        self.cause = cause
        self.reasons = reasons

    def __reduce__(self) -> tuple[type[Reasons], tuple[str, Sequence[str]]]:
        return Reasons, (self.cause, self.reasons)


class Diagnostic(Record):
    """One problem: what is wrong, where, and what would be right."""

    def __init__(
        self,
        rule: str,
        message: str,
        mark: Mark,
        *,
        field: str = "",
        document: int | None = None,
        severity: Severity = "error",
        hint: str = "",
        stage: Stage | None = None,
        changes: Sequence[Change] = (),
        related: Sequence[Diagnostic] = (),
    ) -> None:
        self.rule = rule
        self.message = message
        self.mark = mark
        self.field = field
        self.document = document
        """Index of the document in its file, from 0; None where the file as a whole is meant."""
        self.severity = severity
        self.hint = hint
        self.stage: Stage = stage or _stage_of(rule)
        """Who refuses, or would."""
        self.changes = changes
        """What fixes it in its document, all together; empty where there is more than one way, or none that is safe."""
        self.related = related
        """The same problem at further places, where it is reported once for one cause."""

    def with_hint(self, hint: str) -> Diagnostic:
        """The same with another hint."""
        return self.changed(hint=hint)

    def with_message(self, message: str) -> Diagnostic:
        """The same in other words."""
        return self.changed(message=message)

    def in_document(self, index: int | None) -> Diagnostic:
        """The same in another document of a file."""
        return self.changed(document=index)

    def as_dict(self) -> dict[str, Any]:
        """The diagnostic as the JSON report has it."""
        found = {"rule": self.rule, "stage": self.stage, "severity": self.severity, "message": self.message, **self._place()}
        found["hint"] = self.hint
        return {**found, "related": [each._place() for each in self.related]} if self.related else found

    def _place(self) -> dict[str, Any]:
        mark = self.mark
        return {
            "field": self.field,
            "file": mark.file,
            "document": self.document,
            "line": mark.line,
            "column": mark.column,
            "endLine": mark.end_line,
            "endColumn": mark.end_column,
            "layer": mark.layer,
        }

    @property
    def further_places(self) -> list[Mark]:
        """The places of what is `related`, each once, without its own."""
        places = {str(each.mark): each.mark for each in self.related}
        places.pop(str(self.mark), None)
        return list(places.values())

    def __repr__(self) -> str:
        return f"<{self.rule} {self.mark} {self.message!r}>"


def lines_of(diagnostics: Iterable[Diagnostic]) -> str:
    """A line for each diagnostic: place, message and hint, for an error that holds them all."""
    return "\n".join(f"{each.mark}: {each.message}{f'; {each.hint}' if each.hint else ''}" for each in diagnostics)


def severity_counts(diagnostics: Sequence[Diagnostic]) -> str:
    """How many diagnostics there are of each severity, in words."""
    found = [each.severity for each in diagnostics]
    return ", ".join(counted(found.count(severity), severity) for severity in SEVERITIES if severity in found) or "nothing found"


def counted(number: int, what: str) -> str:
    """A number of things: `1 pod`, `2 pods`, `2 matches`."""
    return f"{number} {what}{'' if number == 1 else 'es' if what.endswith(('ch', 's')) else 's'}"


def has_error(diagnostics: Iterable[Diagnostic]) -> bool:
    """Whether any is of severity error."""
    return any(each.severity == "error" for each in diagnostics)


def in_order(diagnostics: Iterable[Diagnostic]) -> list[Diagnostic]:
    """Sorted by place."""
    return sorted(diagnostics, key=lambda d: (d.mark.file, d.mark.line, d.mark.column, d.field, d.rule))


def deduplicated(diagnostics: Iterable[Diagnostic]) -> list[Diagnostic]:
    """The diagnostics without repetitions: a mistake in an overlay shows in every role and job that it is applied to."""
    first: dict[tuple[object, ...], Diagnostic] = {}
    for each in diagnostics:
        first.setdefault((each.rule, str(each.mark), each.message) if each.mark.layer else (id(each),), each)
    return list(first.values())


def by_cause(diagnostics: Sequence[Diagnostic]) -> list[Diagnostic]:
    """The diagnostics of a file, one for each cause, with its further places: of one rule in the same words, or with reasons in common."""

    def with_reasons(each: Diagnostic) -> object:
        message = each.message
        return (each.rule, each.severity, each.document, message.cause) if isinstance(message, Reasons) else id(each)

    return joined(joined(diagnostics, with_reasons), lambda each: (each.rule, each.severity, each.message, each.hint, each.mark.file))


def joined(diagnostics: Sequence[Diagnostic], key: Callable[[Diagnostic], object]) -> list[Diagnostic]:
    """The diagnostics, those of one *key* as one with its further places."""
    return [several[0] if len(several) == 1 else _joined(several) for several in grouped(diagnostics, key).values()]


def grouped(things: Iterable[T], key: Callable[[T], K]) -> dict[K, list[T]]:
    """Things by what they have in common, in the order in which that first appears."""
    return gathered((key(each), each) for each in things)


def gathered(pairs: Iterable[tuple[K, T]]) -> dict[K, list[T]]:
    """The second parts of pairs by the first, in the order in which that first appears."""
    groups: dict[K, list[T]] = {}
    for key, each in pairs:
        groups.setdefault(key, []).append(each)
    return groups


def reasons_of(several: Sequence[Diagnostic] | Sequence[Problem]) -> list[str]:
    """The reasons in the messages of problems, each once."""
    return list(dict.fromkeys(one for each in several if isinstance(each.message, Reasons) for one in each.message.reasons))


def _joined(several: Sequence[Diagnostic]) -> Diagnostic:
    first, message = several[0], several[0].message
    others = [*first.related, *(one for each in several[1:] for one in (each, *each.related))]
    related = {(str(each.mark), each.mark.layer, each.field, each.document): each for each in others}
    related.pop((str(first.mark), first.mark.layer, first.field, first.document), None)
    return first.changed(
        message=Reasons(message.cause, reasons_of(several)) if isinstance(message, Reasons) else message,
        hint="; ".join(dict.fromkeys(one for each in several for one in each.hint.split("; ") if one)),
        changes=[change for each in several for change in each.changes],
        related=list(related.values()),
    )


def spell(path: Path) -> str:
    """The path as the API server spells it: `spec.pytorchReplicaSpecs[Worker].template.spec.containers[0].image`."""
    text = ""
    for step in path:
        if isinstance(step, (int, Key)):
            text += f"[{step}]"
        else:
            text += f".{step}" if text else step
    return text


def _stage_of(rule: str) -> Stage:
    from jobspec.explanations import STAGES

    return STAGES.get(rule, "admission")


class Problem(Record):
    """What is wrong at a path: with its value, or with its key (*at_key*), as of an unknown field."""

    rule: str
    path: Path
    message: str
    hint: str = ""
    """What to do about it, for people; code does not use it."""
    _: KW_ONLY
    at_key: bool = False
    meant: str = ""
    """Of an unknown field: the known field that it seems to misspell."""
    belongs: str = ""
    """Of an unknown field: the path, from the same object, of the field that it belongs in, such as `spec.resources`."""
    remedy: Change | None = None
    """What fixes it, where the hint is certain."""

    def moved_to(self, path: Path) -> Problem:
        """The same problem at another path."""
        return Problem(self.rule, path, self.message, self.hint, at_key=self.at_key)


# Changes of a document's data that fix a problem; `fixes` makes them in the text of its file.
class Change(Record):
    """A change at a *path* from the top of a document."""

    action: Action
    path: Path
    value: Any = None
    """Of `set` the new value, of `rename` the new key, of `move` the path of the mapping to go into, from the one around the field."""

    def __repr__(self) -> str:
        return f"<{self.action} {self.path} {self.value!r}>"

    def below(self, path: Path) -> Change:
        """The same change in a document around this one, which stands at *path* in it."""
        return self.changed(path=(*path, *self.path))


def set_to(path: Path, value: Any) -> Change:
    """Give a field or an item another value, or add it where it is not there; mappings on the way to it are added, too."""
    return Change("set", path, value)


def rename(path: Path, name: str) -> Change:
    """Give a field another name; it keeps its place."""
    return Change("rename", path, name)


def move(path: Path, into: Path) -> Change:
    """Move a field into another mapping of its object, made where there is none: `spec.a` into `spec.b` is `spec.b.a`."""
    return Change("move", path, into)


def remove(path: Path = ()) -> Change:
    """Remove a field or an item; a mapping or list goes with its last value."""
    return Change("remove", path)


def quote(path: Path) -> Change:
    """Make a scalar text, as it is written: `value: 010` becomes `value: "010"`."""
    return Change("quote", path)


# What rules find: a rule is a generator over what it looks at, and `Document.diagnostic` makes diagnostics of its findings.


class Finding(Record):
    """What a rule finds: where, a sentence, how to fix it, and the edits that do so where that is safe and there is one way alone."""

    at: Place
    message: str
    hint: str = ""
    _: KW_ONLY
    rule: str = ""
    """The name of the rule, where that is not its function's."""
    field: str = ""
    """The field as an operator spells it; empty where that is the path's own spelling."""
    edits: Sequence[Edit] = ()
    changes: Sequence[Change] = ()
    """What fixes it in the document, where the hint is certain; what lint finds in other documents, too, is fixed by `edits`."""
    severity: Severity | None = None
    """Where it is another one than the rule's."""


class Rule:
    """A check, how much its findings weigh, and where it is called: for what it sees and reads, at which releases."""

    def __init__(
        self,
        check: Callable[..., Iterator[Finding]],
        severity: Severity = "error",
        *,
        sees: Sees = "pods",
        reads: Iterable[str] = (),
        kinds: Sequence[tuple[str, str]] = (),
        since: str = "",
        until: str = "",
        by_default: bool = True,
    ) -> None:
        self.check = check
        self.name = check.__name__.replace("_", "-")
        """The rule's name in the catalogue: the function's, in kebab-case."""
        self.severity: Severity = severity
        self.sees: Sees = sees
        self.reads = [each.lower() for each in reads]
        """Parts of keys and texts: it finds nothing in a job that says none of them, unless a document is of one of the `kinds`."""
        self.kinds = kinds
        self.since = since
        """The release of the operator from which on it holds, and `until` that from which on it holds no more; empty without a limit."""
        self.until = until
        self.by_default = by_default
        """Whether it is looked at where nobody chooses it by name."""


# What was found in files: the status of each document, the diagnostics, and the counts of both.


_STATUSES: tuple[Status, ...] = ("valid", "invalid", "partly", "skipped")


class DocumentResult(Record):
    """One document of a file: what it is, and its status."""

    index: int
    """Counts the documents of the file from 0, empty ones left out; the items of a `v1` List share theirs."""
    status: Status
    _: KW_ONLY
    api_version: str = ""
    """Empty, as `kind` and `name` are, where the document does not say or cannot be decoded."""
    kind: str = ""
    name: str = ""
    labels: Any = None
    """Its `metadata.labels` as they are written; None without any."""
    diff: str | None = None
    """What an apply would change in the live object; None without `--diff`."""
    runs: bool | None = None
    """Whether a training job will run; None where that is not known, or was not checked."""
    reason: str = ""
    """Why it is skipped: what the file is; empty where it is no manifest, or of a kind that is not known."""

    def moved(self, index: int) -> DocumentResult:
        """The same of another document."""
        return self.changed(index=index)

    @property
    def will_not_run(self) -> bool:
        """Whether the server accepts a job that then creates nothing, or does not train."""
        return self.status == "valid" and self.runs is False

    def as_dict(self) -> dict[str, Any]:
        """The document as the JSON report has it."""
        said = {"index": self.index, "apiVersion": self.api_version, "kind": self.kind, "name": self.name}
        said |= {"status": self.status, "runs": self.runs, **({"reason": self.reason} if self.reason else {})}
        return said if self.diff is None else {**said, "diff": self.diff}


class FileResult:
    """One file: the results of its documents, and every diagnostic, sorted by place."""

    def __init__(self, path: str, documents: Iterable[DocumentResult], diagnostics: Iterable[Diagnostic], *, ignored: int = 0) -> None:
        self.path = path
        self.ignored = ignored
        """The number of diagnostics that settings and comments leave out."""
        self.documents = tuple(documents)
        self.diagnostics = tuple(in_order(diagnostics))
        self.valid = not has_error(self.diagnostics)
        """Whether no diagnostic of severity error stands in the file."""

    def __repr__(self) -> str:
        number = len(self.documents)
        return f"<{self.path}: {counted(number, 'document')}, {severity_counts(self.diagnostics)}>"

    def with_diagnostics(self, diagnostics: Iterable[Diagnostic]) -> FileResult:
        """The same result with further diagnostics."""
        return FileResult(self.path, self.documents, [*self.diagnostics, *diagnostics], ignored=self.ignored)

    def by_cause(self) -> FileResult:
        """The same result with one diagnostic for each cause."""
        return (
            self if len(self.diagnostics) < 2 else FileResult(self.path, self.documents, by_cause(self.diagnostics), ignored=self.ignored)
        )

    def with_only(self, diagnostics: Sequence[Diagnostic], *, ignored: int | None = None) -> FileResult:
        """The same result with other diagnostics; *ignored* grows by the number that was dropped, or by the given number."""
        missing = len(self.diagnostics) - len(diagnostics) if ignored is None else ignored
        return FileResult(self.path, self.documents, diagnostics, ignored=self.ignored + missing)


def by_cause_of_all(files: Iterable[FileResult], *, for_people: bool) -> list[FileResult]:
    """The results with one diagnostic for each cause; an info in the same words in several files is in the first of these alone.

    *for_people*: so is what one missing object, one policy or one Pod Security level causes in several files, whose documents may be
    invalid without a diagnostic of their own then. What was not judged is counted in each file.
    """
    results = [each.by_cause() for each in files]
    shared = [one for each in results for one in each.diagnostics if _is_shared(one, for_people=for_people)]
    once: dict[int, Diagnostic] = {}
    left_out: set[int] = set()
    for several in grouped(shared, lambda one: (one.rule, one.severity, one.message, one.hint)).values():
        once[id(several[0])] = joined(several, lambda _: None)[0]
        left_out |= {id(one) for one in several[1:]}
    if not left_out:
        return results
    kept = [[once.get(id(one), one) for one in each.diagnostics if id(one) not in left_out] for each in results]
    return [FileResult(each.path, each.documents, left, ignored=each.ignored) for each, left in zip(results, kept, strict=True)]


def _is_shared(found: Diagnostic, *, for_people: bool) -> bool:
    """Whether a diagnostic in the same words in another file has the same cause."""
    if found.severity == "info" or not for_people:
        return found.severity == "info" and found.rule != "unjudged-template"
    from jobspec.explanations import CAUSED_ELSEWHERE

    return found.rule in CAUSED_ELSEWHERE or isinstance(found.message, Reasons)


def count(files: Sequence[FileResult]) -> dict[str, int]:
    """The number of documents: in total, of each status, and of accepted jobs that will not run."""
    documents = [document for each in files for document in each.documents]
    statuses = [document.status for document in documents]
    counts = {"documents": len(statuses)} | {str(status): statuses.count(status) for status in _STATUSES}
    counts["willNotRun"] = sum(each.will_not_run for each in documents)
    ignored = sum(each.ignored for each in files)
    not_evaluated = sum(diagnostic.rule == _NOT_EVALUATED for each in files for diagnostic in each.diagnostics)
    return counts | ({"ignored": ignored} if ignored else {}) | ({"policiesNotEvaluated": not_evaluated} if not_evaluated else {})


_NOT_EVALUATED = "policy-not-evaluated"


def coverage(files: Sequence[FileResult], releases: Mapping[str, str], *, fixable: bool = False) -> str:
    """The last line of a report: the number of documents, how many have each status, and the releases they were checked for.

    *fixable*: and how many findings `--fix` can fix.
    """
    counts = count(files)
    lost = counts["willNotRun"]
    counts["valid"] -= lost
    parts = [f"{counts[status]} {'partly checked' if status == 'partly' else status}" for status in _STATUSES if counts[status]]
    if reasons := _reasons(files):
        parts[-1] += f" ({', '.join(reasons)})"
    parts += [f"{lost} accepted but will not run"] if lost else []
    found = [diagnostic for each in files for diagnostic in each.diagnostics]
    parts += [severity_counts(found)] if found else []
    unknown = counts.get("policiesNotEvaluated", 0)
    parts += [f"{unknown} answer{'s' * (unknown > 1)} of policies not evaluated"] if unknown else []
    parts += [f"{counts['ignored']} ignored"] if "ignored" in counts else []
    number = sum(bool(each.changes) for each in found) if fixable else 0
    parts += [f"{number} fixable with --fix"] if number else []
    documents = counted(counts["documents"], "document")
    return f"{documents}: {', '.join(parts) or 'nothing found'} ({', '.join(' '.join(each) for each in releases.items())})"


def _reasons(files: Sequence[FileResult]) -> list[str]:
    """Why documents are skipped, each reason with their number; of unknown kinds the most frequent ones by name."""
    rows = [row for each in files for row in each.documents]
    known = [row.reason for row in rows if row.reason]
    parts = [_counted(known.count(each), each) for each in dict.fromkeys(known)]
    others = sum(row.status == "skipped" and not row.reason and not row.kind for row in rows)
    parts += [f"{others} not {'a manifest' if others == 1 else 'manifests'}"] if others else []
    by_kind = grouped(unknown_kinds(files), lambda each: each["kind"])
    kinds = {kind: sum(each["documents"] for each in versions) for kind, versions in by_kind.items()}
    if not kinds:
        return parts
    shown = shortened([f"{number} {kind}" for kind, number in sorted(kinds.items(), key=lambda each: -each[1])])
    return [*parts, f"{sum(kinds.values())} of {'an unknown kind' if len(kinds) == 1 else 'unknown kinds'}: {shown}"]


def shortened(names: Sequence[str], most: int = 3) -> str:
    """The first of some names, and the number of the others: `a, b, c and 2 more`."""
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")


def summary(files: Sequence[FileResult]) -> dict[str, Any]:
    """The counts of a report, and the unknown kinds among what is skipped."""
    kinds = unknown_kinds(files)
    return {**count(files), **({"unknownKinds": kinds} if kinds else {})}


def unknown_kinds(files: Sequence[FileResult]) -> list[dict[str, Any]]:
    """The kinds of skipped documents that jobspec has no schema of, each with the number of its documents, the most frequent first."""
    rows = (row for each in files for row in each.documents if row.status == "skipped" and row.kind and not row.reason)
    found = [(-len(alike), kind, version) for (kind, version), alike in grouped(rows, lambda row: (row.kind, row.api_version)).items()]
    return [{"apiVersion": version, "kind": kind, "documents": -number} for number, kind, version in sorted(found)]


def _counted(number: int, noun: str) -> str:
    noun, colon, why = noun.partition(":")
    return f"{counted(number, noun)}{colon}{why}"


# Where the values of a document were written: a tree of marks, made of the nodes that the reader made.
class Marks:
    """The place of a value and, in a tree of the data's shape, of all values inside it."""

    __slots__ = ("_make", "children", "key", "mark")

    children: Children
    """The marks of the values inside, made on first use; None for a scalar."""

    def __init__(
        self, mark: Mark, key: Mark | None = None, children: Children = None, *, make: Callable[[], Children] | None = None
    ) -> None:
        self.mark = mark
        """The value itself."""
        self.key = key
        """The key of the value; None in a list."""
        self._make = make
        if make is None:
            self.children = children

    def __getattr__(self, name: str) -> Any:
        if name != "children":
            raise AttributeError(name)
        assert self._make
        self.children = self._make()
        return self.children

    def made(self) -> Marks:
        """The same, with all marks inside."""
        for child in self.inside:
            child.made()
        return self

    @property
    def inside(self) -> Sequence[Marks]:
        """The marks of the values inside, without their keys or indices."""
        children = self.children or ()
        return list(children.values()) if isinstance(children, dict) else children

    def nearest(self, path: Path) -> Marks:
        """The marks of the value at *path*, or of the innermost value around it that exists."""
        here = self
        for step in path:
            child = here.child(step)
            if child is None:
                break
            here = child
        return here

    def child(self, step: str | int) -> Marks | None:
        """The marks of the value at a key or an index, None where there is none."""
        children = self.children
        if isinstance(children, dict):
            return children.get(str(step))
        return children[step] if isinstance(children, list) and isinstance(step, int) and step < len(children) else None

    def contains(self, mark: Mark) -> bool:
        """Whether a mark is that of this value, or of one inside it."""
        return next(self.paths_to(mark), None) is not None

    def paths_to(self, mark: Mark) -> Iterator[Path]:
        """The paths, from this value inwards, of the values with a mark; several where aliases repeat one."""
        if str(self.mark) == str(mark):
            yield ()
        children = self.children or ()
        for step, child in children.items() if isinstance(children, dict) else enumerate(children):
            yield from ((step, *path) for path in child.paths_to(mark))

    def paths(self) -> dict[Span, Path]:
        """The path of each value, by the place of the value and by that of its key; the first one, of values that an alias repeats."""
        found: dict[Span, Path] = {}
        self._add_paths((), found)
        return found

    def _add_paths(self, path: Path, found: dict[Span, Path]) -> None:
        children = self.children
        for step, child in children.items() if isinstance(children, dict) else enumerate(children or ()):
            child._add_paths((*path, step), found)
        found.setdefault(span_of(self.mark), path)
        if self.key:
            found.setdefault(span_of(self.key), path)

    def place(self) -> Mark:
        """The mark for a diagnostic about the value: a scalar itself, the key of a mapping or list."""
        return self.mark if self.key is None or (self._make is None and self.children is None) else self.key


def span_of(mark: Mark) -> Span:
    """The file, layer and span of a mark, which marks of one place share."""
    return mark.file, mark.layer, mark.line, mark.column, mark.end_line, mark.end_column


def marks_at(data: Any, mark: Mark) -> Marks:
    """Marks of the data's shape that all have one place."""
    if isinstance(data, dict):
        return Marks(mark, mark, {key: marks_at(value, mark) for key, value in data.items()})
    if isinstance(data, list):
        return Marks(mark, mark, [marks_at(value, mark) for value in data])
    return Marks(mark, mark)


class Piece:
    """A part of a file that is parsed on its own, and the number of lines before it."""

    __slots__ = ("file", "first_line", "has_other_breaks", "layer", "text")

    def __init__(self, text: str, first_line: int, file: str, layer: str) -> None:
        self.text = text
        self.first_line = first_line
        self.file = file
        self.layer = layer
        self.has_other_breaks = not text.isascii() and any(each in text for each in "\x85\u2028\u2029")
        """Whether it has line breaks of YAML 1.1 alone (NEL, LS, PS), which editors do not count."""


def mark_of(piece: Piece, start: Any, end: Any = None) -> Mark:
    """The place in the file of what stands between two of the parser's marks."""
    first, end = piece.first_line + 1, end or start
    if piece.has_other_breaks:
        (line, column), (end_line, end_column) = _recounted(piece.text, start), _recounted(piece.text, end)
        return Mark(piece.file, line + first, column + 1, end_line + first, end_column + 1, piece.layer)
    return Mark(piece.file, start.line + first, start.column + 1, end.line + first, end.column + 1, piece.layer)


def _recounted(text: str, mark: Any) -> tuple[int, int]:
    """The line and column, from 0, of a mark of the parser, in the lines that everybody counts."""
    if getattr(mark, "index", None) is None:
        return mark.line, mark.column
    return text.count("\n", 0, mark.index), mark.index - text.rfind("\n", 0, mark.index) - 1


def marks_of(piece: Piece, node: Any, key: Any = None) -> Marks:
    """The tree of marks of a node: an event of a scalar, or a `Node`; *key* is the event of its key."""
    key_mark = key and mark_of(piece, key.start_mark, key.end_mark)
    children = getattr(node, "children", None)
    if children is None:
        return Marks(mark_of(piece, node.start_mark, node.end_mark), key_mark)
    return Marks(mark_of(piece, node.event.start_mark), key_mark, make=lambda: _marks_of_children(piece, children))


def _marks_of_children(piece: Piece, children: Any) -> Children:
    if isinstance(children, dict):
        return {name: marks_of(piece, child, key) for name, (key, child) in children.items()}
    return [marks_of(piece, child) for child in children]
