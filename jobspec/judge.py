"""Judge documents in a cluster: by the API server's own checks, then by the operators' webhooks."""

from __future__ import annotations

from jobspec import kinds
from jobspec.diagnostics import has_error
from jobspec.kubernetes.verdict import Verdict, verdict

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Container, Sequence
    from typing import Literal

    from jobspec.admission.webhooks import Objects
    from jobspec.cluster import Cluster
    from jobspec.diagnostics import Diagnostic
    from jobspec.documents.document import Document
    from jobspec.kubernetes.admission.objects import Name, PolicyObjects

    #: `unknown`: the document is no manifest, or of a kind that jobspec does not know.
    Judgement = Literal["valid", "invalid", "partly", "unknown"]


_REFERRED = frozenset((*kinds.LOOKED_UP, *kinds.DECIDING, *kinds.AWAITED))


class Judged:
    """A document, with the server's verdict and the diagnostics of the webhooks."""

    __slots__ = ("by_server", "by_webhooks", "document", "old", "seen", "wanted")

    def __init__(
        self,
        document: Document,
        by_server: Verdict,
        *,
        seen: Document | None = None,
        old: Document | None,
        by_webhooks: Sequence[Diagnostic] = (),
        wanted: Sequence[Name] = (),
    ) -> None:
        self.document = document
        self.by_server = by_server
        self.seen = seen or document
        """The document that the validating webhooks see: rewritten by a mutating one, and as Go decodes what breaks its schema."""
        self.old = old
        """The stored object that the document updates; None for a new object."""
        self.by_webhooks = by_webhooks
        self.wanted = wanted
        """The objects that a webhook looks up and does not find in the same file."""

    def reviewed(self, diagnostics: Sequence[Diagnostic], wanted: Sequence[Name] = ()) -> Judged:
        """The same with the diagnostics of the webhooks."""
        return Judged(self.document, self.by_server, seen=self.seen, old=self.old, by_webhooks=diagnostics, wanted=wanted)

    def seen_as(self, seen: Document, *, old: Document | None) -> Judged:
        """The same with other documents for the webhooks to see."""
        return Judged(self.document, self.by_server, seen=seen, old=old, by_webhooks=self.by_webhooks, wanted=self.wanted)

    @property
    def status(self) -> Judgement:
        """The verdict of both."""
        return "invalid" if has_error(self.by_webhooks) else self.by_server.status

    @property
    def diagnostics(self) -> list[Diagnostic]:
        """The diagnostics of both."""
        return [*self.by_server.diagnostics, *self.by_webhooks]

    @property
    def can_be_looked_up(self) -> bool:
        """Whether the document is an accepted object of a kind that webhooks or the server's own plugins look up."""
        return self.document.group_kind in _REFERRED and self.status in ("valid", "partly")


def judge(documents: Sequence[Document], cluster: Cluster, *, broken: Container[int | None] = ()) -> list[Judged]:
    """The judgement of each document of a file; documents with a *broken* index are invalid, since decoding them found an error.

    What refers to others is reviewed last, since only accepted objects can be referred to.
    """
    judged = [_by_server(document, cluster, broken=document.index in broken) for document in documents]
    if not any(_is_reviewed(each, cluster) for each in judged):
        return judged
    from jobspec.admission.webhooks import Objects

    judged = [each if _refers(each) else reviewed(each, Objects(), cluster) for each in judged]
    if not any(map(_refers, judged)):
        return judged
    objects = objects_beside(judged, cluster)
    policies = policies_beside(objects) if any(each.document.group_kind in kinds.REVIEWED for each in judged) else None
    return [reviewed(each, objects, cluster, policies) if _refers(each) else each for each in judged]


def _is_reviewed(judged: Judged, cluster: Cluster) -> bool:
    """Whether webhooks or plugins look at a document."""
    kind = judged.document.group_kind
    return kind in kinds.REVIEWED or (cluster.webhooks and (judged.status == "valid" or kind in kinds.LOOKED_UP))


def _refers(judged: Judged) -> bool:
    """Whether what is said of a document depends on others."""
    kind = judged.document.group_kind
    return kind == kinds.TRAINJOB or (kind in kinds.REVIEWED and kind != kinds.NAMESPACE)


def objects_beside(judged: Sequence[Judged], cluster: Cluster) -> Objects:
    """The objects that webhooks and plugins can look up for the documents of one file: those in the file, and the cluster's."""
    from jobspec.admission.webhooks import Objects

    found = [each for each in judged if each.document.group_kind in _REFERRED]
    accepted = [each.seen for each in found if each.can_be_looked_up]
    refused = [each.document for each in found if not each.can_be_looked_up]
    return Objects(accepted, cluster.objects, refused=refused, closed=cluster.closed)


def policies_beside(objects: Objects) -> PolicyObjects | None:
    """The objects that decide on pods and claims, and those that pods may wait for where there are no others; None without any."""
    found = (*objects.elsewhere, *objects.beside)
    wanted = (*kinds.DECIDING, *kinds.AWAITED) if objects.closed else kinds.DECIDING
    if not any(each.group_kind in wanted for each in found):
        return None
    from jobspec.kubernetes.admission.objects import policies_of

    return policies_of(found, closed=objects.closed)


