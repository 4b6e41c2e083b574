"""The combinations of a project's matrices: each is a variant by name, before its base is read and its own layer made."""

from __future__ import annotations

from jobspec.diagnostics import Diagnostic
from jobspec.documents.marked_tree import items
from jobspec.gitops.entries import overlays_of
from jobspec.gitops.matrix import LIMIT, combinations, filled_text, matrix_mistakes, names_in, size_of
from jobspec.gitops.project import field

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from jobspec.documents.marked_tree import MarkedTree
    from jobspec.gitops.matrix import Values
    from jobspec.gitops.project import Project
    from jobspec.gitops.sources import Sources
    from jobspec.overlays.apply import Applied
    from jobspec.overlays.overlay import Overlay

_MAPS = ("flags", "labels", "annotations")
_LISTS = ("overlays", "resources")


class SharedOverlays:
    """The overlays that an entry names, where they are the same for all its combinations."""

    __slots__ = ("_applied", "has_one_base", "overlays", "problems")

    def __init__(self, overlays: Sequence[Overlay], problems: Sequence[Diagnostic], *, has_one_base: bool) -> None:
        self.overlays = overlays
        self.problems = problems
        """What is wrong with the overlays."""
        self.has_one_base = has_one_base
        """Whether several combinations have one base in one namespace."""
        self._applied: Applied | None = None

    def applied(self, apply: Callable[[Sequence[Overlay]], Applied]) -> Applied:
        """The overlays applied to this base: *apply* does so for the first combination, and the others share the result."""
        if self._applied is None:
            self._applied = apply(self.overlays)
        return self._applied


class Combination:
    """An entry of a project with one combination of its matrix's values."""

    __slots__ = ("entry", "name", "overlays", "values")

    def __init__(self, entry: MarkedTree, values: Values, overlays: SharedOverlays | None) -> None:
        self.entry = entry
        """What the project says of the variant, the defaults included; `${name}` stands for a value of the matrix."""
        self.values = values
        self.overlays = overlays
        """The overlays that the entry names, where they are the same for all its combinations."""
        self.name = str(filled_text(entry.value["name"], values).value)
        """The variant's name, which is that of its folder, too."""

    @property
    def hashed(self) -> bool:
        """Whether the job's name ends in a hash of its spec."""
        return _is_hashed(self.entry)

    @property
    def keeps_runs(self) -> bool:
        """Whether earlier runs stay."""
        history = self.entry.get("history")
        return bool(history and history.value)


class Combinations:
    """The combinations of a project in the order of its file, and what is wrong with the entries and names."""

    __slots__ = ("combinations", "diagnostics")

    def __init__(self, combinations: Sequence[Combination], diagnostics: Sequence[Diagnostic]) -> None:
        self.combinations = combinations
        self.diagnostics = diagnostics


def combinations_of(project: Project, sources: Sources) -> Combinations:
    """The combinations of a project; none of an entry with a mistake, and none at all where they are too many."""
    entries = [_with_defaults(entry, project.defaults) for entry in project.entries]
    problems = [*project.wrong_releases(), *_too_many(entries)]
    if problems:
        return Combinations((), problems)
    found: list[Combination] = []
    for entry in entries:
        wrong = list(_entry_mistakes(entry, project))
        problems += wrong
        if not wrong:
            overlays = _shared_overlays(entry, project, sources)
            found += [Combination(entry, values, overlays) for values in combinations(field(entry, "matrix"), project.spelled)]
    return Combinations(found, [*problems, *_repeated(found)])


def _with_defaults(entry: MarkedTree, defaults: MarkedTree | None) -> MarkedTree:
    """A variant with what the defaults add: keys of mappings that it does not set, overlays and companions before its own, other fields."""
    fields = {name: value for name, value in entry.value.items() if value.value is not None}
    for name, value in defaults.value.items() if defaults else ():
        own = fields.get(name)
        if value.value is None:
            continue
        if own and name in _MAPS:
            fields[name] = own.with_value({**value.value, **own.value})
        elif own and name in _LISTS:
            fields[name] = own.with_value([*value.value, *own.value])
        else:
            fields[name] = own or value
    return entry.with_value(fields)


def _too_many(entries: Sequence[MarkedTree]) -> Iterator[Diagnostic]:
    """An error where the combinations become more than the limit, before any is made."""
    total = 0
    for entry in entries:
        matrix = entry.get("matrix")
        total += size_of(matrix)
        if total > LIMIT:
            message = f"the project has {total:,} variants up to here, more than the {LIMIT:,} that jobspec renders"
            yield Diagnostic("invalid-project", message, (matrix or entry).place(), hint="split the project, or shorten the matrix")
            return


def _entry_mistakes(entry: MarkedTree, project: Project) -> Iterator[Diagnostic]:
    parts = [value for name, value in entry.value.items() if name not in ("matrix", "naming")]
    yield from matrix_mistakes(entry.get("matrix"), parts, project.spelled)
    if not entry.get("base"):
        message = "the variant has no base"
        yield Diagnostic("wrong-base", message, entry.mark, hint="write `base: PATH`, here or in the defaults")
    history = entry.get("history")
    if history and history.value and not _is_hashed(entry):
        message = f"the job of `{entry.value['name'].value}` has a fixed name, so that no earlier run of it can stay"
        yield Diagnostic("invalid-project", message, history.mark, hint="write `history: 0` in the variant, or leave out `naming: fixed`")


def _is_hashed(entry: MarkedTree) -> bool:
    naming = entry.get("naming")
    return not naming or naming.value == "hash"


def _shared_overlays(entry: MarkedTree, project: Project, sources: Sources) -> SharedOverlays | None:
    """The overlays that an entry names, where they are the same for all its combinations."""
    named = entry.get("overlays")
    if named and any(names_in(named)):
        return None
    overlays, problems = overlays_of(items(named), {}, project.spelled, sources)
    places = [each for each in (entry.get("base"), entry.get("namespace")) if each]
    has_one_base = size_of(entry.get("matrix")) > 1 and not any(any(names_in(each)) for each in places)
    return SharedOverlays(overlays, problems, has_one_base=has_one_base)


def _repeated(found: Sequence[Combination]) -> Iterator[Diagnostic]:
    """An error for each variant with the name of an earlier one, upper and lower case being the same to some file systems.

    Of an entry whose combinations share names, one is enough.
    """
    seen: dict[str, Combination] = {}
    told: set[int] = set()
    for each in found:
        first = seen.setdefault(each.name.lower(), each)
        if first is each or id(each.entry) in told:
            continue
        place = each.entry.value["name"].mark
        if first.entry is each.entry:
            told.add(id(each.entry))
            message = f"several combinations of the matrix would be the variant `{each.name}`"
            yield Diagnostic("duplicate-variant", message, place, hint=_what_differs(first, each))
        else:
            message = f"the variant `{each.name}` stands twice; first in {first.entry.value['name'].mark}"
            yield Diagnostic("duplicate-variant", message, place, hint="give one of them another name")


def _what_differs(first: Combination, second: Combination) -> str:
    """How two combinations of one matrix get different names."""
    name = first.entry.value["name"].value
    differing = [f"${{{each}}}" for each, value in first.values.items() if value != second.values[each]]
    missing = [f"`{each}`" for each in differing if each not in name]
    return f"write {' and '.join(missing)} into the name" if missing else "the values have to differ in more than upper and lower case"
