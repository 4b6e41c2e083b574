"""The rules of JobSet's webhook for JobSets in files and for those that the trainer makes.

Follows `jobSetWebhook.ValidateCreate`, `validateCoordinator` and `ValidateUpdate`, sigs.k8s.io/jobset pkg/webhooks, 0.8.2 to 0.12.0.
"""

from __future__ import annotations

from jobspec.apis.releases import Target, is_at_least
from jobspec.diagnostics.places import Path, items_at, value_at
from jobspec.diagnostics.rules import Finding, Rule
from jobspec.go.codec import encode_as_go
from jobspec.go.values import MAX_INT32, mapping, structs
from jobspec.kubernetes.metadata import bad_dns1035_label, bad_label_value
from jobspec.kubernetes.structural import filled
from jobspec.operators.jobset import JOBSET
from jobspec.operators.jobset.policy_rules import disabled_feature, failure_reason, failure_rule_name, policy_target, volume_claim
from jobspec.operators.jobset_defaults import with_job_defaults
from jobspec.operators.webhooks import bad_manager, becomes_null, misnamed, name_of, undecodable_value
from jobspec.operators.workloads import Role, Workload
from jobspec.schemas import shapes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from jobspec.diagnostics.places import Data


_JOBS: Path = ("spec", "replicatedJobs")


def depends_on(workload: Workload, target: Target) -> Iterator[Finding]:
    """A replicated job can wait only for jobs before it in the list, so the first cannot wait at all. Reorder them."""
    before: set[str] = set()
    for number, job in enumerate(workload.roles):
        before.add(job.name)
        depends = job.data.get("dependsOn")
        if depends == [] and not is_at_least(target["jobset"], "0.10.1"):
            yield Finding((*job.path, "dependsOn"), "`dependsOn` is empty: the webhook crashes", "remove `dependsOn`")
        elif number == 0 and depends is not None:
            yield Finding((*job.path, "dependsOn"), f"the first replicated job, `{job.name}`, cannot wait for others", "remove `dependsOn`")
            continue
        for inner, other in items_at(job.data, ("dependsOn",)):
            if other["name"] not in before:
                message = f"`{job.name}` cannot wait for `{other['name']}`, which is not before it"
                yield Finding((*job.path, *inner, "name"), message, "put that job first")


def subdomain(workload: Workload, target: Target) -> Iterator[Finding]:
    """The subdomain of the pods is the name of a Service: a DNS label of RFC 1035, at most 63 characters, a letter first."""
    path = ("spec", "network", "subdomain")
    if name := value_at(workload.document.data, path):
        yield from misnamed(path, name, bad_dns1035_label, "a subdomain")


def jobset_manager(workload: Workload, target: Target) -> Iterator[Finding]:
    """The manager of a JobSet is a domain and a name, `example.com/name`, of at most 63 characters."""
    path = ("spec", "managedBy")
    manager = value_at(workload.document.data, path)
    if why := "" if manager is None else bad_manager(manager):
        yield Finding(path, f"`{manager}` is not a manager: {why}", "write, for example, `example.com/name`")
    elif manager is not None and len(manager) > 63:
        yield Finding(path, f"the manager's name has {len(manager)} characters, more than 63")


def pod_total(workload: Workload, target: Target) -> Iterator[Finding]:
    """`replicas` times `parallelism` is the number of pods, and has to fit into 32 bits."""
    for job in workload.roles:
        replicas, parallelism = replicas_of(job), value_at(job.data, ("template", "spec", "parallelism"))
        if replicas * (1 if parallelism is None else parallelism) > MAX_INT32:
            yield Finding((*job.path, "replicas"), f"`{job.name}` would have more than {MAX_INT32:,} pods")


def group_name(workload: Workload, target: Target) -> Iterator[Finding]:
    """The name of a replicated job's group is a DNS label of RFC 1035: at most 63 characters, a letter first."""
    for job in workload.roles:
        if (group := job.data.get("groupName")) is not None:
            yield from misnamed((*job.path, "groupName"), group, bad_dns1035_label, "the name of a group")


def child_names(workload: Workload, target: Target) -> Iterator[Finding]:
    """The names of Jobs and pods are made of the JobSet's, the replicated job's and numbers, and have to be DNS labels.

    They have at most 63 characters, of which five are a pod's own. Shorten the names.
    """
    name, key = name_of(workload)
    for job in workload.roles:
        last = replicas_of(job) - 1
        child = f"{name}-{job.name}-{last}"
        completions = value_at(job.data, ("template", "spec", "completions"))
        longest = f"{child}-{completions - 1}-abcde" if _is_indexed(job) and completions is not None else child
        why = bad_dns1035_label(child) or bad_dns1035_label(longest)
        if why:
            message = f"`{longest}`, made for `{job.name}`, is not a valid name: {why}"
            at = ("metadata", key) if bad_dns1035_label(name) else (*job.path, "name")
            yield Finding(at, message, "shorten the names", field=f"spec.replicatedJobs[{job.path[-1]}].name")


def jobset_frozen(workload: Workload, target: Target) -> Iterator[Finding]:
    """An update of a JobSet cannot change its replicated jobs or its manager. Make a new JobSet.

    Of a suspended one, the pods' labels, annotations, node selector, tolerations and scheduling gates can change.
    """
    assert workload.old
    now, before = workload.document.data["spec"], workload.old.data.get("spec") or {}
    suspended = now.get("suspend") is True or before.get("suspend") is True
    if now.get("managedBy") != before.get("managedBy"):
        yield Finding(("spec", "managedBy"), "the manager of a JobSet cannot be changed")
    of_jobs = shapes.part(*JOBSET, target, _JOBS)
    stored = (filled(spec.get("replicatedJobs") or [], of_jobs) for spec in (now, before))
    jobs, jobs_before = ([_frozen(job, suspended=suspended) for job in each] for each in stored)
    if jobs != jobs_before and encode_as_go(jobs, of_jobs) != encode_as_go(jobs_before, of_jobs):
        yield Finding(_JOBS, "the replicated jobs of a JobSet cannot be changed", "create a new JobSet")


