"""When pods of a job are started again, and when the job is over."""

from __future__ import annotations

from jobspec.apis.kinds import PYTORCHJOB
from jobspec.documents.document import Document
from jobspec.operators.life import RestartRules

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any


def restart_rules(job: Document, objects: Sequence[dict[str, Any]]) -> RestartRules:
    """Return the rules about restarts and the end of a job.

    *objects*: what the operator expands the job to.
    """
    if job.group_kind == PYTORCHJOB:
        from jobspec.operators.training_operator.life import rules_of_pytorchjob

        return rules_of_pytorchjob(job.data["spec"])
    from jobspec.operators.trainer.life import rules_of_trainjob

    return rules_of_trainjob(job.data["spec"], objects)
