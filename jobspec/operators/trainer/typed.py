"""A JobSet's spec as Go writes it from its types, which have some objects always, even empty ones, and as an apply configuration.

Follows the types of k8s.io/api batch/v1 and core/v1, 0.32 to 0.36, and of JobSet 0.8.2 to 0.12.0; and `FromTypedObjWithFields`,
github.com/kubeflow/trainer pkg/apply, 2.0.0 to 2.3.0.
"""

from __future__ import annotations

from jobspec.operators.edits import changed, each_item, with_fields
from jobspec.operators.go_types import as_go_writes
from jobspec.overlays.marked_tree import MarkedTree

TYPE_CHECKING = False
if TYPE_CHECKING:
    from jobspec.shapes import Shape


def as_typed(spec: MarkedTree, shape: Shape) -> MarkedTree:
    """The spec of a JobSet in Go's form."""
    written = as_go_writes(spec, shape)
    written = each_item(written, "replicatedJobs", _replicated_job)
    return each_item(written, "volumeClaimPolicies", lambda policy: each_item(policy, "templates", _claim))


def as_applied(tree: MarkedTree) -> MarkedTree:
    """A value without its empty lists, even those of required fields: an apply configuration cannot tell them from absent ones."""
    if isinstance(tree.value, list):
        return tree.with_value(list(map(as_applied, tree.value)))
    if not isinstance(tree.value, dict):
        return tree
    return tree.with_value({name: as_applied(each) for name, each in tree.value.items() if each.value != []})


def _replicated_job(replicated: MarkedTree) -> MarkedTree:
    replicated = changed(replicated, ("template", "metadata"), _same)
    return changed(replicated, ("template", "spec", "template"), _pod_template)


def _pod_template(template: MarkedTree) -> MarkedTree:
    return changed(changed(template, ("metadata",), _same), ("spec",), _pod)


def _pod(spec: MarkedTree) -> MarkedTree:
    for name in ("containers", "initContainers"):
        spec = each_item(spec, name, _container)
    return each_item(spec, "volumes", _volume)


def _container(container: MarkedTree) -> MarkedTree:
    return each_item(changed(container, ("resources",), _same), "env", _variable)


def _variable(variable: MarkedTree) -> MarkedTree:
    source = variable.get("valueFrom", "resourceFieldRef")
    if source is None or "divisor" in source.value:
        return variable
    path = ("valueFrom", "resourceFieldRef")
    return changed(variable, path, lambda each: with_fields(each, {"divisor": MarkedTree("0", each.mark)}))


def _volume(volume: MarkedTree) -> MarkedTree:
    if volume.get("ephemeral", "volumeClaimTemplate") is None:
        return volume
    template = ("ephemeral", "volumeClaimTemplate")
    return changed(changed(volume, (*template, "metadata"), _same), (*template, "spec", "resources"), _same)


def _claim(claim: MarkedTree) -> MarkedTree:
    claim = changed(changed(claim, ("metadata",), _same), ("status",), _same)
    return changed(claim, ("spec", "resources"), _same)


def _same(tree: MarkedTree) -> MarkedTree:
    return tree
