"""A batch Job as the API server stores it.

Follows `SetDefaults_Job`, k8s.io/kubernetes pkg/apis/batch/v1, and `jobStrategy.PrepareForCreate` with `generateSelector`,
pkg/registry/batch/job, 1.36.
"""

from __future__ import annotations

from jobspec.operators.edits import changed, each_item, is_true, number, text, with_fields
from jobspec.operators.marks import set_by
from jobspec.operators.stored import UID
from jobspec.overlays.marked_tree import MarkedTree

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from jobspec.diagnostics import Mark

_UNLIMITED = 2**31 - 1
_LABEL = "batch.kubernetes.io"


def job_defaults(job: MarkedTree, server: Mark) -> MarkedTree:
    """A Job with all that the server fills in, but for the defaults of its pod template."""
    whole = changed(job, ("spec",), lambda spec: _spec(spec, server))
    return whole if is_true(whole, "spec", "manualSelector") else _selecting(whole, server)


def _spec(spec: MarkedTree, server: Mark) -> MarkedTree:
    by_index = spec.get("backoffLimitPerIndex")
    policy = spec.get("podFailurePolicy")
    defaults: dict[str, Any] = {
        "parallelism": 1,
        **({} if spec.get("parallelism") else {"completions": 1}),
        "backoffLimit": _UNLIMITED if by_index else 6,
        "completionMode": "NonIndexed",
        "suspend": False,
        "manualSelector": False,
        "podReplacementPolicy": "Failed" if policy else "TerminatingOrFailed",
    }
    absent = {name: set_by(server, each) for name, each in defaults.items() if name not in spec.value}
    spec = with_fields(spec, absent)
    return changed(spec, ("podFailurePolicy",), lambda each: _policy(each, server)) if policy else spec


def _policy(policy: MarkedTree, server: Mark) -> MarkedTree:
    def rule(tree: MarkedTree) -> MarkedTree:
        return each_item(
            tree, "onPodConditions", lambda each: each if each.get("status") else with_fields(each, {"status": set_by(server, "True")})
        )

    return each_item(policy, "rules", rule)


def _selecting(job: MarkedTree, server: Mark) -> MarkedTree:
    """A Job whose pods have the labels by which it finds them; labels that they have already stay."""
    name = job.value["metadata"].value["name"]
    own = {
        f"{_LABEL}/controller-uid": set_by(server, UID),
        f"{_LABEL}/job-name": name,
        "controller-uid": set_by(server, UID),
        "job-name": name,
    }
    selector = {f"{_LABEL}/controller-uid": set_by(server, UID)}
    selecting = changed(job, ("spec", "selector", "matchLabels"), lambda labels: with_fields(labels, selector))
    return changed(selecting, ("spec", "template", "metadata", "labels"), lambda labels: with_fields(MarkedTree(own, server), labels.value))


def completions_of(job: MarkedTree) -> int:
    """The number of pods that run at first."""
    parallel = number(job, "spec", "parallelism", default=1)
    return max(0, min(parallel, number(job, "spec", "completions", default=parallel)))


def is_indexed(job: MarkedTree) -> bool:
    """Whether its pods are numbered."""
    return text(job, "spec", "completionMode") == "Indexed"
