"""The variants of a project: each combination of a matrix with its base, its overlays, its own layer, and its earlier runs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, replace

from jobspec.apis import kinds
from jobspec.diagnostics.causes import deduplicated
from jobspec.diagnostics.diagnostic import Diagnostic, has_error
from jobspec.diagnostics.places import value_at
from jobspec.diagnostics.wording import as_text
from jobspec.documents.document import Document
from jobspec.documents.marked_tree import MarkedTree, items
from jobspec.documents.reader import read
from jobspec.operators.workloads import OVERLAID_KINDS, QUEUE, may_take_overlays
from jobspec.overlays.apply import Applied
from jobspec.overlays.load import LoadedOverlay, ParameterValue, check_overlay, has_dollar, parameter_values
from jobspec.project.matrix import (
    LIMIT,
    Spelling,
    Values,
    combinations,
    filled,
    filled_text,
    in_layer,
    label_of,
    matrix_mistakes,
    names_in,
    size_of,
)
from jobspec.project.project import Base, EngineSettings, LoadedProject, Sources, field

_ENDS = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789")
_LONGEST = 200  # characters of a folder's name
#: The kinds that go on under their name: a change updates them, and is no new run unless the project says `naming: hash`.
_UPDATED = (kinds.CRON_JOB, kinds.RAY_CLUSTER, kinds.RAY_SERVICE, kinds.RAY_CRON_JOB, kinds.LEADER_WORKER_SET)
_FILES_OF_JOBS = tuple(f"{kind.lower()}-" for _, kind in OVERLAID_KINDS)


@dataclass(frozen=True, slots=True)
class PlannedVariant:
    """One job to render: its base, and the overlays to apply, its own layer last."""

    name: str
    """Its name, which is that of its folder, too."""
    base: Base
    overlays: Sequence[LoadedOverlay]
    _: KW_ONLY
    job_name: MarkedTree
    """A DNS-1035 label of any length, marked where the project gives the name."""
    namespace: MarkedTree | None
    """What is written into every object that has a namespace; None leaves them as they are."""
    hashed: bool
    """Whether the job's name ends in a hash of its spec."""
    is_updated: bool
    """True if a change updates the job under its name, and is no new run.

        That holds for a RayCluster or a CronJob, for example.
        """
    entry: MarkedTree
    """What the project says of it, the defaults included; `${name}` stands for a value of the matrix."""
    values: Values
    """The matrix's values of its combination."""
    history: History | None
    """The earlier runs that stay; None where none do, and runs are not counted."""
    engines: EngineSettings | None
    """The engines whose annotations its objects carry."""
    shared: SharedOverlays | None
    """The first of the overlays, where they are applied once for several variants of the base."""
    cluster: str = ""
    """The path of the cluster that it meets; empty for the project's."""

    def with_runs(self, files: Mapping[str, bytes]) -> PlannedVariant:
        """Return the variant with the runs among the files of its folder, if earlier runs stay."""
        return replace(self, history=self.history.with_runs(files)) if self.history else self


def variants_of(project: LoadedProject, sources: Sources) -> tuple[list[PlannedVariant], list[Diagnostic]]:
    """Return the variants of a project, and the problems of their entries.

    A variant with an error is missing.
    """
    found, problems = combinations_of(project, sources)
    made, wrong = variants_from(found, project, sources)
    return made, [*problems, *wrong]


def variants_from(
    combinations: Sequence[Combination], project: LoadedProject, sources: Sources
) -> tuple[list[PlannedVariant], list[Diagnostic]]:
    """Return the variants of some combinations, and the problems of the combinations."""
    made = [variant_of(each, project, sources) for each in combinations]
    wrong = deduplicated(problem for each in made if isinstance(each, list) for problem in each)
    return [each for each in made if not isinstance(each, list)], wrong


