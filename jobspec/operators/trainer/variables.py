"""The variables of a TrainJob as the trainer writes them into containers: copied field by field, so that some are lost.

Follows `EnvVar` and `UpsertEnvVars`, github.com/kubeflow/trainer pkg/apply, 2.0.0 to 2.3.0.
"""

from __future__ import annotations

from jobspec.operators.edits import with_fields, with_items
from jobspec.overlays.marked_tree import items

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from jobspec.overlays.marked_tree import MarkedTree

#: The sources of a variable that the trainer knows -> the fields that it copies, with what it writes where they are absent.
_SOURCES: Mapping[str, Mapping[str, str | None]] = {
    "fieldRef": {"fieldPath": ""},
    "resourceFieldRef": {"containerName": "", "resource": "", "divisor": "0"},
    "configMapKeyRef": {"key": "", "name": "", "optional": None},
    "secretKeyRef": {"key": "", "name": "", "optional": None},
}


def with_variables(container: MarkedTree, variables: MarkedTree | None) -> MarkedTree:
    """A container with a TrainJob's variables; one without a value has the empty text."""
    return with_items(container, "env", map(variable, items(variables)))


def variable(given: MarkedTree) -> MarkedTree:
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
