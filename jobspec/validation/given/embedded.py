"""Objects inside of objects (`x-kubernetes-embedded-resource`): what the server checks of their kind and metadata."""

from __future__ import annotations

from jobspec.diagnostics import Key
from jobspec.validation import metadata
from jobspec.validation.given.complete import child_of
from jobspec.validation.structural import Problem
from jobspec.validation.wording import describe

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from jobspec.diagnostics import Path

    Schema = dict[str, Any]


def problems(value: Any, schema: Schema, path: Path = ()) -> Iterator[Problem]:
    """What stands against the embedded objects in a value; the object around them all is not looked at."""
    if isinstance(value, dict):
        for name, inner in value.items():
            child = child_of(schema, name)
            if child is None:
                continue
            at = (*path, name if name in (schema.get("properties") or {}) else Key(name))
            yield from _at(inner, child, at)
    elif isinstance(value, list) and isinstance(schema.get("items"), dict):
        for index, item in enumerate(value):
            yield from _at(item, schema["items"], (*path, index))


def _at(value: Any, schema: Schema, path: Path) -> Iterator[Problem]:
    if schema.get("x-kubernetes-embedded-resource") and isinstance(value, dict):
        yield from _resource(value, path)
    yield from problems(value, schema, path)


def _resource(value: dict[str, Any], path: Path) -> Iterator[Problem]:
    version, kind, meta = value.get("apiVersion"), value.get("kind"), value.get("metadata")
    if isinstance(version, str) and (not version or version.count("/") > 1):
        yield Problem("wrong-format", (*path, "apiVersion"), f"{describe(version)} is no API version: it is `v1`, or `group/version`")
    if isinstance(kind, str) and metadata.bad_dns1035_label(kind.lower()):
        yield Problem(
            "wrong-format", (*path, "kind"), f"{describe(kind)} is no kind: it is of letters, digits and `-`, and begins with a letter"
        )
    if isinstance(meta, dict):
        if isinstance(meta.get("generation"), int) and meta["generation"] < 0:
            yield Problem("out-of-range", (*path, "metadata", "generation"), f"a generation is 0 or more, not {meta['generation']}")
        named = meta if meta.get("name") else {**meta, "name": "unnamed"}
        for problem in metadata.problems(named, names="made-segment", builtin=False):
            yield Problem(problem.rule, (*path, *problem.path), problem.message, problem.hint, at_key=problem.at_key)