def variant_of(combination: Combination, project: LoadedProject, sources: Sources) -> PlannedVariant | list[Diagnostic]:
    """Return the variant of one combination, or the problems of the combination."""
    sources = sources.of(combination.cluster)
    entry, values, name = combination.entry, combination.values, combination.name
    said_name, said_base, said_namespace = entry.get("name"), entry.get("base"), entry.get("namespace")
    assert said_name and said_base
    base = sources.base(filled_text(said_base, values))
    shared = combination.overlays
    overlays, problems = (
        (shared.overlays, shared.problems) if shared else overlays_of(items(entry.get("overlays")), values, project.spelled, sources)
    )
    layer, mistakes = own_layer(entry, values, name, project.spelled)
    said_job_name = entry.get("jobName") or said_name
    history = entry.get("history")
    job_name = filled_text(said_job_name, values, name)
    label = label_of(job_name.value)
    is_updated = any(base.is_job(each) and each.group_kind in _UPDATED for each in base.documents)
    problems = [*base.diagnostics, *problems, *mistakes, *_wrong_names(name, said_name, label, said_job_name)]
    if has_error(problems):
        return problems
    return PlannedVariant(
        name,
        base,
        [*overlays, *([layer] if layer else [])],
        job_name=job_name.with_value(label),
        namespace=filled_text(said_namespace, values, name) if said_namespace else None,
        hashed=combination.hashed and (bool(entry.get("naming")) or not is_updated),
        is_updated=is_updated,
        history=History(MarkedTree(history.value, in_layer(history.mark, name), history.key))
        if history and combination.keeps_runs
        else None,
        engines=project.engines,
        entry=entry,
        values=values,
        shared=shared if shared and shared.has_one_base else None,
        cluster=combination.cluster,
    )


def _wrong_names(name: str, place: MarkedTree, label: str, label_place: MarkedTree) -> Iterator[Diagnostic]:
    if len(name) > _LONGEST or not {name[:1], name[-1:]} <= _ENDS or set(name) - _ENDS - set("-_.") or name.endswith((".yaml", ".yml")):
        message = f"`{name}` cannot be the name of a folder on every machine"
        hint = f"write letters, digits, `-`, `_` and `.`, the first and last a letter or digit, {_LONGEST} at most, no `.yaml` at the end"
        yield Diagnostic("invalid-project", message, place.mark, hint=hint)
    if not label:
        yield Diagnostic("invalid-project", "no valid job name can be derived from this", label_place.mark)


# The combinations of a project's matrices: each is a variant by name, before its base is read and its own layer made.


_MAPS = ("flags", "labels", "annotations")
_LISTS = ("overlays", "resources")


class SharedOverlays:
    """The overlays that an entry names, if they are the same for all its combinations."""

    def __init__(self, overlays: Sequence[LoadedOverlay], problems: Sequence[Diagnostic], *, has_one_base: bool) -> None:
        self.overlays = overlays
        self.problems = problems
        """What is wrong with the overlays."""
        self.has_one_base = has_one_base
        """Whether several combinations have one base in one namespace."""
        self._applied: Applied | None = None

    def applied(self, apply: Callable[[Sequence[LoadedOverlay]], Applied]) -> Applied:
        """Return the overlays applied to this base.

        *apply* applies them for the first combination; the other combinations share the result.
        """
        if self._applied is None:
            self._applied = apply(self.overlays)
        return self._applied


class Combination:
    """An entry of a project with one combination of its matrix's values."""

    __slots__ = ("cluster", "entry", "name", "overlays", "values")

    def __init__(self, entry: MarkedTree, values: Values, overlays: SharedOverlays | None) -> None:
        self.entry = entry
        """What the project says of the variant, the defaults included; `${name}` stands for a value of the matrix."""
        self.values = values
        self.overlays = overlays
        """The overlays that the entry names, where they are the same for all its combinations."""
        self.name = str(filled_text(entry.value["name"], values).value)
        """The variant's name, which is that of its folder, too."""
        cluster = entry.value.get("cluster")
        self.cluster = str(filled_text(cluster, values).value) if cluster else ""
        """The path of the cluster that it meets; empty for the project's."""

    @property
    def hashed(self) -> bool:
        """True if the job's name ends in a hash of its spec."""
        return _is_hashed(self.entry)

    @property
    def keeps_runs(self) -> bool:
        """True if earlier runs stay."""
        history = self.entry.get("history")
        return bool(history and history.value)


