"""A rendered folder is replaced whole or not at all."""

import errno
import os
import random
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from jobspec.cli import main
from jobspec.diagnostics.errors import JobspecError
from jobspec.documents.atomic_writes import HEADER, Wanted, read_folder, replace_folder, write_rendered
from tests.support import processes
from tests.support.manifests import JOB
from tests.support.rights import nobody

OLD = {"a.yaml": "old a\n", "b.yaml": "old b\n", "old.yaml": "gone\n"}
NEW = {"a.yaml": "new a\n", "b.yaml": "old b\n", "new.yaml": "came\n"}
THIRD = {"a.yaml": "third\n"}
NESTED_OLD = {"a/x.yaml": "old x\n", "a/z.yaml": "stays\n", "b/x.yaml": "old b\n", "top.yaml": "old\n"}
NESTED_NEW = {"a/x.yaml": "new x\n", "a/y.yaml": "came\n", "a/z.yaml": "stays\n", "c/d/x.yaml": "came\n", "top.yaml": "new\n"}


def _tree(folder: Path) -> dict[str, str]:
    paths = [path for path in folder.rglob("*") if path.is_file()]
    return {path.relative_to(folder).as_posix(): path.read_text().removeprefix(f"{HEADER}\n") for path in paths}


def _content(files: dict[str, str]) -> dict[str, bytes]:
    return {name: f"{HEADER}\n{text}".encode() for name, text in files.items()}


def _replace_nested(folder: str, files: dict[str, str]) -> None:
    def wanted() -> Wanted:
        content, found = _content(files), read_folder(folder)
        return Wanted(content, same={path for path in content if found.get(path) == content[path]})

    replace_folder(folder, wanted)


def _snapshot(folder: Path) -> dict[str, bytes | None]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() if path.is_file() else None for path in folder.rglob("*")}


def _refused(folder: Path | str, files: dict[str, str]) -> str:
    with pytest.raises(JobspecError) as raised:
        write_rendered(str(folder), files)
    return str(raised.value)


def test_a_missing_folder_is_made_with_its_parents(tmp_path: Path) -> None:
    folder = tmp_path / "some" / "where"
    assert write_rendered(f"{folder}/", OLD) == [str(folder / name) for name in sorted(OLD)]
    assert _tree(folder) == OLD
    assert [path.name for path in folder.parent.iterdir()] == ["where"]


def test_an_empty_folder_is_filled(tmp_path: Path) -> None:
    write_rendered(str(tmp_path), OLD)
    assert _tree(tmp_path) == OLD


def test_files_of_an_earlier_render_go(tmp_path: Path) -> None:
    folder = tmp_path / "out"
    for files in (OLD, NEW, {}, OLD):
        write_rendered(str(folder), files)
        assert _tree(folder) == files
    assert os.listdir(tmp_path) == ["out"]


def test_every_file_says_where_it_comes_from(tmp_path: Path) -> None:
    write_rendered(str(tmp_path), {"a.yaml": "é\n"})
    assert (tmp_path / "a.yaml").read_bytes() == f"{HEADER}\né\n".encode()


def test_the_folder_that_one_stands_in_is_replaced_in_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "out"
    write_rendered(str(folder), OLD)
    monkeypatch.chdir(folder)
    for name in (".", "./", str(folder), "../out"):
        write_rendered(name, OLD)
        assert write_rendered(name, NEW)[0] == os.path.join(os.path.normpath(name), "a.yaml")
        assert sorted(os.listdir(".")) == sorted(NEW)
    assert (_tree(folder), os.listdir(tmp_path)) == (NEW, ["out"])


def test_modes_follow_the_umask_and_an_existing_folder_keeps_its_own(tmp_path: Path) -> None:
    folder = tmp_path / "out"
    mask = os.umask(0o027)
    try:
        write_rendered(str(folder), OLD)
        assert [stat.S_IMODE(path.stat().st_mode) for path in (folder, folder / "a.yaml")] == [0o750, 0o640]
        folder.chmod(0o2775)
        write_rendered(str(folder), NEW)
        assert [stat.S_IMODE(path.stat().st_mode) for path in (folder, folder / "a.yaml")] == [0o2775, 0o640]
    finally:
        os.umask(mask)


