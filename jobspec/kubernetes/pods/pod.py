"""Pods, pod templates and PodTemplate objects as the server's Go code judges them.

Follows `ValidatePodCreate`, `ValidatePodUpdate` and `ValidatePodTemplate`, k8s.io/kubernetes pkg/apis/core/validation, 1.36.
"""

from __future__ import annotations

from jobspec.diagnostics import Data, Path, Problem, Problems
from jobspec.go.values import decode_as_go
from jobspec.kubernetes.metadata import annotation_problems, bad_label_name, bad_subdomain, generated_name, label_problems
from jobspec.kubernetes.pods.containers import annotations_read, image_problems
from jobspec.kubernetes.pods.defaults import CONTAINERS, containers_of, filled_in, without_disabled
from jobspec.kubernetes.pods.spec import pod_spec_problems, priority_problems
from jobspec.kubernetes.pods.volumes import source_of
from jobspec.kubernetes.problems import missing
from jobspec.schemas.shapes import Shape

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


_WITH_METADATA = ("volumes", "affinity", "topologySpreadConstraints", "resourceClaims")
"""Fields on which a pod's own metadata decides, too."""


def new_pod_problems(pod: Data) -> Problems:
    """The problems of a decoded pod that is to be made, besides its metadata."""
    yield from (each for each in _new(pod) if not _repeats(each, pod))


def changed_pod_problems(data: Data, old: Data, shape: Shape) -> Problems:
    """The problems of a pod besides its metadata, as an update of the *old* data."""
    pod = decode_as_go(data, shape)
    yield from (each for each in _changed(data, old, shape) if not _repeats(each, pod))


def _repeats(problem: Problem, pod: Data) -> bool:
    """Whether a problem of a request is that of the limit from which the server fills it in, so that it is reported once."""
    if problem.path[-2:-1] != ("requests",) or problem.path[1] == "volumes" or problem.rule == "conflicting-values":
        return False
    if problem.path[1] == "resources" and _have_containers(str(problem.path[-1]), pod.get("spec", {})):
        return False
    given: Any = pod
    for step in problem.path[:-1]:
        given = given.get(step, {}) if isinstance(given, dict) else given[step]
    return problem.path[-1] not in given


def _have_containers(resource: str, spec: Data) -> bool:
    """Whether the request of a pod as a whole is what its containers have together, and not its own limit."""
    from jobspec.kubernetes.pods.resources import OF_PODS

    amounts = (each.get("resources", {}) for field in CONTAINERS for each in spec.get(field, ()))
    return resource in OF_PODS and any(resource in each.get(field, {}) for each in amounts for field in ("requests", "limits"))


def _new(pod: Data) -> Problems:
    """The problems of a pod that is to be made.

    The priority of one that names no class is that of the cluster's default class, which the plugins look for.
    """
    pod = _filled_in(pod)
    spec, annotations = pod["spec"], annotations_read(pod.get("metadata", {}))
    yield from _any(pod)
    if annotations:
        from jobspec.kubernetes.pods.scheduling import contradiction_problems

        yield from contradiction_problems(annotations, spec, ("spec",), of_template=False)
    if spec.get("nodeName") and spec.get("schedulingGates"):
        message = "a pod that names its node cannot wait for `schedulingGates`"
        yield Problem("conflicting-values", ("spec", "nodeName"), message, "remove one of the two")
    if spec.get("priorityClassName"):
        yield from priority_problems(spec)
    if "overhead" in spec and not spec.get("runtimeClassName"):
        message = "an overhead comes from a RuntimeClass, and the pod names none"
        hint = "remove it, or name the class by `runtimeClassName`"
        yield Problem("conflicting-values", (*_SPEC, "overhead"), message, hint, at_key=True)
    if spec.get("ephemeralContainers"):
        message = "ephemeral containers can only be added to a pod that runs"
        yield Problem("conflicting-values", ("spec", "ephemeralContainers"), message, "use `kubectl debug` on the running pod")


def _changed(data: Data, old: Data, shape: Shape) -> Problems:
    """The problems of a pod that is there, in its new state."""
    from jobspec.kubernetes.pods.update import pod_update_problems, with_account, with_nulls_as_texts

    pod, before = (_filled_in(decode_as_go(with_nulls_as_texts(each), shape)) for each in (data, old))
    pod = with_account(pod, before)
    yield from _any(pod)
    yield from pod_update_problems(pod, before)


def _filled_in(pod: Data) -> Data:
    return {**pod, "spec": filled_in(pod.get("spec", {}))}


def _any(pod: Data) -> Problems:
    """The problems that new and changed pods can have."""
    spec, annotations = pod["spec"], annotations_read(pod.get("metadata", {}))
    if annotations:
        from jobspec.kubernetes.pods.scheduling import annotation_rule_problems

        yield from annotation_rule_problems(annotations, spec, ("metadata", "annotations"))
    yield from pod_spec_problems(spec, ("spec",))
    for at, container in containers_of(spec, ("spec",), CONTAINERS):
        yield from image_problems(container, at)
    if not spec.keys().isdisjoint(_WITH_METADATA):
        yield from pod_only_problems(pod)


