"""Files are added to a folder all or none, and never in the place of others."""

import os
from pathlib import Path

import pytest

from jobspec.diagnostics.errors import JobspecError
from jobspec.documents.atomic_writes import HEADER, add_files, complete, write_rendered
from tests.support.killing import Killing
from tests.support.manifests import files_in

FILES = {"a.yaml": b"a\n", "deep/er/b.yaml": b"b\n", "deep/c.yaml": b"c\n", ".hidden/d": b"d\n"}


@pytest.mark.parametrize("name", ["new", "there", "around/new"])
def test_files_are_added(tmp_path: Path, name: str) -> None:
    (tmp_path / "there" / "deep").mkdir(parents=True)
    add_files(str(tmp_path / name), lambda: FILES)
    assert files_in(tmp_path / name) == FILES
    assert sorted(os.listdir(tmp_path / name)) == [".hidden", "a.yaml", "deep"]


def test_the_working_folder_stays_the_same_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    before = tmp_path.stat().st_ino
    add_files(".", lambda: FILES)
    assert (tmp_path.stat().st_ino, files_in(tmp_path)) == (before, FILES)


def test_every_file_in_the_way_is_named_and_nothing_written(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_bytes(b"mine\n")
    (tmp_path / "deep").write_bytes(b"a file\n")
    (tmp_path / ".hidden").symlink_to("elsewhere")
    with pytest.raises(JobspecError) as caught:
        add_files(str(tmp_path), lambda: FILES)
    names = ", ".join(str(tmp_path / each) for each in (".hidden", "a.yaml", "deep"))
    assert str(caught.value) == f"{names}: there already; nothing is written"
    assert files_in(tmp_path) == {"a.yaml": b"mine\n", "deep": b"a file\n"}


def test_a_file_that_may_be_replaced_is_and_keeps_its_mode(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_bytes(b"old\n")
    (tmp_path / "a.yaml").chmod(0o600)
    add_files(str(tmp_path), lambda: FILES, replaced=["a.yaml"])
    assert files_in(tmp_path) == FILES
    assert (tmp_path / "a.yaml").stat().st_mode & 0o777 == 0o600


def test_a_folder_that_is_a_file_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(JobspecError, match="file is not a folder"):
        add_files(str(tmp_path / "file"), lambda: FILES)
    with pytest.raises(JobspecError, match="cannot write"):
        add_files(str(tmp_path / "file" / "below"), lambda: FILES)


def test_what_was_interrupted_is_completed_or_removed(tmp_path: Path) -> None:
    for renames, is_begun in ((0, False), (1, True), (3, True)):  # the journal, and two of the files
        folder = tmp_path / str(renames)
        folder.mkdir()
        die_at(folder, renames)
        assert len(files_in(folder)) > 3
        assert complete([str(folder)]) == is_begun
        assert files_in(folder) == (FILES if is_begun else {})
        assert not complete([str(folder)])


def test_a_folder_is_written_beside_files_of_a_run_that_was_interrupted(tmp_path: Path) -> None:
    die_at(tmp_path, 2)
    write_rendered(str(tmp_path / "rendered"), {"x.yaml": "x\n"})
    complete([str(tmp_path)])
    assert files_in(tmp_path) == {**FILES, "rendered/x.yaml": f"{HEADER}\nx\n".encode()}


def die_at(folder: Path, renames: int) -> None:
    """Add files in a process that is killed before its next rename."""
    child = os.fork()
    if child == 0:
        left = iter(range(renames))
        rename = os.replace
        os.replace = lambda one, other: rename(one, other) if next(left, None) is not None else os._exit(9)
        add_files(str(folder), lambda: FILES)
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 9


def _add_many(folder: Path) -> int:
    add_files(str(folder), lambda: {f"{number}/x": b"x" * 10_000 for number in range(30)})
    return 0


@pytest.mark.slow
@pytest.mark.parametrize("is_new", [True, False])
def test_an_addition_killed_at_any_moment_is_none_or_is_completed(tmp_path: Path, is_new: bool) -> None:
    (tmp_path / "usual").mkdir()
    killing = Killing(_add_many, tmp_path / "usual")
    for number in range(30):
        folder = tmp_path / f"{is_new}{number}"
        if not is_new:
            folder.mkdir()
        killing.kill_in(folder)
        if folder.is_dir():
            complete([str(folder)])
        written = files_in(folder) if folder.is_dir() else {}
        assert len(written) in (0, 30)
        killing.note(whole=bool(written))
        again = tmp_path / f"{is_new}{number}"
        if not written:
            add_files(str(again), lambda: FILES)
            assert files_in(again) == FILES
    assert 0 < sum(killing.seen) < 30
    assert not [name for name in os.listdir(tmp_path) if name.endswith("jobspec-new")]
