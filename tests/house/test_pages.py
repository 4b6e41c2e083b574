"""Pages whose examples run in order, as a reader types them, in a new folder: files with a title are written, commands print what is shown.

With JOBSPEC_WRITE_CASES set, the outputs in the pages are written again.
"""

import os
import re
import shutil
import sys
from pathlib import Path

import pytest

from tests.support.manifests import write
from tests.support.processes import environment, program
from tests.support.reference import ROOT

#: The pages, each with the programs that it needs besides jobspec and git.
SESSIONS = {
    "../README.md": (),
    "tutorial-trainjob.md": (),
    "guides/capture.md": (),
    "guides/policy.md": (),
    "guides/expand.md": (),
    "guides/helm.md": ("helm",),
    "guides/kueue.md": (),
    "guides/lint.md": (),
    "guides/own-crds.md": (),
    "guides/own-overlays.md": (),
    "guides/render.md": (),
    "guides/repositories.md": ("kubectl",),
    "guides/secrets.md": (),
    "guides/upgrade.md": (),
    "guides/validate.md": (),
    "explanation/names.md": (),
}
_BLOCK = re.compile(r"^```(\w+)(?: title=\"([^\"]+)\")?\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_WHEN = "2026-01-01T00:00:00Z"


def _shell(folder: Path) -> dict[str, str]:
    """The environment of a reader: this checkout's `jobspec` in the `PATH`, and a Git whose commits are the same everywhere."""
    write(folder, {"bin/jobspec": f'#!/bin/sh\nexec {sys.executable} -m jobspec "$@"\n'})
    (folder / "bin" / "jobspec").chmod(0o755)
    git = {
        f"GIT_{role}_{what}": value
        for role in ("AUTHOR", "COMMITTER")
        for what, value in (("NAME", "a"), ("EMAIL", "a@b"), ("DATE", _WHEN))
    }
    path = f"{folder / 'bin'}:{os.environ['PATH']}"
    return environment(**git, GIT_CONFIG_GLOBAL=os.devnull, GIT_CONFIG_SYSTEM=os.devnull, PATH=path, COLUMNS="100", HOME=str(folder))


def _run(shown: str, place: Path, surroundings: dict[str, str]) -> str:
    """The text of a console: its commands, each with what it prints now."""
    printed = ""
    for command in re.findall(r"^\$ (.*(?:\\\n.*)*)", shown, re.MULTILINE):
        done = program("bash", "-c", f"{{ {command}\n}} 2>&1", cwd=place, env=surroundings)
        printed += f"$ {command}\n{done.stdout}"
    return printed


@pytest.mark.parametrize("name", SESSIONS)
def test_a_page_prints_what_it_shows(tmp_path: Path, name: str) -> None:
    lacking = [each for each in SESSIONS[name] if not shutil.which(each)]
    if lacking:
        pytest.skip(f"{', '.join(lacking)} is not installed")
    page = ROOT / "docs" / name
    text, place = page.read_text(), tmp_path / "repository"
    place.mkdir()
    surroundings = _shell(tmp_path)
    consoles = 0
    for block in _BLOCK.finditer(text):
        language, title, content = block.groups()
        if title:
            write(place, {title: content})
        elif language == "console":
            consoles += 1
            actual = _run(content, place, surroundings)
            if os.environ.get("JOBSPEC_WRITE_CASES") and actual != content:  # another test may be reading the page
                page.write_text(page.read_text().replace(f"```console\n{content}```", f"```console\n{actual}```"))
            else:
                assert content == actual
    assert consoles
