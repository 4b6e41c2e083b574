"""Schemas, derived from the models for a release. Loads pydantic: nothing on the way from a manifest to a verdict imports this."""

#: The modules that other rooms import.
DOORS: tuple[str, ...] = (
    "catalog",
    "explain",
    "files",
    "json_schema",
    "kinds",
    "merge_additions",
    "merge_schema",
    "shapes",
    "structure",
    "upstream",
)
