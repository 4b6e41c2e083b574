"""A value as operators written in Go send it: without what is empty there, and with numbers and quantities in their canonical forms.

A Go program decodes a manifest into types and encodes them again. An empty text, a zero, `false` and an empty list or map are left out,
but for pointers, which can tell empty from absent.

Follows the types of k8s.io/api core/v1, autoscaling/v2 and batch/v1, 0.27 to 0.36, and `Quantity.String`, k8s.io/apimachinery
pkg/api/resource.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from jobspec.overlays.marked_tree import MarkedTree
    from jobspec.shapes import Shape

#: The fields of pods, jobs and runtimes that hold a text, a number or a boolean and are pointers.
_POINTERS = """
activeDeadlineSeconds allowPrivilegeEscalation automountServiceAccountToken averageUtilization averageValue backoffLimit
backoffLimitPerIndex cachingMode completionMode completions controller defaultMode enableDNSHostnames enableServiceLinks
expirationSeconds fsGroup fsGroupChangePolicy hostnameOverride hostUsers initiatorName localhostProfile lun manualSelector
maxFailedIndexes maxSurge maxUnavailable minDomains minReplicas mode mountPropagation nodeAffinityPolicy nodeTaintsPolicy numNodes
numProcPerNode optional parallelism podReplacementPolicy preemptionPolicy priority privileged procMount publishNotReadyAddresses
readOnlyRootFilesystem recursiveReadOnly runAsGroup runAsNonRoot runAsUser runLauncherAsNode runtimeClassName
scheduleTimeoutSeconds seLinuxChangePolicy setHostnameAsFQDN shareProcessNamespace signerName sizeLimit stopSignal
storageClassName supplementalGroupsPolicy suspend terminationGracePeriodSeconds tolerationSeconds ttlSecondsAfterFinished
volumeAttributesClassName volumeMode
""".split()  # noqa: SIM905 (names, one after the other)
#: Fields whose Go type differs from place to place -> the fields around them in which they are pointers.
_POINTERS_IN = {
    "fsType": ("azureDisk", "csi"),
    "kind": ("azureDisk",),
    "readOnly": ("azureDisk", "csi"),
    "restartPolicy": ("containers", "initContainers"),
    "service": ("grpc",),
    "type": ("hostPath",),
}
#: Lists without `omitempty`.
_LISTS = ("nodeSelectorTerms", "containers")


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
    made = {}
    for name, each in tree.value.items():
        child = shape.at((name,)) if shape else None
        written = as_go_writes(each, child, field=name)
        if not _is_left_out(written, child, name, field):
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
        return not value and name not in _LISTS
    if value or (shape is not None and shape.format == "quantity"):
        return False
    return around not in _POINTERS_IN[name] if name in _POINTERS_IN else name not in _POINTERS


_BINARY = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
_DECIMAL = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}


def canonical_quantity(text: str) -> str:
    """A quantity with the largest suffix that needs no fraction, as Kubernetes writes it: `1000m` is `1`, `0.5Gi` is `512Mi`."""
    from fractions import Fraction

    number, suffix = _split(text.strip())
    if suffix in _BINARY:
        amount = Fraction(number) * 2 ** _BINARY[suffix]
        if abs(amount) >= 1024 and amount.denominator == 1:
            return _binary(int(amount))
        return _decimal(amount, exponent=False)
    exponent = suffix[:1] in ("e", "E") and len(suffix) > 1
    power = int(suffix[1:]) if exponent else _DECIMAL[suffix]
    return _decimal(Fraction(number) * Fraction(10) ** power, exponent=exponent)


def _split(text: str) -> tuple[str, str]:
    end = next((at for at, each in enumerate(text) if each not in "+-.0123456789"), len(text))
    number = text[:end]
    return (number if any(each.isdigit() for each in number) else "0"), text[end:]


def _binary(amount: int) -> str:
    suffix = ""
    for name in _BINARY:
        if amount % 1024:
            break
        amount, suffix = amount // 1024, name
    return f"{amount}{suffix}"


def _decimal(amount: Any, *, exponent: bool) -> str:
    """A number with a decimal suffix, rounded up to nano."""
    nanos = -(-amount * 10**9 // 1)
    if nanos == 0:
        return "0"
    power, nanos = -9, int(nanos)
    while nanos % 1000 == 0 and power < 18:
        nanos, power = nanos // 1000, power + 3
    if exponent:
        return f"{nanos}e{power}" if power else str(nanos)
    return f"{nanos}{next(name for name, each in _DECIMAL.items() if each == power)}"