def combinations_of(project: LoadedProject, sources: Sources) -> tuple[list[Combination], list[Diagnostic]]:
    """Return the combinations of a project in file order, and problems of entries and names.

    An entry with a mistake has no combinations. If there are too many, there are none at all.
    """
    entries = [_with_defaults(entry, project.defaults) for entry in project.entries]
    problems = list(_too_many(entries))
    if problems:
        return [], problems
    found: list[Combination] = []
    for entry in entries:
        wrong = list(_entry_mistakes(entry, project))
        problems += wrong
        if not wrong:
            overlays = _shared_overlays(entry, project, sources)
            found += [Combination(entry, values, overlays) for values in combinations(field(entry, "matrix"), project.spelled)]
    return found, [*problems, *_repeated(found)]


def _with_defaults(entry: MarkedTree, defaults: MarkedTree | None) -> MarkedTree:
    """Add the defaults to a variant.

    They add keys that a mapping does not set, overlays and companions before the variant's own, and other absent fields.
    """
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


def _entry_mistakes(entry: MarkedTree, project: LoadedProject) -> Iterator[Diagnostic]:
    parts = [value for name, value in entry.value.items() if name not in ("matrix", "naming")]
    yield from matrix_mistakes(entry.get("matrix"), parts, project.spelled)
    if not entry.get("base"):
        message = "the variant has no base"
        yield Diagnostic("wrong-base", message, entry.mark, hint="write `base: PATH`, here or in the defaults")
    history = entry.get("history")
    if history and history.value and not _is_hashed(entry):
        message = f"the job of `{entry.value['name'].value}` has a fixed name: it cannot keep earlier runs"
        yield Diagnostic("invalid-project", message, history.mark, hint="write `history: 0` in the variant, or remove `naming: fixed`")


def _is_hashed(entry: MarkedTree) -> bool:
    naming = entry.get("naming")
    return not naming or naming.value == "hash"


def _shared_overlays(entry: MarkedTree, project: LoadedProject, sources: Sources) -> SharedOverlays | None:
    """The overlays that an entry names, where they are the same for all its combinations."""
    named, cluster = entry.get("overlays"), entry.get("cluster")
    if any(any(names_in(each)) for each in (named, cluster) if each):
        return None
    sources = sources.of(str(cluster.value)) if cluster else sources
    overlays, problems = overlays_of(items(named), {}, project.spelled, sources)
    places = [each for each in (entry.get("base"), entry.get("namespace")) if each]
    has_one_base = size_of(entry.get("matrix")) > 1 and not any(any(names_in(each)) for each in places)
    return SharedOverlays(overlays, problems, has_one_base=has_one_base)


def _repeated(found: Sequence[Combination]) -> Iterator[Diagnostic]:
    """Yield an error for each variant with the name of an earlier one.

    Case does not count, as for some file systems. If combinations of an entry share names, one error is enough.
    """
    seen: dict[str, Combination] = {}
    reported: set[int] = set()
    for each in found:
        first = seen.setdefault(each.name.lower(), each)
        if first is each or id(each.entry) in reported:
            continue
        place = each.entry.value["name"].mark
        if first.entry is each.entry:
            reported.add(id(each.entry))
            message = f"several combinations of the matrix would be the variant `{each.name}`"
            yield Diagnostic("duplicate-variant", message, place, hint=_what_differs(first, each))
        else:
            message = f"duplicate variant `{each.name}`; first in {first.entry.value['name'].mark}"
            yield Diagnostic("duplicate-variant", message, place, hint="rename one of them")


def _what_differs(first: Combination, second: Combination) -> str:
    """The hint for two combinations of one matrix with the same name."""
    name = first.entry.value["name"].value
    differing = [f"${{{each}}}" for each, value in first.values.items() if value != second.values[each]]
    missing = [f"`{each}`" for each in differing if each not in name]
    return f"write {' and '.join(missing)} into the name" if missing else "the values must differ in more than upper and lower case"


# The overlays that a variant names, with the values that it gives to their parameters.


def overlays_of(
    entries: Sequence[MarkedTree], values: Values, spelled: Spelling, sources: Sources
) -> tuple[list[LoadedOverlay], list[Diagnostic]]:
    """Load the overlays of a variant's *entries*, in order, and return their problems.

    If an overlay is named twice, the later entry counts.
    """
    found: dict[str, LoadedOverlay] = {}
    problems: list[Diagnostic] = []
    for entry in entries:
        named = _overlay_entry(filled(entry, values))
        if isinstance(named, Diagnostic):
            problems.append(named)
            continue
        name, place, parameters = named
        overlay = sources.overlay(name, place.mark)
        if not isinstance(overlay, LoadedOverlay):
            problems += overlay
            continue
        given = {key: ParameterValue(overlay.name, key, spelled(value), str(value.mark)) for key, value in parameters.items()}
        typed, wrong = parameter_values(overlay.name, overlay.spec.get("parameters"), given)
        problems += _at_places(wrong, parameters, place)
        found[overlay.name] = LoadedOverlay(overlay.tree, typed, {key: each.mark for key, each in parameters.items()})
    return list(found.values()), problems


