"""The nodes that jobs and queues meet, as far as Nodes among the files or a pinned cluster say."""

from __future__ import annotations

from jobspec.apis.kinds import CLUSTER
from jobspec.lint.linted import LintedDocument

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from jobspec.operators.kueue.world import AlikeNodes


WITH_NODES = [("", "Node"), CLUSTER]
"""The kinds of documents that say which nodes there are."""


def nodes_of(document: LintedDocument) -> Sequence[AlikeNodes]:
    """The nodes among the files, and the shapes of nodes of pinned clusters; none where there are neither."""
    found = [each.data for kind in WITH_NODES for each in document.documents.of_kind(kind)]
    if not found:
        return ()
    from jobspec.operators.kueue.world import world_of

    return world_of(found).nodes or ()
