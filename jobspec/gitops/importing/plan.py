"""What an import writes: bases and a project, after it is shown that they render to the manifests as they were."""

from __future__ import annotations

from itertools import chain, count, takewhile

from jobspec import pipeline
from jobspec.diagnostics import Diagnostic, JobspecError, spell
from jobspec.documents.comments import lost
from jobspec.documents.reader import read as read_documents
from jobspec.documents.text_edits import Uncuttable, without
from jobspec.gitops.importing.entries import Entry, extended, new_project
from jobspec.gitops.importing.equality import difference
from jobspec.gitops.importing.explanation import shipped_overlays
from jobspec.gitops.importing.imports import import_of
from jobspec.gitops.importing.sharing import groups, on_one_base
from jobspec.gitops.project import FILE
from jobspec.gitops.whole import whole
from jobspec.workloads import value_at

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from jobspec.documents.document import Document
    from jobspec.gitops.importing.imports import Import
    from jobspec.gitops.importing.originals import Original
    from jobspec.gitops.rendering import RenderedVariant
    from jobspec.gitops.sources import ReadFile
    from jobspec.targets import Target


class Existing:
    """The project that an import adds to."""

    __slots__ = ("document", "names", "text")

    def __init__(self, document: Document, text: str, names: Collection[str]) -> None:
        self.document = document
        self.text = text
        self.names = names
        """The names of its variants, in lower case."""


class Destination:
    """Where an import goes: a project, or the place of a new one."""

    __slots__ = ("existing", "folder", "path", "read", "target", "wishes")

    def __init__(
        self, path: str, folder: str, read: ReadFile, target: Target, *, wishes: Mapping[str, str], existing: Existing | None = None
    ) -> None:
        self.path = path
        """The path of the project's file, as messages show it."""
        self.folder = folder
        """The folder of the bases, from that of the project's file."""
        self.read = read
        """Reads what the project names already."""
        self.target = target
        self.wishes = wishes
        """The releases that the project asks for, or a new one is to."""
        self.existing = existing

    @property
    def has_history(self) -> bool:
        """Whether the project keeps earlier runs, of which a job under a fixed name has none."""
        return bool(self.existing and value_at(self.existing.document.data, ("spec", "defaults", "history")))


class Planned:
    """What is to be written, or what is wrong."""

    __slots__ = ("diagnostics", "entries", "files")

    def __init__(self, files: Mapping[str, str], entries: Sequence[Entry], diagnostics: Sequence[Diagnostic]) -> None:
        self.files = files
        """Texts by path from the folder of the project's file, which is among them."""
        self.entries = entries
        self.diagnostics = diagnostics


def plan(originals: Sequence[Original], into: Destination) -> Planned:
    """What to write for originals. Those that do not render again from the base of their group get one each."""
    overlays = shipped_overlays(into.target)
    found = groups([import_of(each, overlays, into.target) for each in originals], into.target)
    planned = _planned(found, into)
    if not planned.diagnostics or all(len(group) == 1 for group in found):
        return planned
    fresh = Destination(into.path, into.folder, into.read, into.target, wishes=into.wishes)
    fitting = [[group[0], *(each for each in group[1:] if _fits(group[0], each, fresh))] for group in found]
    others = [[each] for group, good in zip(found, fitting, strict=True) for each in group if each not in good]
    planned = _planned([*fitting, *others], into)
    return _planned([[each] for group in found for each in group], into) if planned.diagnostics else planned


def _fits(first: Import, other: Import, into: Destination) -> bool:
    """Whether two jobs render again from one base."""
    return not _planned([[first, other]], into).diagnostics


def _planned(found: Sequence[Sequence[Import]], into: Destination) -> Planned:
    """What to write for groups of imports, each with one base."""
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
    files[FILE] = _project(entries, into)
    return Planned(files, entries, list(_problems(files, entries, into)))


