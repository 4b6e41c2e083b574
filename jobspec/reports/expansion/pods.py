"""What a table tells of a pod: its rank, by which name others reach it, and what is in its containers."""

from __future__ import annotations

from jobspec.overlays.marked_tree import items

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from jobspec.overlays.marked_tree import MarkedTree

_RANKS = ("RANK", "PET_NODE_RANK")
_INDEX = "batch.kubernetes.io/job-completion-index"


class Pod:
    """A pod among the objects that are made with it."""

    __slots__ = ("host_name", "name", "rank", "tree")

    def __init__(self, tree: MarkedTree, objects: Sequence[MarkedTree]) -> None:
        self.tree = tree
        self.name = text(tree, "metadata", "name")
        self.rank = _rank(tree)
        """Empty where the pods agree on ranks when they meet."""
        self.host_name = _host_name(tree, objects)

    def containers(self) -> Iterator[tuple[MarkedTree, bool]]:
        """Its containers in the order in which they start, and whether each is an init container."""
        for field in ("initContainers", "containers"):
            yield from ((each, field == "initContainers") for each in items(self.tree.get("spec", field)))


def pods_among(objects: Sequence[MarkedTree]) -> list[Pod]:
    """The pods among objects."""
    services = [each for each in objects if text(each, "kind") == "Service"]
    return [Pod(each, services) for each in objects if text(each, "kind") == "Pod"]


def text(tree: MarkedTree | None, *path: str) -> str:
    """The text of the scalar at a path, empty where there is none."""
    found = tree.get(*path) if tree else None
    return "" if found is None or found.value is None or isinstance(found.value, (dict, list)) else str(found.value)


def _rank(pod: MarkedTree) -> str:
    variables = {text(each, "name"): text(each, "value") for each in items(_last_container(pod).get("env"))}
    known = [variables[name] for name in _RANKS if variables.get(name)]
    return known[0] if known else text(pod, "metadata", "annotations", _INDEX)


def _last_container(pod: MarkedTree) -> MarkedTree:
    found = items(pod.get("spec", "containers"))
    return found[-1] if found else pod


def _host_name(pod: MarkedTree, services: Sequence[MarkedTree]) -> str:
    """The name by which the namespace's pods reach a pod: below its subdomain, or that of a service which finds this pod alone."""
    own = text(pod, "spec", "hostname") or text(pod, "metadata", "name")
    subdomain = text(pod, "spec", "subdomain")
    if subdomain:
        return f"{own}.{subdomain}"
    labels = {name: each.value for name, each in pod.value["metadata"].entries("labels")}
    for service in services:
        selector = {name: each.value for name, each in service.value["spec"].entries("selector")}
        if selector and selector.items() <= labels.items():
            return text(service, "metadata", "name")
    return own
