"""All rules of lint, by topic."""

from __future__ import annotations

from jobspec.lint import topics

#: By topic, in the order of `docs/rules.md`.
TOPICS = {name: topic.rules for name, topic in topics.TOPICS.items()}
RULES = tuple(rule for rules in TOPICS.values() for rule in rules)
