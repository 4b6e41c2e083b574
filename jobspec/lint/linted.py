"""What rules look at: a document among all others of the run, and a job or runtime with the pods that its operator creates."""

from __future__ import annotations

from functools import cached_property

from jobspec.apis import kinds
from jobspec.apis.kinds import JOBSET, PRIORITY_CLASS, PYTORCHJOB, TRAINJOB
from jobspec.diagnostics.diagnostic import Diagnostic
from jobspec.diagnostics.errors import JobspecError
from jobspec.diagnostics.grouping import grouped
from jobspec.diagnostics.places import marks_at, value_at
from jobspec.documents.document import Document
from jobspec.documents.marked_tree import MarkedTree, items, of_kind, text, with_marks
from jobspec.lint.container import LintedContainer
from jobspec.operators.expansion import ExpandedJob, ExpandedRole, expand
from jobspec.operators.trainer.runtimes import runtime_of
from jobspec.operators.workloads import REPLICATED_JOB, released, resumed, takes_overlays

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from jobspec.diagnostics.rules import Sees
    from jobspec.lint.documents import Documents

#: The annotations of objects that are created before or after others are applied, such as `PreSync` or `post-install`.
_HOOKS = ("argocd.argoproj.io/hook", "helm.sh/hook")


class LintedDocument:
    """A document, and all others of the run."""

    __slots__ = ("all_text", "documents", "given", "runtime", "seen_as")

    def __init__(self, given: Document, documents: Documents) -> None:
        self.given = given
        self.documents = documents
        self.seen_as: tuple[Sees, ...] = ("document", "runtime") if given.group_kind in kinds.RUNTIMES else ("document",)
        """What it is to rules."""
        self.all_text = ""
        """Of a job: all keys and texts of it and its runtime, in small letters."""
        self.runtime: Document | None = None
        """Of a TrainJob, and of a runtime that is looked at alone with its pods."""

    def get(self, *path: str | int) -> Any:
        """The value at a path, None where there is none."""
        return value_at(self.given.data, path)

    @property
    def is_hook(self) -> bool:
        """Whether Argo CD or Helm creates the object as a hook, anew each time."""
        return any(self.get("metadata", "annotations", each) is not None for each in _HOOKS)

    @property
    def can_be_synced(self) -> bool:
        """Whether an engine can sync the object from Git again and again: it has a name, and is no hook."""
        return bool(self.given.name) and not self.is_hook


class LintedJob(LintedDocument):
    """A job and its pods, or a runtime and the pods of a job that says nothing but its name."""

    def __init__(
        self, given: Document, documents: Documents, expanded: ExpandedJob, runtime: Document | None, refused: Sequence[Diagnostic]
    ) -> None:
        super().__init__(given, documents)
        self.runtime = runtime
        self.expanded = expanded
        self.refused = refused
        """Of a runtime that is looked at alone: errors for which the operator, or the server behind it, makes nothing of a job."""
        self.is_pytorchjob = given.group_kind == PYTORCHJOB
        self.is_job = given.group_kind in (PYTORCHJOB, TRAINJOB)
        kind: Sees = "PyTorchJob" if self.is_pytorchjob else "TrainJob"
        self.seen_as = ("pods", "job", kind, "objects") if self.is_job else ("pods", "runtime's pods", "objects")
        self.all_text = _keys_and_texts(given.data, runtime.data if runtime else None)
        self.tree = with_marks(given.data, given.marks)
        """The given document with its marks."""
        self.roles: Sequence[ExpandedRole] = expanded.roles
        """The roles that have pods."""
        self.objects: Sequence[MarkedTree] = expanded.objects
        """All that the operator makes of the job."""
        self.pods = [each.pod_tree for each in self.roles]
        """A pod of each role."""
        self.training = [each for each in self.roles if each.training]
        """The roles that train."""
        self.training_pods = sum([each.count for each in self.training])
        """How many pods train."""
        self.containers = [
            LintedContainer(each, role, is_init=field == "initContainers")
            for role in self.roles
            for field in ("initContainers", "containers")
            for each in items(role.pod_tree.get("spec", field))
        ]
        """The containers of each role, in the order in which they start."""
        self.training_containers = [each for each in self.containers if each.trains]
        """The container that trains, of each role that has one."""
        self.gpus = sum([each.gpus * each.role.count for each in self.containers])
        """The number of whole GPUs of all pods together."""
        specs = self.tree.get("spec", "pytorchReplicaSpecs") if self.is_pytorchjob else None
        found = [(role, specs.value.get(role.name)) for role in self.roles] if specs else []
        self.replica_specs = [(role, spec) for role, spec in found if spec and isinstance(spec.value, dict)]
        """Of a PyTorchJob: its roles, each with what the job says of it."""

    def in_runtime(self, *path: str) -> Any:
        """The value at a path of the runtime, None where there is none."""
        return value_at(self.runtime.data, path) if self.runtime else None


