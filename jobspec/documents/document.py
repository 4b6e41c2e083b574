"""A document: plain data, and a tree of marks that says where each value was written. It can be pickled."""

from __future__ import annotations

from abc import ABC, abstractmethod

from jobspec.apis.kinds import KUSTOMIZATION, WRAPPING_KINDS
from jobspec.diagnostics.diagnostic import Diagnostic
from jobspec.diagnostics.places import Mark, Marks, Path, marks_at, spell
from jobspec.diagnostics.record import Record
from jobspec.diagnostics.results import DocumentResult
from jobspec.documents.likeness import Likeness, likeness_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any, Literal, TypeVar

    from jobspec.apis.kinds import GroupKind
    from jobspec.diagnostics.diagnostic import Severity
    from jobspec.diagnostics.problems import Change
    from jobspec.diagnostics.results import Status
    from jobspec.diagnostics.rules import Finding

    DocumentOrResult = TypeVar("DocumentOrResult", "Document", DocumentResult)

    #: For each key, its event (or its `MergedKey`), and the node of its value.
    Nodes = dict[str, tuple[Any, Any]]

    #: The mark in one text of what has a mark in another; None if only parsing the text would tell the mark.
    SameMarks = Callable[[Mark], Mark | None]


#: The endings of files that are pages, whose fences hold documents.
PAGES = (".md", ".markdown")
#: The names of files that say what kustomize builds.
KUSTOMIZATIONS = ("kustomization.yaml", "kustomization.yml", "Kustomization")
#: The file that makes a folder a Helm chart.
CHART = "Chart.yaml"
CHART_VALUES = "values.yaml"
#: Words in files that have engines apply folders.
ENGINES = (b"kustomize.toolkit.fluxcd.io/", b"argoproj.io/", b"jobspec.dev/")
#: A word in files with tests of Chainsaw. The tests name files with expected objects.
CHAINSAW = b"chainsaw.kyverno.io/"


_KINDS_OF_KUSTOMIZATIONS = ("", "Kustomization", "Component")


def is_of_chart(name: str) -> bool:
    """True if a file in a chart's folder is by its name the chart's own, such as its values."""
    is_values = name.startswith("values") and name[6:7] in (".", "-", "_") and name.endswith((".yaml", ".yml", ".json"))
    return name in (CHART, "Chart.lock") or is_values


#: The attributes of a document that are pickled.
_STATE = ("data", "_marks", "file", "index", "is_item", "has_merges", "has_aliases", "is_held", "holder")