def test_the_longest_name_that_a_file_can_have(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = {"n" * 250 + ".yaml": "a\n"}
    monkeypatch.chdir(tmp_path)
    write_rendered("out", files)
    monkeypatch.chdir("out")
    write_rendered(".", files)
    assert _tree(tmp_path / "out") == files


def _foreign_file(folder: Path) -> None:
    (folder / "notes.txt").write_text("mine")


def _foreign_manifest(folder: Path) -> None:
    (folder / "a.yaml").write_text("kind: ConfigMap\n")


def _foreign_folder(folder: Path) -> None:
    (folder / "sub").mkdir()


def _foreign_link(folder: Path) -> None:
    write_rendered(str(folder.parent / "elsewhere"), OLD)
    (folder / "z.yaml").symlink_to(folder.parent / "elsewhere" / "a.yaml")


@pytest.mark.parametrize("spoil", [_foreign_file, _foreign_manifest, _foreign_folder, _foreign_link])
def test_a_folder_that_holds_anything_else_is_left_alone(tmp_path: Path, spoil: Callable[[Path], None]) -> None:
    folder = tmp_path / "out"
    write_rendered(str(folder), OLD)
    spoil(folder)
    before = _snapshot(tmp_path)
    assert "which jobspec did not write" in _refused(folder, NEW)
    assert _snapshot(tmp_path) == before


def test_what_is_no_folder_is_left_alone(tmp_path: Path) -> None:
    write_rendered(str(tmp_path / "real"), OLD)
    (tmp_path / "file").write_text("mine")
    (tmp_path / "link").symlink_to("real")
    (tmp_path / "dangling").symlink_to("nothing")
    before = _snapshot(tmp_path)
    for name in ("file", "link", "link/", "dangling", "file/below"):
        assert str(tmp_path / name).rstrip("/") in _refused(f"{tmp_path}/{name}", NEW)
    assert _snapshot(tmp_path) == before


def test_where_nobody_can_write_there_is_a_reason(tmp_path: Path) -> None:
    assert _refused("/proc/jobspec/out", NEW).startswith("/proc/jobspec/out: cannot write: ")
    long = tmp_path / ("n" * 250)
    assert _refused(long, NEW) == f"{long}: cannot write: File name too long"
    assert os.listdir(tmp_path) == []


def test_a_file_that_cannot_be_written_leaves_everything_as_it_was(tmp_path: Path) -> None:
    folder = tmp_path / "out"
    write_rendered(str(folder), OLD)
    before = _snapshot(tmp_path)
    assert _refused(folder, {**NEW, "n" * 300: "a"}) == f"{folder}: cannot write: File name too long"
    assert _snapshot(tmp_path) == before


@pytest.mark.parametrize(("mode", "parent_mode"), [(0o555, 0o777), (0o777, 0o555), (0o555, 0o555)])
def test_a_read_only_folder_or_parent_is_left_alone(tmp_path: Path, mode: int, parent_mode: int) -> None:
    folder = tmp_path / "parent" / "out"
    write_rendered(str(folder), OLD)
    folder.chmod(mode)
    folder.parent.chmod(parent_mode)
    with nobody(tmp_path):
        assert f"{folder}: cannot write: " in _refused(folder, NEW)
    assert (_tree(folder), os.listdir(folder.parent)) == (OLD, ["out"])
    folder.parent.chmod(0o777)
    folder.chmod(0o777)


def test_where_a_file_of_a_folder_in_place_cannot_be_replaced_all_are_the_old_ones(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "out"
    _replace_nested(str(folder), NESTED_OLD)
    monkeypatch.chdir(folder)  # the folder that one stands in is never exchanged
    before = _snapshot(tmp_path)
    rename = os.replace
    for allowed in range(len(NESTED_NEW) - 1):
        left = iter(range(allowed))

        def failing(one: str, other: str, left: Iterator[int] = left) -> None:
            if next(left, None) is None and ".jobspec-new" in one:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), one)
            rename(one, other)

        monkeypatch.setattr(os, "replace", failing)
        with pytest.raises(JobspecError, match="cannot write: No space left on device"):
            _replace_nested(".", NESTED_NEW)
        assert _snapshot(tmp_path) == before


