"""Failure policies and clean-ups of JobSets: rules that never decide, restarts that never come or never end, Jobs that run again."""

from __future__ import annotations

from collections.abc import Iterator

from jobspec.diagnostics.rules import Finding, Rule
from jobspec.documents.marked_tree import MarkedTree, items, number, text
from jobspec.kubernetes.problems import listed
from jobspec.lint.linted import LintedJob
from jobspec.operators.jobset.failures import (
    BACKOFF,
    RESTART,
    RESTART_UNCOUNTED,
    actions,
    allowed_restarts,
    can_restart,
    failure_rules,
    failures,
    rules_in_place_of,
)

_POLICY = ("spec", "failurePolicy")


def unreachable_failure_rule(job: LintedJob) -> Iterator[Finding]:
    """A rule of a failure policy never decides: rules before it match every failure that it is for.

    Why: JobSet tries the rules in their order, and the first one that matches a failed Job decides. A rule without reasons, messages and
    targets matches each failure. What a later rule says of some Jobs, such as to fail at once, then never happens.
    Instead: put the rules for few failures first.
    Before: rules: [{name: again, action: RestartJobSet}, {name: stop, action: FailJobSet, targetReplicatedJobs: [leader]}]
    After: rules: [{name: stop, action: FailJobSet, targetReplicatedJobs: [leader]}, {name: again, action: RestartJobSet}]
    Evidence: `ruleIsApplicable` of sigs.k8s.io/jobset pkg/controllers; JobSet 0.12.0 on a server
    """
    rules, ways = failure_rules(job.jobset), failures(job.jobset)
    for at, rule in enumerate(rules):
        deciding = rules_in_place_of(rule, rules[:at], ways)
        if any(each.action != rule.action for each in deciding):
            names = list(dict.fromkeys(text(each.tree, "name") for each in deciding))
            first = f"the earlier rule{'s' * (len(names) > 1)} {listed(names)} match{'es' * (len(names) == 1)}"
            message = f"the rule `{text(rule.tree, 'name')}` never decides: {first} all its failures"
            yield Finding(rule.tree, message, "move it up")


def uncounted_restarts(job: LintedJob) -> Iterator[Finding]:
    """A JobSet whose program fails restarts forever: its failure policy restarts it by an action that is not counted.

    Why: `maxRestarts` does not limit `RestartJobSetAndIgnoreMaxRestarts`, which is meant for what is not the program's fault, such as the
    maintenance of a node. Where the rule also matches a Job whose pods failed too often, an error in the first line restarts all pods
    forever.
    Instead: limit the rule to the reason `PodFailurePolicy`, with a `podFailurePolicy` for disruptions; or use `RestartJobSet`.
    Before: "{name: again, action: RestartJobSetAndIgnoreMaxRestarts}"
    After: "{name: again, action: RestartJobSetAndIgnoreMaxRestarts, onJobFailureReasons: [PodFailurePolicy]}"
    Evidence: https://jobset.sigs.k8s.io/docs/tasks/failure_policy/; JobSet 0.12.0 on a server
    """
    by_failure = actions(job.jobset)
    for rule in failure_rules(job.jobset):
        usual = [each for each in by_failure if each.reason == BACKOFF and rule.matches(each)]
        if rule.action == RESTART_UNCOUNTED and any(by_failure[each] == RESTART_UNCOUNTED for each in usual):
            message = f"a program that fails restarts forever: `{rule.action}` is not counted"
            yield Finding(rule.tree.get("action") or rule.tree, message, f"use `{RESTART}`, or limit the rule to some reasons")
            return


