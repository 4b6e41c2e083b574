"""Import manifests: jobs become bases, the shipped overlays that explain them, and variants in the project's file."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from itertools import chain, count, takewhile
from typing import Any

from jobspec.apis.kinds import PROJECT_FILE, is_cluster_scoped
from jobspec.apis.releases import Target
from jobspec.diagnostics.diagnostic import Diagnostic
from jobspec.diagnostics.errors import JobspecError
from jobspec.diagnostics.grouping import gathered
from jobspec.diagnostics.places import Mark, Path, marks_at, spell, value_at
from jobspec.documents.comments import lost
from jobspec.documents.document import Document
from jobspec.documents.marked_tree import items, with_marks
from jobspec.documents.reader import read as read_documents
from jobspec.documents.text_edits import TextEdit, TextPlaces, Uncuttable, cut_of, edited, without
from jobspec.documents.writer import is_plain
from jobspec.journey import reading
from jobspec.journey.rendering import as_stored
from jobspec.journey.steps import Source
from jobspec.operators.training_roles import job_among, roles_for_overlays
from jobspec.overlays.flags import read_flags
from jobspec.overlays.load import LoadedOverlay
from jobspec.project.import_overlays import Original, Use, difference, exists, explain, object_key, shipped_overlays
from jobspec.project.project import ReadFile
from jobspec.project.rendering import RenderedVariant
from jobspec.project.tree import whole

#: The text of a flag's value, True for a bare flag, None for one that is removed.
FlagValue = str | bool | None
Flags = Mapping[str, FlagValue]


# Write bases and a project, after proof that they render to the original manifests.


@dataclass(frozen=True, slots=True)
class Existing:
    """The project that an import adds to."""

    document: Document
    text: str
    names: Collection[str]
    """The names of its variants, in lower case."""


@dataclass(frozen=True, slots=True)
class Destination:
    """The destination of an import: a project, or the place of a new one."""

    path: str
    """The path of the project's file, as messages show it."""
    folder: str
    """The folder of the bases, from that of the project's file."""
    read: ReadFile
    """Reads what the project names already."""
    target: Target
    _: KW_ONLY
    asked_releases: Mapping[str, str]
    """The releases that the project asks for, or a new one is to."""
    existing: Existing | None = None

    @property
    def has_history(self) -> bool:
        """True if the project keeps earlier runs. A job under a fixed name has no earlier runs."""
        return bool(self.existing and value_at(self.existing.document.data, ("spec", "defaults", "history")))


@dataclass(frozen=True, slots=True)
class Planned:
    """The files to write, or the problems that prevent it."""

    files: Mapping[str, str]
    """Texts by path from the folder of the project's file, which is among them."""
    entries: Sequence[Entry]
    diagnostics: Sequence[Diagnostic]


def plan(originals: Sequence[Original], into: Destination) -> Planned:
    """Plan the files to write for originals.

    If an original does not render again from the base of its group, it gets a base of its own.
    """
    overlays = shipped_overlays(into.target)
    found = groups([import_of(each, overlays, into.target) for each in originals], into.target)
    planned = _planned(found, into)
    if not planned.diagnostics or all(len(group) == 1 for group in found):
        return planned
    fresh = Destination(into.path, into.folder, into.read, into.target, asked_releases=into.asked_releases)
    fitting = [[group[0], *(each for each in group[1:] if not _planned([[group[0], each]], fresh).diagnostics)] for group in found]
    others = [[each] for group, good in zip(found, fitting, strict=True) for each in group if each not in good]
    planned = _planned([*fitting, *others], into)
    return _planned([[each] for group in found for each in group], into) if planned.diagnostics else planned


