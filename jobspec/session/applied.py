"""What a cluster gets of the files of a command line: manifests, what is built of them, and the variants of projects."""

from __future__ import annotations

from jobspec.diagnostics.record import Record
from jobspec.journey.outcomes import context_of
from jobspec.journey.steps import Checked

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from jobspec.documents.document import Document
    from jobspec.world.world import Cluster


class AppliedFile(Record):
    """A file, or a variant of a project, checked in the cluster that it meets."""

    checked: Checked
    cluster: Cluster
    others: Sequence[Checked] = ()
    """The files whose objects its jobs may refer to."""
    variant: str = ""
    """The name of the variant; empty for a file."""

    @property
    def context(self) -> list[Document]:
        """What its jobs may refer to."""
        return context_of(self.checked, self.others, self.cluster)