def _overlay_entry(entry: MarkedTree) -> tuple[str, MarkedTree, Mapping[str, MarkedTree]] | Diagnostic:
    """Return name or path, place, and parameters of an entry, or the entry's problem."""
    value = entry.value
    if isinstance(value, str):
        return value, entry, {}
    if not isinstance(value, dict) or len(value) != 1:
        return Diagnostic("invalid-project", "expected an overlay: a name, a path, or an object with its parameters", entry.place())
    ((name, parameters),) = value.items()
    inner = {} if parameters.value is None else parameters.value
    if not isinstance(inner, dict) or any(isinstance(each.value, (dict, list)) for each in inner.values()):
        return Diagnostic("invalid-project", f"the parameters of `{name}` must be an object of names to scalars", parameters.place())
    place = entry if parameters.key is None else type(entry)(name, parameters.key)
    return name, place, {key: each for key, each in inner.items() if each.value is not None}


def _at_places(wrong: Sequence[Diagnostic], parameters: Mapping[str, MarkedTree], place: MarkedTree) -> Iterator[Diagnostic]:
    """Yield the problems of parameters at the places where the project gives them.

    A missing parameter is reported where the project names the overlay.
    """
    places = {str(value.mark): (value.key or value.mark, value.mark) for value in parameters.values()}
    for each in wrong:
        key, value = places.get(str(each.mark), (place.mark, place.mark))
        hint = "write `NAME: {PARAMETER: VALUE}` for the overlay" if each.rule == "missing-parameter" else each.hint
        mark = key if each.rule == "unknown-parameter" else value
        yield Diagnostic(each.rule, each.message, mark, field=each.field, hint=hint, severity=each.severity)


# A variant's own fields as one more overlay, with marks in the project's file.


def own_layer(entry: MarkedTree, values: Values, variant: str, spelled: Spelling) -> tuple[LoadedOverlay | None, list[Diagnostic]]:
    """Return the overlay of a variant's own flags, labels, queue, annotations and companions.

    The overlay overrides others; its problems are returned, too. If the variant has none of these fields, the overlay is None. Names and
    the namespace are no part of it: they are written into rendered objects.
    """
    names = ("flags", "labels", "annotations", "resources", "queue")
    said = {name: filled(part, values, variant) for name in names if (part := entry.get(name))}
    if queue := said.pop("queue", None):
        said["labels"] = queue.with_value({**(said["labels"].value if "labels" in said else {}), QUEUE: queue})
    if not said:
        return None, []
    here = MarkedTree(None, in_layer(entry.mark, variant))
    spec: dict[str, MarkedTree] = {"override": here.with_value(True)}
    if flags := said.get("flags"):
        spec["pods"] = here.with_value([here.with_value({"flags": _each_scalar(flags, lambda each: _flag(each, spelled))})])
    given = {name: said[name] for name in ("labels", "annotations") if name in said}
    metadata = {name: _each_scalar(each, lambda one: one.with_value(_literal(as_text(one.value)))) for name, each in given.items()}
    if metadata:
        partial = here.with_value({"metadata": here.with_value(metadata)})
        spec["job"] = here.with_value({kind: partial for _, kind in OVERLAID_KINDS})
    if resources := said.get("resources"):
        spec["resources"] = _each_scalar(resources, lambda each: each.with_value(_literal(each.value)))
    name = here.with_value({"name": here.with_value(variant)})
    tree = here.with_value({"metadata": name, "spec": here.with_value(spec)})
    can_be_wrong = resources or any(map(has_dollar, said.values()))  # a directive, or what is no manifest
    return LoadedOverlay(tree, {}), check_overlay(tree) if can_be_wrong else []


def _flag(value: MarkedTree, spelled: Spelling) -> MarkedTree:
    """Return the value of a flag for an overlay.

    Null and booleans are unchanged, numbers are as they are spelt.
    """
    if value.value is None or isinstance(value.value, bool):
        return value
    return value.with_value(_literal(spelled(value)))


