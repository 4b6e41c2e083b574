"""The defaults of a StatefulSet and of its templates of claims.

Follows `SetDefaults_StatefulSet` and `SetDefaults_PersistentVolumeClaim`, k8s.io/kubernetes pkg/apis/apps/v1 and pkg/apis/core/v1, and
`dropStatefulSetDisabledFields`, pkg/registry/apps/statefulset, 1.30 to 1.37.
"""

from __future__ import annotations

from jobspec.apis.releases import Target, is_at_least
from jobspec.diagnostics.places import Mark
from jobspec.documents.marked_tree import MarkedTree, changed, each_item, text, with_missing
from jobspec.operators.batch import POD_OF_JOB
from jobspec.operators.made import api_server
from jobspec.operators.pod_defaults import pod_spec_defaults

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


HISTORY = 10
"""The old revisions that are kept."""
_ROLLING_SET = ("spec", "updateStrategy", "rollingUpdate")
_OF_STATEFUL_SETS: dict[str, Any] = {"replicas": 1, "podManagementPolicy": "OrderedReady", "revisionHistoryLimit": HISTORY}
OF_CLAIMS = {"volumeMode": "Filesystem"}
_KEPT_CLAIMS = ("spec", "persistentVolumeClaimRetentionPolicy")
_RETAINED = {"whenDeleted": "Retain", "whenScaled": "Retain"}


def stateful_set_defaults(made: MarkedTree, target: Target) -> MarkedTree:
    """A StatefulSet with what the server fills in, and without the fields of gates that are off."""
    server, counts_unavailable = api_server(target), is_at_least(target["kubernetes"], "1.37")
    strategy = {"partition": 0, **({"maxUnavailable": 1} if counts_unavailable else {})}
    made = changed(made, ("spec",), lambda spec: with_missing(spec, _OF_STATEFUL_SETS, server))
    made = changed(made, _KEPT_CLAIMS, lambda each: with_missing(each, _RETAINED, server, fill_empty=True))
    made = changed(made, _ROLLING_SET[:-1], lambda each: with_missing(each, {"type": "RollingUpdate"}, server, fill_empty=True))
    if text(made, *_ROLLING_SET[:-1], "type") == "RollingUpdate":
        made = changed(made, _ROLLING_SET, lambda each: with_missing(_without_gated(each, is_on=counts_unavailable), strategy, server))
    made = changed(made, ("spec",), lambda spec: each_item(spec, "volumeClaimTemplates", lambda claim: _claim_defaults(claim, server)))
    return changed(made, POD_OF_JOB, lambda spec: pod_spec_defaults(spec, server, target["kubernetes"]))


def _without_gated(rolling: MarkedTree, *, is_on: bool) -> MarkedTree:
    """The numbers of a rolling update without `maxUnavailable`, unless the gate of that is on."""
    return rolling if is_on else rolling.with_value({name: each for name, each in rolling.value.items() if name != "maxUnavailable"})


def _claim_defaults(claim: MarkedTree, server: Mark) -> MarkedTree:
    """A template of claims with the defaults of a claim."""
    claim = with_missing(claim, {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "status": {"phase": "Pending"}}, server)
    return changed(claim, ("spec",), lambda spec: with_missing(spec, OF_CLAIMS, server))
