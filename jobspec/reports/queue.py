"""What Kueue does with jobs, for people and programs: text with bars of the quotas, Markdown, JSON."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from json import dumps

from jobspec.diagnostics.grouping import gathered
from jobspec.diagnostics.wording import counted
from jobspec.documents.document import Document
from jobspec.operators.kueue.admission import PodSetAnswer, QueueAnswer
from jobspec.operators.kueue.versions import not_queued, queued_by_holder
from jobspec.operators.kueue.workload import job_name
from jobspec.operators.kueue.world import Cell, World, plus, spelt
from jobspec.operators.workloads import queued_object
from jobspec.reports.printable import visible
from jobspec.reports.terminal import BOLD, paint, wrapped

_COLOURS = {"fits": "32", "borrows": "36", "preempts": "33", "waits": "33", "never": "31", "unknown": "2"}
_BAR = 20
"""The columns of a bar."""
_NARROW = 40
"""Lines are not broken to fewer columns than these."""
_MOST_LEAVES = 8


@dataclass(frozen=True, slots=True)
class Asked:
    """A job, and Kueue's answer to it. If the job names no queue, the answer is None."""

    job: Document
    answer: QueueAnswer | None
    children: Sequence[tuple[str, str]] = ()
    """The kind and queue name of what another controller makes and resumes, if the job names no queue."""
    room: str = ""
    """What the queue admits at most, if it never admits the job."""


@dataclass(frozen=True, slots=True)
class TextOptions:
    """The options of a text report."""

    width: int
    release: str
    """The release of Kueue."""
    colour: bool


def text_report(asked: Sequence[Asked], world: World, how: TextOptions) -> str:
    """Write one line for each job and pod set with its tried flavors, then quotas as bars."""
    lines: list[str] = []
    for each in asked:
        lines += [*([""] if lines else []), *_of_job(each, world, how)]
    if bars := list(_bars(asked, world)):
        lines += ["", paint("quotas", BOLD, colour=how.colour), *_quota_lines(bars, how.width)]
    lines += [""] if lines else []
    for remark in _remarks(asked, world, how):
        lines += wrapped(visible(remark), max(how.width, _NARROW), "  ", first="")
    return "\n".join([*lines, ""])


def _quota_lines(bars: Sequence[tuple[str, str, str, str, str]], width: int) -> Iterator[str]:
    """Write quotas in columns. If these are wider than *width*, write a line for each queue and flavor, and its resources below."""
    wide = [max(len(row[at]) for row in bars) for at in range(3)]
    lines = [f"  {row[0]:{wide[0]}}  {row[1]:{wide[1]}}  {row[2]:{wide[2]}}  {row[3]}  {row[4]}" for row in bars]
    if max(map(len, lines)) <= width:
        yield from lines
        return
    before = ("", "")
    for queue, flavor, resource, bar, words in bars:
        if (queue, flavor) != before:
            before = (queue, flavor)
            yield from wrapped(f"{queue}, flavor {flavor}", max(width, _NARROW), "    ", first="  ")
        start = f"    {resource:{wide[2]}}  {bar}"
        beside = f"{start}  {words}"
        yield from [beside] if len(beside) <= width else [start, *wrapped(words, max(width, _NARROW), "      ")]


def _of_job(each: Asked, world: World, how: TextOptions) -> Iterator[str]:
    job, answer = each.job, each.answer
    name = paint(visible(f"{job.kind} {_name(each)}"), BOLD, colour=how.colour)
    if answer is None and each.children:
        kind, queue = each.children[0]
        why = f"its {kind} is in queue `{queue}`, and another controller resumes what Kueue suspends"
        yield from _indented(f"{name}: no queue-name label: {why} ({job.file})", "", how)
        return
    if answer is None:
        yield from _indented(f"{name}: {why_bypassed(job, world, how.release)} ({job.file})", "", how)
        return
    queue = visible(f"{answer.workload.queue} → {answer.cluster_queue}" if answer.cluster_queue else answer.workload.queue)
    where = f" in queue {queue}" if queue else ""
    verdict = verdict_text(answer)
    is_wide = len(f"{visible(job.kind)} {_name(each)}: {verdict}{where} ({job.file})") > how.width
    yield f"{name}: {_coloured(answer.verdict, verdict, how)}{where}" + ("" if is_wide else f" ({visible(job.file)})")
    if is_wide:
        yield f"  ({visible(job.file)})"
    for said in filter(None, [answer.reason, each.room, *answer.notes, remark_on_kind(each, world, how)]):
        yield from _indented(said, "  ", how)
    for pods in answer.pod_sets:
        yield f"  {pods.name}, {counted(pods.count, 'pod')}: {_coloured(pods.verdict, _flavors(pods), how)}"
        for tried in pods.tried:
            why = f": {'; '.join(tried.reasons)}" if tried.reasons else ""
            yield from _indented(f"{tried.flavor}: {tried.verdict}{why}", "    ", how)
        if where := _leaves(pods):
            yield from _indented(where, "    ", how)


