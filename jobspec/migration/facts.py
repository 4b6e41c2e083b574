"""What a program or a scheduler can learn of a job, one fact a key; and what differs between two jobs, with the place on both sides."""

from __future__ import annotations

from jobspec.documents.marked_tree import items

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

    from jobspec.diagnostics import Mark
    from jobspec.documents.marked_tree import MarkedTree

#: The subject, such as `node 0` or `job`, the area, such as `env` or `life`, and what it is about.
Key = tuple[str, ...]

#: The lists of a pod in which an item is known by a field; the items of all others count as one value together.
NAMED = {
    "containers": "name",
    "initContainers": "name",
    "env": "name",
    "volumes": "name",
    "volumeMounts": "mountPath",
    "volumeDevices": "devicePath",
    "ports": "containerPort",
    "imagePullSecrets": "name",
    "schedulingGates": "name",
    "hostAliases": "ip",
}


class Fact:
    """A value, and the place that it comes from: a line of the job or of its runtime, or who sets it."""

    __slots__ = ("mark", "value")

    def __init__(self, value: Any, mark: Mark) -> None:
        self.value = value
        self.mark = mark


class Difference:
    """A fact that is another one afterwards, or is there on one side alone."""

    __slots__ = ("after", "before", "key")

    def __init__(self, key: Key, before: Fact | None, after: Fact | None) -> None:
        self.key = key
        self.before = before
        self.after = after

    def __repr__(self) -> str:
        return f"<{' '.join(self.key)}: {self.before and self.before.value!r} -> {self.after and self.after.value!r}>"


def differences(before: Mapping[Key, Fact], after: Mapping[Key, Fact]) -> list[Difference]:
    """What differs, in the order of the first side, and then what only the second has."""
    found = [Difference(key, fact, after.get(key)) for key, fact in before.items() if key not in after or after[key].value != fact.value]
    return [*found, *(Difference(key, None, fact) for key, fact in after.items() if key not in before)]


def flat(tree: MarkedTree, key: Key) -> Iterator[tuple[Key, Fact]]:
    """Every value of a tree that holds no further one, by its path; an item of a list by its name."""
    if isinstance(tree.value, dict) and tree.value:
        for name, child in tree.value.items():
            yield from flat_field(name, child, key)
    else:
        yield key, Fact(tree.data(), tree.place())


def flat_field(name: str, tree: MarkedTree, key: Key) -> Iterator[tuple[Key, Fact]]:
    """The same for one field, whose value may be a list."""
    named = NAMED.get(name)
    if named is None or not all(each.get(named) for each in items(tree)):
        yield from flat(tree, (*key, name))
        return
    for each in items(tree):
        label = str(each.value[named].value)
        yield from flat(each, (*key, f"{name}[{label}]"))
