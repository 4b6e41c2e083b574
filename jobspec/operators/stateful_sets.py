"""A StatefulSet as the API server stores it, and the pods and claims that its controller creates.

Follows `newVersionedStatefulSetPod`, `initIdentity`, `updateStorage` and `getPersistentVolumeClaims`, k8s.io/kubernetes
pkg/controller/statefulset, `GetPodFromTemplate`, pkg/controller, and `SetDefaults_StatefulSet`, pkg/apis/apps/v1, 1.36.
"""

from __future__ import annotations

from jobspec.apis.releases import is_at_least
from jobspec.documents.marked_tree import MarkedTree, changed, each_item, items, number, set_by, text, with_fields, with_missing
from jobspec.operators.made import REVISION, api_server, indices, operator_mark, owner_references

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from jobspec.apis.releases import Target
    from jobspec.diagnostics.places import Mark


API_VERSION, KIND = "apps/v1", "StatefulSet"
_ROLLING = ("spec", "updateStrategy", "rollingUpdate")
_RETENTION = "persistentVolumeClaimRetentionPolicy"
_DEFAULTS: dict[str, Any] = {"replicas": 1, "podManagementPolicy": "OrderedReady", "revisionHistoryLimit": 10}
CLAIM_DEFAULTS = {"volumeMode": "Filesystem"}
"""What the server fills into the spec of a claim."""
_RETAINED = {"whenDeleted": "Retain", "whenScaled": "Retain"}


def stateful_set_defaults(made: MarkedTree, target: Target) -> MarkedTree:
    """A StatefulSet with what the server fills in, but for its pod template; without the fields of gates that are off."""
    server, counts_unavailable = api_server(target), is_at_least(target["kubernetes"], "1.37")
    strategy = {"partition": 0, **({"maxUnavailable": 1} if counts_unavailable else {})}
    made = changed(made, ("spec",), lambda spec: with_missing(spec, _DEFAULTS, server))
    made = changed(made, ("spec", _RETENTION), lambda each: with_missing(each, _RETAINED, server, fill_empty=True))
    made = changed(made, _ROLLING[:-1], lambda each: with_missing(each, {"type": "RollingUpdate"}, server, fill_empty=True))
    if text(made, *_ROLLING[:-1], "type") == "RollingUpdate":
        made = changed(made, _ROLLING, lambda each: with_missing(_without_gated(each, is_on=counts_unavailable), strategy, server))
    return changed(made, ("spec",), lambda spec: each_item(spec, "volumeClaimTemplates", lambda claim: _claim_defaults(claim, server)))


def _without_gated(rolling: MarkedTree, *, is_on: bool) -> MarkedTree:
    """The numbers of a rolling update without `maxUnavailable`, unless the gate of that is on."""
    return rolling if is_on else rolling.with_value({name: each for name, each in rolling.value.items() if name != "maxUnavailable"})


def _claim_defaults(claim: MarkedTree, server: Mark) -> MarkedTree:
    """A template of claims with the defaults of a claim."""
    claim = with_missing(claim, {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "status": {"phase": "Pending"}}, server)
    return changed(claim, ("spec",), lambda spec: with_missing(spec, CLAIM_DEFAULTS, server))


def pods_of_stateful_set(made: MarkedTree, target: Target, *, first_and_last_only: bool = False) -> Iterator[MarkedTree]:
    """Yield the claims and the pods of a StatefulSet, those of one number together. *first_and_last_only*: as for `expand`."""
    mark, name = operator_mark("kube-controller-manager", target["kubernetes"]), text(made, "metadata", "name")
    start = number(made, "spec", "ordinals", "start", default=0)
    for index in indices(number(made, "spec", "replicas", default=1), f"pods of {KIND} `{name}`", first_and_last_only=first_and_last_only):
        yield from (_claim(template, made, start + index, mark) for template in _claim_templates(made))
        yield _pod(made, start + index, mark)


def _pod(made: MarkedTree, ordinal: int, mark: Mark) -> MarkedTree:
    """The pod of a number."""
    parent = made.value["metadata"].value["name"]
    template = made.value["spec"].value["template"]
    own = template.get("metadata") or MarkedTree({}, mark)
    name = parent.with_value(f"{parent.value}-{ordinal}")
    labels = {
        "apps.kubernetes.io/pod-index": str(ordinal),
        "controller-revision-hash": f"{parent.value}-{REVISION}",
        "statefulset.kubernetes.io/pod-name": name,
    }
    metadata = {
        **{field: each for field in ("annotations", "finalizers") if (each := own.get(field))},
        "labels": with_fields(own.get("labels") or MarkedTree({}, mark), {key: set_by(mark, each) for key, each in labels.items()}),
        "name": name,
        "generateName": parent.with_value(f"{parent.value}-"),
        "namespace": made.value["metadata"].value["namespace"],
        "ownerReferences": owner_references(mark, API_VERSION, KIND, parent),
    }
    spec = with_fields(template.value["spec"], {"hostname": name, "subdomain": made.get("spec", "serviceName")})
    return set_by(mark, {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": _with_claims(spec, made, ordinal, mark)})


def _with_claims(spec: MarkedTree, made: MarkedTree, ordinal: int, mark: Mark) -> MarkedTree:
    """The spec of a pod with a volume for each of its claims, which replaces another volume of that name."""
    claims = {text(each, "metadata", "name"): each.value["metadata"].value["name"] for each in _claim_templates(made)}
    if not claims:
        return spec
    own = [
        set_by(mark, {"name": name, "persistentVolumeClaim": {"claimName": name.with_value(_claim_name(name, made, ordinal))}})
        for name in claims.values()
    ]
    others = [each for each in items(spec.get("volumes")) if text(each, "name") not in claims]
    return with_fields(spec, {"volumes": MarkedTree([*own, *others], mark)})


def _claim(template: MarkedTree, made: MarkedTree, ordinal: int, mark: Mark) -> MarkedTree:
    """The claim of a template for the pod of a number; one that goes with the StatefulSet has it as its owner."""
    own = template.value["metadata"]
    name = own.value["name"]
    selected = dict(made.entries("spec", "selector", "matchLabels"))
    goes = text(made, "spec", _RETENTION, "whenDeleted") == "Delete"
    metadata = {
        **{field: each for field in ("annotations", "finalizers") if (each := own.get(field))},
        "name": name.with_value(_claim_name(name, made, ordinal)),
        "namespace": made.value["metadata"].value["namespace"],
        "labels": with_fields(own.get("labels") or MarkedTree({}, mark), selected),
        **({"ownerReferences": owner_references(mark, API_VERSION, KIND, made.value["metadata"].value["name"])} if goes else {}),
    }
    spec = template.get("spec") or MarkedTree({}, mark)
    return set_by(mark, {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": metadata, "spec": spec})


def _claim_templates(made: MarkedTree) -> list[MarkedTree]:
    """The templates of claims that have a name."""
    return [each for each in items(made.get("spec", "volumeClaimTemplates")) if text(each, "metadata", "name")]


def _claim_name(template: MarkedTree, made: MarkedTree, ordinal: int) -> str:
    """The name of the claim of a template, given by its name, for the pod of a number."""
    return f"{template.value}-{text(made, 'metadata', 'name')}-{ordinal}"
