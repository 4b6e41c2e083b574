"""What an upgrade of the platform changes for jobs and runtimes: what is refused, what will not run, which pods differ.

A cluster before the upgrade and one after it judge the same manifests; the pods that their operators create are compared.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from jobspec.apis.kinds import CLUSTER_TRAINING_RUNTIME, TRAINING_RUNTIME, TRAINJOB
from jobspec.apis.releases import ADDED_VERSIONS, RELEASES, REMOVED_VERSIONS, Target, is_at_least
from jobspec.diagnostics.causes import joined
from jobspec.diagnostics.diagnostic import Diagnostic, has_error
from jobspec.diagnostics.errors import JobspecError
from jobspec.diagnostics.grouping import grouped
from jobspec.diagnostics.places import Mark, value_at
from jobspec.documents.document import Document
from jobspec.documents.marked_tree import as_document, of_kind
from jobspec.kubernetes.structural import filled
from jobspec.migrate.facts import Difference, JobFacts, compared, job_facts, with_whole_items
from jobspec.migrate.jobs import NOTE, meaning_in, report_of
from jobspec.operators.trainer.runtimes import LONGEST_NAME, NAMES_LIMITED_SINCE, long_names, runtime_of
from jobspec.operators.workloads import suspended, takes_overlays
from jobspec.schemas import shapes
from jobspec.world.judging import judge
from jobspec.world.world import Cluster, StoredObjects

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Literal

    from jobspec.diagnostics.diagnostic import Severity

RULE = "pods-change"


@dataclass(frozen=True, slots=True)
class JudgedJob:
    """An accepted job, with the documents that it may refer to."""

    name: str
    """What identifies it: its file and name, or its variant."""
    document: Document
    context: Sequence[Document]
    target: Target
    """The releases of its cluster."""


@dataclass(frozen=True, slots=True)
class UpgradeState:
    """The diagnostics and accepted jobs of manifests in a cluster, before or after the upgrade."""

    cluster: Cluster
    diagnostics: Sequence[Diagnostic]
    jobs: Mapping[str, JudgedJob]
    """The accepted jobs by what identifies them."""
    documents: Sequence[Document] = ()
    """All documents that are judged."""


def changes(before: UpgradeState, after: UpgradeState, run: Callable[..., list[list[Diagnostic]]]) -> list[Diagnostic]:
    """Return the new problems and the changed pods of an upgrade, each once for all its jobs.

    *run*: how jobs are gone through, as in `run(jobs, work)`.
    """
    both = [name for name in before.jobs if name in after.jobs]
    same = [name for name in both if _runtime_of(before.jobs[name]) == _runtime_of(after.jobs[name])]
    unlike = [before.jobs[name].document for name in both if name not in same]
    others = {(each.file, each.index) for each in unlike}
    new = _new_problems(before, after)
    warnings = [each for each in new if each.severity == "warning" and (each.mark.file, each.document) not in others]
    shared = joined(warnings, lambda each: (each.rule, each.message, each.hint))
    errors = [*(each for each in new if each.severity == "error"), *shared, *_old_errors(before, after)]
    return [*errors, *_once(run(same, lambda name: _differences(before.jobs[name], after.jobs[name])), len(same))]


def _runtime_of(job: JudgedJob) -> str:
    """Return the place of the runtime that a job refers to; empty if there is none.

    If the trainer ships the runtime, it is the place of the reference. If the runtime is another one after the upgrade, since one of them
    is refused, an error says so, and differences of the pods say nothing.
    """
    found = runtime_of(job.document, job.context, job.target) if job.document.group_kind == TRAINJOB else None
    return str(found.marks.mark) if found else ""


def _new_problems(before: UpgradeState, after: UpgradeState) -> list[Diagnostic]:
    """The errors and warnings that only the cluster after the upgrade has."""
    known = {_key_across_releases(each) for each in before.diagnostics}
    return [each for each in after.diagnostics if each.severity != "info" and _key_across_releases(each) not in known]


def _old_errors(before: UpgradeState, after: UpgradeState) -> Iterator[Diagnostic]:
    """Yield the errors from before the upgrade, the first of each document.

    A refused document has no pods to compare.
    """
    left, new = {_key_across_releases(each) for each in after.diagnostics}, {str(each.mark) for each in _new_problems(before, after)}
    first: dict[tuple[str, int | None], Diagnostic] = {}
    for each in before.diagnostics:
        if each.severity == "error" and str(each.mark) not in new:
            first.setdefault((each.mark.file, each.document), each)
    for each in first.values():
        when = "before and after the upgrade" if _key_across_releases(each) in left else "before the upgrade only"
        message = f"an error {when}: {each.message} [{each.rule}]"
        yield Diagnostic("refused-before", message, each.mark, field=each.field, document=each.document, severity="info")


def _key_across_releases(each: Diagnostic) -> tuple[str, str, str]:
    """A key of a problem that is the same before and after, though messages name releases."""
    return each.rule, str(each.mark), each.field


def _differences(old: JudgedJob, new: JudgedJob) -> list[Diagnostic]:
    """Return the differences in the pods of one job, and in its life."""
    try:
        seen = job_facts(old.document, old.context, old.target)
        then = job_facts(new.document, new.context, new.target)
    except JobspecError:  # too many pods to expand
        return []
    if has_error(seen.refusals) or has_error(then.refusals):
        return []  # reported as an outcome already
    nodes = [{key[0] for key in side.facts if key[0].startswith("node ")} for side in (seen, then)]
    found = [each for each in compared(seen, then) if not each.key[0].startswith("node ") or each.key[0] in nodes[0] & nodes[1]]
    differences = _without_consequences(with_whole_items(found, seen, then))
    rules = [meaning_in(seen.facts, each) for each in differences]
    changed = [
        _as_change(each, "info" if each.rule == NOTE else "warning") for each in report_of(rules, differences, old.document, gone="is gone")
    ]
    if seen.nodes != then.nodes:
        message = f"the number of pods that train is {then.nodes}; before: {seen.nodes}"
        changed.insert(0, _as_change(old.document.problem(RULE, message, ("metadata", "name")), "warning"))
    return [*changed, *_recreated_first(old.document, seen, then, new.target)]


def _recreated_first(job: Document, before: JobFacts, after: JobFacts, target: Target) -> Iterator[Diagnostic]:
    """Yield a warning if a TrainJob suspended during the upgrade never starts.

    The trainer applies its JobSet anew, and may not change it. A JobSet that runs is left alone: `JobSet.Build`,
    github.com/kubeflow/trainer pkg/runtime/framework/plugins/jobset, 2.0.0 to 2.3.0.
    """
    made = [suspended(as_document(each, job)) for side in (before, after) for each in of_kind(side.objects, "JobSet")]
    if len(made) == 2 and _refuses(made[:1], made[1:], Cluster(target)):
        message = "a job suspended or queued during the upgrade never starts: the change of its JobSet is refused"
        hint = "let it start before the upgrade, or recreate it afterwards"
        yield job.problem("recreated-first", message, ("metadata", "name"), hint=hint, severity="warning")


def _without_consequences(found: Sequence[Difference]) -> list[Difference]:
    """Leave out differences that follow from another one.

    A variable follows from a setting of torchrun, and the start of a program from its command line.
    """
    settings = {(each.key[0], "env", f"PET_{each.key[-1].upper()}") for each in found if each.key[-2] == "launcher"}
    starts = {(each.key[0], "program", "how") for each in found if each.key[-2:] == ("program", "words")}
    return [each for each in found if (each.key[0], *each.key[-2:]) not in settings | starts]


def _as_change(each: Diagnostic, severity: Severity) -> Diagnostic:
    return Diagnostic(RULE, each.message, each.mark, field=each.field, document=each.document, severity=severity, hint=each.hint)


def _once(of_jobs: Iterable[Sequence[Diagnostic]], count: int) -> list[Diagnostic]:
    """Each change once, at the first job that it is true of; the others are counted."""
    firsts = [first for found in of_jobs for first in {(each.message, each.severity): each for each in reversed(found)}.values()]
    return [_shared(several, count) for several in grouped(firsts, lambda each: (each.message, each.severity)).values()]


def _shared(several: Sequence[Diagnostic], count: int) -> Diagnostic:
    """The first of equal changes, with the number of jobs that have it."""
    first = several[0]
    if count == 1:
        return first
    return first.with_message(f"{first.message} ({f'all {count}' if len(several) == count else f'{len(several)} of {count}'} jobs)")


def needed_first(
    before: Sequence[Document], after: Sequence[Document], old: Target, cluster: Cluster
) -> Literal["", "suspended", "recreated"]:
    """Return the state that stored jobs need before the upgraded cluster accepts their new form.

    The stored jobs have the defaults of the *old* releases, and no longer the fields that the cluster does not know. If jobs need not be
    changed first, return an empty string.
    """
    stored = [_filled(_filled(each, old), cluster.target) for each in before if takes_overlays(each)]
    wanted = [each for each in after if takes_overlays(each)]
    if not _refuses(stored, wanted, cluster):
        return ""
    return "recreated" if _refuses(list(map(suspended, stored)), list(map(suspended, wanted)), cluster) else "suspended"


def _refuses(stored: Sequence[Document], wanted: Sequence[Document], cluster: Cluster) -> bool:
    """Whether a cluster refuses that stored objects are updated."""
    return any(has_error(each.diagnostics) for each in judge(wanted, cluster.updating(StoredObjects(stored))))


def _filled(document: Document, target: Target) -> Document:
    """An object as a release stores it."""
    shape = shapes.load(document.api_version, document.kind, target)
    return document.changed(filled(document.data, shape)) if shape else document


# Problems of upgrades and pairs of releases, independent of the jobs.


_PATCHED_SINCE = {"kueue": "0.17", "trainer": "2.2"}
"""The releases from which Kueue writes `runtimePatches`, and the trainer has them."""
_UNPATCHED = "Kueue writes `runtimePatches`, which an older trainer drops: every TrainJob stays suspended (kubernetes-sigs/kueue#11931)"
#: What release notes say of a component's release: the one to pass through before it, if any, and what changes; not tried by us.
_STEPS = (
    ("trainer", "2.4", "2.3", "2.3 has to be passed through on the way to 2.4"),
    ("trainer", "2.4", "", "a failed TrainJob stays failed from 2.4 on"),
    *(
        (operator, since, "", f"`{old}` is not served from {since} on: write `{new.rpartition('/')[2]}`")
        for old, (operator, since, new) in REMOVED_VERSIONS.items()
    ),
)
_NODES = ("spec", "trainer", "numNodes")
_NO_FEWER_THAN_0_SINCE = "2.4"
_AS_READ = "(by its release notes)"


def release_problems(before: Mapping[str, str], after: Mapping[str, str]) -> Iterator[Diagnostic]:
    """Yield the problems of an upgrade between releases, whatever the manifests.

    These are pairs of releases that do not work together, and steps that are left out.
    """
    option = "--to " + ",".join(f"{component}={release}" for component, release in after.items() if before.get(component) != release)
    mark = Mark(option)
    kueue, trainer, needed = after.get("kueue"), after.get("trainer"), _PATCHED_SINCE["trainer"]
    if kueue and trainer and is_at_least(kueue, _PATCHED_SINCE["kueue"]) and not is_at_least(trainer, needed):
        message = f"kueue {kueue} does not work with trainer {trainer}: {_UNPATCHED}"
        yield Diagnostic("release-pair", message, mark, hint=f"upgrade trainer to {needed} first")
    own = RELEASES["trainer"].get(after.get("trainer", ""), {}).get("jobset")
    if own and after.get("jobset") and not is_at_least(after["jobset"], own):
        message = f"trainer {after['trainer']} was built with JobSet {own}, and {after['jobset']} may not know what it sends"
        yield Diagnostic("release-pair", message, mark, severity="warning", hint=f"upgrade JobSet to {own} first")
    for component, since, passed, why in _STEPS:
        old, new = before.get(component, ""), after.get(component)
        if _passes(component, since, before, after) and not (passed and is_at_least(old, passed)):
            hint = f"upgrade to {component} {passed} first" if passed else ""
            yield Diagnostic("release-step", f"{component} {old} to {new}: {why} {_AS_READ}", mark, severity="warning", hint=hint)


def _passes(component: str, since: str, before: Mapping[str, str], after: Mapping[str, str]) -> bool:
    """Whether an upgrade of a component reaches or passes a release."""
    old, new = before.get(component), after.get(component)
    return bool(old and new and is_at_least(new, since) and not is_at_least(old, since))


def announced(documents: Iterable[Document], before: Mapping[str, str], after: Mapping[str, str]) -> Iterator[Diagnostic]:
    """Yield the fields that an unknown release refuses by its notes, main branch or CRDs.

    The release is later or earlier than all that jobspec knows. Runtimes, jobs, and Kueue's kinds are looked at.
    """
    documents = list(documents)
    yield from _versions_not_served(documents, before, after)
    if _passes("trainer", _NO_FEWER_THAN_0_SINCE, before, after):
        for document in (each for each in documents if each.group_kind == TRAINJOB):
            nodes = value_at(document.data, _NODES)
            if isinstance(nodes, int) and nodes < 0:
                message = f"`numNodes` is {nodes}, and trainer {_NO_FEWER_THAN_0_SINCE} accepts 0 or more (by its main branch)"
                yield document.problem("release-step", message, _NODES, hint="write how many pods train", severity="warning")
    if _passes("trainer", NAMES_LIMITED_SINCE, before, after):
        for document in (each for each in documents if each.group_kind in (TRAINING_RUNTIME, CLUSTER_TRAINING_RUNTIME)):
            for path, name in long_names(document.data):
                message = (
                    f"`{name}` has {len(name)} characters, and trainer {NAMES_LIMITED_SINCE} accepts at most {LONGEST_NAME} {_AS_READ}"
                )
                yield document.problem("release-step", message, path, hint="shorten it", severity="warning")


def _versions_not_served(documents: Sequence[Document], before: Mapping[str, str], after: Mapping[str, str]) -> Iterator[Diagnostic]:
    """Yield the documents in a version that an operator does not serve yet, or not any more."""
    for document in (each for each in documents if each.api_version in ADDED_VERSIONS):
        operator, since = ADDED_VERSIONS[document.api_version]
        if (release := after.get(operator)) and not is_at_least(release, since):
            message = f"`{document.api_version}` is served from {operator.capitalize()} {since} on: {release} refuses it"
            yield document.problem("release-step", message, ("apiVersion",))
    for document in (each for each in documents if each.api_version in REMOVED_VERSIONS):
        operator, since, newer = REMOVED_VERSIONS[document.api_version]
        if _passes(operator, since, before, after):
            message = f"`{document.api_version}` is not served from {operator.capitalize()} {since} on {_AS_READ}"
            hint = f"write `{newer}`, in which some fields have other names"
            yield document.problem("release-step", message, ("apiVersion",), hint=hint, severity="warning")
