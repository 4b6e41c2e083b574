"""The headless Service of a JobSet, through which its pods find each other by their host names.

Follows `createHeadlessSvcIfNecessary`, sigs.k8s.io/jobset pkg/controllers, 0.8.2 to 0.12.0.
"""

from __future__ import annotations

from jobspec.apis.releases import Target
from jobspec.diagnostics.places import Data
from jobspec.documents.marked_tree import MarkedTree, is_true, set_by
from jobspec.go.values import mapping
from jobspec.operators.jobset import PREFIX
from jobspec.operators.made import operator_mark


def services(jobset: MarkedTree, target: Target, owners: MarkedTree) -> list[MarkedTree]:
    """The headless Service through which the pods find each other by their host names; none where they need none."""
    network = jobset.get("spec", "network")
    if network is None or not is_true(network, "enableDNSHostnames"):
        return []
    name, early = jobset.value["metadata"].value["name"], network.get("publishNotReadyAddresses")
    metadata = {"name": subdomain(jobset), "namespace": jobset.value["metadata"].value["namespace"], "ownerReferences": owners}
    spec = {
        "clusterIP": "None",
        "selector": {f"{PREFIX}/jobset-name": name},
        **({"publishNotReadyAddresses": early} if early and early.value else {}),
    }
    return [set_by(operator_mark("jobset", target["jobset"]), {"apiVersion": "v1", "kind": "Service", "metadata": metadata, "spec": spec})]


def subdomain(jobset: MarkedTree) -> MarkedTree:
    """The subdomain of the pods, which is the name of the headless Service."""
    found = jobset.get("spec", "network", "subdomain")
    return found if found and found.value else jobset.value["metadata"].value["name"]


def headless_service(spec: Data, name: str) -> str:
    """Return the name of the headless Service of a JobSet from its spec.

    `subdomain` has the same name. If the pods have no host names, return an empty string.
    """
    network = mapping(spec, "network")
    return "" if network.get("enableDNSHostnames") is False else network.get("subdomain") or name
