"""The defaults of a pod: those of its spec, those that only pods get, and what the server's admission plugins add.

Follows `SetDefaults_Pod`, k8s.io/kubernetes pkg/apis/core/v1, and the plugins ServiceAccount, Priority and DefaultTolerationSeconds,
plugin/pkg/admission, 1.36, as they are without any configuration.
"""

from __future__ import annotations

from jobspec.documents.marked_tree import MarkedTree, items
from jobspec.kubernetes.pods.defaults import CONTAINERS
from jobspec.operators.api_defaults.filling import where_given, with_missing
from jobspec.operators.api_defaults.pod_resources import with_pod_requests
from jobspec.operators.api_defaults.pod_spec import pod_spec_defaults
from jobspec.operators.api_defaults.priority import with_priority
from jobspec.operators.api_defaults.service_account import with_service_account
from jobspec.operators.edits import each_item
from jobspec.operators.objects import set_by

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from jobspec.diagnostics import Mark
    from jobspec.documents.document import Document

_UNREACHABLE = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")
_SECONDS = 300


def pod_defaults(pod: MarkedTree, server: Mark, beside: Sequence[Document]) -> MarkedTree:
    """A pod as the server stores it."""
    return where_given(pod, "spec", lambda spec: _spec(spec, server, beside))


def _spec(spec: MarkedTree, server: Mark, beside: Sequence[Document]) -> MarkedTree:
    on_host = "hostNetwork" in spec.value
    for name in CONTAINERS:
        spec = each_item(spec, name, lambda container: _container(container, on_host, server))
    spec = with_pod_requests(spec, server)
    spec = pod_spec_defaults(with_missing(spec, {"enableServiceLinks": True}, server), server)
    return _with_tolerations(with_priority(with_service_account(spec, server), server, beside), server)


def _container(container: MarkedTree, on_host: bool, server: Mark) -> MarkedTree:  # noqa: FBT001 (the pod's `hostNetwork`)
    """A container that requests what it is limited to, and on the node's network listens on the node's ports."""
    container = where_given(container, "resources", _with_requests)
    if not on_host:
        return container
    return each_item(container, "ports", lambda port: with_missing(port, {"hostPort": port.value["containerPort"]}, server))


def _with_requests(resources: MarkedTree) -> MarkedTree:
    limits = dict(resources.entries("limits"))
    if not limits:
        return resources
    requests = resources.get("requests") or resources.value["limits"].with_value({})
    return resources.with_value({**resources.value, "requests": requests.with_value({**limits, **requests.value})})


def _with_tolerations(spec: MarkedTree, server: Mark) -> MarkedTree:
    own = spec.get("tolerations")
    added = [
        set_by(server, {"key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": _SECONDS})
        for key in _UNREACHABLE
        if not any(_tolerates(each, key) for each in items(own))
    ]
    tolerations = own.with_value([*items(own), *added]) if own else MarkedTree(added, server)
    return spec.with_value({**spec.value, "tolerations": tolerations}) if tolerations.value else spec


def _tolerates(toleration: MarkedTree, key: str) -> bool:
    given = {name: each.value for name, each in toleration.value.items()}
    return given.get("key", "") in (key, "") and given.get("effect", "NoExecute") == "NoExecute"