def _indented(text: str, indent: str, how: TextOptions) -> list[str]:
    return wrapped(visible(text), max(how.width, _NARROW), f"{indent}  ", first=indent)


def _leaves(pods: PodSetAnswer) -> str:
    """Where pods stand in a topology."""
    leaves = pods.placement.leaves if pods.placement else ()
    return ", ".join(
        [*(f"{number} on {'/'.join(values)}" for values, number in leaves[:_MOST_LEAVES]), *["..."] * (len(leaves) > _MOST_LEAVES)]
    )


def verdict_text(answer: QueueAnswer) -> str:
    """Write the verdict in words: `waits for others`, `preempts team-b/train`.

    If the job borrows, the words say how much: `borrows 8 nvidia.com/gpu of cohort ml`.
    """
    if answer.borrowed and answer.verdict == "borrows":
        return "borrows " + ", ".join(
            f"{spelt(each.cell[1], each.amount)} {each.cell[1]} of cohort {each.cohort}" for each in answer.borrowed
        )
    if answer.verdict == "preempts":
        return f"preempts {', '.join(answer.preempted)}"
    return {"waits": "waits for others", "unknown": "verdict unknown"}.get(answer.verdict, answer.verdict)


def remark_on_kind(each: Asked, world: World, how: TextOptions) -> str:
    """Write why jobs of a kind bypass Kueue. If Kueue queues the kind, return an empty string."""
    bypasses, hint = not_queued(queued_object(each.job).group_kind, how.release, world.configuration)
    return f"kind-not-queued: {bypasses}; {hint}" if bypasses else ""


def why_bypassed(job: Document, world: World, release: str) -> str:
    """Write why Kueue leaves a job alone that names no queue."""
    if holder := queued_by_holder(job, world.configuration):
        return f"not asked: Kueue queues its {holder}"
    bypasses, _ = not_queued(queued_object(job).group_kind, release, world.configuration)
    return bypasses or "bypasses Kueue: no queue-name label"


def _without_answer(each: Asked, world: World, how: TextOptions) -> tuple[str, str]:
    """Write a verdict for a job that Kueue leaves alone, and why."""
    if each.children:
        return "resumed", "no queue-name label"
    verdict, _, why = why_bypassed(each.job, world, how.release).partition(": ")
    return verdict, why


def _name(each: Asked) -> str:
    job, answer = each.job, each.answer
    namespace = answer.workload.namespace if answer else job.namespace
    name = f"{namespace}/{job_name(job.data)}" if namespace else job_name(job.data)
    return name if answer is None or answer.workload.group is None else f"{name}, group {answer.workload.group}"


def _flavors(pods: PodSetAnswer) -> str:
    by_flavor = gathered((flavor, resource) for resource, flavor in pods.flavors.items())
    return " ".join([pods.verdict, *(f"{flavor} ({', '.join(names)})" for flavor, names in by_flavor.items())])


def _coloured(verdict: str, words: str, how: TextOptions) -> str:
    return paint(visible(words), _COLOURS[verdict], colour=how.colour)


def _remarks(asked: Sequence[Asked], world: World, how: TextOptions) -> Iterator[str]:
    counts = Counter(each.answer.verdict if each.answer else _without_answer(each, world, how)[0] for each in asked)
    said = ", ".join(f"{number} {verdict}" for verdict, number in counts.items())
    empty = "" if world.knows_usage or not asked else "; no queue has a status: judged for an empty cluster, where only `never` is certain"
    jobs = counted(len({id(each.job) for each in asked}), "job")
    if groups := sum(1 for each in asked if each.answer and each.answer.workload.group is not None):
        jobs += f", {counted(groups, 'group')}"
    yield f"{': '.join(filter(None, [jobs, said]))} (Kueue {how.release}){empty}"


def together(asked: Sequence[Asked]) -> dict[tuple[str, Cell], int]:
    """Return the usage of each cell of a ClusterQueue by all jobs together."""
    found: dict[tuple[str, Cell], int] = {}
    for each in asked:
        for cell, value in (each.answer.requested if each.answer else {}).items():
            key = each.answer.cluster_queue if each.answer else "", cell
            found[key] = plus(found.get(key, 0), value)
    return found


def beyond(asked: Sequence[Asked], world: World) -> Iterator[str]:
    """Yield the quotas that the jobs exceed together, though each job fits by itself."""
    for (name, cell), value in together(asked).items():
        most = world.most(("ClusterQueue", name), cell)
        if value > most:
            wanted = f"{spelt(cell[1], value)} {cell[1]} of flavor {cell[0]}"
            yield f"together the jobs want {wanted} in queue {name}, which has {spelt(cell[1], most)} at most: some wait for others"