# The template of pods, as workloads and PodTemplates hold it.
#
# Follows `ValidatePodTemplateSpec`, k8s.io/kubernetes pkg/apis/core/validation, 1.36. Which restart policies a template may have is for
# each kind of workload to say.


def template_problems(template: Data, path: Path) -> Problems:
    """The problems of a decoded template (`jobspec.go.values`) at *path*; one without a `spec` is judged with an empty one."""
    metadata, spec = template.get("metadata", {}), without_disabled(template.get("spec", {}))
    yield from label_problems(metadata.get("labels"), (*path, "metadata"))
    yield from annotation_problems(metadata.get("annotations"), (*path, "metadata"))
    annotations = annotations_read(metadata)
    if annotations:
        from jobspec.kubernetes.pods.scheduling import annotation_rule_problems

        yield from annotation_rule_problems(annotations, spec, (*path, "metadata", "annotations"))
    yield from pod_spec_problems(spec, (*path, "spec"))
    if annotations:
        from jobspec.kubernetes.pods.scheduling import contradiction_problems

        yield from contradiction_problems(annotations, spec, (*path, "spec"), of_template=True)
    if spec.get("ephemeralContainers"):
        message = "a template cannot have ephemeral containers, which are added to running pods"
        yield Problem("conflicting-values", (*path, "spec", "ephemeralContainers"), message, "use `kubectl debug` on a running pod")


# Rules that hold for pods and not for templates: they depend on the name, the labels and the class that a pod has.
#
# Follows `validatePodMetadataAndSpec`, `validatePodResourceClaim` and `ValidateVolumes`, k8s.io/kubernetes pkg/apis/core/validation, 1.36.
# A pod without `serviceAccountName` can have tokens, since admission names the account `default` for it on every cluster that does not turn
# that off.


_SPEC: Path = ("spec",)
_MIRROR = "kubernetes.io/config.mirror"  # on pods of files on a node, which the kubelet shows to the server
_MAX_NAME = 253


def pod_only_problems(pod: Data) -> Problems:
    """The problems of a pod, new or changed, that no template has."""
    metadata, spec = pod.get("metadata") or {}, pod.get("spec") or {}
    for index, volume in enumerate(spec.get("volumes") or ()):
        at = (*_SPEC, "volumes", index)
        if source_of(volume) == "image" and not volume["image"].get("reference"):
            yield missing("reference", volume["image"], (*at, "image"), "name the image to mount")
    yield from _claim_names(spec, metadata)
    if _MIRROR in metadata.get("annotations", {}) and spec.get("resourceClaims"):
        message = f"a pod with the annotation `{_MIRROR}` cannot claim devices"
        yield Problem("conflicting-values", (*_SPEC, "resourceClaims"), message, "remove one of the two", at_key=True)
    if "affinity" in spec or "topologySpreadConstraints" in spec:
        yield from _repeated_keys(spec, metadata.get("labels", {}))


def _repeated_keys(spec: Data, labels: dict[str, str]) -> Problems:
    """The problems of keys in selectors to which the server adds the pod's *labels*."""
    from jobspec.kubernetes.pods.scheduling import pod_terms, repeated_key_problems

    spreads = spec.get("topologySpreadConstraints", ())
    placed = [(each, (*_SPEC, "topologySpreadConstraints", index)) for index, each in enumerate(spreads)]
    for term, at in (*pod_terms(spec, _SPEC), *placed):
        if term.get("labelSelector") is not None:
            yield from repeated_key_problems(term, labels, at)


def _claim_names(spec: Data, metadata: Data) -> Problems:
    """The problems of the names of claims that are made for the pod's ephemeral volumes."""
    prefix = metadata.get("generateName")
    pod = metadata.get("name") or (generated_name(prefix) if prefix else "")
    volumes = spec.get("volumes") or ()
    made = {f"{pod}-{volume.get('name') or ''}" for volume in volumes if pod and "ephemeral" in volume}
    for index, volume in enumerate(volumes):
        at, name = (*_SPEC, "volumes", index), volume.get("name") or ""
        claim = f"{pod}-{name}"
        is_named = pod and not bad_subdomain(pod) and not bad_label_name(name)
        if source_of(volume) == "ephemeral" and is_named and len(claim) > _MAX_NAME:
            message = (
                f"the claim of the volume is named after the pod, too, and its name has {len(claim)} characters, more than {_MAX_NAME}"
            )
            yield Problem("wrong-size", (*at, "name"), message, "give the pod or the volume a shorter name")
        used = (volume.get("persistentVolumeClaim") or {}).get("claimName")
        if used in made:
            message = f"`{used}` is the claim that is made for an ephemeral volume of this pod"
            hint = "mount that volume instead"
            yield Problem("conflicting-values", (*at, "persistentVolumeClaim", "claimName"), message, hint)
