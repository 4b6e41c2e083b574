"""The pages of rules: each says what, why, what instead, before and after, and the evidence; `docs/rules.md` has them all."""

import json

import pytest

from jobspec.apis.releases import REMOVED_VERSIONS
from jobspec.diagnostics.rules import Rule
from jobspec.lint.catalogue import rules, stage_of
from jobspec.lint.metadata import long_replicated_job_name
from jobspec.lint.pages import SECTIONS, sections
from jobspec.lint.queues import deprecated_kueue_api
from jobspec.lint.rule_pages import page
from jobspec.lint.rule_pages import sections as facts_of
from jobspec.lint.topics import every_rule
from jobspec.operators.trainer.runtimes import LONGEST_NAME, NAMES_LIMITED_SINCE
from tests.support import quick_yaml
from tests.support.processes import run_here
from tests.support.reference import ROOT
from tests.support.rule_examples import SHIPPED, followed, seen


def test_the_page_of_all_rules_is_fresh() -> None:
    committed = (ROOT / "docs" / "rules.md").read_text()
    assert page() == committed, "write it again: jobspec explain --markdown > docs/rules.md"
    assert run_here("explain", "--markdown").stdout == committed


@pytest.mark.parametrize("rule", every_rule(), ids=lambda rule: rule.name)
def test_each_page_is_whole(rule: Rule) -> None:
    parts = sections(rule.check)
    assert list(parts) == ["", *(name for name in SECTIONS if name in parts)]
    assert {*SECTIONS} - {*parts} <= {"Fix"}
    assert all(parts.values())
    assert all(parts[name].endswith(".") for name in ("", "Why", "Instead", "Fix") if name in parts)
    before, after = (quick_yaml.load(parts[name]) for name in ("Before", "After"))
    assert before != after


def test_a_page_is_printed_by_its_name() -> None:
    done = run_here("explain", "unpinned-image")
    assert done.returncode == 0
    assert done.stdout.startswith("unpinned-image (warning): Mutable tag: an image has no tag, or `latest`")
    assert [name for name in SECTIONS if f"\n{name}:" not in done.stdout] == ["Fix"]
    assert max(map(len, done.stdout.splitlines())) <= 100


def test_pages_say_the_limits_that_rules_read() -> None:
    assert f"longer than {LONGEST_NAME} characters" in sections(long_replicated_job_name)[""]
    assert f"trainer {NAMES_LIMITED_SINCE}" in sections(long_replicated_job_name)["Why"]
    (version, (_, release, newer)), *_ = REMOVED_VERSIONS.items()
    assert f"`{version}`, removed in Kueue {release}." in sections(deprecated_kueue_api)[""]
    assert newer in sections(deprecated_kueue_api)["After"]


#: The stages of which each rule is seen in a case: what a server, an operator and what becomes of a job can say offline.
_SHOWN = ("schema", "admission", "outcome")
#: Rules of these stages that no case shows: those of the target itself, and what only a live server answers.
_NOT_SHOWN = {
    *("earlier-release", "later-release", "refused-value", "missing-kind", "missing-namespace", "field-conflict"),
    *("refused-by-webhook", "refused-by-server", "server-warning", "offline-webhooks", "repeated-job"),
}


def test_the_examples_are_those_of_the_cases() -> None:
    """A new case changes none of them: each has to be in a case, and the shortest of all is taken when they are written again."""
    known = {(rule, json.dumps(example, sort_keys=True)) for rule, example in seen()}
    stale, upstream = [], followed()
    for rule, facts in json.loads(SHIPPED.read_text()).items():
        example = {key: value for key, value in facts.items() if key != "follows"}
        if facts.get("follows") != upstream.get(rule) or (example and (rule, json.dumps(example, sort_keys=True)) not in known):
            stale.append(rule)
    assert stale == [], "write them again: python -m tests.support.rule_examples"


@pytest.mark.parametrize("name", [name for name in rules() if stage_of(name) in _SHOWN])
def test_each_rule_that_refuses_has_a_page_of_facts(name: str) -> None:
    parts = dict(facts_of(name))
    assert parts["Who says it"]
    assert bool(parts["Example"]) or name in _NOT_SHOWN, "add a case"
    assert f"### {name}\n" in page()


def test_a_page_of_facts_is_printed_by_its_name() -> None:
    done = run_here("explain", "master-replicas").stdout
    assert done.startswith("master-replicas (error, admission): ")
    for part in (
        "Who says it: the operator's webhook: `validatePyTorchJob`",
        "Example:\n    ",
        "Message: the Master has",
        "Hint: write `replicas: 1`",
    ):
        assert f"\n{part}" in done
    look = run_here("explain", "never-admitted").stdout.partition("Look at, in this order:\n")[2]
    assert [line[2:5] for line in look.splitlines() if line.startswith("  (")] == [f"({number})" for number in range(1, 7)]
    assert max(map(len, done.splitlines())) <= 100
