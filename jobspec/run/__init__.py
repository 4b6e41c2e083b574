"""A job on this machine: each of its pods a process, with the environment that the operator gives it."""

#: The modules that other rooms import.
DOORS: tuple[str, ...] = (
    "endings",
    "pods",
    "processes",
)
