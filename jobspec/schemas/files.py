"""All files below `schemas/`, which are generated from the models."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jobspec.kinds import find
from jobspec.models import roots
from jobspec.schemas import json_schema
from jobspec.schemas.compiled import compiled
from jobspec.targets import RELEASES, schema_path

if TYPE_CHECKING:
    from collections.abc import Iterator

    from jobspec.models.base import Resource


def files() -> Iterator[tuple[str, str]]:
    """The path of each file below `schemas/`, with `/` between its parts, and its text."""
    for model in roots():
        resource: Resource = model.RESOURCE  # type: ignore[attr-defined]
        kind = find(resource.api_version, resource.kind)
        assert kind and (kind.component, kind.namespaced) == (resource.component, resource.scope == "Namespaced"), resource
        for release in RELEASES[resource.component]:
            path = schema_path(resource.component, release, resource.api_version, resource.kind)
            yield f"compiled/{path}", compiled(model, release)
            yield path, json_schema.text(model, release)
