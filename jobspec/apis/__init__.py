"""Kinds and releases of the APIs, their CEL rules in Python, and the files that jobspec ships."""

#: The modules that other rooms import.
DOORS: tuple[str, ...] = (
    "cel_rules",
    "kinds",
    "queue_rules",
    "releases",
    "shipped",
    "sibling_kinds",
)
