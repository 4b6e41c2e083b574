"""The pods of a RayCluster: the templates of its groups, with what starts Ray in their first container.

Follows `DefaultHeadPodTemplate`, `DefaultWorkerPodTemplate`, `BuildPod`, `setContainerEnvVars`, `configureGCSFaultTolerance` and
`BuildAutoscalerContainer`, github.com/ray-project/kuberay ray-operator/controllers/ray/common, and `createHeadPod` and
`createWorkerPodWithIndex`, ray-operator/controllers/ray, 1.4.2 to 1.7.0, as it is started by default.
"""

from __future__ import annotations

from jobspec.apis.releases import is_at_least
from jobspec.documents.marked_tree import (
    MarkedTree,
    changed,
    each_item,
    items,
    set_by,
    text,
    with_appended,
    with_fields,
)
from jobspec.operators.kuberay import (
    AUTOSCALER,
    AUTOSCALER_COMMAND,
    CLUSTER,
    FAULT_TOLERANT,
    GROUP,
    HEAD,
    HEAD_GROUP,
    NODE_TYPE,
    OVERWRITE,
    PORTS,
    SECOND_VERSION,
    STORAGE_NAMESPACE,
    WAITER,
    WORKER,
)
from jobspec.operators.kuberay.access import account_of
from jobspec.operators.kuberay.cluster import RayCluster, WorkerGroup, longest_part
from jobspec.operators.kuberay.probes import with_probes
from jobspec.operators.kuberay.start import command, head_parameters, worker_parameters
from jobspec.operators.made import RANDOM, SHA1, UID, as_go_writes, indices
from jobspec.schemas import shapes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from typing import Any

    from jobspec.documents.marked_tree import MarkedTree as Tree
    from jobspec.operators.kuberay.start import Parameters

_LONGEST = 50
"""The characters of a cluster's or group's name that are in the names of its pods."""
_SHARED, _LOGS = ("shared-mem", "/dev/shm"), ("ray-logs", "/tmp/ray")  # noqa: S108 (the paths are KubeRay's)
_HASH = "ray.io/upgrade-strategy-recreate-hash"
BASH = ["/bin/bash", "-c", "--"]
SMALL = {"cpu": "200m", "memory": "256Mi"}
"""What the init container of a worker requests, and its limits."""
_SCALE = "ray kuberay-autoscaler --cluster-name $(RAY_CLUSTER_NAME) --cluster-namespace $(RAY_CLUSTER_NAMESPACE)"
OF_AUTOSCALER = {"cpu": "500m", "memory": "512Mi"}
"""What an autoscaler requests, and its limits, unless the user says it."""


def head_pod(cluster: RayCluster) -> MarkedTree:
    """The pod of the head."""
    template = _template(cluster.head, cluster)
    spec, further = template.value["spec"], {}
    if cluster.scales:
        spec, further = _with_autoscaler(spec, cluster), {"no-monitor": "true"}
    if cluster.is_fault_tolerant:
        spec = _first(spec, lambda each: _with_storage(each, cluster))
        further |= _credentials(cluster)
    notes = {
        **_overwritten(cluster),
        FAULT_TOLERANT: str(cluster.is_fault_tolerant).lower(),
        **({STORAGE_NAMESPACE: _storage(cluster)} if cluster.is_fault_tolerant else {}),
        **({_HASH: SHA1, "ray.io/kuberay-version": f"v{cluster.release}"} if is_at_least(cluster.release, "1.6.0") else {}),
    }
    labels = _labels(cluster.head, cluster, HEAD, HEAD_GROUP)
    if cluster.maker == "RayService":
        labels["ray.io/serve"] = "false"
    parameters = head_parameters(cluster.head.data(), further)
    spec = _with_ray(_with_tokens(_with_metrics_port(spec, cluster), cluster), template, cluster, HEAD, parameters)
    prefix = cluster.name.with_value(f"{longest_part(str(cluster.name.value), _LONGEST)}-{HEAD}-".lower())
    return _pod(template, cluster, prefix, {"labels": labels, "annotations": notes}, spec, keeps_name=True)


