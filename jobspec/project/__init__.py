"""A project's variants, and the tree that they render to."""

#: The modules that other rooms import.
DOORS: tuple[str, ...] = (
    "blame",
    "capacity",
    "comparison",
    "edited_lines",
    "effects",
    "fields",
    "import_overlays",
    "importing",
    "matrix",
    "object_changes",
    "project",
    "rendering",
    "tree",
    "variants",
)
