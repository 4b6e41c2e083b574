"""The pages of rules: each says what, why, what instead, before and after, and the evidence; `docs/rules.md` has them all."""

import pytest

from jobspec.apis.releases import REMOVED_VERSIONS
from jobspec.diagnostics.rules import Rule
from jobspec.lint.catalogue import page
from jobspec.lint.linting import RULES
from jobspec.lint.metadata import long_replicated_job_name
from jobspec.lint.pages import SECTIONS, sections
from jobspec.lint.queues import deprecated_kueue_api
from jobspec.operators.trainer.runtimes import LONGEST_NAME, NAMES_LIMITED_SINCE
from tests.support import quick_yaml
from tests.support.processes import run_here
from tests.support.reference import ROOT


def test_the_page_of_all_rules_is_fresh() -> None:
    committed = (ROOT / "docs" / "rules.md").read_text()
    assert page() == committed, "write it again: jobspec explain --markdown > docs/rules.md"
    assert run_here("explain", "--markdown").stdout == committed


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
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