def worker_pods(cluster: RayCluster, group: WorkerGroup, *, first_and_last_only: bool = False) -> Iterator[MarkedTree]:
    """The pods of a group of workers. *first_and_last_only*: as for `expand`."""
    what = f"pods of RayCluster `{cluster.name.value}`"
    numbers = indices(group.pods, what, first_and_last_only=first_and_last_only)
    if not group.pods:
        return
    template = _template(group.tree, cluster)
    spec = _with_waiter(template.value["spec"], cluster)
    if cluster.is_fault_tolerant:
        timeout = [("RAY_gcs_rpc_server_reconnect_timeout_s", "600")]
        spec = _first(spec, lambda each: _with_variables(each, timeout, cluster, missing=True))
    spec = _with_metrics_port(spec, cluster)
    if cluster.scales and cluster.scales_by_second_version:
        spec = with_fields(spec, {"restartPolicy": set_by(cluster.mark, "Never")})
    parameters = worker_parameters(group.tree.data(), f"{cluster.address}:{cluster.port}")
    spec = _with_ray(_with_tokens(spec, cluster), template, cluster, WORKER, parameters)
    named = f"{longest_part(f'{cluster.name.value}-{group.name}', _LONGEST)}-{WORKER}-".lower()
    prefix = group.tree.value["groupName"].with_value(named)
    labels = _labels(group.tree, cluster, WORKER, group.name)
    if cluster.maker == "RayService":
        labels["ray.io/serve"] = "true"
    for number in numbers:
        numbered = _numbers(group, number) if is_at_least(cluster.release, "1.6.0") else {}
        own = {"labels": {**labels, **numbered}, "annotations": _overwritten(cluster)}
        yield _pod(template, cluster, prefix, own, spec)


def _template(group: Tree, cluster: RayCluster) -> MarkedTree:
    """The pod template of a group in Go's form."""
    pod = shapes.part("v1", "Pod", cluster.target, ("spec",))
    return changed(group.value["template"], ("spec",), lambda spec: as_go_writes(spec, pod))


def _first(spec: Tree, change: Callable[[Tree], Tree]) -> MarkedTree:
    """A pod spec whose first container, in which Ray runs, is changed."""
    containers = spec.value["containers"]
    first, *others = containers.value
    return with_fields(spec, {"containers": containers.with_value([change(first), *others])})


def _pod(template: Tree, cluster: RayCluster, prefix: Tree, own: Mapping[str, Any], spec: Tree, *, keeps_name: bool = False) -> MarkedTree:
    """A pod of a template, with *own* labels and annotations. *keeps_name*: it has the name that its template may have."""
    mark = cluster.mark
    metadata = template.get("metadata") or MarkedTree({}, mark)
    given = metadata.get("name") if keeps_name else None
    annotations = with_fields(metadata.get("annotations") or MarkedTree({}, mark), set_by(mark, own["annotations"]).value)
    about = {
        "generateName": prefix,
        "name": given if given and given.value else prefix.with_value(f"{prefix.value}{RANDOM}"),
        "namespace": cluster.namespace,
        "labels": set_by(mark, own["labels"]),
        "annotations": annotations if annotations.value else None,
        "ownerReferences": cluster.owners,
    }
    kind = set_by(mark, {"apiVersion": "v1", "kind": "Pod"})
    return with_fields(kind, {"metadata": with_fields(metadata, about), "spec": spec})


def _labels(group: Tree, cluster: RayCluster, node_type: str, name: str) -> dict[str, Any]:
    """The labels of the pods of a group: KubeRay's own, over which most of the user's go."""
    given = {**dict(group.entries("template", "metadata", "labels")), **dict(group.entries("labels"))}
    fixed = {CLUSTER: cluster.name, NODE_TYPE: node_type, GROUP: name}
    return {"ray.io/is-ray-node": "yes", **cluster.labels(node_type), **given, **fixed}


