"""Check Deployments, DaemonSets, ReplicaSets, ReplicationControllers and StatefulSets as the API server's Go code does.

Follows `ValidateDeployment`, `ValidateDaemonSet` and `ValidateReplicaSet`, k8s.io/kubernetes pkg/apis/apps/validation, with the defaults
and conversions of pkg/apis/apps/v1, 1.30 to 1.37.
"""

from __future__ import annotations

from itertools import chain
from typing import Any

from jobspec.apis.releases import is_at_least
from jobspec.diagnostics.places import Data, Path
from jobspec.diagnostics.problems import Problem, Problems
from jobspec.go.values import is_given, mapping, number, string_map, structs, text
from jobspec.kubernetes.metadata import bad_label_name
from jobspec.kubernetes.pods.pod import template_metadata_problems, template_problems, with_template
from jobspec.kubernetes.pods.volumes import claim_template_problems
from jobspec.kubernetes.problems import describe, excluded, field_items, fixed, missing, named, one_of
from jobspec.kubernetes.workloads import selectors

_NUMBERS = ("replicas", "minReadySeconds", "revisionHistoryLimit", "progressDeadlineSeconds")
_DEADLINE = 600  # by default
_TEMPLATE = ("spec", "template")


def lasting_problems(data: Data, old: Data | None, release: str) -> Problems:
    """Yield the problems of a Deployment, ReplicaSet or DaemonSet.

    If *old* is given, the object is an update of it.
    """
    return with_template(_lasting_problems(data, old), mapping(data, *_TEMPLATE), release)


def _lasting_problems(data: Data, old: Data | None) -> Problems:
    """The problems apart from those of the pod template.

    A DaemonSet without a selector is refused for the labels of its template, which nothing selects.
    """
    spec, kind = mapping(data, "spec"), data["kind"]
    yield from _selector_update(data, old)
    yield from selectors.negative_numbers(spec, _NUMBERS, ("spec",))
    yield from selectors.workload_selector(spec)
    yield from _lasting_pods(spec, kind)
    if kind == "Deployment":
        yield from _deployment_strategy(spec)
        yield from _deadline(spec)
        yield from selectors.number_in_annotation(data, "deprecated.deployment.rollback.to", least=0)
    elif kind == "DaemonSet":
        yield from _daemon_set_strategy(spec)
        yield from selectors.number_in_annotation(data, "deprecated.daemonset.template.generation", may_be_empty=False)


def _deadline(spec: Data) -> Problems:
    given, ready = number(spec, "progressDeadlineSeconds"), number(spec, "minReadySeconds") or 0
    deadline, default, field = (_DEADLINE, " by default", "minReadySeconds") if given is None else (given, "", "progressDeadlineSeconds")
    if 0 <= deadline <= ready:
        message = f"`progressDeadlineSeconds`, {deadline}{default}, must be more than `minReadySeconds`, {ready}"
        yield excluded(("spec", field), message, f"set `progressDeadlineSeconds` to more than {ready}")


# Check a ReplicationController as the API server's Go code does.
#
# Follows `ValidateReplicationController`, k8s.io/kubernetes pkg/apis/core/validation, with the defaults of pkg/apis/core/v1, 1.36: the
# selector is the labels of the template where none is written.


def replication_controller_problems(data: Data, _: Data | None, release: str) -> Problems:
    """Yield the problems of a ReplicationController."""
    own, spec = _replication_controller_problems(data), mapping(data, "spec")
    return with_template(own, mapping(spec, "template"), release) if "template" in spec else own


def _replication_controller_problems(data: Data) -> Problems:
    """The problems apart from those of the pod template."""
    spec = mapping(data, "spec")
    labels = string_map(mapping(spec, "template", "metadata"), "labels")
    selector = string_map(spec, "selector") or labels
    yield from selectors.negative_numbers(spec, ("replicas", "minReadySeconds"), ("spec",))
    if not selector:
        yield missing("selector", spec, ("spec",), "or give the pod template labels, which it is by default")
    if not is_given(spec, "template"):
        yield missing("template", spec, ("spec",))
        return
    yield from selectors.unmatched({"matchLabels": selector}, spec)
    yield from _lasting_pods(spec, "ReplicationController")


