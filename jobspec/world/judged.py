"""The judgement of a document: the server's verdict, and what plugins, policies and webhooks say."""

from __future__ import annotations

import jobspec.apis.kinds as kinds
from jobspec.diagnostics.diagnostic import Diagnostic, has_error
from jobspec.documents.document import Document
from jobspec.kubernetes.verdict import Verdict

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Literal

    from jobspec.apis.kinds import Name

    #: `unknown`: the document is not a manifest, or of a kind that jobspec does not know.
    Judgement = Literal["valid", "invalid", "partly", "unknown"]


class Judged:
    """A document, with the server's verdict and the diagnostics of the webhooks."""

    __slots__ = ("before", "by_server", "by_webhooks", "can_be_looked_up", "diagnostics", "document", "old", "seen", "status", "wanted")

    def __init__(
        self,
        document: Document,
        by_server: Verdict,
        *,
        seen: Document | None = None,
        old: Document | None,
        by_webhooks: Sequence[Diagnostic] = (),
        wanted: Sequence[Name] = (),
        before: Judged | None = None,
    ) -> None:
        self.document = document
        self.before = before
        """The judgement before policies changed the document; None where none did."""
        self.by_server = by_server
        self.seen = seen or document
        """The document that the validating webhooks see: rewritten by a mutating one, and as Go decodes what breaks its schema."""
        self.old = old
        """The stored object that the document updates; None for a new object."""
        self.by_webhooks = by_webhooks
        self.wanted = wanted
        """The objects that a webhook looks up and does not find in the same file."""
        self.status: Judgement = "invalid" if by_webhooks and has_error(by_webhooks) else by_server.status
        """The verdict of both."""
        self.diagnostics = [*by_server.diagnostics, *by_webhooks]
        is_known = self.status != "unknown" or document.group_kind not in kinds.WEBHOOK_LOOKUPS  # whose form jobs are expanded by
        is_sent = bool(document.kind) and document.group_kind[0] != kinds.PROJECT[0] and not document.is_held
        is_object = self.status != "invalid" and is_known and is_sent
        fits = document.group_kind != kinds.KYVERNO_POLICY or not by_server.diagnostics  # a cluster may have another release
        self.can_be_looked_up = is_object and fits
        """Whether the document is an object that others meet: the server accepts it, or nobody knows its kind."""

    def reviewed(
        self, diagnostics: Sequence[Diagnostic], wanted: Sequence[Name] = (), *, seen: Document | None = None, old: Document | None = None
    ) -> Judged:
        """The same with the diagnostics of plugins or webhooks, and with the documents that these see."""
        seen, old = seen or self.seen, old or self.old
        return Judged(self.document, self.by_server, seen=seen, old=old, by_webhooks=diagnostics, wanted=wanted, before=self.before)
