"""Overlays: named, typed layers that turn one plain job into its variants."""

#: The modules that other rooms import.
DOORS: tuple[str, ...] = (
    "apply",
    "flags",
    "load",
    "merge",
    "trainjob",
)
