"""JobSet's webhooks: their rules for JobSets in files and for those that the trainer makes, and what they change in JobSets and pods.

Follows `jobSetWebhook.ValidateCreate` and `ValidateUpdate`, sigs.k8s.io/jobset pkg/webhooks, 0.8.2 to 0.12.0.
"""

from __future__ import annotations

from jobspec.apis.releases import Target, is_at_least
from jobspec.diagnostics.diagnostic import Diagnostic, has_error
from jobspec.diagnostics.places import Mark, Path, items_at, value_at
from jobspec.diagnostics.rules import Finding, Rule
from jobspec.documents.document import Document
from jobspec.documents.marked_tree import MarkedTree, changed, items, set_by, text, with_data, with_fields
from jobspec.go.codec import encode_as_go
from jobspec.go.values import MAX_INT32, mapping, structs
from jobspec.kubernetes.metadata import bad_dns1035_label, bad_label_value, bad_subdomain
from jobspec.kubernetes.problems import listed
from jobspec.kubernetes.structural import filled
from jobspec.kubernetes.verdict import verdict
from jobspec.operators.jobset import JOBSET, PREFIX
from jobspec.operators.jobset.labels import EXCLUSIVE, NODE_SELECTOR
from jobspec.operators.jobset_defaults import rule_name, with_job_defaults, with_jobset_defaults
from jobspec.operators.made import RANDOM, operator_mark, with_crd_defaults, with_generated_names
from jobspec.operators.webhooks import bad_manager, becomes_null, diagnostics, misnamed, name_of, undecodable_value
from jobspec.operators.workloads import JOB_INDEX, Role, Workload
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


# The rules of JobSet's webhook for the policies of a JobSet: success and failure, the coordinator, volume claims.
#
# Follows `validateFailurePolicy`, `validateCoordinator` and `validateVolumeClaimPolicies`, sigs.k8s.io/jobset pkg/webhooks, 0.8.2 to
# 0.12.0.


_FAILURE: Path = ("spec", "failurePolicy")
_FAILURE_RULES: Path = (*_FAILURE, "rules")
_CLAIMS: Path = ("spec", "volumeClaimPolicies")
_REASONS = ("BackoffLimitExceeded", "DeadlineExceeded", "FailedIndexes", "MaxFailedIndexesExceeded", "PodFailurePolicy")
_WORD = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_")


def policy_target(workload: Workload, target: Target) -> Iterator[Finding]:
    """A success or failure policy names replicated jobs of the JobSet."""
    data, names = workload.document.data, [job.name for job in workload.roles]
    rules = [path for path, _ in items_at(data, _FAILURE_RULES)]
    for place in (("spec", "successPolicy"), *rules):
        for path, name in items_at(data, (*place, "targetReplicatedJobs")):
            if name not in names:
                yield Finding(path, f"unknown replicated job `{name}`", f"there are {listed(names)}")


def failure_rule_name(workload: Workload, target: Target) -> Iterator[Finding]:
    """A rule of a failure policy has a name of its own: 1 to 128 letters, digits, `_`, `,` and `:`, a letter first.

    Without one, JobSet names the rule.
    """
    first: dict[str, int] = {}
    for number, (path, rule) in enumerate(items_at(workload.document.data, _FAILURE_RULES)):
        name = rule_name(rule, number)
        if not (len(name) <= 128 and name[0].isalpha() and name[-1] in _WORD and _WORD.issuperset(name.replace(",", "").replace(":", ""))):
            message = f"`{name}` cannot be the name of a rule: use letters, digits, `_`, `,` and `:`, starting with a letter"
            yield Finding((*path, "name"), message)
        if name in first:
            yield Finding((*path, "name"), f"rule {number} has the same name as rule {first[name]}: `{name}`")
        first.setdefault(name, number)


def failure_reason(workload: Workload, target: Target) -> Iterator[Finding]:
    """A rule of a failure policy names reasons for which a Kubernetes Job can fail."""
    for rule, _ in items_at(workload.document.data, _FAILURE_RULES):
        for path, reason in items_at(workload.document.data, (*rule, "onJobFailureReasons")):
            if reason not in _REASONS:
                yield Finding(path, f"unknown failure reason `{reason}`", f"the reasons are {', '.join(_REASONS)}")