class LintedJobSet(LintedDocument):
    """A JobSet as a server stores it: of its own document, or the one that the trainer makes for a job or for a runtime's smallest job."""

    def __init__(self, given: Document, documents: Documents, sent: MarkedTree, job: LintedJob | None = None) -> None:
        """*sent*: as its author or the trainer sends it; *job*: the one of which it is made."""
        super().__init__(given, documents)
        self.runtime = job.runtime if job else None
        self.seen_as = ("JobSet",) if job else ("JobSet", "objects")
        self.all_text = job.all_text if job else _keys_and_texts(given.data)
        self._sent = sent
        self._job = job

    @cached_property
    def tree(self) -> MarkedTree:
        """The JobSet with the defaults of its CRD and its webhook."""
        from jobspec.operators.jobset.webhook import stored_jobset

        return stored_jobset(self._sent, self.documents.target)

    @cached_property
    def objects(self) -> Sequence[MarkedTree]:
        """What JobSet makes: the Service, the claims, the Jobs and the pods; of a job, all that its operators make."""
        if self._job:
            return self._job.objects
        from jobspec.operators.trainer.objects import expand_jobset

        classes = self.documents.of_kind(PRIORITY_CLASS)
        try:
            return expand_jobset(self.tree, self.documents.target, context=classes, first_and_last_only=True)
        except JobspecError:  # too many Jobs to look at
            return ()

    @cached_property
    def pods(self) -> Sequence[MarkedTree]:
        """A pod of each replicated job."""
        return [each[0] for each in grouped(of_kind(self.objects, "Pod"), _replicated_job).values()]


def linted_jobsets(given: Document, documents: Documents, job: LintedJob | None) -> list[LintedJobSet]:
    """The JobSets of a document: the document itself, or those that the trainer makes of the *job* that it is."""
    if job:
        return [LintedJobSet(given, documents, each, job) for each in of_kind(job.objects, "JobSet")]
    if not _is_whole_jobset(given):
        return []
    from jobspec.operators.made import stored

    return [LintedJobSet(given, documents, stored(resumed(given), documents.target))]


def _is_whole_jobset(given: Document) -> bool:
    """Whether a document is a JobSet whose replicated jobs have names, and no patch of one."""
    jobs = value_at(given.data, ("spec", "replicatedJobs"))
    return given.group_kind == JOBSET and isinstance(jobs, list) and all(value_at(each, ("name",)) for each in jobs)


def _replicated_job(pod: MarkedTree) -> str:
    """The name of the replicated job of a pod."""
    return text(pod, "metadata", "labels", REPLICATED_JOB)


def linted_job(given: Document, documents: Documents) -> LintedJob | None:
    """An accepted job or runtime as rules look at it; None for other documents, and for a job that cannot be expanded."""
    target = documents.target
    if given.group_kind in kinds.RUNTIMES:
        job = _stand_in(given)
        referred = [given]
    elif takes_overlays(given):
        job = released(given)
        referred = documents.referred(given)
    else:
        return None
    runtime = runtime_of(job, referred, target) if job.group_kind == TRAINJOB else None
    try:
        # what a server refuses of a job is an outcome
        expansion = expand(job, referred, target, first_and_last_only=True, skip_server_checks=given is not runtime)
    except JobspecError:  # too many pods to look at
        return None
    refused = [each for each in expansion.diagnostics if each.severity == "error"]
    return LintedJob(given, documents, ExpandedJob(job, expansion.objects, target, expansion.counts), runtime, refused)


def _keys_and_texts(*values: Any) -> str:
    """The keys of all mappings in some values, and all texts, in small letters."""
    found: list[str] = []
    left = list(values)
    while left:
        value = left.pop()
        if isinstance(value, str):
            found.append(value)
        elif isinstance(value, dict):
            found += value
            left += value.values()
        elif isinstance(value, list):
            left += value
    return "\n".join(found).lower()


def _stand_in(runtime: Document) -> Document:
    """The smallest TrainJob that uses a runtime; all of its values have the place of the runtime's name."""
    metadata = {"name": "job", **({"namespace": runtime.namespace} if runtime.namespace else {})}
    reference = {"apiGroup": runtime.group_kind[0], "kind": runtime.kind, "name": runtime.name}
    data = {"apiVersion": runtime.api_version, "kind": "TrainJob", "metadata": metadata, "spec": {"runtimeRef": reference, "trainer": {}}}
    place = runtime.marks.nearest(("metadata", "name")).place()
    return Document(data, lambda: marks_at(data, place), file=runtime.file, index=runtime.index)
