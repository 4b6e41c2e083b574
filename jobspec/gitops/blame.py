"""Where the values of a rendered object come from: the place of each, and what it overrode.

A value's history is what the same value is in the variant without its later layers, from the whole variant back to its base.
"""

from __future__ import annotations

from jobspec.diagnostics import spell
from jobspec.documents.reader import read
from jobspec.gitops.causes import Cause, Causes
from jobspec.gitops.naming import spec_hash
from jobspec.gitops.stages import beneath, stages_of
from jobspec.gitops.values import values_of
from jobspec.workloads import is_workload

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from typing import Any

    from jobspec.cluster import Cluster
    from jobspec.diagnostics import Mark, Path
    from jobspec.documents.document import Document
    from jobspec.gitops.project import Project
    from jobspec.gitops.values import Address, Value
    from jobspec.gitops.variants import Variant


RUNTIME = "runtime"  # the layer of what the runtime of a TrainJob has


class Origin:
    """A value that a field has or had, or its removal, and where that was written."""

    __slots__ = ("causes", "field", "layer", "mark", "removed", "value")

    def __init__(
        self, field: str, value: Any, mark: Mark, causes: Sequence[Cause] = (), *, layer: str | None = None, removed: bool = False
    ) -> None:
        self.field = field
        """As messages spell it; the list around the field where that was replaced as a whole."""
        self.value = value
        self.mark = mark
        self.layer = mark.layer if layer is None else layer
        """The overlay or variant that says it, or the runtime of a TrainJob; empty for a base."""
        self.causes = causes
        """What the value is made of: parameters and values of the matrix, each followed by its own causes."""
        self.removed = removed
        """Whether the field was removed there; it then has no value."""


class Blamed:
    """A field, and its history, the newest first: what it is, and what that overrode, in turn."""

    __slots__ = ("field", "history", "line")

    def __init__(self, field: str, history: Sequence[Origin], line: int = 0) -> None:
        self.field = field
        self.history = history
        self.line = line
        """Its line in the rendered file; 0 where it is there no more."""

    @property
    def origin(self) -> Origin:
        """What it is now, or who removed it."""
        return self.history[0]


class Blame:
    """The fields of a rendered object, those that it had, too."""

    __slots__ = ("_lines", "_now", "_past", "_teller")

    def __init__(self, variant: Variant, project: Project, cluster: Cluster, document: Document, text: str) -> None:
        """*text* is that of the rendered file."""
        self._teller = _Teller(variant, project, cluster, document)
        self._lines = _lines_of(text, cluster)
        self._now = sorted(values_of(document, cluster.target), key=lambda each: self._lines[each.path])
        self._past = self._teller.past({each.address[:length] for each in self._now for length in range(len(each.address) + 1)})

    def fields(self) -> list[Blamed]:
        """Every field that has a value, in the order of the file."""
        return self._blamed(self._now)

    def at(self, field: str) -> list[Blamed]:
        """The fields at or below one that messages spell, and those that a layer removed there.

        What stood in a list that was replaced as a whole is told only where nothing else is there.
        """
        found = self._blamed(each for each in self._now if each.answers_to(field))
        now = {value.address: value for value in self._now}
        gone = [each for each in self._past if each.answers_to(field) and not (found and _replaced_list(each, now))]
        return [*found, *(Blamed(each.lasting_field, self._teller.gone(each)) for each in gone)]

    def names(self) -> list[str]:
        """The names of all fields, of those with others inside, too."""
        paths = [value.path for value in (*self._now, *self._past)]
        return list(dict.fromkeys(spell(path[:length]) for path in paths for length in range(1, len(path) + 1)))

    def _blamed(self, values: Iterable[Value]) -> list[Blamed]:
        return [Blamed(each.field, self._teller.now(each), self._lines[each.path]) for each in values if each.is_leaf]


def _lines_of(text: str, cluster: Cluster) -> dict[Path, int]:
    """The line of each value in a rendered file."""
    (document,), _ = read(text, file="")
    return {value.path: value.tree.mark.line for value in values_of(document, cluster.target)}


