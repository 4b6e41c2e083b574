"""The outcome of an accepted job, judged as a whole: it is expanded, and rules look at its objects and programs."""

from __future__ import annotations

from jobspec.apis.kinds import CONFIG_MAP, RAY_JOB, TRAINJOB
from jobspec.diagnostics.diagnostic import Diagnostic, Reasons, has_error
from jobspec.diagnostics.errors import JobspecError
from jobspec.diagnostics.grouping import grouped
from jobspec.diagnostics.places import Mark, Path, value_at
from jobspec.diagnostics.problems import Change, Problem
from jobspec.diagnostics.rules import REFUSED, Finding
from jobspec.documents.document import Document
from jobspec.documents.marked_tree import MarkedTree, PlainTree, child_of, items, place_in, place_of, text
from jobspec.go.values import mapping
from jobspec.kubernetes.builtin import builtin_problems
from jobspec.kubernetes.problems import listed
from jobspec.operators.config_map_variables import with_variables
from jobspec.operators.expansion import ExpandedJob, expand
from jobspec.operators.made import with_generated_names
from jobspec.operators.mounted_scripts import with_mounted_scripts
from jobspec.outcome.arguments import wrong_flags, wrong_torchrun_options, wrong_torchrun_variables
from jobspec.outcome.endings import complete_without_training, restarts_forever
from jobspec.outcome.refusals import decided, lost_objects, policy_outcomes, refused_by_policies, unschedulable
from jobspec.outcome.rendezvous import RENDEZVOUS_RULES
from jobspec.outcome.training_program import started

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
    from typing import Any

    from jobspec.kubernetes.index import Index
    from jobspec.world.world import Cluster


# The judgement of an accepted job as a whole: the objects that its operator creates, and the findings of all rules about them.


def judged(
    job: Document, context: Sequence[Document], cluster: Cluster, policies: Index | None = None, *, skip_server_checks: bool = False
) -> list[Diagnostic] | None:
    """The outcomes of a job whose runtime is at hand; None where it has too many pods to expand.

    *skip_server_checks*: a server is known to accept all objects of the job. The other arguments are those of `foresee`.
    """
    try:
        expansion = expand(job, context, cluster.target, first_and_last_only=True, skip_server_checks=skip_server_checks)
        if has_error(expansion.diagnostics):
            return list(expansion.diagnostics)
        expanded = ExpandedJob(job, expansion.objects, cluster.target, expansion.counts)
        by_policies, by_webhook = list[Finding](), list[Diagnostic]()
        if policies and policies.have_policies:
            from jobspec.operators.policies import changed_objects

            made = changed_objects(expanded, policies, context, first_and_last_only=True)
            expanded, by_webhook = made.job, list(made.refusals)
            skip_server_checks = skip_server_checks and not policies.change_objects
            by_policies = [decided(each, tree) for tree, each in made.decisions]
            by_policies += refused_by_policies(expanded, policies, context)
            if all(each.severity != "error" for each in by_policies):
                by_policies += lost_objects(expanded)
        if by_webhook:
            return [*expansion.diagnostics, *by_webhook]
        refused = [*([] if skip_server_checks else refused_objects(expanded)), *by_policies]
        said = {each.message for each in by_policies}
        return [*expansion.diagnostics, *_each_place_once([*refused, *_outcomes(expanded, cluster, policies)], job, apart=said)]
    except JobspecError:
        return None


def _outcomes(expanded: ExpandedJob, cluster: Cluster, policies: Index | None) -> Iterator[Finding]:
    """The outcomes of a job whose objects are accepted."""
    seen = _with_config_maps(expanded, policies)
    begun = started(seen)
    for rule in RENDEZVOUS_RULES:
        yield from rule(seen, begun)
    if expanded.job.group_kind[0] == RAY_JOB[0]:
        from jobspec.outcome.ray_clusters import ray_outcomes

        yield from ray_outcomes(expanded)
    if expanded.job.group_kind == TRAINJOB:
        yield from complete_without_training(expanded)
        yield from restarts_forever(expanded)
    yield from policy_outcomes(expanded, policies, complete=cluster.complete)
    if cluster.is_pinned:
        yield from unschedulable(expanded, cluster)
    yield from wrong_torchrun_options(begun)
    yield from wrong_torchrun_variables(begun)
    yield from wrong_flags(begun, cluster.contracts)


def _with_config_maps(job: ExpandedJob, index: Index | None) -> ExpandedJob:
    """Return a job with the scripts and variables that its pods take from given ConfigMaps.

    If several ConfigMaps of one name differ, nothing is taken from them.
    """
    space = job.job.namespace
    if index is None or not index.names(CONFIG_MAP, space):
        return job

    def data_of(name: str) -> Mapping[str, MarkedTree]:
        return dict(PlainTree(mapping(index.find_only(CONFIG_MAP, space, name), "data"), Mark("")).entries())

    objects = with_variables(with_mounted_scripts(job.objects, data_of), data_of)
    is_same = all(each is before for each, before in zip(objects, job.objects, strict=True))
    return job if is_same else ExpandedJob(job.job, objects, job.target, job.counts)


def _each_place_once(outcomes: Iterable[Finding], job: Document, *, apart: Container[str]) -> list[Diagnostic]:
    """The diagnostics, one for each rule and place, however many pods and objects it hits; messages that are kept *apart*, once each."""
    first: dict[tuple[str, str, str], Diagnostic] = {}
    for each in outcomes:
        found = job.diagnostic(each)
        cause = each.message.cause if isinstance(each.message, Reasons) else each.message if each.message in apart else ""
        first.setdefault((found.rule, str(found.mark), cause), found)
    return list(first.values())


