"""All rules of lint, by topic."""

from __future__ import annotations

from jobspec.lint import (
    accelerators,
    communication,
    data,
    environment,
    images,
    istio,
    kueue,
    names,
    restarts,
    runtimes,
    security,
    storage,
    topology,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from jobspec.lint.rule import Rule

#: By topic, in the order of `docs/rules.md`.
TOPICS: dict[str, tuple[Rule, ...]] = {
    "accelerators": accelerators.RULES,
    "communication": communication.RULES,
    "data": data.RULES,
    "environment": environment.RULES,
    "images": images.RULES,
    "istio": istio.RULES,
    "kueue": kueue.RULES,
    "names": names.RULES,
    "restarts": restarts.RULES,
    "runtimes": runtimes.RULES,
    "security": security.RULES,
    "storage": storage.RULES,
    "topology": topology.RULES,
}
RULES: tuple[Rule, ...] = tuple(rule for rules in TOPICS.values() for rule in rules)
