"""The world that manifests meet, and the judgement of a document in it."""

#: The modules that other rooms import.
DOORS: tuple[str, ...] = (
    "alike_results",
    "judged",
    "judging",
    "names",
    "policies",
    "reapplying",
    "world",
)