def _planned(found: Sequence[Sequence[Import]], into: Destination) -> Planned:
    """Plan the files for groups of imports, each group with one base."""
    shared = [on_one_base(group, into.target) if len(group) > 1 else group for group in found]
    names = _Names(into.existing.names if into.existing else ())
    files: dict[str, str] = {}
    entries: list[Entry] = []
    for group in shared:
        chosen = [names.variant(each.original.job) for each in group]
        bases: dict[str, str] = {}
        for name, each in zip(chosen, group, strict=True):
            one_base = all(each.text == other.text for other in group)
            path = bases.setdefault(each.text, f"{into.folder}/{_common(chosen, names) if one_base else name}.yaml".removeprefix("./"))
            files[path] = each.text
            kept = [*each.original.unwritten, *lost(each.original.text, each.text)]
            entries.append(Entry(name, path, each, kept, without_history=into.has_history))
    files[PROJECT_FILE] = _project(entries, into)
    return Planned(files, entries, list(_problems(files, entries, into)))


def _project(entries: Sequence[Entry], into: Destination) -> str:
    if not into.existing:
        return new_project(entries, into.asked_releases)
    try:
        return extended(into.existing.text, into.existing.document, entries)
    except Uncuttable:
        hint = "write its variants as a list with `- ` before each, or import into a new project"
        raise JobspecError(f"{into.path}: cannot add a variant to this text: {hint}") from None


class _Names:
    """Gives names that nothing has yet."""

    def __init__(self, taken: Collection[str]) -> None:
        self._taken = set(taken)

    def variant(self, job: Document) -> str:
        """Return the name for a variant: its job's name.

        If the name is taken, the namespace is added, or else a number.
        """
        choices = [job.name, *([f"{job.name}-{job.namespace}"] if job.namespace else [])]
        name = next(filter(self.is_free, chain(choices, (f"{job.name}-{number}" for number in count(2)))))
        self._taken.add(name.lower())
        return name

    def is_free(self, name: str) -> bool:
        """True if no variant has the name. Case does not count, as for some file systems."""
        return name.lower() not in self._taken


def _common(names: Sequence[str], taken: _Names) -> str:
    """Return the words at the start of all names of a base's variants.

    If there are none, or another variant has that name, return the first name.
    """
    words = zip(*(name.split("-") for name in names), strict=False)
    name = "-".join(each[0] for each in takewhile(lambda each: len(set(each)) == 1, words))
    return name if name in names or (name and taken.is_free(name)) else names[0]


def _problems(files: Mapping[str, str], entries: Sequence[Entry], into: Destination) -> Iterator[Diagnostic]:
    """Yield the problems that keep the files from rendering to the originals."""

    def read(path: str) -> Source:
        return Source(path, files[path]) if path in files else into.read(path)

    found = whole(Source(into.path, files[PROJECT_FILE]), read)
    yield from (each for each in found.diagnostics if each.severity == "error")
    without_engines = _without_engines(files[PROJECT_FILE])
    if without_engines:
        found = whole(Source(into.path, without_engines), read)
    rendered = {each.name: each for each in found.rendered}
    for entry in entries if found.valid else ():
        yield from _differences(rendered[entry.name], entry, into)


def _without_engines(text: str) -> str:
    """Return the text of a project without its engines; empty if it has none.

    The engines' annotations are no part of a manifest.
    """
    plain = text.removeprefix("\ufeff").replace("\r\n", "\n")
    (document,) = read_documents(plain, file=PROJECT_FILE)[0]
    marks = document.marks
    try:
        return without(plain, marks, ("spec", "engines")) if exists(marks, ("spec", "engines")) else ""
    except Uncuttable:
        return ""


def _differences(variant: RenderedVariant, entry: Entry, into: Destination) -> Iterator[Diagnostic]:
    """Yield an error for each object that a variant renders differently from its original.

    A missing object and an additional one are errors, too. A quantity of a TrainJob, of which render writes the canonical form, is the
    same amount in any other form.
    """
    result = variant.checked.result
    if not result.valid:
        yield from (each for each in result.diagnostics if each.severity == "error")
        return
    made = [document for each in variant.objects for document in read_documents(each.text, file=each.file)[0]]
    rest = {object_key(each): each for each in made}
    hint = "the `defaults` of the project may add to it; import it into another project" if into.existing else ""
    for document in entry.item.original.documents:
        other = rest.pop(object_key(document), None)
        path = difference(*(as_stored(each, into.target).data for each in (document, other))) if other else ("metadata",)
        if path is not None:
            message = f"the variant `{entry.name}` would render another {f'`{spell(path)}`' if other else document.kind}"
            yield document.problem("import-differs", message, path, hint=hint)
    for each in rest.values():
        message = f"the variant `{entry.name}` would render {each.kind} `{each.name}`, too"
        yield entry.item.original.job.problem("import-differs", message, ("metadata", "name"), hint=hint)


