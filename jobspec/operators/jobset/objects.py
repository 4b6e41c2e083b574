"""What JobSet makes of a stored JobSet: its Service, its claims and its Jobs.

Follows `reconcile`, sigs.k8s.io/jobset pkg/controllers, 0.8.2 to 0.12.0.
"""

from __future__ import annotations

from jobspec.apis.releases import Target
from jobspec.documents.marked_tree import MarkedTree, items, text
from jobspec.operators.jobset.claims import claim_of_template, claims, makes_claims
from jobspec.operators.jobset.jobs import jobs_of, owned_by
from jobspec.operators.jobset.service import services
from jobspec.operators.made import operator_mark
from jobspec.operators.workloads import TEMPLATE

_CONTAINERS = (*TEMPLATE, "spec", "containers")
CONTROLLER = "jobset.sigs.k8s.io/jobset-controller"


def made_by_jobset(jobset: MarkedTree, target: Target) -> list[MarkedTree]:
    """The objects in the order in which they come; none where somebody else manages the JobSet, or where it has pods without containers."""
    jobs = items(jobset.get("spec", "replicatedJobs"))
    if text(jobset, "spec", "managedBy") not in ("", CONTROLLER) or not all(each.get(*_CONTAINERS) for each in jobs):
        return []
    owners = owned_by(jobset, operator_mark("jobset", target["jobset"]))
    made_claims = [claim_of_template(*each, jobset, target, owners) for each in claims(jobset)] if makes_claims(target) else []
    return [*services(jobset, target, owners), *made_claims, *jobs_of(jobset, target)]