# Objects that the server refuses when the operator creates them: the job does not start, and at most an event says why.


def refused_objects(job: ExpandedJob) -> Iterator[Finding]:
    """Yield why the server refuses objects. Pods of a refused Job or StatefulSet never come."""
    of_makers = {(kind, text(each, "metadata", "name")): _problems(each, job) for kind in _MAKE_PODS for each in job.of_kind(kind)}
    refused_sets = any(found for (kind, _), found in of_makers.items() if kind == "StatefulSet")
    for kind in (*_MAKE_PODS, "Service", *([] if refused_sets else ["PersistentVolumeClaim"])):
        for alike in grouped(job.of_kind(kind), lambda each: text(each, "metadata", "name").rstrip("0123456789")).values():
            if kind not in _MAKE_PODS and not _problems(alike[-1], job):
                continue  # none has a longer name
            for each in alike if len(alike) < 3 else (alike[0], alike[-1]):
                name = text(each, "metadata", "name")
                for problem in of_makers[kind, name] if kind in _MAKE_PODS else _problems(each, job):
                    message = f"{kind} `{name}` refused: {problem.message}"
                    hint, changes = problem.hint or _of_patch(each, problem, job), _changes_in(job.job, each, problem.remedy)
                    yield Finding(_place_of_mistake(each, problem), message, hint, rule=REFUSED[kind], changes=changes)
    for role in job.roles:
        pod = role.pods[-1].tree if job.of_kind("StatefulSet") else role.pod_tree  # names with numbers are in labels of their pods
        owners = [(text(each, "kind"), text(each, "name")) for each in items(pod.get("metadata", "ownerReferences"))]
        if not any(of_makers.get(each) for each in owners):
            for problem in _problems(pod, job):
                message = f"pods refused: {problem.message}"
                changes = _changes_in(job.job, pod, problem.remedy)
                yield Finding(_place_of_mistake(pod, problem), message, problem.hint, rule="pods-refused", changes=changes)


#: The kinds of objects whose controllers make pods.
_MAKE_PODS = ("Job", "StatefulSet")


def _place_of_mistake(made: MarkedTree, problem: Problem) -> Mark | None:
    """The line of a mistake; of a limit that is missing, the line of its request."""
    path = problem.path
    if problem.rule == "missing-field" and "limits" in path:
        path = tuple("requests" if step == "limits" else step for step in path)
    return _of_other_port(made, path) if "ports" in path and problem.rule == "duplicate-item" else place_in(made, path)


def _of_other_port(made: MarkedTree, path: Path) -> Mark | None:
    """The line of the port that a port equals, where the operator added that one."""
    at = path.index("ports")
    ports = made.get(*(str(step) for step in path[: at + 1]))
    own = [number for number, each in enumerate(items(ports)) if place_of(each)]
    is_own = path[at + 1] in own if len(path) > at + 1 else True
    return place_in(made, path if is_own or not own else (*path[: at + 1], own[-1], "port"))


def _changes_in(job: Document, made: MarkedTree, remedy: Change | None) -> Sequence[Change]:
    """The remedy of a mistake in a created object, at each place of the job from which that part was made; else none."""
    if not remedy:
        return ()
    here, rest = made, remedy.path
    while rest and (child := child_of(here, rest[0])):
        here, rest = child, rest[1:]
    if rest and remedy.action != "set":
        return ()
    changed = type(remedy)(remedy.action, rest, remedy.value)
    return [changed.below(path) for path in (_around(job, here) if rest else _paths_that_became(job, here))]


def _paths_that_became(job: Document, made: MarkedTree) -> Iterator[Path]:
    """The paths of the job's values from which a value of a created object was made."""
    if made.mark.line and made.mark.file == job.file and not made.mark.layer:
        yield from (path for path in job.marks.paths_to(made.mark) if _shape(value_at(job.data, path)) == _shape(made.data()))


def _shape(data: Any) -> Any:
    """The keys of a mapping, or a scalar as text: the part of a value that stays when an operator writes numbers as text."""
    return list(data) if isinstance(data, dict) else str(data)


def _around(job: Document, made: MarkedTree) -> Iterator[Path]:
    """The paths of the job's mappings whose fields are in a created one, which may have a place of its own."""
    fields = made.value.items() if isinstance(made.value, dict) else ()
    found = ([path[:-1] for path in _paths_that_became(job, field) if path[-1:] == (name,)] for name, field in fields)
    yield from next(filter(None, found), ())


def _of_patch(made: MarkedTree, problem: Problem, job: ExpandedJob) -> str:
    """The remedy of a container without an image that a patch of the job adds; empty for another mistake."""
    *above, number, field = problem.path or ("",)
    if field != "image" or not isinstance(number, int) or job.job.group_kind != TRAINJOB:
        return ""
    containers = items(made.get(*map(str, above)))
    if not job.job.marks.nearest(("spec", "runtimePatches")).contains(containers[number].mark):
        return ""
    known = listed(text(each, "name") for each in containers if text(each, "image"))
    what = f"no container `{text(containers[number], 'name')}`" if above[-1] == "containers" else "no such init container"
    return f"the runtime has {what}, so that the patch adds one{f'; it has {known}' if known else ''}"


def _problems(made: MarkedTree, job: ExpandedJob) -> list[Problem]:
    data = with_generated_names(made)
    return builtin_problems(data, data["apiVersion"], data["kind"], job.target, encoded=True)
