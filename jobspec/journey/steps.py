"""A file on its way: its text, its documents, its result."""

from __future__ import annotations

import jobspec.apis.kinds as kinds
from jobspec.diagnostics.diagnostic import Diagnostic
from jobspec.diagnostics.record import Record
from jobspec.diagnostics.results import DocumentResult, FileResult
from jobspec.documents.document import Document
from jobspec.journey.parts import PART
from jobspec.operators.workloads import is_workload

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence, Set
    from dataclasses import KW_ONLY
    from typing import Protocol, Self

    from jobspec.apis.kinds import GroupKind
    from jobspec.kubernetes.index import Question
    from jobspec.operators.webhooks import Objects
    from jobspec.repository.in_build import AppliedFolder, InBuild
    from jobspec.repository.source_files import SourceFiles
    from jobspec.repository.substitution import Variables
    from jobspec.world.judged import Judged
    from jobspec.world.world import Cluster

    class GivenFile(Protocol):
        """A file that a journey starts from."""

        @property
        def folder(self) -> str:
            """The folder whose files are applied together. Quotas and limits without a namespace reach no further."""

        @property
        def is_left_out(self) -> bool:
            """True if the file is not applied with the others. Its quotas, limits and policies do not count then."""

        @property
        def has_placeholders(self) -> bool:
            """True if others fill in values of the file. The journey checks it with stand-ins for them."""

        def load(self, world: Cluster) -> Manifests:
            """Read the documents of the file, and apply overlays that *world* takes."""

        def parts_with(self, kinds: Collection[GroupKind], words: Collection[str]) -> Sequence[Self]:
            """Return the parts of the file that seem to hold objects of some kinds, with one of some words unless there are none."""

    #: A document that refers to objects which are not in its own file and may be in others, and the objects that it was reviewed with.
    Pending = tuple[Judged, Objects]


class Source(Record):
    """A file's content under its name."""

    name: str
    content: str | bytes
    _: KW_ONLY
    skip_unknown: bool = False
    """Whether a document that is no manifest or of an unknown kind is skipped and counted, instead of an error."""
    in_build: InBuild | None = None
    """The role of the file in the builds of its repository; None where it is judged by itself."""
    part: int = 0
    """The number of the part of a large file that it is."""
    first_line: int = 0
    """How many lines of the file are before it."""
    substitution: Variables | None = None
    """What fills in placeholders; None where neither Flux nor the user does."""
    files: SourceFiles | None = None
    """Reads the files that it is built of; None if it is judged by itself."""

    @property
    def key(self) -> str:
        """The path of its result: the name, with the number of a later part behind a NUL."""
        return f"{self.name}{PART}{self.part}" if self.part else self.name


class Manifests(Record):
    """The documents of a file, as they are read or with overlays applied."""

    name: str
    documents: Sequence[Document]
    diagnostics: Sequence[Diagnostic] = ()
    _: KW_ONLY
    text: str = ""
    """The text that the documents were read from; empty where overlays were applied."""
    skip_unknown: bool = False
    settled: Sequence[DocumentResult] | None = None
    """The results of the documents where no check follows: the file is skipped, or overlays cannot be applied. None otherwise."""
    comments: bool = False
    """Whether the file may have comments that ignore findings."""
    sync: str = ""
    """The folder that an engine applies the file with; empty where none does."""
    substitution: Variables | None = None
    """What fills in placeholders; None where neither Flux nor the user does."""
    by_engine: AppliedFolder | None = None
    """How an engine applies the file; None if no engine is known to."""


class LoadedFile(Record):
    """Manifests that are read already, given as a file to a journey."""

    manifests: Manifests
    folder: str = ""
    is_left_out: bool = False
    has_placeholders: bool = False

    def load(self, _: Cluster) -> Manifests:
        """Return the manifests."""
        return self.manifests

    def parts_with(self, _: Collection[GroupKind], __: Collection[str]) -> Sequence[Self]:
        """Return no parts: the file is not read again."""
        return ()


class Checked(Record):
    """A file's result, and its documents."""

    result: FileResult
    documents: Sequence[Document]
    """The documents that can be rendered: all but skipped ones without a kind or name."""
    objects: Sequence[Document] = ()
    """The accepted objects that documents of other files can refer to."""
    pending: Sequence[Pending] = ()
    """The documents on which the verdict depends on objects of other files."""
    unforeseen: Sequence[Document] = ()
    """The accepted jobs of which nobody can say what becomes of them before their runtimes are found in other files."""
    _: KW_ONLY
    asked: Set[Question] = frozenset()
    """The questions about objects that were asked of the world to foresee what becomes of its jobs."""
    refused: Sequence[Document] = ()
    """The refused objects that jobs of other files can name."""
    comments: bool = False
    """Whether the file may have comments that ignore findings."""
    sync: str = ""
    """The folder that an engine applies the file with; empty where none does."""
    by_server: bool = False
    """Whether an engine applies the file server-side."""
    filled_in_by_engine: bool = False
    """Whether an engine alone fills in placeholders, so that no other program does before."""
    settled: bool = False
    """Whether no webhook has seen the documents, such as bases that overlays cannot be applied to."""
    awaits_outcome: bool = False
    """Whether the outcomes of its jobs are still to be foreseen, among the objects of all files."""
    substitution: Variables | None = None
    """What fills in placeholders until the outcomes are foreseen; None where neither Flux nor the user does."""
    is_filled: bool = False
    """Whether values stand in for placeholders of the documents."""
    corrected: Mapping[int, Document] = {}
    """The refused documents, by their place in *documents*, that later stages see with their unknown fields corrected."""

    @property
    def seen(self) -> list[Document]:
        """The documents as later stages see them."""
        return [self.corrected.get(at, each) for at, each in enumerate(self.documents)]

    @property
    def has_jobs(self) -> bool:
        """Whether jobs are among the accepted documents."""
        return any(each.status == "valid" and is_workload(each) for each in self.result.documents)

    def with_objects_named_in(self, manifests: Manifests) -> Checked:
        """The same without the objects for other files whose name is not the one that is written, but stands in for it.

        An object whose namespace is a placeholder may be in any; one that decides on others then does not.
        """
        written = {(each.index, each.name, each.namespace) for each in manifests.documents}
        names = {(each.index, each.name) for each in manifests.documents}

        def is_known(each: Document) -> bool:
            may_be_anywhere = not each.namespace and each.group_kind not in kinds.DECIDING
            return (each.index, each.name, each.namespace) in written or (may_be_anywhere and (each.index, each.name) in names)

        return self.changed(objects=[each for each in self.objects if is_known(each)])


def document_key(each: DocumentResult | Document) -> tuple[int, str, str, str]:
    """The key by which a row of a result finds its document."""
    return each.index, each.api_version, each.kind, each.name


def reaches(document: Document, folder: str, other: str) -> bool:
    """Whether an object of one folder applies in another one: quotas and limits without a namespace do not."""
    return folder == other or bool(document.namespace) or document.group_kind not in (kinds.LIMIT_RANGE, kinds.RESOURCE_QUOTA)
