"""What stands around the code: security, templates, citation, files of a release; each names what is there."""

import hashlib
import json
import re
import shutil
import sys
import tarfile
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

from jobspec import __version__
from jobspec.apis.kinds import PROJECT_FILE
from tests.support.processes import program
from tests.support.reference import ROOT

TEMPLATES = [path for path in sorted((ROOT / ".github" / "ISSUE_TEMPLATE").iterdir()) if path.name != "config.yml"]


def _yaml(path: str) -> Any:
    return yaml.safe_load((ROOT / path).read_text())


def test_every_file_that_names_a_version_names_this_one() -> None:
    assert _yaml("CITATION.cff")["version"] == __version__
    assert f"\nversion={__version__}\n" in (ROOT / "krew" / "kubectl-jobspec").read_text()


def test_kubectl_finds_the_program_by_its_second_name(tmp_path: Path) -> None:
    scripts = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["scripts"]
    assert scripts == dict.fromkeys(("jobspec", "kubectl-jobspec"), "jobspec.__main__:program")
    (tmp_path / "jobspec").write_text('#!/bin/sh\necho "$# $1"\n')
    (tmp_path / "jobspec").chmod(0o755)
    shell = shutil.which("sh") or ""
    script = ROOT / "krew" / "kubectl-jobspec"
    assert program(shell, script, "lint .", "-o", env={"PATH": str(tmp_path)}).stdout == "2 lint .\n"
    (tmp_path / "jobspec").unlink()
    done = program(shell, script, "lint", env={"PATH": str(tmp_path)})
    assert (done.returncode, done.stderr) == (2, f"kubectl jobspec needs jobspec, uv or pipx: pip install jobspec-k8s=={__version__}\n")


def test_a_release_writes_the_krew_plugin_with_its_checksum_and_the_entry_for_schemastore(tmp_path: Path) -> None:
    program(sys.executable, ROOT / "krew" / "release.py", "example/jobspec", tmp_path / "one", check=True)
    program(sys.executable, ROOT / "krew" / "release.py", "example/jobspec", tmp_path / "two", check=True)
    archive = f"kubectl-jobspec-v{__version__}.tar.gz"
    content = (tmp_path / "one" / archive).read_bytes()
    assert content == (tmp_path / "two" / archive).read_bytes()
    spec = yaml.safe_load((tmp_path / "one" / "jobspec.yaml").read_text())["spec"]
    assert spec["version"] == f"v{__version__}"
    assert [(each["uri"], each["sha256"], each["bin"]) for each in spec["platforms"]] == [
        (
            f"https://github.com/example/jobspec/releases/download/v{__version__}/{archive}",
            hashlib.sha256(content).hexdigest(),
            "kubectl-jobspec",
        )
    ]
    with tarfile.open(tmp_path / "one" / archive) as packed:
        assert {each.name: each.mode & 0o111 != 0 for each in packed} == {"kubectl-jobspec": True, "LICENSE": False}
    entry = json.loads((tmp_path / "one" / "schemastore.json").read_text())
    assert entry["fileMatch"] == [PROJECT_FILE]
    schema = json.loads((ROOT / entry["url"].partition("/main/")[2]).read_text())
    assert schema["$schema"] == "http://json-schema.org/draft-07/schema#"


@pytest.mark.parametrize("path", TEMPLATES, ids=lambda path: path.stem)
def test_issue_forms_have_what_github_requires(path: Path) -> None:
    form = yaml.safe_load(path.read_text())
    assert {"name", "description", "body"} <= form.keys()
    assert all(each["type"] in ("textarea", "input") and each["attributes"]["label"] for each in form["body"])
    ids = [each["id"] for each in form["body"]]
    assert len(ids) == len(set(ids))


def test_dependabot_looks_into_folders_that_are_there() -> None:
    for each in _yaml(".github/dependabot.yml")["updates"]:
        for folder in each.get("directories", [each.get("directory")]):
            assert (ROOT / folder.strip("/")).is_dir()
            assert each["package-ecosystem"] != "docker" or (ROOT / folder.strip("/") / "Dockerfile").is_file()


def test_security_says_where_to_report() -> None:
    text = (ROOT / "SECURITY.md").read_text()
    assert re.search(r"\*\*Report a vulnerability in private\*\*", text)
