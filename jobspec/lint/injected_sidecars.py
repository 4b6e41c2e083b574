"""Sidecars that webhooks add to pods by an annotation, and what pods without or with them come to.

Follows `SidecarInjector.Handle` of github.com/GoogleCloudPlatform/gcs-fuse-csi-driver pkg/webhook, and `New` of
github.com/hashicorp/vault-k8s agent-inject/agent.
"""

from __future__ import annotations

from collections.abc import Iterator

from jobspec.diagnostics.rules import Finding, Rule
from jobspec.documents.marked_tree import MarkedTree, items, text
from jobspec.lint.linted import LintedJob
from jobspec.operators.lasting_pods import runs_until_deleted

_FUSE_DRIVER, _FUSE_KEY = "gcsfuse.csi.storage.gke.io", "gke-gcsfuse/volumes"
#: The container that a user may write instead.
_FUSE_SIDECAR = "gke-gcsfuse-sidecar"
_VAULT = "vault.hashicorp.com"
_INJECT, _INIT_ALONE = f"{_VAULT}/agent-inject", f"{_VAULT}/agent-pre-populate-only"
#: The texts that `strconv.ParseBool` takes for true.
_TRUE = frozenset(("1", "t", "T", "true", "True", "TRUE"))


def bucket_without_sidecar(job: LintedJob) -> Iterator[Finding]:
    """A pod mounts a bucket by the Cloud Storage FUSE driver, and does not ask for the driver's sidecar.

    Why: GKE adds the sidecar that reads the bucket only to pods with the annotation `gke-gcsfuse/volumes: "true"`. Without it the volume
    is never mounted: the pod stays in ContainerCreating with "failed to find the sidecar container in Pod spec".
    Instead: write the annotation into the metadata of the pod template, not into that of the job.
    Before: "volumes: [{name: data, csi: {driver: gcsfuse.csi.storage.gke.io}}]"
    After: "template: {metadata: {annotations: {gke-gcsfuse/volumes: 'true'}}}"
    Evidence: `SidecarInjector.Handle` of github.com/GoogleCloudPlatform/gcs-fuse-csi-driver; GoogleCloudPlatform/gcs-fuse-csi-driver#153
    """
    for role in job.roles:
        volumes = items(role.pod_tree.get("spec", "volumes"))
        bucket = next((each for each in volumes if text(each, "csi", "driver") == _FUSE_DRIVER), None)
        asks = text(role.pod_tree, "metadata", "annotations", _FUSE_KEY) in ("true", "True")
        if bucket is None or asks or _has_own_sidecar(role.pod_tree):
            continue
        said = job.tree.get("metadata", "annotations", _FUSE_KEY)
        why = "the annotation is on the job, not on the pods" if said and job.given.kind != "Pod" else "the pods do not ask for its sidecar"
        message = f"`{text(bucket, 'name')}` is never mounted: {why}"
        yield Finding(bucket, message, f'annotate the pod template with `{_FUSE_KEY}: "true"`')


def _has_own_sidecar(pod: MarkedTree) -> bool:
    """True if the user wrote the driver's sidecar."""
    written = [each for field in ("initContainers", "containers") for each in items(pod.get("spec", field))]
    return any(text(each, "name") == _FUSE_SIDECAR for each in written)


def vault_agent(job: LintedJob) -> Iterator[Finding]:
    """The pods of a job get Vault's agent as a sidecar, which never ends.

    Why: the agent renews secrets until it is stopped, so that the pod and the job do not end when the training does, and keep their GPUs.
    Instead: `vault.hashicorp.com/agent-pre-populate-only: "true"`, which writes the secrets in an init container alone.
    Before: annotations: {vault.hashicorp.com/agent-inject: "true"}
    After: annotations: {vault.hashicorp.com/agent-inject: "true", vault.hashicorp.com/agent-pre-populate-only: "true"}
    Evidence: hashicorp/vault-k8s#120, hashicorp/vault-k8s#133, hashicorp/vault-helm#527
    """
    for role in job.roles:
        notes = role.pod_tree.get("metadata", "annotations")
        asked = notes.get(_INJECT) if notes else None
        if not job.is_job or asked is None or notes is None or runs_until_deleted(job.given, role.name):
            continue
        if text(asked) in _TRUE and text(notes, _INIT_ALONE) not in _TRUE and not _stops_agent(role.pod_tree):
            message = "the pods get Vault's agent as a sidecar, and never complete"
            yield Finding(asked, message, f'write `{_INIT_ALONE}: "true"` beside it')


def _stops_agent(pod: MarkedTree) -> bool:
    """Whether a program may stop the agent: it shares processes with it, or asks it to quit."""
    if text(pod, "spec", "shareProcessNamespace") == "True":
        return True
    containers = items(pod.get("spec", "containers"))
    words = [text(word) for each in containers for field in ("command", "args") for word in items(each.get(field))]
    return any("agent/v1/quit" in word or "pkill" in word for word in words)


RULES = (
    Rule(bucket_without_sidecar, "warning", sees="any pods", reads=[_FUSE_DRIVER]),
    Rule(vault_agent, "warning", reads=[_INJECT]),
)
