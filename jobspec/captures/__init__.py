"""Jobs that a Python program sends to Kubernetes, captured by a server on loopback in place of a cluster."""

#: The modules that other rooms import.
DOORS: tuple[str, ...] = (
    "captured",
    "program",
    "redirection",
    "server",
)
