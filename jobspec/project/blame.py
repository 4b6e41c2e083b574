"""Where the values of a rendered object come from: the place of each, and what it overrode.

A value's history is what the same value is in the variant without its later layers, from the whole variant back to its base.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import takewhile
from typing import Any, Literal

from jobspec.apis.kinds import TRAINJOB
from jobspec.apis.releases import Target
from jobspec.diagnostics.grouping import gathered
from jobspec.diagnostics.places import Key, Mark, Path, spell
from jobspec.documents.document import Document
from jobspec.documents.marked_tree import MarkedTree, items, with_marks
from jobspec.documents.reader import read
from jobspec.operators.trainer.runtimes import runtime_of
from jobspec.operators.training_roles import job_among
from jobspec.overlays.apply import apply, overlaid
from jobspec.overlays.flags import flags_of
from jobspec.overlays.load import LoadedOverlay
from jobspec.overlays.merge import OverlayValue, below, identity
from jobspec.project.matrix import filled_text, names_in
from jobspec.project.project import LoadedProject, field
from jobspec.project.rendering import in_namespace
from jobspec.project.variants import PlannedVariant, own_layer
from jobspec.schemas import shapes
from jobspec.schemas.shapes import Shape
from jobspec.world.world import Cluster

Kind = Literal["parameter", "matrix", "hash"]
#: A step has the key, or the keys of an item; of an item without keys, its name among others, the place of its list and a number.
Step = str | tuple[str, str, int]
Address = tuple[Step, ...]


RUNTIME = "runtime"  # the layer of what the runtime of a TrainJob has


@dataclass(frozen=True)
class Origin:
    """A value, or the removal of a field, and the place where it was written."""

    field: str
    """As messages spell it; the list around the field where that was replaced as a whole."""
    value: Any
    mark: Mark
    causes: Sequence[Cause] = ()
    """What the value is made of: parameters and values of the matrix, each followed by its own causes."""
    of_runtime: bool = False
    """Whether the runtime of a TrainJob says it."""
    removed: bool = False
    """Whether the field was removed there; it then has no value."""

    @property
    def layer(self) -> str:
        """Return the overlay, the variant, or the runtime of a TrainJob at the origin.

        For a base, return an empty string.
        """
        return RUNTIME if self.of_runtime else self.mark.layer


@dataclass(frozen=True, slots=True)
class Blamed:
    """A field and its history, the newest first: its value, and each overridden value."""

    field: str
    history: Sequence[Origin]
    line: int = 0
    """Its line in the rendered file; 0 where it is there no more."""

    @property
    def origin(self) -> Origin:
        """Return the present value of the field, or its removal."""
        return self.history[0]


class Blame:
    """The fields of a rendered object, removed ones included."""

    def __init__(
        self,
        variant: PlannedVariant,
        project: LoadedProject,
        cluster: Cluster,
        document: Document,
        text: str,
        stages: Sequence[Stage] | None = None,
    ) -> None:
        """*text*: the text of the rendered file; *stages*: the variant's stages, if already made."""
        stages = stages_of(variant, project, cluster) if stages is None else stages
        self._histories = _HistoryReader(variant, project, cluster, document, stages)
        (rendered,), _ = read(text, file="")
        self._lines = {value.path: value.tree.mark.line for value in values_of(rendered, cluster.target)}
        self._now = sorted(values_of(document, cluster.target), key=lambda each: self._lines[each.path])
        self._past = self._histories.past({each.address[:length] for each in self._now for length in range(len(each.address) + 1)})

    def fields(self) -> list[Blamed]:
        """Return every field that has a value, in the order of the file."""
        return self._blamed(self._now)

    def at(self, field: str) -> list[Blamed]:
        """Return the fields at or below a *field* as messages spell it, removed ones included.

        If there is no such field, *field* may be the end of a path. A value of a list that was replaced as a whole is shown only if there
        is no other field.
        """
        anywhere = not any(each.matches(field) for each in (*self._now, *self._past))
        found = self._blamed(each for each in self._now if each.matches(field, anywhere=anywhere))
        now = {value.address: value for value in self._now}
        gone = [each for each in self._past if each.matches(field, anywhere=anywhere) and not (found and _replaced_list(each, now))]
        return [*found, *(Blamed(each.lasting_field, self._histories.gone(each)) for each in gone)]

    def names(self) -> list[str]:
        """Return the names of all fields, also of fields with fields inside."""
        paths = [value.path for value in (*self._now, *self._past)]
        return list(dict.fromkeys(spell(path[:length]) for path in paths for length in range(1, len(path) + 1)))

    def _blamed(self, values: Iterable[Value]) -> list[Blamed]:
        return [Blamed(each.field, self._histories.now(each), self._lines[each.path]) for each in values if each.is_leaf]


