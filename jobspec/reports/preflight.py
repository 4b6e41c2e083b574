"""One answer about jobs before they are sent: accepted, its pods, its queue, what it holds, what changes, what fixes it.

For programs and agents the answer is one JSON object of at most 2,000 tokens; what is left out is counted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cache
from json import dumps
from typing import Any, Literal

from jobspec.diagnostics.diagnostic import SEVERITIES, Diagnostic
from jobspec.diagnostics.places import Mark
from jobspec.diagnostics.results import DocumentResult
from jobspec.diagnostics.wording import counted
from jobspec.project.capacity import Capacity, PriceList, amount_text, cost_of
from jobspec.reports.diff import ComparisonView, alike, duration, headline, names_of, notes, number_of_gpus, number_of_pods, rows
from jobspec.reports.places import message_of
from jobspec.reports.printable import clean, visible
from jobspec.reports.queue import Asked
from jobspec.reports.terminal import BOLD, COLOURS, DIM, columns, cut, paint, wrapped

TYPE_CHECKING = False
if TYPE_CHECKING:
    from jobspec.reports.text import ReadText

#: From the gravest to the best; `unknown`: a part is missing, `suspended`: without pods, `no job`: there is none.
Verdict = Literal["refused", "will not run", "never admitted", "unknown", "suspended", "runs", "no job"]
VERDICTS: tuple[Verdict, ...] = ("refused", "will not run", "never admitted", "unknown", "suspended", "runs", "no job")

_MOST = 6400
"""Characters of an answer: below 2,000 tokens at 3.2 characters a token, which is less than JSON of English words has."""
_WIDEST = 120
"""Columns of a line that is quoted."""
_MOST_FIELDS = 6
"""Changed fields of a job."""
_HOUR = 3600
_DESCRIBED = {"use_attribute_docstrings": True, "extra": "forbid"}


@dataclass(frozen=True, slots=True)
class QueueAnswerText:
    """The answer of Kueue to a job."""

    verdict: str
    """`fits`, `borrows`, `preempts`, `waits`, `never`, `unknown`; `bypasses` of a job without a queue-name label."""
    name: str = ""
    """The LocalQueue."""
    reason: str = ""
    """Why it does not fit, or what is missing to say."""
    flavors: str = ""
    """The flavors that its pods get."""

    __pydantic_config__ = _DESCRIBED


@dataclass(frozen=True, slots=True)
class JobAnswer:
    """One job, or one variant's job."""

    kind: str
    file: str
    line: int
    """The line of its name; 0 if it has none."""
    verdict: Verdict
    """The gravest of what follows."""
    accepted: bool | None = None
    """Whether the API server and the webhooks accept it; absent if that is not known."""
    runs: bool | None = None
    """Whether its pods come, meet and train; absent if that is not known."""
    name: str = ""
    namespace: str = ""
    variant: str = ""
    """The variant of a project that it belongs to."""
    reason: str = ""
    """Why an answer is not known."""
    pods: Mapping[str, int] | None = None
    """The number of pods of each role."""
    holds: Mapping[str, str] | None = None
    """What all pods hold together, by resource: limits, and requests where there is no limit."""
    deadline: str = ""
    """The time after which the operator ends it; `none` if it may hold its resources forever."""
    cost: str = ""
    """What it costs at most: GPU hours, and with a price list the amount."""
    queue: QueueAnswerText | None = None
    also_in: Sequence[str] = ()
    """Other files of its folder with a job of its kind, namespace and name: the one that is applied last replaces the others."""

    __pydantic_config__ = _DESCRIBED


@dataclass(frozen=True, slots=True)
class FindingAnswer:
    """One finding, as `lint` has it."""

    severity: Literal["error", "warning", "info"]
    """`error`: refused, or it never runs; `warning`: slow, costly or fragile."""
    rule: str
    """The name for `explain`."""
    message: str
    file: str
    line: int
    column: int
    source: str = ""
    """The line as it is written."""
    hint: str = ""
    """What to do."""
    field: str = ""
    fix: Literal["safe", "unsafe", ""] = ""
    """Whether `fix` makes it: `safe` leaves what runs as it is."""
    places: int = 0
    """The number of further places."""

    __pydantic_config__ = _DESCRIBED


