"""The tree that a project renders to: whole or not at all, ours alone, the same everywhere."""

import json
import os
import random
import shutil
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings

from jobspec.cli import main
from tests.support import quick_yaml
from tests.support.manifests import CONFIG, JOB, PROJECT_HEAD, files_in, write
from tests.support.processes import program, run_here
from tests.support.projects import RandomProject, projects
from tests.support.repositories import git
from tests.support.seeds import examples, seed

HEAD = f"{PROJECT_HEAD}  variants:\n"
ONE = "  - {name: one, base: base/job.yaml, namespace: a}\n"
TWO = "  - {name: two, base: base/job.yaml, namespace: b, overlays: [gpu-nccl]}\n"
INVENTORY = "rendered/.jobspec-inventory"


def _place(folder: Path, variants: str = ONE + TWO) -> Path:
    """A repository with a project of these variants."""
    write(folder, {"base/job.yaml": f"{JOB}---\n{CONFIG}", "jobspec.yaml": HEAD + variants})
    (folder / ".git").mkdir(exist_ok=True)
    return folder


def _render(folder: Path, *arguments: str, variants: str | None = None) -> dict[str, bytes]:
    """The tree after a render that has to go well."""
    if variants is not None:
        (folder / "jobspec.yaml").write_text(HEAD + variants)
    done = run_here("render", *arguments, cwd=folder)
    assert done.returncode == 0, done.stdout + done.stderr
    return files_in(folder / "rendered")


def _refused(folder: Path, *arguments: str, code: int = 2) -> str:
    """What a render says that changes nothing."""
    before = files_in(folder)
    done = run_here("render", *arguments, cwd=folder)
    assert done.returncode == code, done.stdout + done.stderr
    assert files_in(folder) == before
    return done.stderr + done.stdout


def test_a_project_renders_to_a_folder_for_each_variant(tmp_path: Path) -> None:
    tree = _render(_place(tmp_path))
    jobs = [path for path in tree if "pytorchjob" in path]
    assert list(tree) == [
        ".jobspec-inventory",
        "kustomization.yaml",
        *("one/configmap-settings.yaml", "one/kustomization.yaml", jobs[0]),
        *("two/configmap-settings.yaml", "two/kustomization.yaml", jobs[1]),
    ]
    top, below = (quick_yaml.load(tree[path])["resources"] for path in ("kustomization.yaml", "one/kustomization.yaml"))
    assert (top, below) == (["one", "two"], ["configmap-settings.yaml", jobs[0].removeprefix("one/")])
    assert sorted(os.listdir(tmp_path)) == [".git", "base", "jobspec.yaml", "rendered"]


def test_the_tree_is_valid_and_so_is_its_project(tmp_path: Path) -> None:
    _render(_place(tmp_path))
    done = run_here("validate", "jobspec.yaml", "rendered", cwd=tmp_path)
    assert done.returncode == 0, done.stdout


def test_a_project_is_rendered_from_anywhere_to_the_same_bytes(tmp_path: Path) -> None:
    here = _render(_place(tmp_path / "a"))
    _place(tmp_path / "deep" / "b")
    assert run_here("render", "deep/b/jobspec.yaml", cwd=tmp_path).returncode == 0
    assert files_in(tmp_path / "deep" / "b" / "rendered") == here


def test_stale_files_go_and_a_second_render_changes_nothing(tmp_path: Path) -> None:
    both = _render(_place(tmp_path))
    inode = (tmp_path / "rendered").stat().st_ino
    assert _render(tmp_path) == both
    assert (tmp_path / "rendered").stat().st_ino == inode
    one = _render(tmp_path, variants=ONE)
    assert {path.partition("/")[0] for path in one} == {".jobspec-inventory", "kustomization.yaml", "one"}
    assert all(one[path] == both[path] for path in one if path.startswith("one/"))
    assert _render(tmp_path, variants=TWO + ONE) == both


def _edit(folder: Path) -> None:
    path = next((folder / "rendered" / "one").glob("pytorchjob-*"))
    path.write_text(path.read_text().replace("replicas: 1", "replicas: 3"))


@pytest.mark.parametrize("variants", [ONE + TWO, TWO], ids=["wanted", "stale"])
def test_a_file_edited_by_hand_is_an_error_with_its_diff(tmp_path: Path, variants: str) -> None:
    _render(_place(tmp_path))
    _edit(tmp_path)
    (tmp_path / "jobspec.yaml").write_text(HEAD + variants)
    said = _refused(tmp_path)
    assert "edited by hand" in said
    assert "\n+" in said
    assert "replicas: 3" in said


