"""What the cluster's policies make of a job's pods: refused by Pod Security, LimitRanges and classes, too many for a quota, or waiting."""

from __future__ import annotations

from jobspec import kinds
from jobspec.diagnostics import Mark
from jobspec.documents.document import Document
from jobspec.findings import Finding, place_in
from jobspec.operators.made import with_generated_names
from jobspec.workloads import value_at

_LABELS = "pod-security.kubernetes.io/"

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any

    from jobspec.diagnostics import Severity
    from jobspec.kubernetes.admission.objects import PolicyObjects
    from jobspec.kubernetes.problems import Problem
    from jobspec.operators.expansion import ExpandedJob, ExpandedRole


def decides(document: Document, *, closed: bool) -> bool:
    """Whether an object decides on pods, or they wait for it. Unless the cluster is *closed*, what is absent does not count."""
    kind = document.group_kind
    if kind == kinds.NAMESPACE and not closed:
        return any(str(name).startswith(_LABELS) for name in value_at(document.data, ("metadata", "labels")) or ())
    if kind == kinds.SERVICE_ACCOUNT and not closed:
        return bool(value_at(document.data, ("metadata", "annotations")))
    return kind in kinds.POLICY_KINDS or (closed and kind in kinds.MOUNTED_KINDS)


def policies_among(documents: Sequence[Document], there: PolicyObjects | None, *, closed: bool) -> PolicyObjects | None:
    """The objects that decide on pods: those among *documents*, and those that are *there* already; None without any."""
    found = [each for each in documents if decides(each, closed=closed)]
    if not found:
        return there
    from jobspec.kubernetes.admission.objects import data_of, policies_of

    return there.with_others(data_of(found)) if there else policies_of(found, closed=closed)


def policy_outcomes(job: ExpandedJob, policies: PolicyObjects | None, *, closed: bool) -> Iterator[Finding]:
    """What the plugins of the server say of a job's pods, by the *policies* of its cluster; *closed*: there are no other objects."""
    namespace = job.job.namespace
    concerned = policies is not None and policies.apply_to(namespace)
    if not concerned and not closed and not any(role.ranks_itself() for role in job.roles()):
        return
    from jobspec.kubernetes.admission.objects import PolicyObjects
    from jobspec.kubernetes.admission.quotas import exceeds, job_quota_problems
    from jobspec.kubernetes.admission.review import review_pod

    policies = policies or PolicyObjects(closed=closed)
    if closed:
        policies = policies.with_others(_made(job, namespace))
    counted = []
    for role in job.roles():
        review = review_pod(with_generated_names(role.pod_tree), namespace, policies, job.target)
        counted.append((review.pod, role.count))
        refused = [each for each in review.refusals if not exceeds(each)]
        yield from _told("pods-refused", f"the server will refuse the pods of {role.name}", refused, role)
        yield from _told("pod-waits", f"the pods of {role.name} will wait for ever", review.waits, role)
    for problem in job_quota_problems(counted, namespace, policies):
        yield Finding(None, f"{problem.message}, so that some of them are never made", problem.hint, rule="never-fits")


def _made(job: ExpandedJob, namespace: str) -> list[dict[str, Any]]:
    """What the operator makes that pods may wait for, in the namespace of the job."""
    made = [each.data() for each in job.objects if each.value["kind"].value in ("ConfigMap", "Secret", "PersistentVolumeClaim")]
    return [{**each, "metadata": {**each["metadata"], "namespace": namespace}} for each in made]


def _told(rule: str, what: str, problems: Sequence[Problem], role: ExpandedRole) -> Iterator[Finding]:
    """The outcomes of one rule, one for each line that causes them."""
    pod = role.pod_tree
    by_line: dict[str, tuple[Mark | None, list[Problem]]] = {}
    for each in problems:
        place = place_in(pod, each.path)
        by_line.setdefault(str(place), (place, []))[1].append(each)
    for place, several in by_line.values():
        messages = "; ".join(dict.fromkeys(each.message for each in several))
        hints = "; ".join(dict.fromkeys(each.hint for each in several if each.hint))
        severity: Severity = "warning" if rule == "pod-waits" else "error"
        yield Finding(place, f"{what}: {messages}", hints, rule=rule, severity=severity)
