"""The topics of lint, each with what its rules need to find something: its module is loaded where a document or a job has that."""

from __future__ import annotations

from jobspec.documents.marked_tree import items, text
from jobspec.kinds import NAMESPACE, NETWORK_POLICY, TRAINING_RUNTIME
from jobspec.lint.containers import DEAD_ADDRESSES, DOWNLOADS, OTHER_ACCELERATORS, TOKENS
from jobspec.lint.views import RUNTIMES, DocumentView, JobView
from jobspec.programs import torchrun

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from jobspec.kinds import GroupKind
    from jobspec.lint.rule import Rule

    Rules = tuple[Rule, ...]
    InPods = Callable[[JobView], bool]
    InDocument = Callable[[DocumentView], bool]

_KUEUE = "kueue.x-k8s.io"
_ISTIO = "sidecar.istio.io/inject"


def _always(_: JobView) -> bool:
    return True


def _never(_: DocumentView) -> bool:
    return False


class Topic:
    """A topic, and whether its rules can find something in the pods of a job or runtime, or in a document by itself."""

    __slots__ = ("_load", "in_document", "in_pods")

    def __init__(self, load: Callable[[], Rules], in_pods: InPods = _always, *, in_document: InDocument = _never) -> None:
        self._load = load
        self.in_pods = in_pods
        self.in_document = in_document

    @property
    def rules(self) -> Rules:
        """Its rules."""
        return self._load()


def _where(*words: str, texts: Sequence[str] = (), kinds: Sequence[GroupKind] = ()) -> InPods:
    """Where a job says one of these words (see `JobView.words`), or a text with one of these, or a document is of one of these kinds."""
    return lambda job: not job.words.isdisjoint(words) or job.says(*texts) or job.documents.has(kinds)


def _asks_for_gpus(job: JobView) -> bool:
    return "gpu" in " ".join(job.words).lower()


def _counts_processes(job: JobView) -> bool:
    """Whether a job asks for accelerators, or says how many processes start or how they talk."""
    names = " ".join(job.words).lower()
    return (
        any(each in names for each in ("gpu", *OTHER_ACCELERATORS))
        or job.says("backend")
        or (job.is_pytorchjob and job.says(*torchrun.NAMES))
    )


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


def _meets_istio(job: JobView) -> bool:
    """Whether pods can get a sidecar of Istio, or what keeps it out stands at the job; where it stands at the pods alone, all is well."""
    if job.documents.has((NAMESPACE, ("kubeflow.org", "Profile"))):
        return True
    for field in ("annotations", "labels") if _ISTIO in job.words else ():
        asked = any(text(role.pods[0].tree, "metadata", field, _ISTIO) == "true" for role in job.training)
        if asked or _ISTIO in (job.get("metadata", field) or ()):
            return True
    return False


def _meets_others(job: JobView) -> bool:
    """Whether a runtime can miss its aim, alone or by what a job says beside it; or a group of pods, or containers of one."""
    if job.is_pytorchjob:
        return "minAvailable" in job.words or _has_several_containers(job)
    lacks_policy = "mlPolicy" not in job.words and "resourcesPerNode" in job.words
    keeps_args = "args" in job.words and job.get("spec", "trainer", "args") is None
    said = _where("mpi", "tolerations", kinds=(TRAINING_RUNTIME,))
    return not job.is_job or lacks_policy or keeps_args or said(job) or _has_several_containers(job)


def _accelerators() -> Rules:
    from jobspec.lint.accelerators import RULES

    return RULES


def _communication() -> Rules:
    from jobspec.lint.communication import RULES

    return RULES


def _data() -> Rules:
    from jobspec.lint.data import RULES

    return RULES


def _environment() -> Rules:
    from jobspec.lint.environment import RULES

    return RULES


def _images() -> Rules:
    from jobspec.lint.images import RULES

    return RULES


def _istio() -> Rules:
    from jobspec.lint.istio import RULES

    return RULES


def _kueue() -> Rules:
    from jobspec.lint.kueue import RULES

    return RULES


def _names() -> Rules:
    from jobspec.lint.names import RULES

    return RULES


def _restarts() -> Rules:
    from jobspec.lint.restarts import RULES

    return RULES


def _runtimes() -> Rules:
    from jobspec.lint.runtimes import RULES

    return RULES


def _security() -> Rules:
    from jobspec.lint.security import RULES

    return RULES


def _storage() -> Rules:
    from jobspec.lint.storage import RULES

    return RULES


def _topology() -> Rules:
    from jobspec.lint.topology import RULES

    return RULES


#: By name, in the order of `docs/rules.md`.
TOPICS = {
    "accelerators": Topic(_accelerators, _counts_processes),
    "communication": Topic(
        _communication, _where("elasticPolicy", "env", "hostNetwork", "rdma", texts=torchrun.NAMES, kinds=(NETWORK_POLICY,))
    ),
    "data": Topic(_data, _where("flux", "mpi", "volumes", "volumeClaimPolicies", texts=(*DEAD_ADDRESSES, *DOWNLOADS))),
    "environment": Topic(_environment, _where("env")),
    "images": Topic(_images),
    "istio": Topic(_istio, _meets_istio),
    "kueue": Topic(_kueue, _where(_KUEUE, kinds=((_KUEUE, "LocalQueue"),)), in_document=lambda view: view.given.group_kind[0] == _KUEUE),
    "names": Topic(_names, _has_metadata_for_pods, in_document=_has_odd_name),
    "restarts": Topic(_restarts, _lives_on),
    "runtimes": Topic(_runtimes, _meets_others, in_document=_is_runtime),
    "security": Topic(_security, _where("env", "hostIPC", "hostPID", "privileged", "serviceAccount", "serviceAccountName", texts=TOKENS)),
    "storage": Topic(_storage),
    "topology": Topic(_topology, _where(_KUEUE)),
}
