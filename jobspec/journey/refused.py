"""Keep the results of refused jobs, and place their findings in jobs that are alike.

No later stage sees a refused job. So its result depends on its data alone, unless a finding says its name.
"""

from __future__ import annotations

from jobspec.diagnostics.results import FileResult
from jobspec.documents.document import KUSTOMIZATIONS, Document
from jobspec.documents.routes import PlacedFinding, placed_in, routed
from jobspec.journey.steps import Checked
from jobspec.operators.workloads import is_workload
from jobspec.world.alike_results import AlikeResults

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Literal

    from jobspec.diagnostics.diagnostic import Diagnostic
    from jobspec.journey.steps import Manifests
    from jobspec.world.world import Cluster


class RefusedFile:
    """The result of a file with a refused job."""

    def __init__(self, checked: Checked) -> None:
        self._checked = checked
        self._findings: Sequence[PlacedFinding] | Literal[False] | None = False  # not looked for yet

    @property
    def findings(self) -> Sequence[PlacedFinding] | None:
        """Return the findings with their routes.

        If one of them does not hold for jobs that are alike, return None.
        """
        if self._findings is False:
            (document,) = self._checked.documents
            self._findings = routed(self._checked.result.diagnostics, document)
            document.forget_marks()
        return self._findings

    def placed_in(self, manifests: Manifests) -> Checked | None:
        """Return the result of a file whose job is alike.

        If a finding does not hold for it, return None.
        """
        if (findings := self.findings) is None:
            return None
        (document,), (row,) = manifests.documents, self._checked.result.documents
        result = FileResult(manifests.name, [row.changed(name=document.name)], placed_in(document, findings))
        return self._checked.changed(result=result, documents=[document])


class RefusedFiles:
    """The results of files with refused jobs in a cluster."""

    def __init__(self) -> None:
        self._found = AlikeResults()

    def of(self, manifests: Manifests, *met: object) -> Checked | None:
        """Return the result of a file whose job is like another one that met the same.

        If there is none, return None.
        """
        found: RefusedFile | None = self._found.of(manifests.documents[0], manifests.skip_unknown, manifests.comments, *met)
        return found.placed_in(manifests) if found else None

    def keep(self, manifests: Manifests, checked: Checked, *met: object) -> None:
        """Keep the result of a file if it holds for files whose jobs are alike."""
        document = manifests.documents[0]
        if _is_refused(checked) and all(_holds_for_alike(each, document) for each in checked.result.diagnostics):
            self._found.keep(document, RefusedFile(checked), manifests.skip_unknown, manifests.comments, *met)


def refused_files(manifests: Manifests, cluster: Cluster) -> RefusedFiles | None:
    """Return what is kept of refused jobs in a cluster.

    If the file has anything but one job, or if other objects decide on jobs, return None.
    """
    if len(manifests.documents) != 1 or manifests.diagnostics or manifests.settled is not None:
        return None
    (document,) = manifests.documents
    is_filled_in = manifests.substitution is not None or manifests.by_engine is not None or manifests.sync
    if is_filled_in or not is_workload(document) or document.file.rpartition("/")[2] in KUSTOMIZATIONS:
        return None
    if cluster.stored or cluster.has_policies or (cluster.custom_kinds and cluster.custom_kinds.defines(document)):
        return None
    return cluster.once("refused files", RefusedFiles)


def _is_refused(checked: Checked) -> bool:
    """True if a file has one job that no later stage has seen."""
    depends = checked.objects or checked.pending or checked.unforeseen or checked.refused or checked.asked or checked.is_filled
    return not depends and [(each.status, each.corrected) for each in checked.result.documents] == [("invalid", None)]


def _holds_for_alike(found: Diagnostic, document: Document) -> bool:
    """True if a finding is about the data of a job, and does not say its name."""
    says_name = bool(document.name) and document.name in f"{found.message}\n{found.hint}"
    return found.stage in ("decoding", "schema") and not found.field.startswith("metadata") and not says_name