def test_a_file_that_was_deleted_comes_again(tmp_path: Path) -> None:
    tree = _render(_place(tmp_path))
    next((tmp_path / "rendered" / "one").glob("pytorchjob-*")).unlink()
    assert _render(tmp_path) == tree


def test_a_tree_that_lost_its_inventory_is_ours_while_it_is_as_rendered(tmp_path: Path) -> None:
    tree = _render(_place(tmp_path))
    (tmp_path / INVENTORY).unlink()
    assert _render(tmp_path) == tree
    (tmp_path / INVENTORY).unlink()
    _edit(tmp_path)
    assert "which .jobspec-inventory does not list: nothing is written" in _refused(tmp_path)


def test_files_left_of_a_render_whose_inventory_was_checked_out_have_a_way_out(tmp_path: Path) -> None:
    tree = _render(_place(tmp_path))
    (tmp_path / ".git").rmdir()
    git(tmp_path, "init", "-q")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-qm", "rendered")
    write(tmp_path, {"base/job.yaml": (tmp_path / "base/job.yaml").read_text().replace("train:v1", "train:v2")})
    _render(tmp_path)
    git(tmp_path, "checkout", "-q", ".")
    said = _refused(tmp_path)
    assert "and 1 more, which .jobspec-inventory does not list: nothing is written: " in said
    command = said.partition("remove them: `")[2].partition("`")[0].split()
    assert command == ["git", "clean", "-f", "--", "rendered"]
    git(tmp_path, *command[1:])
    assert _render(tmp_path) == tree


def test_an_inventory_with_two_sides_of_a_merge_is_an_error(tmp_path: Path) -> None:
    _render(_place(tmp_path))
    (tmp_path / INVENTORY).write_text("<<<<<<< HEAD\n")
    assert "is not an inventory" in _refused(tmp_path)


def _foreign_file(folder: Path) -> None:
    write(folder, {"rendered/one/notes.txt": "mine"})


def _foreign_folder(folder: Path) -> None:
    write(folder, {"rendered/three/job.yaml": JOB})


def _link(folder: Path) -> None:
    (folder / "rendered" / "link.yaml").symlink_to("../base/job.yaml")


def _linked_folder(folder: Path) -> None:
    (folder / "rendered" / "linked").symlink_to("../base")


@pytest.mark.parametrize("spoil", [_foreign_file, _foreign_folder, _link, _linked_folder])
@pytest.mark.parametrize("rendered", [True, False])
def test_what_is_not_ours_is_an_error(tmp_path: Path, spoil: Callable[[Path], None], rendered: bool) -> None:
    _place(tmp_path)
    if rendered:
        _render(tmp_path)
    (tmp_path / "rendered").mkdir(exist_ok=True)
    spoil(tmp_path)
    assert "which jobspec did not write" in _refused(tmp_path)


def test_an_output_that_is_a_link_out_is_an_error(tmp_path: Path) -> None:
    _place(tmp_path / "repository")
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "repository" / "rendered").symlink_to("../elsewhere")
    assert "it is outside of the repository" in _refused(tmp_path / "repository", code=1)


def test_a_base_behind_a_link_that_leads_out_is_an_error(tmp_path: Path) -> None:
    _place(tmp_path / "repository", "  - {name: a, base: base/link.yaml}\n")
    (tmp_path / "job.yaml").write_text(JOB)
    (tmp_path / "repository" / "base" / "link.yaml").symlink_to("../../job.yaml")
    assert "it leads out of the repository" in _refused(tmp_path / "repository", code=1)


