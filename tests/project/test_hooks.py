"""The hook that other repositories name in their `.pre-commit-config.yaml`, run by pre-commit itself."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from tests.support.manifests import JOB, write
from tests.support.processes import program
from tests.support.reference import ROOT

OTHERS = {
    ".github/workflows/test.yaml": "on: [push]\njobs: {test: {runs-on: ubuntu-latest, steps: [{run: make}]}}\n",
    "compose.yaml": "services:\n  web: {image: nginx}\n",
    "package.json": '{"name": "a"}\n',
    "empty.yaml": "# nothing yet\n",
}


def _git(*arguments: str, cwd: Path) -> str:
    """Git without the settings of whoever runs the tests."""
    names = {f"GIT_{who}_{what}": value for who in ("AUTHOR", "COMMITTER") for what, value in (("NAME", "a"), ("EMAIL", "a@example.com"))}
    variables = {**os.environ, **names, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}
    variables = {name: value for name, value in variables.items() if name not in ("GIT_DIR", "GIT_INDEX_FILE", "GIT_WORK_TREE")}
    return program("git", *arguments, cwd=cwd, env=variables, check=True).stdout


def _repository(folder: Path, files: dict[str, str]) -> str:
    """A repository of these files in one commit, which is given back."""
    write(folder, files)
    _git("init", "--quiet", cwd=folder)
    _git("add", "--all", cwd=folder)
    _git("commit", "--quiet", "--no-verify", "--message=a", cwd=folder)
    return _git("rev-parse", "HEAD", cwd=folder).strip()


def _working_tree(folder: Path) -> str:
    """This repository as it stands here, changes that are not committed included, as a repository of its own."""
    for name in _git("ls-files", "--cached", "--others", "--exclude-standard", "-z", cwd=ROOT).split("\0"):
        if name and (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / name, folder / name)
    return _repository(folder, {})


def test_the_hooks_file_is_what_pre_commit_takes() -> None:
    done = program(sys.executable, "-m", "pre_commit", "validate-manifest", ".pre-commit-hooks.yaml")
    assert (done.returncode, done.stdout) == (0, "")
    hooks = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())
    assert [hook["id"] for hook in hooks] == ["jobspec-validate", "jobspec-dry-run"]


@pytest.mark.slow
def test_another_repository_runs_the_hook(tmp_path: Path) -> None:
    ours = tmp_path / "jobspec"
    revision = _working_tree(ours)
    config = {"repos": [{"repo": str(ours), "rev": revision, "hooks": [{"id": "jobspec-validate", "verbose": True}]}]}
    theirs = tmp_path / "theirs"
    _repository(theirs, {**OTHERS, "deploy/job.yaml": JOB, ".pre-commit-config.yaml": yaml.safe_dump(config)})

    def hook() -> subprocess.CompletedProcess[str]:
        variables = {**os.environ, "PRE_COMMIT_HOME": str(tmp_path / "home"), "GIT_CONFIG_GLOBAL": os.devnull}
        variables.pop("PYTHONPATH", None)
        return program(sys.executable, "-m", "pre_commit", "run", "--all-files", "--color=never", cwd=theirs, env=variables)

    done = hook()
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.search(r"^jobspec validate\.+Passed$", done.stdout, re.MULTILINE)
    # one job; skipped are the hook's own configuration, a workflow, a compose file and a package
    assert "5 documents: 1 valid, 4 skipped (" in done.stdout

    (theirs / "deploy" / "bad.yaml").write_text(JOB.replace("replicas: 1", "replica: 1"))
    _git("add", "--all", cwd=theirs)
    done = hook()
    assert done.returncode == 1
    assert "deploy/bad.yaml:8:7: error: " in done.stdout
    assert "6 documents: 1 valid, 1 invalid, 4 skipped, 1 error (" in done.stdout
