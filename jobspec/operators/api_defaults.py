"""The defaults that an API server fills into the objects that operators create, by their types and its admission plugins."""

from __future__ import annotations

from jobspec.apis import kinds
from jobspec.apis.releases import Target, is_at_least
from jobspec.diagnostics.places import Mark
from jobspec.documents.document import Document
from jobspec.documents.marked_tree import (
    MarkedTree,
    changed,
    each_item,
    items,
    set_by,
    text,
    with_appended,
    with_data,
    with_fields,
    with_missing,
)
from jobspec.go.codec import decode_as_go, encode_as_go
from jobspec.kubernetes.pods.defaults import CONTAINERS, TOLERATED_TAINTS, completed, default_pull_policy, without_disabled
from jobspec.kubernetes.pods.resources import filled_in
from jobspec.kubernetes.structural import filled
from jobspec.operators.batch import POD_OF_JOB, job_defaults, with_labels_of_pods
from jobspec.operators.made import RANDOM, api_server
from jobspec.operators.priorities import with_priority
from jobspec.schemas import shapes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from jobspec.schemas.shapes import Shape


# Objects of every kind that operators create, as the API server stores them. The pod template of a Job gets all but what only pods get.
#
# Follows, for Jobs, `SetObjectDefaults_Job`, k8s.io/kubernetes pkg/apis/batch/v1, and `DropDisabledTemplateFields`, pkg/api/pod, 1.36.


def with_api_defaults(
    objects: Sequence[MarkedTree], context: Sequence[Document], target: Target, *, is_stored: bool = False
) -> list[MarkedTree]:
    """Fill in the defaults of the server in objects.

    *context*: documents that the objects may refer to, such as priority classes. *is_stored*: as the server reads the objects once they are
    stored: a Job without labels has those that the server gave to its pods. Policies do not see these.
    """
    from jobspec.operators.jobset.webhook import stored_jobset

    server, release = api_server(target), target["kubernetes"]

    def with_job_defaults(made: MarkedTree) -> MarkedTree:
        return changed(job_defaults(made, server), POD_OF_JOB, lambda spec: pod_spec_defaults(spec, server, release))

    fillers: dict[str, Callable[[MarkedTree], MarkedTree]] = {
        "HorizontalPodAutoscaler": lambda made: where_given(made, "spec", lambda spec: with_missing(spec, _OF_AUTOSCALERS, server)),
        "Job": lambda made: with_labels_of_pods(with_job_defaults(made)) if is_stored else with_job_defaults(made),
        "JobSet": lambda made: stored_jobset(made, target),
        "PersistentVolumeClaim": lambda made: where_given(made, "spec", lambda spec: with_missing(spec, _OF_CLAIMS, server)),
        "Pod": lambda made: where_given(made, "spec", lambda spec: pod_defaults(spec, server, context, release)),
        "Secret": lambda made: _of_secret(made, server),
        "StatefulSet": lambda made: stateful_set_defaults(made, target),
        "Service": lambda made: where_given(made, "spec", lambda spec: _of_made_service(spec, server)),
    }
    return [fillers[kind](each) if (kind := text(each, "kind")) in fillers else each for each in objects]


def _of_secret(made: MarkedTree, server: Mark) -> MarkedTree:
    """Return a Secret with the type that the server fills in, and with its texts as data.

    Stand-ins stay what they are.
    """
    texts, data = made.get("stringData"), made.get("data")
    if texts:
        merged = with_fields(data, texts.value) if data else texts
        made = made.with_value({**{name: each for name, each in made.value.items() if name != "stringData"}, "data": merged})
    return with_missing(made, {"type": "Opaque"}, server)


# An object of a manifest as the server has it when admission policies look at it.
#
# Follows `SetObjectDefaults_*`, k8s.io/kubernetes pkg/apis/apps/v1 and pkg/apis/batch/v1, 1.30 to 1.37. Of a rolling update, the numbers
# are left out where a manifest says a part of it; of a Service, the addresses.