class _HistoryReader:
    """A finder of a value's history in the states of its object, except the last one."""

    def __init__(
        self, variant: PlannedVariant, project: LoadedProject, cluster: Cluster, document: Document, stages: Sequence[Stage]
    ) -> None:
        self._variant = variant
        self._document = document
        self._causes = Causes(variant, project)
        found = [(stage, earlier) for stage in stages if (earlier := stage.counterpart(document))]
        self._stages = [stage for stage, _ in found]
        self._states = [stage.values(earlier) for stage, earlier in found]
        overridden = beneath(found[0][1], found[0][0].documents, cluster) if found else None
        self._beneath = _by_address(overridden, cluster) if overridden else {}

    def now(self, value: Value) -> list[Origin]:
        """Return the history of a value that the object has."""
        return [self._origin(value, self._hash_in(value)), *self._before(value, 0 if value.is_name else len(self._states))]

    def gone(self, value: Value) -> list[Origin]:
        """Return the history of a value that a layer removed."""
        last = max(number for number, state in enumerate(self._states) if state.get(value.address) is value)
        return [self._removal(value, last + 1), self._origin(value), *self._before(value, last)]

    def past(self, present: set[Address]) -> list[Value]:
        """Return the latest state of each value whose address is not *present*.

        Values around other values count as present, too.
        """
        latest = {address: value for state in self._states for address, value in state.items()}
        return [each for each in latest.values() if each.is_leaf and not {each.address, each.joined_address} & present]

    def _before(self, value: Value, end: int) -> Iterator[Origin]:
        """Yield the values that a value of the state number *end* overrode, the newest first."""
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
            yield Origin(inherited.field, inherited.tree.data(), inherited.tree.mark, of_runtime=True)

    def _origin(self, value: Value, more: Sequence[Cause] = ()) -> Origin:
        return Origin(value.field, value.tree.data(), value.tree.mark, [*self._causes.of(value.tree.mark), *more])

    def _hash_in(self, value: Value) -> list[Cause]:
        """Return the hash at the end of a job's name.

        It was made of quantities as they are written.
        """
        if value.path != ("metadata", "name") or not (self._variant.hashed and self._variant.base.is_job(self._document)):
            return []
        return [Cause("hash", "spec", self._document.name.rpartition("-")[2], self._document.marks.nearest(("spec",)).place())]

    def _removal(self, value: Value, number: int) -> Origin:
        """Return the removal of a value by the layer that makes the state *number*.

        The last layer gives the job its name.
        """
        if number == len(self._stages):
            return Origin(value.field, None, self._variant.job_name.mark, removed=True)
        settings = self._stages[number].settings()
        nearest = max(settings, key=lambda each: (_in_common(each.address, value.names), each.value == "null"), default=None)
        mark = nearest.mark if nearest else value.tree.mark
        return Origin(value.field, None, mark, self._causes.of(mark), removed=True)


def _by_address(document: Document, cluster: Cluster) -> Mapping[Address, Value]:
    return {value.address: value for value in values_of(document, cluster.target)}


