"""The rules that policies say, and why a policy cannot say the others."""

from __future__ import annotations

from functools import cache

from jobspec.lint.catalogue import rules, stage_of
from jobspec.policies import accelerators, ends, images, names, queues, security, storage, training
from jobspec.policies.unsaid import REASONS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from jobspec.policies.rule import PolicyRule

#: The stages whose rules are about what a server accepts; a server itself holds those of the stages before.
_STAGES = ("lint", "outcome")
#: Topic -> the rules that policies say.
TOPICS: Mapping[str, tuple[PolicyRule, ...]] = {
    "ends": ends.POLICIES,
    "accelerators": accelerators.POLICIES,
    "images": images.POLICIES,
    "queues": queues.POLICIES,
    "security": security.POLICIES,
    "storage": storage.POLICIES,
    "training": training.POLICIES,
    "names": names.POLICIES,
}
POLICIES: Mapping[str, PolicyRule] = {each.name: each for several in TOPICS.values() for each in several}


@cache
def unsaid() -> Mapping[str, str]:
    """Return the rules of lint and outcome that no policy says, each with the reason."""
    reasons = {name: reason for reason, several in REASONS.items() for name in several}
    return {name: reasons.get(name, "") for name in rules() if stage_of(name) in _STAGES and name not in POLICIES}
