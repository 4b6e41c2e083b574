"""How the trainer writes what it sends: a JobSet's spec, which has some objects always, even empty ones, and variables, which lose some.

Follows the types of k8s.io/api batch/v1 and core/v1, 0.32 to 0.36, and of JobSet 0.8.2 to 0.12.0; and `FromTypedObjWithFields`, `EnvVar`
and `UpsertEnvVars`, github.com/kubeflow/trainer pkg/apply, 2.0.0 to 2.3.0.
"""

from __future__ import annotations

from jobspec.documents.marked_tree import MarkedTree, items
from jobspec.operators.edits import changed, each_item, with_fields, with_items
from jobspec.operators.go_types import as_go_writes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from jobspec.schemas.shapes import Shape

#: The sources of a variable that the trainer knows -> the fields that it copies, with what it writes where they are absent.
_SOURCES: Mapping[str, Mapping[str, str | None]] = {
    "fieldRef": {"fieldPath": ""},
    "resourceFieldRef": {"containerName": "", "resource": "", "divisor": "0"},
    "configMapKeyRef": {"key": "", "name": "", "optional": None},
    "secretKeyRef": {"key": "", "name": "", "optional": None},
}


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
    return each_item(changed(container, ("resources",), _same), "env", _with_divisor)


def _with_divisor(variable: MarkedTree) -> MarkedTree:
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


def with_variables(container: MarkedTree, variables: MarkedTree | None) -> MarkedTree:
    """A container with a TrainJob's variables; one without a value has the empty text."""
    return with_items(container, "env", map(_copied, items(variables)))


def _copied(given: MarkedTree) -> MarkedTree:
    """A variable of a TrainJob as the trainer writes it: a source hides its value, and of sources it knows four."""
    source = given.get("valueFrom")
    own = source.with_value(_source(source)) if source else None
    value = None if source else given.get("value") or given.with_value("")
    name = given.get("name") or given.with_value("")  # a webhook of the trainer writes the job anew, with names that are not there
    return with_fields(given.with_value({"name": name}), {"valueFrom": own, "value": value})


def _source(source: MarkedTree) -> dict[str, MarkedTree]:
    found = {}
    for name, fields in _SOURCES.items():
        given = source.get(name)
        if given:
            always = {field: given.with_value(empty) for field, empty in fields.items() if empty is not None}
            own = {field: child for field in fields if (child := given.get(field))}
            found[name] = given.with_value({**always, **own})
    return found