def _replaced_list(value: Value, state: Mapping[Address, Value]) -> Value | None:
    """Return the list of another state in the place of the list around a value.

    If that is the same list, or there is none, return None.
    """
    for around in value.lists:
        older = state.get(around.address)
        if older and not older.is_leaf and older.place != around.place:
            return older
    return None


def _in_common(address: Sequence[object], names: Sequence[str]) -> int:
    """How many steps two addresses begin with in common."""
    return sum(1 for _ in takewhile(lambda steps: steps[0] == steps[1], zip(address, names, strict=False)))


# The causes of a text with `${name}`: the values of parameters and of the matrix.


@dataclass(frozen=True, slots=True)
class Cause:
    """A value that another value is made of."""

    kind: Kind
    name: str
    """Of the parameter, of the matrix's values, or of the field that is hashed."""
    value: object
    mark: Mark
    """Where it is given: in the project, or as a default in the overlay; of a hash the field itself."""

    @property
    def label(self) -> str:
        """Return the name of the cause in reports."""
        return f"hash of {self.name}" if self.kind == "hash" else f"${{{self.name}}}"


class Causes:
    """The causes of the values of one variant."""

    def __init__(self, variant: PlannedVariant, project: LoadedProject) -> None:
        matrix = _matrix_causes(variant, project)
        trees = [(_without_key(tree, "matrix"), matrix) for tree in (variant.entry, project.defaults) if tree]
        trees += [(_without_key(overlay.spec, "parameters"), _parameter_causes(overlay)) for overlay in variant.overlays]
        named = ((str(mark), (name, causes[name])) for tree, causes in trees for name, mark in names_in(tree) if name in causes)
        self._found = {place: list(dict(several).values()) for place, several in gathered(named).items()}
        """The causes of each text and key that has any, by its place."""

    def of(self, mark: Mark) -> list[Cause]:
        """Return the causes of the value at a place, and the causes of these."""
        return [cause for each in self._found.get(str(mark), ()) for cause in (each, *self.of(each.mark))]


def _without_key(tree: MarkedTree, name: str) -> MarkedTree:
    return tree.with_value({key: child for key, child in tree.value.items() if key != name})


def _matrix_causes(variant: PlannedVariant, project: LoadedProject) -> dict[str, Cause]:
    """The matrix's values of a variant, each where the matrix lists it."""
    matrix = variant.entry.get("matrix")
    return {
        name: Cause("matrix", name, variant.values[name], each.mark)
        for name, listed in (matrix.value.items() if matrix and matrix.value else ())
        for each in reversed(listed.value)
        if (each.value if isinstance(each.value, bool) else project.spelled(each)) == variant.values[name]
    }


def _parameter_causes(overlay: LoadedOverlay) -> dict[str, Cause]:
    """Return the values of an overlay's parameters, with the places of the values.

    A parameter without a value is left out.
    """
    defaults = {name: each.get("default") for name, each in overlay.spec.entries("parameters")}
    places = {**{name: default.mark for name, default in defaults.items() if default}, **overlay.given}
    return {name: Cause("parameter", name, overlay.values[name], mark) for name, mark in places.items()}


# The stages of a variant: what it would render to with its first layers only.


class Stage:
    """The documents of a variant with some of its layers."""

    def __init__(
        self, before: Sequence[Document], overlays: Sequence[LoadedOverlay], documents: Sequence[Document], cluster: Cluster
    ) -> None:
        self._before = before
        self._overlays = overlays
        self._cluster = cluster
        self.values: Callable[[Document], Mapping[Address, Value]] = cache(lambda document: _by_address(document, cluster))
        """The values of one of its documents, by their addresses."""
        self.documents = documents
        """Its objects. A layer is applied as far as it can be without a role or a container that a later layer brings."""

    def settings(self) -> Sequence[OverlayValue]:
        """Return what the last layer of the stage sets and removes in the job."""
        job = job_among(self._before)
        assert job
        return overlaid(job, [*self._before, *self._cluster.lookups], self._overlays, self._cluster.target).settings

    def counterpart(self, document: Document) -> Document | None:
        """Return the document of this stage that later layers make into *document*.

        That is the job, or else the object of the same kind and name.
        """
        job = job_among(self.documents)
        if job and (job.api_version, job.kind) == (document.api_version, document.kind):
            return job
        identity = document.group_kind, document.name
        return next((each for each in self.documents if (each.group_kind, each.name) == identity), None)