_HISTORY = 10
_QUARTER = "25%"
_ROLLING = {"maxUnavailable": _QUARTER, "maxSurge": _QUARTER}
#: Kinds with a pod template -> the defaults of their spec.
_OF_WORKLOADS: dict[kinds.GroupKind, dict[str, Any]] = {
    ("batch", "CronJob"): {"concurrencyPolicy": "Allow", "suspend": False, "successfulJobsHistoryLimit": 3, "failedJobsHistoryLimit": 1},
    ("apps", "DaemonSet"): {
        "updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 1, "maxSurge": 0}},
        "revisionHistoryLimit": _HISTORY,
    },
    ("apps", "Deployment"): {
        "replicas": 1,
        "strategy": {"type": "RollingUpdate", "rollingUpdate": _ROLLING},
        "revisionHistoryLimit": _HISTORY,
        "progressDeadlineSeconds": 600,
    },
    ("apps", "ReplicaSet"): {"replicas": 1},
    ("", "ReplicationController"): {"replicas": 1},
}


def as_admitted(document: Document, target: Target, custom: Shape | None = None) -> dict[str, Any]:
    """Return the data of an accepted object with the defaults of its type.

    *custom*: the structure that a CRD gives the object.
    """
    known = kinds.find(document.api_version, document.kind)
    shape = custom or shapes.load(document.api_version, document.kind, target)
    if shape is None:
        return dict(document.data)
    if custom or not known or not known.is_builtin:
        return dict(filled(document.data, shape))
    data, server = decode_as_go(document.data, shape), api_server(target)
    if not isinstance(data.get("spec"), dict):
        return dict(data)
    tree = set_by(server, data)
    if document.group_kind in (kinds.POD, *kinds.POD_TEMPLATES):
        pod = shapes.load("v1", "Pod", target)
        assert pod and pod.fields
        path, own = (*kinds.POD_TEMPLATES.get(document.group_kind, ()), "spec"), pod.fields["spec"]
        tree = changed(tree, path, lambda spec: set_by(server, encode_as_go(spec.data(), own)))
    if document.group_kind == kinds.SERVICE:
        tree = changed(tree, ("spec",), lambda spec: _service_defaults(spec, server))
    elif document.group_kind in _OF_WORKLOADS:
        tree = changed(tree, ("spec",), lambda spec: with_missing(spec, _OF_WORKLOADS[document.group_kind], server))
        tree = changed(
            tree, (*kinds.POD_TEMPLATES[document.group_kind], "spec"), lambda spec: pod_spec_defaults(spec, server, target["kubernetes"])
        )
    else:
        (tree,) = with_api_defaults([tree], (), target)
    return dict(tree.data())


# The defaults of a StatefulSet and of its templates of claims.
#
# Follows `SetDefaults_StatefulSet` and `SetDefaults_PersistentVolumeClaim`, k8s.io/kubernetes pkg/apis/apps/v1 and pkg/apis/core/v1, and
# `dropStatefulSetDisabledFields`, pkg/registry/apps/statefulset, 1.30 to 1.37.


_ROLLING_SET = ("spec", "updateStrategy", "rollingUpdate")
_OF_STATEFUL_SETS: dict[str, Any] = {"replicas": 1, "podManagementPolicy": "OrderedReady", "revisionHistoryLimit": _HISTORY}
_OF_CLAIMS = {"volumeMode": "Filesystem"}
_KEPT_CLAIMS = ("spec", "persistentVolumeClaimRetentionPolicy")
_RETAINED = {"whenDeleted": "Retain", "whenScaled": "Retain"}


def stateful_set_defaults(made: MarkedTree, target: Target) -> MarkedTree:
    """A StatefulSet with what the server fills in, and without the fields of gates that are off."""
    server, counts_unavailable = api_server(target), is_at_least(target["kubernetes"], "1.37")
    strategy = {"partition": 0, **({"maxUnavailable": 1} if counts_unavailable else {})}
    made = changed(made, ("spec",), lambda spec: with_missing(spec, _OF_STATEFUL_SETS, server))
    made = changed(
        made, ("spec", "persistentVolumeClaimRetentionPolicy"), lambda each: with_missing(each, _RETAINED, server, fill_empty=True)
    )
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
    return changed(claim, ("spec",), lambda spec: with_missing(spec, _OF_CLAIMS, server))


# The defaults of a pod: those of its spec, those that only pods get, and what the server's admission plugins add.
#
# Follows `SetDefaults_Pod`, k8s.io/kubernetes pkg/apis/core/v1, and the plugins ServiceAccount, Priority and DefaultTolerationSeconds,
# plugin/pkg/admission, 1.36, as they are without any configuration.