# Variants as lines of a project's file, in a new file or added to one that is there.


_NAMING = "# `naming: fixed` keeps a job's name as it was; without it, a hash follows the name, and each change is a new run"


@dataclass(frozen=True, slots=True)
class Entry:
    """A variant to write."""

    name: str
    base: str
    """The path of its base from the project's file."""
    item: Import
    comments: Sequence[str]
    """The comments of its manifest that do not stand in the base."""
    _: KW_ONLY
    without_history: bool
    """Whether it has to say that no earlier runs stay, since the defaults say otherwise."""


def new_project(entries: Sequence[Entry], target: Mapping[str, str]) -> str:
    """Write a project with these variants."""
    head = ["apiVersion: jobspec.dev/v1alpha1", "kind: Project", "spec:"]
    said = [f"  target: {_mapping(target)}"] if target else []
    return "".join(f"{line}\n" for line in [*head, *said, "  variants:", f"    {_NAMING}", *_lines_of_entries(entries, "    ")])


def extended(text: str, project: Document, entries: Sequence[Entry]) -> str:
    """Add variants to the text of a *project*, behind its own. Every present byte stays.

    Raises Uncuttable if the text is written in a form to which nothing can be added.
    """
    variants, plain = project.marks.nearest(("spec", "variants")), text.removeprefix("\ufeff")
    if not isinstance(variants.children, list) or "\r" in text.replace("\r\n", "\n"):
        raise Uncuttable
    places = TextPlaces(plain)
    start, at = places.spans(variants)[-1]
    if places.is_flow(variants):
        added = "".join(_in_flow(each, " " * (variants.key.column + 3 if variants.key else 8)) for each in entries)
    else:
        line, dash = places.dash(start)
        at = places.behind(variants)
        added = "".join(f"\n{each}" for each in _lines_of_entries(entries, plain[line:dash])) + ("\n" if at == len(plain) else "")
    return text.removesuffix(plain) + edited(plain, [TextEdit(at, at, added.replace("\n", places.newline))])


def _lines_of_entries(entries: Sequence[Entry], indent: str) -> Iterator[str]:
    for each in entries:
        yield from (f"{indent}{line}" for line in _comments(each))
        fields = list(_fields(each))
        yield from (f"{indent}{'  ' if number else '- '}{name}: {value}" for number, (name, value) in enumerate(fields))
        yield from (f"{indent}{line}" for line in _overlay_lines(each.item))


def _comments(entry: Entry) -> Iterator[str]:
    if entry.comments:
        yield f"# comments of {entry.item.original.file} on what is here now:".replace("\n", " ")
        yield from entry.comments


def _fields(entry: Entry) -> Iterator[tuple[str, str]]:
    """The fields of a variant, each with its value in one line."""
    item, job_name = entry.item, entry.item.original.job.name
    yield "name", _flag_text(entry.name)
    yield "base", _flag_text(entry.base)
    if item.namespace:
        yield "namespace", _flag_text(item.namespace)
    if job_name != entry.name:
        yield "jobName", _flag_text(job_name)
    yield "naming", "fixed"
    if entry.without_history:
        yield "history", "0"
    if item.flags:
        yield "flags", _mapping(item.flags, _flag)
    if item.labels:
        yield "labels", _mapping(item.labels)
    if item.annotations:
        yield "annotations", _mapping(item.annotations)


