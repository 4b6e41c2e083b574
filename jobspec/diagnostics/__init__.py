"""Problems and results: diagnostics, rules and their findings, marks of places, results of files."""

#: The modules that other rooms import.
DOORS: tuple[str, ...] = (
    "causes",
    "coverage",
    "diagnostic",
    "errors",
    "explanations",
    "grouping",
    "places",
    "problems",
    "record",
    "results",
    "rules",
    "wording",
)