@dataclass(frozen=True, slots=True)
class ChangeAnswer:
    """The effect of a change on one job or object, or on several that change alike."""

    names: str
    meaning: str
    """`refused`, `ignored`, `replaced`, `new-run`, `removed`, `created`, `in-place`."""
    pods: str = ""
    """Pods before and after."""
    gpus: str = ""
    fields: Sequence[str] = ()
    """Changed fields, each with its value before and after."""
    notes: Sequence[str] = ()

    __pydantic_config__ = _DESCRIBED


@dataclass(frozen=True, slots=True)
class ComparisonAnswer:
    """The changes against a commit."""

    summary: str
    objects: Sequence[ChangeAnswer] = ()
    notes: Sequence[str] = ()

    __pydantic_config__ = _DESCRIBED


@dataclass(frozen=True, slots=True)
class PreflightAnswer:
    """One answer about jobs before they are sent.

    A field that is absent is empty, false or not known.
    """

    verdict: Verdict
    """The gravest verdict of all jobs."""
    passes: bool
    """Whether `jobspec lint` passes in CI with these files and queues: no error, by the settings, and no job that is never admitted."""
    jobs: Sequence[JobAnswer]
    findings: Sequence[FindingAnswer]
    """The errors first."""
    fixes: str = ""
    """The safe fixes as a diff for `git apply`."""
    change: ComparisonAnswer | None = None
    """What changes against the commit that was asked for."""
    left: Sequence[str] = ()
    """What is left out here, and what could not be asked."""
    releases: Mapping[str, str] | None = None
    """The releases that were judged by."""

    __pydantic_config__ = _DESCRIBED


def json_schema() -> dict[str, Any]:
    """Return the JSON Schema of an answer."""
    from pydantic import TypeAdapter

    return TypeAdapter(PreflightAnswer).json_schema()


# Values of a run to an answer.


@dataclass(frozen=True, slots=True)
class CheckedJob:
    """A job as a run judged it."""

    row: DocumentResult
    name: str
    file: str
    line: int
    namespace: str
    variant: str
    capacity: Capacity | None
    """What it asks for; None if a server refuses it, or its pods are not known."""
    queue: Sequence[Asked] | None
    """What Kueue does with it; None if there are no queues to ask, or Kueue does not know the kind."""
    queue_name: str = ""
    """The queue that it names."""
    has_error: bool = False
    """Whether a finding of severity error is about it, besides that its queue never admits it."""
    is_held: bool = False
    """Whether its queue alone keeps it from running."""
    is_queue_assumed: bool = False
    """Whether the answer of its queue holds only if the files have all queues."""
    is_suspended: bool = False
    """True if the job has no pods until a user or Kueue resumes it."""
    why_unknown: str = ""
    """What keeps jobspec from judging it, such as a refused runtime; empty if nothing does."""
    judged_in: str = ""
    """The file that it was judged in, such as the kustomization of what is built."""

    @property
    def is_admission_decided(self) -> bool:
        """Whether the queues that are given say what becomes of it."""
        return any(each.answer and each.answer.verdict != "unknown" for each in self.queue or ())


def answer_of_job(job: CheckedJob, prices: PriceList | None, *, also_in: Sequence[str] = ()) -> JobAnswer:
    """Return the answer about one job."""
    row, capacity = job.row, job.capacity
    accepted = {"valid": True, "invalid": False}.get(row.status)
    asked = next((each for each in job.queue or () if each.answer), None)
    queue = _queue_of(job, asked)
    return JobAnswer(
        row.kind,
        clean(job.file),
        job.line,
        _verdict_of(job, queue),
        accepted,
        (False if job.has_error and row.runs else row.runs) if accepted else None,
        name=clean(job.name),
        namespace=clean(job.namespace),
        variant=job.variant,
        reason=row.reason or (job.why_unknown or _UNKNOWN if accepted and row.runs is None and not job.has_error else ""),
        pods={each.role or "pod": each.number for each in capacity.pods} if capacity else None,
        holds={name: amount_text(name, amount) for name, amount in capacity.resources.items()} if capacity else None,
        deadline=duration(capacity.deadline) if capacity else "",
        cost=_cost_of(capacity, prices) if capacity else "",
        queue=queue,
        also_in=list(map(clean, also_in)),
    )


_UNKNOWN = "nothing wrong is known, but too little to say that it trains"


def _verdict_of(job: CheckedJob, queue: QueueAnswerText | None) -> Verdict:
    row = job.row
    if row.status == "invalid":
        return "refused"
    if job.has_error or (row.runs is False and not job.is_held):
        return "will not run"
    if job.is_held or (queue and queue.verdict == "never"):
        return "never admitted"
    if queue and queue.verdict == "unknown":
        return "unknown"
    if job.is_suspended and row.status == "valid" and row.runs is None:
        return "suspended"
    return "runs" if row.status == "valid" and row.runs else "unknown"