def _numbers(group: WorkerGroup, number: int) -> dict[str, str]:
    """The labels by which the pods of a group are numbered: by replica, and in a replica of several hosts."""
    index, host = divmod(number, group.hosts)
    found = {"ray.io/worker-group-replica-index": str(index)}
    if group.hosts == 1:
        return found
    return {**found, "ray.io/worker-group-replica-name": f"{group.name}-{RANDOM}", "ray.io/replica-host-index": str(host)}


def _overwritten(cluster: RayCluster) -> dict[str, str]:
    """The annotation of a cluster by which its containers keep their commands."""
    return {OVERWRITE: "true"} if cluster.annotation(OVERWRITE).lower() == "true" else {}


# Containers and volumes that KubeRay adds to a template.


def _with_autoscaler(spec: Tree, cluster: RayCluster) -> MarkedTree:
    """The pod spec of a head with the container of the autoscaler, and the account that may change the cluster."""
    first = items(spec.get("containers"))[0]
    fields = {
        "name": AUTOSCALER,
        **({"image": image} if (image := first.get("image")) else {}),
        "imagePullPolicy": "IfNotPresent",
        "env": [
            {"name": "RAY_CLUSTER_NAME", "valueFrom": _label_of_pod(CLUSTER)},
            {"name": "RAY_CLUSTER_NAMESPACE", "valueFrom": _field_of_pod("metadata.namespace")},
            {"name": "RAY_HEAD_POD_NAME", "valueFrom": _field_of_pod("metadata.name")},
            {"name": "KUBERAY_CRD_VER", "value": "v1"},
            *([{"name": AUTOSCALER_COMMAND, "value": _SCALE}] if is_at_least(cluster.release, "1.7.0") else ()),
        ],
        "command": BASH,
        "args": [_SCALE],
        "resources": {"limits": OF_AUTOSCALER, "requests": OF_AUTOSCALER},
    }
    container = set_by(cluster.mark, fields)
    if cluster.has_token:
        container = with_token(container, cluster)
    spec = with_appended(spec, "containers", [_with_options(container, cluster)])
    spec = with_fields(spec, {"serviceAccountName": set_by(cluster.mark, account_of(cluster))})
    if cluster.scales_by_second_version:
        spec = with_fields(spec, {"restartPolicy": set_by(cluster.mark, "Never")})
    elif text(cluster.spec, "autoscalerOptions", "version") != "v1" or not is_at_least(cluster.release, "1.7.0"):
        return spec
    is_second = [(SECOND_VERSION, str(cluster.scales_by_second_version).lower())]
    return _first(spec, lambda each: _with_variables(each, is_second, cluster))


def _with_options(container: Tree, cluster: RayCluster) -> MarkedTree:
    """The container of the autoscaler with the options that the user writes."""
    options = cluster.spec.get("autoscalerOptions")
    if options is None:
        return container
    written = as_go_writes(options, shapes.part("v1", "Pod", cluster.target, ("spec", "containers", 0)))
    replaced = {name: written.get(name) for name in ("resources", "image", "imagePullPolicy", "securityContext")}
    replaced |= {name: own for name in ("command", "args") if items(own := written.get(name))}  # since 1.7.0, whose CRD has them
    container = with_fields(container, replaced)
    for name in ("env", "envFrom", "volumeMounts"):
        if added := items(written.get(name)):
            container = with_appended(container, name, added)
    return container


_WAIT = """
					SECONDS=0
					while true; do
						if (( SECONDS <= 120 )); then
							if ray health-check --address {0} > /dev/null 2>&1; then
								echo "GCS is ready."
								break
							fi
							echo "$SECONDS seconds elapsed: Waiting for GCS to be ready."
						else
							if ray health-check --address {0}; then
								echo "GCS is ready. Any error messages above can be safely ignored."
								break
							fi
							echo "$SECONDS seconds elapsed: Still waiting for GCS to be ready. For troubleshooting, refer to the FAQ at \
{1}."
						fi
						sleep 5
					done
				"""


