"""What a change of a job under a fixed name comes to: the server refuses it, the operator does not heed it, or the engine starts over."""

from __future__ import annotations

from jobspec.diagnostics import Diagnostic
from jobspec.gitops.diff import meaning
from jobspec.gitops.diff.changes import changes
from jobspec.gitops.diff.fields import fields_of
from jobspec.gitops.engines.replacing import SPEC_HASH
from jobspec.gitops.rendering import identity_of, objects_of
from jobspec.gitops.tree import as_rendered
from jobspec.workloads import is_workload, value_at

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from jobspec.cluster import Cluster
    from jobspec.documents.document import Document
    from jobspec.gitops.diff.meaning import ObjectChange
    from jobspec.gitops.rendering import RenderedVariant
    from jobspec.gitops.variants import Variant

_COMES_TO = {
    "refused": "the server refuses the change",
    "ignored": "nothing heeds the change",
    "replaced": "the engine deletes the job and makes it anew, whatever runs in it",
}
_DERIVED = ("metadata", "annotations", SPEC_HASH)


def committed_before(rendered: RenderedVariant, before: Mapping[str, bytes]) -> bytes | None:
    """The job of a variant as it is committed under the same name; None where it is the same, or new.

    *before* has the files of the variant's folder, by their paths in the tree.
    """
    job = next((each for each in rendered.objects if each.is_job), None)
    committed = before.get(f"{rendered.name}/{job.file}") if job else None
    return None if job is None or committed == as_rendered(job.text) else committed


def unchangeable(variant: Variant, committed: bytes, cluster: Cluster) -> Iterator[Diagnostic]:
    """A warning where a variant changes the job that is *committed* under the same name in a field that cannot be changed."""
    documents, _ = objects_of(variant, cluster)
    new = next(filter(is_workload, documents))
    old = _document_in(committed)
    if old and identity_of(old) == identity_of(new):
        yield from _warning(old, new, documents, cluster)


def _document_in(content: bytes) -> Document | None:
    from jobspec.documents.reader import read

    documents, _ = read(content.decode(errors="replace"), file="")
    return documents[0] if documents else None


def _warning(old: Document, new: Document, beside: Sequence[Document], cluster: Cluster) -> Iterator[Diagnostic]:
    target = cluster.target
    found = [each for each in changes(fields_of(old, target), fields_of(new, target)) if each.path != _DERIVED]
    if not found:
        return
    change = meaning.update(old, new, found, beside, cluster)
    comes_to = "replaced" if _is_replaced(old, new) else change.meaning
    if comes_to not in _COMES_TO:
        return
    said = [each for each, what in change.fields if each.path[0] == "spec" and (what != "in-place" or comes_to == "replaced")]
    names = ", ".join(f"`{each.field}`" for each in said[:3]) + (f" and {len(said) - 3} more" if len(said) > 3 else "")
    message = f"the job keeps its fixed name, and {names} differs from what is committed: {_why(comes_to, change)}"
    place = next((each.place for each in said if each.place), new.marks.nearest(("metadata", "name")).place())
    hint = "leave out `naming: fixed`, so that a change is a new run"
    yield Diagnostic("fixed-name", message, place, field=said[0].field if said else "", hint=hint, severity="warning")


def _is_replaced(old: Document, new: Document) -> bool:
    """Whether an engine replaces the job for its changed spec, whose hash is then in an annotation."""
    before, after = (value_at(each.data, _DERIVED) for each in (old, new))
    return after is not None and after != before


def _why(comes_to: str, change: ObjectChange) -> str:
    """What the change comes to, with the first reason that is known."""
    reason = f" ({change.notes[0]})" if change.notes and comes_to != "replaced" else ""
    return _COMES_TO[comes_to] + reason
