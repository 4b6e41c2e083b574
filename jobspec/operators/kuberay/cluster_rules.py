"""What KubeRay's validation refuses of a cluster that the API server accepts: an event says so, and no pod comes.

Follows `ValidateRayClusterSpec`, `ValidateRayClusterUpgradeOptions`, `validateRayGroupResources`, `validateRayGroupLabels`,
`validateWorkerGroupIdleTimeout`, `validateWorkerGroupPriority` and `validateGcsFaultToleranceBackend`, github.com/ray-project/kuberay
ray-operator/controllers/ray/utils, 1.4.2 to 1.7.0, with the default feature gates.
"""

from __future__ import annotations

from jobspec.apis.releases import is_at_least
from jobspec.diagnostics.places import Key
from jobspec.diagnostics.record import Record
from jobspec.diagnostics.rules import Finding
from jobspec.go.values import mapping, structs
from jobspec.kubernetes.metadata import bad_label_value, bad_qualified_name
from jobspec.operators.kuberay import AUTOSCALER_COMMAND, FAULT_TOLERANT, SECOND_VERSION, STORAGE_NAMESPACE
from jobspec.operators.kuberay.start import is_ray_at_least, ray_version

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from jobspec.diagnostics.places import Data, Path

_OF_RESOURCES = ("num-cpus", "num-gpus", "memory", "resources")
_TOKENS_SINCE, _OWN_TOKENS_SINCE, _PRIORITIES_SINCE = (2, 52, 0), (2, 55, 0), (2, 56, 0)
#: Fields of a cluster -> the feature gates that they need, which are off by default.
_GATES = {"historyServerOptions": "RayClusterHistoryServer", "networkPolicy": "RayClusterNetworkPolicy", "tlsOptions": "RayClusterMTLS"}


class GroupSpec(Record):
    """The head or a group of workers, as its object has it."""

    path: Path
    data: Data
    name: str

    @property
    def parameters(self) -> Mapping[str, str]:
        """The parameters of `ray start`."""
        return self.data.get("rayStartParams") or {}

    @property
    def pod(self) -> Data:
        """The spec of its pods."""
        return mapping(self.data, "template", "spec")

    def variable(self, name: str) -> tuple[Path, Data] | None:
        """The last variable of a name of the container in which Ray runs, and its path; None without one."""
        first = next(iter(structs(self.pod, "containers")), {})
        env = (*self.path, "template", "spec", "containers", 0, "env")
        return next((((*env, number), each) for number, each in enumerate(structs(first, "env")) if each.get("name") == name), None)


class ClusterSpec(Record):
    """The spec of a cluster in its object, with the defaults of the CRD."""

    path: Path
    data: Data
    annotations: Mapping[str, str]
    release: str
    """Of KubeRay."""

    @property
    def head(self) -> GroupSpec:
        """The group of the head."""
        return GroupSpec((*self.path, "headGroupSpec"), mapping(self.data, "headGroupSpec"), "Head")

    @property
    def workers(self) -> list[GroupSpec]:
        """The groups of workers."""
        at, found = (*self.path, "workerGroupSpecs"), structs(self.data, "workerGroupSpecs")
        return [GroupSpec((*at, number), each, str(each.get("groupName"))) for number, each in enumerate(found)]

    @property
    def groups(self) -> list[GroupSpec]:
        """All groups, the head first."""
        return [self.head, *self.workers]

    @property
    def scales(self) -> bool:
        """Whether it has an autoscaler."""
        return self.data.get("enableInTreeAutoscaling") is True

    @property
    def options(self) -> Data:
        """The options of the autoscaler."""
        return mapping(self.data, "autoscalerOptions")

    @property
    def scales_by_second_version(self) -> bool:
        """Whether the second version of the autoscaler is chosen, by its field or by a variable of the head."""
        found = self.head.variable(SECOND_VERSION)
        return self.options.get("version") == "v2" or bool(found and found[1].get("value") in ("1", "true"))

    @property
    def storage(self) -> Data | None:
        """The options of fault tolerance; None where it has none."""
        found: Data | None = self.data.get("gcsFaultToleranceOptions")
        return found


