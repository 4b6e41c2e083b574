"""A comparison as one JSON object, whose types stand here."""

from __future__ import annotations

import json
from typing import Any, NotRequired, TypedDict

from jobspec.reports.text import clean

TYPE_CHECKING = False
if TYPE_CHECKING:
    from jobspec.diagnostics import Mark
    from jobspec.project.capacity import Capacity
    from jobspec.project.comparison import Presence, VariantChange
    from jobspec.project.effects import Meaning, ObjectChange
    from jobspec.project.fields import FieldChange
    from jobspec.reports.diff import View

    class Place(TypedDict):
        """A line; `layer` is the overlay or variant whose line it is, empty for a base."""

        file: str
        line: int
        column: int
        layer: str

    class Field(TypedDict):
        """A changed field. `before` and `after` are missing where the field is; `changedIn` is null where nobody knows the line."""

        field: str
        before: NotRequired[Any]
        after: NotRequired[Any]
        meaning: Meaning
        changedIn: Place | None
        was: NotRequired[Place]

    class Object(TypedDict):
        """An object that differs; a new run `follows` the job of that name, which is pruned or stays; empty where there was none."""

        kind: str
        namespace: str
        name: str
        meaning: Meaning
        follows: str
        isPruned: bool
        notes: list[str]
        fields: list[Field]

    class Needs(TypedDict):
        """What a job asks for, with the `most` that an autoscaler may make of it.

        `cost` is the most that it costs, null where nobody can say, and missing without a price list.
        """

        pods: int
        mostPods: int
        gpus: int
        mostGpus: int
        deadlineSeconds: int | None
        cost: NotRequired[float | None]
        notes: list[str]

    class Variant(TypedDict):
        """A variant that differs; `before` is null for a new one, `after` for one that is gone."""

        name: str
        presence: Presence
        meaning: Meaning
        before: Needs | None
        after: Needs | None
        objects: list[Object]

    class Report(TypedDict):
        """The whole report."""

        ref: str
        commit: str
        differs: bool
        notes: list[str]
        currency: str | None
        variants: list[Variant]
        summary: dict[str, int]
        target: dict[str, str]


def json_report(view: View) -> str:
    """The whole report."""
    return json.dumps(as_data(view), indent=2, ensure_ascii=False) + "\n"


def as_data(view: View) -> Report:
    """The report as plain data."""
    comparison = view.comparison
    presences = [each.presence for each in comparison.variants]
    return {
        "ref": clean(view.ref),
        "commit": view.commit,
        "differs": comparison.differs,
        "notes": list(comparison.notes),
        "currency": view.prices.currency if view.prices else None,
        "variants": [_variant(each, view) for each in comparison.variants],
        "summary": {
            "changed": presences.count("changed"),
            "new": presences.count("new"),
            "removed": presences.count("removed"),
            "unchanged": comparison.unchanged,
        },
        "target": view.releases,
    }


def _variant(change: VariantChange, view: View) -> Variant:
    return {
        "name": change.name,
        "presence": change.presence,
        "meaning": change.meaning,
        "before": _needs(change.before, view),
        "after": _needs(change.after, view),
        "objects": [_object(each) for each in change.objects],
    }


def _needs(capacity: Capacity | None, view: View) -> Needs | None:
    if capacity is None:
        return None
    notes = list(capacity.notes)
    found: Needs = {
        "pods": capacity.number,
        "mostPods": capacity.most,
        "gpus": capacity.gpus,
        "mostGpus": capacity.most_gpus,
        "deadlineSeconds": capacity.deadline,
        "notes": notes,
    }
    cost = view.cost(capacity)
    if cost:
        found["cost"] = None if cost.amount is None else float(cost.amount)
        notes += [cost.why] if cost.why else []
    return found


def _object(change: ObjectChange) -> Object:
    return {
        "kind": change.kind,
        "namespace": change.namespace,
        "name": change.name,
        "meaning": change.meaning,
        "follows": change.follows,
        "isPruned": change.is_pruned,
        "notes": list(change.notes),
        "fields": [_field(each, meaning) for each, meaning in change.fields],
    }


def _field(change: FieldChange, meaning: Meaning) -> Field:
    found: Field = {"field": change.field, "meaning": meaning, "changedIn": _place(change.place)}
    if change.before is not None:
        found["before"] = change.before.data()
    if change.after is not None:
        found["after"] = change.after.data()
    was = _place(change.was)
    if was:
        found["was"] = was
    return found


def _place(mark: Mark | None) -> Place | None:
    return {"file": clean(mark.file), "line": mark.line, "column": mark.column, "layer": mark.layer} if mark else None
