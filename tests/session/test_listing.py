"""A listing walks as `os.walk` does, and reads each folder once."""

import json
import os
import pickle
from pathlib import Path

import pytest

from jobspec.session.builds import UNBUILT_KUSTOMIZATION
from jobspec.session.disk import Disk
from jobspec.session.listing import Listing
from tests.support.manifests import CONFIG, write
from tests.support.processes import run


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """Folders with files, links to a file, to folders and to nothing, and an empty folder."""
    top = tmp_path / "tree"
    write(top, {"b.yaml": "", "a/c.yaml": "", "a/.hidden/d.yaml": "", "a/z/e.yaml": "", "B/f.yaml": ""})
    (top / "empty").mkdir()
    for name, target in (("to-file", "b.yaml"), ("to-folder", "a"), ("to-nothing", "nothing"), ("a/up", "..")):
        (top / name).symlink_to(target)
    (tmp_path / "link").symlink_to(top)
    return top


@pytest.mark.parametrize("name", ["tree", "link", "tree/a/..", "nothing"])
def test_it_walks_as_os_walk_does(tree: Path, name: str) -> None:
    top = str(tree.parent / name)
    walked = [(here, sorted(folders), sorted(names)) for here, folders, names in Disk(listing=Listing()).walk(top)]
    assert walked == [*_sorted_walk(top)]


def _sorted_walk(top: str) -> list[tuple[str, list[str], list[str]]]:
    found = []
    for here, folders, names in os.walk(top):
        folders.sort()
        found.append((here, [*folders], sorted(names)))
    return found


def test_folders_that_are_taken_out_are_not_walked(tree: Path) -> None:
    walked = []
    for here, folders, _ in Listing().walk(str(tree)):
        walked.append(os.path.relpath(here, tree))
        folders[:] = [each for each in folders if not each.startswith(".")]
    assert walked == [".", "B", "a", "a/z", "empty"]


def test_each_folder_is_read_once_and_errors_are_told(tree: Path) -> None:
    listing, errors = Listing(), list[OSError]()
    before = list(listing.walk(str(tree)))
    write(tree, {"a/new.yaml": ""})
    assert list(listing.walk(str(tree))) == before
    assert list(Listing().walk(str(tree))) != before
    assert list(listing.walk(str(tree / "nothing"), errors.append)) == []
    assert [each.filename for each in errors] == [str(tree / "nothing")]
    assert list(pickle.loads(pickle.dumps(listing)).walk(str(tree))) != before


_READING_PIPES = {
    "resources": "resources: [pipe.yaml, settings.yaml]",
    "generators": "resources: [settings.yaml]\ngenerators: [pipe.yaml]",
    "files": "configMapGenerator: [{name: a, files: [pipe.yaml]}]",
}


@pytest.mark.parametrize("field", _READING_PIPES)
def test_a_kustomization_that_reads_a_pipe_is_not_built(tmp_path: Path, field: str) -> None:
    write(tmp_path, {"settings.yaml": CONFIG, "kustomization.yaml": _READING_PIPES[field]})
    os.mkfifo(tmp_path / "pipe.yaml")
    files = json.loads(run("lint", ".", "-o", "json", cwd=tmp_path, timeout=60).stdout)["files"]
    assert [each["path"] for each in files] == ["kustomization.yaml", "settings.yaml"]
    assert files[0]["documents"][0]["reason"] == f"{UNBUILT_KUSTOMIZATION}: reads a pipe or a device"


@pytest.mark.parametrize("name", ["pipe.yaml", "kustomization.yaml"])
def test_a_pipe_in_a_folder_is_not_waited_for(tmp_path: Path, name: str) -> None:
    write(tmp_path, {"settings.yaml": CONFIG})
    os.mkfifo(tmp_path / name)
    assert run("validate", ".", cwd=tmp_path, timeout=60).stdout.startswith("1 document: 1 valid")