class Document:
    """One YAML document of a file."""

    __slots__ = (*_STATE, "_digest", "_likeness", "_made", "api_version", "group_kind", "kind")

    def __repr__(self) -> str:
        return f"<{self.kind or 'document'} {self.name or self.index} of {self.file}>"

    def __init__(
        self,
        data: Any,
        marks: Marks | Callable[[], Marks],
        *,
        file: str,
        index: int = 0,
        is_item: bool = False,
        has_merges: bool = False,
        has_aliases: bool = False,
        is_held: bool = False,
        holder: GroupKind = ("", ""),
    ) -> None:
        self.data = data
        """Mappings, lists and scalars as JSON has them; never changed once made."""
        self._marks = marks
        self._made: Marks | None = None
        self._likeness: Likeness | Literal[False] | None = False  # not asked yet
        self._digest = b""
        self.file = file
        self.index = index
        """Counts the documents of the file from 0, empty ones left out."""
        self.is_item = is_item
        """Whether it is a part of another document, such as an item of a `v1` List."""
        self.is_held = is_held
        """Whether it is text in a ConfigMap, which may never be applied."""
        self.holder = holder
        """The group and kind of the object around the document, such as an AppWrapper. Empty for a whole document."""
        self.has_merges = has_merges
        """Whether its text has merge keys (`<<`): clients resolve them before they send it, servers not in all cases."""
        self.has_aliases = has_aliases
        """Whether its text has aliases, so that several values may have one place."""
        self.api_version = _string_field(data, "apiVersion")
        """`apiVersion`, empty where there is none."""
        self.kind = _string_field(data, "kind")
        """`kind`, empty where there is none."""
        self.group_kind: GroupKind = self.api_version.rpartition("/")[0], self.kind
        """The group of `apiVersion`, empty for the core group, and `kind`."""

    @property
    def is_kustomization(self) -> bool:
        """True if kustomize builds the document.

        Then it is in a file of a kustomization, and is no object of another API.
        """
        group, is_of_no_api = self.group_kind[0], not self.api_version and self.kind in _KINDS_OF_KUSTOMIZATIONS
        return (group == KUSTOMIZATION[0] or is_of_no_api) and self.file.rpartition("/")[2] in KUSTOMIZATIONS

    @property
    def is_shown(self) -> bool:
        """True if the document is in a Markdown page. Other documents may show the object again."""
        return self.file.endswith(PAGES)

    @property
    def marks(self) -> Marks:
        """Return the tree of marks. The tree is made on first use."""
        if self._made is None:
            self._made = self._marks if isinstance(self._marks, Marks) else self._marks()
        return self._made

    def nearest(self, path: Path) -> Marks:
        """Return the marks of the value at *path*, or of the innermost value around it that exists.

        If the tree of marks is not made yet, only these marks are made.
        """
        if self._made is None and isinstance(self._marks, ParsedMarks):
            return self._marks.nearest(path)
        return self.marks.nearest(path)

    def same_marks(self, other: Document) -> SameMarks | None:
        """Return a function of marks in a document that is alike, which gives the mark here of the same value.

        If only parsing the text would tell the marks, return None.
        """
        if not (isinstance(self._marks, ParsedMarks) and isinstance(other._marks, ParsedMarks)):
            return None
        return self._marks.same_marks(other._marks, self.name, other.name)

    @property
    def likeness(self) -> Likeness | None:
        """Return the likeness of a document whose values have places of their own in one text. For others, return None."""
        if self._likeness is False:
            is_plain = isinstance(self._marks, ParsedMarks) and not (self.is_item or self.is_held or self.has_merges or self.has_aliases)
            is_plain = is_plain and not self.is_shown and isinstance(self.data, dict)
            self._likeness = likeness_of(self.data, self._marks.differs) if is_plain else None  # type: ignore[union-attr]
        return self._likeness

    @property
    def digest(self) -> bytes:
        """Return a digest of the data, and of what the document is a part of.

        Documents with one digest have the same data, with keys in the same order, and are parts of objects of one kind.
        """
        if not self._digest:
            from _blake2 import blake2b  # without the milliseconds that loading `hashlib` takes

            self._digest = blake2b(repr((self.data, self.holder)).encode(errors="surrogatepass"), digest_size=32).digest()
        return self._digest

    def forget_marks(self) -> None:
        """Drop what can be made again: marks, and the parsed nodes that they are made from."""
        if isinstance(self._marks, ParsedMarks):
            self._marks.forget()
            self._likeness = False
        self._made = None

    @property
    def source(self) -> str:
        """Return the file that the object was written in. For a built object, this is not the kustomization or chart."""
        return getattr(self._marks, "source", "") or self.file

    @property
    def inside(self) -> Path:
        """Return the path of a `v1` List's item in the List's document; empty for other documents."""
        return self._marks.path if isinstance(self._marks, _MarksInside) else ()

    @property
    def place(self) -> Mark | None:
        """Return the one place of all values. If values have places of their own, return None."""
        return self._marks.mark if isinstance(self._marks, OnePlace) else None

    def part(self, data: Any, path: Path) -> Document:
        """Return the document of an item of this `v1` List: the *data* at *path*."""
        return Document(data, _MarksInside(self, path), file=self.file, index=self.index, is_item=True, holder=self.group_kind)

    def inside_of(self, whole: Document, *, is_held: bool) -> Document:
        """Return the document, marked as text inside another document, such as a ConfigMap."""
        marks, holder = self._marks, whole.group_kind
        return Document(self.data, marks, file=whole.file, index=whole.index, is_item=True, is_held=is_held, holder=holder)

    def changed(self, data: Any) -> Document:
        """Return the document with other data and the same marks."""
        return self.written_as(data, self._marks)

    def reduced_to(self, data: Any) -> Document:
        """Return the document with only a part of its data, marked at the place of its name."""
        if isinstance(self._marks, ReducibleMarks):
            return self.written_as(data, self._marks.reduced_to(data))
        return self.written_as(data, OnePlace(data, self.nearest(("metadata", "name")).place()))

    def with_metadata(self, metadata: dict[str, Any]) -> Document:
        """Return the document with more metadata, marked at the place of `metadata`."""
        data = {**self.data, "metadata": {**(self.data.get("metadata") or {}), **metadata}}
        return self.written_as(data, _MarksWithMetadata(self, tuple(metadata)))

    def written_as(self, data: Any, marks: Marks | Callable[[], Marks]) -> Document:
        """Return the document with other data and marks."""
        made: Document = Document.__new__(Document)
        made.__setstate__((data, marks, *self.__getstate__()[2:]))
        return made

    def __getstate__(self) -> tuple[Any, ...]:
        return tuple(getattr(self, name) for name in _STATE)

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        data, marks, file, index, *values = state
        flags = dict(zip(_STATE[4:], values, strict=True))
        Document.__init__(self, data, marks, file=file, index=index, **flags)

    @property
    def name(self) -> str:
        """Return `metadata.name`. If there is none, return an empty string."""
        return _string_field(self.data.get("metadata") if isinstance(self.data, dict) else None, "name")

    @property
    def labels(self) -> Any:
        """Return `metadata.labels` as they are written. If there are none, return None."""
        metadata = self.data.get("metadata") if isinstance(self.data, dict) else None
        return metadata.get("labels") if isinstance(metadata, dict) else None

    @property
    def namespace(self) -> str:
        """Return `metadata.namespace`. If there is none, return an empty string."""
        return _string_field(self.data.get("metadata") if isinstance(self.data, dict) else None, "namespace")

    @property
    def has_open_namespace(self) -> bool:
        """True if the namespace is a placeholder, so that the object may be in any namespace.

        The data then have no namespace.
        """
        return not self.namespace and self.nearest(("metadata",)).child("namespace") is not None

    def problem(
        self,
        rule: str,
        message: str,
        path: Path = (),
        *,
        at_key: bool = False,
        hint: str = "",
        severity: Severity = "error",
        remedy: Change | None = None,
    ) -> Diagnostic:
        """Return a diagnostic about the value at *path*, or about its key."""
        marks = self.nearest(path)
        mark = marks.key if at_key and marks.key else marks.place()
        changes = (remedy.below(self.inside),) if remedy and (self.inside or not self.is_item) else ()
        return Diagnostic(rule, message, mark, field=spell(path), document=self.index, hint=hint, severity=severity, changes=changes)

    def diagnostic(self, finding: Finding, rule: str = "") -> Diagnostic:
        """Return the diagnostic of a finding.

        If no line is the cause of the finding, the diagnostic points at the document's name.
        """
        at, field = finding.at, finding.field
        if isinstance(at, tuple):
            field = field or spell(at)
            place = self.nearest(at).place()
            at = place if place.line else None
        elif at is not None and not isinstance(at, Mark):
            place = at.place()
            at = place if place.line else None
        return Diagnostic(
            rule or finding.rule,
            finding.message,
            at or self.nearest(("metadata", "name")).place(),
            field=field,
            document=self.index,
            severity=finding.severity or "error",
            hint=finding.hint,
            stage=finding.stage,
            changes=[each.below(self.inside) for each in finding.changes],
        )


