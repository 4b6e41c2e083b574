"""Objects of manifests as the server has them when admission policies look at them.

Follows `SetObjectDefaults_*`, k8s.io/kubernetes pkg/apis/apps/v1 and pkg/apis/batch/v1, 1.30 to 1.37. Of a rolling update, the numbers
are left out where a manifest says a part of it; of a Service, the addresses.
"""

from __future__ import annotations

from jobspec.apis import kinds
from jobspec.apis.releases import Target
from jobspec.documents.document import Document
from jobspec.documents.marked_tree import changed, set_by, with_missing
from jobspec.go.codec import decode_as_go, encode_as_go
from jobspec.kubernetes.structural import filled
from jobspec.operators.api_defaults import with_api_defaults
from jobspec.operators.made import api_server
from jobspec.operators.pod_defaults import pod_spec_defaults
from jobspec.operators.service_defaults import service_defaults
from jobspec.operators.stateful_set_defaults import HISTORY
from jobspec.schemas import shapes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from jobspec.schemas.shapes import Shape


_QUARTER = "25%"
_ROLLING = {"maxUnavailable": _QUARTER, "maxSurge": _QUARTER}
#: Kinds with a pod template -> the defaults of their spec.
_OF_WORKLOADS: dict[kinds.GroupKind, dict[str, Any]] = {
    ("batch", "CronJob"): {"concurrencyPolicy": "Allow", "suspend": False, "successfulJobsHistoryLimit": 3, "failedJobsHistoryLimit": 1},
    ("apps", "DaemonSet"): {
        "updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 1, "maxSurge": 0}},
        "revisionHistoryLimit": HISTORY,
    },
    ("apps", "Deployment"): {
        "replicas": 1,
        "strategy": {"type": "RollingUpdate", "rollingUpdate": _ROLLING},
        "revisionHistoryLimit": HISTORY,
        "progressDeadlineSeconds": 600,
    },
    ("apps", "ReplicaSet"): {"replicas": 1},
    ("", "ReplicationController"): {"replicas": 1},
}


def as_admitted(document: Document, target: Target, custom: Shape | None = None) -> dict[str, Any]:
    """Return the data of an accepted object with the defaults of its type.

    *custom*: the structure that a CRD gives the object.
    """
    known = kinds.find(document.api_version, document.kind)
    shape = custom or shapes.load(document.api_version, document.kind, target)
    if shape is None:
        return dict(document.data)
    if custom or not known or not known.is_builtin:
        return dict(filled(document.data, shape))
    data, server = decode_as_go(document.data, shape), api_server(target)
    if not isinstance(data.get("spec"), dict):
        return dict(data)
    tree = set_by(server, data)
    if document.group_kind in (kinds.POD, *kinds.POD_TEMPLATES):
        pod = shapes.load("v1", "Pod", target)
        assert pod and pod.fields
        path, own = (*kinds.POD_TEMPLATES.get(document.group_kind, ()), "spec"), pod.fields["spec"]
        tree = changed(tree, path, lambda spec: set_by(server, encode_as_go(spec.data(), own)))
    if document.group_kind == kinds.SERVICE:
        tree = changed(tree, ("spec",), lambda spec: service_defaults(spec, server))
    elif document.group_kind in _OF_WORKLOADS:
        tree = changed(tree, ("spec",), lambda spec: with_missing(spec, _OF_WORKLOADS[document.group_kind], server))
        tree = changed(
            tree, (*kinds.POD_TEMPLATES[document.group_kind], "spec"), lambda spec: pod_spec_defaults(spec, server, target["kubernetes"])
        )
    else:
        (tree,) = with_api_defaults([tree], (), target)
    return dict(tree.data())
