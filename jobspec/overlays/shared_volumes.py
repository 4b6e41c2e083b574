"""Check that claims which an overlay mounts for one role can be mounted by every node of a TrainJob."""

from __future__ import annotations

from jobspec.diagnostics import Diagnostic
from jobspec.kinds import PERSISTENT_VOLUME_CLAIM, group_kind
from jobspec.operators.trainer.runtimes import nodes_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from typing import Any

    from jobspec.documents.document import Document
    from jobspec.documents.marked_tree import MarkedTree
    from jobspec.overlays.job import OverlaidJob

_MANY = "ReadWriteMany"


def unshared_volumes(jobs: Iterable[OverlaidJob], documents: Sequence[Document], added: Sequence[MarkedTree]) -> Iterator[Diagnostic]:
    """A problem for each claim that several nodes mount and that is not ReadWriteMany; *added* are the companions of *documents*."""
    claims = [data for data in (*(document.data for document in documents), *(tree.data() for tree in added)) if _is_claim(data)]
    modes = {claim["metadata"]["name"]: (claim.get("spec") or {}).get("accessModes") or [] for claim in claims if _has_name(claim)}
    for job in jobs:
        count = _number_of_nodes(job)
        for volume in job.volumes if count > 1 else ():
            name = volume.get("persistentVolumeClaim", "claimName")
            if name and isinstance(name.value, str) and _MANY not in modes.get(name.value, ()):
                yield _unshared(name, count, modes.get(name.value))


def _number_of_nodes(job: OverlaidJob) -> int:
    """In how many pods a TrainJob trains; 1 where `numNodes` is no number, which the schema check reports."""
    number = job.tree.get("spec", "trainer", "numNodes")
    if job.pods is None or (number and not isinstance(number.value, (int, float, type(None)))):
        return 1
    return nodes_of(job.tree.data(), job.pods.runtime.document)


def _is_claim(data: Any) -> bool:
    return isinstance(data, dict) and group_kind(str(data.get("apiVersion")), str(data.get("kind"))) == PERSISTENT_VOLUME_CLAIM


def _has_name(claim: dict[str, Any]) -> bool:
    return isinstance(claim.get("metadata"), dict) and isinstance(claim["metadata"].get("name"), str)


def _unshared(name: MarkedTree, count: int, modes: list[str] | None) -> Diagnostic:
    message = f"a TrainJob has no master, so all its {count} nodes mount the claim `{name.value}`"
    if modes is None:
        hint = f"make sure that its access mode is {_MANY}; it is not in this file"
        return Diagnostic("volume-not-shared", message, name.place(), severity="warning", hint=hint)
    return Diagnostic("volume-not-shared", f"{message}, which is {', '.join(modes)}", name.place(), hint=f"the claim has to be {_MANY}")