def _queue_of(job: CheckedJob, asked: Asked | None) -> QueueAnswerText | None:
    if asked and asked.answer:
        answer = asked.answer
        flavors = dict.fromkeys(flavor for pods in answer.pod_sets for flavor in pods.flavors.values())
        more = f"; {', '.join(answer.preempted)}" if answer.preempted else ""
        tried = [f"{it.flavor}: {'; '.join(it.reasons)}" for pods in answer.pod_sets for it in pods.tried if it.reasons]
        why = answer.reason or ("; ".join(tried[:2]) if answer.verdict not in ("fits", "borrows") else "")
        condition = "if the files have all queues" if job.is_queue_assumed and job.is_admission_decided else ""
        why = "; ".join(filter(None, [why, asked.room, condition]))
        return QueueAnswerText(answer.verdict, answer.workload.queue, f"{why}{more}", ", ".join(flavors))
    if job.queue:
        return QueueAnswerText("bypasses", reason="no queue-name label")
    if job.queue is None and job.queue_name:
        return QueueAnswerText("unknown", job.queue_name, "no queues among the files: give their folder, or a pinned cluster")
    return None


def _cost_of(capacity: Capacity, prices: PriceList | None) -> str:
    """Write what a job costs at most: an amount by a price list, and GPU hours."""
    seconds = None if capacity.deadline is None else capacity.most_gpus * capacity.deadline
    hours = [f"{seconds / _HOUR:g} GPU hours"] if seconds else []
    if prices:
        cost = cost_of(capacity, prices)
        hours = [f"{cost.amount:.2f} {prices.currency}" if cost.amount is not None else cost.why, *hours]
    return f"at most {', '.join(hours)}" if hours and hours[0][0].isdigit() else ", ".join(hours)


def gravest(jobs: Iterable[JobAnswer]) -> Verdict:
    """Return the gravest verdict of some jobs; `no job` if there is none."""
    return min((each.verdict for each in jobs), key=VERDICTS.index, default="no job")


def answers_of_findings(diagnostics: Iterable[Diagnostic], read: ReadText = lambda _: "") -> list[FindingAnswer]:
    """Return findings in the order of their severity, and by place.

    *read* gives the text of a file, whose lines are quoted.
    """
    lines_of_file = cache(lambda file: read(file).split("\n"))

    def line_of(mark: Mark) -> str:
        lines = lines_of_file(mark.file) if mark.line else []
        return clean(cut(lines[mark.line - 1].strip(), _WIDEST)) if 0 < mark.line <= len(lines) else ""

    order = sorted(diagnostics, key=lambda each: SEVERITIES.index(each.severity))
    return [
        FindingAnswer(
            each.severity,
            each.rule,
            clean(message_of(each)),
            clean(each.mark.file),
            each.mark.line,
            each.mark.column,
            source=line_of(each.mark),
            hint="\n".join(map(clean, each.hint.split("\n"))),
            field=clean(each.field),
            fix="" if not each.changes else "safe" if each.has_safe_fix else "unsafe",
            places=len(each.further_places),
        )
        for each in order
    ]


def answer_of_comparison(view: ComparisonView) -> ComparisonAnswer:
    """Return what changes, objects that change alike as one."""
    objects = []
    for group in alike(view.comparison.variants):
        first = group[0]
        both = [(f(first.before) if first.before else "", f(first.after) if first.after else "") for f in (number_of_pods, number_of_gpus)]
        pods, gpus = (one if one == other else f"{one or '-'} → {other or '-'}" for one, other in both)
        for number, change in enumerate(first.objects):
            found = [f"{row.field}: {row.before or '-'} → {row.after or '-'} ({row.place})" for row in rows(change, width=60)]
            more = [f"and {len(found) - _MOST_FIELDS} more"] if len(found) > _MOST_FIELDS else []
            needs = {"pods": pods, "gpus": gpus} if number == 0 else {}
            names = names_of([each.objects[number] for each in group])
            objects.append(ChangeAnswer(names, change.meaning, **needs, fields=[*found[:_MOST_FIELDS], *more], notes=change.notes))
    return ComparisonAnswer(headline(view), objects, notes(view))


# An answer as one JSON object, and as text.


