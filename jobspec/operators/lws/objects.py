"""What LeaderWorkerSet makes of a stored LeaderWorkerSet: StatefulSets of leaders and workers, and headless Services.

Follows `constructLeaderStatefulSetApplyConfiguration`, `constructWorkerStatefulSetApplyConfiguration` and
`CreateHeadlessServiceIfNotExists`, sigs.k8s.io/lws pkg/controllers and pkg/utils/controller, 0.7.0 to 0.10.0.
"""

from __future__ import annotations

from jobspec.apis.releases import is_at_least
from jobspec.diagnostics.places import Mark
from jobspec.documents.marked_tree import MarkedTree, changed, items, number, set_by, text, with_data, with_fields
from jobspec.go.codec import encode_as_go
from jobspec.go.values import mapping
from jobspec.kubernetes.workloads.selectors import scaled_amount
from jobspec.operators.lws import EXCLUSIVE, PREFIX, SUBGROUP_EXCLUSIVE, UNIQUE
from jobspec.operators.lws_defaults import with_lws_defaults
from jobspec.operators.made import (
    RANDOM,
    REVISION,
    as_applied,
    as_go_writes,
    operator_mark,
    owner_references,
    with_crd_defaults,
    with_structs,
)
from jobspec.operators.revisions import revision_hash
from jobspec.operators.stateful_sets import API_VERSION, KIND
from jobspec.operators.workloads import GROUP_MEMBER
from jobspec.schemas import shapes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from jobspec.apis.releases import Target
    from jobspec.diagnostics.places import Data


LWS = ("leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet")
"""Its `apiVersion` and `kind`."""
COMPONENT = "lws"
NAME, GROUP_INDEX, GROUP_KEY = (f"{PREFIX}/{each}" for each in ("name", "group-index", "group-key"))
SIZE, LEADER_NAME, LEADER_REQUESTS_TPUS = (f"{PREFIX}/{each}" for each in ("size", "leader-name", "leader-requests-tpus"))
SUBGROUP_TYPE, SUBGROUP_SIZE = f"{PREFIX}/subgroup-policy-type", f"{PREFIX}/subgroup-size"
SUBDOMAIN_POLICY = f"{PREFIX}/subdomainPolicy"
"""The subdomain policy that gives each group a Service."""
_REVISION_KEY = f"{PREFIX}/template-revision-hash"
_REPLICAS = f"{PREFIX}/replicas"
_TEMPLATE = ("spec", "leaderWorkerTemplate")
ROLLING = ("spec", "rolloutStrategy", "rollingUpdateConfiguration")
"""The path of the numbers of a rolling update."""
_CLAIM_FIELDS = ("accessModes", "resources", "storageClassName", "volumeMode")


def stored_lws(tree: MarkedTree, target: Target) -> MarkedTree:
    """A LeaderWorkerSet with all that the server and the webhook fill in."""
    whole = with_crd_defaults(tree, shapes.part(*LWS, target), Mark("the CRD of LeaderWorkerSet"))
    webhook = operator_mark(COMPONENT, target[COMPONENT])
    return changed(whole, ("spec",), lambda spec: with_data(spec, with_lws_defaults(spec.data()), webhook))


def replicas_of(lws: MarkedTree) -> int:
    """The number of groups."""
    return number(lws, "spec", "replicas", default=1)


def size_of(lws: MarkedTree) -> int:
    """The number of pods of each group, the leader among them."""
    return number(lws, *_TEMPLATE, "size", default=1)


def has_unique_subdomains(lws: MarkedTree) -> bool:
    """True if each group has a headless Service of its own."""
    return text(lws, "spec", "networkConfig", "subdomainPolicy") == UNIQUE


def leader_set(lws: MarkedTree, target: Target) -> MarkedTree:
    """The StatefulSet of all leaders."""
    mark, release = operator_mark(COMPONENT, target[COMPONENT]), target[COMPONENT]
    name, replicas = lws.value["metadata"].value["name"], replicas_of(lws)
    role = "leaderTemplate" if lws.get(*_TEMPLATE, "leaderTemplate") else "workerTemplate"
    own = {NAME: name, _REVISION_KEY: _revision(lws, target)}
    template = _pod_template(lws, role, target, {GROUP_MEMBER: "0", **own}, _annotations_of_leader(lws))
    partition = number(lws, *ROLLING, "partition", default=0)
    spec = {
        "serviceName": name,
        "replicas": lws.get("spec", "replicas") or replicas,
        "podManagementPolicy": "Parallel",
        "template": template,
        "updateStrategy": {
            "type": lws.value["spec"].value["rolloutStrategy"].value["type"],
            "rollingUpdate": {"maxUnavailable": _unavailable(lws, replicas, release), "partition": partition},
        },
        "selector": {"matchLabels": {NAME: name, GROUP_MEMBER: "0"}},
        **_claims(lws, target),
    }
    metadata = {
        "name": name,
        "namespace": lws.value["metadata"].value["namespace"],
        "labels": _with_those_of_user(own, "labels", lws, release),
        "annotations": _with_those_of_user({_REPLICAS: str(replicas)}, "annotations", lws, release),
        "ownerReferences": owner_references(mark, *LWS, name),
    }
    return set_by(mark, {"apiVersion": API_VERSION, "kind": KIND, "metadata": metadata, "spec": spec})


