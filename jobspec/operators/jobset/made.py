"""What JobSet makes of a stored JobSet: its Service, its claims, its Jobs.

Follows `reconcile` and `createHeadlessSvcIfNecessary`, sigs.k8s.io/jobset pkg/controllers, 0.8.2 to 0.12.0.
"""

from __future__ import annotations

from jobspec.documents.marked_tree import items, text
from jobspec.operators.edits import is_true
from jobspec.operators.jobset.jobs import jobs_of, owned_by
from jobspec.operators.jobset.labels import PREFIX
from jobspec.operators.objects import operator_mark, set_by
from jobspec.runtimes.runtime import TEMPLATE
from jobspec.targets import reached

TYPE_CHECKING = False
if TYPE_CHECKING:
    from jobspec.documents.marked_tree import MarkedTree
    from jobspec.targets import Target

_CONTAINERS = (*map(str, TEMPLATE), "spec", "containers")
CONTROLLER = "jobset.sigs.k8s.io/jobset-controller"


def made_by_jobset(jobset: MarkedTree, target: Target) -> list[MarkedTree]:
    """The objects in the order in which they come; none where somebody else manages the JobSet, or where it has pods without containers."""
    jobs = items(jobset.get("spec", "replicatedJobs"))
    if text(jobset, "spec", "managedBy") not in ("", CONTROLLER) or not all(each.get(*_CONTAINERS) for each in jobs):
        return []
    owners = owned_by(jobset, operator_mark("jobset", target["jobset"]))
    return [*_services(jobset, target, owners), *_claims(jobset, target, owners), *jobs_of(jobset, target)]


def _services(jobset: MarkedTree, target: Target, owners: MarkedTree) -> list[MarkedTree]:
    """The headless Service through which the pods find each other by their host names; none where they need none."""
    network = jobset.get("spec", "network")
    if network is None or not is_true(network, "enableDNSHostnames"):
        return []
    name = jobset.value["metadata"].value["name"]
    subdomain = network.get("subdomain")
    metadata = {
        "name": subdomain if subdomain and subdomain.value else name,
        "namespace": jobset.value["metadata"].value["namespace"],
        "ownerReferences": owners,
    }
    early = network.get("publishNotReadyAddresses")
    spec = {
        "clusterIP": "None",
        "selector": {f"{PREFIX}/jobset-name": name},
        **({"publishNotReadyAddresses": early} if early and early.value else {}),
    }
    return [set_by(operator_mark("jobset", target["jobset"]), {"apiVersion": "v1", "kind": "Service", "metadata": metadata, "spec": spec})]


def _claims(jobset: MarkedTree, target: Target, owners: MarkedTree) -> list[MarkedTree]:
    if not reached(target["jobset"], "0.11.1") or jobset.get("spec", "volumeClaimPolicies") is None:
        return []
    from jobspec.operators.jobset.claims import made_claims

    return made_claims(jobset, target, owners)