def disabled_feature(workload: Workload, target: Target) -> Iterator[Finding]:
    """Restarting in place, and restarting one Job alone, are alpha features, which an operator's own settings have to turn on."""
    data = workload.document.data
    strategy = (*_FAILURE, "restartStrategy")
    if value_at(data, strategy) == "InPlaceRestart":
        yield Finding(strategy, "`InPlaceRestart` is an alpha feature of JobSet, which is off", "write `Recreate`")
    for path, rule in items_at(data, _FAILURE_RULES):
        if rule["action"] in ("RestartJob", "RestartJobAndIgnoreMaxRestarts"):
            message = f"`{rule['action']}` is an alpha feature of JobSet, which is off"
            yield Finding((*path, "action"), message, f"write `{rule['action'].replace('RestartJob', 'RestartJobSet')}`")


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


def volume_claim(workload: Workload, target: Target) -> Iterator[Finding]:
    """A claim that JobSet makes has a name of its own, which with the JobSet's fits into 63 characters.

    Some container mounts it by that name, and no volume of a pod has the name already.
    """
    jobset, _ = name_of(workload)
    seen: set[str] = set()
    data = workload.document.data
    for path, claim in (each for place, _ in items_at(data, _CLAIMS) for each in items_at(data, (*place, "templates"))):
        name = value_at(claim, ("metadata", "name")) or ""
        at = (*path, "metadata", "name")
        if name in seen:
            yield Finding(at, f"two claims have the name `{name}`")
        if why := bad_subdomain(name):
            yield Finding(at, f"`{name}` cannot be the name of a claim: {why}")
        elif len(f"{name}-{jobset}") > 63:
            yield Finding(at, f"the claim's name with the JobSet's, `{name}-{jobset}`, has more than 63 characters", "shorten one")
        yield from _volumes_named(workload, name)
        if not any(_mounts(job, name) for job in workload.roles):
            yield Finding(at, f"no container mounts the claim `{name}`", f"add `volumeMounts: [{{name: {name}, mountPath: ...}}]` to one")
        seen.add(name)


def _volumes_named(workload: Workload, name: str) -> Iterator[Finding]:
    """The volumes of pods that have the name of a claim."""
    for job in workload.roles:
        for path, volume in job.items("volumes"):
            if volume["name"] == name:
                yield Finding((*path, "name"), f"the volume `{name}` has the name of a claim that JobSet creates", "remove it")


def _mounts(job: Role, name: str) -> bool:
    containers = [*job.items("initContainers"), *job.items("containers")]
    return any(mount["name"] == name for _, container in containers for _, mount in items_at(container, ("volumeMounts",)))


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


# What JobSet's webhooks change: the defaults of a JobSet, and in the pods of its Jobs a label for their priority and their topology.
#
# Follows `podWebhook.Default`, sigs.k8s.io/jobset pkg/webhooks, 0.8.2 to 0.12.0; of JobSets see `jobset_defaults`. A pod that follows the
# first one of its Job waits until that is on a node, and goes where that is; which topology that will be, nobody knows before.


_PRIORITY = f"{PREFIX}/priority"
_JOB = f"{PREFIX}/job-key"


def stored_jobset(tree: MarkedTree, target: Target) -> MarkedTree:
    """A JobSet with all that the server and the webhook fill in."""
    whole = with_crd_defaults(tree, shapes.part(*JOBSET, target), Mark("the CRD of JobSet"))
    webhook = operator_mark("jobset", target["jobset"])
    return changed(whole, ("spec",), lambda spec: with_data(spec, with_jobset_defaults(spec.data()), webhook))


def admitted(pod: MarkedTree, target: Target, priority: MarkedTree | None) -> MarkedTree:
    """A pod after the webhook. *priority*: that of its class, None where the class is not at hand."""
    mark = operator_mark("jobset", target["jobset"])
    annotations = pod.get("metadata", "annotations")
    own = annotations.value if annotations else {}
    exclusive = EXCLUSIVE in own
    if NODE_SELECTOR in own or not (exclusive or is_at_least(target["jobset"], "0.11.1")):
        return pod
    if priority is not None:
        label = {_PRIORITY: priority.with_value(str(priority.value))}
        pod = changed(pod, ("metadata", "labels"), lambda labels: with_fields(labels, label))
    return _apart(pod, own[EXCLUSIVE], mark) if exclusive else pod


