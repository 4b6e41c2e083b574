"""Whole files migrated: each job and runtime in them, what is told of it, and the new text of the file."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from jobspec.diagnostics import Diagnostic
from jobspec.documents.atomic_writes import HEADER
from jobspec.documents.comments import placed_comments
from jobspec.documents.document import Document
from jobspec.documents.libyaml import YAMLError
from jobspec.documents.markdown import is_page
from jobspec.documents.marked_tree import MarkedTree
from jobspec.documents.reader import is_json
from jobspec.documents.syntax import cut
from jobspec.documents.writer import write
from jobspec.kinds import PYTORCHJOB, TRAINJOB
from jobspec.migrate.jobs import LOST, Migrated, as_document, cannot, loss_report, migrate_pytorchjob
from jobspec.migrate.lists import JsonStyle, items_in, with_comments, with_items
from jobspec.migrate.releases import KINDS, RUNTIMES, migrate_runtime, migrate_trainjob
from jobspec.operators.trainer.runtimes import RuntimeRef, runtime_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from jobspec.cluster import Cluster
    from jobspec.kinds import GroupKind

    #: What becomes of a document: the trees that take its place, if any do, and what is told of it.
    Outcome = tuple[Sequence[MarkedTree], Sequence[Diagnostic]]
    #: Which document of a file: its index, and the number of the item where it is one of a List.
    Place = tuple[int, int | None]


@dataclass(frozen=True, slots=True)
class File:
    """A file to migrate: its documents, as they were checked."""

    name: str
    text: str
    documents: Sequence[Document]

    @property
    def is_rendered(self) -> bool:
        """Whether jobspec writes the file itself, from others."""
        return self.text.startswith(HEADER)


@dataclass(frozen=True, slots=True)
class MigratedFile:
    """A file after the migration."""

    file: File
    text: str
    diagnostics: Sequence[Diagnostic]

    @property
    def is_changed(self) -> bool:
        """Whether its text is another one."""
        return self.text != self.file.text

    @property
    def has_losses(self) -> bool:
        """Whether anything of its jobs is lost, or one cannot be migrated."""
        return any(each.rule == LOST or each.severity == "error" for each in self.diagnostics)


def to_trainjobs(files: Sequence[File], cluster: Cluster, *, gang_scheduler: str) -> list[MigratedFile]:
    """Files in which each PyTorchJob is a TrainJob of the cluster's trainer."""
    there = {id(file): list(file.documents) for file in files}

    def outcome(job: Document, file: File) -> Outcome:
        if job.group_kind != PYTORCHJOB:
            return (), ()
        if file.is_rendered:
            return (), [_rendered(job)]
        found = migrate_pytorchjob(job, _beside(file, files), cluster, gang_scheduler=gang_scheduler)
        if not isinstance(found, Migrated):
            return (), [found]
        taken = next((each for each in there[id(file)] for new in found.documents if _identity(each) == _identity(new)), None)
        if taken:
            return (), [cannot(job, f"it would be or need the {taken.kind} `{taken.name}`, and its file has one already")]
        there[id(file)] += found.documents
        return found.trees, loss_report(found)

    return [_migrated(each, outcome) for each in files]


def to_release(files: Sequence[File], before: Cluster, cluster: Cluster) -> list[MigratedFile]:
    """Files in which TrainJobs and runtimes are in the words of the cluster's trainer, and were in those of another."""
    sources = [each for each in files if not each.is_rendered]
    runtimes = {
        id(each): migrate_runtime(each, cluster.target) for file in sources for each in file.documents if each.group_kind in RUNTIMES
    }

    def new(document: Document) -> Document:
        return as_document(runtimes[id(document)][0], document) if id(document) in runtimes else document

    def outcome(document: Document, file: File) -> Outcome:
        if id(document) in runtimes:
            tree, diagnostics = runtimes[id(document)]
            return _if_other(tree, document), diagnostics
        if file.is_rendered and document.group_kind in KINDS:
            return (), [_rendered(document)]
        if document.group_kind != TRAINJOB:
            return (), ()
        beside = _beside(file, files)
        if runtime_of(document, beside, before.target) is None:
            ref = RuntimeRef(document.data)
            return (), [cannot(document, f"its {ref.kind} `{ref.name}` is not at hand; give the file of it, too")]
        found, dropped = migrate_trainjob(document, beside, [new(each) for each in beside if each is not document], before.target, cluster)
        if found.refusals:
            return (), [cannot(document, "; ".join(dict.fromkeys(found.refusals)))]
        return _if_other(found.trees[0], document), _with_dropped(loss_report(found), dropped)

    return [_migrated(each, outcome) for each in files]


def _rendered(document: Document) -> Diagnostic:
    why = "jobspec has rendered it: migrate what it is rendered from, and render again"
    return cannot(document, why, severity="warning")


def _identity(document: Document) -> tuple[GroupKind, str, str]:
    """What no two objects have in common; an object whose name the server makes has it with no other."""
    return document.group_kind, document.namespace, document.name or str(document.marks.mark)


def _beside(file: File, files: Sequence[File]) -> list[Document]:
    return [*file.documents, *(each for other in files if other is not file for each in other.documents)]


def _if_other(tree: MarkedTree, document: Document) -> Sequence[MarkedTree]:
    return [tree] if tree.data() != document.data else ()


def _with_dropped(diagnostics: Sequence[Diagnostic], dropped: Sequence[Diagnostic]) -> list[Diagnostic]:
    """What is told of a job's pods, and of the fields that are gone those that it does not tell of."""
    places = {str(each.mark) for each in diagnostics}
    return [*diagnostics, *(each for each in dropped if str(each.mark) not in places)]


