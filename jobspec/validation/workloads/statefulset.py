"""Check a StatefulSet as the API server's Go code does.

Follows `ValidateStatefulSet`, k8s.io/kubernetes pkg/apis/apps/validation, with the defaults of pkg/apis/apps/v1, 1.36.
"""

from __future__ import annotations

from jobspec.validation.metadata import bad_label_name
from jobspec.validation.pods.complaints import unsupported
from jobspec.validation.pods.ephemeral import claim_template_problems
from jobspec.validation.problem import Problem
from jobspec.validation.reading import mapping, structs, text
from jobspec.validation.workloads.limits import negative_numbers
from jobspec.validation.workloads.pod_templates import lasting_pods
from jobspec.validation.workloads.rolling_updates import stateful_set_strategy
from jobspec.validation.workloads.selectors import workload_selector
from jobspec.validation.workloads.updates import stateful_set_update

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from jobspec.diagnostics import Path

_SPEC: Path = ("spec",)
_CLAIMS: Path = ("spec", "volumeClaimTemplates")
_VOLUMES: Path = ("spec", "template", "spec", "volumes")
_RETENTION = ("Retain", "Delete")


def stateful_set_problems(data: dict[str, Any], old: dict[str, Any] | None) -> Iterator[Problem]:
    """The problems of a StatefulSet, but for those of any pod template, as an update of *old* unless that is None.

    An update does not look at what cannot change.
    """
    spec, is_new = mapping(data, "spec"), old is None
    yield from stateful_set_update(data, old)
    yield from _policies(spec)
    yield from stateful_set_strategy(spec)
    yield from negative_numbers(spec, ("replicas", "minReadySeconds"), _SPEC)
    yield from negative_numbers(mapping(spec, "ordinals"), ("start",), (*_SPEC, "ordinals"))
    service = text(spec, "serviceName")
    if is_new and service and (why := bad_label_name(service)):
        yield Problem("invalid-name", (*_SPEC, "serviceName"), f"`{service}` is no name for a Service: {why}")
    yield from workload_selector(spec)
    yield from lasting_pods(spec, "StatefulSet")
    for index, claim in enumerate(structs(spec, "volumeClaimTemplates")):
        yield from _name_of_claim(claim, (*_CLAIMS, index))
        yield from claim_template_problems(claim, (*_CLAIMS, index)) if is_new else ()


def _policies(spec: dict[str, Any]) -> Iterator[Problem]:
    management = text(spec, "podManagementPolicy") or "OrderedReady"
    if management not in ("OrderedReady", "Parallel"):
        yield unsupported(management, ("OrderedReady", "Parallel"), (*_SPEC, "podManagementPolicy"))
    retention = mapping(spec, "persistentVolumeClaimRetentionPolicy")
    for name in ("whenDeleted", "whenScaled"):
        policy = text(retention, name) or "Retain"
        if policy not in _RETENTION:
            yield unsupported(policy, _RETENTION, (*_SPEC, "persistentVolumeClaimRetentionPolicy", name))


def _name_of_claim(claim: dict[str, Any], path: Path) -> Iterator[Problem]:
    """The problem of a claim's name, which is that of a volume of the pods."""
    name = text(mapping(claim, "metadata"), "name")
    if not name:
        message = "a template of claims has a name, which its volume in the pods has too"
        yield Problem("missing-name", (*path, "metadata"), message, at_key=True)
    elif why := bad_label_name(name):
        yield Problem("invalid-name", (*path, "metadata", "name"), f"`{name}` is no name for a volume: {why}")


def pods_of(spec: dict[str, Any]) -> tuple[dict[str, Any], list[int]]:
    """The pod template of a StatefulSet's spec as it is checked, and where the first of its volumes stand in the written one.

    It has no names of hosts, which the pods get from the StatefulSet, and volumes for the claims, in the place of others of their names.
    """
    template, pod = mapping(spec, "template"), mapping(spec, "template", "spec")
    names = {text(mapping(claim, "metadata"), "name") for claim in structs(spec, "volumeClaimTemplates")}
    own = [(index, volume) for index, volume in enumerate(structs(pod, "volumes")) if text(volume, "name") not in names]
    right = sorted(name for name in names if name and not bad_label_name(name))
    claims = [{"name": name, "persistentVolumeClaim": {"claimName": name}} for name in right]
    kept = {name: value for name, value in pod.items() if name not in ("hostname", "subdomain", "volumes")}
    volumes = [*(volume for _, volume in own), *claims]
    return {**template, "spec": {**kept, **({"volumes": volumes} if volumes else {})}}, [index for index, _ in own]


def as_written(problem: Problem, places: list[int]) -> Problem:
    """A problem of the checked template, at the volume that it has in the written one."""
    path = problem.path
    if path[:4] != _VOLUMES or len(path) < 5 or not isinstance(path[4], int) or path[4] >= len(places):
        return problem
    moved = (*path[:4], places[path[4]], *path[5:])
    return Problem(problem.rule, moved, problem.message, problem.hint, at_key=problem.at_key, meant=problem.meant, belongs=problem.belongs)
