"""Metadata: kinds and names of objects, and the labels and annotations by which others look for jobs and pods, such as Istio."""

from __future__ import annotations

from collections.abc import Iterator

from jobspec.apis.kinds import NETWORK_POLICY, POD_DISRUPTION_BUDGET, SERVICE
from jobspec.diagnostics.rules import Finding, Rule
from jobspec.documents.marked_tree import text
from jobspec.lint.documents import whereabouts
from jobspec.lint.linted import LintedDocument, LintedJob
from jobspec.operators.kueue.keys import ANNOTATIONS, PRIORITY, TOPOLOGY_ANNOTATIONS
from jobspec.operators.trainer.runtimes import LONGEST_NAME, NAMES_LIMITED_SINCE, long_names
from jobspec.operators.workloads import JOBS, MAXIMUM_TIME

_OF_PODS = (
    "cluster-autoscaler.kubernetes.io/safe-to-evict",
    "k8s.v1.cni.cncf.io/networks",
    "karpenter.sh/do-not-disrupt",
    "prometheus.io/port",
    "prometheus.io/scrape",
    *TOPOLOGY_ANNOTATIONS,
)


_LABELS_OF_PODS = ("azure.workload.identity/use",)
#: Labels that are read from pods, or from the job and else its pods: as annotations, they have no effect.
_LABELS = (*_LABELS_OF_PODS, "kai.scheduler/queue", PRIORITY, MAXIMUM_TIME)


#: Kind of an object -> the labels by which it looks for pods.
_SELECTORS = {
    NETWORK_POLICY: ("spec", "podSelector", "matchLabels"),
    POD_DISRUPTION_BUDGET: ("spec", "selector", "matchLabels"),
    ("monitoring.coreos.com", "PodMonitor"): ("spec", "selector", "matchLabels"),
    SERVICE: ("spec", "selector"),
}


def long_replicated_job_name(document: LintedDocument) -> Iterator[Finding]:
    """A replicated job of a runtime has a name longer than 20 characters.

    Why: trainer 2.4 refuses such a runtime; and the name is a part of each pod's, so that it leaves less for the names of jobs.
    Instead: a shorter name.
    Before: replicatedJobs: [{name: distributed-training-worker}]
    After: replicatedJobs: [{name: node}]
    Evidence: the release notes of trainer 2.4.0
    """
    for path, name in long_names(document.given.data):
        message = f"the name has {len(name)} characters; trainer {NAMES_LIMITED_SINCE} accepts at most {LONGEST_NAME}"
        yield Finding(path, message, "shorten it")


def repeated_object(document: LintedDocument) -> Iterator[Finding]:
    """Two documents of a file, or of files that Flux or Argo CD applies together, are the same object: same kind, namespace and name.

    Why: the one that is applied last wins, and the other has no effect. Engines refuse them, or apply both in turns.
    Instead: give each a name of its own, or remove one.
    Before: "metadata: {name: train}, twice"
    After: "metadata: {name: train-a} and metadata: {name: train-b}"
    Evidence: https://argo-cd.readthedocs.io/en/stable/user-guide/diff-strategies/
    """
    given = document.given
    first = document.documents.first(given) if given.name and given.kind and not given.is_shown else given
    if first is not given:
        message = f"duplicate object, already defined at {whereabouts(first, given)}"
        yield Finding(("metadata", "name"), message, "rename it")


def ineffective_annotation(job: LintedJob) -> Iterator[Finding]:
    """An annotation has no effect: it is read from pods and is on the job, or it is read as a label.

    Why: the operators copy neither labels nor annotations of the job to its pods: the autoscaler evicts them, no network is attached, no
    metric is read, all without a warning. An annotation in place of a label is not seen anywhere: KAI Scheduler puts the pods into its
    default queue, and Kueue gives the job no priority.
    Instead: write it into the metadata of the pod templates, of a TrainJob by a patch; and a label among the labels.
    Before: metadata: {annotations: {cluster-autoscaler.kubernetes.io/safe-to-evict: "false"}}
    After: template: {metadata: {annotations: {cluster-autoscaler.kubernetes.io/safe-to-evict: "false"}}}
    Evidence: `createNewPod` of training-operator pkg/controller.v1/common; `CalcPodGroupQueue` of KAI-Scheduler; kubeflow/sdk#381
    """
    metadata = [tree.get("metadata") for tree in (job.tree, *(role.pod_tree for role in job.roles))]
    labels = {name for each in metadata if each for name, _ in each.entries("labels")}
    for name, said in (entry for each in metadata if each for entry in each.entries("annotations")):
        if name in _LABELS and name not in labels:
            of = "the pod templates" if name in _LABELS_OF_PODS else "the job"
            yield Finding(said, f"no effect: `{name}` is read from labels, not from annotations", f"write it as a label of {of}")
    for name, said in job.tree.entries("metadata", "annotations"):
        if name in _OF_PODS and not any(role.pod_tree.get("metadata", "annotations", name) for role in job.roles):
            yield Finding(said, f"no effect: `{name}` is read from pods, and the job does not pass it on", "set it in the pod templates")