class ParsedMarks:
    """A callable that makes marks from parsed nodes, or from the text if it has forgotten the nodes."""

    __slots__ = ()  # and not abstract: to ask for an instance of an abstract class takes ten times as long

    def __call__(self) -> Marks:
        """Return the marks as a tree of the data's shape."""
        raise NotImplementedError

    def nearest(self, path: Path) -> Marks:
        """Return the marks of the value at *path*, or of the innermost value around it that exists."""
        return self().nearest(path)

    @property
    def differs(self) -> str:
        """Say how the data differ from the text. If they are as they are written, return an empty string."""
        return ""

    def same_marks(self, other: ParsedMarks, name: str, other_name: str) -> SameMarks | None:  # noqa: ARG002 (of those that know a text)
        """Return a function of marks in another text, which gives the mark in this text of the same value.

        The texts are those of documents that differ by their names alone. If only parsing the text would tell the marks, return None.
        """
        return None

    def forget(self) -> None:
        """Drop the nodes."""
        raise NotImplementedError


class ReducibleMarks(ABC):
    """A callable that makes the marks of data, or of a part of the data."""

    __slots__ = ()

    @abstractmethod
    def __call__(self) -> Marks:
        """Return the marks as a tree of the data's shape."""

    @abstractmethod
    def reduced_to(self, data: Any) -> ReducibleMarks:
        """Return what makes the marks of a part of the data, without the rest of it."""