_SECONDS = 300


def pod_defaults(spec: MarkedTree, server: Mark, context: Sequence[Document], release: str) -> MarkedTree:
    """A pod's spec as the server stores it."""
    spec = with_data(spec, filled_in(spec.data(), release), server)
    for name in CONTAINERS:
        spec = each_item(spec, name, lambda container: _with_copied_places(container, server))
    spec = where_given(spec, "resources", lambda each: _amounts_in_place(each, server))
    spec = pod_spec_defaults(with_missing(spec, {"enableServiceLinks": True}, server), server, release)
    return _with_tolerations(with_priority(with_service_account(spec, server), server, context), server)


def _with_copied_places(container: MarkedTree, server: Mark) -> MarkedTree:
    """A container whose requests that the server copied from limits have their places, and ports of the host those of its own ports."""
    container = where_given(container, "resources", lambda each: _amounts_in_place(each, server))
    return each_item(container, "ports", lambda port: _field_in_place(port, "hostPort", "containerPort", server))


def _amounts_in_place(resources: MarkedTree, server: Mark) -> MarkedTree:
    return _field_in_place(_field_in_place(resources, "requests", "limits", server), "limits", "requests", server)


def _field_in_place(tree: MarkedTree, field: str, source: str, server: Mark) -> MarkedTree:
    """A mapping with the place of one field at those values of another that the server copied from there."""
    return where_given(tree, field, lambda made: _in_place(made, tree.get(source), server))


def _in_place(made: MarkedTree, source: MarkedTree | None, server: Mark) -> MarkedTree:
    if source is None:
        return made
    if isinstance(made.value, dict):
        inside = {name: _in_place(each, source.get(name), server) for name, each in made.value.items()}
        return (source if made.mark is server else made).with_value(inside)
    return source if made.mark is server and made.value == source.value else made


def _with_tolerations(spec: MarkedTree, server: Mark) -> MarkedTree:
    """A pod spec that tolerates for a while that its node is not ready or cannot be reached."""
    added = [
        set_by(server, {"key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": _SECONDS})
        for key in TOLERATED_TAINTS
        if not any(_tolerates(each, key) for each in items(spec.get("tolerations")))
    ]
    return with_appended(spec, "tolerations", added, server) if added else spec


def _tolerates(toleration: MarkedTree, key: str) -> bool:
    given = {name: each.value for name, each in toleration.value.items()}
    return given.get("key", "") in (key, "") and given.get("effect", "NoExecute") == "NoExecute"


# The defaults of a pod's spec, in a pod as in a template, with the places of all that was there before.
#
# Follows `SetDefaults_PodSpec` and what is generated around it, k8s.io/kubernetes pkg/apis/core/v1, 1.36.


def pod_spec_defaults(spec: MarkedTree, server: Mark, release: str) -> MarkedTree:
    """A pod's spec with the defaults of its type, and without the fields of features that are off."""
    spec = with_data(spec, completed(without_disabled(spec.data(), release)), server)

    def container(each: MarkedTree) -> MarkedTree:
        return with_missing(each, {"imagePullPolicy": default_pull_policy(text(each, "image")), "resources": {}}, server)

    def image(each: MarkedTree) -> MarkedTree:
        return with_missing(each, {"pullPolicy": default_pull_policy(text(each, "reference"))}, server)

    for name in CONTAINERS:
        spec = each_item(spec, name, container)
    spec = each_item(spec, "volumes", lambda volume: where_given(volume, "image", image))
    named = spec.get("serviceAccountName")
    account = named if named and named.value else spec.get("serviceAccount")  # the older name of the same
    return spec.with_value({**spec.value, "serviceAccountName": account, "serviceAccount": account}) if account else spec


# The service account of a pod, and the volume with its token.
#
# Follows `Plugin.Admit`, k8s.io/kubernetes plugin/pkg/admission/serviceaccount, 1.36, for accounts that leave mounting the token to pods.


TOKEN_VOLUME = f"kube-api-access-{RANDOM}"
_FOLDER = "/var/run/secrets/kubernetes.io/serviceaccount"
_TOKEN_SECONDS = 3607  # the server marks tokens of its own by the seven
_MODE = 0o644


