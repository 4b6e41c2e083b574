"""A project's variants, and the tree that they render to."""

#: The modules that other rooms import.
DOORS: tuple[str, ...] = (
    "blame",
    "capacity",
    "comparison",
    "effects",
    "fields",
    "import_overlays",
    "importing",
    "matrix",
    "project",
    "rendering",
    "tree",
    "variants",
)
