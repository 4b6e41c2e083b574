"""Objects of an accepted job that the server refuses to the operator: the job stands still, and at most an event says why."""

from __future__ import annotations

from jobspec.documents.marked_tree import items, text
from jobspec.kinds import TRAINJOB
from jobspec.kubernetes.builtin import builtin_problems
from jobspec.operators.stored import as_a_cluster_names
from jobspec.outcome.rule import Outcome, place_in

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from jobspec.diagnostics import Mark
    from jobspec.documents.marked_tree import MarkedTree
    from jobspec.kubernetes.problems import Problem
    from jobspec.operators.expansion import ExpandedJob

#: Kind of an object -> the rule that tells of its refusal, and what the objects are called.
_RULES = {
    "Job": ("job-refused", "the Job"),
    "Service": ("service-refused", "the Service"),
    "PersistentVolumeClaim": ("claim-refused", "the claim"),
}


def refused_objects(job: ExpandedJob) -> Iterator[Outcome]:
    """The mistakes for which the server refuses objects. Pods of a refused Job never come."""
    of_jobs = {text(each, "metadata", "name"): _problems(each, job) for each in job.of_kind("Job")}
    yield from _refused_others(job, of_jobs)
    yield from _refused_pods(job, {name for name, problems in of_jobs.items() if problems})


def _refused_others(job: ExpandedJob, of_jobs: Mapping[str, Sequence[Problem]]) -> Iterator[Outcome]:
    for kind, (rule, what) in _RULES.items():
        for each in _ends(job.of_kind(kind)):
            name = text(each, "metadata", "name")
            for problem in of_jobs[name] if kind == "Job" else _problems(each, job):
                message = f"the server will refuse {what} `{name}`: {problem.message}"
                yield Outcome(rule, message, _place(each, problem), problem.hint or _of_patch(each, problem, job))


def _refused_pods(job: ExpandedJob, refused: Collection[str]) -> Iterator[Outcome]:
    """The mistakes in pods, but for those of the *refused* Jobs."""
    for role in job.roles():
        pod = role.pods[0].tree  # the others differ in numbers alone, which make no pod's name too long
        if text(pod, "metadata", "labels", "batch.kubernetes.io/job-name") not in refused:
            for problem in _problems(pod, job):
                message = f"the server will refuse the pods of {role.name}: {problem.message}"
                yield Outcome("pods-refused", message, _place(pod, problem), problem.hint)


def _place(made: MarkedTree, problem: Problem) -> Mark | None:
    """The line of a mistake; of a limit that is missing, the line of its request."""
    path = problem.path
    if problem.rule == "missing-field" and "limits" in path:
        path = tuple("requests" if step == "limits" else step for step in path)
    return place_in(made, path)


def _of_patch(made: MarkedTree, problem: Problem, job: ExpandedJob) -> str:
    """The remedy of a container without an image that a patch of the job adds; empty for another mistake."""
    *above, number, field = problem.path or ("",)
    if field != "image" or not isinstance(number, int) or job.job.group_kind != TRAINJOB:
        return ""
    containers = items(made.get(*map(str, above)))
    if not job.job.marks.nearest(("spec", "runtimePatches")).hold(containers[number].mark):
        return ""
    known = ", ".join(f"`{text(each, 'name')}`" for each in containers if text(each, "image"))
    what = f"no container `{text(containers[number], 'name')}`" if above[-1] == "containers" else "no such init container"
    return f"the runtime has {what}, so that the patch adds one{f'; it has {known}' if known else ''}"


def _ends(objects: Sequence[MarkedTree]) -> Iterator[MarkedTree]:
    """Of objects whose names differ in their last numbers alone, the first and the last: the last one's name may be longer."""
    alike: dict[str, list[MarkedTree]] = {}
    for each in objects:
        alike.setdefault(text(each, "metadata", "name").rstrip("0123456789"), []).append(each)
    for several in alike.values():
        yield from several if len(several) < 3 else (several[0], several[-1])


def _problems(made: MarkedTree, job: ExpandedJob) -> list[Problem]:
    data = as_a_cluster_names(made)
    return builtin_problems(data, data["apiVersion"], data["kind"], job.target, encoded=True)
