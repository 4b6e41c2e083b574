"""What an update can change of a pod that gates hold back: its gates can be removed, and its node be chosen more narrowly.

Follows `validateOnlyDeletedSchedulingGates`, `validateNodeSelectorMutation` and `validateNodeAffinityMutation`, k8s.io/kubernetes
pkg/apis/core/validation, 1.36.
"""

from __future__ import annotations

from jobspec.diagnostics import Key
from jobspec.validation.pods.changes import changes
from jobspec.validation.pods.node_affinity import REQUIRED
from jobspec.validation.problem import Problem

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from jobspec.diagnostics import Path

    Data = dict[str, Any]

_SPEC: Path = ("spec",)


def gate_problems(now: Data, was: Data) -> Iterator[Problem]:
    """The problems of changed gates, and while there were gates, of what a pod asks of its node."""
    yield from _gates(now.get("schedulingGates", []), was.get("schedulingGates", []))
    if was.get("schedulingGates"):
        yield from _node_labels(now.get("nodeSelector", {}), was.get("nodeSelector", {}))
        yield from _node_affinity(now, was)


def _gates(new: list[Data], old: list[Data]) -> Iterator[Problem]:
    stored = {each.get("name", "") for each in old}
    for name, index in {each.get("name", ""): index for index, each in enumerate(new)}.items():
        if name not in stored:
            message = f"a pod gets its gates when it is made; `{name}` cannot be added"
            yield Problem("immutable-field", (*_SPEC, "schedulingGates", index, "name"), message, "remove it")


def _node_labels(new: Data, old: Data) -> Iterator[Problem]:
    for key, value in old.items():
        if new.get(key) != value:
            path = (*_SPEC, "nodeSelector", *((Key(key),) if key in new else ()))
            message = f"labels of the node can be added while gates hold the pod back, and `{key}: {value}` cannot change"
            yield Problem("immutable-field", path, message, "put it back")


def _node_affinity(now: Data, was: Data) -> Iterator[Problem]:
    """The problems of requirements on nodes, to whose terms conditions can be added while gates hold the pod back."""
    path: Path = (*_SPEC, "affinity", "nodeAffinity", REQUIRED, "nodeSelectorTerms")
    new, old = (spec.get("affinity", {}).get("nodeAffinity", {}).get(REQUIRED, {}).get("nodeSelectorTerms", []) for spec in (now, was))
    if old and len(new) != len(old):
        yield Problem(
            "immutable-field", path, f"there were {len(old)} terms, of which one has to fit, and are {len(new)} now", "put them back"
        )
        return
    for index, (one, other) in enumerate(zip(new, old, strict=False)):
        if not _only_adds(one, other):
            yield Problem("immutable-field", (*path, index), "conditions can be added to a term, and not be changed or removed")


def _only_adds(new: Data, old: Data) -> bool:
    """Whether a term has the old conditions first; one without conditions stays without, since it fits no node."""
    pairs = [(new.get(field, []), old.get(field, [])) for field in ("matchExpressions", "matchFields")]
    if not any(before for _, before in pairs):
        return not any(after for after, _ in pairs)
    return all(not list(changes({"a": after[: len(before)]}, {"a": before})) for after, before in pairs)


def node_affinity_differs(spec: Data, other: Data) -> bool:
    """Whether two specs ask for other nodes by affinity."""
    return bool(list(changes(_node_affinity_of(spec), _node_affinity_of(other))))


def _node_affinity_of(spec: Data) -> Data:
    """A spec with its affinity to nodes alone, so that it can be compared."""
    found = spec.get("affinity", {}).get("nodeAffinity")
    return {} if found is None else {"affinity": {"nodeAffinity": found}}
