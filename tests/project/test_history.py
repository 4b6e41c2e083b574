"""Earlier runs of a variant: which stay in the tree, in which order, and what does not count as a run."""

import random
import re
import shutil
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support import quick_yaml
from tests.support.manifests import CONFIG, JOB, write
from tests.support.processes import program, run_here

PROJECT = """\
apiVersion: jobspec.dev/v1alpha1
kind: Project
spec:
  defaults: {base: job.yaml, namespace: ml}
  variants:
    - name: one
      history: LIMIT
      flags: {--lr: RATE}
    - name: two
      flags: {--lr: RATE}
"""


def _git(folder: Path, *arguments: str) -> None:
    who = ("-c", "user.name=a", "-c", "user.email=a@example.com")
    program("git", *who, *arguments, cwd=folder, check=True)


def _commit(folder: Path) -> None:
    _git(folder, "add", "--all")
    _git(folder, "commit", "--quiet", "--allow-empty", "--message", "x")


def _place(folder: Path, *, repository: bool = True) -> Path:
    write(folder, {"job.yaml": f"{JOB}---\n{CONFIG}"})
    if repository:
        _git(folder, "init", "--quiet")
    return folder


def _render(folder: Path, rate: object = 1, *arguments: str, limit: int = 2) -> str:
    """What a render says that goes well, after which a check finds no difference."""
    (folder / "jobspec.yaml").write_text(PROJECT.replace("LIMIT", str(limit)).replace("RATE", str(rate)))
    done = run_here("render", *arguments, cwd=folder)
    assert done.returncode == 0, done.stdout + done.stderr
    again = run_here("render", "--check", *arguments, cwd=folder)
    assert (again.returncode, again.stdout) == (0, "")
    return done.stderr


def _runs(folder: Path, variant: str = "one") -> dict[str, str | None]:
    """The flag and the number of each run that the tree has, by number; its kustomization lists them all."""
    found = {}
    for path in (folder / "rendered" / variant).glob("pytorchjob-*"):
        job = quick_yaml.load(path.read_text())
        (container,) = job["spec"]["pytorchReplicaSpecs"]["Master"]["template"]["spec"]["containers"]
        found[container["args"][1]] = job["metadata"].get("annotations", {}).get("jobspec.dev/run")
    listed = quick_yaml.load((folder / "rendered" / variant / "kustomization.yaml").read_text())["resources"]
    assert len([each for each in listed if each.startswith("pytorchjob-")]) == len(found)
    return dict(sorted(found.items(), key=lambda each: int(each[1] or 0)))


def test_up_to_so_many_earlier_runs_stay_as_they_were_rendered(tmp_path: Path) -> None:
    _place(tmp_path)
    texts = {}
    for rate in (1, 2, 3, 4):
        _render(tmp_path, rate)
        _commit(tmp_path)
        (newest,) = set((tmp_path / "rendered" / "one").glob("pytorchjob-*")) - texts.keys()
        texts[newest] = newest.read_bytes()
    assert _runs(tmp_path) == {"2": "2", "3": "3", "4": "4"}
    assert all(path.read_bytes() == text for path, text in texts.items() if path.exists())
    assert _runs(tmp_path, "two") == {"4": None}
    _render(tmp_path, 4, limit=1)
    assert _runs(tmp_path) == {"3": "3", "4": "4"}
    _commit(tmp_path)
    _render(tmp_path, 4, limit=0)
    assert _runs(tmp_path) == {"4": None}


def test_what_was_never_committed_is_no_run(tmp_path: Path) -> None:
    _place(tmp_path)
    for rate in (1, 2):
        _render(tmp_path, rate)
    assert _runs(tmp_path) == {"2": "1"}
    _commit(tmp_path)
    for rate in (3, 4):
        _render(tmp_path, rate)
    assert _runs(tmp_path) == {"2": "1", "4": "2"}
    _render(tmp_path, 2)
    assert _runs(tmp_path) == {"2": "1"}


@pytest.mark.parametrize("ignored", [True, False])
def test_where_git_does_not_keep_the_tree_the_one_on_disk_counts(tmp_path: Path, ignored: bool) -> None:
    _place(tmp_path, repository=ignored)
    if ignored:
        (tmp_path / ".gitignore").write_text("rendered/\n")
        _commit(tmp_path)
    for rate in (1, 2):
        _render(tmp_path, rate)
    assert _runs(tmp_path) == {"1": "1", "2": "2"}


def test_the_same_commit_gives_the_same_tree_whatever_is_on_disk(tmp_path: Path) -> None:
    _place(tmp_path)
    for rate in (1, 2):
        _render(tmp_path, rate)
        _commit(tmp_path)
    _render(tmp_path, 3)
    runs = _runs(tmp_path)
    shutil.rmtree(tmp_path / "rendered")
    _render(tmp_path, 3)
    assert _runs(tmp_path) == runs == {"1": "1", "2": "2", "3": "3"}
    _git(tmp_path, "clone", "--quiet", ".", "clone")
    _render(tmp_path / "clone", 3)
    assert _runs(tmp_path / "clone") == runs


def test_a_tree_that_is_gone_with_the_folders_around_it_is_still_the_committed_one(tmp_path: Path) -> None:
    _place(tmp_path)
    (tmp_path / "deploy" / "here").mkdir(parents=True)
    (tmp_path / "rendered").symlink_to("deploy/here/rendered")
    project = PROJECT.replace("spec:\n", "spec:\n  output: deploy/here/rendered\n", 1).replace("LIMIT", "1")
    for rate in ("1", "2"):
        (tmp_path / "jobspec.yaml").write_text(project.replace("RATE", rate))
        assert run_here("render", cwd=tmp_path).returncode == 0
        assert list(_runs(tmp_path)) == ["1", "2"][: int(rate)]
        _commit(tmp_path)
        shutil.rmtree(tmp_path / "deploy")


