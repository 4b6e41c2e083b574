"""The variants of a project: each combination of a matrix with its base, overlays and names."""

from __future__ import annotations

from jobspec.diagnostics import Diagnostic, each_once, has_error
from jobspec.documents.marked_tree import MarkedTree, items
from jobspec.gitops.entries import overlays_of
from jobspec.gitops.history import History
from jobspec.gitops.layer import own_layer
from jobspec.gitops.matrix import LIMIT, combinations, filled_text, in_layer, matrix_mistakes, names_in, size_of
from jobspec.gitops.naming import label_of
from jobspec.gitops.project import field

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from jobspec.gitops.engines.declared import Engines
    from jobspec.gitops.matrix import Values
    from jobspec.gitops.project import Project
    from jobspec.gitops.sources import Base, Sources
    from jobspec.overlays.overlay import Overlay

    #: Overlays in order, and what is wrong with those that an entry names.
    NamedOverlays = tuple[list[Overlay], list[Diagnostic]]

_MAPS = ("flags", "labels", "annotations")
_LISTS = ("overlays", "resources")
_ENDS = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789")
_LONGEST = 200  # characters of a folder's name


class Variant:
    """One job to render: its base, and the overlays to apply, its own layer last."""

    __slots__ = ("base", "engines", "entry", "hashed", "history", "job_name", "name", "namespace", "overlays", "values")

    def __init__(
        self,
        name: str,
        base: Base,
        overlays: Sequence[Overlay],
        *,
        job_name: MarkedTree,
        namespace: MarkedTree | None,
        hashed: bool,
        entry: MarkedTree,
        values: Values,
        history: History | None,
        engines: Engines | None,
    ) -> None:
        self.name = name
        """Its name, which is that of its folder, too."""
        self.base = base
        self.overlays = overlays
        self.job_name = job_name
        """A DNS-1035 label of any length, marked where the project gives the name."""
        self.namespace = namespace
        """What is written into every object that has a namespace; None leaves them as they are."""
        self.hashed = hashed
        """Whether the job's name ends in a hash of its spec."""
        self.history = history
        """The earlier runs that stay; None where none do, and runs are not counted."""
        self.engines = engines
        """The engines whose annotations its objects carry."""
        self.entry = entry
        """What the project says of it, the defaults included; `${name}` stands for a value of the matrix."""
        self.values = values
        """The matrix's values of its combination."""

    def with_runs(self, files: Mapping[str, bytes]) -> Variant:
        """The same variant with the runs among the files of its folder, where earlier ones stay."""
        return self._changed(self.overlays, self.history.with_runs(files)) if self.history else self

    def with_overlays(self, overlays: Sequence[Overlay]) -> Variant:
        """The same variant with other overlays."""
        return self._changed(overlays, self.history)

    def _changed(self, overlays: Sequence[Overlay], history: History | None) -> Variant:
        return Variant(
            self.name,
            self.base,
            overlays,
            job_name=self.job_name,
            namespace=self.namespace,
            hashed=self.hashed,
            entry=self.entry,
            values=self.values,
            history=history,
            engines=self.engines,
        )


class Variants:
    """The variants of a project in the order of its file, and everything that is wrong with what it says."""

    __slots__ = ("diagnostics", "variants")

    def __init__(self, variants: Sequence[Variant], diagnostics: Sequence[Diagnostic]) -> None:
        self.variants = variants
        self.diagnostics = diagnostics


def variants_of(project: Project, sources: Sources) -> Variants:
    """The variants of a project. With an error among the diagnostics, those at fault are missing."""
    entries = [_with_defaults(entry, project.defaults) for entry in project.entries]
    problems = [*project.wrong_releases(), *_too_many(entries)]
    if problems:
        return Variants((), problems)
    found: list[Variant] = []
    for entry in entries:
        wrong = list(_entry_mistakes(entry, project))
        problems += wrong
        named = None if wrong else _same_overlays(entry, project, sources)
        for values in () if wrong else combinations(field(entry, "matrix"), project.spelled):
            made = _variant(entry, values, project, sources, named)
            if isinstance(made, Variant):
                found.append(made)
            else:
                problems += made
    return Variants(found, each_once([*problems, *_repeated(found)]))


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


