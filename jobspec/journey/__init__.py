"""The journey of files to results: read, apply overlays, judge in a world, foresee, relate."""

#: The modules that other rooms import.
DOORS: tuple[str, ...] = (
    "checking",
    "journey",
    "outcomes",
    "parts",
    "policies",
    "reading",
    "references",
    "rendering",
    "steps",
)
