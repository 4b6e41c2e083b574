"""The results of files as text for people, and in formats that programs read."""

#: The modules that other rooms import.
DOORS: tuple[str, ...] = (
    "blame",
    "diff",
    "expansion",
    "formats",
    "page",
    "places",
    "preflight",
    "queue",
    "terminal",
    "text",
    "topology",
)
