"""Files are added to a folder all or none, and never in the place of others."""

import errno
import os
from pathlib import Path

import pytest

from jobspec.diagnostics.errors import JobspecError
from jobspec.documents.atomic_writes import add_files
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


@pytest.mark.parametrize("renames", range(4))
def test_where_one_cannot_be_added_none_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, renames: int) -> None:
    (tmp_path / "a.yaml").write_bytes(b"old\n")
    left, rename = iter(range(renames)), os.replace

    def failing(one: str, other: str) -> None:
        if next(left, None) is None and not one.endswith(("-old-0", "-old-1")):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), one)
        rename(one, other)

    monkeypatch.setattr(os, "replace", failing)
    with pytest.raises(JobspecError, match="cannot write: No space left on device"):
        add_files(str(tmp_path), lambda: FILES, replaced=["a.yaml"])
    assert files_in(tmp_path) == {"a.yaml": b"old\n"}
    assert os.listdir(tmp_path) == ["a.yaml"]


def _add_many(folder: Path) -> int:
    add_files(str(folder), lambda: {f"{number}/x": b"x" * 10_000 for number in range(30)})
    return 0


@pytest.mark.slow
def test_an_addition_of_a_folder_killed_at_any_moment_is_whole_or_none(tmp_path: Path) -> None:
    (tmp_path / "usual").mkdir()
    killing = Killing(_add_many, tmp_path / "usual")
    for number in range(30):
        folder = tmp_path / f"{number}"
        killing.kill_in(folder)
        written = files_in(folder) if folder.is_dir() else {}
        assert len(written) in (0, 30)
        killing.note(whole=bool(written))
        if not written:
            add_files(str(folder), lambda: FILES)
            assert files_in(folder) == FILES
    assert 0 < sum(killing.seen) < 30
    assert not [name for name in os.listdir(tmp_path) if name.endswith("jobspec-new")]
