"""After `git merge`: rendered trees in which Git left conflicts are rendered again, and keep the runs of both sides."""

import re
import sys
from pathlib import Path

import pytest

from tests.support.manifests import write
from tests.support.processes import program, run_here

BASE = """\
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata: {name: train}
spec:
  runtimeRef: {name: torch-distributed}
  trainer:
    image: ghcr.io/example/train:1.0
    numNodes: 2
    command: [torchrun, train.py]
"""
PROJECT = """\
apiVersion: jobspec.dev/v1alpha1
kind: Project
spec:
  defaults:
    base: base.yaml
    namespace: ml
    history: 0
  variants:
    - name: one
      flags: {--lr: 1}
    - name: two
      flags: {--lr: 1}
"""
SHORT = {"one": "one\n      flags: {--lr: 1}", "two": "two\n      flags: {--lr: 1}"}
MARKERS = ("<<<<<<<", "=======", ">>>>>>>")


class Repository:
    """A repository with a rendered project, and branches that change it."""

    def __init__(self, folder: Path, project: str = PROJECT) -> None:
        self.folder = folder
        write(folder, {"base.yaml": BASE, "jobspec.yaml": project})
        self.git("init", "--quiet", "--initial-branch=main")
        self.render()
        self.commit("begin")

    def git(self, *arguments: str, code: int = 0) -> str:
        who = ("-c", "user.name=a", "-c", "user.email=a@example.com", "-c", "core.editor=true")
        done = program("git", *who, *arguments, cwd=self.folder)
        assert done.returncode == code, f"{done.stdout}{done.stderr}"
        return str(done.stdout)

    def commit(self, message: str) -> None:
        self.git("add", "--all")
        self.git("commit", "--quiet", "--message", message)

    def change(self, before: str, after: str, path: str = "jobspec.yaml") -> None:
        text = (self.folder / path).read_text()
        assert before in text
        (self.folder / path).write_text(text.replace(before, after))

    def render(self, *arguments: str, code: int = 0) -> str:
        """What a render says."""
        done = run_here("render", *arguments, cwd=self.folder)
        assert done.returncode == code, f"{done.stdout}{done.stderr}"
        return str(done.stderr)

    def branch(self, name: str, *changes: tuple[str, ...]) -> None:
        """Change sources on a new branch of `main`, render and commit them."""
        self.git("switch", "--quiet", "--create", name, "main")
        for change in changes:
            self.change(*change)
        self.render()
        self.commit(name)

    def merge(self, *names: str, conflicts: bool) -> str:
        return self.git("merge", "--quiet", "--no-edit", *names, code=1 if conflicts else 0)

    def finish(self) -> None:
        """Commit what was rendered, after which a check finds no difference and nothing in the tree is a leftover."""
        self.render("--check")
        self.git("add", "--all", "rendered")
        self.git("commit", "--quiet", "--message", "merged")
        self.render("--check")
        assert not any(marker in path.read_text() for path in self.files() for marker in MARKERS)
        fresh = self.folder.parent / "fresh"
        self.git("clone", "--quiet", ".", str(fresh))
        assert run_here("render", "--check", cwd=fresh).returncode == 0

    def files(self) -> list[Path]:
        return [path for path in (self.folder / "rendered").rglob("*") if path.is_file()]

    def rates(self, variant: str) -> list[str]:
        """The flags of the runs of a variant, the newest last."""
        texts = [path.read_text() for path in (self.folder / "rendered" / variant).glob("trainjob-*")]
        runs = [re.search(r'jobspec.dev/run: "(\d)"|\Z', text) for text in texts]
        rates = [re.search(r'--lr\n +- "?(\d+)', text) for text in texts]
        return [rate for _, rate in sorted((run[1] or "", rate[1]) for run, rate in zip(runs, rates, strict=True) if run and rate)]


def lr(variant: str, rate: int) -> tuple[str, str]:
    """The change of a variant's flag."""
    return SHORT[variant], SHORT[variant].replace("1}", f"{rate}}}")


def test_branches_that_changed_different_variants_merge_without_conflict(tmp_path: Path) -> None:
    here = Repository(tmp_path / "here")
    here.branch("left", lr("one", 2))
    here.branch("right", lr("two", 3))
    here.merge("left", conflicts=False)
    here.render("--check")
    assert (here.rates("one"), here.rates("two")) == (["2"], ["3"])


