"""All files below `schemas/` that are generated: from the models, and from `schemas/kubernetes.json`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jobspec.kinds import built_in, find
from jobspec.models import roots
from jobspec.schemas import json_schema
from jobspec.schemas.compiled import compiled, compiled_builtin
from jobspec.targets import RELEASES, builtin_path, schema_path

if TYPE_CHECKING:
    from collections.abc import Iterator

    from jobspec.models.base import Resource


def files() -> Iterator[tuple[str, str]]:
    """The path of each file below `schemas/`, with `/` between its parts, and its text."""
    for model in roots():
        resource: Resource = model.RESOURCE  # type: ignore[attr-defined]
        kind = find(resource.api_version, resource.kind)
        assert kind and (kind.component, kind.namespaced) == (resource.component, resource.scope == "Namespaced"), resource
        releases = list(RELEASES[resource.component])
        for release in releases[-1:] if kind.is_builtin else releases:
            path = schema_path(resource.component, release, resource.api_version, resource.kind)
            if not kind.is_builtin:
                yield f"compiled/{path}", compiled(model, release)
            yield path, json_schema.text(model, release)
    for kind in built_in():
        for api_version in kind.api_versions:
            yield f"compiled/{builtin_path(api_version, kind.name)}", compiled_builtin(api_version, kind.name)