def stages_of(
    variant: PlannedVariant, project: LoadedProject, cluster: Cluster, known: dict[int, Sequence[Stage]] | None = None
) -> list[Stage]:
    """Return the stages of a variant, each with one more layer than the one before.

    The first stage is the base alone, the second the base in the namespace of the defaults. The further stages are in the variant's own
    namespace, with one overlay more each. The layer of the defaults comes before the variant's own layer. The last stage does not have
    the job's name yet. *known* keeps the stages of overlays that variants share.
    """
    base = variant.base.documents
    inside = [in_namespace(each, variant.namespace) for each in base]
    said = field(project.defaults, "namespace")
    by_default = filled_text(said, variant.values, variant.name) if said else None
    stages = [Stage(inside, (), [in_namespace(each, namespace) for each in base], cluster) for namespace in (None, by_default)]
    shared = variant.shared
    if known is not None and shared and id(shared) in known:
        stages = list(known[id(shared)])
    applied = (
        shared.applied(lambda overlays: apply(inside, overlays, cluster.target, cluster.lookups)) if len(stages) > 2 and shared else None
    )
    applied = applied or apply(inside, (), cluster.target, cluster.lookups)
    for number, overlay in enumerate(variant.overlays[len(stages) - 2 :], len(stages) - 2):
        before = variant.overlays[:number]
        if overlay.name == variant.name and number == len(variant.overlays) - 1 and project.defaults:
            layer, _ = own_layer(project.defaults, variant.values, variant.name, project.spelled)
            if layer:
                stages.append(Stage(inside, [*before, layer], applied.with_overlay(layer).documents, cluster))
        applied = applied.with_overlay(overlay)
        stages.append(Stage(inside, [*before, overlay], applied.documents, cluster))
        if known is not None and shared and number == len(shared.overlays) - 1:
            known[id(shared)] = list(stages)
    return stages


def beneath(job: Document, context: Sequence[Document], cluster: Cluster) -> Document | None:
    """Return the fields of the runtime's training container that `spec.trainer` overrides.

    For other kinds than TrainJob, return None. The runtime is looked for in *context* and among the shipped ones.
    """
    if job.group_kind != TRAINJOB:
        return None
    from jobspec.overlays.trainjob import TRAINER_FIELD, JobRuntime

    runtime = JobRuntime(job, runtime_of(job, [*context, *cluster.lookups], cluster.target), cluster.target["trainer"])
    container = runtime.training_container()
    if container is None:
        return None
    fields = {TRAINER_FIELD[name]: child for name, child in container.value.items() if name in TRAINER_FIELD}
    tree = with_marks(job.data, job.marks)
    kind = {name: tree.value[name] for name in ("apiVersion", "kind")}
    inside = tree.with_value({**kind, "spec": tree.with_value({"trainer": container.with_value(fields)})})
    return Document(inside.data(), inside.marks, file=job.file)


# The values of an object, each with an address at which the same value stands in an earlier state of the object.
#
# An item of a list with merge keys is named by its keys, a word of a program's arguments by its flag, and an item of any other list by the
# place where it was written; the last two hold as long as nobody replaces the list as a whole.