def as_data(answer: PreflightAnswer, *, say: Callable[[dict[str, Any]], dict[str, Any]] = dict) -> dict[str, Any]:
    """Return an answer as JSON has it, of at most 2,000 tokens. *say*: rewrites its sentences."""
    while len(text := dumps(data := say(_data(answer)), ensure_ascii=False)) > _MOST:
        shorter = _shorter(answer, len(text) - _MOST)
        if shorter is None:
            break
        answer = shorter
    return data


def _data(answer: PreflightAnswer) -> dict[str, Any]:
    found: dict[str, Any] = _without_empty(asdict(answer))
    return {"verdict": answer.verdict, "passes": answer.passes, "jobs": [], "findings": [], **found}


def _without_empty(value: Any) -> Any:
    """Return data without nulls, empty texts and empty collections; `false` and numbers stay, but for places without a number."""
    if isinstance(value, Mapping):
        found = {name: _without_empty(each) for name, each in value.items()}
        empty: tuple[Any, ...] = (None, "", [], {})
        return {name: each for name, each in found.items() if each not in empty and (name, each) != ("places", 0)}
    return [_without_empty(each) for each in value] if isinstance(value, list | tuple) else value


def _shorter(answer: PreflightAnswer, surplus: int) -> PreflightAnswer | None:
    """Return an answer with less: first without the diff, then without fields of changes, the last findings, the last jobs.

    If nothing can be left out, return None.
    """
    if answer.fixes:
        return replace(answer, fixes="", left=[*answer.left, "the diff of the safe fixes: `jobspec lint --diff`, or the tool `fix`"])
    change = answer.change
    if change and any(each.fields for each in change.objects):
        bare = [replace(each, fields=()) for each in change.objects]
        return replace(answer, change=replace(change, objects=bare), left=[*answer.left, "the fields of changes: `jobspec diff`"])
    if change and len(change.objects) > 1:
        kept = change.objects[: len(change.objects) // 2]
        return _counting(replace(answer, change=replace(change, objects=kept)), "change", ["change"] * (len(change.objects) - len(kept)))
    many = max(1, surplus // 400)
    if len(answer.findings) > 1:
        at = max(1, len(answer.findings) - many)
        return _counting(replace(answer, findings=answer.findings[:at]), "finding", [each.rule for each in answer.findings[at:]])
    if len(answer.jobs) > 1:
        at = max(1, len(answer.jobs) - many)
        return _counting(replace(answer, jobs=answer.jobs[:at]), "job", [each.verdict for each in answer.jobs[at:]])
    return None


def _counting(answer: PreflightAnswer, noun: str, dropped: Sequence[str]) -> PreflightAnswer:
    """Return an answer that counts what is left out of it, by rule or verdict, together with what was before."""
    start = f"more {noun}s: "
    before = next((each for each in answer.left if each.startswith(start)), "")
    numbers = Counter(dropped)
    for part in filter(None, before.removeprefix(start).split(", ")):
        name, _, number = part.rpartition(" ")
        numbers[name] += int(number)
    said = start + ", ".join(f"{name} {number}" for name, number in sorted(numbers.items()))
    return replace(answer, left=[*(each for each in answer.left if each != before), said])


def json_report(answer: PreflightAnswer, **_: object) -> str:
    """Write an answer as one line of JSON."""
    return f"{dumps(as_data(answer), ensure_ascii=False)}\n"


_COLOURS: Mapping[Verdict, str] = {
    **dict.fromkeys(("refused", "will not run", "never admitted"), "1;31"),
    **dict.fromkeys(("unknown", "suspended"), "1;33"),
    "runs": "1;32",
}


def text_report(answer: PreflightAnswer, *, colour: bool = False, width: int = 100) -> str:
    """Write a paragraph for each job, the findings with their hints, and what changes."""
    wide = max(width, 40)
    lines: list[str] = []
    for job in answer.jobs:
        lines += [*_lines_of_job(job, wide, colour=colour), ""]
    for finding in answer.findings:
        place = f"{finding.file}:{finding.line}:{finding.column}:" if finding.line else f"{finding.file}:"
        severity = paint(f"{finding.severity}:", COLOURS[finding.severity], colour=colour)
        more = f" (and {finding.places} more place{'s' * (finding.places != 1)})" if finding.places else ""
        rule = paint(f"[{finding.rule}]", DIM, colour=colour)
        fixable = " [*]" if finding.fix == "safe" else ""
        lines.append(f"{paint(visible(place), BOLD, colour=colour)} {severity} {visible(finding.message)}{more} {rule}{fixable}")
        lines += _lines_of_hint(finding.hint, wide)
    lines += [""] if answer.findings else []
    if answer.change:
        lines += [paint(visible(answer.change.summary), BOLD, colour=colour), *_lines_of_change(answer.change, wide), ""]
    for said in answer.left:
        lines += wrapped(visible(said), wide, "  ")
    return "\n".join([*lines, paint(_last_line(answer), BOLD, colour=colour), ""])


def _lines_of_job(job: JobAnswer, width: int, *, colour: bool) -> Iterator[str]:
    name = visible(f"{job.kind} {'/'.join(filter(None, (job.namespace, job.name)))}")
    of_variant = f"variant {job.variant}, " if job.variant else ""
    place = f"{visible(job.file)}:{job.line}" if job.line else visible(job.file)
    heading = f"{paint(name, BOLD, colour=colour)}: {paint(job.verdict, _COLOURS[job.verdict], colour=colour)}"
    where = f"({visible(of_variant)}{place})"
    if columns(f"{name}: {job.verdict} {where}") <= width:
        yield f"{heading} {where}"
    else:
        yield heading
        yield from wrapped(where, width, "    ", first="  ")
    if job.reason:
        yield from wrapped(visible(job.reason), width, "    ", first="  ")
    if job.pods:
        pods = " + ".join(f"{number} {role}" for role, number in job.pods.items())
        holds = ", ".join(f"{amount} {name}" for name, amount in (job.holds or {}).items())
        total = sum(job.pods.values())
        yield from wrapped(f"pods: {visible(pods)}{f'; {visible(holds)} together' if holds else ''}", width, "    ", first="  ")
        until = f"deadline {job.deadline}" if job.deadline != "none" else f"no deadline: {counted(total, 'pod')} may stay forever"
        yield from wrapped("; ".join(filter(None, [until, job.cost])), width, "    ", first="  ")
    if job.queue:
        queue = job.queue
        words = " ".join(filter(None, [queue.verdict, f"in {queue.flavors}" if queue.flavors else ""]))
        where = f" {visible(queue.name)}" if queue.name else ""
        why = f": {visible(queue.reason)}" if queue.reason else ""
        yield from wrapped(f"queue{where}: {visible(words)}{why}", width, "    ", first="  ")
    if job.also_in:
        others = visible(", ".join(job.also_in))
        yield from wrapped(f"the same object is in {others}: the one that is applied last wins", width, "    ", first="  ")


def _lines_of_hint(hint: str, width: int) -> Iterator[str]:
    """Yield a sentence in the width of the terminal; of a hint in several lines, each as it is: they are YAML."""
    lines = hint.split("\n") if hint else []
    if len(lines) > 1:
        yield from (f"    {visible(line)}" for line in lines)
    elif lines:
        yield from wrapped(visible(hint), width, "      ", first="    ")


def _lines_of_change(change: ComparisonAnswer, width: int) -> Iterator[str]:
    for each in change.objects:
        needs = [f"{value} {name}" for name, value in (("pods", each.pods), ("GPUs", each.gpus)) if "→" in value]
        yield from wrapped(visible(f"{each.meaning}: {'; '.join([each.names, *needs])}"), width, "    ", first="  ")
        for line in (*each.fields, *each.notes):
            yield from wrapped(visible(line), width, "      ", first="    ")
    for said in change.notes:
        yield from wrapped(visible(said), width, "    ", first="  note: ")


def _last_line(answer: PreflightAnswer) -> str:
    numbers = Counter(each.verdict for each in answer.jobs)
    jobs = ", ".join(f"{numbers[each]} {each}" for each in VERDICTS if numbers[each])
    severities = Counter(each.severity for each in answer.findings)
    found = ", ".join(counted(severities[each], each) for each in SEVERITIES if each in severities)
    fixable = sum(each.fix == "safe" for each in answer.findings)
    fixes = f"{fixable} fixed by `jobspec lint --fix`" if fixable else ""
    counts = f"{counted(len(answer.jobs), 'job')}{f': {jobs}' if jobs else ''}"
    said = [counts, found, fixes, "passes" if answer.passes else "fails"]
    releases = ", ".join(" ".join(each) for each in (answer.releases or {}).items())
    return f"{'; '.join(filter(None, said))} ({releases})"


#: Format of the answer -> what writes it.
REPORTS = {"text": text_report, "json": json_report}
