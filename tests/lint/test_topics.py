"""Modules of rules are loaded where a document is what their rules see: none of them has a rule that sees another one."""

import subprocess
import sys

import pytest

from jobspec.lint.topics import TOPICS, KindRules, by_topic, every_rule, rules_for

_OF_KINDS = [(topic, each) for topic, several in TOPICS.items() for each in several if isinstance(each, KindRules)]


@pytest.mark.parametrize(("topic", "rules"), _OF_KINDS, ids=[topic for topic, _ in _OF_KINDS])
def test_no_rule_sees_what_does_not_load_it(topic: str, rules: KindRules) -> None:
    assert {rule.sees for rule in rules.load()} == rules.sees, topic


def test_every_rule_is_found_by_what_it_sees() -> None:
    assert [rule.name for rule in every_rule() if rule not in rules_for((rule.sees,))] == []
    assert len(every_rule()) == len({rule.name for rule in every_rule()}) == sum(map(len, by_topic().values()))


def test_rules_of_other_kinds_are_not_loaded() -> None:
    code = (
        "import sys; from jobspec.lint.topics import rules_for; found = rules_for(('document', 'pods', 'job', 'training-operator'));"
        "print(sorted(each for each in sys.modules if each in ('jobspec.lint.ray', 'jobspec.lint.mpi', 'jobspec.lint.jobset_failures')))"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"
