"""The rules of JobSet's webhook for the policies of a JobSet: success and failure, the coordinator, volume claims.

Follows `validateFailurePolicy`, `validateCoordinator` and `validateVolumeClaimPolicies`, sigs.k8s.io/jobset pkg/webhooks, 0.8.2 to 0.12.0.
"""

from __future__ import annotations

from jobspec.admission.names import name_of
from jobspec.admission.rule import Fault, WebhookRule
from jobspec.kubernetes.metadata import bad_label_value, bad_subdomain
from jobspec.workloads import items_at, value_at

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from jobspec.diagnostics import Path
    from jobspec.targets import Target
    from jobspec.workloads import Role, Workload

_FAILURE: Path = ("spec", "failurePolicy")
_FAILURE_RULES: Path = (*_FAILURE, "rules")
_CLAIMS: Path = ("spec", "volumeClaimPolicies")
_REASONS = ("BackoffLimitExceeded", "DeadlineExceeded", "FailedIndexes", "MaxFailedIndexesExceeded", "PodFailurePolicy")
_WORD = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_")


def new_jobs(workload: Workload) -> list[Role]:
    """The replicated jobs of a new JobSet; none on an update, for which other rules hold."""
    return [] if workload.old else workload.roles


def replicas_of(job: Role) -> int:
    """The number of Jobs of a replicated job."""
    replicas: int | None = job.data.get("replicas")
    return 1 if replicas is None else replicas


def _names(workload: Workload) -> list[str]:
    return [job.name for job in workload.roles]


def policy_target(workload: Workload, target: Target) -> Iterator[Fault]:
    """A success or failure policy names replicated jobs of the JobSet."""
    data, names = workload.document.data, _names(workload)
    rules = [path for path, _ in items_at(data, _FAILURE_RULES)]
    for place in (("spec", "successPolicy"), *rules):
        for path, name in items_at(data, (*place, "targetReplicatedJobs")):
            if name not in names and not workload.old:
                yield Fault(path, f"there is no replicated job `{name}`", f"there are {', '.join(f'`{each}`' for each in names)}")


def failure_rule_name(workload: Workload, target: Target) -> Iterator[Fault]:
    """A rule of a failure policy has a name of its own: 1 to 128 letters, digits, `_`, `,` and `:`, a letter first.

    Without one, JobSet names the rule.
    """
    first: dict[str, int] = {}
    for number, (path, rule) in enumerate(items_at(workload.document.data, _FAILURE_RULES) if not workload.old else ()):
        name = rule.get("name") or f"failurePolicyRule{number}"
        if not _is_rule_name(name):
            message = f"`{name}` cannot be the name of a rule: it takes letters, digits, `_`, `,` and `:`, a letter first"
            yield Fault((*path, "name"), message)
        if name in first:
            yield Fault((*path, "name"), f"rule {number} has the same name as rule {first[name]}: `{name}`")
        first.setdefault(name, number)


def _is_rule_name(name: str) -> bool:
    inner = name.replace(",", "").replace(":", "")
    return len(name) <= 128 and name[0].isalpha() and name[-1] in _WORD and _WORD.issuperset(inner)


def failure_reason(workload: Workload, target: Target) -> Iterator[Fault]:
    """A rule of a failure policy names reasons for which a Kubernetes Job can fail."""
    for rule, _ in items_at(workload.document.data, _FAILURE_RULES) if not workload.old else ():
        for path, reason in items_at(workload.document.data, (*rule, "onJobFailureReasons")):
            if reason not in _REASONS:
                yield Fault(path, f"no Job fails for the reason `{reason}`", f"the reasons are {', '.join(_REASONS)}")


def disabled_feature(workload: Workload, target: Target) -> Iterator[Fault]:
    """Restarting in place, and restarting one Job alone, are alpha features, which an operator's own settings have to turn on."""
    data = workload.document.data
    strategy = (*_FAILURE, "restartStrategy")
    if value_at(data, strategy) == "InPlaceRestart" and not workload.old:
        yield Fault(strategy, "`InPlaceRestart` is an alpha feature of JobSet, which is off", "write `Recreate`")
    for path, rule in items_at(data, _FAILURE_RULES) if not workload.old else ():
        if rule["action"] in ("RestartJob", "RestartJobAndIgnoreMaxRestarts"):
            message = f"`{rule['action']}` is an alpha feature of JobSet, which is off"
            yield Fault((*path, "action"), message, f"write `{rule['action'].replace('RestartJob', 'RestartJobSet')}`")