def worker_set(leader: MarkedTree, lws: MarkedTree, target: Target, *, requests_tpus: bool) -> MarkedTree:
    """The StatefulSet of the workers of a *leader*, a pod; *requests_tpus*: whether that asks for TPUs."""
    mark, release, leader_name = operator_mark(COMPONENT, target[COMPONENT]), target[COMPONENT], leader.value["metadata"].value["name"]
    name, labels = lws.value["metadata"].value["name"], leader.value["metadata"].value["labels"]
    selector = {GROUP_INDEX: labels.value[GROUP_INDEX], NAME: name, GROUP_KEY: labels.value[GROUP_KEY]}
    own = {**selector, _REVISION_KEY: labels.value[_REVISION_KEY]}
    annotations = {
        SIZE: str(size_of(lws)),
        LEADER_NAME: leader_name,
        **(_subgroup_type(lws) if is_at_least(release, "0.10.0") else {}),
        **_placement(lws),
        **({LEADER_REQUESTS_TPUS: "true"} if requests_tpus else {}),
    }
    template = _pod_template(lws, "workerTemplate", target, own, annotations)
    topology = lws.get("metadata", "annotations", EXCLUSIVE)
    if topology is not None:
        place = {topology.value: set_by(mark, RANDOM)}
        template = changed(template, ("spec", "nodeSelector"), lambda each: with_fields(each, place))
    spec = {
        "serviceName": leader_name if has_unique_subdomains(lws) else name,
        "replicas": size_of(lws) - 1,
        "podManagementPolicy": "Parallel",
        "template": template,
        "ordinals": {"start": 1},
        "selector": {"matchLabels": selector},
        **_claims(lws, target),
    }
    metadata = {
        "name": leader_name,
        "namespace": lws.value["metadata"].value["namespace"],
        "labels": _with_those_of_user(own, "labels", lws, release),
        **({"annotations": given} if (given := _with_those_of_user({}, "annotations", lws, release)) else {}),
        "ownerReferences": owner_references(mark, "v1", "Pod", leader_name),
    }
    return set_by(mark, {"apiVersion": API_VERSION, "kind": KIND, "metadata": metadata, "spec": spec})


def _with_those_of_user(own: dict[str, Any], field: str, lws: MarkedTree, release: str) -> dict[str, Any]:
    """The labels or annotations of a StatefulSet: since 0.10 those of the LeaderWorkerSet, too, which its *own* replace."""
    return {**dict(lws.entries("metadata", field)), **own} if is_at_least(release, "0.10.0") else own


def service_of_all(lws: MarkedTree, target: Target) -> MarkedTree:
    """The headless Service that all groups share."""
    name = lws.value["metadata"].value["name"]
    return _service(name, {NAME: name}, lws, target, owner=LWS)


def service_of_group(leader: MarkedTree, lws: MarkedTree, target: Target) -> MarkedTree:
    """The headless Service of the group of a *leader*, a pod."""
    metadata = leader.value["metadata"].value
    selector = {NAME: lws.value["metadata"].value["name"], GROUP_INDEX: metadata["labels"].value[GROUP_INDEX]}
    return _service(metadata["name"], selector, lws, target, owner=("v1", "Pod"))


def _service(name: MarkedTree, selector: dict[str, MarkedTree], lws: MarkedTree, target: Target, *, owner: tuple[str, str]) -> MarkedTree:
    """A headless Service, also for pods that are not ready; *owner*: `apiVersion` and kind of the owner, which has the same name."""
    mark = operator_mark(COMPONENT, target[COMPONENT])
    own = lws.value["metadata"].value
    metadata = {
        "name": name,
        "namespace": own["namespace"],
        "labels": {NAME: own["name"]},
        "ownerReferences": owner_references(mark, *owner, name),
    }
    spec = {"clusterIP": "None", "selector": selector, "publishNotReadyAddresses": True}
    return set_by(mark, {"apiVersion": "v1", "kind": "Service", "metadata": metadata, "spec": spec})


def _pod_template(lws: MarkedTree, role: str, target: Target, labels: dict[str, Any], annotations: dict[str, Any]) -> MarkedTree:
    """The pod template of a role, as the operator sends it, with its own labels and annotations."""
    mark = operator_mark(COMPONENT, target[COMPONENT])
    given, shape = lws.value["spec"].value["leaderWorkerTemplate"].value[role], shapes.part("v1", "Pod", target, ("spec",))
    written = as_applied(changed(given, ("spec",), lambda spec: as_go_writes(spec, shape)))
    for field, own in (("labels", labels), ("annotations", annotations)):
        new = {key: set_by(mark, each) for key, each in own.items()}
        written = changed(written, ("metadata", field), lambda each, new=new: with_fields(each, new))  # type: ignore[misc]
    return written


