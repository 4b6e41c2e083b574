"""The defaults of a pod's spec, in a pod as in a template.

Follows `SetDefaults_PodSpec` and what is generated around it, k8s.io/kubernetes pkg/apis/core/v1, 1.36. The server fills `securityContext`
and `schedulerName`, too.
"""

from __future__ import annotations

from jobspec.operators.api_defaults.container import container_defaults
from jobspec.operators.api_defaults.filling import each_item, with_missing
from jobspec.operators.api_defaults.volume import volume_defaults

TYPE_CHECKING = False
if TYPE_CHECKING:
    from jobspec.diagnostics import Mark
    from jobspec.overlays.marked_tree import MarkedTree

CONTAINERS = ("containers", "initContainers")
_OWN = {
    "dnsPolicy": "ClusterFirst",
    "restartPolicy": "Always",
    "terminationGracePeriodSeconds": 30,
    "securityContext": {},
    "schedulerName": "default-scheduler",
}


def pod_spec_defaults(spec: MarkedTree, server: Mark) -> MarkedTree:
    """A pod's spec with the defaults of its type."""
    for name in CONTAINERS:
        spec = each_item(spec, name, lambda container: container_defaults(container, server))
    spec = each_item(spec, "volumes", lambda volume: volume_defaults(volume, server))
    named = spec.get("serviceAccountName")
    account = named if named and named.value else spec.get("serviceAccount")  # the older name of the same
    if account:
        spec = spec.with_value({**spec.value, "serviceAccountName": account, "serviceAccount": account})
    return with_missing(spec, _OWN, server)
