"""Apply a manifest again to the object that was made of it, in a world: what a webhook or policy added at the creation alone may be lost.

Follows `jobSetWebhook.Default`, sigs.k8s.io/jobset pkg/webhooks, 0.12.0, which is called for new JobSets alone.
"""

from __future__ import annotations

import jobspec.apis.kinds as kinds
from jobspec.diagnostics.diagnostic import Diagnostic, has_error
from jobspec.diagnostics.record import Record
from jobspec.go.values import mapping
from jobspec.kubernetes.applying import applied
from jobspec.kubernetes.verdict import verdict
from jobspec.operators.jobset_defaults import with_jobset_defaults
from jobspec.operators.webhooks import Objects
from jobspec.schemas import shapes
from jobspec.world.judged import Judged
from jobspec.world.policies import changed_by_policies, made_by_policies
from jobspec.world.webhooks import review
from jobspec.world.world import StoredObjects

TYPE_CHECKING = False
if TYPE_CHECKING:
    from jobspec.diagnostics.places import Data, Mark
    from jobspec.documents.document import Document
    from jobspec.kubernetes.applying import Side
    from jobspec.kubernetes.index import Index
    from jobspec.world.world import Cluster


#: What to write in place of the defaults of JobSet's webhook, by the field that lacks them.
_WRITTEN = {
    "spec.replicatedJobs": "write `completionMode` and `restartPolicy` in each replicated job",
    "spec.failurePolicy": "write a `name` for each rule",
    "spec.volumeClaimPolicies": "write a `retentionPolicy` in each policy",
}


class LostInApply(Record):
    """Why the server refuses a later apply: it takes away what was added at the creation."""

    mark: Mark
    field: str
    by_policy: bool
    """Whether an admission policy added it; else a webhook did."""
    on_server: bool
    """Whether a server-side apply is refused, too."""

    @property
    def message(self) -> str:
        """Say which later apply is refused, and why."""
        which = "each later apply" if self.on_server else "a later client-side apply"
        place = self.field.partition("[")[0]
        why = f"a policy adds to `{place}` at CREATE alone" if self.by_policy else f"JobSet's defaults in `{place}` are lost"
        return f"{which} is refused: {why}"

    @property
    def hint(self) -> str:
        """Say what to do so that a later apply is accepted."""
        own = next((way for field, way in _WRITTEN.items() if self.field.startswith(field)), "write them")
        way = "have the policy match UPDATE" if self.by_policy else own
        return way if self.on_server else f"{way}, or apply with --server-side (Argo CD: `ServerSideApply=true`)"


def may_be_changed(document: Document, policies: Index | None) -> bool:
    """True if a webhook or policy may add a value that a later apply would remove."""
    is_object = document.api_version and document.kind and document.name
    return bool(is_object) and (document.group_kind == kinds.JOBSET or bool(policies and policies.change_objects))


def as_applied(document: Document, before: Document, cluster: Cluster, side: Side) -> tuple[Document, Document]:
    """Return the object made of *before*, after an apply of a document and as it was.

    Both have the defaults of JobSet's webhook, which it fills in at the creation alone. Other kinds have none of that sort.
    """
    if document.group_kind != kinds.JOBSET:
        return document, before
    made = _as_created(before, cluster, None)
    return document.changed(_applied(document, before, made, cluster, side)), before.changed(made)


def lost_in_apply(document: Document, before: Document, cluster: Cluster, policies: Index | None, side: Side) -> LostInApply | None:
    """Return the values that an apply removes from the object made of *before*.

    If the server accepts the apply, return None.
    """
    if not may_be_changed(document, policies):
        return None
    cluster = cluster.updating(StoredObjects((), is_live=True))  # policies have added to what is updated
    made = _as_created(before, cluster, policies)
    if has_error(verdict(before.changed(made), cluster.target, custom_kinds=cluster.custom_kinds).diagnostics):
        return None  # no server has stored it
    refused = _refused(document, before, made, cluster, policies, side)
    if refused is None or _refused(document, before, before.data, cluster, policies, side):
        return None  # the change itself is refused
    on_server = side == "server" or _refused(document, before, made, cluster, policies, "server") is not None
    plain = _as_created(before, cluster, None)
    by_policy = _refused(document, before, plain, cluster, None, side) is None
    return LostInApply(refused.mark, refused.field, by_policy, on_server)


def _as_created(document: Document, cluster: Cluster, policies: Index | None) -> Data:
    """Return the object that a server makes of a new document."""
    data: Data = made_by_policies(document, policies, cluster) if policies and policies.change_objects else document.data
    if document.group_kind == kinds.JOBSET:
        data = {**data, "spec": with_jobset_defaults(mapping(data, "spec"))}
    return data


def _applied(document: Document, before: Document, made: Data, cluster: Cluster, side: Side) -> Data:
    """Return the object that an apply makes of the object that the server *made* of the one before."""
    known = kinds.find(document.api_version, document.kind)
    shape = shapes.load(document.api_version, document.kind, cluster.target)
    found: Data = applied(made, before.data, document.data, shape, side, is_builtin=bool(known and known.is_builtin))
    return found


def _refused(document: Document, before: Document, made: Data, cluster: Cluster, policies: Index | None, side: Side) -> Diagnostic | None:
    """Return why the server refuses an apply to the object that it *made*; None if it does not."""
    data = _applied(document, before, made, cluster, side)
    if data == made:
        return None
    new, old = document.changed(data), before.changed(made)
    update = Judged(new, verdict(new, cluster.target, custom_kinds=cluster.custom_kinds, old=old), old=old)
    if policies and policies.change_objects:
        update, _ = changed_by_policies(update, policies, cluster)
    found = update.by_server.diagnostics
    if not has_error(found) and document.group_kind == kinds.JOBSET:
        found = review(update.seen, cluster.target, Objects(), old=old).diagnostics
    return next((each for each in found if each.severity == "error"), None)
