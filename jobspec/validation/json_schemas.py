"""Check documents against JSON Schemas that users bring (`--schema-location`), for kinds without a schema of ours.

A JSON Schema has no list-map keys and no CEL rules, and its defaults are not filled in, so a document without problems is checked only
`partly`. Null fields are dropped first, as by a server.
"""

from __future__ import annotations

from functools import cache

from jobspec import kinds
from jobspec.diagnostics import JobspecError, Key
from jobspec.validation import metadata
from jobspec.validation.problem import Problem

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from typing import Any, Literal

    from jsonschema.exceptions import ValidationError
    from referencing import Resource
    from referencing.exceptions import Unresolvable

    from jobspec.diagnostics import Path
    from jobspec.documents.document import Document
    from jobspec.kinds import Kind

#: Our rule for each keyword of JSON Schema; for all others it is `wrong-combination`.
_RULES = {
    "type": "wrong-type",
    "required": "missing-field",
    "additionalProperties": "unknown-field",
    "enum": "unsupported-choice",
    "const": "unsupported-choice",
    "pattern": "wrong-format",
    "format": "wrong-format",
    "uniqueItems": "duplicate-item",
    **dict.fromkeys(("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"), "out-of-range"),
    **dict.fromkeys(("minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties"), "wrong-size"),
}


def _metadata_problems(meta: dict[str, Any], kind: Kind | None) -> Iterator[Problem]:
    """The problems of metadata; an object without a *kind* that jobspec knows is a custom resource."""
    if kind is None:
        return metadata.metadata_problems(meta, names="subdomain", builtin=False)
    return metadata.metadata_problems(meta, names=kind.names, builtin=kind.needs_domains, namespaced=kind.namespaced)


class JSONSchema:
    """The JSON Schema of a file, checked once. Raises JobspecError, with the file, if the library cannot use it."""

    def __init__(self, file: str, schema: Any, uri: str, read: Callable[[str], Any]) -> None:
        """*uri* is the file's own; *read* gives the content of another that it refers to, and raises JobspecError where it cannot."""
        from jsonschema.exceptions import SchemaError
        from jsonschema.validators import Draft7Validator, validator_for
        from referencing import Registry, Resource
        from referencing.jsonschema import DRAFT7

        def retrieve(other: str) -> Resource[Any]:
            return Resource.from_contents(read(other), default_specification=DRAFT7)

        self._file = file
        if not isinstance(schema, (dict, bool)) or (isinstance(schema, dict) and not isinstance(schema.get("$schema", ""), str)):
            raise JobspecError(f"{file}: no JSON Schema")
        kind = validator_for(schema, Draft7Validator)
        try:
            kind.check_schema(schema)  # type: ignore[arg-type]  # which may be a bool
            whole = Resource.from_contents(schema, default_specification=DRAFT7)
            registry = Registry(retrieve=cache(retrieve)).with_resource(uri, whole).crawl()  # type: ignore[call-arg]  # of attrs
        except SchemaError as error:
            raise JobspecError(f"{file}: no JSON Schema: {error.message}") from None
        except (AttributeError, TypeError) as error:
            raise JobspecError(f"{file}: no JSON Schema: {error}") from None
        self._validator = kind({"$ref": uri}, registry=registry)
        self.covers: Literal["partly"] = "partly"

    def problems(self, document: Document) -> Iterator[Problem]:
        """The problems of a document by the JSON Schema and those of its metadata."""
        for each in sorted(self._errors(_without_nulls(document.data)), key=lambda error: list(map(str, error.absolute_path))):
            rule, path = _RULES.get(str(each.validator), "wrong-combination"), _path(each.absolute_path)
            unknown = _unknown(each) if rule == "unknown-field" else []
            for name in unknown:
                yield Problem(rule, (*path, name), f"the JSON Schema has no field `{name}` here", at_key=True)
            if not unknown:
                yield Problem(rule, path, f"the JSON Schema says: {each.message}")
        meta = document.data.get("metadata")
        if meta is None or isinstance(meta, dict):
            yield from _metadata_problems(meta or {}, kinds.find(document.api_version, document.kind))

    def _errors(self, data: Any) -> list[ValidationError]:
        """The errors that the library finds in an object."""
        from referencing.exceptions import Unresolvable

        try:
            return list(self._validator.iter_errors(data))
        except RecursionError:
            raise JobspecError(f"{self._file}: the JSON Schema refers to itself without an end, or is nested too deep") from None
        except (AttributeError, TypeError) as error:
            raise JobspecError(f"{self._file}: no JSON Schema, or what it refers to is none: {error}") from None
        except Unresolvable as error:
            raise JobspecError(f"{self._file}: it refers to {_reference(error)}, which {_why(error)}") from None


def _reference(error: Unresolvable) -> str:
    """An unresolvable reference as it is written; for one inside the same file, the library has only the part after `#`."""
    anchor = getattr(error, "anchor", "")
    return f"#{anchor or error.ref}" if anchor or error.ref.startswith("/") else error.ref


def _why(error: BaseException) -> str:
    """Why a reference is unresolvable: the library wraps the cause."""
    inner = error.__cause__ or error.__context__
    if isinstance(inner, JobspecError):
        return str(inner)
    return _why(inner) if inner else "is not there"


def _unknown(error: ValidationError) -> list[str]:
    """The fields that `additionalProperties: false` refuses; none if there is `patternProperties`."""
    schema = error.schema
    if not isinstance(error.instance, dict) or not isinstance(schema, dict) or "patternProperties" in schema:
        return []
    return [name for name in error.instance if name not in schema.get("properties", {})] if error.validator_value is False else []


def _without_nulls(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_nulls(inner) for key, inner in value.items() if inner is not None}
    return [_without_nulls(item) for item in value] if isinstance(value, list) else value


def _path(steps: Iterable[str | int]) -> Path:
    """The path of an error; a step that is no identifier is the key of a map."""
    return tuple(step if isinstance(step, int) or str(step).isidentifier() else Key(step) for step in steps)
