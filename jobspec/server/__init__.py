"""Ask a real API server for its verdict on manifests, or a forge for a comment; nothing is stored on a server of others but that."""

#: The modules that other rooms import.
DOORS: tuple[str, ...] = (
    "absent_webhooks",
    "api_server",
    "asking",
    "client",
    "forges",
    "local",
    "pin",
    "questions",
)