def _bars(asked: Sequence[Asked], world: World) -> Iterator[tuple[str, str, str, str, str]]:
    """Yield each cell of the queues: queue, flavor, resource, bar, and amounts in words."""
    wanted, usage = together(asked), world.usage()
    for name in dict.fromkeys(each.answer.cluster_queue for each in asked if each.answer):
        queue = world.queues.get(name)
        for cell in world.quotas.get(queue.place, {}) if queue else ():
            assert queue
            used, more = usage.get(queue.place, {}).get(cell, 0), wanted.get((name, cell), 0)
            nominal, most = queue.quota(cell).nominal, 0 if world.in_cycle(queue.place) else world.most(queue.place, cell)
            words = f"{spelt(cell[1], nominal)} own, {spelt(cell[1], most)} at most"
            words += f", {spelt(cell[1], used)} used" if used else ""
            words += f", {spelt(cell[1], more)} wanted" + (" together" if len(asked) > 1 else "") if more else ""
            words += ": more than there is at once" if more and used + more > most else ""
            yield name, cell[0], cell[1], bar(used, more, nominal, most), words


def bar(used: int, wanted: int, nominal: int, most: int) -> str:
    """Draw a bar of a queue's maximum.

    Signs: used (`#`), wanted (`+`), free in the queue's own quota (`.`), free to borrow (`-`), and more than the maximum (`!`).
    """
    whole = min(most, max(nominal, used + wanted, 1)) if most >= 1 << 62 else max(most, 1)
    ends = [min(_BAR, round(_BAR * each / whole)) for each in (used, used + wanted, max(nominal, used + wanted), whole)]
    cells = "".join(mark * max(0, end - start) for mark, start, end in zip("#+.-", (0, *ends), ends, strict=False))
    return f"[{cells:-<{_BAR}}]" if used + wanted <= whole else f"[{cells[: _BAR - 1]:-<{_BAR - 1}}!]"


# For programs, and for the comment of a pull request.


def json_report(asked: Sequence[Asked], *_: object) -> str:
    """Write all workloads with their pod sets as JSON."""
    workloads = [_as_dict(each, each.answer) for each in asked if each.answer]
    return dumps({"workloads": workloads}, indent=2, ensure_ascii=False) + "\n"


def _as_dict(each: Asked, answer: QueueAnswer) -> Mapping[str, object]:
    return {
        "kind": each.job.kind,
        "namespace": answer.workload.namespace,
        "name": job_name(each.job.data),
        **({} if answer.workload.group is None else {"group": answer.workload.group}),
        "queue": answer.workload.queue,
        "verdict": answer.verdict,
        "reason": answer.reason,
        **({"room": each.room} if each.room else {}),
        **({"preempts": list(answer.preempted)} if answer.preempted else {}),
        "podSets": [
            {
                "name": pods.name,
                "count": pods.count,
                "verdict": pods.verdict,
                "flavor": dict(pods.flavors),
                "tried": [{"flavor": it.flavor, "verdict": it.verdict, "reasons": list(it.reasons)} for it in pods.tried],
            }
            for pods in answer.pod_sets
        ],
    }


def markdown_report(asked: Sequence[Asked], world: World, how: TextOptions) -> str:
    """Write a table of the jobs, and a table of the quotas, as Markdown."""
    lines = ["| Job | Queue | Pods | Verdict | Why |", "|---|---|---|---|---|"]
    for each in asked:
        answer = each.answer
        if answer is None:
            verdict, why = _without_answer(each, world, how)
            verdict += f": its {each.children[0][0]} is in a queue" if each.children else ""
            lines.append(_queue_row(f"{each.job.kind} `{_name(each)}`", "-", "", verdict, why))
            continue
        queue = f"`{answer.workload.queue}`" + (f" → `{answer.cluster_queue}`" if answer.cluster_queue else "")
        queue = queue if answer.workload.queue else "-"
        why = "; ".join(filter(None, [answer.reason, each.room, *answer.notes, remark_on_kind(each, world, how)]))
        lines.append(_queue_row(f"{each.job.kind} `{_name(each)}`", queue, "", f"**{verdict_text(answer)}**", why))
        for pods in answer.pod_sets:
            tried = [f"`{it.flavor}`: {', '.join(it.reasons) or it.verdict}" for it in pods.tried]
            lines.append(_queue_row("", pods.name, str(pods.count), _flavors(pods), "; ".join(filter(None, [*tried, _leaves(pods)]))))
    bars = list(_bars(asked, world))
    lines += ["", "| ClusterQueue | Flavor | Resource | Quota | |", "|---|---|---|---|---|"] if bars else []
    lines += [_queue_row(queue, flavor, resource, f"`{drawn}`", words) for queue, flavor, resource, drawn, words in bars]
    return "\n".join([*lines, "", *_remarks(asked, world, how), ""])


def _queue_row(*cells: str) -> str:
    return f"| {' | '.join(visible(each).replace('|', chr(92) + '|') for each in cells)} |"


#: Format of the report -> what writes it.
REPORTS: Mapping[str, Callable[[Sequence[Asked], World, TextOptions], str]] = {
    "text": text_report,
    "json": json_report,
    "markdown": markdown_report,
}
