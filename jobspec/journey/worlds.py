"""The world that each file meets: the cluster with the objects of all files."""

from __future__ import annotations

import jobspec.apis.kinds as kinds
from jobspec.diagnostics.grouping import gathered
from jobspec.journey.steps import reaches
from jobspec.kubernetes.index import data_of
from jobspec.operators.workloads import JOBS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from jobspec.documents.document import Document
    from jobspec.journey.steps import Checked
    from jobspec.kubernetes.index import Question
    from jobspec.world.world import Cluster


_ASKED_ALONE = tuple(sorted({*JOBS, *kinds.POD_TEMPLATES}))
"""The kinds that checks meet only by recorded questions."""


def unrecorded(world: Cluster) -> Question:
    """Return the question about all objects that are read without a record.

    Those are what a check reads, such as quotas, and in a pinned cluster queues and nodes. What outcomes read is recorded.
    """
    if not world.rules:
        return "others_than", _ASKED_ALONE
    from jobspec.kubernetes.admission.objects import parameter_kinds

    return "others_than", () if not parameter_kinds(world.rules).isdisjoint(_ASKED_ALONE) else _ASKED_ALONE


class Worlds:
    """The cluster that each file meets, which has the objects of all files that are applied with it."""

    def __init__(self, files: Sequence[Checked], folders: Sequence[str], cluster: Cluster) -> None:
        """*folders*: of each file, the folder whose files are applied together; *cluster*: without the objects of files."""
        self._files, self._folders, self._cluster = files, folders, cluster
        self._everywhere: list[Document] = []
        own: list[tuple[str, Document]] = []
        for file, folder in zip(files, folders, strict=True):
            for each in file.objects:
                if reaches(each, folder, ""):
                    self._everywhere.append(each)
                else:
                    own.append((folder, each))
        self._of_folder = gathered(own)
        self._known: dict[str, Cluster] = {}
        self._answers: dict[tuple[str, Question], Any] = {}
        """The answers in the clusters of folders."""

    def _folder(self, number: int) -> str:
        """The folder whose objects a file meets; empty if it has none of its own."""
        return self._folders[number] if self._folders[number] in self._of_folder else ""

    def of(self, number: int) -> Cluster:
        """The cluster that a file meets."""
        folder = self._folder(number)
        if folder not in self._known:
            objects = [*self._everywhere, *self._of_folder.get(folder, ())]
            classes = [each for each in objects if each.group_kind == kinds.PRIORITY_CLASS]
            there = self._cluster.with_objects(classes) if classes else self._cluster
            self._known[folder] = there.with_index(self._cluster.index.recording(data_of(objects)))
        return self._known[folder]

    def change(self, number: int) -> bool:
        """Whether the objects of other files change an answer by which a file was judged."""
        file = self._files[number]
        if not file.asked or len(self._files) < 2:
            return False
        own, folder, index = self._cluster.index.recording(data_of(file.objects)), self._folder(number), self.of(number).index

        def answer(question: Question) -> Any:
            if (folder, question) not in self._answers:
                self._answers[folder, question] = index.answer(question)
            return self._answers[folder, question]

        return any(own.answer(each) != answer(each) for each in file.asked)