def _migrated(file: File, outcome: Callable[[Document, File], Outcome]) -> MigratedFile:
    outcomes = {place_of(each): (each, *outcome(each, file)) for each in file.documents}
    new = {place: trees for place, (_, trees, _) in outcomes.items() if trees}
    kept = irreplaceable(file.text, file.documents, new)
    diagnostics: list[Diagnostic] = []
    for place, (document, _, said) in outcomes.items():
        diagnostics += [cannot(document, kept[place])] if place in kept else said
    wanted = {place: trees for place, trees in new.items() if place not in kept}
    return MigratedFile(file, replaced(file.text, file.documents, wanted) if wanted else file.text, diagnostics)


# The text of a file in which some documents are replaced by others: all that is not replaced keeps its bytes.
#
# What is JSON stays JSON, and the items of a `v1` List stay in it.


_BEGIN = "---"
_BOM = "\ufeff"
_START = re.compile(r"---[ \t]*(?:#[^\n]*|\r)?\n")


class _Piece:
    """A part of a file that ends before the next `---`."""

    __slots__ = ("first_line", "places", "text")

    def __init__(self, text: str, first_line: int, documents: Sequence[Document]) -> None:
        self.text = text
        self.first_line = first_line
        """How many lines stand before it."""
        last_line = first_line + text.count("\n") + (not text.endswith("\n"))
        self.places = [place_of(each) for each in documents if first_line < each.marks.mark.line <= last_line]

    @property
    def newline(self) -> str:
        """How its lines end."""
        return "\r\n" if "\r\n" in self.text else "\n"


def place_of(document: Document) -> Place:
    """The place of a document in its file."""
    return document.index, int(document.inside[1]) if document.inside else None


def replaced(text: str, documents: Sequence[Document], new: Mapping[Place, Sequence[MarkedTree]]) -> str:
    """A file's text with the documents at some places replaced by the trees *new*; without any, the text itself."""
    lines = text.removeprefix(_BOM).split("\n")
    is_one = is_json(text.removeprefix(_BOM))
    parts = [_rewritten(each, new, lines, is_one=is_one) for each in _pieces(text, documents)]
    ended = [each if each.endswith("\n") or number == len(parts) else f"{each}\n" for number, each in enumerate(parts, 1)]
    return (_BOM if text.startswith(_BOM) else "") + "".join(ended)


def irreplaceable(text: str, documents: Sequence[Document], places: Collection[Place]) -> dict[Place, str]:
    """Those of the documents at *places* that cannot be replaced in a file's text, and why, if all of the others are."""
    found: dict[Place, str] = {}
    if is_page(text):
        found |= {place_of(each): "its fence is set in; move it to the left margin" for each in documents if each.marks.mark.column > 1}
    for piece in _pieces(text, documents):
        items = {number: (index, number) for index, number in piece.places if number is not None and (index, number) in places}
        found |= {items[number]: why for number, why in _tied(piece.text, set(items))} if items else {}
    return found


def _pieces(text: str, documents: Sequence[Document]) -> Iterator[_Piece]:
    for piece, first_line in cut(text.removeprefix(_BOM)):
        yield _Piece(piece, first_line, documents)


def _tied(piece: str, wanted: set[int]) -> Iterator[tuple[int, str]]:
    """The items of a List that cannot be replaced, and why."""
    try:
        found = items_in(piece)
    except YAMLError as error:
        yield from ((each, f"the text of its List cannot be taken apart: {error}") for each in wanted)
        return
    aliases = {each for each in wanted if each >= len(found.items) or found.items[each].is_alias}
    yield from ((each, "its List has an alias in its place; write it out there") for each in aliases)
    free = wanted - aliases
    while tied := {owner for owner, user in found.users if owner in free and user not in free}:
        yield from ((each, "an alias elsewhere in its List stands for a part of it; write that out there") for each in tied)
        free -= tied


def _rewritten(piece: _Piece, new: Mapping[Place, Sequence[MarkedTree]], lines: Sequence[str], *, is_one: bool) -> str:
    """A piece with the new trees in it. *is_one*: its file is one value of JSON."""
    wanted = {number: new[index, number] for index, number in piece.places if (index, number) in new}
    if not wanted:
        return piece.text
    if None not in wanted:
        items = {number: trees for number, trees in wanted.items() if number is not None}
        return with_items(piece.text, piece.first_line, items, lines, newline=piece.newline)
    if is_json(piece.text.removeprefix(_BEGIN)):
        return _as_json(piece, wanted[None], is_one=is_one)
    start = _START.match(piece.text)
    body = piece.text[start.end() :] if start else piece.text.removeprefix(_BEGIN)
    comments = list(placed_comments(body, piece.first_line + bool(start)))
    texts, below = with_comments(wanted[None], comments, lines, lambda data: write([data]))
    text = f"{_BEGIN}\n".join(texts) + "".join(f"{each}\n" for each in below)
    begins = start[0] if start else f"{_BEGIN}{piece.newline}" if piece.text.startswith(_BEGIN) else ""
    return begins + text.replace("\n", piece.newline)


def _as_json(piece: _Piece, trees: Sequence[MarkedTree], *, is_one: bool) -> str:
    """A piece of JSON; several objects are a `v1` List, where nothing but JSON can be in the file."""
    start, end = piece.text.index("{"), piece.text.rindex("}") + 1
    style = JsonStyle(piece.text, start, end)
    data = [each.data() for each in trees]
    if is_one and len(data) > 1:
        data = [{"apiVersion": "v1", "kind": "List", "items": data}]
    text = f"\n{_BEGIN}\n".join(map(style.write, data))
    return piece.text[:start] + text.replace("\n", piece.newline) + piece.text[end:]
