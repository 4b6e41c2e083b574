"""Count results, and write the last line of a report."""

from __future__ import annotations

from jobspec.diagnostics.grouping import grouped
from jobspec.diagnostics.record import Record
from jobspec.diagnostics.results import CHECKS, STATUSES, UNBUILT
from jobspec.diagnostics.wording import counted, enumerated, severity_counts, shortened

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import Any

    from jobspec.diagnostics.diagnostic import Diagnostic
    from jobspec.diagnostics.results import DocumentResult, FileResult, Status


def count(files: Sequence[FileResult]) -> dict[str, int]:
    """Count the documents: in total, by status, and accepted jobs that will not run."""
    documents = [document for each in files for document in each.documents]
    statuses = [document.status for document in documents]
    counts = {"documents": len(statuses)} | {str(status): statuses.count(status) for status in STATUSES}
    counts["willNotRun"] = sum(each.will_not_run for each in documents)
    alone = sum(_is_object_alone(each) for each in documents)
    ignored = sum(each.ignored for each in files)
    found = [diagnostic.rule for each in files for diagnostic in each.diagnostics]
    unknown = {name: found.count(rule) for name, rule in _NOT_KNOWN.items()}
    templates = sum(each.by_template for each in documents)
    further = {"objectAlone": alone, "podsByTemplate": templates, "ignored": ignored} | unknown
    return counts | {name: number for name, number in further.items() if number}


#: Answers that are not known: the name of their number -> the rule that reports each.
_NOT_KNOWN = {"policiesNotEvaluated": "policy-not-evaluated", "admissionNotKnown": "admission-not-known"}
#: Group -> the kinds of jobs that are judged as objects: which pods their operators make of them is not known to jobspec.
OBJECTS_ALONE = {
    "batch.volcano.sh": ("Job",),
    "sagemaker.amazonaws.com": ("HyperPodPyTorchJob",),
}


def _is_object_alone(row: DocumentResult) -> bool:
    """Whether a job was judged, and no rule has looked at its pods."""
    return row.status in ("valid", "partly") and not row.by_template and is_job_of_others(row.api_version, row.kind)


def is_job_of_others(api_version: str, kind: str) -> bool:
    """True if jobs are of a kind whose pods jobspec does not know."""
    return kind in OBJECTS_ALONE.get(api_version.partition("/")[0], ())


def coverage(files: Sequence[FileResult], releases: Mapping[str, str], *, fixable: bool = False) -> str:
    """Write the last line of a report: documents, their statuses, and the releases they met.

    *fixable*: add how many findings `--fix` can fix.
    """
    return _last_line(_Counted.of(files, fixable=fixable), releases, _within(_reasons(files)))


def coverage_lines(files: Sequence[FileResult], releases: Mapping[str, str], *, fixable: bool = False) -> list[str]:
    """Write the end of a report: what `coverage` says, in several lines if one would be long.

    Then the reasons come before the last line, each in a line of its own.
    """
    counts, why = _Counted.of(files, fixable=fixable), _reasons(files)
    line = _last_line(counts, releases, _within(why))
    if len(line) <= _LONGEST_LINE:
        return [line]
    reasons = {status: [", ".join(found)] if status == "skipped" else found for status, found in why.items()}
    lines = [f"{_WORDS.get(status, status)}: {each}" for status, found in reasons.items() for each in found]
    return [*lines, _last_line(counts, releases, {})]


_LONGEST_LINE = 160


def _within(reasons: Mapping[Status, Sequence[str]]) -> dict[Status, str]:
    """Return what stands behind the number of each status."""
    return {status: f" ({(', ' if status == 'skipped' else '; ').join(found)})" for status, found in reasons.items()}


def _reasons(files: Sequence[FileResult]) -> dict[Status, list[str]]:
    """Return for each status why its documents were not fully checked.

    Each reason has the number of the documents.
    """
    found = {status: [*_stages_not_reached(files, status)] for status in STATUSES}
    found["partly"] = [*_reasons_of_partly(files), *found["partly"]]
    found["skipped"] = reasons_of_skipped(files)
    return {status: reasons for status, reasons in found.items() if reasons}