@dataclass(frozen=True, slots=True)
class Value:
    """A scalar, an empty mapping or list, or a list that can only be replaced as a whole."""

    path: Path
    address: Address
    tree: MarkedTree
    lists: Sequence[Value]
    """The lists around it that can only be replaced as a whole, the outermost first."""

    @property
    def is_leaf(self) -> bool:
        """True if no value is inside this one."""
        return not self.tree.value or not isinstance(self.tree.value, (dict, list))

    @property
    def is_name(self) -> bool:
        """True if the value is the name of a flag. Only the flag's value can be overridden."""
        return bool(self.address) and not isinstance(self.address[-1], str) and self.tree.value == self.names[-1]

    @property
    def joined_address(self) -> Address:
        """Return the address of a flag's name together with the flag's value.

        For other values, return their own address.
        """
        step = self.address[-1] if self.is_name else ""
        return self.address if isinstance(step, str) else (*self.address[:-1], (step[0], step[1], step[2] + 1))

    @property
    def field(self) -> str:
        """Return the path of the value as messages spell it."""
        return spell(self.path)

    @property
    def lasting_field(self) -> str:
        """Return the path with names of items instead of numbers.

        Numbers change when an item is removed.
        """
        steps = zip(self.path, self.address, self.names, strict=True)
        return spell(tuple(Key(name) if type(step) is int and (type(key) is str or name[0] == "-") else step for step, key, name in steps))

    @property
    def place(self) -> str:
        """Return the place where the value was written, as text."""
        return str(self.tree.mark)

    @property
    def names(self) -> list[str]:
        """Return the steps of the value's address as text."""
        return [step if isinstance(step, str) else step[0] for step in self.address]

    def matches(self, field: str, *, anywhere: bool = False) -> bool:
        """True if a field is this value or a value around it.

        Brackets and dots mean the same. Keys or a flag identify an item, too. *anywhere*: the field is the end of a path, such as
        `args[--lr]`.
        """
        rest = field.replace("[", ".").replace("]", "").lstrip(".")
        steps = list(zip(map(str, self.path), self.names, strict=True))
        return any(_leads_to(rest, steps[start:]) for start in (range(len(steps)) if anywhere else (0,)))


def _leads_to(rest: str, steps: Sequence[tuple[str, str]]) -> bool:
    """True if the steps to a value begin with the spelt ones, by number or by name."""
    for step, name in steps:
        found = next((each for each in (name, step) if f"{rest}.".startswith(f"{each}.")), None)
        if not rest or found is None:
            return not rest
        rest = rest[len(found) + 1 :]
    return not rest


def values_of(document: Document, target: Target) -> list[Value]:
    """Return the values of an object."""
    shape = shapes.load(document.api_version, document.kind, target)
    return list(_values_below(Value((), (), with_marks(document.data, document.marks), ()), shape))


def _values_below(here: Value, shape: Shape | None) -> Iterator[Value]:
    tree = here.tree
    if here.is_leaf:
        yield here
    elif isinstance(tree.value, dict):
        for name, child in tree.value.items():
            part, inner = below(shape, name)
            yield from _values_below(Value((*here.path, part), (*here.address, name), child, here.lists), inner)
    else:
        keys = [identity(item, shape) for item in items(tree)] if shape and shape.merge else []
        lists = here.lists
        if not keys or None in keys or len(set(keys)) < len(keys):
            yield here
            keys, lists = [], (*here.lists, here)
        steps: Sequence[Step] = [",".join(key) for key in keys if key] or list(_steps_without_keys(here))
        for number, (item, step) in enumerate(zip(items(tree), steps, strict=True)):
            yield from _values_below(Value((*here.path, number), (*here.address, step), item, lists), shape.items if shape else None)


def _steps_without_keys(here: Value) -> Iterator[tuple[str, str, int]]:
    """The steps to the items of a list without keys."""
    seen: Counter[tuple[str, bool]] = Counter()
    words = items(here.tree)
    is_program = here.path[-1] in ("args", "command") and not any(isinstance(word.value, (dict, list)) for word in words)
    for word, flag in zip(words, flags_of(words) if is_program else [None] * len(words), strict=True):
        name = flag or (str(word.mark), False)
        yield name[0], here.place, 2 * seen[name] + name[1]
        seen[name] += 1
