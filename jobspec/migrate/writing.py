"""Values that a migration writes, and parts of a job that it moves: each points to the place in the source that caused it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from jobspec.diagnostics.places import Mark
from jobspec.documents.marked_tree import MarkedTree, items, set_by, text
from jobspec.kubernetes.metadata import LAST_APPLIED, WRITTEN_BY_SERVER
from jobspec.migrate import facts

MIGRATION = Mark("jobspec migrate")
"""The place of what no line of the source says."""


def by_migration(data: Any, cause: MarkedTree | None = None) -> MarkedTree:
    """Return plain data, which may hold trees, as a tree at the place of its *cause*."""
    return set_by(cause.mark if cause and cause.mark.line else MIGRATION, data)


NAME_OF_JOB = by_migration({"name": facts.NAME, "valueFrom": {"fieldRef": {"fieldPath": f"metadata.labels['{facts.NEW_NAME}']"}}})
"""The variable with the name of a TrainJob, from its pods' metadata."""


def present(fields: dict[str, Any]) -> dict[str, Any]:
    """Return the fields that are not None."""
    return {name: value for name, value in fields.items() if value is not None}


def own_metadata(given: MarkedTree) -> MarkedTree:
    """Return the metadata of a job without what the server wrote."""
    fields = {name: each for name, each in given.value.items() if name not in WRITTEN_BY_SERVER}
    notes = {name: each for name, each in given.entries("annotations") if name != LAST_APPLIED}
    if "annotations" in fields and len(notes) < len(fields["annotations"].value):
        annotations = fields.pop("annotations")
        fields |= {"annotations": annotations.with_value(notes)} if notes else {}
    return given.with_value(fields)


def without_nulls(tree: MarkedTree) -> MarkedTree:
    """Return the tree without null values, which the server drops."""
    if isinstance(tree.value, dict):
        return tree.with_value({name: without_nulls(each) for name, each in tree.value.items() if each.value is not None})
    return tree.with_value([without_nulls(each) for each in tree.value]) if isinstance(tree.value, list) else tree


def template_metadata(template: MarkedTree) -> dict[str, MarkedTree]:
    """Return the metadata of a template without the labels that a Job writes itself.

    A Job refuses these labels in its template.
    """
    labels = template.get("metadata", "labels")
    if labels is None:
        return {}
    kept = labels.with_value({name: each for name, each in labels.value.items() if not facts.is_of_job(name)})
    metadata = template.value["metadata"]
    others = {name: each for name, each in metadata.value.items() if name != "labels"}
    return {"metadata": metadata.with_value({**({"labels": kept} if kept.value else {}), **others})}


def words(given: MarkedTree, renamed: Callable[[str], str]) -> MarkedTree:
    """Return the words of a command line with other names of hosts."""
    return given.with_value([each.with_value(renamed(text(each))) for each in items(given)])


def renamed_variable(variable: MarkedTree, renamed: Callable[[str], str]) -> MarkedTree:
    """Return a variable with other names of hosts in its value."""
    value = variable.get("value")
    if value is None or not isinstance(value.value, str):
        return variable
    return variable.with_value({**variable.value, "value": value.with_value(renamed(value.value))})
