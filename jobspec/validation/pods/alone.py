"""Rules that hold for pods and not for templates: they depend on the name, the labels and the class that a pod has.

Follows `validatePodMetadataAndSpec`, `validatePodResourceClaim` and `ValidateVolumes`, k8s.io/kubernetes pkg/apis/core/validation, 1.36.
A pod without `serviceAccountName` can have tokens, since admission names the account `default` for it on every cluster that does not turn
that off.
"""

from __future__ import annotations

from jobspec.validation.metadata import bad_label_name, bad_subdomain, generated_name
from jobspec.validation.pods.complaints import missing
from jobspec.validation.pods.volumes import source_of
from jobspec.validation.problem import Problem

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from jobspec.diagnostics import Path

_SPEC: Path = ("spec",)
_MIRROR = "kubernetes.io/config.mirror"  # on pods of files on a node, which the kubelet shows to the server
_MAX_NAME = 253


def alone_problems(pod: dict[str, Any]) -> Iterator[Problem]:
    """The problems of a pod, new or changed, that no template has."""
    metadata, spec = pod.get("metadata") or {}, pod.get("spec") or {}
    for index, volume in enumerate(spec.get("volumes") or ()):
        at = (*_SPEC, "volumes", index)
        if source_of(volume) == "image" and not volume["image"].get("reference"):
            yield missing("reference", volume["image"], (*at, "image"), "name the image to mount")
    yield from _claim_names(spec, metadata)
    yield from _mirror(spec, metadata)
    if "affinity" in spec or "topologySpreadConstraints" in spec:
        yield from _repeated_keys(spec, metadata.get("labels") or {})


def _repeated_keys(spec: dict[str, Any], labels: dict[str, str]) -> Iterator[Problem]:
    """The problems of keys in selectors to which the server adds the pod's *labels*."""
    from jobspec.validation.pods.affinity import pod_terms
    from jobspec.validation.pods.label_keys import repeated_key_problems

    for term, at in (*pod_terms(spec, _SPEC), *_spreads(spec)):
        if term.get("labelSelector") is not None:
            yield from repeated_key_problems(term, labels, at)


def _spreads(spec: dict[str, Any]) -> Iterator[tuple[dict[str, Any], Path]]:
    for index, constraint in enumerate(spec.get("topologySpreadConstraints") or ()):
        yield constraint, (*_SPEC, "topologySpreadConstraints", index)


def _claim_names(spec: dict[str, Any], metadata: dict[str, Any]) -> Iterator[Problem]:
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


def _mirror(spec: dict[str, Any], metadata: dict[str, Any]) -> Iterator[Problem]:
    if _MIRROR in (metadata.get("annotations") or {}) and spec.get("resourceClaims"):
        message = f"a pod with the annotation `{_MIRROR}` cannot claim devices"
        yield Problem("conflicting-values", (*_SPEC, "resourceClaims"), message, "remove one of the two", at_key=True)
