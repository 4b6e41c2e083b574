"""What a render warns of, at its line, and writes all the same."""

import re
from pathlib import Path

import pytest

from tests.support.cases import expectations, target_of
from tests.support.manifests import write
from tests.support.processes import run_here
from tests.support.reference import ROOT

BASES = sorted((ROOT / "tests" / "cases" / "rendered").glob("*.yaml"))


@pytest.mark.parametrize("path", BASES, ids=lambda path: path.stem)
def test_a_base_is_warned_of_at_its_line_and_rendered(tmp_path: Path, path: Path) -> None:
    text = path.read_text()
    releases = {operator: release for operator, release in target_of(text).items() if operator in ("trainer", "training-operator")}
    head = f"apiVersion: jobspec.dev/v1alpha1\nkind: Project\nspec:\n  target: {releases}\n"
    write(
        tmp_path, {"base.yaml": text, "jobspec.yaml": f"{head}  variants: [{{name: a, base: base.yaml}}, {{name: b, base: base.yaml}}]\n"}
    )
    done = run_here("render", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    found = re.findall(r"^base\.yaml:(\d+):\d+: warning: (.*) \[(.*)\]$", done.stderr, re.MULTILINE)
    wanted = expectations(text)
    assert sorted((int(line), rule) for line, _, rule in found) == [(each.line, each.rule) for each in wanted]
    assert all(any(each.words in message for _, message, _ in found) for each in wanted)
    assert len(list((tmp_path / "rendered" / "a").glob("*job-*"))) == 1
