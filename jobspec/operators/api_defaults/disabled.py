"""What the server drops from pods, since the feature that it belongs to is off unless somebody turns it on.

Follows `dropDisabledFields`, k8s.io/kubernetes pkg/api/pod, with the feature gates of 1.36.
"""

from __future__ import annotations

from jobspec.operators.api_defaults.filling import changed, each_item

TYPE_CHECKING = False
if TYPE_CHECKING:
    from jobspec.overlays.marked_tree import MarkedTree

_OF_PODS = ("schedulingGroup",)
_OF_PROJECTIONS = ("clusterTrustBundle", "podCertificate")


def without_disabled(spec: MarkedTree) -> MarkedTree:
    """A pod's spec without the fields of features that are off."""
    for field in ("containers", "initContainers"):
        spec = each_item(spec, field, _container)
    spec = each_item(spec, "volumes", lambda volume: changed(volume, "projected", _projected))
    return _without(spec, _OF_PODS)


def _container(container: MarkedTree) -> MarkedTree:
    hooks = container.get("lifecycle")
    if hooks is None or "stopSignal" not in hooks.value:
        return container
    left = _without(hooks, ("stopSignal",))
    return container.with_value({**container.value, "lifecycle": left}) if left.value else _without(container, ("lifecycle",))


def _projected(volume: MarkedTree) -> MarkedTree:
    return each_item(volume, "sources", lambda source: _without(source, _OF_PROJECTIONS))


def _without(tree: MarkedTree, fields: tuple[str, ...]) -> MarkedTree:
    return tree.with_value({name: each for name, each in tree.value.items() if name not in fields})