# Check a StatefulSet as the API server's Go code does.
#
# Follows `ValidateStatefulSet`, k8s.io/kubernetes pkg/apis/apps/validation, with the defaults of pkg/apis/apps/v1, 1.30 to 1.37. Before
# 1.34, neither the pods nor the claims of a StatefulSet are looked at.


_SPEC: Path = ("spec",)
_VOLUMES: Path = ("spec", "template", "spec", "volumes")
_RETENTION = ("Retain", "Delete")


def stateful_set_problems(data: Data, old: Data | None, release: str) -> Problems:
    """Yield the problems of a new StatefulSet, or of an update of *old*."""
    own = _stateful_set_problems(data, old, release)
    template, places = _pods_of(mapping(data, "spec"))
    if not is_at_least(release, "1.34"):  # which looks at the pods only as it makes them
        return chain(own, template_metadata_problems(template, mapping(template, "spec"), _TEMPLATE))
    # the pods of a stored StatefulSet that is wrong by rules that came later are not looked at any more
    before = _pods_of(mapping(old, "spec"))[0]
    if old and (any(_stateful_set_problems(old, old, release)) or any(template_problems(before, _TEMPLATE, release))):
        return own
    return (_at_own_volume(problem, places) for problem in with_template(own, template, release))


def _stateful_set_problems(data: Data, old: Data | None, release: str) -> Problems:
    """The problems apart from those of the pod template.

    An update does not look at what cannot change.
    """
    spec, is_new = mapping(data, "spec"), old is None
    if old is not None:
        yield from _stateful_set_update(data, old, release)
    yield from one_of(text(spec, "podManagementPolicy") or "OrderedReady", ("OrderedReady", "Parallel"), (*_SPEC, "podManagementPolicy"))
    retention = mapping(spec, "persistentVolumeClaimRetentionPolicy")
    for name in ("whenDeleted", "whenScaled"):
        yield from one_of(text(retention, name) or "Retain", _RETENTION, (*_SPEC, "persistentVolumeClaimRetentionPolicy", name))
    yield from _stateful_set_strategy(spec, release)
    yield from selectors.negative_numbers(spec, ("replicas", "minReadySeconds"), _SPEC)
    yield from selectors.negative_numbers(mapping(spec, "ordinals"), ("start",), (*_SPEC, "ordinals"))
    service = text(spec, "serviceName")
    if is_new and service and is_at_least(release, "1.33"):
        yield from named(service, "a Service", bad_label_name, (*_SPEC, "serviceName"))
    yield from selectors.workload_selector(spec)
    yield from _lasting_pods(spec, "StatefulSet")
    for at, claim in field_items(spec, "volumeClaimTemplates", _SPEC) if is_at_least(release, "1.34") else ():
        yield from _name_of_claim(claim, at)
        yield from claim_template_problems(claim, at, release) if is_new else ()


def _name_of_claim(claim: Data, path: Path) -> Problems:
    """Yield the problem of a claim's name, which is also the name of a volume of the pods."""
    name = text(mapping(claim, "metadata"), "name")
    if not name:
        message = "a template of claims has a name, which its volume in the pods has too"
        yield Problem("missing-name", (*path, "metadata"), message, at_key=True)
    else:
        yield from named(name, "a volume", bad_label_name, (*path, "metadata", "name"))


def _pods_of(spec: Data) -> tuple[Data, list[int]]:
    """Return the pod template of a StatefulSet as it is checked, and the places of its volumes.

    It has no names of hosts, which the pods get from the StatefulSet. It has volumes for the claims, in the place of others of their
    names.
    """
    template, pod = mapping(spec, "template"), mapping(spec, "template", "spec")
    names = {text(mapping(claim, "metadata"), "name") for claim in structs(spec, "volumeClaimTemplates")}
    own = [(index, volume) for index, volume in enumerate(structs(pod, "volumes")) if text(volume, "name") not in names]
    right = sorted(name for name in names if name and not bad_label_name(name))
    claims = [{"name": name, "persistentVolumeClaim": {"claimName": name}} for name in right]
    kept = {name: value for name, value in pod.items() if name not in ("hostname", "subdomain", "volumes")}
    volumes = [*(volume for _, volume in own), *claims]
    return {**template, "spec": {**kept, **({"volumes": volumes} if volumes else {})}}, [index for index, _ in own]