_HELP = "https://docs.ray.io/en/master/cluster/kubernetes/troubleshooting.html"
_OLDER_HELP = "https://github.com/ray-project/kuberay/blob/master/docs/guidance/FAQ.md"


def _with_waiter(spec: Tree, cluster: RayCluster) -> MarkedTree:
    """The pod spec of a worker with the init container that waits until the head answers."""
    first = items(spec.get("containers"))[0]
    copied = {name: each for name in ("image", "imagePullPolicy", "securityContext", "env", "volumeMounts") if (each := first.get(name))}
    script = _WAIT.format(f"{cluster.address}:{cluster.port}", _HELP if is_at_least(cluster.release, "1.5.0") else _OLDER_HELP)
    fields = {"name": WAITER, "command": BASH, "args": [script], "resources": {"limits": SMALL, "requests": SMALL}, **copied}
    return with_appended(spec, "initContainers", [set_by(cluster.mark, fields)], cluster.mark)


def _with_metrics_port(spec: Tree, cluster: RayCluster) -> MarkedTree:
    """A pod spec whose first container has a port for its metrics."""
    port = set_by(cluster.mark, {"name": "metrics", "containerPort": PORTS["metrics"]})

    def change(container: Tree) -> MarkedTree:
        is_there = any(text(each, "name") == "metrics" for each in items(container.get("ports")))
        return container if is_there else with_appended(container, "ports", [port], cluster.mark)

    return _first(spec, change)


def _with_folder(spec: Tree, number: int, name: str, path: str, cluster: RayCluster, *, in_memory: bool) -> MarkedTree:
    """A pod spec whose container of a number mounts a folder of its own at a path, unless it mounts something there."""
    containers = spec.value["containers"]
    container = containers.value[number]
    if any(text(each, "mountPath") == path for each in items(container.get("volumeMounts"))):
        return spec
    if all(text(each, "name") != name for each in items(spec.get("volumes"))):
        amounts = [container.get("resources", field, "memory") for field in ("limits", "requests")]
        size = next(filter(None, amounts), None)
        source: dict[str, Any] = {"medium": "Memory", **({"sizeLimit": size} if size else {})} if in_memory else {}
        spec = with_appended(spec, "volumes", [set_by(cluster.mark, {"name": name, "emptyDir": source})], cluster.mark)
    mount = set_by(cluster.mark, {"mountPath": path, "name": name})
    made = list(containers.value)
    made[number] = with_appended(container, "volumeMounts", [mount], cluster.mark)
    return with_fields(spec, {"containers": containers.with_value(made)})


# The tokens by which the processes of Ray know each other, and the state that the head keeps in Redis.


def _with_tokens(spec: Tree, cluster: RayCluster) -> MarkedTree:
    """A pod spec whose Ray containers have the cluster's token, where it has one."""
    if not cluster.has_token:
        return spec
    spec = _first(spec, lambda each: with_token(each, cluster))
    if cluster.uses_own_tokens:
        spec = with_token_volume(spec, cluster)

    def waiter(container: Tree) -> MarkedTree:
        return with_token(container, cluster) if text(container, "name") == WAITER else container

    return each_item(spec, "initContainers", waiter)


_TOKEN_VOLUME = "ray-token"  # noqa: S105 (the name of a volume)


def with_token(container: Tree, cluster: RayCluster) -> MarkedTree:
    """A container with the variables by which Ray finds its token."""
    missing = is_at_least(cluster.release, "1.6.0")
    container = _with_variables(container, [("RAY_AUTH_MODE", "token")], cluster, missing=missing)
    if not cluster.uses_own_tokens:
        key = {"secretKeyRef": {"name": cluster.secret, "key": "auth_token"}}
        return _with_variables(container, [("RAY_AUTH_TOKEN", key)], cluster, missing=missing)
    container = _with_variables(container, [("RAY_ENABLE_K8S_TOKEN_AUTH", "true")], cluster, missing=True)
    if any(text(each, "name") == _TOKEN_VOLUME for each in items(container.get("volumeMounts"))):
        return container
    mount = {"name": _TOKEN_VOLUME, "mountPath": "/var/run/secrets/ray.io/serviceaccount", "readOnly": True}
    return with_appended(container, "volumeMounts", [set_by(cluster.mark, mount)], cluster.mark)


