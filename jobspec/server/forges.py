"""The comment of jobspec on a pull request of GitHub or a merge request of GitLab, found by its marker and updated.

Follows https://docs.github.com/rest/issues/comments, version 2022-11-28, and https://docs.gitlab.com/api/notes/, version 4.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from jobspec.diagnostics.errors import JobspecError
from jobspec.diagnostics.record import Record

_SECONDS = 30
_PAGE = 100


class Discussion(Record):
    """The comments of one pull or merge request."""

    forge: str
    comments: str
    """The URL of its comments."""
    comment: str
    """The URL of one comment, with `{id}`."""
    headers: Mapping[str, str]
    update: str
    """The method that changes a comment."""
    limit: int
    """The most characters of a comment."""


def discussion_in(environment: Mapping[str, str], event: Mapping[str, Any]) -> Discussion:
    """Return the comments of the request that a job runs for.

    *event*: what GitHub says of the event; empty if there is none. Raises JobspecError outside of such a job, and without a token.
    """
    if environment.get("GITLAB_CI"):
        return _of_gitlab(environment)
    if environment.get("GITHUB_ACTIONS"):
        return _of_github(environment, event)
    raise JobspecError("comment: this is no job of GitHub Actions or GitLab CI")


def _of_github(environment: Mapping[str, str], event: Mapping[str, Any]) -> Discussion:
    found = re.fullmatch(r"refs/pull/(\d+)/\w+", environment.get("GITHUB_REF", ""))
    number = found[1] if found else (event.get("pull_request") or {}).get("number")
    if not number:
        raise JobspecError("comment: this job does not run for a pull request: use `on: pull_request`")
    token = environment.get("GITHUB_TOKEN") or environment.get("GH_TOKEN")
    if not token:
        raise JobspecError("comment: set GITHUB_TOKEN, and give the job `pull-requests: write`")
    base = f"{environment.get('GITHUB_API_URL', 'https://api.github.com')}/repos/{environment.get('GITHUB_REPOSITORY', '')}/issues"
    headers = {"Authorization": f"Bearer {token}", "Accept": "application/vnd.github+json", "X-GitHub-Api-Version": "2022-11-28"}
    return Discussion("GitHub", f"{base}/{number}/comments", f"{base}/comments/{{id}}", headers, "PATCH", 65_536)


def _of_gitlab(environment: Mapping[str, str]) -> Discussion:
    number = environment.get("CI_MERGE_REQUEST_IID")
    if not number:
        raise JobspecError("comment: this job does not run for a merge request: use `if: $CI_PIPELINE_SOURCE == 'merge_request_event'`")
    token = environment.get("GITLAB_TOKEN")
    if not token:
        raise JobspecError("comment: set GITLAB_TOKEN to a project access token with the scope `api`")
    base = f"{environment.get('CI_API_V4_URL', '')}/projects/{environment.get('CI_PROJECT_ID', '')}/merge_requests/{number}/notes"
    return Discussion("GitLab", base, f"{base}/{{id}}", {"PRIVATE-TOKEN": token}, "PUT", 1_000_000)


def write_comment(discussion: Discussion, text: str, marker: str) -> str:
    """Write a text as the one comment that begins with a marker, and return what was done.

    If there is such a comment, it is changed.
    """
    if len(text) > discussion.limit:
        raise JobspecError(f"comment: the text has {len(text)} characters, and {discussion.forge} takes {discussion.limit}")
    known = next((each for each in _comments(discussion) if str(each.get("body")).startswith(marker)), None)
    if known is None:
        _ask(discussion, "POST", discussion.comments, {"body": text})
        return "written"
    if known["body"] == text:
        return "unchanged"
    _ask(discussion, discussion.update, discussion.comment.format(id=known["id"]), {"body": text})
    return "updated"


def _comments(discussion: Discussion) -> Iterator[dict[str, Any]]:
    page = 1
    while found := _ask(discussion, "GET", f"{discussion.comments}?per_page={_PAGE}&page={page}"):
        yield from found
        if len(found) < _PAGE:
            return
        page += 1


def _ask(discussion: Discussion, method: str, url: str, body: Mapping[str, Any] | None = None) -> Any:
    """Return the answer of the forge as JSON. Raises JobspecError if it refuses or cannot be reached."""
    from urllib.error import HTTPError, URLError
    from urllib.request import Request, urlopen

    if not url.startswith(("https://", "http://")):
        raise JobspecError(f"comment: not the URL of {discussion.forge}'s API: {url}")
    headers = {**discussion.headers, "User-Agent": "jobspec", "Content-Type": "application/json"}
    sent = None if body is None else json.dumps(body).encode()
    try:
        with urlopen(Request(url, sent, headers, method=method), timeout=_SECONDS) as reply:  # noqa: S310 (http or https, by the check above)
            return json.loads(reply.read() or b"null")
    except HTTPError as error:
        said = error.read().decode(errors="replace").strip()
        raise JobspecError(f"comment: {discussion.forge} refuses {method} with {error.code}: {said[:200]}") from None
    except URLError as error:
        raise JobspecError(f"comment: {discussion.forge} cannot be reached: {error.reason}") from None
    except (OSError, ValueError) as error:
        raise JobspecError(f"comment: {discussion.forge} sends no answer that can be read: {error}") from None
