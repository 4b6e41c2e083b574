"""A run reads each small file once; large files, pipes and what an editor has open are as they were."""

import os
import pickle
from collections import Counter
from pathlib import Path

import pytest

from jobspec.cli import main
from jobspec.session import disk
from jobspec.session.disk import Contents, Disk
from tests.support.manifests import write

_JOB = """\
apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata: {name: train}
spec:
  pytorchReplicaSpecs:
    Worker:
      replicaz: 1
      template: {spec: {containers: [{name: pytorch, image: "a:1"}]}}
"""


@pytest.mark.parametrize(("limit", "size"), [("_SMALL", 6), ("_MOST", 10)])
def test_what_was_read_stays_and_what_is_large_is_read_again(
    limit: str, size: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(disk, limit, size)
    write(tmp_path, {"a.yaml": "a: 1\n", "b.yaml": "b: 123\n"})
    files = Disk(contents=Contents())
    first, second = (str(tmp_path / name) for name in ("a.yaml", "b.yaml"))
    assert [files.read(each) for each in (first, second)] == [b"a: 1\n", b"b: 123\n"]
    write(tmp_path, {"a.yaml": "a: 2\n", "b.yaml": "b: 456\n"})
    assert [files.read(each) for each in (first, second)] == [b"a: 1\n", b"b: 456\n"]
    assert [Disk().read(each) for each in (first, second)] == [b"a: 2\n", b"b: 456\n"]
    assert pickle.loads(pickle.dumps(files)).read(first) == b"a: 2\n"
    (tmp_path / "a.yaml").unlink()
    assert (files.is_file(first), Disk().is_file(first)) == (True, False)


def test_an_open_text_comes_first(tmp_path: Path) -> None:
    write(tmp_path, {"a.yaml": "a: 1\n"})
    path = str(tmp_path / "a.yaml")
    contents = Contents()
    assert Disk(contents=contents).read(path) == b"a: 1\n"
    assert Disk(opened={os.path.realpath(path): b"a: 2\n"}, contents=contents).read(path) == b"a: 2\n"


def test_a_pipe_is_read_once() -> None:
    reading, writing = os.pipe()
    os.write(writing, b"a: 1\n")
    os.close(writing)
    files = Disk(contents=Contents())
    path = f"/dev/fd/{reading}"
    assert (files.read(path), files.is_file(path), files.mentions(path, b"a")) == (b"a: 1\n", False, False)
    os.close(reading)


@pytest.mark.parametrize("command", ["validate", "lint"])
def test_a_run_reads_each_manifest_once(command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    reads = Counter[str]()
    read = disk._read

    def counted(path: str) -> bytes:
        reads[Path(path).name] += 1
        return read(path)

    monkeypatch.setattr(disk, "_read", counted)
    monkeypatch.chdir(tmp_path)
    write(tmp_path, {"a.yaml": _JOB, "b/c.yaml": _JOB, "readme.txt": ""})
    assert main([command, "."]) == 1
    assert reads == {"a.yaml": 1, "c.yaml": 1}