def test_branches_that_changed_the_same_variant_are_rendered_again(tmp_path: Path) -> None:
    here = Repository(tmp_path / "here")
    here.branch("left", ("numNodes: 2", "numNodes: 3", "base.yaml"))
    here.branch("right", lr("two", 3))
    here.merge("left", conflicts=True)
    assert "rendered: resolved 5 conflicting files by rendering the merged sources; next: git add --all rendered\n" in here.render()
    assert here.rates("two") == ["3"]
    here.finish()


def test_a_check_of_a_tree_with_conflicts_is_a_difference(tmp_path: Path) -> None:
    here = Repository(tmp_path / "here")
    here.branch("left", ("numNodes: 2", "numNodes: 3", "base.yaml"))
    here.branch("right", lr("two", 3))
    here.merge("left", conflicts=True)
    here.render("--check", code=1)
    assert "has conflicts of a merge: render all variants" in here.render("--only", "one", code=2)


def test_the_runs_of_both_sides_stay(tmp_path: Path) -> None:
    here = Repository(tmp_path / "here", PROJECT.replace("history: 0", "history: 3"))
    here.branch("left", lr("one", 2))
    here.branch("right", lr("one", 3))
    here.merge("left", conflicts=True)
    here.git("checkout", "--ours", "jobspec.yaml")
    here.change("--lr: 3", "--lr: 4")
    said = here.render()
    assert re.search(r", and kept the other side's runs one/trainjob-one-[0-9a-f]{8}\.yaml; next", said), said
    assert here.rates("one") == ["1", "2", "3", "4"]
    here.git("add", "jobspec.yaml")
    here.finish()


def test_of_two_runs_with_one_number_that_of_the_branch_that_is_merged_into_stays(tmp_path: Path) -> None:
    for number, names in enumerate((("left", "right"), ("right", "left"))):
        here = Repository(tmp_path / str(number) / "here", PROJECT.replace("history: 0", "history: 1"))
        here.branch("left", lr("one", 2))
        here.branch("right", lr("one", 3))
        here.git("switch", "--quiet", names[0])
        here.merge(names[1], conflicts=True)
        here.git("checkout", "--theirs", "jobspec.yaml")
        here.change("--lr: ", "--lr: 4")
        here.render()
        assert here.rates("one")[0] == {"left": "2", "right": "3"}[names[0]]
        here.git("add", "jobspec.yaml")
        here.finish()


def test_variants_that_both_sides_added(tmp_path: Path) -> None:
    here = Repository(tmp_path / "here")
    here.branch("left", ("    - name: one\n", "    - name: left\n    - name: one\n"))
    here.branch("right", (SHORT["two"], f"{SHORT['two']}\n    - name: right"))
    here.merge("left", conflicts=True)
    here.render()
    assert [path.name for path in sorted((here.folder / "rendered").iterdir()) if path.is_dir()] == ["left", "one", "right", "two"]
    here.finish()


@pytest.mark.parametrize("keeps", [True, False])
def test_a_variant_that_one_side_removed_and_the_other_changed(tmp_path: Path, keeps: bool) -> None:
    here = Repository(tmp_path / "here")
    here.branch("left", (f"    - name: {SHORT['two']}\n", ""))
    here.branch("right", lr("two", 3))
    here.merge("left", conflicts=True)
    here.git("checkout", "--ours" if keeps else "--theirs", "jobspec.yaml")
    here.render()
    assert (here.folder / "rendered" / "two").exists() == keeps
    here.git("add", "jobspec.yaml")
    here.finish()


def test_a_job_under_a_fixed_name(tmp_path: Path) -> None:
    here = Repository(tmp_path / "here", PROJECT.replace("history: 0", "naming: fixed"))
    here.branch("left", ("numNodes: 2", "numNodes: 3", "base.yaml"))
    here.branch("right", lr("two", 3))
    here.merge("left", conflicts=True)
    here.render()
    job = (here.folder / "rendered" / "two" / "trainjob-two.yaml").read_text()
    assert "numNodes: 3" in job
    assert here.rates("two") == ["3"]
    here.finish()


