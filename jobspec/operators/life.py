"""How jobs of all operators live and end: what a changed `suspend` does, and when a job is over.

The rest stands in the rooms of the operators.
"""

from __future__ import annotations

from jobspec.diagnostics.places import Path
from jobspec.diagnostics.record import Record
from jobspec.documents.document import Document
from jobspec.operators.workloads import is_suspended

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence
    from typing import Literal

    Condition = Literal["Succeeded", "Failed"]


RETRYABLE = 128
"""Exit codes from here on say that a signal ended the process: the restart policy ExitCode tries again."""


#: The run policy of jobs of training-operator and mpi-operator.
RUN_POLICY: Path = ("spec", "runPolicy")
PODS_STAY = "running pods stay as they are; only new pods get the new spec"
HOSTS_CHANGE = "the list of the hosts changes; a running mpirun keeps those that it has read"


class Effect(Record):
    """Whether the operator acts on a changed field of an existing job, and a note about it."""

    note: str = ""
    heeded: bool = True


def suspension_effect(old: Document, new: Document) -> Effect:
    """What a changed `suspend` does; nothing where `false` comes or goes."""
    before, after = is_suspended(old), is_suspended(new)
    if before == after:
        return Effect()
    return Effect("the job is suspended: its pods are deleted" if after else "the job is resumed: its pods are recreated")


class RestartRules(Record):
    """The rules of one job about restarts and its end."""

    policies: Mapping[str, str]
    """The restart policy of each role."""
    limit: int | None
    """How many restarts in all its pods may have before the job fails; None is no limit."""
    deadline: float | None
    """The seconds after which the job fails; None is no limit."""
    rounds: int = 1
    """How often all of the job is started before it has failed."""
    decisive: Collection[str] = ()
    """The roles of which the success of one pod ends the job."""

    def starts_again(self, role: str, code: int) -> bool:
        """Whether a pod whose process ended with *code* is started again, unless the job is over."""
        policy = self.policies[role]
        if policy == "ExitCode":
            return code >= RETRYABLE
        return policy == "Always" or (policy == "OnFailure" and code != 0)

    def too_many(self, restarts: int) -> bool:
        """Whether the job fails after this number of restarts of all pods."""
        return self.limit is not None and restarts > 0 and restarts >= self.limit

    def condition(self, ended: Mapping[tuple[str, str], int], pods: Sequence[tuple[str, str]]) -> Condition | None:
        """The condition of a job whose pods, given by role and name, *ended* with these exit codes; None while it runs."""
        if any(ended.values()):
            return "Failed"
        if any(role in self.decisive for role, _ in ended):
            return "Succeeded"
        return "Succeeded" if len(ended) == len(pods) else None
