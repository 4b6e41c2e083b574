"""What the trainer's releases differ in, of what others than this room ask; how a TrainJob lives and ends stands in `life`."""

from __future__ import annotations

from jobspec.targets import is_at_least


def merges_resources(release: str) -> bool:
    """Whether `resourcesPerNode` is merged with the runtime's resources; older releases replace these."""
    return is_at_least(release, "2.3.0")


def shares_with_launcher(release: str) -> bool:
    """Whether a launcher of MPI that is a node shares `env` and `resourcesPerNode` with the other nodes."""
    return is_at_least(release, "2.1.0")


def takes_words_for_processes(release: str) -> bool:
    """Whether `numProcPerNode` takes `auto`, `cpu` and `gpu`; later releases take numbers alone."""
    return not is_at_least(release, "2.2.0")


def knows_volcano(release: str) -> bool:
    """Whether a runtime can have its pods scheduled all at once by Volcano."""
    return is_at_least(release, "2.1.0")


def has_runtime_patches(release: str) -> bool:
    """Whether TrainJobs have `runtimePatches`, into which Kueue writes."""
    return is_at_least(release, "2.2.0")
