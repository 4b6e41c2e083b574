"""Projects, bases, overlays and folders that are not what or where they should be: each a clear error, nothing written."""

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.manifests import CONFIG, JOB, PROJECT_HEAD, write
from tests.support.processes import run_here
from tests.support.rights import nobody

PROJECT = f"{PROJECT_HEAD}  variants: [{{name: one, base: base/job.yaml}}, {{name: two, base: base/job.yaml, naming: fixed}}]\n"


def _place(folder: Path) -> Path:
    """A repository with a project and its tree, and a folder outside of the repository."""
    write(folder / "repository", {"base/job.yaml": f"{JOB}---\n{CONFIG}", "jobspec.yaml": PROJECT, ".git/HEAD": ""})
    write(folder / "outside", {"job.yaml": JOB, "notes.txt": "mine"})
    assert run_here("render", cwd=folder / "repository").returncode == 0
    return folder / "repository"


def _everything(folder: Path) -> dict[str, object]:
    """What there is, links and empty folders too."""
    found: dict[str, object] = {}
    for path in folder.rglob("*"):
        name = path.relative_to(folder).as_posix()
        found[name] = os.readlink(path) if path.is_symlink() else path.read_bytes() if path.is_file() else None
    return found


def _refused(folder: Path, *arguments: str) -> str:
    """What a render says that neither succeeds nor changes anything, nor has a bug."""
    before = _everything(folder.parent)
    done = run_here("render", *arguments, cwd=folder)
    assert done.returncode in (1, 2), done.stderr
    assert _everything(folder.parent) == before
    return done.stderr


def _is_a_folder(folder: Path) -> None:
    (folder / "jobspec.yaml").unlink()
    (folder / "jobspec.yaml").mkdir()


def _is_a_dangling_link(folder: Path) -> None:
    (folder / "jobspec.yaml").unlink()
    (folder / "jobspec.yaml").symlink_to("nowhere")


def _is_a_link_to_itself(folder: Path) -> None:
    (folder / "jobspec.yaml").unlink()
    (folder / "jobspec.yaml").symlink_to("jobspec.yaml")


def _is_huge(folder: Path) -> None:
    (folder / "jobspec.yaml").write_text(PROJECT + "#" * (7 << 20))


def _is_another_kind(folder: Path) -> None:
    (folder / "jobspec.yaml").write_text(JOB)


def _is_two(folder: Path) -> None:
    (folder / "jobspec.yaml").write_text(f"{PROJECT}---\n{PROJECT}")


def _is_empty(folder: Path) -> None:
    (folder / "jobspec.yaml").write_text("")


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (_is_a_folder, "is not a file that can be read"),
        (_is_a_dangling_link, "is not a file that can be read"),
        (_is_a_link_to_itself, "is not a file that can be read"),
        (_is_huge, "the document is far over 3 MiB"),
        (_is_another_kind, "a project file must hold one document, the project"),
        (_is_two, "a project file must hold one document, the project"),
        (_is_empty, "a project file must hold one document, the project"),
    ],
)
def test_a_project_file_that_is_none(tmp_path: Path, spoil: Callable[[Path], None], words: str) -> None:
    folder = _place(tmp_path)
    spoil(folder)
    assert words in _refused(folder)


def _open_to_all(folder: Path) -> Path:
    """Let everybody do everything there."""
    for path in (folder, *folder.rglob("*")):
        path.chmod(0o777)
    return folder