def _overlay_lines(item: Import) -> Iterator[str]:
    if item.uses:
        yield "  overlays:"
        yield from (f"    - {use.name}: {_mapping(use.values, _parameter)}" if use.values else f"    - {use.name}" for use in item.uses)


def _in_flow(entry: Entry, indent: str) -> str:
    """A variant between braces, with the comma before it."""
    uses = entry.item.uses
    named = ", ".join(f"{{{each.name}: {_mapping(each.values, _parameter)}}}" for each in uses)
    text = ", ".join([*(f"{name}: {value}" for name, value in _fields(entry)), *([f"overlays: [{named}]"] if uses else [])])
    lines = [f"\n{indent}{line}" for line in [*_comments(entry), ""]] if entry.comments else [" "]
    return f",{''.join(lines)}{{{text}}}"


def _mapping(values: Mapping[str, FlagValue], write: Callable[[FlagValue], str] | None = None) -> str:
    return "{" + ", ".join(f"{_flag_text(name)}: {(write or _flag_text)(value)}" for name, value in values.items()) + "}"


def _parameter(value: FlagValue) -> str:
    """Write the value of a parameter. It has a type, so that `true` needs no quotes."""
    return str(value) if value in ("true", "false") else _flag(value)


def _flag(value: FlagValue) -> str:
    """Write the value of a flag. Its spelling counts, so that a number needs no quotes."""
    if not isinstance(value, str):
        return "null" if value is None else str(value).lower()
    return value if value == "0" or (value.isdecimal() and value.isascii() and value[0] != "0") else _flag_text(value)


def _flag_text(value: FlagValue) -> str:
    """Write a text in one line, also inside braces, with no value of the matrix in it."""
    text = str(value).replace("${", "$${")
    if is_plain(text) and not set(text) & set(",?&*!:={}[] "):
        return text
    from json import dumps

    return dumps(text, ensure_ascii=not text.isprintable())


# A job on its way to a variant: the text of its base, and what the variant says besides.


@dataclass(frozen=True, slots=True, eq=False)
class Import:
    """An original with the base and the variant that render to it."""

    original: Original
    text: str
    """The base."""
    uses: Sequence[Use]
    """The overlays of the variant, in order."""
    namespace: str
    """What the variant writes into all objects; empty where they have none, or different ones."""
    _: KW_ONLY
    flags: Flags = field(default_factory=dict)
    labels: Mapping[str, str] = field(default_factory=dict)
    annotations: Mapping[str, str] = field(default_factory=dict)


def import_of(original: Original, overlays: Mapping[str, LoadedOverlay], target: Target) -> Import:
    """Return the import of an original that shares its base with no other original.

    *overlays*: the overlays that may be cut out of the base.
    """
    text, uses = explain(original, overlays, target)
    namespaces = {each.namespace for each in original.documents if not is_cluster_scoped(each.api_version, each.kind)}
    namespace = namespaces.pop() if len(namespaces) == 1 else ""
    if namespace and not original.is_fixed:
        text = _without_in_all(text, ("metadata", "namespace"), target)
    return Import(original, text, uses, namespace)


def documents_in(text: str, target: Target) -> Sequence[Document]:
    """Return the documents of a base's text."""
    return reading.read(Source("", text), target).documents


def job_in(text: str, target: Target) -> Document:
    """Return the training job of a base's text."""
    job = job_among(documents_in(text, target))
    assert job
    return job


def _without_in_all(text: str, path: Path, target: Target) -> str:
    """Remove a value from each document of the text.

    If one is written in a form that cannot be cut, the text is unchanged.
    """
    places = TextPlaces(text)
    marks = [each.marks for each in documents_in(text, target) if exists(each.marks, path)]
    try:
        return edited(text, [TextEdit(*cut_of(places, each, path), "") for each in marks])
    except Uncuttable:
        return text


# Group jobs that can share a base: the same but for names, namespaces, overlays, flags, labels and annotations.
#
# The base of such a group is that of its first job. What another job has in another way, its variant says; whether that renders to the
# job again is for the proof to find.


