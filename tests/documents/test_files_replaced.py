"""Several files are replaced all or none, whatever cannot be written or renamed."""

import errno
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from jobspec.diagnostics.errors import JobspecError
from jobspec.documents.atomic_writes import Replacement, replace_files

NAMES = [f"{folder}/{number}.yaml" for folder in ("a", "a/deep", "b") for number in range(4)]


def _made(folder: Path) -> dict[str, Replacement]:
    """Files with their old contents, and what is to replace them."""
    for name in NAMES:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(f"old {name}")
    return {str(folder / name): Replacement(f"old {name}".encode(), f"new {name}".encode()) for name in NAMES}


def _contents(folder: Path) -> dict[str, str]:
    return {path.relative_to(folder).as_posix(): path.read_text() for path in sorted(folder.rglob("*")) if path.is_file()}


def _all(word: str) -> dict[str, str]:
    return {name: f"{word} {name}" for name in NAMES}


def test_all_files_are_replaced_and_nothing_else_is_left(tmp_path: Path) -> None:
    wanted = _made(tmp_path)
    (tmp_path / "a/0.yaml").chmod(0o640)
    (tmp_path / "link.yaml").symlink_to("b/0.yaml")
    replace_files({**wanted, str(tmp_path / "link.yaml"): wanted[str(tmp_path / "b/0.yaml")]})
    assert (tmp_path / "link.yaml").is_symlink()
    (tmp_path / "link.yaml").unlink()
    assert _contents(tmp_path) == _all("new")
    assert (tmp_path / "a/0.yaml").stat().st_mode & 0o777 == 0o640


@pytest.mark.parametrize("change", [lambda path: path.write_text("mine"), lambda path: (path.unlink(), path.mkdir())])
def test_a_file_that_is_another_one_now_stops_all(change: Callable[[Path], object], tmp_path: Path) -> None:
    wanted = _made(tmp_path)
    change(tmp_path / "b/3.yaml")
    before = _contents(tmp_path)
    with pytest.raises(JobspecError, match=r"b/3\.yaml .*nothing is changed"):
        replace_files(wanted)
    assert _contents(tmp_path) == before


class _Failing:
    """Renames files until one is to fail."""

    def __init__(self, allowed: int, failure: Callable[[], None]) -> None:
        self._left = allowed
        self._rename = os.replace
        self._failure = failure

    def __call__(self, one: str, other: str) -> None:
        if self._left == 0:
            self._left -= 1
            self._failure()
        self._left -= 1
        self._rename(one, other)


def _full() -> None:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "the disk")


def _interrupt() -> None:
    raise KeyboardInterrupt


@pytest.mark.parametrize("allowed", range(len(NAMES)))
@pytest.mark.parametrize(("failure", "error"), [(_full, JobspecError), (_interrupt, KeyboardInterrupt)])
def test_where_one_cannot_be_renamed_all_are_the_old_ones(
    allowed: int, failure: Callable[[], None], error: type[BaseException], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wanted = _made(tmp_path)
    monkeypatch.setattr(os, "replace", _Failing(allowed, failure))
    with pytest.raises(error):
        replace_files(wanted)
    assert _contents(tmp_path) == _all("old")


def test_where_a_file_cannot_be_restored_the_message_says_where_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wanted = _made(tmp_path)
    calls = iter(range(100))
    rename = os.replace

    def failing(one: str, other: str) -> None:
        if next(calls) in (5, 7):  # the sixth file, and the second one that is restored
            _full()
        rename(one, other)

    monkeypatch.setattr(os, "replace", failing)
    with pytest.raises(JobspecError, match=r"a/1\.yaml: cannot restore: .*; its old content is in (\S+/\.jobspec-old-1)$"):
        replace_files(wanted)
    assert (tmp_path / "a/.jobspec-old-1").read_text() == "old a/1.yaml"
    assert {name for name in NAMES if (tmp_path / name).read_text() == f"new {name}"} == {"a/1.yaml"}


def test_a_write_that_fails_leaves_the_old_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In whichever call, and for a part of a file that has reached the disk."""
    wanted = _made(tmp_path)
    before = {name: (tmp_path / name).stat().st_mode for name in NAMES}
    write, allowed = os.write, 0
    while True:
        left = iter(range(allowed))

        def failing(descriptor: int, content: memoryview, left: Iterator[int] = left) -> int:
            if next(left, None) is None:
                write(descriptor, content[:3])
                _full()
            return write(descriptor, content)

        monkeypatch.setattr(os, "write", failing)
        try:
            replace_files(wanted)
            break
        except JobspecError as error:
            assert str(error).endswith("nothing is changed")
            assert _contents(tmp_path) == _all("old")
            assert {name: (tmp_path / name).stat().st_mode for name in NAMES} == before
        allowed += 1
    assert allowed == len(NAMES)
    assert _contents(tmp_path) == _all("new")


def test_what_a_killed_run_leaves_is_removed_by_the_next_write_there(tmp_path: Path) -> None:
    wanted = _made(tmp_path)
    os.link(tmp_path / "a/0.yaml", tmp_path / "a/.jobspec-old-0")
    (tmp_path / "b/.jobspec-new-3").write_text("half")
    replace_files(wanted)
    assert _contents(tmp_path) == _all("new")
