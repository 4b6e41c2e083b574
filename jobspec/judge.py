"""Judge a file's documents: first as the server's own checks do, then as the operators' webhooks do."""

from __future__ import annotations

from jobspec.targets import KINDS
from jobspec.validation.verdict import verdict

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Container, Sequence
    from typing import Literal

    from jobspec.admission.webhooks import Answer, Name, Objects
    from jobspec.diagnostics import Diagnostic
    from jobspec.documents.document import Document
    from jobspec.documents.stored import Stored
    from jobspec.targets import Target
    from jobspec.validation.custom_kinds import CustomKinds

    Status = Literal["valid", "invalid", "partly", "skipped"]

#: The kinds of objects that webhooks look for on behalf of others.
_OFFERED = ("TrainingRuntime", "ClusterTrainingRuntime", "PriorityClass")


class World:
    """What there is besides a file: webhooks, objects that its documents refer to, and those that they are updates of."""

    __slots__ = ("closed", "given", "kinds", "skip_unknown", "stored", "webhooks")

    def __init__(
        self,
        *,
        skip_unknown: bool = False,
        webhooks: bool = True,
        closed: bool = False,
        given: Sequence[Document] = (),
        stored: Stored | None = None,
        kinds: CustomKinds | None = None,
    ) -> None:
        self.skip_unknown = skip_unknown
        """Whether what is no manifest or of no known kind is passed by."""
        self.webhooks = webhooks
        self.closed = closed
        """Whether what is not in the given files, and not shipped by an operator either, does not exist."""
        self.given = given
        """What other given files hold of objects that this file's documents refer to."""
        self.stored = stored
        """The objects that documents are updates of; None where all are new."""
        self.kinds = kinds
        """The kinds that the user brings along, before all others; None where there are none."""

    def of_bases(self) -> World:
        """The world of what overlays are laid on: it is never sent, so that no webhook sees it, and is no update."""
        return World(skip_unknown=self.skip_unknown, webhooks=False, closed=self.closed, given=self.given, kinds=self.kinds)

    def with_given(self, given: Sequence[Document]) -> World:
        """The same world with further objects."""
        given = [*self.given, *given]
        return World(
            skip_unknown=self.skip_unknown, webhooks=self.webhooks, closed=self.closed, given=given, stored=self.stored, kinds=self.kinds
        )


OPEN = World()


class Judged:
    """A document, and what is said to it."""

    __slots__ = ("diagnostics", "document", "old", "seen", "status", "wanted")

    def __init__(
        self,
        document: Document,
        seen: Document,
        old: Document | None,
        status: Status,
        diagnostics: list[Diagnostic],
        wanted: Sequence[Name] = (),
    ) -> None:
        self.document = document
        self.seen = seen
        """The document as a mutating webhook writes it, where there is one."""
        self.old = old
        """The object that the document is an update of, None where it is new."""
        self.status = status
        self.diagnostics = diagnostics
        self.wanted = wanted
        """The objects that it refers to and that do not stand beside it."""

    @property
    def is_offered(self) -> bool:
        """Whether other documents can refer to it: an accepted object of a kind that webhooks look for."""
        return self.document.kind in _OFFERED and self.status in ("valid", "partly")


def judge(
    documents: Sequence[Document], target: Target, world: World, *, skip_unknown: bool = False, broken: Container[int | None] = ()
) -> list[Judged]:
    """What is said to each document of a file; those of a *broken* index cannot even be decoded, whatever else is right.

    Webhooks are asked last about what refers to other objects, since these have to be accepted before.
    """
    judged = [_by_server(document, target, world, skip_unknown=skip_unknown, broken=document.index in broken) for document in documents]
    if not world.webhooks or all(each.status != "valid" for each in judged):
        return judged
    from jobspec.admission.webhooks import Objects

    judged = [each if each.document.kind == "TrainJob" else _by_webhooks(each, target, world, Objects()) for each in judged]
    refused = [each.document for each in judged if each.document.kind in _OFFERED and not each.is_offered]
    objects = Objects([each.document for each in judged if each.is_offered], world.given, refused=refused, closed=world.closed)
    return [_by_webhooks(each, target, world, objects) if each.document.kind == "TrainJob" else each for each in judged]


def _by_server(document: Document, target: Target, world: World, *, skip_unknown: bool, broken: bool) -> Judged:
    old = world.stored.of(document) if world.stored else None
    seen = document
    status, diagnostics = _said(document, target, world, old, skip_unknown=skip_unknown)
    if world.webhooks and (status == "invalid" or document.kind == "JobSet"):
        from jobspec.admission.defaulting import is_rewritten, rewritten

        seen = rewritten(document, target) if is_rewritten(document, target, update=old is not None) else document
        if seen is not document:
            status, diagnostics = _said(seen, target, world, old, skip_unknown=skip_unknown)
    return Judged(document, seen, old, "invalid" if broken and status != "skipped" else status, diagnostics)


def _said(document: Document, target: Target, world: World, old: Document | None, *, skip_unknown: bool) -> tuple[Status, list[Diagnostic]]:
    """The verdict on a document; what is no manifest or of no known kind is skipped or an error, a wrong spelling of our kinds an error."""
    found = verdict(document, target, kinds=world.kinds, old=old)
    if found.status == "unknown":
        return ("skipped", []) if skip_unknown and not found.near_miss else ("invalid", found.diagnostics)
    return found.status, found.diagnostics


def _by_webhooks(judged: Judged, target: Target, world: World, objects: Objects) -> Judged:
    """What validating webhooks add, which are asked only where the server has nothing against a document.

    They know the types of their own release; what only a CRD of the user's takes they are not asked about.
    """
    if judged.status != "valid" or (world.kinds and verdict(judged.seen, target).status != "valid"):
        return judged
    found = _answer(judged.seen, target, objects, judged.old)
    status: Status = "valid" if found.accepts else "invalid"
    return Judged(judged.document, judged.seen, judged.old, status, [*judged.diagnostics, *found.diagnostics], found.wanted)


def _answer(document: Document, target: Target, objects: Objects, old: Document | None) -> Answer:
    """What the webhooks of a document's kind say to it; each is loaded only for documents that it sees."""
    from jobspec.admission.webhooks import Answer, told
    from jobspec.workloads import Workload

    component = KINDS.get((document.api_version, document.kind))
    if component == "trainer" and document.kind == "TrainJob":
        from jobspec.admission.references import answer_to_trainjob

        return answer_to_trainjob(document, target, objects, old=old)
    if component == "training-operator":
        from jobspec.admission.pytorchjob import RULES
    elif component == "trainer":
        from jobspec.admission.runtime import RULES
    elif component == "jobset":
        from jobspec.admission.jobset import RULES
    else:
        return Answer([])
    return Answer(told(RULES, Workload(document, old=old), target))


def name_of(document: Document) -> Name:
    """What an object is known by; a namespace counts only for what has one."""
    return document.kind, document.namespace if document.kind == "TrainingRuntime" else "", document.name