class _Teller:
    """Tells the history of a value by the states of its object, from the base to the one before its last."""

    __slots__ = ("_beneath", "_causes", "_document", "_stages", "_states", "_variant")

    def __init__(self, variant: Variant, project: Project, cluster: Cluster, document: Document) -> None:
        self._variant = variant
        self._document = document
        self._causes = Causes(variant, project)
        found = [(stage, earlier) for stage in stages_of(variant, project, cluster) if (earlier := stage.counterpart(document))]
        self._stages = [stage for stage, _ in found]
        self._states = [_by_address(earlier, cluster) for _, earlier in found]
        below = beneath(found[0][1], found[0][0].documents, cluster) if found else None
        self._beneath = _by_address(below, cluster) if below else {}

    def now(self, value: Value) -> list[Origin]:
        """The history of a value that the object has."""
        return [self._origin(value, self._hash_in(value)), *self._before(value, 0 if value.is_name else len(self._states))]

    def gone(self, value: Value) -> list[Origin]:
        """The history of a value that the object has no more."""
        last = max(number for number, state in enumerate(self._states) if state.get(value.address) is value)
        return [self._removal(value, last + 1), self._origin(value), *self._before(value, last)]

    def past(self, present: set[Address]) -> list[Value]:
        """The latest state of each value whose address is not among those that are *present*, the ones around values included."""
        latest = {address: value for state in self._states for address, value in state.items()}
        return [each for each in latest.values() if each.is_leaf and not {each.address, each.joined_address} & present]

    def _before(self, value: Value, end: int) -> Iterator[Origin]:
        """What a value of the state number *end* overrode, the newest first."""
        current, present = value, True
        for number in reversed(range(end)):
            older = self._states[number].get(current.address) or _replaced_list(current, self._states[number])
            if older and not present:
                yield self._removal(older, number + 1)
            if older and (older.place != current.place or not present):
                yield self._origin(older)
            current, present = older or current, bool(older)
        inherited = self._beneath.get(current.address) or _replaced_list(current, self._beneath)
        if inherited and inherited.place != current.place and inherited.path[:2] == ("spec", "trainer"):
            yield Origin(inherited.field, inherited.tree.data(), inherited.tree.mark, layer=RUNTIME)

    def _origin(self, value: Value, more: Sequence[Cause] = ()) -> Origin:
        return Origin(value.field, value.tree.data(), value.tree.mark, [*self._causes.of(value.tree.mark), *more])

    def _hash_in(self, value: Value) -> list[Cause]:
        """The hash that a job's name ends in."""
        if value.path != ("metadata", "name") or not (self._variant.hashed and is_workload(self._document)):
            return []
        return [Cause("hash", "spec", spec_hash(self._document), self._document.marks.nearest(("spec",)).place())]

    def _removal(self, value: Value, number: int) -> Origin:
        """The removal of a value by the layer that makes the state *number*; the last one gives the job its name."""
        if number == len(self._stages):
            return Origin(value.field, None, self._variant.job_name.mark, removed=True)
        settings = self._stages[number].settings()
        nearest = max(settings, key=lambda each: (_in_common(each.address, value.names), each.value == "null"), default=None)
        mark = nearest.mark if nearest else value.tree.mark
        return Origin(value.field, None, mark, self._causes.of(mark), removed=True)


def _by_address(document: Document, cluster: Cluster) -> Mapping[Address, Value]:
    return {value.address: value for value in values_of(document, cluster.target)}


def _replaced_list(value: Value, state: Mapping[Address, Value]) -> Value | None:
    """The list that stands in another state in the place of the one around a value, None where that is the same or none."""
    for around in value.lists:
        older = state.get(around.address)
        if older and not older.is_leaf and older.place != around.place:
            return older
    return None


def _in_common(address: Sequence[object], names: Sequence[str]) -> int:
    """How many steps two addresses begin with in common."""
    length = 0
    while length < min(len(address), len(names)) and address[length] == names[length]:
        length += 1
    return length