def coordinator(workload: Workload, target: Target) -> Iterator[Fault]:
    """The coordinator is one pod: a replicated job that exists, has Indexed completion and `completions`, and numbers within these."""
    place = ("spec", "coordinator")
    wanted = value_at(workload.document.data, place)
    if wanted is None or workload.old:
        return
    job = next((job for job in new_jobs(workload) if job.name == wanted["replicatedJob"]), None)
    if job is None:
        yield Fault((*place, "replicatedJob"), f"there is no replicated job `{wanted['replicatedJob']}`")
        return
    completions = value_at(job.data, ("template", "spec", "completions"))
    number, pod = wanted.get("jobIndex") or 0, wanted.get("podIndex") or 0
    if not 0 <= number < replicas_of(job):
        yield Fault((*place, "jobIndex"), f"`{job.name}` has {replicas_of(job)} Jobs, and no number {number}, counted from 0")
    elif completions is None or value_at(job.data, ("template", "spec", "completionMode")) not in (None, "Indexed"):
        yield Fault((*place, "replicatedJob"), f"`{job.name}` needs `completions` and the completion mode Indexed")
    elif not 0 <= pod < completions:
        yield Fault((*place, "podIndex"), f"`{job.name}` has {completions} pods, and no number {pod}, counted from 0")


def coordinator_label(workload: Workload, target: Target) -> Iterator[Fault]:
    """The coordinator's address becomes a label of every pod, so it has to be one: at most 63 characters. Shorten the names."""
    place = ("spec", "coordinator")
    wanted = value_at(workload.document.data, place)
    if wanted is not None and not workload.old:
        name, _ = name_of(workload)
        domain = value_at(workload.document.data, ("spec", "network", "subdomain")) or name
        numbers = f"{wanted.get('jobIndex') or 0}-{wanted.get('podIndex') or 0}"
        label = f"{name}-{wanted['replicatedJob']}-{numbers}.{domain}"
        if bad_label_value(label):
            yield Fault(place, f"the coordinator's address `{label}` cannot be a label: {bad_label_value(label)}", "shorten the names")


def volume_claim(workload: Workload, target: Target) -> Iterator[Fault]:
    """A claim that JobSet makes has a name of its own, which with the JobSet's fits into 63 characters.

    Some container mounts it by that name, and no volume of a pod has the name already.
    """
    jobset, _ = name_of(workload)
    seen: set[str] = set()
    policies = items_at(workload.document.data, _CLAIMS) if not workload.old else ()
    for path, claim in (each for place, _ in policies for each in items_at(workload.document.data, (*place, "templates"))):
        name = value_at(claim, ("metadata", "name")) or ""
        at = (*path, "metadata", "name")
        if name in seen:
            yield Fault(at, f"two claims have the name `{name}`")
        if why := bad_subdomain(name):
            yield Fault(at, f"`{name}` cannot be the name of a claim: {why}")
        elif len(f"{name}-{jobset}") > 63:
            yield Fault(at, f"the claim's name with the JobSet's, `{name}-{jobset}`, has more than 63 characters", "shorten one")
        yield from _volumes_named(workload, name)
        if not any(_mounts(job, name) for job in new_jobs(workload)):
            yield Fault(at, f"no container mounts the claim `{name}`", f"add `volumeMounts: [{{name: {name}, mountPath: ...}}]` to one")
        seen.add(name)


def _volumes_named(workload: Workload, name: str) -> Iterator[Fault]:
    for job in new_jobs(workload):
        for path, volume in job.items("volumes"):
            if volume["name"] == name:
                yield Fault((*path, "name"), f"the volume `{name}` has the name of a claim that JobSet makes", "remove it")


def _mounts(job: Role, name: str) -> bool:
    containers = [*job.items("initContainers"), *job.items("containers")]
    return any(mount["name"] == name for _, container in containers for _, mount in items_at(container, ("volumeMounts",)))


WEBHOOK_RULES = [
    WebhookRule(policy_target),
    WebhookRule(failure_rule_name),
    WebhookRule(failure_reason),
    WebhookRule(disabled_feature, since="0.11.1"),
    WebhookRule(coordinator),
    WebhookRule(coordinator_label, since="0.11.1"),
    WebhookRule(volume_claim, since="0.11.1"),
]