class OnePlace:
    """A callable that makes the marks of data if all values have one place."""

    __slots__ = ("_data", "_mark")

    def __init__(self, data: Any, mark: Mark | Callable[[], Mark]) -> None:
        self._data = data
        self._mark = mark

    @property
    def mark(self) -> Mark:
        """Return the place. The place is looked up on first use."""
        if callable(self._mark):
            self._mark = self._mark()
        return self._mark

    def __call__(self) -> Marks:
        """Return the marks as a tree of the data's shape."""
        return marks_at(self._data, self.mark)

    def __reduce__(self) -> tuple[type[OnePlace], tuple[Any, Mark]]:
        return OnePlace, (self._data, self.mark)


class _MarksInside(ParsedMarks):
    """A callable that makes the marks of an item from the marks of the document around it.

    It is pickled without that document's data.
    """

    __slots__ = ("_document", "path")

    def __init__(self, document: Document, path: Path) -> None:
        self._document = document
        self.path = path

    def __call__(self) -> Marks:
        return self._document.marks.nearest(self.path)

    def forget(self) -> None:
        self._document.forget_marks()

    def __reduce__(self) -> tuple[type[_MarksInside], tuple[Document, Path]]:
        around = self._document
        return _MarksInside, (Document(None, around._marks, file=around.file), self.path)


class _MarksWithMetadata(Record):
    """Makes the marks of an object with further metadata, of the given names."""

    document: Document
    names: tuple[str, ...]

    def __call__(self) -> Marks:
        whole = self.document.marks
        metadata = whole.nearest(("metadata",))
        own: Any = metadata.children if metadata is not whole else {}
        inside = {**(own or {}), **{name: Marks(metadata.place(), metadata.key) for name in self.names}}
        of_whole: Any = whole.children
        return Marks(whole.mark, whole.key, {**of_whole, "metadata": Marks(metadata.mark, metadata.key, inside)})


def with_value_at(data: Any, path: Path, value: Any) -> Any:
    """Return the data with *value* at *path*. Missing mappings on the way are added."""
    if not path:
        return value
    if isinstance(data, list):
        return [with_value_at(each, path[1:], value) if index == path[0] else each for index, each in enumerate(data)]
    return {**(data or {}), path[0]: with_value_at((data or {}).get(path[0]), path[1:], value)}


def _string_field(data: Any, key: str) -> str:
    value = data.get(key) if isinstance(data, dict) else None
    return value if isinstance(value, str) else ""


def result_of(
    document: Document | DocumentResult, status: Status, *, diff: str | None = None, runs: bool | None = None, reason: str = ""
) -> DocumentResult:
    """Return a result for a decoded document, or a new result for the document of a result."""
    version, kind, name, labels = document.api_version, document.kind, document.name, document.labels
    return DocumentResult(
        document.index,
        status,
        api_version=version,
        kind=kind,
        name=name,
        is_item=document.is_item,
        labels=labels,
        diff=diff,
        runs=runs,
        reason=reason,
    )


def items_of(document: Document) -> list[Document]:
    """The items of a `v1` List as documents of their own; any other document is itself."""
    items = document.data.get("items") if isinstance(document.data, dict) else None
    if document.kind != "List" or document.api_version != "v1" or not isinstance(items, list):
        return [document]
    return [document.part(item, ("items", number)) for number, item in enumerate(items)]


def without_wrapped(documents: Sequence[DocumentOrResult]) -> list[DocumentOrResult]:
    """Leave out manifests inside other objects, since their controllers apply them."""
    wrapping = {each.index for each in documents if each.kind in WRAPPING_KINDS and not each.is_item}
    return [each for each in documents if not (each.is_item and each.index in wrapping)]