def with_token_volume(spec: Tree, cluster: RayCluster) -> MarkedTree:
    """A pod spec with the volume of a service account's token for Ray."""
    if any(text(each, "name") == _TOKEN_VOLUME for each in items(spec.get("volumes"))):
        return spec
    volume = {"name": _TOKEN_VOLUME, "projected": {"sources": [{"serviceAccountToken": {"path": "token"}}]}}
    return with_appended(spec, "volumes", [set_by(cluster.mark, volume)], cluster.mark)


def _storage(cluster: RayCluster) -> MarkedTree | str:
    """The name under which the head keeps its state."""
    own = cluster.spec.get("gcsFaultToleranceOptions", "externalStorageNamespace")
    if own and own.value:
        return own
    return cluster.tree.get("metadata", "annotations", STORAGE_NAMESPACE) or UID


def _credentials(cluster: RayCluster) -> Parameters:
    """The parameters by which the head logs in at Redis."""
    options = cluster.spec.get("gcsFaultToleranceOptions")
    found = {name: options.get(field) if options else None for name, field in _CREDENTIALS.items()}
    return {name.lower().replace("_", "-"): f"${name}" for name, each in found.items() if each}


_CREDENTIALS = {"REDIS_USERNAME": "redisUsername", "REDIS_PASSWORD": "redisPassword"}


def _with_storage(container: Tree, cluster: RayCluster) -> MarkedTree:
    """The head's container with the address of Redis, and how to log in there."""
    container = _with_variables(container, [("RAY_external_storage_namespace", _storage(cluster))], cluster, missing=True)
    options = cluster.spec.get("gcsFaultToleranceOptions")
    if options is None:
        password = cluster.head.get("rayStartParams", "redis-password")
        return _with_variables(container, [("REDIS_PASSWORD", password)], cluster, missing=True) if password else container
    container = _with_variables(container, [("RAY_REDIS_ADDRESS", options.get("redisAddress") or "")], cluster)
    for name, field in _CREDENTIALS.items():
        if given := options.get(field):
            own = {part: each for part in ("value", "valueFrom") if (each := given.get(part)) and each.value}
            container = with_appended(container, "env", [set_by(cluster.mark, {"name": name, **own})], cluster.mark)
    return container


# What starts Ray: the command, the folder of its shared memory, variables and probes.


def _with_ray(spec: Tree, template: Tree, cluster: RayCluster, node_type: str, parameters: Parameters) -> MarkedTree:
    """A pod spec whose first container starts Ray."""
    if "plasma-directory" not in parameters or not is_at_least(cluster.release, "1.6.0"):
        spec = _with_folder(spec, 0, *_SHARED, cluster, in_memory=True)
    if node_type == HEAD and cluster.scales:
        names = [text(each, "name") for each in items(spec.get("containers"))]
        spec = _with_folder(spec, 0, *_LOGS, cluster, in_memory=False)
        spec = _with_folder(spec, names.index(AUTOSCALER), *_LOGS, cluster, in_memory=False)
    resources = items(spec.get("containers"))[0].get("resources")
    starts, whole = command(node_type, parameters, resources.data() if resources else {}, cluster.release)
    note = text(template, "metadata", "annotations", OVERWRITE)
    keeps_command = bool(_overwritten(cluster)) or note.lower() == "true"

    def change(container: Tree) -> MarkedTree:
        own = "" if keeps_command else _own_command(container)
        if not keeps_command and "ray start" not in own:
            started = f"ulimit -n {_FILES if is_at_least(cluster.release, '1.7.0') else _OLDER_FILES}; {starts}"
            commands = {"command": BASH, "args": [f"{own} && {started}" if own else started]}
            container = with_fields(container, set_by(cluster.mark, commands).value)
        container = _with_variables(container, _variables(cluster, node_type, starts), cluster)
        container = _with_variables(container, _missing_variables(cluster, node_type), cluster, missing=True)
        if node_type == HEAD:
            container = _with_variables(container, [("RAY_USAGE_STATS_EXTRA_TAGS", _tags(cluster))], cluster)
        container = _with_variables(container, [("RAY_DASHBOARD_ENABLE_K8S_DISK_USAGE", "1")], cluster, missing=True)
        return with_probes(container, cluster, node_type, whole)

    address = _addresses(cluster)
    spec = each_item(spec, "initContainers", lambda each: _with_variables(each, address, cluster))
    return _first(spec, change)


