"""A listing walks as `os.walk` does, and reads each folder once."""

import os
import pickle
from pathlib import Path

import pytest

from jobspec.session.disk import Disk
from jobspec.session.listing import Listing
from tests.support.manifests import write


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
