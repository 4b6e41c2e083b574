"""The rules of JobSet's webhook for JobSets in files; those that the trainer makes meet them later.

Follows `jobSetWebhook.ValidateCreate` and `ValidateUpdate`, sigs.k8s.io/jobset pkg/webhooks, 0.8.2 to 0.12.0.
"""

from __future__ import annotations

from jobspec.admission import jobset_policies
from jobspec.admission.decoding import becomes_null, undecodable_value
from jobspec.admission.jobset_policies import new_jobs, replicas_of
from jobspec.admission.names import bad_manager, name_of
from jobspec.admission.rule import Fault, WebhookRule
from jobspec.kubernetes.metadata import bad_dns1035_label
from jobspec.targets import reached
from jobspec.workloads import items_at, value_at

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from jobspec.diagnostics import Path
    from jobspec.targets import Target
    from jobspec.workloads import Workload

_JOBS: Path = ("spec", "replicatedJobs")
_MOST = 2**31 - 1


def depends_on(workload: Workload, target: Target) -> Iterator[Fault]:
    """A replicated job can wait only for jobs that stand before it in the list, so the first cannot wait at all. Reorder them."""
    before: set[str] = set()
    for number, job in enumerate(new_jobs(workload)):
        before.add(job.name)
        depends = job.data.get("dependsOn")
        if depends == [] and not reached(target["jobset"], "0.10.1"):
            yield Fault((*job.path, "dependsOn"), "`dependsOn` is empty, on which the webhook fails", "remove `dependsOn`")
        elif number == 0 and depends is not None:
            yield Fault((*job.path, "dependsOn"), f"the first replicated job, `{job.name}`, can wait for no other", "remove `dependsOn`")
            continue
        for inner, other in items_at(job.data, ("dependsOn",)):
            if other["name"] not in before:
                message = f"`{job.name}` cannot wait for `{other['name']}`, which does not stand before it"
                yield Fault((*job.path, *inner, "name"), message, "put that job first")


def subdomain(workload: Workload, target: Target) -> Iterator[Fault]:
    """The subdomain of the pods is the name of a Service: a DNS label of RFC 1035, at most 63 characters, a letter first."""
    path = ("spec", "network", "subdomain")
    name = value_at(workload.document.data, path)
    why = bad_dns1035_label(name) if name and not workload.old else ""
    if why:
        yield Fault(path, f"`{name}` cannot be a subdomain: {why}")


def jobset_manager(workload: Workload, target: Target) -> Iterator[Fault]:
    """The manager of a JobSet is a domain and a name, `example.com/name`, of at most 63 characters."""
    path = ("spec", "managedBy")
    manager = value_at(workload.document.data, path)
    if manager is None or workload.old:
        return
    if bad_manager(manager):
        yield Fault(path, f"`{manager}` is no manager: {bad_manager(manager)}", "write, for example, `example.com/name`")
    elif len(manager) > 63:
        yield Fault(path, f"the manager's name has {len(manager)} characters, more than 63")


def pod_total(workload: Workload, target: Target) -> Iterator[Fault]:
    """`replicas` times `parallelism` is the number of pods, and has to fit into 32 bits."""
    for job in new_jobs(workload):
        replicas, parallelism = replicas_of(job), value_at(job.data, ("template", "spec", "parallelism"))
        if replicas * (1 if parallelism is None else parallelism) > _MOST:
            yield Fault((*job.path, "replicas"), f"`{job.name}` would have more than {_MOST:,} pods")


def group_name(workload: Workload, target: Target) -> Iterator[Fault]:
    """The name of a replicated job's group is a DNS label of RFC 1035: at most 63 characters, a letter first."""
    for job in new_jobs(workload):
        group = job.data.get("groupName")
        why = "" if group is None else bad_dns1035_label(group)
        if why:
            yield Fault((*job.path, "groupName"), f"`{group}` cannot be the name of a group: {why}")


def child_names(workload: Workload, target: Target) -> Iterator[Fault]:
    """The names of Jobs and pods are made of the JobSet's, the replicated job's and numbers, and have to be DNS labels.

    They have at most 63 characters, of which five are a pod's own. Shorten the names.
    """
    name, key = name_of(workload)
    for job in new_jobs(workload):
        last = replicas_of(job) - 1
        child = f"{name}-{job.name}-{last}"
        completions = value_at(job.data, ("template", "spec", "completions"))
        indexed = value_at(job.data, ("template", "spec", "completionMode")) in (None, "Indexed")
        longest = f"{child}-{completions - 1}-abcde" if indexed and completions is not None else child
        why = bad_dns1035_label(child) or bad_dns1035_label(longest)
        if why:
            message = f"`{longest}` cannot be the name of what `{job.name}` makes: {why}"
            at = ("metadata", key) if bad_dns1035_label(name) else (*job.path, "name")
            yield Fault(at, message, "shorten the names", field=f"spec.replicatedJobs[{job.path[-1]}].name")


def jobset_frozen(workload: Workload, target: Target) -> Iterator[Fault]:
    """An update of a JobSet cannot change its replicated jobs or its manager. Make a new JobSet.

    Of a suspended one, the pods' labels, annotations, node selector, tolerations and scheduling gates can change.
    """
    if not workload.old:
        return
    now, before = workload.document.data["spec"], workload.old.data.get("spec") or {}
    suspended = now.get("suspend") is True or before.get("suspend") is True
    if now.get("managedBy") != before.get("managedBy"):
        yield Fault(("spec", "managedBy"), "the manager of a JobSet cannot be changed")
    if [_frozen(job, suspended=suspended) for job in now.get("replicatedJobs") or ()] != [
        _frozen(job, suspended=suspended) for job in before.get("replicatedJobs") or ()
    ]:
        yield Fault(_JOBS, "the replicated jobs of a JobSet cannot be changed", "make a new JobSet")


def _frozen(job: dict[str, Any], *, suspended: bool) -> dict[str, Any]:
    """A replicated job without the fields that may change; there are such only while the JobSet is suspended."""
    if not suspended:
        return job
    pod = dict(value_at(job, ("template", "spec", "template")) or {})
    pod["metadata"] = {key: value for key, value in (pod.get("metadata") or {}).items() if key not in ("labels", "annotations")}
    pod["spec"] = {key: value for key, value in (pod.get("spec") or {}).items() if key not in _CHANGEABLE}
    template = job.get("template") or {}
    return {**job, "template": {**template, "spec": {**(template.get("spec") or {}), "template": pod}}}


_CHANGEABLE = ("nodeSelector", "tolerations", "schedulingGates")

WEBHOOK_RULES = [
    WebhookRule(undecodable_value),
    WebhookRule(becomes_null),
    WebhookRule(depends_on),
    WebhookRule(subdomain),
    WebhookRule(jobset_manager),
    WebhookRule(pod_total),
    WebhookRule(group_name, since="0.10.1"),
    WebhookRule(child_names),
    *jobset_policies.WEBHOOK_RULES,
    WebhookRule(jobset_frozen),
]