_FILES, _OLDER_FILES = "${RAY_START_ULIMIT_OPEN_FILES:-65536}", "65536"
"""How many files Ray may open."""


def _own_command(container: Tree) -> str:
    """The command line of a container as KubeRay puts it into a script: all words as they are."""
    return "".join(f" {each.value} " for field in ("command", "args") for each in items(container.get(field)))


def _addresses(cluster: RayCluster) -> list[tuple[str, str]]:
    """The variables that hold the address of the head, outside of it."""
    return [("FQ_RAY_IP", cluster.address), ("RAY_IP", cluster.address.partition(".")[0])]


def _variables(cluster: RayCluster, node_type: str, starts: str) -> list[tuple[str, Any]]:
    """The variables that KubeRay adds whether or not a container has them."""
    return [
        *(_addresses(cluster) if node_type == WORKER else ()),
        ("RAY_CLUSTER_NAME", _label_of_pod(CLUSTER)),
        *([("RAY_CLUSTER_NAMESPACE", _field_of_pod("metadata.namespace"))] if is_at_least(cluster.release, "1.6.0") else ()),
        ("RAY_CLOUD_INSTANCE_ID", _field_of_pod("metadata.name")),
        ("RAY_NODE_TYPE_NAME", _label_of_pod(GROUP)),
        ("KUBERAY_GEN_RAY_START_CMD", starts),
    ]


def _missing_variables(cluster: RayCluster, node_type: str) -> list[tuple[str, str]]:
    """The variables that KubeRay adds where a container has none of the name."""
    serving = [
        ("RAY_timeout_ms_task_wait_for_death_info", "0"),
        ("RAY_gcs_server_request_timeout_seconds", "5"),
        ("RAY_SERVE_KV_TIMEOUT_S", "5"),
    ]
    host = "127.0.0.1" if node_type == HEAD else cluster.address
    return [
        ("RAY_PORT", cluster.port),
        *(serving if cluster.maker == "RayService" else ()),
        ("RAY_ADDRESS", f"{host}:{cluster.port}"),
        ("RAY_USAGE_STATS_KUBERAY_IN_USE", "1"),
    ]


def _tags(cluster: RayCluster) -> str:
    return f"kuberay_version=v{cluster.release};kuberay_crd={cluster.maker}"


def _field_of_pod(path: str) -> dict[str, Any]:
    return {"fieldRef": {"fieldPath": path}}


def _label_of_pod(name: str) -> dict[str, Any]:
    return _field_of_pod(f"metadata.labels['{name}']")


def _with_variables(container: Tree, variables: Sequence[tuple[str, Any]], cluster: RayCluster, *, missing: bool = False) -> MarkedTree:
    """A container with variables at the end. *missing*: without those that it has already."""
    known = {text(each, "name") for each in items(container.get("env"))} if missing else ()
    added = [_variable(name, value) for name, value in variables if name not in known]
    return with_appended(container, "env", items(set_by(cluster.mark, added)), cluster.mark) if added else container


def _variable(name: str, value: Any) -> dict[str, Any]:
    """A variable with a value or a source; an empty value is left out."""
    if isinstance(value, dict):
        return {"name": name, "valueFrom": value}
    is_empty = not (value.value if isinstance(value, MarkedTree) else value)
    return {"name": name} if is_empty else {"name": name, "value": value}
