"""Check documents against JSON Schemas that users bring (`--schema-location`), for kinds without a schema of ours.

A JSON Schema has no list-map keys and no CEL rules, and its defaults are not filled in, so a document without problems is checked only
`partly`. Null fields are dropped first, as by a server.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, Literal

from jobspec.apis import kinds
from jobspec.diagnostics.errors import JobspecError
from jobspec.diagnostics.places import Key
from jobspec.diagnostics.problems import Problem, Problems
from jobspec.documents.document import Document
from jobspec.go.values import without_nulls
from jobspec.kubernetes.metadata import metadata_problems

TYPE_CHECKING = False
if TYPE_CHECKING:
    from jsonschema.exceptions import ValidationError
    from referencing import Resource
    from referencing.exceptions import Unresolvable


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


class JSONSchema:
    """The JSON Schema of a file, checked once.

    Raises JobspecError, with the file, if the library cannot use the schema.
    """

    def __init__(self, file: str, schema: Any, uri: str, read: Callable[[str], Any]) -> None:
        """Take the schema of a file and the file's *uri*.

        *read* returns the content of another URI that the schema refers to, and raises JobspecError if it cannot.
        """
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
            raise JobspecError(f"{file}: not a JSON Schema: {error.message}") from None
        except (AttributeError, TypeError) as error:
            raise JobspecError(f"{file}: not a JSON Schema: {error}") from None
        self._validator = kind({"$ref": uri}, registry=registry)
        self.covers: Literal["partly"] = "partly"

    def problems(self, document: Document) -> Problems:
        """Yield the problems of a document by the JSON Schema and those of its metadata."""
        for each in sorted(self._errors(without_nulls(document.data)), key=lambda error: list(map(str, error.absolute_path))):
            rule = _RULES.get(str(each.validator), "wrong-combination")
            # a step that is no identifier is the key of a map
            path = tuple(step if isinstance(step, int) or str(step).isidentifier() else Key(step) for step in each.absolute_path)
            unknown = _refused_fields(each) if rule == "unknown-field" else []
            for name in unknown:
                yield Problem(rule, (*path, name), f"unknown field `{name}` in the JSON Schema", at_key=True)
            if not unknown:
                yield Problem(rule, path, f"the JSON Schema says: {each.message}")
        known = kinds.find(document.api_version, document.kind)
        names, builtin, namespaced = (known.names, known.needs_domains, known.namespaced) if known else ("subdomain", False, True)
        yield from metadata_problems(document.data.get("metadata"), names=names, builtin=builtin, namespaced=namespaced)

    def _errors(self, data: Any) -> list[ValidationError]:
        """The errors that the library finds in an object."""
        from referencing.exceptions import Unresolvable

        try:
            return list(self._validator.iter_errors(data))
        except RecursionError:
            raise JobspecError(f"{self._file}: the JSON Schema refers to itself without an end, or is nested too deep") from None
        except (AttributeError, TypeError) as error:
            raise JobspecError(f"{self._file}: not a JSON Schema, or what it refers to is not: {error}") from None
        except Unresolvable as error:
            raise JobspecError(f"{self._file}: it refers to {_reference(error)}, which {_why(error)}") from None


def _reference(error: Unresolvable) -> str:
    """Return an unresolvable reference as it is written.

    If it is inside the same file, the library has only the part after `#`.
    """
    anchor = getattr(error, "anchor", "")
    return f"#{anchor or error.ref}" if anchor or error.ref.startswith("/") else error.ref


def _why(error: BaseException) -> str:
    """Why a reference is unresolvable: the library wraps the cause."""
    inner = error.__cause__ or error.__context__
    if isinstance(inner, JobspecError):
        return str(inner)
    return _why(inner) if inner else "is not there"


def _refused_fields(error: ValidationError) -> list[str]:
    """Return the fields that `additionalProperties: false` refuses.

    If there is `patternProperties`, return none.
    """
    schema = error.schema
    if not isinstance(error.instance, dict) or not isinstance(schema, dict) or "patternProperties" in schema:
        return []
    return [name for name in error.instance if name not in schema.get("properties", {})] if error.validator_value is False else []
