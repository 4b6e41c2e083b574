"""Istio: sidecars in training pods, and the keys that keep them out."""

from __future__ import annotations

from jobspec.documents.marked_tree import MarkedTree, text
from jobspec.kinds import NAMESPACE
from jobspec.lint.rule import Edit, Finding, Rule
from jobspec.workloads import value_at

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from jobspec.lint.views import JobView
    from jobspec.operators.expansion import ExpandedRole

_PROFILE = ("kubeflow.org", "Profile")
_KEY = "sidecar.istio.io/inject"


def istio_sidecar(job: JobView) -> Iterator[Finding]:
    """The namespace gives every pod an Istio sidecar, and the job's pods do not refuse it, or they ask for one themselves.

    Why: an old sidecar never ends, so that the pod does not either; every sidecar stands between the pods before it is ready, and takes
    the ports of the rendezvous for HTTP: "got 0 bytes", or a timeout.
    Instead: refuse it by a label of the pod template.
    Fix: adds the label `sidecar.istio.io/inject` to the pods of a PyTorchJob.
    Before: template: {spec: {}}
    After: template: {metadata: {labels: {sidecar.istio.io/inject: "false"}}, spec: {}}
    Evidence: kubeflow/pytorch-operator#258, kubeflow/trainer#1637, kubeflow/trainer#2794, kubeflow/trainer#2872
    """
    why = _injects(job) if job.is_job else ""
    for role in job.training if job.is_job else ():
        asked = _said(role, "true")
        if asked:
            yield Finding(asked, "the pods get an Istio sidecar, since they ask for one", 'write "false"')
        elif why and not _said(role, "false"):
            place = job.tree.get("spec", "pytorchReplicaSpecs", role.name) if job.is_pytorchjob else None
            edits = [Edit(place, ("template", "metadata", "labels", _KEY), "false")] if place else []
            yield Finding(
                (place and place.get("template")) or place or ("metadata", "name"),
                f"the pods get an Istio sidecar, since {why}",
                f'label the pod template `{_KEY}: "false"`',
                edits=edits,
            )


def ineffective_istio_key(job: JobView) -> Iterator[Finding]:
    """The key that keeps Istio's sidecar out stands at the job, and not at its pods.

    Why: Istio looks at the pods, and the operator copies neither labels nor annotations of the job to them.
    Instead: write it into the metadata of the pod template, of every replica type.
    Before: metadata: {annotations: {sidecar.istio.io/inject: "false"}}
    After: template: {metadata: {labels: {sidecar.istio.io/inject: "false"}}}
    Evidence: kubeflow/trainer#1637, kubeflow/trainer#2794, kubeflow/community-distribution#2040
    """
    for field in ("annotations", "labels"):
        said = job.tree.get("metadata", field, _KEY)
        if said and any(not _says(role) for role in job.training):
            yield Finding(said, "Istio looks at the pods, which do not get this from the job", "write it into the pod templates, too")


def _injects(job: JobView) -> str:
    """Why the pods of a job's namespace get a sidecar, as far as the files say it; empty where they do not."""
    name = job.given.namespace or "default"
    for namespace in job.documents.of_name(NAMESPACE, name):
        labels = value_at(namespace.data, ("metadata", "labels")) or {}
        if labels.get("istio-injection") == "enabled":
            return f"the namespace `{name}` is labelled `istio-injection: enabled`"
        if "istio.io/rev" in labels and labels.get("istio-injection") != "disabled":
            return f"the namespace `{name}` is labelled `istio.io/rev`"
    return f"`{name}` is a profile of Kubeflow" if job.documents.of_name(_PROFILE, name) else ""


def _says(role: ExpandedRole) -> bool:
    return any(role.pods[0].tree.get("metadata", field, _KEY) for field in ("labels", "annotations"))


def _said(role: ExpandedRole, value: str) -> MarkedTree | None:
    """Where the pods of a role say this of the sidecar."""
    found = (role.pods[0].tree.get("metadata", field, _KEY) for field in ("labels", "annotations"))
    return next((each for each in found if text(each) == value), None)


RULES = (
    Rule(istio_sidecar, "warning", sees="job"),
    Rule(ineffective_istio_key, "warning", sees="job"),
)
