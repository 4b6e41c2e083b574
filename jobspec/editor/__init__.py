"""The language server and the door for agents: manifests judged while they are written, by the journey of the command line."""

#: The modules that other rooms import.
DOORS: tuple[str, ...] = (
    "lsp",
    "mcp",
)
