"""What the engines' objects depend on: the kinds and namespaces of rendered objects."""

from __future__ import annotations

from collections.abc import Iterable

from jobspec.apis.kinds import is_cluster_scoped
from jobspec.diagnostics.places import Mark, value_at
from jobspec.documents.document import Document
from jobspec.go.values import mapping
from jobspec.operators.workloads import QUEUE, suspend_of
from jobspec.project.engines.replacement import SPEC_HASH


class SyncedObject:
    """One rendered object as an engine sees it."""

    __slots__ = ("group_kind", "is_fixed", "is_job", "is_namespaced", "is_queued", "name", "namespace", "place", "says_suspend")

    def __init__(self, document: Document, place: Mark | None = None, *, is_job: bool) -> None:
        """*place*: where the object's name is written.

        If it is None, the document's marks are made to find the place, which takes long.
        """
        self.group_kind = document.group_kind
        self.name = document.name
        self.is_namespaced = not is_cluster_scoped(document.api_version, document.kind)
        self.namespace = document.namespace if self.is_namespaced else ""
        self.is_job = is_job
        self.is_fixed = self.is_job and SPEC_HASH in mapping(document.data, "metadata", "annotations")
        """Whether it is a job under a fixed name, which is replaced where its spec has changed."""
        self.is_queued = self.is_job and QUEUE in mapping(document.data, "metadata", "labels")
        """Whether it is a job that Kueue suspends and resumes."""
        self.says_suspend = self.is_job and value_at(document.data, suspend_of(self.group_kind)) is not None
        """Whether it is a job whose manifest says if it is suspended."""
        self.place: Mark = place or document.marks.nearest(("metadata", "name")).place()


class Synced:
    """All rendered objects as an engine sees them, in one order whatever that of the variants."""

    def __init__(self, objects: Iterable[SyncedObject]) -> None:
        self.objects = sorted(objects, key=lambda each: (each.group_kind, each.namespace, each.name))
        self.kinds = sorted({each.group_kind for each in self.objects if each.is_namespaced})
        """The kinds of objects in namespaces."""
        self.cluster_kinds = sorted({each.group_kind for each in self.objects if not each.is_namespaced})
        """The kinds of objects in none."""
        self.namespaces = sorted({each.namespace for each in self.objects if each.namespace})
        self.has_fixed = any(each.is_fixed for each in self.objects)
        """Whether a job is under a fixed name."""
        self.job_kinds = sorted({each.group_kind for each in self.objects if each.is_job})
