"""Advice on jobs that are accepted and run, but are slow, costly or fragile."""

#: The modules that other rooms import.
DOORS: tuple[str, ...] = (
    "accelerators",
    "catalogue",
    "communication",
    "documents",
    "ignores",
    "images",
    "kept_findings",
    "linted",
    "linting",
    "pages",
    "restarts",
    "rule_pages",
    "security",
    "storage",
    "topics",
)
