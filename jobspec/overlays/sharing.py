"""Volumes that were meant for one role and came to be on every node of a TrainJob, which one writer's volume does not allow."""

from __future__ import annotations

from jobspec.diagnostics import Diagnostic
from jobspec.kinds import PERSISTENT_VOLUME_CLAIM, group_kind
from jobspec.runtimes.runtime import nodes_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from typing import Any

    from jobspec.documents.document import Document
    from jobspec.overlays.laying import Laying
    from jobspec.overlays.tree import Tree

_MANY = "ReadWriteMany"


def not_shared(layings: Iterable[Laying], documents: Sequence[Document], added: Sequence[Tree]) -> Iterator[Diagnostic]:
    """Each claim that several nodes mount and that does not say that they can; *added* are the companions beside *documents*."""
    claims = [data for data in (*(document.data for document in documents), *(tree.data() for tree in added)) if _is_claim(data)]
    modes = {claim["metadata"]["name"]: (claim.get("spec") or {}).get("accessModes") or [] for claim in claims if _is_named(claim)}
    for laying in layings:
        count = _nodes(laying)
        for volume in laying.volumes if count > 1 else ():
            name = volume.get("persistentVolumeClaim", "claimName")
            if name and isinstance(name.value, str) and _MANY not in modes.get(name.value, ()):
                yield _problem(name, count, modes.get(name.value))


def _nodes(laying: Laying) -> int:
    """In how many pods a TrainJob trains; 1 where an overlay says no number, which its schema tells."""
    said = laying.tree.get("spec", "trainer", "numNodes")
    if laying.nodes is None or (said and not isinstance(said.value, (int, float, type(None)))):
        return 1
    return nodes_of(laying.tree.data(), laying.nodes.behind.runtime)


def _is_claim(data: Any) -> bool:
    return isinstance(data, dict) and group_kind(str(data.get("apiVersion")), str(data.get("kind"))) == PERSISTENT_VOLUME_CLAIM


def _is_named(claim: dict[str, Any]) -> bool:
    return isinstance(claim.get("metadata"), dict) and isinstance(claim["metadata"].get("name"), str)


def _problem(name: Tree, count: int, modes: list[str] | None) -> Diagnostic:
    message = f"a TrainJob has no master, so all its {count} nodes mount the claim `{name.value}`"
    if modes is None:
        hint = f"make sure that its access mode is {_MANY}; it is not in this file"
        return Diagnostic("volume-not-shared", message, name.place(), severity="warning", hint=hint)
    return Diagnostic("volume-not-shared", f"{message}, which is {', '.join(modes)}", name.place(), hint=f"the claim has to be {_MANY}")