def _by_server(document: Document, cluster: Cluster, *, broken: bool) -> Judged:
    old = cluster.stored.of(document) if cluster.stored else None
    if cluster.later and (unknown := _of_later_release(document, cluster)):
        return Judged(document, unknown, old=old)
    seen = document
    found = verdict(document, cluster.target, custom_kinds=cluster.custom_kinds, old=old)
    if cluster.webhooks and (found.status == "invalid" or document.group_kind == kinds.JOBSET):
        from jobspec.admission.defaulting import is_rewritten, rewritten

        seen = rewritten(document, cluster.target) if is_rewritten(document, cluster.target, update=old is not None) else document
        if seen is not document:
            found = verdict(seen, cluster.target, custom_kinds=cluster.custom_kinds, old=old)
    return Judged(document, found.refused() if broken and found.status != "unknown" else found, seen=seen, old=old)


def _of_later_release(document: Document, cluster: Cluster) -> Verdict | None:
    """The verdict on a kind of an operator's release that came after all known ones, where no CRD defines it; None for other kinds."""
    kind = kinds.find(document.api_version, document.kind)
    if not kind or kind.component not in cluster.later or (cluster.custom_kinds and cluster.custom_kinds.defines(document)):
        return None
    release = f"{kind.component} {cluster.later[kind.component]}"
    message = f"jobspec does not know {release}, and no CRD in --crd defines {document.kind}"
    problem = document.problem("unknown-kind", message, ("kind",), hint=f"give the CRD of {release}, too")
    return Verdict("invalid", [problem])


def reviewed(judged: Judged, objects: Objects, cluster: Cluster, policies: PolicyObjects | None = None) -> Judged:
    """The judgement with the diagnostics of the server's own plugins, or of the webhooks; they review only what the server accepts.

    *policies*: those among the objects.
    """
    if judged.by_server.status not in ("valid", "partly"):
        return judged
    if judged.document.group_kind in kinds.REVIEWED:
        return _by_plugins(judged, policies, cluster)
    return _by_webhooks(judged, objects, cluster) if cluster.webhooks else judged


def _by_plugins(judged: Judged, policies: PolicyObjects | None, cluster: Cluster) -> Judged:
    document = judged.document
    if cluster.custom_kinds and cluster.custom_kinds.defines(document):
        return judged
    namespace = document.namespace
    wanted = [(kinds.NAMESPACE, "", namespace), (kinds.LIMIT_RANGE, namespace, ""), (kinds.RESOURCE_QUOTA, namespace, "")]
    if policies is None and document.group_kind not in (kinds.POD, kinds.NAMESPACE):
        return judged.reviewed((), wanted)
    from jobspec.kubernetes.admission.objects import PolicyObjects
    from jobspec.kubernetes.admission.review import answer

    found = answer(document, cluster.target, policies or PolicyObjects(closed=cluster.closed), old=judged.old)
    return judged.reviewed(found.diagnostics, [*wanted, *found.wanted])


def _by_webhooks(judged: Judged, objects: Objects, cluster: Cluster) -> Judged:
    if cluster.custom_kinds or judged.old:
        judged, is_answered = _decoded(judged, cluster)
        if is_answered:
            return judged
    if judged.by_server.status != "valid":
        return judged
    from jobspec.admission.review import review

    answer = review(judged.seen, cluster.target, objects, old=judged.old)
    return judged.reviewed(answer.diagnostics, answer.wanted)


def _decoded(judged: Judged, cluster: Cluster) -> tuple[Judged, bool]:
    """A judgement with the document and the stored object as the webhooks decode them, and whether that is all that they do.

    The webhooks know the types of their own release, and not those of a CRD that the user brings.
    """
    from jobspec.admission.decoding import as_decoded, undecodable

    as_new = verdict(judged.seen, cluster.target)
    judged = judged.seen_as(judged.seen, old=judged.old and as_decoded(judged.old, cluster.target))
    if as_new.status == "valid":
        return judged, False
    judged = judged.seen_as(as_decoded(judged.seen, cluster.target), old=judged.old)
    if cluster.custom_kinds:
        return judged, True
    wrong = undecodable(as_new)
    return judged.reviewed(wrong), bool(wrong)


def names_of(document: Document) -> list[Name]:
    """The names by which webhooks and plugins look up an object; the namespace is empty for kinds without one.

    What plugins take all of, such as the LimitRanges of a namespace, is looked up by an empty name, too.
    """
    kind = document.group_kind
    namespace = "" if kinds.is_cluster_scoped(document.api_version, document.kind) else document.namespace
    every = [(kind, namespace, "")] if kind in (kinds.LIMIT_RANGE, kinds.RESOURCE_QUOTA, kinds.PRIORITY_CLASS) else []
    return [(kind, namespace, document.name), *every]
