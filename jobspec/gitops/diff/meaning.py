"""What a change means in the cluster, for one object."""

from __future__ import annotations

from jobspec.gitops.diff.effects import effect_of
from jobspec.gitops.diff.refusals import refusals
from jobspec.gitops.engines.replacing import ARGOCD, FLUX
from jobspec.workloads import is_workload, value_at

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Literal

    from jobspec.cluster import Cluster
    from jobspec.documents.document import Document
    from jobspec.gitops.diff.changes import FieldChange

    #: `new-run`: a job starts, and that of the old name goes or stays; `replaced`: deleted and made anew under its name; `refused`: the
    #: server does not take the update; `ignored`: it takes it, and nothing happens; `created`, `removed`: an object that comes or goes.
    Meaning = Literal["new-run", "replaced", "in-place", "refused", "ignored", "created", "removed"]

#: From the most to the least that a reviewer wants to know of.
MEANINGS: tuple[Meaning, ...] = ("refused", "ignored", "replaced", "new-run", "removed", "created", "in-place")

_ANNOTATIONS = ("metadata", "annotations")
_CLAIM = "PersistentVolumeClaim"


class ObjectChange:
    """What happens to one object."""

    __slots__ = ("document", "fields", "follows", "is_pruned", "kind", "meaning", "name", "namespace", "notes")

    def __init__(
        self,
        document: Document,
        meaning: Meaning,
        fields: Sequence[tuple[FieldChange, Meaning]] = (),
        notes: Sequence[str] = (),
        *,
        follows: str = "",
        is_pruned: bool = True,
    ) -> None:
        self.document = document
        """The object after the change; one that goes, before it."""
        self.kind = document.kind
        self.namespace = document.namespace
        self.name = document.name
        self.meaning = meaning
        self.fields = fields
        """The changed fields, each with what its change means."""
        self.notes = notes
        """What else there is to say, each as one sentence."""
        self.follows = follows
        """Of a new run: the name of the job before it; empty where there was none."""
        self.is_pruned = is_pruned and bool(follows)
        """Whether that job is pruned; it is not where the variant keeps earlier runs."""

    def with_note(self, note: str) -> ObjectChange:
        """The same with another note."""
        notes = [*self.notes, note]
        return ObjectChange(self.document, self.meaning, self.fields, notes, follows=self.follows, is_pruned=self.is_pruned)


def created(document: Document) -> ObjectChange:
    """An object that was not there."""
    return ObjectChange(document, "new-run" if is_workload(document) else "created")


def removed(document: Document) -> ObjectChange:
    """An object that is rendered no more, and pruned."""
    notes = ["its volume goes with it, unless the volume's reclaim policy keeps it"] if document.kind == _CLAIM else []
    return ObjectChange(document, "removed", notes=notes)


def new_run(old: Document, new: Document, changes: Sequence[FieldChange], *, is_pruned: bool) -> ObjectChange:
    """A job under another name than before; *is_pruned*: whether the old one goes."""
    return ObjectChange(new, "new-run", [(each, "new-run") for each in changes], follows=old.name, is_pruned=is_pruned)


def returned(old: Document, new: Document, changes: Sequence[FieldChange]) -> ObjectChange:
    """A job that is an earlier run again, which `history` kept."""
    note = "this is an earlier run again, which is still kept: it becomes the newest one, and nothing is started"
    return ObjectChange(new, "ignored", [(each, "ignored") for each in changes], [note], follows=old.name, is_pruned=False)


def update(old: Document, new: Document, changes: Sequence[FieldChange], beside: Sequence[Document], cluster: Cluster) -> ObjectChange:
    """The update of an object; an engine deletes and makes anew what the server refuses to change, where the object asks for it."""
    refused = refusals(old, new, changes, beside, cluster)
    if refused:
        meaning: Meaning = "replaced" if is_forced(new) else "refused"
        return ObjectChange(new, meaning, [(each, meaning) for each in changes], refused)
    effects = [effect_of(each, old, new) for each in changes]
    meanings: list[Meaning] = ["in-place" if each.heeded else "ignored" for each in effects]
    notes = list(dict.fromkeys(each.note for each in effects if each.note))
    return ObjectChange(new, gravest(meanings), list(zip(changes, meanings, strict=True)), notes)


def is_forced(document: Document) -> bool:
    """Whether an object tells its engine to delete it and make it anew where it cannot be changed."""
    by_flux, by_argo_cd = (str(value_at(document.data, (*_ANNOTATIONS, name)) or "") for name, _ in (FLUX, ARGOCD))
    return by_flux.lower() == "enabled" or "Force=true" in by_argo_cd.replace(" ", "").split(",")


def gravest(meanings: Sequence[Meaning]) -> Meaning:
    """The meaning of several changes together; `in-place` where there are none."""
    return min(meanings, key=MEANINGS.index, default="in-place")