def _revision(lws: MarkedTree, target: Target) -> str:
    """The hash of what makes a new revision: the templates and the network; a placeholder for older releases."""
    if not is_at_least(target[COMPONENT], "0.9.0"):
        return REVISION
    pod, claim = (shapes.part("v1", kind, target, ("spec",)) for kind in ("Pod", "PersistentVolumeClaim"))
    template = dict(mapping(lws.data(), *_TEMPLATE))
    for role in ("leaderTemplate", "workerTemplate"):
        if own := lws.get(*_TEMPLATE, role):
            spec = with_structs(as_go_writes(own.get("spec") or MarkedTree({}, own.mark), pod))
            template[role] = {"metadata": _without_empty(mapping(own.data(), "metadata")), "spec": spec.data()}
    if given := template.pop("volumeClaimTemplates", None):
        template["volumeClaimTemplates"] = [
            {
                **{name: text for name in ("apiVersion", "kind") if (text := each.get(name))},
                "metadata": _without_empty(each.get("metadata")),
                "spec": {"resources": {}, **encode_as_go(each.get("spec") or {}, claim)},
                "status": _without_empty(each.get("status")),
            }
            for each in (one or {} for one in given)  # Go reads a null item as an empty one
        ]
    if "persistentVolumeClaimRetentionPolicy" in template:
        template["persistentVolumeClaimRetentionPolicy"] = _without_empty(template["persistentVolumeClaimRetentionPolicy"])
    return revision_hash({"leaderWorkerTemplate": template, "networkConfig": mapping(lws.data(), "spec", "networkConfig")})


def _without_empty(data: Data | None) -> Data:
    """An object without its empty fields, which Go leaves out."""
    return {name: each for name, each in (data or {}).items() if each not in ("", {}, [], None)}


def _annotations_of_leader(lws: MarkedTree) -> dict[str, Any]:
    """The annotations of leaders, by which the webhook of pods knows what to set."""
    unique = {SUBDOMAIN_POLICY: UNIQUE} if has_unique_subdomains(lws) else {}
    return {SIZE: str(size_of(lws)), **_subgroup_type(lws), **_placement(lws), **unique}


def _subgroup_type(lws: MarkedTree) -> dict[str, Any]:
    """The annotation that says whether the leader is in a subgroup, of a group with subgroups."""
    subgroups = lws.get(*_TEMPLATE, "subGroupPolicy")
    return {SUBGROUP_TYPE: subgroups.get("subGroupPolicyType") or "LeaderWorker"} if subgroups else {}


def _placement(lws: MarkedTree) -> dict[str, Any]:
    """The annotations of all pods that say how groups and subgroups are placed."""
    found: dict[str, Any] = {}
    annotations = dict(lws.entries("metadata", "annotations"))
    if text(annotations.get(EXCLUSIVE)):
        found[EXCLUSIVE] = annotations[EXCLUSIVE]
    subgroups = lws.get(*_TEMPLATE, "subGroupPolicy")
    if subgroups:
        size = subgroups.get("subGroupSize")
        found[SUBGROUP_SIZE] = size.with_value(str(size.value)) if size else "0"
        if text(annotations.get(SUBGROUP_EXCLUSIVE)):
            found[SUBGROUP_EXCLUSIVE] = annotations[SUBGROUP_EXCLUSIVE]
    return found


def _unavailable(lws: MarkedTree, replicas: int, release: str) -> Any:
    """The `maxUnavailable` of the StatefulSet of leaders, which before 0.9 is that of the LeaderWorkerSet."""
    given = lws.get(*ROLLING, "maxUnavailable")
    if not is_at_least(release, "0.9.0"):
        return given
    surge = lws.get(*ROLLING, "maxSurge")
    most = min(scaled_amount(surge.value if surge else 0, replicas, up=True), replicas)
    return max(1, scaled_amount(given.value if given else 1, replicas, up=False) + most)


def _claims(lws: MarkedTree, target: Target) -> dict[str, Any]:
    """The templates of claims of a StatefulSet, and what becomes of claims; since 0.8."""
    found: dict[str, Any] = {}
    namespace = lws.value["metadata"].value["namespace"]
    templates = [_claim_template(each, namespace, target) for each in items(lws.get(*_TEMPLATE, "volumeClaimTemplates"))]
    if templates:
        found["volumeClaimTemplates"] = templates
    retention = lws.get(*_TEMPLATE, "persistentVolumeClaimRetentionPolicy")
    if retention is not None:
        found["persistentVolumeClaimRetentionPolicy"] = {name: retention.get(name) or "" for name in ("whenDeleted", "whenScaled")}
    return found


def _claim_template(given: MarkedTree, namespace: MarkedTree, target: Target) -> dict[str, Any]:
    """A template of claims, of which the operator copies the name and four fields of the spec."""
    shape = shapes.part("v1", "PersistentVolumeClaim", target, ("spec",))
    spec = as_applied(as_go_writes(given.get("spec") or MarkedTree({}, given.mark), shape))
    kept = {name: each for name in _CLAIM_FIELDS if (each := spec.get(name)) and each.value != {}}
    name = given.get("metadata", "name") or ""
    return {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": name, "namespace": namespace}, "spec": kept}
