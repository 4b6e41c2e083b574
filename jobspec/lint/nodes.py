"""The nodes that jobs and queues meet, as far as Nodes among the files or a pinned cluster say."""

from __future__ import annotations

from jobspec.apis.kinds import CLUSTER, NODE
from jobspec.lint.linted import LintedDocument

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from jobspec.lint.documents import Documents
    from jobspec.operators.kueue.world import AlikeNodes


WITH_NODES = [NODE, CLUSTER]
"""The kinds of documents that say which nodes there are."""


def nodes_of(document: LintedDocument) -> Sequence[AlikeNodes]:
    """The nodes among the files, and the shapes of nodes of pinned clusters; none where there are neither, or where a script makes more."""
    documents = document.documents
    return documents.once("nodes", lambda: _nodes_among(documents))


def _nodes_among(documents: Documents) -> Sequence[AlikeNodes]:
    found = [each.data for kind in WITH_NODES for each in documents.of_kind(kind)]
    if not found or documents.makes_more(NODE):
        return ()
    from jobspec.operators.kueue.world import world_of

    return world_of(found).nodes or ()
