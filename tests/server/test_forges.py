"""The comment on a pull or merge request, with a stand-in for the forge's API on loopback."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.forge import Forge, forge_on_loopback, github_job, gitlab_job
from tests.support.processes import environment, run_here


@pytest.fixture
def forge() -> Iterator[Forge]:
    with forge_on_loopback() as server:
        yield server


@pytest.mark.parametrize(
    ("job", "comments", "one", "method", "header"),
    [
        (github_job, "/repos/o/r/issues/7/comments", "/repos/o/r/issues/comments", "PATCH", ("authorization", "Bearer secret")),
        (
            gitlab_job,
            "/api/v4/projects/12/merge_requests/7/notes",
            "/api/v4/projects/12/merge_requests/7/notes",
            "PUT",
            ("private-token", "secret"),
        ),
    ],
)
def test_one_comment_is_written_and_updated(
    job: Any, comments: str, one: str, method: str, header: tuple[str, str], forge: Forge, tmp_path: Path
) -> None:
    (tmp_path / "diff.md").write_text("first\n")

    def comment() -> str:
        done = run_here("comment", "diff.md", "--name", "diff", cwd=tmp_path, env=environment(**job(forge)))
        assert (done.returncode, done.stderr) == (0, "")
        return done.stdout

    assert comment() == "comment written\n"
    assert forge.asked == [("GET", comments), ("GET", comments), ("POST", comments)]
    assert forge.headers[header[0]] == header[1]
    assert forge.comments[-1]["body"] == "<!-- jobspec diff -->\nfirst\n"
    assert comment() == "comment unchanged\n"
    (tmp_path / "diff.md").write_text("second\n")
    assert comment() == "comment updated\n"
    assert forge.asked[-1] == (method, f"{one}/{forge.comments[-1]['id']}")
    assert [each["body"] for each in forge.comments[150:]] == ["<!-- jobspec diff -->\nsecond\n"]


def test_what_the_forge_refuses_is_said(forge: Forge, tmp_path: Path) -> None:
    (tmp_path / "diff.md").write_text("first\n")
    forge.refuses = 403
    done = run_here("comment", "diff.md", cwd=tmp_path, env=environment(**github_job(forge)))
    assert (done.returncode, done.stdout) == (2, "")
    assert "GitHub refuses GET with 403: " in done.stderr
    assert "secret" not in done.stderr


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"GITHUB_ACTIONS": "", "GITLAB_CI": ""}, "no job of GitHub Actions or GitLab CI"),
        ({"GITHUB_REF": "refs/heads/main"}, "does not run for a pull request"),
        ({"GITHUB_TOKEN": "", "GH_TOKEN": ""}, "set GITHUB_TOKEN"),
        ({"GITLAB_CI": "true"}, "does not run for a merge request"),
        ({"GITLAB_CI": "true", "CI_MERGE_REQUEST_IID": "7"}, "set GITLAB_TOKEN"),
    ],
)
def test_where_there_is_nothing_to_comment_on(given: dict[str, str], why: str, forge: Forge, tmp_path: Path) -> None:
    (tmp_path / "diff.md").write_text("first\n")
    done = run_here("comment", "diff.md", cwd=tmp_path, env=environment(**{**github_job(forge), **given}))
    assert done.returncode == 2
    assert why in done.stderr


def test_a_text_that_is_too_long_is_refused(forge: Forge, tmp_path: Path) -> None:
    (tmp_path / "diff.md").write_text("x" * 65_537)
    done = run_here("comment", "diff.md", cwd=tmp_path, env=environment(**github_job(forge)))
    assert "GitHub takes 65536" in done.stderr
