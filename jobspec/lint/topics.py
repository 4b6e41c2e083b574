"""The topics of lint, each with what its rules need to find something: its module is loaded where a document or a job has that."""

from __future__ import annotations

from jobspec.kinds import NAMESPACE, NETWORK_POLICY, TRAINING_RUNTIME
from jobspec.lint.views import RUNTIMES
from jobspec.overlays.marked_tree import items

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from jobspec.kinds import GroupKind
    from jobspec.lint.rule import Rule
    from jobspec.lint.views import DocumentView, JobView

_KUEUE = "kueue.x-k8s.io"


def _always(_: JobView) -> bool:
    return True


def _never(_: DocumentView) -> bool:
    return False


class Topic:
    """A topic, and whether its rules can find something in the pods of a job or runtime, or in a document by itself."""

    __slots__ = ("in_document", "in_pods", "name")

    def __init__(
        self, name: str, in_pods: Callable[[JobView], bool] = _always, *, in_document: Callable[[DocumentView], bool] = _never
    ) -> None:
        self.name = name
        """That of its module."""
        self.in_pods = in_pods
        self.in_document = in_document

    @property
    def rules(self) -> tuple[Rule, ...]:
        """Its rules."""
        from importlib import import_module

        rules: tuple[Rule, ...] = import_module(f"jobspec.lint.{self.name}").RULES
        return rules


def _where(*words: str, kinds: Sequence[GroupKind] = ()) -> Callable[[JobView], bool]:
    """Where a job says one of these words (see `JobView.words`), or one of these kinds is among the documents."""
    return lambda job: not job.words.isdisjoint(words) or job.documents.has(kinds)


def _asks_for_gpus(job: JobView) -> bool:
    return any("gpu" in word.lower() for word in job.words)


def _has_metadata_for_pods(job: JobView) -> bool:
    return bool(job.get("metadata", "annotations") or job.get("metadata", "labels"))


def _has_odd_name(document: DocumentView) -> bool:
    """Whether a document has no name of its own, is another one's twin, or has further names inside."""
    given = document.given
    return _is_runtime(document) or document.get("metadata", "generateName") is not None or document.documents.first(given) is not given


def _has_several_containers(job: JobView) -> bool:
    return any(len(items(role.pods[0].tree.get("spec", "containers"))) > 1 for role in job.training)


def _is_runtime(document: DocumentView) -> bool:
    return document.given.group_kind in RUNTIMES


def _lives_on(job: JobView) -> bool:
    """Whether it matters how the pods of a job restart or how long it takes."""
    return job.is_pytorchjob or "activeDeadlineSeconds" in job.words or _asks_for_gpus(job)


def _meets_runtime(job: JobView) -> bool:
    """Whether what a job and its runtime say together can miss its aim."""
    lacks_policy = "mlPolicy" not in job.words and "resourcesPerNode" in job.words
    said = _where("args", "minAvailable", "mpi", "tolerations", kinds=(TRAINING_RUNTIME,))
    return not job.is_job or lacks_policy or said(job) or _has_several_containers(job)


#: In the order of `docs/rules.md`.
TOPICS = (
    Topic("accelerators", _where("args", "command", "limits", "requests")),
    Topic("communication", _where("command", "elasticPolicy", "env", "hostNetwork", "rdma", kinds=(NETWORK_POLICY,))),
    Topic("data", _where("args", "command", "env", "flux", "mpi", "volumes", "volumeClaimPolicies")),
    Topic("environment", _where("env")),
    Topic("images"),
    Topic("istio", _where("sidecar.istio.io", kinds=(NAMESPACE, ("kubeflow.org", "Profile")))),
    Topic("kueue", _where(_KUEUE, kinds=((_KUEUE, "LocalQueue"),)), in_document=lambda view: view.given.group_kind[0] == _KUEUE),
    Topic("names", _has_metadata_for_pods, in_document=_has_odd_name),
    Topic("restarts", _lives_on),
    Topic("runtimes", _meets_runtime, in_document=_is_runtime),
    Topic("security", _where("args", "command", "env", "hostIPC", "hostPID", "privileged", "serviceAccount", "serviceAccountName")),
    Topic("storage"),
    Topic("topology", _where(_KUEUE)),
)
