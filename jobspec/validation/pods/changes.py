"""What two specs of a pod differ in, apart from what means the same to the server.

Follows `Semantic.DeepEqual`, k8s.io/apimachinery pkg/api/equality, 0.36: an empty list or map is as good as none, and quantities are equal
by their amount. A number, text or truth value that is zero is as good as none where Go has no pointer for it.
"""

from __future__ import annotations

from jobspec.diagnostics import Key
from jobspec.quantities import quantity
from jobspec.validation.image import default_pull_policy
from jobspec.validation.pods.completed import completed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from jobspec.diagnostics import Path

_POINTERS = frozenset(
    (
        *("activeDeadlineSeconds", "allowPrivilegeEscalation", "apiGroup", "automountServiceAccountToken", "blockOwnerDeletion"),
        *("cachingMode", "controller", "defaultMode", "deletionGracePeriodSeconds", "enableServiceLinks", "expirationSeconds"),
        *("fsGroup", "fsGroupChangePolicy", "gmsaCredentialSpec", "gmsaCredentialSpecName", "hostProcess", "hostUsers"),
        *("hostnameOverride", "initiatorName", "localhostProfile", "maxExpirationSeconds", "minDomains", "mode", "mountPropagation"),
        *("nodeAffinityPolicy", "nodeTaintsPolicy", "optional", "podGroupName", "preemptionPolicy", "priority", "privileged", "procMount"),
        *("readOnlyRootFilesystem", "recursiveReadOnly", "resourceClaimName", "resourceClaimTemplateName", "runAsGroup"),
        *("runAsNonRoot", "runAsUser", "runAsUserName", "runtimeClassName", "seLinuxChangePolicy", "service", "setHostnameAsFQDN"),
        *("shareProcessNamespace", "sizeLimit", "stopSignal", "storageClassName", "supplementalGroupsPolicy"),
        *("terminationGracePeriodSeconds", "tolerationSeconds", "volumeAttributesClassName", "volumeMode"),
    )
)
"""The fields that Go has pointers for, whose zero is another value than none."""
_POINTERS_IN = (
    *(("azureDisk", "fsType"), ("azureDisk", "kind"), ("azureDisk", "readOnly"), ("csi", "fsType"), ("csi", "readOnly"), ("fc", "lun")),
    *(("clusterTrustBundle", "name"), ("clusterTrustBundle", "signerName"), ("containers", "restartPolicy")),
    *(("dataSourceRef", "namespace"), ("ephemeralContainers", "restartPolicy"), ("hostPath", "type"), ("initContainers", "restartPolicy")),
    ("options", "value"),
)
"""The same for names that other objects have, too: by the field that the object stands in."""
_MAPS = ("annotations", "labels", "limits", "matchLabels", "nodeSelector", "options", "overhead", "requests", "volumeAttributes")
_STRUCTS = ("metadata", "podAffinityTerm", "preference", "spec")
"""The objects that Go has no pointers for; `resources`, too, but of the pod as a whole."""
_AMOUNTS = ("limits", "overhead", "requests")
_AMOUNT = ("divisor", "sizeLimit")
_MILLI = 1_000_000
_LONGEST = 99  # of an exponent, which is else compared by its text


def changes(new: dict[str, Any], old: dict[str, Any]) -> Iterator[Path]:
    """The paths, from the spec, at which two decoded specs differ."""
    yield from _changes(_whole(new), _whole(old), ())


def _whole(spec: dict[str, Any]) -> dict[str, Any]:
    """A spec with its defaults, and without what is as good as absent."""
    reduced = _reduced(spec, "spec")
    account = reduced.pop("serviceAccount", None)  # the older name of the other field
    if account is not None:
        reduced.setdefault("serviceAccountName", account)
    return completed({"enableServiceLinks": True, **reduced})


def _reduced(value: Any, around: str) -> Any:
    """A value without what is as good as absent; *around* is the field that it stands in."""
    if isinstance(value, list):
        return [_reduced(each, around) for each in value]
    if not isinstance(value, dict):
        return value
    if around in _MAPS:
        return {name: _amount(each, rounded=True) for name, each in value.items()} if around in _AMOUNTS else value
    made = {}
    for field, each in value.items():
        kept = _amount(each) if field in _AMOUNT else _reduced(each, field)
        if not _is_absent(kept, field, around):
            made[field] = kept
    return made


def _amount(text: str, *, rounded: bool = False) -> Any:
    """The amount of a quantity, up to a thousandth where it is *rounded* up by the server."""
    if len(text.lower().partition("e")[2]) > len(str(_LONGEST)):
        return text
    nanos = quantity(text).nanos
    return -(-nanos // _MILLI) * _MILLI if rounded else nanos


def _is_absent(value: Any, field: str, around: str) -> bool:
    if value == [] and isinstance(value, list):
        return True
    if value == {}:
        return field in _MAPS or field in _STRUCTS or (field == "resources" and around != "spec")
    return value in (0, "") and not is_pointer(field, around)


def is_pointer(field: str, around: str) -> bool:
    """Whether Go has a pointer for a field; *around* is the field that its object stands in. Our models know the same (`GoPointer`)."""
    return field in _POINTERS or (around, field) in _POINTERS_IN


def _changes(new: Any, old: Any, path: Path) -> Iterator[Path]:
    if isinstance(new, dict) and isinstance(old, dict):
        key = Key if path and path[-1] in _MAPS else str
        for field in {**old, **new}:
            yield from _field(new, old, field, (*path, key(field)))
    elif isinstance(new, list) and isinstance(old, list) and len(new) == len(old):
        for index, (one, other) in enumerate(zip(new, old, strict=True)):
            yield from _changes(one, other, (*path, index))
    elif new != old or type(new) is not type(old):
        yield path


def _field(new: dict[str, Any], old: dict[str, Any], field: str, path: Path) -> Iterator[Path]:
    if field == "pullPolicy":
        if pull_policy(new, "reference", field) != pull_policy(old, "reference", field):
            yield path
    elif (field in new) != (field in old):
        yield path
    else:
        yield from _changes(new[field], old[field], path)


def pull_policy(around: dict[str, Any], image: str, policy: str) -> Any:
    """When an image is pulled: as it is said, or as its tag suggests."""
    return around.get(policy) or default_pull_policy(around.get(image) or "")
