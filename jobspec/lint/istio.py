"""Istio: sidecars in training pods, and the keys that keep them out."""

from __future__ import annotations

from collections.abc import Iterator

from jobspec.apis.kinds import NAMESPACE
from jobspec.diagnostics.places import value_at
from jobspec.diagnostics.problems import set_to
from jobspec.diagnostics.rules import Finding, Rule
from jobspec.documents.marked_tree import MarkedTree, text
from jobspec.lint.linted import LintedJob
from jobspec.operators.expansion import ExpandedRole

_PROFILE = ("kubeflow.org", "Profile")
_KEY = "sidecar.istio.io/inject"


def istio_sidecar(job: LintedJob) -> Iterator[Finding]:
    """Pods get an Istio sidecar, which keeps them from completing.

    Why: an old sidecar never ends, so that the pod does not either; every sidecar blocks traffic between the pods before it is ready, and
    takes the ports of the rendezvous for HTTP: "got 0 bytes", or a timeout. RDMA goes past it, but the pods meet by TCP first.
    Instead: refuse it by a label of the pod template, of every replica type.
    Fix: adds the label `sidecar.istio.io/inject` to the pods of a job of training-operator.
    Before: template: {spec: {}}
    After: template: {metadata: {labels: {sidecar.istio.io/inject: "false"}}, spec: {}}
    Evidence: kubeflow/pytorch-operator#258, kubeflow/trainer#1637, kubeflow/trainer#2794, kubeflow/trainer#2872, NVIDIA/nccl-tests#248
    """
    given = _injects(job) if job.is_job else ""
    refusing = [role.name for role in job.training if _sidecar_key(role, "false")]
    for role in job.training:
        asked = _sidecar_key(role, "true")
        if asked:
            yield Finding(asked, "the pods get an Istio sidecar and never complete: they request one", 'write "false"')
        elif role.name not in refusing and (given or refusing):
            why = f"the pods get an Istio sidecar and never complete: {given}" if given else ""
            why = why or f"`{refusing[0]}` opts out of the Istio sidecar, `{role.name}` does not"
            place = job.replica_spec(role)
            edits = [(place, set_to(("template", "metadata", "labels", _KEY), "false"))] if place else []
            at = (place and place.get("template")) or place or ("metadata", "name")
            yield Finding(at, why, f'label the pod template `{_KEY}: "false"`', edits=edits)


def ineffective_istio_key(job: LintedJob) -> Iterator[Finding]:
    """The key that disables Istio's sidecar is on the job, where Istio does not read it.

    Why: Istio looks at the pods, and the operator copies neither labels nor annotations of the job to them.
    Instead: write it into the metadata of the pod template, of every replica type.
    Before: metadata: {annotations: {sidecar.istio.io/inject: "false"}}
    After: template: {metadata: {labels: {sidecar.istio.io/inject: "false"}}}
    Evidence: kubeflow/trainer#1637, kubeflow/trainer#2794, kubeflow/community-distribution#2040
    """
    for field in ("annotations", "labels"):
        said = job.tree.get("metadata", field, _KEY)
        if said and not all(any(_sidecar_keys(role)) for role in job.training):
            message = "no effect: Istio reads this from the pods, and the job does not pass it on"
            yield Finding(said, message, "set it in the pod templates, too")


def _injects(job: LintedJob) -> str:
    """Why the pods of a job's namespace get a sidecar, according to the files; empty where they do not."""
    name = job.given.namespace or "default"
    for namespace in job.documents.of_name(NAMESPACE, name):
        labels = value_at(namespace.data, ("metadata", "labels")) or {}
        if labels.get("istio-injection") == "enabled":
            return f"the namespace `{name}` is labelled `istio-injection: enabled`"
        if "istio.io/rev" in labels and labels.get("istio-injection") != "disabled":
            return f"the namespace `{name}` is labelled `istio.io/rev`"
    return f"`{name}` is a profile of Kubeflow" if job.documents.of_name(_PROFILE, name) else ""


def _sidecar_keys(role: ExpandedRole) -> list[MarkedTree | None]:
    """The label and the annotation by which the pods of a role want the sidecar (`true`) or refuse it (`false`)."""
    return [role.pod_tree.get("metadata", field, _KEY) for field in ("labels", "annotations")]


def _sidecar_key(role: ExpandedRole, value: str) -> MarkedTree | None:
    """The one of these that says *value*, None where neither does."""
    return next((each for each in _sidecar_keys(role) if text(each) == value), None)


RULES = (
    Rule(istio_sidecar, "warning", reads=[_KEY], kinds=[NAMESPACE, _PROFILE], has_unsafe_fix=True),
    Rule(ineffective_istio_key, "warning", sees="job", reads=[_KEY]),
)