class _Counted(Record):
    """What the last line of a report counts."""

    numbers: Mapping[str, int]
    """What `count` counts."""
    findings: str
    """The numbers of findings by severity; empty without any."""
    fixable: Sequence[str]

    @classmethod
    def of(cls, files: Sequence[FileResult], *, fixable: bool) -> _Counted:
        """Count the documents and findings of files. *fixable*: also those that `--fix` can fix."""
        found = [diagnostic for each in files for diagnostic in each.diagnostics]
        return cls(count(files), severity_counts(found) if found else "", list(_fixable(found)) if fixable else ())


def _last_line(counted_files: _Counted, releases: Mapping[str, str], within: Mapping[Status, str]) -> str:
    """The last line of a report; *within*: what stands behind the number of a status."""
    counts = counted_files.numbers
    lost = counts["willNotRun"]
    by_status = {**{status: counts[status] for status in STATUSES}, "valid": counts["valid"] - lost}
    parts = [f"{by_status[status]} {_WORDS.get(status, status)}{within.get(status, '')}" for status in STATUSES if by_status[status]]
    parts += [f"{lost} accepted but will not run"] if lost else []
    alone = counts.get("objectAlone", 0)
    parts += [f"{alone} judged as {'an object' if alone == 1 else 'objects'} alone"] if alone else []
    templates = counts.get("podsByTemplate", 0)
    parts += [f"pods of {counted(templates, 'object')} seen by template alone"] if templates else []
    parts += [counted_files.findings] if counted_files.findings else []
    unknown = counts.get("policiesNotEvaluated", 0)
    parts += [f"{unknown} answer{'s' * (unknown > 1)} of policies not evaluated"] if unknown else []
    parts += [f"{counts['admissionNotKnown']} not known to be admitted"] if "admissionNotKnown" in counts else []
    parts += [f"{counts['ignored']} ignored"] if "ignored" in counts else []
    parts += counted_files.fixable
    documents = counted(counts["documents"], "document")
    return f"{documents}: {', '.join(parts) or 'nothing found'} ({', '.join(' '.join(each) for each in releases.items())})"


def _fixable(found: Sequence[Diagnostic]) -> Iterator[str]:
    """Yield how many findings `--fix` fixes, and how many only `--unsafe-fixes`."""
    safe = sum(each.has_safe_fix for each in found)
    unsafe = sum(bool(each.changes) for each in found) - safe
    if safe:
        yield f"{safe} fixable with --fix"
    if unsafe:
        yield f"{unsafe} {'more ' if safe else ''}fixable with --fix --unsafe-fixes"


_WORDS = {"partly": "partly checked"}
_CHART, _OF_CHART = "Helm chart file", "Chart.yaml"


def reasons_of_skipped(files: Sequence[FileResult], *, named: bool = False) -> list[str]:
    """Return why documents are skipped, each reason with their number.

    The most frequent unknown kinds are given by name. *named*: name the files of each reason.
    """
    rows = [(each.path, row) for each in files for row in each.documents if row.status == "skipped"]
    known = grouped([each for each in rows if each[1].reason], lambda each: each[1].reason)

    def files_of(several: Sequence[tuple[str, DocumentResult]]) -> str:
        return f" ({shortened(sorted({path for path, _ in several}))})" if named else ""

    parts = []
    for reason, several in known.items():
        noun, colon, why = reason.partition(":")
        why = ": not rendered, use --helm CHART" if noun == _CHART else f"{colon}{why}"
        parts.append(f"{counted(len(several), noun)}{files_of(several)}{why}")
    others = [each for each in rows if not each[1].reason and not (each[1].kind and each[1].api_version)]
    parts += [f"{len(others)} not {'a manifest' if len(others) == 1 else 'manifests'}{files_of(others)}"] if others else []
    by_kind = grouped(unknown_kinds(files), lambda each: each["kind"])
    kinds = {kind: sum(each["documents"] for each in versions) for kind, versions in by_kind.items()}
    if not kinds:
        return parts
    shown = shortened([f"{number} {kind}" for kind, number in sorted(kinds.items(), key=lambda each: -each[1])])
    return [*parts, f"{sum(kinds.values())} of {'an unknown kind' if len(kinds) == 1 else 'unknown kinds'}: {shown}"]


