"""The config management plugin that renders a project.

Follows `PluginConfigSpec`, github.com/argoproj/argo-cd cmpserver/plugin, 3.5.
"""

from __future__ import annotations

from typing import Any

from jobspec.documents.writer import write
from jobspec.project.engines.argocd import ARGO_CD_VERSION, PLUGIN, config_map
from jobspec.project.project import ArgoCDSettings

_SIDECAR = f"{PLUGIN}-plugin"
_SOCKETS = "/home/argocd/cmp-server"
_TMP = "/tmp"  # noqa: S108 (an emptyDir of the sidecar)
_USER = 999  # Argo CD's own, whom the volumes of the repository server belong to


def plugin_config(argocd: ArgoCDSettings) -> dict[str, Any]:
    """Return the ConfigMap with the plugin.

    The plugin's command renders the project in the folder of an application.
    """
    spec = {"generate": {"command": [PLUGIN, "render", "--to", "-"]}}
    plugin = {"apiVersion": ARGO_CD_VERSION, "kind": "ConfigManagementPlugin", "metadata": {"name": PLUGIN}, "spec": spec}
    return config_map(argocd, _SIDECAR, {"plugin.yaml": write([plugin])})


def plugin_patch(argocd: ArgoCDSettings) -> dict[str, Any]:
    """Return a patch of Argo CD's repository server that adds the plugin's sidecar.

    In the sidecar, Argo CD's own program listens.
    """
    container = {
        "name": _SIDECAR,
        "image": argocd.text("pluginImage"),
        "command": ["/var/run/argocd/argocd-cmp-server"],
        "env": [{"name": "HOME", "value": _TMP}],
        "securityContext": {
            "runAsNonRoot": True,
            "runAsUser": _USER,
            "readOnlyRootFilesystem": True,
            "allowPrivilegeEscalation": False,
            "capabilities": {"drop": ["ALL"]},
            "seccompProfile": {"type": "RuntimeDefault"},
        },
        "volumeMounts": [
            {"name": "var-files", "mountPath": "/var/run/argocd"},
            {"name": "plugins", "mountPath": f"{_SOCKETS}/plugins"},
            {"name": _SIDECAR, "mountPath": f"{_SOCKETS}/config/plugin.yaml", "subPath": "plugin.yaml"},
            {"name": f"{_SIDECAR}-tmp", "mountPath": _TMP},
        ],
    }
    volumes = [{"name": _SIDECAR, "configMap": {"name": _SIDECAR}}, {"name": f"{_SIDECAR}-tmp", "emptyDir": {}}]
    template = {"spec": {"containers": [container], "volumes": volumes}}
    metadata = {"name": "argocd-repo-server", "namespace": argocd.namespace}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata, "spec": {"template": template}}
