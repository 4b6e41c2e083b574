"""The differences between a job and its migration in words, at the lines of the job: one diagnostic for what all its nodes share."""

from __future__ import annotations

from jobspec.diagnostics import Diagnostic
from jobspec.documents.marked_tree import with_marks
from jobspec.migration.loss import CHANGED, LOST, NOTE
from jobspec.migration.placement import TRAINING
from jobspec.migration.view import JOBSET

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from jobspec.diagnostics import Mark, Severity
    from jobspec.documents.document import Document
    from jobspec.documents.marked_tree import MarkedTree
    from jobspec.migration.facts import Difference, Fact, Key
    from jobspec.migration.migrated import Migrated

_SEVERITIES: dict[str, Severity] = {LOST: "warning", CHANGED: "warning", NOTE: "info"}
_LONGEST = 80
#: About the life of a job: what is told of it, with `{before}` and `{after}`.
_LIFE = {
    "restart": "a container that fails is handled otherwise: {after}; it was: {before}",
    "restarts": "containers are started again {after} times in all before the job fails; it was {before}",
    "succeeds": "the job succeeds {after}; it was {before}",
    "others after a failure": "once the job has failed, its other pods {after}; they {before} so far",
    "restarts are counted": "restarts are counted {after}, not over all pods",
    "finished pods": "pods that have ended {after}; they {before} so far",
    "activeDeadlineSeconds": "the job ends after {after} seconds; it was {before}",
    "ttlSecondsAfterFinished": "the pods are deleted {after}; it was: {before}",
    "suspend": "the job is suspended: {after}; it was: {before}",
    "managedBy": "the job is managed by {after}; it was {before}",
    "restarts of all pods": "all pods are started again {after} times; it was {before}",
}
_WHOSE = {"job": " of the job", JOBSET: " of the JobSet"}
_HINTS = {
    "autoscaler": "a TrainJob keeps its number of nodes: choose one that the cluster has",
    "schedulingPolicy": "nothing of it counts unless the operator schedules gangs: if it does, say so with --gang-scheduler",
    "succeeds": "have every process end once the training is over",
    "ttlSecondsAfterFinished": "the trainer would run the job again; delete finished TrainJobs by other means",
    "restarts": "a TrainJob with a runtime of its own can say `backoffLimit`",
    "PET_NPROC_PER_NODE": "say the number of processes of a node in the job, if torchrun starts the program",
    "nproc_per_node": "say the number of processes of a node in the job",
}


def loss_report(migrated: Migrated) -> list[Diagnostic]:
    """All that is different, in the order of the comparison."""
    return report_of(migrated.rules(), migrated.differences, migrated.job)


def report_of(rules: Sequence[str], differences: Sequence[Difference], job: Document) -> list[Diagnostic]:
    """Differences as diagnostics, each by the rule at its number; one for what all nodes share."""
    groups: dict[tuple[str, Key], list[Difference]] = {}
    for rule, difference in zip(rules, differences, strict=True):
        groups.setdefault((rule, shared_key(difference.key)), []).append(difference)
    return [_diagnostic(rule, key, group, job) for (rule, key), group in groups.items()]


def shared_key(key: Key) -> Key:
    """A key without the number of the node."""
    return ("node", *key[1:]) if key[0].startswith("node ") else key


def _diagnostic(rule: str, key: Key, group: list[Difference], job: Document) -> Diagnostic:
    first = group[0]
    nodes = {each.key[0] for each in group}
    where = f" in {first.key[0]}" if len(nodes) == 1 and key[0] == "node" and first.key[0] != "node 0" else ""
    message = f"{_sentence(key, first)}{where}"
    hint = next((_HINTS[name] for name in key if name in _HINTS and rule != NOTE), "")
    mark = first.before.mark if first.before else None
    if mark and mark.line and mark.file != job.file:  # an overlay, or a runtime in another file
        return Diagnostic(rule, message, mark, severity=_SEVERITIES[rule], hint=hint)
    return job.problem(rule, message, _path(first.before, job), hint=hint, severity=_SEVERITIES[rule])


def _sentence(key: Key, difference: Difference) -> str:
    before, after = (_value(each) for each in (difference.before, difference.after))
    if key[-2] == "life" and difference.after is None:
        return f"`{key[-1]}` has no counterpart; it was: {difference.before.value if difference.before else 'not said'}"
    if key[-2] == "life":
        before, after = (str(each.value) if each else "not said" for each in (difference.before, difference.after))
        return _LIFE.get(key[-1], f"{key[-1]} is {{after}}; it was {{before}}").format(before=before, after=after)
    what = _what(key)
    if difference.after is None:
        shown = "" if difference.before and isinstance(difference.before.value, (list, dict)) else f" {before}"
        return f"{what}{shown} has no counterpart"
    return f"{what} is {after}, and was {before}" if difference.before else f"{what} is new: {after}"


def _what(key: Key) -> str:
    parts = [each for each in key[1:] if each != TRAINING]
    if parts[0] == "program":
        return {"how": "what starts the program", "words": "the command line"}[parts[1]]
    if parts[0] == "env":
        return f"the variable `{parts[1]}`"
    if parts[0] == "launcher":
        return f"torchrun's `{parts[1]}`"
    return f"`{'.'.join(parts)}`{_WHOSE.get(key[0], '')}"


def _value(fact: Fact | None) -> str:
    if fact is None:
        return "not said"
    text = " ".join(fact.value) if isinstance(fact.value, list) and all(isinstance(each, str) for each in fact.value) else str(fact.value)
    text = text.replace("\n", " ")
    if not text:
        return "empty"
    short = text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."
    return short if isinstance(fact.value, str) and " " in text else f"`{short}`"


def _path(fact: Fact | None, job: Document) -> tuple[str | int, ...]:
    """The path of the job's value that stands where a fact comes from; that of its kind where none does."""
    return ("kind",) if fact is None else path_at(fact.mark, job)


def path_at(mark: Mark, job: Document) -> tuple[str | int, ...]:
    """The path of the value of a document at a place; that of its kind where there is none."""
    if not mark.line or mark.file != job.file:
        return ("kind",)
    wanted = (mark.line, mark.column)
    found = [path for path, place in _places(job) if place == wanted]
    return found[-1] if found else ("kind",)


def _places(job: Document) -> Iterator[tuple[tuple[str | int, ...], tuple[int, int]]]:
    def walk(tree: MarkedTree, path: tuple[str | int, ...]) -> Iterator[tuple[tuple[str | int, ...], tuple[int, int]]]:
        place = tree.place()
        yield path, (place.line, place.column)
        if isinstance(tree.value, dict):
            for name, child in tree.value.items():
                yield from walk(child, (*path, name))
        elif isinstance(tree.value, list):
            for number, child in enumerate(tree.value):
                yield from walk(child, (*path, number))

    yield from walk(with_marks(job.data, job.marks), ())