def ineffective_label(job: LintedJob) -> Iterator[Finding]:
    """A label has no effect: it is read from pods and is on the job, or it is read as an annotation.

    Why: the operators do not copy the job's labels to its pods: a NetworkPolicy lets nothing in, a budget protects nobody, a monitor
    reads no metric, and no identity is given. Kueue reads what it asks of a topology, and how a job may shrink, from annotations alone.
    Instead: write it into the metadata of the pod templates, of a TrainJob by a patch; and an annotation among the annotations.
    Before: metadata: {labels: {azure.workload.identity/use: "true"}}
    After: template: {metadata: {labels: {azure.workload.identity/use: "true"}}}
    Evidence: `createNewPod` of training-operator pkg/controller.v1/common; kubeflow/sdk#381
    """
    metadata = [tree.get("metadata") for tree in (job.tree, *(role.pod_tree for role in job.roles))]
    annotations = {name for each in metadata if each for name, _ in each.entries("annotations")}
    for name, said in (entry for each in metadata if each for entry in each.entries("labels")):
        if name in (*ANNOTATIONS, *TOPOLOGY_ANNOTATIONS) and name not in annotations:
            of = "the job" if name in ANNOTATIONS else "the pod templates"
            yield Finding(said, f"no effect: `{name}` is read from annotations, not from labels", f"write it as an annotation of {of}")
    for name, said in job.tree.entries("metadata", "labels"):
        if any(role.pod_tree.get("metadata", "labels", name) for role in job.roles):
            continue
        wanted = f"no effect: `{name}` is read from pods" if name in _LABELS_OF_PODS else ""
        selectors = _SELECTORS.items() if job.trains else ()  # a label of other Jobs is often that of a whole application
        found = (job.documents.selectors(job.given, kind, path).with_label(name, text(said)) for kind, path in selectors)
        selector = next((each for each in found if each), None)
        if selector:
            wanted = f"the {selector.kind} `{selector.name}` selects pods with `{name}: {text(said)}`"
        if wanted and job.roles:
            yield Finding(said, f"{wanted}, and the job does not pass it on", "set it in the pod templates")


def generated_name(document: LintedDocument) -> Iterator[Finding]:
    """The job has `generateName` and no name, so that it cannot be applied.

    Why: `kubectl apply` refuses it, and engines that sync from Git take it for hooks alone: every sync would be another job.
    Instead: write a name, and another one for another run; or use `kubectl create`.
    Before: metadata: {generateName: train-}
    After: metadata: {name: train-1}
    Evidence: argoproj/argo-cd#1639, kubernetes/kubernetes#44501
    """
    given = document.given
    is_text = given.is_item and not given.inside  # such as a template of an Argo Workflow, which creates it
    if not given.name and document.get("metadata", "generateName") and not is_text and not document.is_hook:
        message = "`generateName` works with `kubectl create` only, not with apply, Argo CD or Flux"
        yield Finding(("metadata", "generateName"), message, "write `name`")


RULES = (
    Rule(long_replicated_job_name, "warning", sees="runtime"),
    Rule(repeated_object, "warning", sees="document"),
    Rule(ineffective_annotation, "warning", sees="job", reads=[*_OF_PODS, *_LABELS]),
    Rule(ineffective_label, "warning", sees="job", reads=["labels"]),
    Rule(generated_name, "info", sees="document", of=JOBS),
)
