"""What a render warns of, at its line, and writes all the same."""

import json
import re
from pathlib import Path

import pytest

from tests.support import manifests
from tests.support.cases import every_place, expectations, target_of
from tests.support.manifests import JOB, PROJECT_HEAD, RUNTIME, write
from tests.support.processes import program, run_here
from tests.support.reference import ROOT

HEAD = f"{PROJECT_HEAD}  variants:\n"
BASES = sorted((ROOT / "tests" / "cases" / "rendered").glob("*.yaml"))


@pytest.mark.parametrize("path", BASES, ids=lambda path: path.stem)
def test_a_base_is_warned_of_at_its_line_and_rendered(tmp_path: Path, path: Path) -> None:
    text = path.read_text()
    releases = {operator: release for operator, release in target_of(text).items() if operator in ("trainer", "training-operator")}
    head = f"apiVersion: jobspec.dev/v1alpha1\nkind: Project\nspec:\n  target: {releases}\n"
    write(
        tmp_path, {"base.yaml": text, "jobspec.yaml": f"{head}  variants: [{{name: a, base: base.yaml}}, {{name: b, base: base.yaml}}]\n"}
    )
    done = run_here("render", "--no-outcome", "-o", "json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    reported = [each for file in json.loads(done.stdout)["files"] for each in every_place(file)]
    found = [(each["line"], each["message"], each["rule"]) for each in reported if each["severity"] == "warning"]
    wanted = expectations(text)
    assert sorted((int(line), rule) for line, _, rule in found) == [(each.line, each.rule) for each in wanted]
    assert all(any(each.words in message for _, message, _ in found) for each in wanted)
    assert len(list((tmp_path / "rendered" / "a").glob("*job-*"))) == 1


TRAINJOB = manifests.TRAINJOB + '  trainer:\n    args: ["--lr", "1"]\n---\n'
LABELS = "    labels: {team: a}\n"


def _git(folder: Path, *arguments: str) -> None:
    program("git", "-c", "user.name=a", "-c", "user.email=a@example.com", *arguments, cwd=folder, check=True)


def _fixed(folder: Path, base: str, *, commit: bool = True) -> Path:
    """A repository whose tree is rendered and committed."""
    write(folder, {"job.yaml": base, "jobspec.yaml": f"{HEAD}  - name: a\n    base: job.yaml\n    naming: fixed\n"})
    assert _warnings(folder) == []
    if commit:
        _git(folder, "init", "--quiet")
        _git(folder, "add", "--all")
        _git(folder, "commit", "--quiet", "--message", "x")
    return folder


def _warnings(folder: Path) -> list[tuple[str, str]]:
    """The place and the message of each warning that a render gives, which writes all the same."""
    done = run_here("render", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert run_here("render", "--check", cwd=folder).returncode == 0
    return re.findall(r"^(\S+:\d+:\d+): warning: (.*) \[fixed-name\]$", done.stderr, re.MULTILINE)


def _change(folder: Path, file: str, old: str, new: str) -> None:
    text = (folder / file).read_text()
    assert old in text
    (folder / file).write_text(text.replace(old, new))


def test_a_change_that_no_pod_heeds_is_a_warning_until_it_is_committed(tmp_path: Path) -> None:
    _fixed(tmp_path, JOB)
    _change(tmp_path, "job.yaml", "train:v1", "train:v2")
    for _ in range(2):
        ((place, message),) = _warnings(tmp_path)
        assert place == "job.yaml:13:20"
        assert message.startswith(
            "the job keeps its fixed name, and `spec.pytorchReplicaSpecs[Master].template.spec.containers[pytorch].image`"
        )
        assert "the change has no effect" in message
    _git(tmp_path, "add", "--all")
    _git(tmp_path, "commit", "--quiet", "--message", "x")
    assert _warnings(tmp_path) == []


def test_without_a_repository_the_tree_on_disk_counts(tmp_path: Path) -> None:
    _fixed(tmp_path, JOB, commit=False)
    _change(tmp_path, "job.yaml", "train:v1", "train:v2")
    assert [place for place, _ in _warnings(tmp_path)] == ["job.yaml:13:20"]
    assert _warnings(tmp_path) == []


def test_a_change_that_the_server_refuses_is_a_warning(tmp_path: Path) -> None:
    _fixed(tmp_path, TRAINJOB + RUNTIME.replace("spec:\n", "spec:\n  mlPolicy: {numNodes: 1}\n", 1))
    _change(tmp_path, "job.yaml", '"1"', '"2"')
    ((place, message),) = _warnings(tmp_path)
    assert place.startswith("job.yaml:7:")
    assert "`spec.trainer.args[--lr]` differs from what is committed: the server refuses the change (spec.trainer: " in message


def test_where_an_engine_replaces_the_job_that_is_said(tmp_path: Path) -> None:
    _fixed(tmp_path, JOB)
    engines = "  engines: {argocd: {repoURL: 'https://git.example/a.git', revision: main}}\n"
    _change(tmp_path, "jobspec.yaml", "  variants:\n", f"{engines}  defaults: {{namespace: ml}}\n  variants:\n")
    assert _warnings(tmp_path) == []  # another namespace is another object
    _git(tmp_path, "add", "--all")
    _git(tmp_path, "commit", "--quiet", "--message", "x")
    _change(tmp_path, "job.yaml", "train:v1", "train:v2")
    ((_, message),) = _warnings(tmp_path)
    assert message.endswith("the engine deletes the job and recreates it, even while it runs")


@pytest.mark.parametrize(
    "change",
    [
        ("jobspec.yaml", "    naming", f"{LABELS}    naming"),
        ("job.yaml", "replicas: 1", "replicas: 1 "),
        ("jobspec.yaml", "naming: fixed", "naming: hash"),
    ],
)
def test_what_changes_in_place_or_is_a_new_run_is_no_warning(tmp_path: Path, change: tuple[str, str, str]) -> None:
    _fixed(tmp_path, JOB)
    _change(tmp_path, *change)
    assert _warnings(tmp_path) == []


def test_one_change_of_many_variants_is_one_warning(tmp_path: Path) -> None:
    _fixed(tmp_path, JOB)
    matrix = f"matrix: {{seed: {list(range(60))}}}"
    _change(tmp_path, "jobspec.yaml", "  - name: a\n", f"  - name: a-${{seed}}\n    {matrix}\n")
    assert _warnings(tmp_path) == []
    _git(tmp_path, "add", "--all")
    _git(tmp_path, "commit", "--quiet", "--message", "x")
    _change(tmp_path, "job.yaml", "train:v1", "train:v2")
    assert [place for place, _ in _warnings(tmp_path)] == ["job.yaml:13:20"]
