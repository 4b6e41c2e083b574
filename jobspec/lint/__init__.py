"""Advice on jobs that are accepted and run, but are slow, costly or fragile."""

#: The modules that other rooms import.
DOORS: tuple[str, ...] = (
    "catalogue",
    "documents",
    "ignores",
    "linted",
    "linting",
    "pages",
    "rule_pages",
)
