"""The defaults of containers: pull policy, ports, probes, where the last message is read from.

Follows `SetDefaults_Container`, `SetDefaults_Probe`, `SetDefaults_HTTPGetAction` and their neighbours, k8s.io/kubernetes
pkg/apis/core/v1, 1.36.
"""

from __future__ import annotations

from jobspec.operators.api_defaults.filling import changed, each_item, with_missing
from jobspec.validation.image import tag_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from jobspec.diagnostics import Mark
    from jobspec.overlays.marked_tree import MarkedTree

_PROBES = ("livenessProbe", "readinessProbe", "startupProbe")


def container_defaults(container: MarkedTree, server: Mark) -> MarkedTree:
    """A container with the defaults of its type."""
    filled = each_item(container, "ports", lambda port: with_missing(port, {"protocol": "TCP"}, server))
    filled = each_item(filled, "env", lambda variable: changed(variable, "valueFrom", lambda source: source_defaults(source, server)))
    for name in _PROBES:
        filled = changed(filled, name, lambda probe: _probe(probe, server))
    filled = changed(filled, "lifecycle", lambda hooks: _lifecycle(hooks, server))
    own = {
        "imagePullPolicy": pull_policy(container.get("image")),
        "resources": {},
        "terminationMessagePath": "/dev/termination-log",
        "terminationMessagePolicy": "File",
    }
    return with_missing(filled, own, server)


def source_defaults(source: MarkedTree, server: Mark) -> MarkedTree:
    """The source of a variable's value, or of a file's content: a field of the pod, or a resource of a container."""
    filled = changed(source, "fieldRef", lambda field: with_missing(field, {"apiVersion": "v1"}, server))
    filled = changed(filled, "resourceFieldRef", lambda resource: with_missing(resource, {"divisor": "0"}, server))
    return changed(filled, "fileKeyRef", lambda key: with_missing(key, {"optional": False}, server))


def pull_policy(image: MarkedTree | None) -> str:
    """The pull policy of an image: a tag `latest` is asked for each time."""
    return "Always" if image and tag_of(str(image.value)) == "latest" else "IfNotPresent"


def _probe(probe: MarkedTree, server: Mark) -> MarkedTree:
    numbers = {"timeoutSeconds": 1, "periodSeconds": 10, "successThreshold": 1, "failureThreshold": 3}
    return with_missing(_handler(probe, server), numbers, server)


def _lifecycle(hooks: MarkedTree, server: Mark) -> MarkedTree:
    for name in ("postStart", "preStop"):
        hooks = changed(hooks, name, lambda handler: _handler(handler, server))
    return hooks


def _handler(handler: MarkedTree, server: Mark) -> MarkedTree:
    filled = changed(handler, "httpGet", lambda request: with_missing(request, {"path": "/", "scheme": "HTTP"}, server))
    return changed(filled, "grpc", lambda call: with_missing(call, {"service": ""}, server))
