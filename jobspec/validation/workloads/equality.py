"""Whether two states of a part of a workload mean the same to the server.

Follows `Semantic.DeepEqual`, k8s.io/apimachinery pkg/api/equality, 0.36: an empty list or map is as good as none, and quantities are equal
by their amount. Pods are compared by `jobspec.validation.pods.changes`.
"""

from __future__ import annotations

from jobspec.quantities import quantity
from jobspec.validation.pods.changes import changes, pull_policy
from jobspec.validation.pods.defaults import without_disabled

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_CLAIM = {"volumeMode": "Filesystem"}
#: The field that holds a list of objects -> the defaults of their fields.
_DEFAULTS: dict[str, dict[str, Any]] = {"onPodConditions": {"status": "True"}}
_TEXTS = ("labels", "annotations", "matchLabels", "nodeSelector")
"""The fields with a text under each key, where an empty one is not as good as none."""
_POINTERS = ("dataSource", "dataSourceRef", "storageClassName", "volumeAttributesClassName")
"""The fields of a claim that are pointers in Go, of which an empty value is not as good as none."""
_QUANTITIES = ("limits", "requests", "capacity", "allocatedResources")
_MOST_DIGITS = 2  # of an exponent
_ONLY_OF_PODS = "enableServiceLinks"  # which has its default in a pod, and none in a template


def same(one: Any, other: Any, field: str = "") -> bool:
    """Whether two values of a field mean the same."""
    return bool(_whole(one, field) == _whole(other, field))


def same_pods(one: dict[str, Any], other: dict[str, Any]) -> bool:
    """Whether two specs of pods in templates mean the same."""
    return one.get(_ONLY_OF_PODS) == other.get(_ONLY_OF_PODS) and not any(changes(_pulled(one), _pulled(other)))


def _pulled(spec: dict[str, Any]) -> dict[str, Any]:
    """A spec of pods whose containers all say when their images are pulled."""
    spec = without_disabled(spec)
    lists = {field: spec[field] for field in ("containers", "initContainers") if field in spec}
    policy = "imagePullPolicy"
    return {**spec, **{field: [{**each, policy: pull_policy(each, "image", policy)} for each in of] for field, of in lists.items()}}


def same_claims(one: list[dict[str, Any]], other: list[dict[str, Any]]) -> bool:
    """Whether two lists of templates of claims mean the same; of a claim, `apiVersion` and `kind` are what they have to be."""
    return [_whole_claim(claim) for claim in one] == [_whole_claim(claim) for claim in other]


def _whole(value: Any, field: str = "") -> Any:
    """A value of a field with the defaults of its type, without what is empty."""
    if isinstance(value, dict):
        if field in _QUANTITIES:
            return {name: _amount(each) for name, each in value.items()}
        if field in _TEXTS:
            return {name: each or "" for name, each in value.items()}
        filled = {**_DEFAULTS.get(field, {}), **value}
        return {name: made for name, each in filled.items() if not _is_none(made := _whole(each, name), name)}
    return [_whole(each, field) for each in value] if isinstance(value, list) else value


def _is_none(value: Any, field: str) -> bool:
    """Whether a value of a field is as good as none."""
    return value is None or (field not in _POINTERS and value in ("", [], {}))


def _whole_claim(claim: dict[str, Any]) -> Any:
    kept = {name: each for name, each in claim.items() if name not in ("apiVersion", "kind")}
    return _whole({**kept, "spec": {**_CLAIM, **(claim.get("spec") or {})}, "status": {"phase": "Pending", **(claim.get("status") or {})}})


def _amount(value: Any) -> Any:
    """The number of a quantity, or the value itself where its exponent is too long to write it out."""
    text = str(value)
    return value if len(text.lower().partition("e")[2].strip("+-")) > _MOST_DIGITS else quantity(text).nanos