def _apart(pod: MarkedTree, topology: MarkedTree, mark: Mark) -> MarkedTree:
    """A pod of a Job that has a topology for itself: the first keeps other Jobs away, the others go where the first one is."""
    if text(pod, "metadata", "annotations", JOB_INDEX) != "0":
        place = {topology.value: set_by(mark, RANDOM)}
        return changed(pod, ("spec", "nodeSelector"), lambda each: with_fields(each, place))
    job = text(pod, "metadata", "labels", _JOB)
    together: list[dict[str, Any]] = [{"key": _JOB, "operator": "In", "values": [job]}]
    priority = text(pod, "metadata", "labels", _PRIORITY)
    alone: list[dict[str, Any]] = [
        {"key": _JOB, "operator": "Exists"},
        {"key": _JOB, "operator": "NotIn", "values": [job]},
        {"key": _PRIORITY, "operator": "In", "values": [priority]},
    ]
    pod = _with_term(pod, "podAffinity", _term(together, topology), mark)
    return _with_term(pod, "podAntiAffinity", _term(alone, topology), mark)


def _term(expressions: list[dict[str, Any]], topology: MarkedTree) -> dict[str, Any]:
    return {"labelSelector": {"matchExpressions": expressions}, "topologyKey": topology, "namespaceSelector": {}}


def _with_term(pod: MarkedTree, kind: str, term: dict[str, Any], mark: Mark) -> MarkedTree:
    """A pod with one more required term of affinity."""
    name = "requiredDuringSchedulingIgnoredDuringExecution"

    def affinity(tree: MarkedTree) -> MarkedTree:
        terms = tree.get(name)
        return with_fields(tree, {name: MarkedTree([*items(terms), set_by(mark, term)], terms.mark if terms else mark)})

    return changed(pod, ("spec", "affinity", kind), affinity)


# What a server and JobSet's webhook refuse in the JobSet that the trainer makes of a job: then nothing runs, and only an event says so.
#
# The rules are those for JobSets in files; names that a cluster makes up count as long as they will be.


_REFUSED = "JobSet refused, so nothing runs"
_JOBS_FIELD = "spec.replicatedJobs["


def refusals(jobset: MarkedTree, job: Document, target: Target) -> Iterator[Diagnostic]:
    """The errors of a stored JobSet at the lines that caused them; what has no line of its own stands at the *job*'s name."""
    document = Document(with_generated_names(jobset), jobset.marks, file=job.file, index=job.index)
    found = verdict(document, target).diagnostics
    if not has_error(found):
        found = diagnostics(CREATE_RULES, Workload(document), target)
    added = _added_by_patches(jobset, job)
    for each in found:
        if each.severity == "error" and not (added and each.rule == "missing-field" and each.field.startswith(_JOBS_FIELD)):
            message = f"{_REFUSED}: {each.message}"
            yield Diagnostic("jobset-refused", message, _place_of_cause(each, job), field=each.field, document=job.index, hint=each.hint)
    known = listed(text(each, "name") for each in items(jobset.get("spec", "replicatedJobs")) if each not in added)
    for new in added:
        name = new.get("name") or new
        message = f"{_REFUSED}: the runtime has no replicated job `{name.value}`: the patch adds one without containers"
        yield Diagnostic("jobset-refused", message, name.place(), document=job.index, hint=f"the runtime has {known}")


def _added_by_patches(jobset: MarkedTree, job: Document) -> list[MarkedTree]:
    """The replicated jobs without containers that are in no runtime, and came by a patch of the TrainJob."""
    patches = job.marks.nearest(("spec", "runtimePatches"))
    jobs = items(jobset.get("spec", "replicatedJobs"))
    bare = [each for each in jobs if not each.get("template", "spec", "template", "spec", "containers")]
    return [each for each in bare if (name := each.get("name")) and patches.contains(name.mark)]


def _place_of_cause(problem: Diagnostic, job: Document) -> Mark:
    """The line that caused a problem: of names that are made of the job's and others, the job's."""
    is_name = problem.field.startswith(_JOBS_FIELD) and problem.field.endswith("].name") and problem.field.count("[") == 1
    return problem.mark if problem.mark.line and not is_name else job.marks.nearest(("metadata", "name")).place()