def cluster_refusals(cluster: ClusterSpec) -> Iterator[Finding]:
    """What KubeRay refuses of the spec of a cluster."""
    without = [group for group in cluster.groups if not structs(group.pod, "containers")]
    for group in without:
        who = "the head" if group.name == "Head" and group is without[0] else f"the group `{group.name}`"
        yield Finding((*group.path, "template", "spec", "containers"), f"{who} has no container", "add the container in which Ray runs")
    if not without:
        for rule in _RULES:
            yield from rule(cluster)


def _replicas(cluster: ClusterSpec) -> Iterator[Finding]:
    for group in cluster.workers if is_at_least(cluster.release, "1.6.0") else ():
        least, most = (group.data.get(name) for name in ("minReplicas", "maxReplicas"))
        for name, value in (("minReplicas", least), ("maxReplicas", most)):
            if isinstance(value, int) and value < 0:
                yield Finding((*group.path, name), f"`{name}` of the group `{group.name}` is negative: {value}")
        if isinstance(least, int) and isinstance(most, int) and least > most:
            message = f"`minReplicas` ({least}) of the group `{group.name}` is above `maxReplicas` ({most})"
            yield Finding((*group.path, "minReplicas"), message, "raise `maxReplicas`, or lower `minReplicas`")


def _resources(cluster: ClusterSpec) -> Iterator[Finding]:
    for group in cluster.groups:
        twice = [name for name in _OF_RESOURCES if group.parameters.get(name)]
        if group.data.get("resources") and twice:
            message = f"`resources` of a group cannot be combined with `{twice[0]}` in `rayStartParams`"
            yield Finding((*group.path, "rayStartParams", Key(twice[0])), message, "keep one of them")


def _labels(cluster: ClusterSpec) -> Iterator[Finding]:
    for group in cluster.groups:
        if "labels" in group.parameters:
            hint = "write them in `labels` of the group"
            yield Finding((*group.path, "rayStartParams", Key("labels")), "KubeRay refuses `labels` in `rayStartParams`", hint)
        for name, value in (group.data.get("labels") or {}).items():
            why = bad_qualified_name(name) or bad_label_value(value)
            if why:
                yield Finding((*group.path, "labels", Key(name)), f"`{name}: {value}` cannot be a label: {why}")


def _idle_time(cluster: ClusterSpec) -> Iterator[Finding]:
    if not is_at_least(cluster.release, "1.6.0"):
        return
    own = cluster.options.get("idleTimeoutSeconds")
    if isinstance(own, int) and own < 0:
        yield Finding((*cluster.path, "autoscalerOptions", "idleTimeoutSeconds"), f"`idleTimeoutSeconds` is negative: {own}")
    for group in cluster.workers:
        seconds, at = group.data.get("idleTimeoutSeconds"), (*group.path, "idleTimeoutSeconds")
        if isinstance(seconds, int) and seconds < 0:
            yield Finding(at, f"`idleTimeoutSeconds` of the group `{group.name}` is negative: {seconds}")
        elif seconds is not None and not cluster.scales_by_second_version:
            message = "`idleTimeoutSeconds` of a group needs the second version of the autoscaler"
            yield Finding(at, message, "write `version: v2` in `autoscalerOptions`")


def _priority(cluster: ClusterSpec) -> Iterator[Finding]:
    """What groups that the autoscaler prefers need; the CRD has them since 1.7.0."""
    for group in cluster.workers if is_at_least(cluster.release, "1.7.0") else ():
        if not group.data.get("priority"):
            continue
        yield from _old_ray(cluster, "`priority` of a group", _PRIORITIES_SINCE)
        if not cluster.scales_by_second_version:
            message = "`priority` of a group needs the second version of the autoscaler"
            yield Finding((*group.path, "priority"), message, "write `version: v2` in `autoscalerOptions`")