def _as_nobody(folder: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """What a render says that somebody else cannot do."""
    monkeypatch.chdir(folder)
    with nobody(folder):
        done = run_here("render", cwd=folder)
    assert done.returncode in (1, 2)
    return done.stderr


@pytest.mark.parametrize("name", ["jobspec.yaml", "base/job.yaml"])
def test_a_file_that_one_may_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    folder = _open_to_all(_place(tmp_path))
    before = _everything(folder)
    (folder / name).chmod(0)
    assert f"{name}: Permission denied" in _as_nobody(folder, monkeypatch)
    assert _everything(folder) == before


def _output(folder: Path) -> None:
    shutil.rmtree(folder / "rendered")
    (folder / "rendered").symlink_to("../outside")


def _above_the_output(folder: Path) -> None:
    (folder / "deploy").symlink_to("../outside")
    (folder / "jobspec.yaml").write_text(PROJECT.replace("spec:\n", "spec:\n  output: deploy/rendered\n"))


def _base(folder: Path) -> None:
    (folder / "base" / "job.yaml").unlink()
    (folder / "base" / "job.yaml").symlink_to("../../outside/job.yaml")


def _folder_of_bases(folder: Path) -> None:
    shutil.rmtree(folder / "base")
    (folder / "base").symlink_to("../outside")


def _overlay(folder: Path) -> None:
    (folder / "overlay.yaml").symlink_to("../outside/job.yaml")
    (folder / "jobspec.yaml").write_text(PROJECT.replace("naming: fixed", "overlays: [./overlay.yaml]"))


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (_output, "it is outside of the repository"),
        (_above_the_output, "it is outside of the repository"),
        (_base, "it leads out of the repository"),
        (_folder_of_bases, "it leads out of the repository"),
        (_overlay, "it leads out of the repository"),
    ],
)
def test_a_link_that_leads_out_of_the_repository(tmp_path: Path, spoil: Callable[[Path], None], words: str) -> None:
    folder = _place(tmp_path)
    spoil(folder)
    assert words in _refused(folder)


def _variant_becomes_a_link(folder: Path) -> None:
    shutil.rmtree(folder / "rendered" / "one")
    (folder / "rendered" / "one").symlink_to("../../outside")


def _file_becomes_a_link(folder: Path) -> None:
    path = folder / "rendered" / "two" / "pytorchjob-two.yaml"
    path.unlink()
    path.symlink_to("../../../outside/job.yaml")


def _file_becomes_a_folder(folder: Path) -> None:
    path = folder / "rendered" / "two" / "pytorchjob-two.yaml"
    path.unlink()
    write(path, {"notes.txt": "mine"})


def _folder_becomes_a_file(folder: Path) -> None:
    shutil.rmtree(folder / "rendered" / "one")
    (folder / "rendered" / "one").write_text("mine")


def _file_becomes_a_pipe(folder: Path) -> None:
    path = folder / "rendered" / "two" / "pytorchjob-two.yaml"
    path.unlink()
    os.mkfifo(path)


@pytest.mark.parametrize(
    "spoil", [_variant_becomes_a_link, _file_becomes_a_link, _file_becomes_a_folder, _folder_becomes_a_file, _file_becomes_a_pipe]
)
@pytest.mark.parametrize("arguments", [(), ("--only", "two")])
def test_something_else_in_the_place_of_what_was_rendered(tmp_path: Path, spoil: Callable[[Path], None], arguments: tuple[str]) -> None:
    folder = _place(tmp_path)
    spoil(folder)
    assert "which jobspec did not write" in _refused(folder, *arguments)


@pytest.mark.parametrize("here", [".", "rendered"])
def test_an_empty_folder_in_the_place_of_a_file_is_nothing(tmp_path: Path, here: str) -> None:
    """Whether the tree is exchanged or, since somebody stands in it, moved file by file."""
    folder = _place(tmp_path)
    before = _everything(folder)
    path = folder / "rendered" / "two" / "pytorchjob-two.yaml"
    path.unlink()
    path.mkdir()
    assert run_here("render", os.path.relpath(folder / "jobspec.yaml", folder / here), cwd=folder / here).returncode == 0
    assert _everything(folder) == before


@pytest.mark.parametrize("read_only", ["rendered", "."])
def test_a_read_only_folder_is_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, read_only: str) -> None:
    folder = _open_to_all(_place(tmp_path))
    (folder / "base" / "job.yaml").write_text(JOB)
    before = _everything(folder)
    (folder / read_only).chmod(0o555)
    assert "rendered: cannot write: " in _as_nobody(folder, monkeypatch)
    assert _everything(folder) == before


def test_only_a_variant_twice_is_once_and_an_empty_name_is_none(tmp_path: Path) -> None:
    folder = _place(tmp_path)
    (folder / "base" / "job.yaml").write_text(JOB)
    assert run_here("render", "--only", "two", "--only", "two", cwd=folder).returncode == 0
    assert "has no variant of this name" in _refused(folder, "--only", "")
    assert "has no variant of this name" in _refused(folder, "--only", "one", "--only", "three")
