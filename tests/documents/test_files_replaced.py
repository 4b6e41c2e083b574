"""Several files are replaced all or none: whatever cannot be renamed, and whenever the process dies."""

import errno
import os
import random
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from jobspec.diagnostics.errors import JobspecError
from jobspec.documents.atomic_writes import Replacement, complete, interrupted, replace_files

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


def _folders(folder: Path) -> list[str]:
    return [str(folder / each) for each in ("a", "a/deep", "b")]


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


@pytest.mark.parametrize("allowed", range(len(NAMES) + 3))
@pytest.mark.parametrize(("failure", "error"), [(_full, JobspecError), (_interrupt, KeyboardInterrupt)])
def test_where_one_cannot_be_renamed_all_are_the_old_ones(
    allowed: int, failure: Callable[[], None], error: type[BaseException], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wanted = _made(tmp_path)
    monkeypatch.setattr(os, "replace", _Failing(allowed, failure))
    with pytest.raises(error):
        replace_files(wanted)
    assert _contents(tmp_path) == _all("old")


def test_where_it_cannot_go_back_either_the_next_run_does(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wanted = _made(tmp_path)
    calls = iter(range(100))
    rename = os.replace

    def failing(one: str, other: str) -> None:
        if next(calls) in (8, 11):
            _full()
        rename(one, other)

    monkeypatch.setattr(os, "replace", failing)
    with pytest.raises(JobspecError, match="the next run makes them the old ones again"):
        replace_files(wanted)
    monkeypatch.undo()
    assert interrupted([str(tmp_path / "b")]) == [str(tmp_path / "a/.jobspec-journal")]
    assert complete([str(tmp_path / "b")])
    assert _contents(tmp_path) == _all("old")


def _child(work: Callable[[], None]) -> int:
    child = os.fork()
    if child == 0:
        try:
            work()
        finally:
            os._exit(0)
    return child


def _kill() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


@pytest.mark.parametrize("allowed", range(len(NAMES) + 3))
@pytest.mark.parametrize("asked", [["a"], ["a/deep"], ["b"]])
def test_killed_before_any_rename_it_is_completed_from_whichever_folder(allowed: int, asked: list[str], tmp_path: Path) -> None:
    wanted = _made(tmp_path)

    def work() -> None:
        os.replace = _Failing(allowed, _kill)
        replace_files(wanted)

    os.waitpid(_child(work), 0)
    assert set(_contents(tmp_path).items()) <= {*_all("old").items(), *_all("new").items()} | set(_beside(tmp_path))
    was_begun = allowed >= 3  # two notes, and the journal
    assert complete([str(tmp_path / each) for each in asked]) == was_begun
    complete(_folders(tmp_path))
    assert _contents(tmp_path) == _all("new" if was_begun else "old")


def _beside(folder: Path) -> Iterator[tuple[str, str]]:
    return ((name, text) for name, text in _contents(folder).items() if name.rpartition("/")[2].startswith("."))


@pytest.mark.parametrize("allowed", range(len(NAMES)))
def test_killed_on_the_way_back_it_goes_back(allowed: int, tmp_path: Path) -> None:
    wanted = _made(tmp_path)

    def work() -> None:
        os.replace = _Failing(9, full_and_later_killed)
        replace_files(wanted)

    def full_and_later_killed() -> None:
        os.replace = _Failing(allowed, _kill)
        _full()

    os.waitpid(_child(work), 0)
    complete(_folders(tmp_path))
    assert _contents(tmp_path) == _all("new" if allowed == 0 else "old")


@pytest.mark.slow
def test_killed_at_any_moment_it_is_all_or_none_after_the_next_run(tmp_path: Path) -> None:
    start = time.monotonic()
    replace_files(_made(tmp_path / "usual"))
    usual = time.monotonic() - start  # on a machine whose load changes, hence corrected by what is seen
    chance = random.Random(1)
    seen = []
    for number in range(40):
        folder = tmp_path / str(number)
        wanted = _made(folder)
        child = _child(lambda: replace_files(wanted))  # noqa: B023  # called before the next one is made
        time.sleep(chance.uniform(0, 1.3 * usual))
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        complete(_folders(folder))
        assert _contents(folder) in (_all("old"), _all("new"))
        seen.append(_contents(folder) == _all("new"))
        usual *= 0.8 if seen[-1] else 1.3
    assert 0 < sum(seen) < 40


def test_a_file_that_was_changed_since_is_not_replaced(tmp_path: Path) -> None:
    wanted = _made(tmp_path)

    def work() -> None:
        os.replace = _Failing(6, _kill)
        replace_files(wanted)

    os.waitpid(_child(work), 0)
    (tmp_path / "b/3.yaml").write_text("mine")
    with pytest.raises(JobspecError, match=r"b/3\.yaml was changed after a run had been interrupted"):
        complete(_folders(tmp_path))
    assert (tmp_path / "b/3.yaml").read_text() == "mine"
    (tmp_path / "a/.jobspec-journal").unlink()
    assert not complete(_folders(tmp_path))
    assert not list(_beside(tmp_path))