def _at_own_volume(problem: Problem, places: list[int]) -> Problem:
    """A problem of the checked template, at the volume that it has in the written one."""
    path = problem.path
    if path[:4] != _VOLUMES or len(path) < 5 or not isinstance(path[4], int) or path[4] >= len(places):
        return problem
    return problem.moved_to((*path[:4], places[path[4]], *path[5:]))


# The strategies by which Deployments, DaemonSets and StatefulSets replace their pods.
#
# Follows `ValidateDeploymentStrategy`, `ValidateDaemonSetUpdateStrategy`, `ValidateStatefulSetSpec` and what they call, k8s.io/kubernetes
# pkg/apis/apps/validation, with the defaults of pkg/apis/apps/v1, 1.30 to 1.37. Before 1.37, the gate of a StatefulSet's `maxUnavailable`
# is off, so that the server drops it.


_ROLLING = "RollingUpdate"


def _deployment_strategy(spec: Data) -> Problems:
    """The problems of a Deployment's `strategy`."""
    kind, rolling, at = _strategy(spec, "strategy")
    yield from _type_of_strategy(spec, "strategy", ("Recreate", _ROLLING))
    if kind == _ROLLING:
        yield from selectors.count_or_percentage(rolling.get("maxUnavailable"), (*at, "maxUnavailable"))
        yield from selectors.count_or_percentage(rolling.get("maxSurge"), (*at, "maxSurge"), most=None)
        if not any(selectors.amount(_or(rolling, name, "25%")) for name in ("maxUnavailable", "maxSurge")):
            yield _standstill(at)


def _daemon_set_strategy(spec: Data) -> Problems:
    """The problems of a DaemonSet's `updateStrategy`."""
    kind, rolling, at = _strategy(spec, "updateStrategy")
    yield from one_of(kind, (_ROLLING, "OnDelete"), (*at[:-1], "type"))
    if kind != _ROLLING:
        return
    for name in ("maxUnavailable", "maxSurge"):
        yield from selectors.count_or_percentage(rolling.get(name), (*at, name))
    unavailable, surge = selectors.amount(_or(rolling, "maxUnavailable", 1)), selectors.amount(_or(rolling, "maxSurge", 0))
    if unavailable and surge:
        when = "a node's new pod comes before or after the old one"
        message = f"`maxSurge` and `maxUnavailable` (1 by default) are mutually exclusive: {when}"
        yield excluded((*at, "maxSurge"), message, "set one of the two to 0")
    elif not unavailable and not surge:
        yield _standstill(at)


def _stateful_set_strategy(spec: Data, release: str) -> Problems:
    """The problems of a StatefulSet's `updateStrategy`."""
    kind, rolling, at = _strategy(spec, "updateStrategy")
    yield from _type_of_strategy(spec, "updateStrategy", (_ROLLING, "OnDelete"))
    if kind == _ROLLING:
        yield from selectors.negative_numbers(rolling, ("partition",), at)
    if kind == _ROLLING and "maxUnavailable" in rolling and is_at_least(release, "1.37"):
        wrong = list(selectors.count_or_percentage(rolling["maxUnavailable"], (*at, "maxUnavailable")))
        yield from wrong
        if not wrong and not selectors.amount(rolling["maxUnavailable"]):
            message = "`maxUnavailable` cannot be 0: no pod could ever be replaced"
            yield Problem("out-of-range", (*at, "maxUnavailable"), message, "write at least 1")


