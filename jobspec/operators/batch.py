"""A batch Job as the API server stores it, and the pods that the Job controller creates for it; and the Job of a CronJob.

Follows `SetDefaults_Job`, k8s.io/kubernetes pkg/apis/batch/v1, `jobStrategy.PrepareForCreate` with `generateSelector`,
pkg/registry/batch/job, `manageJob`, `addCompletionIndexEnvVariables` and `podGenerateNameWithIndex`, pkg/controller/job,
`GetPodFromTemplate`, pkg/controller, and `getJobFromTemplate2`, pkg/controller/cronjob, 1.36.
"""

from __future__ import annotations

from jobspec.diagnostics.places import Mark
from jobspec.documents.marked_tree import (
    MarkedTree,
    changed,
    each_item,
    is_true,
    items,
    number,
    set_by,
    text,
    with_appended,
    with_fields,
    with_missing,
)
from jobspec.kubernetes.metadata import generated_name
from jobspec.operators.made import (
    MINUTES,
    RANDOM,
    TIME,
    UID,
    Expansion,
    api_server,
    as_go_writes,
    as_sent,
    indices,
    operator_mark,
    owner_references,
)
from jobspec.operators.workloads import JOB_INDEX
from jobspec.programs.command_lines import INDEX
from jobspec.schemas import shapes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from jobspec.apis.releases import Target
    from jobspec.documents.document import Document

#: Of a Job, as of a StatefulSet: where its pods' spec is.
POD_OF_JOB = ("spec", "template", "spec")
UNLIMITED = 2**31 - 1
"""The `backoffLimit` of a Job that no one reaches."""
RETRIES = 6
"""The `backoffLimit` of a Job that does not say it."""
_LABEL = "batch.kubernetes.io"
_FAILURES = "batch.kubernetes.io/job-index-failure-count"
_SCHEDULED = "batch.kubernetes.io/cronjob-scheduled-timestamp"
_CONTROLLER = "kubernetes.io/job-controller"
_FINALIZER = "batch.kubernetes.io/job-tracking"
_LONGEST_PREFIX = 63 - 5


def expand_job(job: Document, target: Target, *, first_and_last_only: bool = False) -> Expansion:
    """The pods of an accepted Job that run at first. *first_and_last_only*: as for `expand`."""
    sent = as_sent(job, target)
    return Expansion(*_pods_and_count(sent, target, first_and_last_only=first_and_last_only))


def expand_cron_job(cron_job: Document, target: Target, *, first_and_last_only: bool = False) -> Expansion:
    """The Job of one run of an accepted CronJob, suspended or not, and its pods. *first_and_last_only*: as for `expand`."""
    job = _job_of_run(as_sent(cron_job, target), operator_mark("kube-controller-manager", target["kubernetes"]))
    pods, reported, counts = _pods_and_count(job, target, first_and_last_only=first_and_last_only)
    return Expansion([job, *pods], reported, counts)


def _pods_and_count(job: MarkedTree, target: Target, *, first_and_last_only: bool) -> tuple[list[MarkedTree], tuple[()], dict[str, int]]:
    """The pods of a Job as it is sent, without diagnostics, and their number; its role has no name."""
    pod = shapes.part("v1", "Pod", target, ("spec",))
    stored = job_defaults(changed(job, POD_OF_JOB, lambda spec: as_go_writes(spec, pod)), api_server(target))
    return pods_of(stored, target, first_and_last_only=first_and_last_only), (), {"": completions_of(stored)}


def _job_of_run(cron_job: MarkedTree, mark: Mark) -> MarkedTree:
    """The Job that a CronJob makes at a minute, before the server fills in its defaults."""
    name, template = cron_job.value["metadata"].value["name"], cron_job.value["spec"].value["jobTemplate"]
    own = template.get("metadata") or MarkedTree({}, mark)
    metadata = {
        "name": name.with_value(f"{name.value}-{MINUTES}"),
        "namespace": cron_job.value["metadata"].value["namespace"],
        **({"labels": labels} if (labels := own.get("labels")) else {}),
        "annotations": with_fields(own.get("annotations") or MarkedTree({}, mark), {_SCHEDULED: set_by(mark, TIME)}),
        "ownerReferences": owner_references(mark, "batch/v1", "CronJob", name),
    }
    return set_by(mark, {"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": template.value["spec"]})


def job_defaults(job: MarkedTree, server: Mark) -> MarkedTree:
    """A Job with all that the server fills in, but for the defaults of its pod template."""
    whole = changed(with_labels_of_pods(job), ("spec",), lambda spec: _spec(spec, server))
    return whole if is_true(whole, "spec", "manualSelector") else _selecting(whole, server)


def with_labels_of_pods(job: MarkedTree) -> MarkedTree:
    """A Job with its own labels, or if it has none, those of its pod template."""
    labels = job.get("spec", "template", "metadata", "labels")
    metadata = job.get("metadata")
    if not labels or not labels.value or metadata is None or list(metadata.entries("labels")):
        return job
    return with_fields(job, {"metadata": with_fields(metadata, {"labels": labels})})


def _spec(spec: MarkedTree, server: Mark) -> MarkedTree:
    """The spec of a Job with its defaults."""
    by_index = spec.get("backoffLimitPerIndex")
    policy = spec.get("podFailurePolicy")
    defaults: dict[str, Any] = {
        "parallelism": 1,
        **({} if spec.get("parallelism") else {"completions": 1}),
        "backoffLimit": UNLIMITED if by_index else RETRIES,
        "completionMode": "NonIndexed",
        "suspend": False,
        "manualSelector": False,
        "podReplacementPolicy": "Failed" if policy else "TerminatingOrFailed",
    }
    spec = with_missing(spec, defaults, server)
    return changed(spec, ("podFailurePolicy",), lambda each: _policy(each, server)) if policy else spec