def frozen_changes(now: Data, before: Data, target: Target) -> list[str]:
    """Return the frozen fields of pods that differ between two specs of a JobSet.

    Not even a suspended JobSet can change these fields.
    """
    of_jobs = shapes.part(*JOBSET, target, _JOBS)
    stored = (filled(spec.get("replicatedJobs") or [], of_jobs) for spec in (now, before))
    jobs, jobs_before = (encode_as_go([_frozen(job, suspended=True) for job in each], of_jobs) for each in stored)
    if jobs == jobs_before:
        return []
    new, old = ({job["name"]: mapping(job, "template", "spec", "template", "spec") for job in each} for each in (jobs, jobs_before))
    found = (
        field
        for name in new.keys() & old.keys()
        for field in sorted(new[name].keys() | old[name].keys())
        if new[name].get(field) != old[name].get(field)
    )
    return list(dict.fromkeys(found)) or ["replicatedJobs"]


def _frozen(job: dict[str, Any], *, suspended: bool) -> dict[str, Any]:
    """A replicated job without the fields that may change while the JobSet is suspended.

    Its metadata, and the resources of its containers, may be empty or absent: Go holds both alike.
    """
    template = {"metadata": {}, **mapping(job, "template")}
    pod = {"metadata": {}, **mapping(template, "spec", "template")}
    if suspended:
        from jobspec.kubernetes.workloads.jobs import CHANGEABLE_OF_PODS

        pod["metadata"] = {key: value for key, value in mapping(pod, "metadata").items() if key not in ("labels", "annotations")}
        pod["spec"] = {key: value for key, value in mapping(pod, "spec").items() if key not in CHANGEABLE_OF_PODS}
    containers = {field: structs(pod, "spec", field) for field in ("initContainers", "containers")}
    with_resources = {field: [{"resources": {}, **each} for each in several] for field, several in containers.items() if several}
    pod["spec"] = {**mapping(pod, "spec"), **with_resources}
    return {**job, "template": {**template, "spec": {**mapping(template, "spec"), "template": pod}}}


def _is_indexed(job: Role) -> bool:
    """True if the pods of a replicated job have numbers, as they have by default."""
    return mapping(with_job_defaults(job.data), "template", "spec").get("completionMode") == "Indexed"


def replicas_of(job: Role) -> int:
    """The number of Jobs of a replicated job."""
    replicas: int | None = job.data.get("replicas")
    return 1 if replicas is None else replicas


def coordinator(workload: Workload, target: Target) -> Iterator[Finding]:
    """The coordinator is one pod: a replicated job that exists, has Indexed completion and `completions`, and numbers within these."""
    place = ("spec", "coordinator")
    wanted = value_at(workload.document.data, place)
    if wanted is None:
        return
    job = next((job for job in workload.roles if job.name == wanted["replicatedJob"]), None)
    if job is None:
        yield Finding((*place, "replicatedJob"), f"unknown replicated job `{wanted['replicatedJob']}`")
        return
    completions = value_at(job.data, ("template", "spec", "completions"))
    number, pod = wanted.get("jobIndex") or 0, wanted.get("podIndex") or 0
    if not 0 <= number < replicas_of(job):
        yield Finding((*place, "jobIndex"), f"no Job {number} of `{job.name}`: its Jobs are 0 to {replicas_of(job) - 1}")
    elif completions is None or not _is_indexed(job):
        yield Finding((*place, "replicatedJob"), f"`{job.name}` needs `completions` and the completion mode Indexed")
    elif not 0 <= pod < completions:
        yield Finding((*place, "podIndex"), f"no pod {pod} of `{job.name}`: its pods are 0 to {completions - 1}")


def coordinator_label(workload: Workload, target: Target) -> Iterator[Finding]:
    """The coordinator's address becomes a label of every pod, so it has to be one: at most 63 characters. Shorten the names."""
    place = ("spec", "coordinator")
    wanted = value_at(workload.document.data, place)
    if wanted is not None:
        name, _ = name_of(workload)
        domain = value_at(workload.document.data, ("spec", "network", "subdomain")) or name
        numbers = f"{wanted.get('jobIndex') or 0}-{wanted.get('podIndex') or 0}"
        label = f"{name}-{wanted['replicatedJob']}-{numbers}.{domain}"
        if bad_label_value(label):
            yield Finding(place, f"the coordinator's address `{label}` cannot be a label: {bad_label_value(label)}", "shorten the names")


_DECODING_RULES = [Rule(undecodable_value), Rule(becomes_null)]
#: The rules for a new JobSet.
CREATE_RULES = [
    *_DECODING_RULES,
    Rule(depends_on),
    Rule(subdomain),
    Rule(jobset_manager),
    Rule(pod_total),
    Rule(group_name, since="0.10.1"),
    Rule(child_names),
    Rule(policy_target),
    Rule(failure_rule_name),
    Rule(failure_reason),
    Rule(disabled_feature, since="0.11.1"),
    Rule(coordinator),
    Rule(coordinator_label, since="0.11.1"),
    Rule(volume_claim, since="0.11.1"),
]
#: The rules for an update of a JobSet.
UPDATE_RULES = [*_DECODING_RULES, Rule(jobset_frozen)]
