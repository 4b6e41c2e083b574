"""What JobSet does when one of its Jobs fails: which failures can come, which rule of the failure policy decides, what it restarts.

Follows `executeFailurePolicy`, `findFirstFailedPolicyRuleAndJob` and `ruleIsApplicable`, sigs.k8s.io/jobset pkg/controllers, 0.8.2 to
0.12.0, and the conditions of the Job controller, k8s.io/kubernetes pkg/controller/job, 1.36.
"""

from __future__ import annotations

from jobspec.diagnostics.record import Record
from jobspec.documents.marked_tree import MarkedTree, items, number, text
from jobspec.operators.batch import UNLIMITED

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Sequence


FAIL, RESTART, RESTART_UNCOUNTED = "FailJobSet", "RestartJobSet", "RestartJobSetAndIgnoreMaxRestarts"
"""The actions that every JobSet can take."""
BACKOFF, POD_POLICY = "BackoffLimitExceeded", "PodFailurePolicy"
"""Reasons of failed Jobs: too many pods have failed; a rule of the Job's own policy has ended it."""
#: The reasons whose message is always the same.
_MESSAGES = {
    BACKOFF: "Job has reached the specified backoff limit",
    "DeadlineExceeded": "Job was active longer than specified deadline",
    "FailedIndexes": "Job has failed indexes",
    "MaxFailedIndexesExceeded": "Job has exceeded the specified maximal number of failed indexes",
}
_EVERY_TEXT = ("", ".*", ".+", "^", "^.*$", "^.*", ".*$", "(?s).*")


class JobFailure(Record):
    """A way in which a Job of a JobSet can fail."""

    replicated_job: str
    reason: str

    def __hash__(self) -> int:
        return hash((self.replicated_job, self.reason))


class FailureRule(Record):
    """A rule of a failure policy."""

    tree: MarkedTree
    action: str
    reasons: Collection[str]
    patterns: Collection[str]
    targets: Collection[str]

    def can_match(self, failure: JobFailure) -> bool:
        """Whether the rule is for the failure, whatever its message."""
        is_for = _is_in(failure.reason, self.reasons) and _is_in(failure.replicated_job, self.targets)
        return is_for and (failure.reason not in _MESSAGES or self._has_message(failure))

    def matches_before(self, later: FailureRule, failure: JobFailure) -> bool:
        """Whether the rule matches the failure whenever the *later* one does."""
        same = bool(later.patterns) and set(later.patterns) <= set(self.patterns)
        return self.matches(failure) or (same and self.can_match(failure))

    def covers(self, later: FailureRule) -> bool:
        """Whether the rule matches whatever failure the *later* one matches, by what both say alone."""
        pairs = ((self.reasons, later.reasons), (self.targets, later.targets))
        covered = all(not own or (other and set(other) <= set(own)) for own, other in pairs)
        return covered and (self._has_any_message() or (bool(later.patterns) and set(later.patterns) <= set(self.patterns)))

    def matches(self, failure: JobFailure) -> bool:
        """Whether the rule certainly matches the failure: its message is known, or the rule takes any."""
        return self.can_match(failure) and (failure.reason in _MESSAGES or self._has_any_message())

    def _has_message(self, failure: JobFailure) -> bool:
        return self._has_any_message() or any(_found(each, _MESSAGES[failure.reason]) for each in self.patterns)

    def _has_any_message(self) -> bool:
        return not self.patterns or any(each in _EVERY_TEXT for each in self.patterns)


def failure_rules(jobset: MarkedTree) -> list[FailureRule]:
    """The rules of a JobSet's failure policy, in their order."""
    fields = ("onJobFailureReasons", "onJobFailureMessagePatterns", "targetReplicatedJobs")
    return [
        FailureRule(each, text(each, "action"), *([text(one) for one in items(each.get(field))] for field in fields))
        for each in items(jobset.get("spec", "failurePolicy", "rules"))
    ]


def failures(jobset: MarkedTree) -> list[JobFailure]:
    """The ways in which the Jobs of a JobSet can fail."""
    jobs = items(jobset.get("spec", "replicatedJobs"))
    return [JobFailure(text(each, "name"), reason) for each in jobs for reason in _reasons(each.get("template", "spec"))]


def _reasons(job: MarkedTree | None) -> list[str]:
    """The reasons for which a Job can fail."""
    if job is None:
        return [BACKOFF]
    per_index, limit = job.get("backoffLimitPerIndex") is not None, number(job, "backoffLimit", default=UNLIMITED)
    can_come = {
        BACKOFF: limit < UNLIMITED or not (per_index or job.get("backoffLimit")),
        "DeadlineExceeded": job.get("activeDeadlineSeconds") is not None,
        "FailedIndexes": per_index,
        "MaxFailedIndexesExceeded": per_index and job.get("maxFailedIndexes") is not None,
        POD_POLICY: bool(items(job.get("podFailurePolicy", "rules"))),
    }
    return [reason for reason, can in can_come.items() if can]


def rules_in_place_of(rule: FailureRule, earlier: Sequence[FailureRule], ways: Sequence[JobFailure]) -> list[FailureRule]:
    """Return the *earlier* rules that decide on all failures a rule is for.

    If the rule decides on a failure itself, return no rule. A rule for messages that no known failure has is compared by its text.
    """
    own = [each for each in ways if rule.can_match(each)]
    if not own:
        return [each for each in earlier if each.covers(rule)][:1]
    found = [next((one for one in earlier if one.matches_before(rule, each)), None) for each in own]
    return [each for each in found if each] if all(found) else []


def actions(jobset: MarkedTree) -> dict[JobFailure, str]:
    """Return the action on each failure whose first rule is certain.

    If no rule is for a failure, JobSet restarts as often as the policy allows.
    """
    if jobset.get("spec", "failurePolicy") is None:
        return dict.fromkeys(failures(jobset), FAIL)
    rules, found = failure_rules(jobset), {}
    for failure in failures(jobset):
        first = next((each for each in rules if each.can_match(failure)), None)
        if first is None:
            found[failure] = RESTART
        elif first.matches(failure):
            found[failure] = first.action
    return found


def allowed_restarts(jobset: MarkedTree) -> int:
    """How often JobSet restarts all Jobs, not counting the actions that are not counted."""
    return number(jobset, "spec", "failurePolicy", "maxRestarts", default=0)


def can_restart(jobset: MarkedTree) -> bool:
    """Whether a failure can make JobSet restart all Jobs."""
    by_action = {RESTART: allowed_restarts(jobset) > 0, RESTART_UNCOUNTED: True}
    return any(by_action.get(each, False) for each in actions(jobset).values())


def _is_in(value: str, wanted: Collection[str]) -> bool:
    return not wanted or value in wanted


def _found(pattern: str, message: str) -> bool:
    """Whether a pattern matches somewhere in a message; JobSet passes over a pattern that is no regular expression."""
    from jobspec.go.regex import PatternNotEvaluated, matches

    try:
        return matches(pattern, message)
    except (ValueError, PatternNotEvaluated):
        return False