def _policy(policy: MarkedTree, server: Mark) -> MarkedTree:
    status = {"status": "True"}
    return each_item(policy, "rules", lambda rule: each_item(rule, "onPodConditions", lambda each: with_missing(each, status, server)))


def _selecting(job: MarkedTree, server: Mark) -> MarkedTree:
    """A Job with its generated selector and the labels of its pods; labels that they have already stay."""
    prefix = job.get("metadata", "generateName")
    generated = prefix.with_value(generated_name(prefix.value)) if prefix else set_by(server, "")
    name = job.get("metadata", "name") or generated
    uid = set_by(server, UID)
    own = {f"{_LABEL}/controller-uid": uid, f"{_LABEL}/job-name": name, "controller-uid": uid, "job-name": name}
    selector = {f"{_LABEL}/controller-uid": uid}
    selecting = changed(job, ("spec", "selector", "matchLabels"), lambda labels: with_fields(labels, selector))
    return changed(selecting, ("spec", "template", "metadata", "labels"), lambda labels: with_fields(MarkedTree(own, server), labels.value))


def completions_of(job: MarkedTree) -> int:
    """The number of pods that run at first."""
    parallel = number(job, "spec", "parallelism", default=1)
    return max(0, min(parallel, number(job, "spec", "completions", default=parallel)))


def is_indexed(job: MarkedTree) -> bool:
    """Whether its pods are numbered."""
    return text(job, "spec", "completionMode") == "Indexed"


def pods_of(job: MarkedTree, target: Target, *, first_and_last_only: bool = False) -> list[MarkedTree]:
    """The pods of a stored Job, or the first and last alone; none while it is suspended, or where others manage it."""
    if is_true(job, "spec", "suspend") or text(job, "spec", "managedBy") not in ("", _CONTROLLER):
        return []
    mark, name, pods = operator_mark("kube-controller-manager", target["kubernetes"]), text(job, "metadata", "name"), []
    template = job.value["spec"].value["template"]
    indexed = is_indexed(job)
    spec = _with_variable(template.value["spec"], mark) if indexed else template.value["spec"]
    metadata = _metadata_of_pods(job, template, mark)
    version, kind = set_by(mark, "v1"), set_by(mark, "Pod")
    for index in indices(completions_of(job), f"pods of Job `{name}`", first_and_last_only=first_and_last_only):
        own = _numbered(metadata, job, index, mark) if indexed else _with_pod_name(metadata, job, f"{name}-")
        hostname = job.value["metadata"].value["name"].with_value(f"{name}-{index}")
        body = with_fields(spec, {"hostname": hostname}) if indexed else spec
        pods.append(MarkedTree({"apiVersion": version, "kind": kind, "metadata": own, "spec": body}, mark))
    return pods


def _metadata_of_pods(job: MarkedTree, template: MarkedTree, mark: Mark) -> MarkedTree:
    """The metadata that all pods of a Job share."""
    name = job.value["metadata"].value["name"]
    own = template.get("metadata") or MarkedTree({}, mark)
    kept = {field: each for field in ("labels", "annotations", "finalizers") if (each := own.get(field))}
    given = items(kept.get("finalizers"))
    finalizers = given if any(each.value == _FINALIZER for each in given) else [*given, set_by(mark, _FINALIZER)]
    fields = {
        **kept,
        "namespace": job.value["metadata"].value["namespace"],
        "ownerReferences": owner_references(mark, "batch/v1", "Job", name),
        "finalizers": MarkedTree(finalizers, mark),
    }
    return MarkedTree(fields, mark)


def _numbered(metadata: MarkedTree, job: MarkedTree, index: int, mark: Mark) -> MarkedTree:
    """The metadata of the pod of an index, which is in its name, a label and an annotation."""
    number = {JOB_INDEX: set_by(mark, str(index))}
    failures = {_FAILURES: set_by(mark, "0")} if job.get("spec", "backoffLimitPerIndex") else {}
    own = {"labels": number, "annotations": {**number, **failures}}
    marked = {name: with_fields(metadata.value.get(name) or MarkedTree({}, mark), each) for name, each in own.items()}
    end = f"-{index}-"
    return _with_pod_name(with_fields(metadata, marked), job, text(job, "metadata", "name")[: _LONGEST_PREFIX - len(end)] + end)


def _with_pod_name(metadata: MarkedTree, job: MarkedTree, prefix: str) -> MarkedTree:
    name = job.value["metadata"].value["name"]
    names = {"generateName": name.with_value(prefix), "name": name.with_value(f"{prefix[:_LONGEST_PREFIX]}{RANDOM}")}
    return with_fields(metadata, names)


def _with_variable(spec: MarkedTree, mark: Mark) -> MarkedTree:
    """A pod's spec whose containers know their pod's number, unless they set the variable themselves."""
    source = {"fieldRef": {"fieldPath": f"metadata.labels['{JOB_INDEX}']"}}
    variable = set_by(mark, {"name": INDEX, "valueFrom": source})

    def container(tree: MarkedTree) -> MarkedTree:
        is_set = any(text(each, "name") == INDEX for each in items(tree.get("env")))
        return tree if is_set else with_appended(tree, "env", [variable], mark)

    return each_item(each_item(spec, "containers", container), "initContainers", container)