def _reasons_of_partly(files: Sequence[FileResult]) -> Iterator[str]:
    """Yield each reason why documents are checked partly, with their kinds, the most frequent first."""
    rows = [row for each in files for row in each.documents if row.status == "partly" and row.reason]
    for reason, alike in sorted(grouped(rows, lambda row: row.reason).items(), key=lambda each: -len(each[1])):
        kinds = sorted(grouped(alike, lambda row: row.kind).items(), key=lambda each: -len(each[1]))
        yield f"{shortened([f'{len(same)} {kind}' for kind, same in kinds])}: {reason}"


def _stages_not_reached(files: Sequence[FileResult], status: Status) -> Iterator[str]:
    """Yield the stages that documents of a status did not reach, or reached with corrected fields, with the number of documents.

    The most frequent come first.
    """
    rows = [row for each in files for row in each.documents if row.status == status and row.not_reached]
    for stages, alike in sorted(grouped(rows, lambda row: row.not_reached).items(), key=lambda each: -len(each[1])):
        yield f"{len(alike)} not checked for {enumerated(stages)}"
    fixed = [row for each in files for row in each.documents if row.status == status and row.corrected_in]
    for stages, alike in sorted(grouped(fixed, lambda row: row.corrected_in).items(), key=lambda each: -len(each[1])):
        yield f"{len(alike)} checked for {enumerated(stages)} as if unknown fields were corrected"


def summary(files: Sequence[FileResult]) -> dict[str, Any]:
    """Return the counts of a report, and what was not checked.

    That are the unknown kinds among skipped documents, the stages that documents did not reach, and the builds that were not made.
    """
    missed = [stage for each in files for row in each.documents for stage in row.not_reached]
    lists = {
        "unknownKinds": unknown_kinds(files),
        "notReached": {stage: missed.count(stage) for stage in CHECKS if stage in missed},
        "notBuilt": _not_built(files),
    }
    return count(files) | {name: found for name, found in lists.items() if found}


def _not_built(files: Sequence[FileResult]) -> list[dict[str, Any]]:
    """Return the builds that were not made: what was to be built, why it was not, and the number, the most frequent first."""
    rows = [(each.path, row.reason) for each in files for row in each.documents if row.status == "skipped"]
    builds = [reason.removeprefix(UNBUILT).partition(": ") for _, reason in rows if reason.startswith(UNBUILT)]
    found = [(what, why) for what, _, why in builds]
    charts = [path.removesuffix(_OF_CHART) for path, reason in rows if reason == _CHART and path.endswith(_OF_CHART)]
    inner = {each for each in charts for around in charts if each != around and each.startswith(around)}
    found += [("Helm chart", "not rendered without --helm") for each in charts if each not in inner]
    return [
        {"build": what, "reason": why, "builds": len(alike)}
        for (what, why), alike in sorted(grouped(found, lambda each: each).items(), key=lambda each: -len(each[1]))
    ]


def unknown_kinds(files: Sequence[FileResult]) -> list[dict[str, Any]]:
    """The kinds of skipped documents that jobspec has no schema of, each with the number of its documents, the most frequent first."""
    rows = (row for each in files for row in each.documents if row.status == "skipped" and row.kind and row.api_version and not row.reason)
    found = [(-len(alike), kind, version) for (kind, version), alike in grouped(rows, lambda row: (row.kind, row.api_version)).items()]
    return [{"apiVersion": version, "kind": kind, "documents": -number} for number, kind, version in sorted(found)]
