"""The headless Service of a JobSet, through which its pods find each other by their host names.

Follows `createHeadlessSvcIfNecessary`, sigs.k8s.io/jobset pkg/controllers, 0.8.2 to 0.12.0.
"""

from __future__ import annotations

from jobspec.operators.edits import is_true
from jobspec.operators.jobset.labels import PREFIX
from jobspec.operators.marks import operator_mark, set_by

TYPE_CHECKING = False
if TYPE_CHECKING:
    from jobspec.overlays.marked_tree import MarkedTree
    from jobspec.targets import Target


def services(jobset: MarkedTree, target: Target, owners: MarkedTree) -> list[MarkedTree]:
    """The Service of a stored JobSet, none where its pods need no host names."""
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
