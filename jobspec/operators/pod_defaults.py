"""The defaults of a pod: those of its spec, those that only pods get, and what the server's admission plugins add.

Follows `SetDefaults_Pod`, `SetDefaults_PodSpec` and what is generated around it, k8s.io/kubernetes pkg/apis/core/v1, and the plugins
ServiceAccount, Priority and DefaultTolerationSeconds, plugin/pkg/admission, 1.36, as they are without any configuration. All that was there
before keeps its places.
"""

from __future__ import annotations

from jobspec.diagnostics.places import Mark
from jobspec.documents.document import Document
from jobspec.documents.marked_tree import MarkedTree, each_item, items, set_by, text, where_given, with_appended, with_data, with_missing
from jobspec.kubernetes.pods.defaults import CONTAINERS, TOLERATED_TAINTS, completed, default_pull_policy, without_disabled
from jobspec.kubernetes.pods.resources import filled_in
from jobspec.operators.priorities import with_priority
from jobspec.operators.service_account import with_service_account

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence


_SECONDS = 300


def pod_defaults(spec: MarkedTree, server: Mark, context: Sequence[Document], release: str) -> MarkedTree:
    """A pod's spec as the server stores it."""
    spec = with_data(spec, filled_in(spec.data(), release), server)
    for name in CONTAINERS:
        spec = each_item(spec, name, lambda container: _with_copied_places(container, server))
    spec = where_given(spec, "resources", lambda each: _amounts_in_place(each, server))
    spec = pod_spec_defaults(with_missing(spec, {"enableServiceLinks": True}, server), server, release)
    return _with_tolerations(with_priority(with_service_account(spec, server), server, context), server)


def _with_copied_places(container: MarkedTree, server: Mark) -> MarkedTree:
    """A container whose requests that the server copied from limits have their places, and ports of the host those of its own ports."""
    container = where_given(container, "resources", lambda each: _amounts_in_place(each, server))
    return each_item(container, "ports", lambda port: _field_in_place(port, "hostPort", "containerPort", server))


def _amounts_in_place(resources: MarkedTree, server: Mark) -> MarkedTree:
    return _field_in_place(_field_in_place(resources, "requests", "limits", server), "limits", "requests", server)


def _field_in_place(tree: MarkedTree, field: str, source: str, server: Mark) -> MarkedTree:
    """A mapping with the place of one field at those values of another that the server copied from there."""
    return where_given(tree, field, lambda made: _in_place(made, tree.get(source), server))


def _in_place(made: MarkedTree, source: MarkedTree | None, server: Mark) -> MarkedTree:
    if source is None:
        return made
    if isinstance(made.value, dict):
        inside = {name: _in_place(each, source.get(name), server) for name, each in made.value.items()}
        return (source if made.mark is server else made).with_value(inside)
    return source if made.mark is server and made.value == source.value else made


def _with_tolerations(spec: MarkedTree, server: Mark) -> MarkedTree:
    """A pod spec that tolerates for a while that its node is not ready or cannot be reached."""
    added = [
        set_by(server, {"key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": _SECONDS})
        for key in TOLERATED_TAINTS
        if not any(_tolerates(each, key) for each in items(spec.get("tolerations")))
    ]
    return with_appended(spec, "tolerations", added, server) if added else spec


def _tolerates(toleration: MarkedTree, key: str) -> bool:
    given = {name: each.value for name, each in toleration.value.items()}
    return given.get("key", "") in (key, "") and given.get("effect", "NoExecute") == "NoExecute"


def pod_spec_defaults(spec: MarkedTree, server: Mark, release: str) -> MarkedTree:
    """A pod's spec with the defaults of its type, and without the fields of features that are off."""
    spec = with_data(spec, completed(without_disabled(spec.data(), release)), server)

    def container(each: MarkedTree) -> MarkedTree:
        return with_missing(each, {"imagePullPolicy": default_pull_policy(text(each, "image")), "resources": {}}, server)

    def image(each: MarkedTree) -> MarkedTree:
        return with_missing(each, {"pullPolicy": default_pull_policy(text(each, "reference"))}, server)

    for name in CONTAINERS:
        spec = each_item(spec, name, container)
    spec = each_item(spec, "volumes", lambda volume: where_given(volume, "image", image))
    named = spec.get("serviceAccountName")
    account = named if named and named.value else spec.get("serviceAccount")  # the older name of the same
    return spec.with_value({**spec.value, "serviceAccountName": account, "serviceAccount": account}) if account else spec