def _strategy(spec: Data, field: str) -> tuple[str, Data, Path]:
    """The type of a strategy, its `rollingUpdate`, and the path of that."""
    strategy = mapping(spec, field)
    return text(strategy, "type") or _ROLLING, mapping(strategy, "rollingUpdate"), ("spec", field, "rollingUpdate")


def _type_of_strategy(spec: Data, field: str, kinds: tuple[str, ...]) -> Problems:
    """Yield the problem of an unknown strategy, or of a `rollingUpdate` in another strategy."""
    kind, _, at = _strategy(spec, field)
    yield from one_of(kind, kinds, (*at[:-1], "type"))
    if kind in kinds and kind != _ROLLING and is_given(mapping(spec, field), "rollingUpdate"):
        yield excluded(at, f"`rollingUpdate` cannot be combined with `type: {kind}`", at_key=True)


def _standstill(path: Path) -> Problem:
    message = "`maxUnavailable` and `maxSurge` cannot both be 0: no pod could ever be replaced"
    return excluded((*path, "maxUnavailable"), message, "set one of them to 1")


def _or(data: Data, name: str, default: Any) -> Any:
    return data[name] if is_given(data, name) else default


# The pod template of workloads that keep pods running: `restartPolicy: Always`, and no deadline.
#
# Follows `ValidatePodTemplateSpecForReplicaSet`, k8s.io/kubernetes pkg/apis/apps/validation, 1.36, and the same of other kinds.


def _lasting_pods(spec: Data, kind: str) -> Problems:
    """The problems of the pod template of a *kind* that keeps pods running, and of its selector."""
    pod, at = mapping(spec, "template", "spec"), ("spec", "template", "spec")
    policy = text(pod, "restartPolicy") or "Always"
    if policy != "Always":
        message = f"`restartPolicy` of a {kind}'s pods can only be `Always`, not {describe(policy)}"
        yield Problem("unsupported-choice", (*at, "restartPolicy"), message, "for pods that complete, use a Job")
    if is_given(pod, "activeDeadlineSeconds"):
        message = f"pods of a {kind} run for good, and cannot have `activeDeadlineSeconds`"
        yield excluded((*at, "activeDeadlineSeconds"), message, at_key=True)


# What updates of Deployments, ReplicaSets, DaemonSets and StatefulSets change.
#
# Follows `ValidateDeploymentUpdate`, `ValidateReplicaSetUpdate`, `ValidateDaemonSetSpecUpdate` and `ValidateStatefulSetUpdate`,
# k8s.io/kubernetes pkg/apis/apps/validation, 1.36.


_ANEW = "restore the old value, or delete the {kind} first, which `kubectl delete --cascade=orphan` does without its pods"


def _selector_update(data: Data, old: Data | None) -> Problems:
    """The problem of a changed selector."""
    new, was = mapping(data, "spec").get("selector"), mapping(old, "spec").get("selector")
    if new is not None and was is not None and not selectors.same(new, was):
        yield _fixed("selector", data)


def _stateful_set_update(data: Data, old: Data, release: str) -> Problems:
    """The problems of changed fields of a StatefulSet: few can change."""
    new_spec, old_spec = mapping(data, "spec"), mapping(old, "spec")
    yield from _selector_update(data, old)
    for name, default in (("serviceName", ""), ("podManagementPolicy", "OrderedReady")):
        if (text(new_spec, name) or default) != (text(old_spec, name) or default):
            yield _fixed(name, data)
    history, were = (_or(spec, "revisionHistoryLimit", 10) for spec in (new_spec, old_spec))
    if history != were and not is_at_least(release, "1.33"):
        yield _fixed("revisionHistoryLimit", data)
    if not selectors.same_claims(structs(new_spec, "volumeClaimTemplates"), structs(old_spec, "volumeClaimTemplates")):
        yield _fixed("volumeClaimTemplates", data)


def _fixed(name: str, data: Data) -> Problem:
    kind = data["kind"]
    is_there = is_given(mapping(data, "spec"), name)
    message = f"`{name}` of a {kind} cannot change" + ("" if is_there else ", and it was not empty")
    return fixed(("spec", name), message, _ANEW.format(kind=kind), at_key=not is_there)
