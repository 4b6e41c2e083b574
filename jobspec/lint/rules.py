"""All rules of lint, by topic."""

from __future__ import annotations

from jobspec.lint import topics

#: By topic, in the order of `docs/rules.md`.
TOPICS = {topic.name: topic.rules for topic in topics.TOPICS}
RULES = tuple(rule for rules in TOPICS.values() for rule in rules)