def with_service_account(spec: MarkedTree, server: Mark) -> MarkedTree:
    """A pod's spec with its account, and with the token mounted in every container that mounts nothing there itself."""
    named = spec.get("serviceAccountName")
    name = named if named and named.value else "default"
    spec = with_missing(spec, {"serviceAccountName": name, "serviceAccount": name}, server)
    wanted = spec.get("automountServiceAccountToken")
    if wanted is not None and wanted.value is False:
        return spec
    before = [each for field in CONTAINERS for each in items(spec.get(field))]
    mount = set_by(server, {"name": TOKEN_VOLUME, "mountPath": _FOLDER, "readOnly": True})

    def with_mount(container: MarkedTree) -> MarkedTree:
        return container if _mounts_token(container) else with_appended(container, "volumeMounts", [mount], server)

    for field in CONTAINERS:
        spec = each_item(spec, field, with_mount)
    return spec if all(map(_mounts_token, before)) else with_appended(spec, "volumes", [_volume(server)], server)


def _mounts_token(container: MarkedTree) -> bool:
    return any(text(mount, "mountPath") == _FOLDER for mount in items(container.get("volumeMounts")))


def _volume(server: Mark) -> MarkedTree:
    """The volume with the token, the certificate of the cluster, and the name of the namespace."""
    token = {"expirationSeconds": _TOKEN_SECONDS, "path": "token"}
    certificate = {"name": "kube-root-ca.crt", "items": [{"key": "ca.crt", "path": "ca.crt"}]}
    namespace = {"items": [{"path": "namespace", "fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.namespace"}}]}
    sources = [{"serviceAccountToken": token}, {"configMap": certificate}, {"downwardAPI": namespace}]
    return set_by(server, {"name": TOKEN_VOLUME, "projected": {"defaultMode": _MODE, "sources": sources}})


# The defaults of a service on a cluster with IPv4 addresses; the addresses that the server chooses itself are left out.
#
# Follows `SetDefaults_Service`, k8s.io/kubernetes pkg/apis/core/v1, and `Alloc.initIPFamilyFields`, pkg/registry/core/service/storage,
# 1.36.


def _of_made_service(spec: MarkedTree, server: Mark) -> MarkedTree:
    """The spec of a service that an operator creates as the server stores it."""
    return headless_service_defaults(spec, server) if text(spec, "clusterIP") == "None" else _service_defaults(spec, server)


def headless_service_defaults(spec: MarkedTree, server: Mark) -> MarkedTree:
    """The spec of a service without an address as the server stores it."""
    own = {"clusterIPs": [spec.value["clusterIP"]], "ipFamilies": ["IPv4"], "ipFamilyPolicy": "SingleStack"}
    return with_missing(_service_defaults(spec, server), own, server)


def _service_defaults(spec: MarkedTree, server: Mark) -> MarkedTree:
    """What the server fills into any service."""
    spec = each_item(spec, "ports", lambda port: with_missing(port, {"protocol": "TCP", "targetPort": port.value["port"]}, server))
    spec = with_missing(spec, {"internalTrafficPolicy": "Cluster", "sessionAffinity": "None", "type": "ClusterIP"}, server)
    return with_missing(spec, _OF_OPEN_SERVICES.get(text(spec, "type"), {}), server)


#: Types of services that are reached from outside of the cluster -> their further defaults.
_OF_OPEN_SERVICES: dict[str, dict[str, Any]] = {
    "NodePort": {"externalTrafficPolicy": "Cluster"},
    "LoadBalancer": {"externalTrafficPolicy": "Cluster", "allocateLoadBalancerNodePorts": True},
}


# The defaults of a HorizontalPodAutoscaler: one replica at the least, and 80 percent of the CPU where no metric is named.
#
# Follows `SetDefaults_HorizontalPodAutoscaler`, k8s.io/kubernetes pkg/apis/autoscaling/v2, 1.36.


_CPU = {"type": "Resource", "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 80}}}
_OF_AUTOSCALERS = {"minReplicas": 1, "metrics": [_CPU]}


def where_given(tree: MarkedTree, field: str, change: Callable[[MarkedTree], MarkedTree]) -> MarkedTree:
    """A mapping with one field changed, where that is there."""
    child = tree.value.get(field)
    return tree.with_value({**tree.value, field: change(child)}) if child is not None else tree
