"""The service account of a pod, and the volume with its token.

Follows `Plugin.Admit`, k8s.io/kubernetes plugin/pkg/admission/serviceaccount, 1.36, for accounts that leave mounting the token to pods.
"""

from __future__ import annotations

from jobspec.diagnostics.places import Mark
from jobspec.documents.marked_tree import MarkedTree, each_item, items, set_by, text, with_appended, with_missing
from jobspec.kubernetes.pods.defaults import CONTAINERS
from jobspec.operators.made import RANDOM

TOKEN_VOLUME = f"kube-api-access-{RANDOM}"
_FOLDER = "/var/run/secrets/kubernetes.io/serviceaccount"
_TOKEN_SECONDS = 3607  # the server marks tokens of its own by the seven
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
    mount = set_by(server, {"name": TOKEN_VOLUME, "mountPath": _FOLDER, "readOnly": True})

    def with_mount(container: MarkedTree) -> MarkedTree:
        return container if _mounts_token(container) else with_appended(container, "volumeMounts", [mount], server)

    for field in CONTAINERS:
        spec = each_item(spec, field, with_mount)
    return spec if all(map(_mounts_token, before)) else with_appended(spec, "volumes", [_volume(server)], server)


def _mounts_token(container: MarkedTree) -> bool:
    return any(text(mount, "mountPath") == _FOLDER for mount in items(container.get("volumeMounts")))


def _volume(server: Mark) -> MarkedTree:
    """The volume with the token, the certificate of the cluster, and the name of the namespace."""
    token = {"expirationSeconds": _TOKEN_SECONDS, "path": "token"}
    certificate = {"name": "kube-root-ca.crt", "items": [{"key": "ca.crt", "path": "ca.crt"}]}
    namespace = {"items": [{"path": "namespace", "fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.namespace"}}]}
    sources = [{"serviceAccountToken": token}, {"configMap": certificate}, {"downwardAPI": namespace}]
    return set_by(server, {"name": TOKEN_VOLUME, "projected": {"defaultMode": _MODE, "sources": sources}})