@pytest.mark.parametrize("arguments", [("render",), ("validate", "jobspec.yaml"), ("lint", "jobspec.yaml")])
def test_a_project_that_is_a_link_out_is_an_error(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    folder = _place(tmp_path / "repository")
    (folder / "jobspec.yaml").rename(tmp_path / "elsewhere.yaml")
    (folder / "jobspec.yaml").symlink_to("../elsewhere.yaml")
    done = run_here(*arguments, cwd=folder)
    assert (done.returncode, done.stdout) == (2, "")
    assert "jobspec.yaml is a link that leads out of the repository" in done.stderr
    assert not (folder / "rendered").exists()
    (tmp_path / "elsewhere.yaml").rename(folder / "base" / "project.yaml")
    (folder / "jobspec.yaml").unlink()
    (folder / "jobspec.yaml").symlink_to("base/project.yaml")
    assert run_here("render", cwd=folder).returncode == 0


def test_two_variants_that_would_be_one_object_are_an_error_with_both_places(tmp_path: Path) -> None:
    _place(tmp_path, "  - {name: a.b, base: base/job.yaml}\n  - {name: a-b, base: base/job.yaml}\n")
    said = _refused(tmp_path, code=1)
    assert "jobspec.yaml:5:12: error: the variants `a-b` and `a.b` would be one object" in said
    assert "first in jobspec.yaml:6:12" in said


def test_companions_of_one_name_that_differ_are_an_error(tmp_path: Path) -> None:
    entry = (
        "  - {{name: {0}, base: base/job.yaml, resources: [{{apiVersion: v1, kind: Secret, metadata: {{name: s}}, data: {{v: {0}}}}}]}}\n"
    )
    _place(tmp_path, entry.format("aaaa") + entry.format("bbbb"))
    assert "the variants `aaaa` and `bbbb` would be one object, Secret `s`" in _refused(tmp_path, code=1)


def test_check_reports_the_difference_and_writes_nothing(tmp_path: Path) -> None:
    _place(tmp_path)
    assert "+++ b/rendered/one/configmap-settings.yaml" in _refused(tmp_path, "--check", "--diff", code=1)
    assert "would add rendered/one/configmap-settings.yaml\n" in _refused(tmp_path, "--check", code=1)
    _render(tmp_path)
    assert run_here("render", "--check", cwd=tmp_path).returncode == 0
    _edit(tmp_path)
    said = _refused(tmp_path, "--check", code=1)
    assert (said.count("would change "), "replicas" in said) == (1, False)
    said = _refused(tmp_path, "--diff", code=1)
    assert "-      replicas: 3\n+      replicas: 1\n" in said
    assert said.count("--- ") == 1


def test_only_leaves_the_other_variants_as_they_are(tmp_path: Path) -> None:
    before = _render(_place(tmp_path))
    (tmp_path / "base" / "job.yaml").write_text(f"{JOB.replace('v1', 'v2').replace('kubeflow.org/v2', 'kubeflow.org/v1')}---\n{CONFIG}")
    after = _render(tmp_path, "--only", "one")
    assert {path: after[path] for path in after if path.startswith("two/")} == {
        path: before[path] for path in before if path.startswith("two/")
    }
    assert not {path for path in after if "one/pytorchjob" in path} & before.keys()
    assert run_here("render", "--check", "--only", "one", cwd=tmp_path).returncode == 0
    assert run_here("render", "--check", cwd=tmp_path).returncode == 1
    whole = _render(tmp_path)
    shutil.rmtree(tmp_path / "rendered")
    assert _render(tmp_path) == whole
    assert "did you mean `one`?" in _refused(tmp_path, "--only", "on")


def _configmaps(tree: dict[str, bytes]) -> list[str]:
    """The places of ConfigMaps in a tree of which no kustomization lists a file that is not there, or leaves one out."""
    for path in tree:
        folder, _, name = path.rpartition("/")
        if name == "kustomization.yaml" and folder:
            below = [each.removeprefix(f"{folder}/") for each in tree if each.startswith(f"{folder}/") and each != path]
            assert quick_yaml.load(tree[path])["resources"] == sorted(below)
    return [path for path in tree if "configmap" in path]


def test_what_variants_share_stays_where_it_is_when_another_one_comes(tmp_path: Path) -> None:
    shared = ONE + ONE.replace("one", "other")
    place = "_shared/a/configmap-settings.yaml"
    tree = _render(_place(tmp_path, shared))
    assert _configmaps(tree) == [place]
    assert quick_yaml.load(tree["kustomization.yaml"])["resources"] == ["_shared", "one", "other"]
    more = _render(tmp_path, variants=shared + ONE.replace("one", "earlier"))
    assert _configmaps(more) == [place]
    assert all(more[path] == content for path, content in tree.items() if "/" in path)
    assert _configmaps(_render(tmp_path, variants=ONE)) == ["one/configmap-settings.yaml"]


def test_only_moves_an_object_that_becomes_shared_or_is_shared_no_more(tmp_path: Path) -> None:
    alone = ONE.replace("base/job.yaml", "base/plain.yaml")
    write(_place(tmp_path, ONE + alone.replace("one", "two")), {"base/plain.yaml": JOB})
    assert _configmaps(_render(tmp_path)) == ["one/configmap-settings.yaml"]
    both = ONE + ONE.replace("one", "two")
    assert _configmaps(_render(tmp_path, "--only", "two", variants=both)) == ["_shared/a/configmap-settings.yaml"]
    assert run_here("render", "--check", cwd=tmp_path).stdout == ""
    assert _configmaps(_render(tmp_path, "--only", "two", variants=alone + ONE.replace("one", "two"))) == ["two/configmap-settings.yaml"]
    assert _configmaps(_render(tmp_path, "--only", "one")) == ["two/configmap-settings.yaml"]
    assert run_here("render", "--check", cwd=tmp_path).stdout == ""


def test_only_renders_what_its_variants_share_too(tmp_path: Path) -> None:
    three = "".join(ONE.replace("one", name) for name in ("one", "two", "three"))
    before = _render(_place(tmp_path, three))
    (tmp_path / "base" / "job.yaml").write_text(f"{JOB}---\n{CONFIG}data: {{a: b}}\n")
    after = _render(tmp_path, "--only", "one")
    assert {path for path in after if after[path] != before[path]} == {INVENTORY.partition("/")[2], "_shared/a/configmap-settings.yaml"}
    assert run_here("render", "--check", cwd=tmp_path).stdout == ""


def test_a_companion_edited_by_hand_that_would_move_is_an_error(tmp_path: Path) -> None:
    _render(_place(tmp_path, ONE))
    (tmp_path / "rendered" / "one" / "configmap-settings.yaml").write_text(CONFIG.replace("settings", "settings\n  namespace: a"))
    (tmp_path / "jobspec.yaml").write_text(HEAD + ONE + ONE.replace("one", "two"))
    for arguments in ((), ("--only", "two")):
        assert "edited by hand" in _refused(tmp_path, *arguments)


def test_shared_objects_of_one_kind_and_name_in_different_groups_are_an_error(tmp_path: Path) -> None:
    event = "{{apiVersion: {}, kind: Event, metadata: {{name: e}}}}"
    entry = "  - {{name: {}, base: base/job.yaml, resources: [{}]}}\n"
    groups = ("v1", "v1", "events.k8s.io/v1", "events.k8s.io/v1")
    said = "".join(entry.format(f"v{number}", event.format(group)) for number, group in enumerate(groups))
    assert "would both be the file `_shared/event-e.yaml`" in _refused(_place(tmp_path, said), code=1)


def test_only_renders_beside_a_variant_that_is_at_fault(tmp_path: Path) -> None:
    _place(tmp_path, ONE + "  - {name: bad, base: base/job.yaml, labels: {a: '!'}}\n")
    assert "[invalid-metadata]" in _refused(tmp_path, code=1)
    assert {path.partition("/")[0] for path in _render(tmp_path, "--only", "one")} == {".jobspec-inventory", "kustomization.yaml", "one"}


def test_what_is_wrong_with_a_base_is_reported_once_beside_what_is_wrong_with_other_variants(tmp_path: Path) -> None:
    broken = f"  - {{name: 'b-${{seed}}', base: base/broken.yaml, matrix: {{seed: {list(range(60))}}}}}\n"
    _place(tmp_path, ONE + broken + "  - {name: bad, base: base/job.yaml, labels: {a: '!'}}\n")
    write(tmp_path, {"base/broken.yaml": JOB.replace("replicas: 1", "replicas: x")})
    said = _refused(tmp_path, code=1)
    assert (said.count(": error:"), said.count("base/broken.yaml:8:17: error: `replicas`: expected an integer")) == (2, 1)
    assert "      replicas: x\n" in said
    assert "[invalid-metadata]" in said
    assert "one/kustomization.yaml" in _render(tmp_path, "--only", "one")


@pytest.mark.parametrize("arguments", [("--to", "x"), ("--overlay", "cpu"), ("--set", "cpu.cpus=1"), ("--target", "trainer=2.3")])
def test_what_the_project_says_is_not_said_on_the_command_line(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    assert "jobspec.yaml" in _refused(_place(tmp_path), *arguments)


def test_without_a_path_and_a_project_there_is_a_way_out(tmp_path: Path) -> None:
    assert "give the PATH" in _refused(tmp_path)
    (tmp_path / "job.yaml").write_text(JOB)
    assert "for a project" in _refused(tmp_path, "job.yaml", "--check")


def _objects(texts: list[bytes]) -> list[str]:
    """The objects in YAML texts, whatever their order."""
    return sorted(json.dumps(each, sort_keys=True) for text in texts for each in quick_yaml.load_all(text) if each)


@pytest.mark.skipif(not shutil.which("kubectl"), reason="kubectl is not installed")
@settings(max_examples=15)
@given(projects())
def test_kustomize_builds_the_same_objects(project: RandomProject) -> None:
    with TemporaryDirectory() as name:
        folder = project.write(Path(name))
        tree = _render(folder, "--no-outcome")
        built = program("kubectl", "kustomize", folder / "rendered", check=True).stdout
    ours = [content for path, content in tree.items() if path.endswith(".yaml") and not path.endswith("kustomization.yaml")]
    assert _objects([built.encode()]) == _objects(ours)


_OLD, _NEW = (
    HEAD
    + ONE
    + "  - {name: 'm-${seed}', base: base/job.yaml, matrix: {seed: [SEEDS]}, labels: {version: VERSION}}\n".replace("SEEDS", seeds)
    for seeds in ("1, 2, 3", "2, 3, 4")
)


def _killed(folder: Path, *arguments: str, step: int | None = None, seconds: float = 0) -> int:
    """Render in a child that is killed before its *step*-th touch of the system, or after some time; the number of its touches."""
    here, there = os.pipe()
    child = os.fork()
    if child == 0:
        os.chdir(folder)
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, 1)
        os.dup2(nowhere, 2)
        touched = [0]

        def touch(event: str, _: object) -> None:
            if event == "open" or event.startswith(("os.", "fcntl.", "ctypes.")):
                touched[0] += 1
                if touched[0] == step:
                    signal.raise_signal(signal.SIGKILL)

        sys.addaudithook(touch)
        code = main(["render", *arguments])
        with os.fdopen(there, "w") as pipe:
            pipe.write(f"{code} {touched[0]}")
        os._exit(0)
    os.close(there)
    if seconds:
        time.sleep(seconds)
        os.kill(child, signal.SIGKILL)
    status = os.waitpid(child, 0)[1]
    with os.fdopen(here) as pipe:
        said = pipe.read()
    assert said.startswith("0 ") or os.waitstatus_to_exitcode(status) == -signal.SIGKILL, said
    return int(said.split()[1]) if said else 0


def _changing(folder: Path) -> tuple[Path, dict[str, bytes], dict[str, bytes]]:
    """A repository whose tree is that of the old project and whose project is the new one: its old tree elsewhere, and both trees."""
    _place(folder)
    (folder / "jobspec.yaml").write_text(_NEW)
    new = _render(folder)
    (folder / "jobspec.yaml").write_text(_OLD)
    old = _render(folder)
    shutil.copytree(folder / "rendered", folder.parent / "old")
    (folder / "jobspec.yaml").write_text(_NEW)
    return folder.parent / "old", old, new


def _reset(folder: Path, old: Path) -> None:
    """The old tree in the same folder, and nothing beside it."""
    for path in folder.glob(".rendered.*"):
        shutil.rmtree(path)
    for path in (folder / "rendered").iterdir():
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    shutil.copytree(old, folder / "rendered", dirs_exist_ok=True)


@pytest.mark.slow
def test_a_render_killed_at_any_moment_leaves_the_old_tree_or_the_new(tmp_path: Path) -> None:
    folder = tmp_path / "repository"
    kept, old, new = _changing(folder)
    touches = _killed(folder)
    chance = random.Random(seed())
    seen = []
    for number in range(examples(80, fresh=200)):
        _reset(folder, kept)
        if number % 5:
            _killed(folder, step=chance.randint(1, touches))
        else:
            _killed(folder, seconds=chance.uniform(0.001, 0.1))
        found = files_in(folder / "rendered")
        assert found in (old, new)
        seen.append(found == old)
    assert 0 < sum(seen) < len(seen)
    assert _render(folder) == new
    assert sorted(os.listdir(folder)) == [".git", "base", "jobspec.yaml", "rendered"]


@pytest.mark.slow
def test_a_render_killed_while_it_moves_file_by_file_is_rendered_again(tmp_path: Path) -> None:
    """The folder that one stands in is never exchanged, as none is where the system has no call for it."""
    folder = tmp_path / "repository"
    kept, old, new = _changing(folder)
    touches = _killed(folder / "rendered", "../jobspec.yaml")
    chance = random.Random(seed())
    parts = 0
    for _ in range(examples(80, fresh=200)):
        _reset(folder, kept)
        _killed(folder / "rendered", "../jobspec.yaml", step=chance.randint(1, touches))
        found = {path: content for path, content in files_in(folder / "rendered").items() if not path.startswith(".jobspec-")}
        assert all(content in (old.get(path), new.get(path)) for path, content in found.items())
        parts += found not in (old, new)
        assert _render(folder) == new
        assert sorted(os.listdir(folder)) == [".git", "base", "jobspec.yaml", "rendered"]
    assert parts > 10