def test_a_variant_under_another_name(tmp_path: Path) -> None:
    here = Repository(tmp_path / "here", PROJECT.replace("history: 0", "history: 2"))
    here.branch("left", ("name: one", "name: uno"))
    here.branch("right", ("numNodes: 2", "numNodes: 3", "base.yaml"))
    here.merge("left", conflicts=True)
    here.render()
    assert sorted(path.name for path in (here.folder / "rendered").iterdir() if path.is_dir()) == ["two", "uno"]
    here.finish()


def test_conflict_markers_that_were_added_and_committed(tmp_path: Path) -> None:
    here = Repository(tmp_path / "here")
    here.branch("left", ("numNodes: 2", "numNodes: 3", "base.yaml"))
    here.branch("right", lr("two", 3))
    here.merge("left", conflicts=True)
    here.commit("with markers")
    here.render()
    here.finish()


def test_a_rebase_keeps_the_runs_of_its_new_base(tmp_path: Path) -> None:
    here = Repository(tmp_path / "here", PROJECT.replace("history: 0", "history: 3"))
    here.branch("left", ("numNodes: 2", "numNodes: 3", "base.yaml"))
    here.branch("right", lr("two", 3))
    here.git("rebase", "--quiet", "left", code=1)
    here.render()
    assert here.rates("two") == ["1", "1", "3"]
    here.git("add", "--all")
    here.git("rebase", "--continue")
    here.render("--check")


def test_a_stash(tmp_path: Path) -> None:
    here = Repository(tmp_path / "here")
    here.branch("left", ("numNodes: 2", "numNodes: 3", "base.yaml"))
    here.git("switch", "--quiet", "main")
    here.change(*lr("two", 3))
    here.render()
    here.git("stash", "--quiet", "--include-untracked")
    here.git("switch", "--quiet", "left")
    here.git("stash", "pop", "--quiet", code=1)
    here.render()
    here.finish()


def test_a_hook_before_the_commit_of_a_merge_knows_both_parents(tmp_path: Path) -> None:
    here = Repository(tmp_path / "here", PROJECT.replace("history: 0", "history: 3"))
    here.branch("left", lr("one", 2))
    here.change("--lr: 2", "--lr: 3")
    here.render()
    here.commit("once more")
    here.branch("right", lr("two", 3))
    hook = here.folder / ".git" / "hooks" / "pre-merge-commit"
    hook.write_text(f"#!/bin/sh\nexec {sys.executable} -m jobspec render --check\n")
    hook.chmod(0o755)
    here.merge("left", conflicts=False)
    assert (here.rates("one"), here.rates("two")) == (["1", "2", "3"], ["1", "3"])
    here.render("--check")


def test_what_a_side_edited_by_hand_is_not_lost(tmp_path: Path) -> None:
    here = Repository(tmp_path / "here", PROJECT.replace("history: 0", "naming: fixed"))
    here.branch("left", lr("two", 2))
    here.change("numNodes: 2", "numNodes: 7", "rendered/two/trainjob-two.yaml")
    here.commit("by hand")
    here.branch("right", lr("two", 3))
    here.merge("left", conflicts=True)
    here.git("checkout", "--ours", "jobspec.yaml")
    assert "rendered/two/trainjob-two.yaml: edited by hand since it was rendered; nothing is written" in here.render(code=2)


def test_what_is_edited_by_hand_beside_a_merge_is_not_lost(tmp_path: Path) -> None:
    here = Repository(tmp_path / "here")
    here.branch("left", ("numNodes: 2", "numNodes: 3", "base.yaml"))
    here.branch("right", lr("two", 3))
    here.merge("left", conflicts=True)
    (path,) = (here.folder / "rendered" / "one").glob("trainjob-*")
    path.write_text(path.read_text() + "# mine\n")
    assert "edited by hand" in here.render(code=2)
    path.write_text(path.read_text().replace("# mine\n", ""))
    (here.folder / "rendered" / "one" / "notes.txt").write_text("mine")
    assert "which jobspec did not write" in here.render(code=2)


def test_conflicts_in_the_sources_come_first(tmp_path: Path) -> None:
    here = Repository(tmp_path / "here")
    here.branch("left", lr("two", 2))
    here.branch("right", lr("two", 3))
    here.merge("left", conflicts=True)
    assert re.search(r"jobspec.yaml:\d+:1: error: unresolved merge conflict \[yaml-syntax\]", here.render(code=1))
