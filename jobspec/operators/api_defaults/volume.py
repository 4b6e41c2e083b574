"""The defaults of volumes: modes of files, an `emptyDir` where no source is named.

Follows `SetDefaults_Volume` and the functions of each source, k8s.io/kubernetes pkg/apis/core/v1, 1.36.
"""

from __future__ import annotations

from jobspec.operators.api_defaults.container import pull_policy, source_defaults
from jobspec.operators.api_defaults.filling import changed, each_item, with_missing

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from jobspec.diagnostics import Mark
    from jobspec.overlays.marked_tree import MarkedTree

_MODE = 0o644
#: Source of a volume -> the defaults of its fields.
_SOURCES: dict[str, dict[str, Any]] = {
    "azureDisk": {"cachingMode": "ReadWrite", "kind": "Shared", "fsType": "ext4", "readOnly": False},
    "configMap": {"defaultMode": _MODE},
    "downwardAPI": {"defaultMode": _MODE},
    "hostPath": {"type": ""},
    "iscsi": {"iscsiInterface": "default"},
    "projected": {"defaultMode": _MODE},
    "rbd": {"pool": "rbd", "user": "admin", "keyring": "/etc/ceph/keyring"},
    "scaleIO": {"storageMode": "ThinProvisioned", "fsType": "xfs"},
    "secret": {"defaultMode": _MODE},
}


def volume_defaults(volume: MarkedTree, server: Mark) -> MarkedTree:
    """A volume with the defaults of its source."""
    if volume.value.keys() <= {"name"}:
        return with_missing(volume, {"emptyDir": {}}, server)
    for name, defaults in _SOURCES.items():
        volume = changed(volume, name, lambda source, defaults=defaults: with_missing(source, defaults, server))  # type: ignore[misc]
    volume = changed(volume, "downwardAPI", lambda source: each_item(source, "items", lambda item: source_defaults(item, server)))
    volume = changed(volume, "projected", lambda source: each_item(source, "sources", lambda each: _projection(each, server)))
    volume = changed(volume, "ephemeral", lambda source: changed(source, "volumeClaimTemplate", lambda claim: _claim(claim, server)))
    return changed(volume, "image", lambda source: with_missing(source, {"pullPolicy": pull_policy(source.get("reference"))}, server))


def _projection(source: MarkedTree, server: Mark) -> MarkedTree:
    filled = changed(source, "serviceAccountToken", lambda token: with_missing(token, {"expirationSeconds": 3600}, server))
    return changed(filled, "downwardAPI", lambda files: each_item(files, "items", lambda item: source_defaults(item, server)))


def _claim(claim: MarkedTree, server: Mark) -> MarkedTree:
    return changed(claim, "spec", lambda spec: with_missing(spec, {"volumeMode": "Filesystem"}, server))