def _same_overlays(entry: MarkedTree, project: Project, sources: Sources) -> NamedOverlays | None:
    """The overlays that an entry names, where they are the same for all its combinations."""
    named = entry.get("overlays")
    return None if named and any(names_in(named)) else overlays_of(items(named), {}, project.spelled, sources)


def _variant(
    entry: MarkedTree, values: Values, project: Project, sources: Sources, named: NamedOverlays | None
) -> Variant | list[Diagnostic]:
    """The variant of one combination, or what is wrong with it; *named* are its overlays where they are known."""
    said_name, said_base, said_namespace = entry.get("name"), entry.get("base"), entry.get("namespace")
    assert said_name and said_base
    name = str(filled_text(said_name, values).value)
    base = sources.base(filled_text(said_base, values))
    overlays, problems = named or overlays_of(items(entry.get("overlays")), values, project.spelled, sources)
    layer, mistakes = own_layer(entry, values, name, project.spelled)
    said_job_name = entry.get("jobName") or said_name
    history = entry.get("history")
    job_name = filled_text(said_job_name, values, name)
    label = label_of(job_name.value)
    problems = [*base.diagnostics, *problems, *mistakes, *_wrong_names(name, said_name, label, said_job_name)]
    if has_error(problems):
        return problems
    return Variant(
        name,
        base,
        [*overlays, *([layer] if layer else [])],
        job_name=job_name.with_value(label),
        namespace=filled_text(said_namespace, values, name) if said_namespace else None,
        hashed=_is_hashed(entry),
        history=History(MarkedTree(history.value, in_layer(history.mark, name), history.key)) if history and history.value else None,
        engines=project.engines,
        entry=entry,
        values=values,
    )


def _is_hashed(entry: MarkedTree) -> bool:
    naming = entry.get("naming")
    return not naming or naming.value == "hash"


def _wrong_names(name: str, place: MarkedTree, label: str, label_place: MarkedTree) -> Iterator[Diagnostic]:
    if len(name) > _LONGEST or not {name[:1], name[-1:]} <= _ENDS or set(name) - _ENDS - set("-_.") or name.endswith((".yaml", ".yml")):
        message = f"`{name}` cannot be the name of a folder on every machine"
        hint = f"write letters, digits, `-`, `_` and `.`, the first and last a letter or digit, {_LONGEST} at most, no `.yaml` at the end"
        yield Diagnostic("invalid-project", message, place.mark, hint=hint)
    if not label:
        yield Diagnostic("invalid-project", "no name of a job can be made of this", label_place.mark)


def _repeated(variants: Sequence[Variant]) -> Iterator[Diagnostic]:
    """An error for each variant with the name of an earlier one, upper and lower case being the same to some file systems.

    Of an entry whose combinations share names, one is enough.
    """
    seen: dict[str, Variant] = {}
    told: set[int] = set()
    for variant in variants:
        first = seen.setdefault(variant.name.lower(), variant)
        if first is variant or id(variant.entry) in told:
            continue
        place = variant.entry.value["name"].mark
        if first.entry is variant.entry:
            told.add(id(variant.entry))
            message = f"several combinations of the matrix would be the variant `{variant.name}`"
            yield Diagnostic("duplicate-variant", message, place, hint=_what_differs(first, variant))
        else:
            message = f"the variant `{variant.name}` stands twice; first in {first.entry.value['name'].mark}"
            yield Diagnostic("duplicate-variant", message, place, hint="give one of them another name")


def _what_differs(first: Variant, second: Variant) -> str:
    """How two combinations of one matrix get different names."""
    name = first.entry.value["name"].value
    differing = [f"${{{each}}}" for each, value in first.values.items() if value != second.values[each]]
    missing = [f"`{each}`" for each in differing if each not in name]
    return f"write {' and '.join(missing)} into the name" if missing else "the values have to differ in more than upper and lower case"