def test_a_return_to_an_earlier_run_that_is_kept_is_a_warning(tmp_path: Path) -> None:
    _place(tmp_path)
    for rate in (1, 2, 3):
        _render(tmp_path, rate)
        _commit(tmp_path)
    said = _render(tmp_path, 2)
    assert re.findall(r"^jobspec.yaml:6:13: warning: this is the earlier run `one-[0-9a-f]{8}` again.*\[(.*)\]$", said, re.MULTILINE) == [
        "run-returned"
    ]
    assert _runs(tmp_path) == {"1": "1", "3": "3", "2": "4"}
    _commit(tmp_path)
    assert "warning" not in _render(tmp_path, 2)
    assert _runs(tmp_path) == {"1": "1", "3": "3", "2": "4"}


def test_a_run_from_before_the_history_stays_too(tmp_path: Path) -> None:
    _place(tmp_path)
    _render(tmp_path, 1, limit=0)
    _commit(tmp_path)
    _render(tmp_path, 2)
    assert _runs(tmp_path) == {"1": None, "2": "1"}
    _render(tmp_path, 1)
    assert _runs(tmp_path) == {"1": "1"}


def test_what_the_hash_does_not_cover_is_no_new_run(tmp_path: Path) -> None:
    _place(tmp_path)
    _render(tmp_path, 1)
    _commit(tmp_path)
    _render(tmp_path, "1}\n      labels: {a: b")
    assert _runs(tmp_path) == {"1": "1"}


def test_an_earlier_run_that_somebody_edited_is_an_error(tmp_path: Path) -> None:
    _place(tmp_path)
    for rate in (1, 2):
        _render(tmp_path, rate)
        _commit(tmp_path)
    for path in (tmp_path / "rendered" / "one").glob("pytorchjob-*"):
        if '"1"' in path.read_text():
            path.write_text(path.read_text().replace("replicas: 1", "replicas: 3"))
    done = run_here("render", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert "edited by hand" in done.stderr
    assert "+      replicas: 3" in done.stderr
    assert run_here("render", "--check", cwd=tmp_path).returncode == 1


def test_companions_are_those_of_the_sources(tmp_path: Path) -> None:
    _place(tmp_path)
    _render(tmp_path, 1)
    _commit(tmp_path)
    (tmp_path / "job.yaml").write_text(JOB)
    _render(tmp_path, 2)
    assert _runs(tmp_path) == {"1": "1", "2": "2"}
    assert not list((tmp_path / "rendered").rglob("configmap*"))


def test_only_one_variant_keeps_its_runs_and_leaves_the_others(tmp_path: Path) -> None:
    _place(tmp_path)
    for rate in (1, 2):
        _render(tmp_path, rate)
        _commit(tmp_path)
    _render(tmp_path, 3, "--only", "one")
    assert _runs(tmp_path) == {"1": "1", "2": "2", "3": "3"}
    assert _runs(tmp_path, "two") == {"2": None}
    _commit(tmp_path)
    _render(tmp_path, 4, "--only", "two")
    assert _runs(tmp_path) == {"1": "1", "2": "2", "3": "3"}


def test_a_run_that_is_now_another_variants_job_stands_once(tmp_path: Path) -> None:
    _place(tmp_path)
    project = PROJECT.replace("LIMIT", "2").replace("name: one", "name: one\n      jobName: same")
    (tmp_path / "jobspec.yaml").write_text(project.replace("RATE", "1"))
    assert run_here("render", cwd=tmp_path).returncode == 0
    _commit(tmp_path)
    other = project.replace("RATE", "2", 1).replace("RATE", "1").replace("name: two", "name: two\n      jobName: same")
    (tmp_path / "jobspec.yaml").write_text(other)
    assert run_here("render", cwd=tmp_path).returncode == 0
    assert _runs(tmp_path) == {"2": "2"}
    assert _runs(tmp_path, "two") == {"1": None}


def test_a_fixed_name_has_no_history(tmp_path: Path) -> None:
    _place(tmp_path)
    (tmp_path / "jobspec.yaml").write_text(PROJECT.replace("LIMIT", "0").replace("RATE", "1") + "      naming: fixed\n      history: 0\n")
    assert run_here("render", cwd=tmp_path).returncode == 0
    assert _runs(tmp_path, "two") == {"1": None}


def test_earlier_runs_are_valid(tmp_path: Path) -> None:
    _place(tmp_path)
    for rate in (1, 2):
        _render(tmp_path, rate)
        _commit(tmp_path)
    assert run_here("validate", "jobspec.yaml", "rendered", cwd=tmp_path).returncode == 0


@pytest.mark.slow
@settings(max_examples=12, deadline=None)
@given(
    st.lists(st.tuples(st.integers(1, 4), st.integers(0, 3), st.booleans()), min_size=1, max_size=8),
    st.randoms(use_true_random=False),
)
def test_laws_of_runs(steps: list[tuple[int, int, bool]], chance: random.Random) -> None:
    """Compared with a list of runs that is kept by hand: the newest last, no run twice, never more than the limit and the newest."""
    committed: list[str] = []
    with TemporaryDirectory() as name:
        folder = _place(Path(name))
        for rate, limit, commits in steps:
            if chance.random() < 0.3:
                shutil.rmtree(folder / "rendered", ignore_errors=True)
            _render(folder, rate, limit=limit)
            earlier = [each for each in committed if each != str(rate)]
            wanted = [*earlier[len(earlier) - min(limit, len(earlier)) :], str(rate)]
            found = _runs(folder)
            assert set(found) == set(wanted)
            if limit:
                assert list(found) == wanted
            if commits:
                _commit(folder)
                committed = wanted