def restart_rule_without_restarts(job: LintedJob) -> Iterator[Finding]:
    """A rule of a failure policy asks for a restart, and `maxRestarts` allows none.

    Why: `maxRestarts` is 0 by default, and `RestartJobSet` is subject to it: the JobSet fails at the first failure.
    Instead: write how often the JobSet may restart.
    Before: "failurePolicy: {rules: [{name: retry, action: RestartJobSet}]}"
    After: "failurePolicy: {maxRestarts: 3, rules: [{name: retry, action: RestartJobSet}]}"
    Evidence: `restartJobSetActionApplier` of sigs.k8s.io/jobset pkg/controllers; JobSet 0.12.0 on a server
    """
    if allowed_restarts(job.jobset) > 0:
        return
    for rule in failure_rules(job.jobset):
        if rule.action == RESTART:
            message = f"the rule `{text(rule.tree, 'name')}` never restarts anything: `maxRestarts` is 0"
            yield Finding(rule.tree.get("action") or rule.tree, message, "set `failurePolicy.maxRestarts`")


def repeated_initializer(job: LintedJob) -> Iterator[Finding]:
    """Each restart of the JobSet also runs what has completed again, such as a download.

    Why: JobSet deletes all Jobs of the JobSet and creates them again, those that others waited for first.
    Instead: have the initializer leave at once where its result is there, on a volume that outlives its pod.
    Before: "failurePolicy: {maxRestarts: 3}"
    After: command: [sh, -c, "test -e /data/done || python download.py"]
    Evidence: `failurePolicyRecreateAll` of sigs.k8s.io/jobset pkg/controllers; JobSet 0.12.0 on a server
    """
    jobs = items(job.jobset.get("spec", "replicatedJobs"))
    waited = [one for each in jobs for one in items(each.get("dependsOn")) if text(one, "status") == "Complete"]
    if waited and can_restart(job.jobset):
        place = job.jobset.get(*_POLICY, "maxRestarts") or job.jobset.get(*_POLICY)
        message = f"each restart runs `{text(waited[0], 'name')}` again: all Jobs are recreated"
        yield Finding(place, message, "skip in its program what has been done already")


def ttl_of_replicated_job(job: LintedJob) -> Iterator[Finding]:
    """A Job of a JobSet is deleted when it has ended, and JobSet creates it again while other Jobs run.

    Why: `ttlSecondsAfterFinished` in the Job template has Kubernetes delete the Job. JobSet misses it and makes another one: a download
    runs again and again beside the training, and where it runs when the training completes, the JobSet does not.
    Instead: write it into the JobSet's own `spec`.
    Before: replicatedJobs: [{name: init, template: {spec: {ttlSecondsAfterFinished: 60}}}]
    After: ttlSecondsAfterFinished: 60
    Evidence: `shouldCreateJob` of sigs.k8s.io/jobset pkg/controllers; JobSet 0.12.0 on a server
    """
    jobs = items(job.jobset.get("spec", "replicatedJobs"))
    if sum(number(each, "replicas", default=1) for each in jobs) < 2:
        return
    for each in jobs:
        ttl = each.get("template", "spec", "ttlSecondsAfterFinished")
        if ttl is not None and ttl.value is not None and not _ends_all(job.jobset, text(each, "name")):
            message = f"runs again and again: `{text(each, 'name')}` is deleted after {ttl.value} s, and JobSet recreates it"
            yield Finding(ttl, message, "set `ttlSecondsAfterFinished` of the JobSet instead")


def _ends_all(jobset: MarkedTree, replicated_job: str) -> bool:
    """Whether the JobSet is complete as soon as a Job of this replicated job is."""
    targets = [text(each) for each in items(jobset.get("spec", "successPolicy", "targetReplicatedJobs"))]
    return text(jobset, "spec", "successPolicy", "operator") == "Any" and (not targets or replicated_job in targets)


RULES = (
    Rule(unreachable_failure_rule, "warning", sees="JobSet", reads=["failurePolicy"]),
    Rule(uncounted_restarts, "info", sees="JobSet", reads=["failurePolicy"]),
    Rule(restart_rule_without_restarts, "warning", sees="JobSet", reads=["failurePolicy"]),
    Rule(repeated_initializer, "info", sees="JobSet", reads=["failurePolicy"]),
    Rule(ttl_of_replicated_job, "warning", sees="JobSet", reads=["ttlSecondsAfterFinished"]),
)