_OWN = ("name", "namespace", "labels", "annotations")


def groups(imports: Sequence[Import], target: Target) -> list[list[Import]]:
    """Group imports by the base that they can share, each group in order."""
    keyed = ((str(number) if each.original.is_fixed else _skeleton(each, target), each) for number, each in enumerate(imports))
    return list(gathered(keyed).values())


def on_one_base(group: Sequence[Import], target: Target) -> list[Import]:
    """Return the imports of a group with one base.

    If the base cannot be cut as the imports need it, return the imports unchanged.
    """
    jobs = [job_in(each.text, target) for each in group]
    text = group[0].text
    own: dict[str, list[dict[str, str]]] = {}
    for kind in ("labels", "annotations"):
        said = [value_at(job.data, ("metadata", kind)) or {} for job in jobs]
        common = {key: value for key, value in said[0].items() if all(each.get(key) == value for each in said)}
        own[kind] = [{key: value for key, value in each.items() if key not in common} for each in said]
        try:
            for key in (each for each in said[0] if each not in common):
                text = without(text, job_in(text, target).marks, ("metadata", kind, key))
        except Uncuttable:
            return list(group)
    first = dict(_flags(jobs[0]))
    return [
        replace(each, text=text, flags=_flag_changes(first, dict(_flags(job))), labels=labels, annotations=annotations)
        for each, job, labels, annotations in zip(group, jobs, own["labels"], own["annotations"], strict=True)
    ]


def _skeleton(each: Import, target: Target) -> str:
    """Write what jobs with one base share: everything but metadata and flags."""
    from json import dumps

    documents = documents_in(each.text, target)
    job = job_among(documents)
    assert job
    metadata = {name: value for name, value in (job.data.get("metadata") or {}).items() if name not in _OWN}
    data = {**job.data, "metadata": metadata}
    others = [other.data for other in documents if other is not job]
    return dumps([_without_flags(data, job), others], sort_keys=True)


def _containers(job: Document) -> Iterator[Any]:
    """The containers of a job that run its training program."""
    for role in roles_for_overlays(job):
        found = value_at(job.data, (*role.path, "spec", "containers")) if role.path else [value_at(job.data, ("spec", "trainer"))]
        for container in found if isinstance(found, list) else ():
            if isinstance(container, dict) and (not role.path or container.get("name") == role.container):
                yield container


def _without_flags(data: Any, job: Document) -> Any:
    """Replace the arguments of training containers in the data by words without flags."""
    containers = [id(each) for each in _containers(job)]
    if isinstance(data, list):
        return [_without_flags(each, job) for each in data]
    if not isinstance(data, dict):
        return data
    inside = {key: _without_flags(value, job) for key, value in data.items()}
    if id(data) not in containers:
        return inside
    words = [[value for flag, value in _command_line(data.get(name)) if not flag] for name in ("command", "args")]
    return {**{key: value for key, value in inside.items() if key not in ("command", "args")}, "words": words}


def _flags(job: Document) -> Iterator[tuple[str, str | bool]]:
    """The flags of a job's training program with their values."""
    for container in _containers(job):
        for name in ("command", "args"):
            yield from (each for each in _command_line(container.get(name)) if each[0])


def _flag_changes(first: dict[str, str | bool], other: dict[str, str | bool]) -> dict[str, str | bool | None]:
    """The flags to set or to remove, where a program's flags differ from those of the base."""
    changed: dict[str, str | bool | None] = {flag: value for flag, value in other.items() if first.get(flag) != value}
    return {**changed, **{flag: None for flag in first if flag not in other}}


def _command_line(words: Any) -> list[tuple[str, str | bool]]:
    """Read a command line: each flag with its value, True for a bare flag.

    Other words have an empty flag.
    """
    tree = with_marks(words, marks_at(words, Mark("")))
    return [(flag, value.value if value.value is True else str(value.value)) for flag, value in read_flags(items(tree))]
