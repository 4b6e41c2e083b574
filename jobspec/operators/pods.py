"""A pod that an operator makes, as rules and reports look at it: its role and rank, by which name others reach it, its containers."""

from __future__ import annotations

from jobspec.documents.marked_tree import items, text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from jobspec.documents.marked_tree import MarkedTree

_RANKS = ("RANK", "PET_NODE_RANK")
ROLE = "jobset.sigs.k8s.io/replicatedjob-name"
"""The label of a JobSet's Job and its pods that names their replicated job."""
_ROLES = ("training.kubeflow.org/replica-type", ROLE)
_INDEX = "batch.kubernetes.io/job-completion-index"


class Pod:
    """A pod among the objects that are made with it."""

    __slots__ = ("_among", "name", "role", "tree")

    def __init__(self, tree: MarkedTree, among: _Among) -> None:
        self.tree = tree
        self._among = among
        self.name = text(tree, "metadata", "name")
        self.role = next((text(tree, "metadata", "labels", each) for each in _ROLES if text(tree, "metadata", "labels", each)), "")
        """The replica type of a PyTorchJob in small letters, or the name of the replicated job."""

    @property
    def rank(self) -> str:
        """Empty where the pods agree on ranks when they meet, and for pods that have none."""
        return self._among.ranks()[id(self.tree)]

    @property
    def host_name(self) -> str:
        """The name by which the namespace's pods reach it."""
        return _host_name(self.tree, self._among.services())

    def containers(self) -> Iterator[tuple[MarkedTree, bool]]:
        """Its containers in the order in which they start, and whether each is an init container."""
        for field in ("initContainers", "containers"):
            yield from ((each, field == "initContainers") for each in items(self.tree.get("spec", field)))

    def container(self, name: str) -> MarkedTree | None:
        """The container of a name that is no init container, None where there is none."""
        return next((each for each in items(self.tree.get("spec", "containers")) if text(each, "name") == name), None)


def pods_among(objects: Sequence[MarkedTree]) -> list[Pod]:
    """The pods among objects."""
    among = _Among(objects)
    return [Pod(tree, among) for tree in among.pods()]


class _Among:
    """The objects that are made with a pod, and what is found in all of them together when it is first asked for."""

    __slots__ = ("_objects", "_ranks", "_services")

    def __init__(self, objects: Sequence[MarkedTree]) -> None:
        self._objects = objects
        self._ranks: dict[int, str] | None = None
        self._services: dict[str, MarkedTree] | None = None

    def pods(self) -> list[MarkedTree]:
        """The pods, in order."""
        return [each for each in self._objects if text(each, "kind") == "Pod"]

    def services(self) -> Mapping[str, MarkedTree]:
        """The services by name."""
        if self._services is None:
            self._services = {text(each, "metadata", "name"): each for each in self._objects if text(each, "kind") == "Service"}
        return self._services

    def ranks(self) -> Mapping[int, str]:
        """The rank of each pod, by the identity of its tree."""
        if self._ranks is None:
            trees = self.pods()
            ranks = list(map(_rank, trees))
            if not any(ranks):
                ranks = [text(each, "metadata", "annotations", _INDEX) for each in trees]
            self._ranks = {id(tree): rank for tree, rank in zip(trees, ranks, strict=True)}
        return self._ranks


def value_of(variable: MarkedTree, pod: MarkedTree) -> str:
    """The value that a variable will have in a pod; in `<>` what it is taken from, where that is not known yet."""
    source = variable.get("valueFrom")
    if source is None:
        return text(variable, "value")
    field = text(source, "fieldRef", "fieldPath")
    path, bracket, key = field.removesuffix("']").partition("['")
    known = text(pod, *path.split("."), *([key] if bracket else []))
    if known:
        return known
    kind, reference = next(iter(source.value.items()))
    parts = [text(reference, name) for name in ("name", "key", "fieldPath", "resource", "path")]
    return f"<{kind.removesuffix('Ref')} {' '.join(part for part in parts if part)}>"


def _rank(pod: MarkedTree) -> str:
    """The rank that the operator gives to a pod, empty where it gives none."""
    for container in items(pod.get("spec", "containers")):
        variables = {text(each, "name"): each for each in items(container.get("env"))}
        known = [value_of(variables[name], pod) for name in _RANKS if name in variables]
        if known and known[0]:
            return known[0]
    return ""


def _host_name(pod: MarkedTree, services: Mapping[str, MarkedTree]) -> str:
    """The name by which the namespace's pods reach a pod: below its subdomain, or that of a service which finds this pod alone.

    *services*: by name; that of most is the pod's, too.
    """
    own = text(pod, "spec", "hostname") or text(pod, "metadata", "name")
    subdomain = text(pod, "spec", "subdomain")
    if subdomain:
        return f"{own}.{subdomain}"
    labels = {name: each.value for name, each in pod.value["metadata"].entries("labels")}
    for service in (*filter(None, [services.get(own)]), *services.values()):
        selector = {name: each.value for name, each in service.value["spec"].entries("selector")}
        if selector and selector.items() <= labels.items():
            return text(service, "metadata", "name")
    return own
