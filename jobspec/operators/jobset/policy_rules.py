"""The rules of JobSet's webhook for the policies of a JobSet: success and failure, and volume claims.

Follows `validateFailurePolicy` and `validateVolumeClaimPolicies`, sigs.k8s.io/jobset pkg/webhooks, 0.8.2 to 0.12.0.
"""

from __future__ import annotations

from jobspec.apis.releases import Target
from jobspec.diagnostics.places import Path, items_at, value_at
from jobspec.diagnostics.rules import Finding
from jobspec.kubernetes.metadata import bad_subdomain
from jobspec.kubernetes.problems import listed
from jobspec.operators.jobset_defaults import rule_name
from jobspec.operators.webhooks import name_of
from jobspec.operators.workloads import Role, Workload

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator


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
