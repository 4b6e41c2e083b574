"""Command lines of containers: how programs read them, and which arguments they take."""

#: The modules that other rooms import.
DOORS: tuple[str, ...] = (
    "command_lines",
    "contracts",
    "downloads",
    "exit_status",
    "launchers",
    "mpirun",
    "public_images",
    "shells",
    "torchrun",
)
