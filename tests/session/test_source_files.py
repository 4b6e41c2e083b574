"""What is read of the files that builds are made of: what an editor has of them, and nothing that links lead to outside."""

from pathlib import Path

import pytest

from jobspec.session.disk import Disk
from jobspec.session.source_files import DiskFiles
from tests.support.manifests import JOB, write


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def _names(files: DiskFiles, path: str) -> list[str]:
    return [each.name for each in files.documents(path)]


def test_documents_are_read_again_if_the_file_changes(tmp_path: Path) -> None:
    write(tmp_path, {"a.yaml": "metadata: {name: one}\n"})
    assert _names(DiskFiles(), "a.yaml") == ["one"]
    write(tmp_path, {"a.yaml": "metadata: {name: two}\n"})
    assert _names(DiskFiles(), "a.yaml") == ["two"]


def test_the_open_text_of_a_file_comes_first(tmp_path: Path) -> None:
    write(tmp_path, {"a.yaml": "metadata: {name: saved}\n"})
    files = DiskFiles(Disk({str(tmp_path.resolve() / "a.yaml"): b"# typed\nmetadata: {name: open}\n"}))
    assert (files.text("a.yaml"), _names(files, "a.yaml")) == ("# typed\nmetadata: {name: open}\n", ["open"])
    assert _names(DiskFiles(), "a.yaml") == ["saved"]


def test_no_link_leads_out_of_the_root(tmp_path: Path) -> None:
    write(tmp_path, {"outside/job.yaml": JOB, "root/job.yaml": JOB})
    (tmp_path / "root" / "link.yaml").symlink_to(tmp_path / "outside" / "job.yaml")
    files = DiskFiles(Disk(root=str(tmp_path.resolve() / "root")))
    assert files.text("root/job.yaml") == JOB
    assert len(files.documents("root/job.yaml")) == 1
    for path in ("root/link.yaml", "outside/job.yaml"):
        assert files.documents(path) == ()
        with pytest.raises(OSError, match=path):
            files.text(path)


def test_a_file_that_is_not_there_or_is_not_text_has_no_documents(tmp_path: Path) -> None:
    (tmp_path / "binary.yaml").write_bytes(b"a: \xff\xfe\n")
    assert (DiskFiles().text("binary.yaml"), DiskFiles().documents("none.yaml")) == ("", ())


def test_an_open_text_is_that_of_links_to_its_file(tmp_path: Path) -> None:
    write(tmp_path, {"jobs/a.yaml": "a: 1\n", "others/a.yaml": "a: 2\n"})
    (tmp_path / "b.yaml").symlink_to("jobs/a.yaml")
    (tmp_path / "linked").symlink_to("jobs")
    disk = Disk(opened={str(tmp_path / "jobs" / "a.yaml"): b"a: 3\n"})
    names = ("jobs/a.yaml", "others/a.yaml", "b.yaml", "linked/a.yaml", "jobs/../jobs/a.yaml", "jobs")
    assert [disk.opened_text(str(tmp_path / each)) for each in names] == [b"a: 3\n", None, b"a: 3\n", b"a: 3\n", b"a: 3\n", None]