def _old_ray(cluster: ClusterSpec, what: str, needed: tuple[int, ...]) -> Iterator[Finding]:
    """The finding that something needs a newer Ray than `rayVersion` says."""
    written, release = str(cluster.data.get("rayVersion") or ""), ".".join(map(str, needed))
    if is_ray_at_least(written, needed):
        return
    why = f"`{written}` is too old" if ray_version(written) else f"`{written}` is no version" if written else "there is no `rayVersion`"
    yield Finding((*cluster.path, "rayVersion"), f"{what} needs Ray {release} or newer: {why}", f'write `rayVersion: "{release}"`')


def _storage(cluster: ClusterSpec) -> Iterator[Finding]:
    head, at = cluster.head, ("metadata", "annotations")
    address, password = head.variable("RAY_REDIS_ADDRESS"), head.variable("REDIS_PASSWORD")
    enabled = cluster.annotations.get(FAULT_TOLERANT, "")
    if cluster.storage is None:
        if address and enabled.lower() != "true":
            message = "`RAY_REDIS_ADDRESS` needs `gcsFaultToleranceOptions`"
            yield Finding(address[0], message, "write `redisAddress` in `gcsFaultToleranceOptions`, and remove the variable")
    else:
        if enabled:
            message = f"`{FAULT_TOLERANT}` cannot be combined with `gcsFaultToleranceOptions`"
            yield Finding((*at, Key(FAULT_TOLERANT)), message, "remove the annotation")
        if head.parameters.get("redis-password"):
            place = (*head.path, "rayStartParams", Key("redis-password"))
            yield Finding(place, "`redis-password` cannot be combined with `gcsFaultToleranceOptions`", "write `redisPassword` there")
        for found, name, field in ((password, "REDIS_PASSWORD", "redisPassword"), (address, "RAY_REDIS_ADDRESS", "redisAddress")):
            if found:
                yield Finding(found[0], f"`{name}` cannot be combined with `gcsFaultToleranceOptions`", f"write `{field}` there")
        if cluster.annotations.get(STORAGE_NAMESPACE):
            message = f"`{STORAGE_NAMESPACE}` cannot be combined with `gcsFaultToleranceOptions`"
            yield Finding((*at, Key(STORAGE_NAMESPACE)), message, "write `externalStorageNamespace` there")
        if is_at_least(cluster.release, "1.7.0"):
            yield from _embedded_storage(cluster.storage, (*cluster.path, "gcsFaultToleranceOptions"))
    yield from _user_of_storage(head)


def _embedded_storage(options: Data, at: Path) -> Iterator[Finding]:
    if options.get("backend") == "rocksdb":
        message = _off_by_default("`backend: rocksdb`", "GCSFaultToleranceEmbeddedStorage")
        yield Finding((*at, "backend"), message, _STARTED_WITH.format("GCSFaultToleranceEmbeddedStorage"))
    elif options.get("storage") is not None:
        yield Finding((*at, "storage"), "`storage` needs `backend: rocksdb`", "remove it")


def _user_of_storage(head: GroupSpec) -> Iterator[Finding]:
    hint = "write `redisUsername` in `gcsFaultToleranceOptions`"
    if head.parameters.get("redis-username"):
        yield Finding((*head.path, "rayStartParams", Key("redis-username")), "KubeRay refuses `redis-username` in `rayStartParams`", hint)
    if found := head.variable("REDIS_USERNAME"):
        yield Finding(found[0], "KubeRay refuses the variable `REDIS_USERNAME`", hint)


