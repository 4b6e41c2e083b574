"""Ask a real API server for its verdict on manifests; nothing is stored on a server that jobspec does not own."""

#: The modules that other rooms import.
DOORS: tuple[str, ...] = (
    "api_server",
    "asking",
    "client",
    "local",
    "pin",
    "questions",
)
