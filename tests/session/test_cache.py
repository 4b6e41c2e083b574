"""The user's cache: entries that are whole or absent, in a folder of a bounded size."""

import errno
import os
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from jobspec.session import cache
from jobspec.session.cache import HEAD, Cache


def test_an_entry_is_read_as_it_was_written(tmp_path: Path) -> None:
    kept = Cache(str(tmp_path / "a" / "b"))
    assert kept.read("one") is None
    for content in (b"", b"one\ntwo", bytes(range(256)) * 5000):
        assert kept.write("one", content)
        assert kept.read("one") == content
        assert Path(kept.path("one")).read_bytes()[HEAD:] == content


def test_a_part_of_an_entry_is_none(tmp_path: Path) -> None:
    kept = Cache(str(tmp_path))
    kept.write("one", b"content")
    path = Path(kept.path("one"))
    whole = path.read_bytes()
    for length in range(len(whole)):
        path.write_bytes(whole[:length])
        assert kept.read("one") is None
        assert not path.exists()


def test_a_full_disk_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    kept = Cache(str(tmp_path / "kept"))
    with monkeypatch.context() as patched:
        patched.setattr(os, "write", full)
        assert not kept.write("one", b"content")
    assert list((tmp_path / "kept").iterdir()) == []


def test_several_writers_of_one_entry_leave_a_whole_one(tmp_path: Path) -> None:
    kept = Cache(str(tmp_path))
    contents = [bytes([number]) * 100_000 for number in range(16)]
    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(lambda each: kept.write("one", each) and kept.read("one") in contents, contents))
    assert [each.name for each in tmp_path.iterdir()] == ["one"]


def test_a_large_folder_loses_what_was_used_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache, "_LARGEST", 3 * (HEAD + 10))
    now = time.time()
    for number in range(6):
        Cache(str(tmp_path)).write(f"{number}", b"0123456789")
        os.utime(tmp_path / f"{number}", (now - 1000 * (6 - number),) * 2)
    Cache(str(tmp_path), in_use=4500).trim()
    assert sorted(each.name for each in tmp_path.iterdir()) == ["2", "3", "4", "5"]
    Cache(str(tmp_path)).read("2")
    Cache(str(tmp_path)).trim()
    assert sorted(each.name for each in tmp_path.iterdir()) == ["2", "4", "5"]


def test_what_nobody_has_read_in_a_while_and_what_killed_runs_left_is_removed(tmp_path: Path) -> None:
    kept = Cache(str(tmp_path), in_use=10**9)
    for name, days in (("new", 1), ("old", 15), (".new.0", 0), (".old.0", 1)):
        kept.write(name, b"")
        os.utime(tmp_path / name, (time.time() - days * 24 * 3600,) * 2)
    kept.trim()
    assert sorted(each.name for each in tmp_path.iterdir()) == [".new.0", "new"]


def test_the_folder_is_the_one_of_the_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("JOBSPEC_CACHE", raising=False)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    assert cache.cache_folder() == str(tmp_path / ".cache" / "jobspec")
    monkeypatch.setenv("XDG_CACHE_HOME", "/caches")
    assert cache.cache_folder() == "/caches/jobspec"
    monkeypatch.setenv("JOBSPEC_CACHE", "/mine")
    assert cache.cache_folder() == "/mine"