def _gated(cluster: ClusterSpec) -> Iterator[Finding]:
    """The fields of 1.7.0 that KubeRay refuses unless it was started with their feature gates."""
    for field, gate in _GATES.items() if is_at_least(cluster.release, "1.7.0") else ():
        if cluster.data.get(field) is not None:
            yield Finding((*cluster.path, field), _off_by_default(f"`{field}`", gate), _STARTED_WITH.format(gate))


_STARTED_WITH = "start the operator with `--feature-gates={0}=true`, or remove it"


def _off_by_default(what: str, gate: str) -> str:
    return f"KubeRay refuses {what} without its feature gate {gate}, which is off by default"


def _suspended_groups(cluster: ClusterSpec) -> Iterator[Finding]:
    why = (
        "the cluster has an autoscaler"
        if cluster.scales
        else ""
        if is_at_least(cluster.release, "1.6.0")
        else "RayJobDeletionPolicy is off by default"
    )
    for group in cluster.workers if why else ():
        if group.data.get("suspend") is True:
            yield Finding((*group.path, "suspend"), f"the group `{group.name}` cannot be suspended: {why}")


def _autoscaler(cluster: ClusterSpec) -> Iterator[Finding]:
    for number, each in enumerate(structs(cluster.options, "env") if is_at_least(cluster.release, "1.7.0") else ()):
        if each.get("name") == AUTOSCALER_COMMAND:
            place = (*cluster.path, "autoscalerOptions", "env", number)
            yield Finding(place, f"KubeRay refuses the variable `{AUTOSCALER_COMMAND}`, which it sets itself", "remove the variable")
    found = cluster.head.variable(SECOND_VERSION)
    if not cluster.scales:
        if is_at_least(cluster.release, "1.5.0") and found and found[1].get("value") in ("1", "true"):
            message = f"`{SECOND_VERSION}` needs an autoscaler"
            yield Finding(found[0], message, "write `enableInTreeAutoscaling: true`, or remove the variable")
        return
    version = cluster.options.get("version")
    if version is not None and found:
        message = f"`{SECOND_VERSION}` cannot be combined with `version` of the autoscaler"
        yield Finding(found[0], message, "remove the variable")
    for group in cluster.groups if version == "v2" else ():
        policy = group.pod.get("restartPolicy")
        if policy not in (None, "", "Never"):
            message = f"`restartPolicy: {policy}` cannot be combined with version v2 of the autoscaler"
            yield Finding((*group.path, "template", "spec", "restartPolicy"), message, "write `Never`, or remove it")


def _tokens(cluster: ClusterSpec) -> Iterator[Finding]:
    options, at = mapping(cluster.data, "authOptions"), (*cluster.path, "authOptions")
    uses_own = options.get("enableK8sTokenAuth") is True
    if options.get("mode") != "token":
        if uses_own:
            yield Finding((*at, "enableK8sTokenAuth"), "`enableK8sTokenAuth` needs `mode: token`", "write `mode: token`")
        return
    if uses_own:
        yield from _old_ray(cluster, "`enableK8sTokenAuth`", _OWN_TOKENS_SINCE)
    else:
        yield from _old_ray(cluster, "`mode: token`", _TOKENS_SINCE)
    if uses_own and options.get("secretName"):
        yield Finding((*at, "secretName"), "`secretName` cannot be combined with `enableK8sTokenAuth`", "remove one of them")


_RULES: tuple[Callable[[ClusterSpec], Iterator[Finding]], ...] = (
    _replicas,
    _resources,
    _labels,
    _idle_time,
    _priority,
    _storage,
    _gated,
    _suspended_groups,
    _autoscaler,
    _tokens,
)


def upgrade_refusals(cluster: ClusterSpec, maker: str) -> Iterator[Finding]:
    """What KubeRay refuses of the upgrades of a cluster that a RayJob or RayService makes."""
    if mapping(cluster.data, "upgradeStrategy").get("type") is not None:
        message = f"`upgradeStrategy` cannot be set in a cluster that a {maker} makes"
        yield Finding((*cluster.path, "upgradeStrategy"), message, "remove it")
