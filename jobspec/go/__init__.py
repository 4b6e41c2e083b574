"""How Go reads, checks and compares values: numbers and quantities, texts with a format, regular expressions, decoded objects."""

#: The modules that other rooms import.
DOORS: tuple[str, ...] = (
    "codec",
    "formats",
    "quantities",
    "regex",
    "text_formats",
    "values",
)