def _project(entries: Sequence[Entry], into: Destination) -> str:
    if not into.existing:
        return new_project(entries, into.wishes)
    try:
        return extended(into.existing.text, into.existing.document, entries)
    except Uncuttable:
        hint = "write its variants as a list with a `- ` before each, or give the manifests one by one to a new project"
        raise JobspecError(f"{into.path}: no variant can be added to the text as it is written: {hint}") from None


class _Names:
    """Gives names that nothing has yet."""

    __slots__ = ("_taken",)

    def __init__(self, taken: Collection[str]) -> None:
        self._taken = set(taken)

    def variant(self, job: Document) -> str:
        """A variant's name: that of its job, with the namespace where it is taken, else with a number."""
        choices = [job.name, *([f"{job.name}-{job.namespace}"] if job.namespace else [])]
        name = next(filter(self.is_free, chain(choices, (f"{job.name}-{number}" for number in count(2)))))
        self._taken.add(name.lower())
        return name

    def is_free(self, name: str) -> bool:
        """Whether no variant has a name, upper and lower case being the same to some file systems."""
        return name.lower() not in self._taken


def _common(names: Sequence[str], taken: _Names) -> str:
    """The words that the names of a base's variants begin with; the first name where there are none or another variant is named so."""
    words = zip(*(name.split("-") for name in names), strict=False)
    name = "-".join(each[0] for each in takewhile(lambda each: len(set(each)) == 1, words))
    return name if name in names or (name and taken.is_free(name)) else names[0]


def _problems(files: Mapping[str, str], entries: Sequence[Entry], into: Destination) -> Iterator[Diagnostic]:
    """What keeps the files from rendering to the originals."""

    def read(path: str) -> pipeline.Source:
        return pipeline.Source(path, files[path]) if path in files else into.read(path)

    found = whole(pipeline.Source(into.path, files[FILE]), read)
    yield from (each for each in found.diagnostics if each.severity == "error")
    without_engines = _without_engines(files[FILE])
    if without_engines:
        found = whole(pipeline.Source(into.path, without_engines), read)
    rendered = {each.name: each for each in found.variants}
    for entry in entries if found.valid else ():
        yield from _differences(rendered[entry.name], entry, is_new=into.existing is None)


def _without_engines(text: str) -> str:
    """The text of a project without its engines, whose annotations are no part of a manifest; empty where it has none."""
    plain = text.removeprefix("\ufeff").replace("\r\n", "\n")
    (document,) = read_documents(plain, file=FILE)[0]
    marks = document.marks
    try:
        return without(plain, marks, ("spec", "engines")) if marks.nearest(("spec", "engines")) is not marks.nearest(("spec",)) else ""
    except Uncuttable:
        return ""


def _differences(variant: RenderedVariant, entry: Entry, *, is_new: bool) -> Iterator[Diagnostic]:
    """An error for each object of an original that a variant renders in another way, for one that is missing, and for one more."""
    result = variant.checked.result
    if not result.valid:
        yield from (each for each in result.diagnostics if each.severity == "error")
        return
    made = [document for each in variant.objects for document in read_documents(each.text, file=each.file)[0]]
    rest = {_identity(each): each for each in made}
    hint = "" if is_new else "the `defaults` of the project may add to it; import it into a project of its own"
    for document in entry.item.original.documents:
        other = rest.pop(_identity(document), None)
        path = difference(document.data, other.data) if other else ("metadata",)
        if path is not None:
            message = f"the variant `{entry.name}` would render another {f'`{spell(path)}`' if other else document.kind}"
            yield document.problem("import-differs", message, path, hint=hint)
    for each in rest.values():
        message = f"the variant `{entry.name}` would render {each.kind} `{each.name}`, too"
        yield entry.item.original.job.problem("import-differs", message, ("metadata", "name"), hint=hint)


def _identity(document: Document) -> tuple[str, ...]:
    return document.api_version, document.kind, document.namespace, document.name