def test_two_renders_at_once_give_one_of_both(tmp_path: Path) -> None:
    folder = tmp_path / "out"
    asked = "import sys; from jobspec.documents.atomic_writes import write_rendered"
    program = f"{asked}\nfor _ in range(60): write_rendered(sys.argv[1], eval(sys.argv[2]))"
    both = [subprocess.Popen([sys.executable, "-c", program, folder, repr(files)]) for files in (OLD, NEW)]
    assert [child.wait() for child in both] == [0, 0]
    assert _tree(folder) in (OLD, NEW)
    assert os.listdir(tmp_path) == ["out"]


_NAMES = ("mkdir", "link", "rename", "remove", "rmdir", "chmod", "listdir")
_TOUCHES = ("open", "fcntl.flock", "ctypes.dlsym", *(f"os.{name}" for name in _NAMES))


def _cut_short(
    folder: str, files: dict[str, str], step: int, replace: Callable[[str, dict[str, str]], object], touches: Sequence[str] = _TOUCHES
) -> bool:
    """Replace in a child that dies before its *step*-th touch of the file system; whether it died."""
    child = os.fork()
    if child == 0:
        left = iter(range(step))
        sys.addaudithook(lambda event, _: None if event not in touches or next(left, None) is not None else os._exit(9))
        replace(folder, files)
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 9


def _steps(
    folder: str, where: Path, old: dict[str, str], new: dict[str, str], replace: Callable[[str, dict[str, str]], object] = write_rendered
) -> Iterator[dict[str, str]]:
    """What stands in the folder after a replacement of *old* by *new* was cut short at its first, second, ... step."""
    for step in range(1000):
        replace(folder, old)
        died = _cut_short(folder, new, step, replace)
        yield _tree(where)
        if not died:
            return
    raise AssertionError("it never came to an end")


@pytest.mark.parametrize(("old", "new"), [(OLD, NEW), ({}, NEW), (OLD, {})])
def test_a_run_that_dies_at_any_step_leaves_the_old_tree_or_the_new(tmp_path: Path, old: dict[str, str], new: dict[str, str]) -> None:
    folder = tmp_path / "out"
    seen = []
    for found in _steps(str(folder), folder, old, new):
        assert found in (old, new)
        seen.append(found)
        write_rendered(str(folder), THIRD)
        assert (_tree(folder), os.listdir(tmp_path)) == (THIRD, ["out"])
    assert [each for number, each in enumerate(seen) if number == 0 or each != seen[number - 1]] == [old, new]


@pytest.mark.slow
@pytest.mark.parametrize("following", [OLD, NEW, THIRD])
def test_without_an_exchange_the_next_run_makes_the_folder_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, following: dict[str, str]
) -> None:
    folder = tmp_path / "out"
    write_rendered(str(folder), OLD)
    monkeypatch.chdir(folder)  # the folder that one stands in is never exchanged
    seen = []
    for found in _steps(".", folder, OLD, NEW):
        found = {name: text for name, text in found.items() if not name.startswith(".jobspec-")}
        assert all(OLD.get(name) == text or NEW.get(name) == text for name, text in found.items())
        assert found.keys() >= OLD.keys() & NEW.keys()
        seen.append(found)
        write_rendered(".", following)
        assert (_tree(folder), os.listdir(tmp_path)) == (following, ["out"])
    assert (seen[0], seen[-1]) == (OLD, NEW)
    assert any(found not in (OLD, NEW) for found in seen), "no run was cut short between two files"


def test_a_tree_of_folders_is_replaced_whole(tmp_path: Path) -> None:
    folder = tmp_path / "out"
    seen = []
    for found in _steps(str(folder), folder, NESTED_OLD, NESTED_NEW, _replace_nested):
        assert found in (NESTED_OLD, NESTED_NEW)
        seen.append(found)
        _replace_nested(str(folder), THIRD)
        assert ([path.name for path in folder.rglob("*")], os.listdir(tmp_path)) == ([*THIRD], ["out"])
    assert (seen[0], seen[-1]) == (NESTED_OLD, NESTED_NEW)


