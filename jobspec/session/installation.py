"""Where the running jobspec was installed from, as a requirement that pip installs on another machine.

Follows PEP 610: `direct_url.json` beside the metadata of a distribution that does not come from an index.
"""

from __future__ import annotations

import os
import re
from typing import Any
from urllib.parse import urlsplit, urlunsplit

from jobspec import __version__
from jobspec.diagnostics.errors import JobspecError
from jobspec.session.git import git

#: The name of the distribution.
NAME = "jobspec-k8s"
#: The requirement of this version, from an index.
OF_AN_INDEX = f"{NAME}=={__version__}"


def requirement_of_the_running() -> str | None:
    """Return the requirement that installs the running jobspec elsewhere.

    If no other machine has the source, return None. For a jobspec from an index, the requirement names the version; from a repository, its
    URL and commit; from a clone, the URL of the remote, if that has the commit.
    """
    import json
    from importlib.metadata import PackageNotFoundError, distribution

    try:
        text = distribution(NAME).read_text("direct_url.json")
    except PackageNotFoundError:
        return _of_clone(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
    return _of_direct_url(json.loads(text)) if text else OF_AN_INDEX


def given_requirement(given: str) -> str:
    """Return the requirement that `--install` names: a version, a URL, or a requirement.

    Raises JobspecError if it is none of these, or if a shell or YAML would read it in another way.
    """
    if re.fullmatch(r"\d[\w.+!-]*", given):
        return f"{NAME}=={given}"
    text = f"{NAME} @ {given}" if re.match(r"[\w+]+://", given) else given
    if not re.match(rf"{NAME}(?![\w-])", text) or not re.fullmatch(r"[\w.+:/@=<>~!,*#&%?()\[\] -]+", text) or " #" in text or ": " in text:
        example = "git+https://HOST/OWNER/jobspec@COMMIT"
        raise JobspecError(f"--install {given}: write a version, a requirement of {NAME}, or a URL such as {example}")
    return text


def with_extra(requirement: str, extra: str) -> str:
    """Return the requirement with one more extra."""
    extras, rest = re.fullmatch(rf"{NAME}(?:\[(.*?)\])?(.*)", requirement, re.DOTALL).groups()  # type: ignore[union-attr] # it names jobspec
    return f"{NAME}[{f'{extras},' if extras else ''}{extra}]{rest}"


def _of_direct_url(origin: dict[str, Any]) -> str | None:
    """Return the requirement of an installation whose origin `direct_url.json` gives."""
    url = str(origin["url"])
    if vcs := origin.get("vcs_info"):
        return _of_repository(url, str(vcs["commit_id"]), str(vcs["vcs"]), str(origin.get("subdirectory", "")))
    if url.startswith("file://"):
        from urllib.request import url2pathname

        return _of_clone(url2pathname(urlsplit(url).path)) if "dir_info" in origin else None
    return f"{NAME} @ {_public(url)}"


def _of_clone(folder: str) -> str | None:
    """Return the requirement of a clone: its remote's URL and its commit. If the remote lacks the commit, return None."""
    if not os.path.exists(os.path.join(folder, ".git")):
        return None
    try:
        remotes = _asked(folder, "remote").split()
        commit = _asked(folder, "rev-parse", "--verify", "HEAD").strip()
        remote = "origin" if "origin" in remotes else remotes[0] if remotes else ""
        if not remote or not _asked(folder, "branch", "--remotes", "--contains", commit, "--list", f"{remote}/*").strip():
            return None
        return _of_repository(_asked(folder, "remote", "get-url", remote).strip(), commit)
    except JobspecError:
        return None


def _asked(folder: str, *arguments: str) -> str:
    return os.fsdecode(git(folder, *arguments, why="the clone that jobspec was installed from"))


def _of_repository(url: str, commit: str, vcs: str = "git", subdirectory: str = "") -> str | None:
    """Return the requirement of a commit of a repository. If its URL is a path of this machine, return None."""
    if written := re.fullmatch(r"(?:[\w.-]+@)?([\w.-]+\.[\w-]+):(?!//)/?(.+)", url):  # the form of scp, which pip does not read
        url = f"https://{written[1]}/{written[2]}"
    if not re.match(r"(?:https?|ssh)://", url):
        return None
    return f"{NAME} @ {vcs}+{_public(url)}@{commit}" + (f"#subdirectory={subdirectory}" if subdirectory else "")


def _public(url: str) -> str:
    """Return the URL without a user's name and password. If it is one of SSH, the name stays."""
    parts = urlsplit(url)
    user, _, host = parts.netloc.rpartition("@")
    name = user.partition(":")[0]
    return urlunsplit(parts._replace(netloc=f"{name}@{host}" if name and parts.scheme == "ssh" else host))
