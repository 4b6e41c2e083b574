"""The service account of a pod, and the volume with its token.

Follows `Plugin.Admit`, k8s.io/kubernetes plugin/pkg/admission/serviceaccount, 1.36, for accounts that leave mounting the token to pods.
"""

from __future__ import annotations

from jobspec.documents.marked_tree import MarkedTree, items
from jobspec.kubernetes.pods.defaults import CONTAINERS
from jobspec.operators.api_defaults.filling import with_missing
from jobspec.operators.edits import each_item
from jobspec.operators.objects import set_by
from jobspec.operators.stored import RANDOM

TYPE_CHECKING = False
if TYPE_CHECKING:
    from jobspec.diagnostics import Mark

TOKEN_VOLUME = f"kube-api-access-{RANDOM}"
_FOLDER = "/var/run/secrets/kubernetes.io/serviceaccount"
_SECONDS = 3607  # the server marks tokens of its own by the seven
_MODE = 0o644


def with_service_account(spec: MarkedTree, server: Mark) -> MarkedTree:
    """A pod's spec with its account, and with the token mounted in every container that mounts nothing there itself."""
    named = spec.get("serviceAccountName")
    name = named if named and named.value else "default"
    spec = with_missing(spec, {"serviceAccountName": name, "serviceAccount": name}, server)
    wanted = spec.get("automountServiceAccountToken")
    if wanted is not None and wanted.value is False:
        return spec
    before = [each for field in CONTAINERS for each in items(spec.get(field))]
    for field in CONTAINERS:
        spec = each_item(spec, field, lambda container: _with_mount(container, server))
    if all(_mounts_token(each) for each in before):
        return spec
    own = spec.get("volumes")
    volumes = own.with_value([*items(own), _volume(server)]) if own else MarkedTree([_volume(server)], server)
    return spec.with_value({**spec.value, "volumes": volumes})


def _mounts_token(container: MarkedTree) -> bool:
    return any(mount.value["mountPath"].value == _FOLDER for mount in items(container.get("volumeMounts")))


def _with_mount(container: MarkedTree, server: Mark) -> MarkedTree:
    if _mounts_token(container):
        return container
    own = container.get("volumeMounts")
    mount = set_by(server, {"name": TOKEN_VOLUME, "mountPath": _FOLDER, "readOnly": True})
    mounts = own.with_value([*items(own), mount]) if own else MarkedTree([mount], server)
    return container.with_value({**container.value, "volumeMounts": mounts})


def _volume(server: Mark) -> MarkedTree:
    certificate = {"name": "kube-root-ca.crt", "items": [{"key": "ca.crt", "path": "ca.crt"}]}
    namespace = {"items": [{"path": "namespace", "fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.namespace"}}]}
    sources = [
        {"serviceAccountToken": {"expirationSeconds": _SECONDS, "path": "token"}},
        {"configMap": certificate},
        {"downwardAPI": namespace},
    ]
    return set_by(server, {"name": TOKEN_VOLUME, "projected": {"defaultMode": _MODE, "sources": sources}})