@pytest.mark.slow
def test_a_tree_of_folders_without_an_exchange_is_made_whole_by_the_next_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "out"
    folder.mkdir()
    monkeypatch.chdir(folder)  # the folder that one stands in is never exchanged
    seen = []
    for found in _steps(".", folder, NESTED_OLD, NESTED_NEW, _replace_nested):
        seen.append(found)
        _replace_nested(".", NESTED_OLD)
        assert (_tree(folder), os.listdir(tmp_path)) == (NESTED_OLD, ["out"])
        assert sorted(path.name for path in folder.iterdir()) == ["a", "b", "top.yaml"]
    assert (seen[0], seen[-1]) == (NESTED_OLD, NESTED_NEW)
    assert any(found not in (NESTED_OLD, NESTED_NEW) for found in seen), "no run was cut short between two files"


def test_a_tree_that_nobody_wants_to_change_stays_the_same_folder(tmp_path: Path) -> None:
    folder = tmp_path / "out"
    _replace_nested(str(folder), NESTED_OLD)
    before = folder.stat().st_ino
    replace_folder(str(folder), lambda: None)
    assert (folder.stat().st_ino, _tree(folder)) == (before, NESTED_OLD)


def test_a_file_that_stays_as_it_is_is_not_written_again(tmp_path: Path) -> None:
    """Of a thousand folders in which one file changes, one file is written: the others' places on the disk, and their times, stay."""
    folder = tmp_path / "out"
    _replace_nested(str(folder), NESTED_OLD)
    before = (folder / "a" / "z.yaml").stat()
    _replace_nested(str(folder), NESTED_NEW)
    after = (folder / "a" / "z.yaml").stat()
    assert (after.st_ino, after.st_mtime_ns, after.st_nlink) == (before.st_ino, before.st_mtime_ns, 1)
    assert _tree(folder) == NESTED_NEW


def test_a_file_that_cannot_become_a_link_is_written(tmp_path: Path) -> None:
    folder = tmp_path / "out"
    replace_folder(str(folder), lambda: Wanted(_content(NESTED_OLD), same=NESTED_OLD))  # none of them is there
    assert _tree(folder) == NESTED_OLD


def _started(arguments: list[str]) -> int:
    """A child that runs the program, which is loaded already, and says nothing."""
    child = os.fork()
    if child == 0:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, 1)
        os.dup2(nowhere, 2)
        os._exit(main(arguments))
    return child


@pytest.mark.slow
def test_a_render_killed_at_any_moment_leaves_the_old_tree_or_the_new(tmp_path: Path) -> None:
    base, folder = tmp_path / "job.yaml", tmp_path / "deploy" / "out"
    settings = "".join(f"---\napiVersion: v1\nkind: ConfigMap\nmetadata: {{name: settings-{number}}}\n" for number in range(40))
    base.write_text(JOB + settings)
    render = ["render", str(base), "--to", str(folder)]
    overlaid = [*render, "--overlay", "gpu-nccl", "--overlay", "pvc-output", "--set", "pvc-output.create=true"]

    def run(arguments: list[str]) -> tuple[float, dict[str, str]]:
        start = time.monotonic()
        assert os.waitpid(_started(arguments), 0)[1] == 0
        return time.monotonic() - start, _tree(folder)

    _, old = run(render)
    processes.run(*overlaid, check=True)
    new = _tree(folder)
    assert main(overlaid) == 0  # so that children need not load what it takes
    usual = max(run(overlaid)[0] for _ in range(3))
    assert old.keys() < new.keys()
    chance = random.Random(1)
    counts = {"old": 0, "new": 0}
    for _ in range(60):
        write_rendered(str(folder), old)
        child = _started(overlaid)
        time.sleep(chance.uniform(0, 1.2 * usual))
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        found = _tree(folder)
        assert found in (old, new)
        counts["old" if found == old else "new"] += 1
    assert min(counts.values()) > 2, counts
    assert run(overlaid)[1] == new
    assert os.listdir(folder.parent) == ["out"]