def _literal(value: object) -> object:
    """A scalar in which an overlay finds no parameter."""
    return value.replace("${", "$${") if isinstance(value, str) else value


def _each_scalar(tree: MarkedTree, change: Callable[[MarkedTree], MarkedTree]) -> MarkedTree:
    if isinstance(tree.value, dict):
        return tree.with_value({str(_literal(key)): _each_scalar(child, change) for key, child in tree.value.items()})
    if isinstance(tree.value, list):
        return tree.with_value([_each_scalar(child, change) for child in tree.value])
    return change(tree)


# The runs of a variant that stay in the tree: up to N earlier ones, in the order in which an annotation counts them.
#
# A run is a job under a name with a hash; its file stays as it was rendered. The count needs no time, so that a render of the same sources
# into the same tree gives the same bytes everywhere.


ANNOTATION = "jobspec.dev/run"


@dataclass(frozen=True)
class Run:
    """A rendered job of a variant in the tree."""

    path: str
    job: Document

    @property
    def number(self) -> int:
        """Return the number of the run, counted from 1.

        If the run was rendered before the variant had a history, return 0.
        """
        said = str(value_at(self.job.data, ("metadata", "annotations", ANNOTATION)) or "")
        return int(said) if said.isascii() and said.isdigit() else 0


@dataclass(frozen=True)
class History:
    """The limit of earlier runs of a variant, and the runs in the tree."""

    limit: MarkedTree
    """The number of earlier runs, at its place in the project."""
    runs: Sequence[Run] = ()
    """The runs in the tree, the newest last."""

    def with_runs(self, files: Mapping[str, bytes]) -> History:
        """Return the history with the runs among the files of the variant's folder.

        If two runs have one number, the later one counts as newer.
        """
        runs = [run for path, content in files.items() if (run := _run_in(path, content))]
        return History(self.limit, sorted(runs, key=lambda each: each.number))

    def number_of(self, job: Document) -> MarkedTree:
        """Return the number of a rendered job, as the text of its annotation.

        It is the next number, unless the job is the newest run already.
        """
        runs = self._runs_of(job)
        newest = runs[-1].number if runs else 0
        known = self._known(job)
        number = newest if known and known.number == newest else newest + 1
        return self.limit.with_value(str(max(number, 1)))

    def earlier(self, job: Document) -> list[str]:
        """Return the paths of the runs that stay beside a rendered job, the newest ones."""
        others = [each.path for each in self._runs_of(job) if not _is_same(each.job, job)]
        return others[len(others) - min(self.limit.value, len(others)) :]

    def returned(self, job: Document) -> Diagnostic | None:
        """Return a warning if a rendered job is an earlier run again.

        The earlier run is still there, and so is not started again.
        """
        known = self._known(job)
        if known is None or known.number == self._runs_of(job)[-1].number:
            return None
        message = f"this is the earlier run `{job.name}` again, which is still kept: it becomes the newest one, and nothing starts"
        hint = "for a new run, change what the hash covers, an annotation of the pods for example"
        return job.problem("run-returned", message, ("metadata", "name"), hint=hint, severity="warning")

    def _runs_of(self, job: Document) -> list[Run]:
        """The runs of the kind of a job; a job of another kind is a companion."""
        return [each for each in self.runs if each.job.group_kind == job.group_kind]

    def _known(self, job: Document) -> Run | None:
        return next((each for each in self.runs if _is_same(each.job, job)), None)


def _is_same(one: Document, other: Document) -> bool:
    """Whether two runs of a variant are one: the name has the hash of the spec."""
    return (one.group_kind, one.name) == (other.group_kind, other.name)


def documents_in(content: bytes, path: str = "") -> list[Document]:
    """Return the objects in a file of a tree. The file may hold anything."""
    return read(content.decode(errors="replace"), file=path)[0]


def _run_in(path: str, content: bytes) -> Run | None:
    """The run in a file of the tree, None where that holds no job."""
    if not path.rpartition("/")[2].startswith(_FILES_OF_JOBS):  # to read all of a tree takes long
        return None
    documents = documents_in(content, path)
    return Run(path, documents[0]) if len(documents) == 1 and may_take_overlays(documents[0]) else None
