"""Migrate a job to another kind or release, and report what its pods lose."""

#: The modules that other rooms import.
DOORS: tuple[str, ...] = (
    "files",
    "jobs",
    "releases",
    "upgrade",
)
