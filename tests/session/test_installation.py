"""The source of the running jobspec, as a requirement: by the origin that installers record, and by the remote of a clone."""

import json
from pathlib import Path

import pytest

from jobspec import __version__
from jobspec.session import installation
from tests.support.processes import program

COMMIT = "0123456789abcdef0123456789abcdef01234567"


@pytest.mark.parametrize(
    ("origin", "requirement"),
    [
        (None, f"jobspec-k8s=={__version__}"),
        (
            {"url": "https://git.example/ml/jobspec.git", "vcs_info": {"vcs": "git", "commit_id": COMMIT}},
            f"jobspec-k8s @ git+https://git.example/ml/jobspec.git@{COMMIT}",
        ),
        (
            {"url": "https://git.example/mono.git", "subdirectory": "tools/jobspec", "vcs_info": {"vcs": "git", "commit_id": COMMIT}},
            f"jobspec-k8s @ git+https://git.example/mono.git@{COMMIT}#subdirectory=tools/jobspec",
        ),
        (
            {"url": "ssh://git@git.example/ml/jobspec.git", "vcs_info": {"vcs": "git", "commit_id": COMMIT}},
            f"jobspec-k8s @ git+ssh://git@git.example/ml/jobspec.git@{COMMIT}",
        ),
        (
            {"url": "https://git.example/jobspec-1.tar.gz", "archive_info": {}},
            "jobspec-k8s @ https://git.example/jobspec-1.tar.gz",
        ),
        ({"url": "file:///srv/wheels/jobspec-1.whl", "archive_info": {}}, None),
        ({"url": "file:///no/such/folder", "dir_info": {"editable": True}}, None),
        ({"url": "file:///srv/git/jobspec.git", "vcs_info": {"vcs": "git", "commit_id": COMMIT}}, None),
    ],
)
def test_the_origin_that_an_installer_records(monkeypatch: pytest.MonkeyPatch, origin: object, requirement: str | None) -> None:
    class Installed:
        def read_text(self, name: str) -> str | None:
            assert name == "direct_url.json"
            return json.dumps(origin) if origin else None

    monkeypatch.setattr("importlib.metadata.distribution", lambda _: Installed())
    assert installation.requirement_of_the_running() == requirement


@pytest.mark.parametrize(
    ("url", "public"),
    [
        ("https://git.example/ml/jobspec.git", "https://git.example/ml/jobspec.git"),
        ("https://ann:secret@git.example/ml/jobspec", "https://git.example/ml/jobspec"),
        ("git@git.example:ml/jobspec.git", "https://git.example/ml/jobspec.git"),
        ("ssh://git@git.example/ml/jobspec.git", "ssh://git@git.example/ml/jobspec.git"),
    ],
)
def test_a_clone_is_known_by_its_remote_if_that_has_the_commit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, url: str, public: str
) -> None:
    def git(*words: str) -> str:
        who = ("-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false")
        return program("git", *who, "-C", tmp_path, *words, check=True).stdout.strip()

    class Installed:
        def read_text(self, _: str) -> str:
            return json.dumps({"url": tmp_path.as_uri(), "dir_info": {}})

    monkeypatch.setattr("importlib.metadata.distribution", lambda _: Installed())
    git("init", "--quiet", "--initial-branch=main")
    git("commit", "--quiet", "--allow-empty", "--message=a")
    assert installation.requirement_of_the_running() is None
    git("remote", "add", "origin", url)
    assert installation.requirement_of_the_running() is None
    git("update-ref", "refs/remotes/origin/main", "HEAD")
    assert installation.requirement_of_the_running() == f"jobspec-k8s @ git+{public}@{git('rev-parse', 'HEAD')}"
    git("commit", "--quiet", "--allow-empty", "--message=b")
    assert installation.requirement_of_the_running() is None


@pytest.mark.parametrize(
    ("requirement", "with_extra"),
    [
        ("jobspec-k8s==1.2", "jobspec-k8s[dry-run]==1.2"),
        ("jobspec-k8s[lsp]>=1", "jobspec-k8s[lsp,dry-run]>=1"),
        ("jobspec-k8s @ https://git.example/a.whl", "jobspec-k8s[dry-run] @ https://git.example/a.whl"),
        ("jobspec-k8s", "jobspec-k8s[dry-run]"),
    ],
)
def test_an_extra_is_added(requirement: str, with_extra: str) -> None:
    assert installation.with_extra(requirement, "dry-run") == with_extra
