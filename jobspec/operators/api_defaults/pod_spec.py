"""The defaults of a pod's spec, in a pod as in a template, with the places of all that was there before.

Follows `SetDefaults_PodSpec` and what is generated around it, k8s.io/kubernetes pkg/apis/core/v1, 1.36.
"""

from __future__ import annotations

from jobspec.documents.marked_tree import text
from jobspec.kubernetes.pods.defaults import CONTAINERS, completed, default_pull_policy, without_disabled
from jobspec.operators.api_defaults.filling import as_stored, where_given, with_missing
from jobspec.operators.edits import each_item

TYPE_CHECKING = False
if TYPE_CHECKING:
    from jobspec.diagnostics import Mark
    from jobspec.documents.marked_tree import MarkedTree


def pod_spec_defaults(spec: MarkedTree, server: Mark) -> MarkedTree:
    """A pod's spec with the defaults of its type, and without the fields of features that are off."""
    spec = as_stored(spec, completed(without_disabled(spec.data())), server)
    for name in CONTAINERS:
        spec = each_item(spec, name, lambda container: _container(container, server))
    spec = each_item(spec, "volumes", lambda volume: where_given(volume, "image", lambda image: _image(image, server)))
    named = spec.get("serviceAccountName")
    account = named if named and named.value else spec.get("serviceAccount")  # the older name of the same
    return spec.with_value({**spec.value, "serviceAccountName": account, "serviceAccount": account}) if account else spec


def _container(container: MarkedTree, server: Mark) -> MarkedTree:
    return with_missing(container, {"imagePullPolicy": default_pull_policy(text(container, "image")), "resources": {}}, server)


def _image(image: MarkedTree, server: Mark) -> MarkedTree:
    return with_missing(image, {"pullPolicy": default_pull_policy(text(image, "reference"))}, server)
