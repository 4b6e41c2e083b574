"""A value as operators written in Go send it: without what is empty there, and with numbers and quantities in their canonical forms.

A Go program decodes a manifest into types and encodes them again. An empty text, a zero, `false` and an empty list or map are left out,
but for required fields and for pointers, which can tell empty from absent.

Follows the types of k8s.io/api core/v1, autoscaling/v2 and batch/v1, 0.27 to 0.36.
"""

from __future__ import annotations

from jobspec.quantities import canonical_quantity

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from jobspec.overlays.marked_tree import MarkedTree
    from jobspec.shapes import Shape

#: The fields of pods, jobs and runtimes that hold a text, a number or a boolean and are pointers.
_POINTERS = """
activeDeadlineSeconds allowPrivilegeEscalation automountServiceAccountToken averageUtilization averageValue backoffLimit
backoffLimitPerIndex cachingMode completionMode completions controller defaultMode enableServiceLinks expirationSeconds
fsGroup fsGroupChangePolicy hostProcess hostUsers hostnameOverride initiatorName localhostProfile lun manualSelector maxFailedIndexes
maxSurge maxUnavailable minDomains minReplicas mode mountPropagation nodeAffinityPolicy nodeTaintsPolicy optional parallelism
podReplacementPolicy preemptionPolicy priority privileged procMount readOnlyRootFilesystem recursiveReadOnly runAsGroup
runAsNonRoot runAsUser runtimeClassName seLinuxChangePolicy setHostnameAsFQDN shareProcessNamespace signerName sizeLimit
stopSignal storageClassName supplementalGroupsPolicy suspend terminationGracePeriodSeconds tolerationSeconds
ttlSecondsAfterFinished volumeAttributesClassName volumeMode
enableDNSHostnames numNodes numProcPerNode publishNotReadyAddresses runLauncherAsNode scheduleTimeoutSeconds
""".split()  # noqa: SIM905 (names, one after the other)
#: Fields whose Go type differs from place to place -> the fields around them in which they are pointers.
_POINTERS_IN = {
    "fsType": ("azureDisk", "csi"),
    "kind": ("azureDisk",),
    "readOnly": ("azureDisk", "csi"),
    "restartPolicy": ("containers", "initContainers"),
    "service": ("grpc",),
    "type": ("hostPath",),
    "value": ("options",),
}


def as_go_writes(tree: MarkedTree, shape: Shape | None, *, field: str = "") -> MarkedTree:
    """A value of a *shape* in its canonical form. *field*: the name of the field that it stands in."""
    if isinstance(tree.value, dict):
        return _mapping(tree, shape, field)
    if isinstance(tree.value, list):
        item = shape.items if shape else None
        return tree.with_value([as_go_writes(each, item, field=field) for each in tree.value])
    return _scalar(tree, shape)


def _mapping(tree: MarkedTree, shape: Shape | None, field: str) -> MarkedTree:
    if shape is not None and shape.fields is None and shape.values is not None:
        return tree.with_value({name: as_go_writes(each, shape.values) for name, each in tree.value.items()})
    required = shape.required if shape else ()
    made = {}
    for name, each in tree.value.items():
        child = shape.at((name,)) if shape else None
        written = as_go_writes(each, child, field=name)
        if name in required or not _is_left_out(written, child, name, field):
            made[name] = written
    return tree.with_value(made)


def _scalar(tree: MarkedTree, shape: Shape | None) -> MarkedTree:
    if shape is not None and shape.format == "quantity":
        return tree.with_value(canonical_quantity(str(tree.value)))
    return tree


def _is_left_out(tree: MarkedTree, shape: Shape | None, name: str, around: str) -> bool:
    value: Any = tree.value
    if value is None:
        return True
    if isinstance(value, dict):
        return not value and shape is not None and shape.fields is None
    if isinstance(value, list):
        return not value
    if value or (shape is not None and shape.format == "quantity"):
        return False
    return around not in _POINTERS_IN[name] if name in _POINTERS_IN else name not in _POINTERS
