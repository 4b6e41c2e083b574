"""How the job of any operator lives: which pod is started again, when it has succeeded or failed, and what becomes of a changed field."""

from __future__ import annotations

from jobspec.workloads import is_suspended

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence
    from typing import Literal

    from jobspec.documents.document import Document

    Condition = Literal["Succeeded", "Failed"]

RETRYABLE = 128
"""Exit codes from here on say that a signal ended the process: the restart policy ExitCode tries again."""


class Effect:
    """Whether the operator of a job that lives on heeds a changed field, and what there is to say about it."""

    __slots__ = ("heeded", "note")

    def __init__(self, note: str = "", *, heeded: bool = True) -> None:
        self.note = note
        self.heeded = heeded


def suspension_effect(old: Document, new: Document) -> Effect:
    """What a changed `suspend` does; nothing where `false` comes or goes."""
    before, after = is_suspended(old), is_suspended(new)
    if before == after:
        return Effect()
    return Effect("the job is suspended: its pods are deleted" if after else "the job is resumed: its pods are recreated")


class RestartRules:
    """The rules of one job about restarts and its end."""

    __slots__ = ("_is_enough", "deadline", "limit", "policies", "rounds")

    def __init__(
        self,
        policies: Mapping[str, str],
        *,
        limit: int | None,
        deadline: float | None,
        rounds: int = 1,
        one_is_enough: Collection[str] = (),
    ) -> None:
        self.policies = policies
        """The restart policy of each role."""
        self.limit = limit
        """How many restarts in all its pods may have before the job fails; None is no limit."""
        self.deadline = deadline
        """The seconds after which the job fails; None is no limit."""
        self.rounds = rounds
        """How often all of the job is started before it has failed."""
        self._is_enough = frozenset(one_is_enough)

    def starts_again(self, role: str, code: int) -> bool:
        """Whether a pod whose process ended with *code* is started again, unless the job is over."""
        policy = self.policies[role]
        if policy == "ExitCode":
            return code >= RETRYABLE
        return policy == "Always" or (policy == "OnFailure" and code != 0)

    def counts(self, role: str) -> bool:
        """Whether restarts of a role's pods count towards the limit: those of pods that the operator makes anew do not."""
        return self.policies[role] != "ExitCode"

    def too_many(self, restarts: int) -> bool:
        """Whether so many restarts of all pods together are the end of the job."""
        return self.limit is not None and restarts > 0 and restarts >= self.limit

    def condition(self, ended: Mapping[tuple[str, str], int], pods: Sequence[tuple[str, str]]) -> Condition | None:
        """What becomes of a job whose pods, as role and name, *ended* for good with these exit codes; None while it goes on."""
        if any(ended.values()):
            return "Failed"
        if any(role in self._is_enough for role, _ in ended):
            return "Succeeded"
        return "Succeeded" if len(ended) == len(pods) else None
