"""The hook that other repositories name in their `.pre-commit-config.yaml`, run by pre-commit itself."""

import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.support import quick_yaml
from tests.support.manifests import JOB, write
from tests.support.once import made_once
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


def _repository(folder: Path, files: dict[str, str]) -> None:
    """A repository of these files in one commit."""
    write(folder, files)
    _git("init", "--quiet", cwd=folder)
    _git("add", "--all", cwd=folder)
    _git("commit", "--quiet", "--no-verify", "--message=a", cwd=folder)


def _working_tree(folder: Path) -> None:
    """This repository as it stands here, changes that are not committed included, as a repository of its own."""
    for name in _git("ls-files", "--cached", "--others", "--exclude-standard", "-z", cwd=ROOT).split("\0"):
        if name and (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / name, folder / name)
    _repository(folder, {})


def test_the_hooks_file_is_what_pre_commit_takes() -> None:
    done = program(sys.executable, "-m", "pre_commit", "validate-manifest", ".pre-commit-hooks.yaml")
    assert (done.returncode, done.stdout) == (0, "")
    hooks = quick_yaml.load((ROOT / ".pre-commit-hooks.yaml").read_text())
    ours = ["validate", "lint", "fix", "render-check", "schema-check", "dry-run"]
    assert [hook["id"] for hook in hooks] == [f"jobspec-{name}" for name in ours]
    page = (ROOT / "docs" / "guides" / "pre-commit.md").read_text()
    assert re.findall(r"^\| `(jobspec-[\w-]+)` \|", page, re.MULTILINE) == [hook["id"] for hook in hooks]
    assert [hook["id"] for hook in hooks if hook.get("stages") == ["manual"]] == ["jobspec-dry-run"]


@dataclass(frozen=True)
class Ours:
    """This repository for others, and the folder in which pre-commit keeps what it has installed of it."""

    repository: Path
    home: Path

    def variables(self) -> dict[str, str]:
        """The variables of pre-commit, which compiles of what it installs no more than what is imported.

        `PIP_NO_COMPILE=1` would have pip compile: it sets the value behind `--no-compile`, and not the option.
        """
        kept = {name: value for name, value in os.environ.items() if name != "PYTHONPATH" and not name.startswith("GIT_")}
        return {**kept, "PRE_COMMIT_HOME": str(self.home), "PIP_COMPILE": "0", "GIT_CONFIG_GLOBAL": os.devnull}

    def revision(self) -> str:
        return _git("rev-parse", "HEAD", cwd=self.repository).strip()


@pytest.fixture(scope="module")
def ours(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Ours:
    folder = made_once("hooks", lambda folder: _working_tree(folder / "jobspec"), tmp_path_factory, worker_id)
    return Ours(folder / "jobspec", folder / "home")


class Theirs:
    """A repository that never heard of jobspec, and names its hooks by `repo:` and `rev:`."""

    def __init__(self, ours: Ours, folder: Path, hooks: list[dict[str, object]], files: dict[str, str]) -> None:
        config = {"repos": [{"repo": str(ours.repository), "rev": ours.revision(), "hooks": hooks}]}
        self.folder = folder
        self.ours = ours
        _repository(self.folder, {**files, ".pre-commit-config.yaml": quick_yaml.dump(config)})

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run hooks on all files as they stand."""
        _git("add", "--all", cwd=self.folder)
        words = ("run", *arguments, "--all-files", "--color=never")
        return program(sys.executable, "-m", "pre_commit", *words, cwd=self.folder, env=self.ours.variables())

    def results(self, *arguments: str) -> dict[str, str]:
        """Each hook that ran, and how it ended."""
        done = self.run(*arguments)
        return dict(re.findall(r"^(jobspec [^.]+?)\.+(?:\(.*\))?(Passed|Failed|Skipped)$", done.stdout, re.MULTILINE)) or {
            "": done.stdout + done.stderr
        }


_GOOD = JOB.replace("replicas: 1\n", "replicas: 1\n      restartPolicy: Never\n")


@pytest.mark.slow
def test_another_repository_runs_the_hooks(ours: Ours, tmp_path: Path) -> None:
    ids = ("validate", "lint", "fix", "render-check", "schema-check", "dry-run")
    theirs = Theirs(ours, tmp_path, [{"id": f"jobspec-{name}", "verbose": True} for name in ids], {**OTHERS, "deploy/job.yaml": _GOOD})
    job = theirs.folder / "deploy" / "job.yaml"

    # nothing to say of a good job; skipped are a workflow, a compose file, a package and the hooks' own configuration
    done = theirs.run("jobspec-validate")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "5 documents: 1 valid, 4 skipped (" in done.stdout
    assert theirs.results("jobspec-lint") == {"jobspec lint": "Passed"}
    assert theirs.results("jobspec-fix") == {"jobspec lint --fix-only": "Passed"}

    # a mistake that can be fixed is reported, fixed, and gone; so that a commit goes through at the second try
    job.write_text(_GOOD.replace("replicas: 1", "replicaz: 1  # one"))
    done = theirs.run("jobspec-validate")
    assert (done.returncode, "deploy/job.yaml:8:7: error: " in done.stdout) == (1, True)
    assert theirs.results("jobspec-fix") == {"jobspec lint --fix-only": "Failed"}
    assert job.read_text() == _GOOD.replace("replicas: 1", "replicas: 1  # one")
    assert theirs.results("jobspec-fix") == {"jobspec lint --fix-only": "Passed"}
    assert theirs.results("jobspec-validate") == {"jobspec validate": "Passed"}

    # one that cannot is reported by those that check
    job.write_text(_GOOD.replace("image:", "picture:"))
    assert [theirs.results(f"jobspec-{name}") for name in ids[:3]] == [
        {"jobspec validate": "Failed"},
        {"jobspec lint": "Failed"},
        {"jobspec lint --fix-only": "Passed"},
    ]
    job.write_text(_GOOD)

    # the project as a whole
    write(theirs.folder, {"jobspec.yaml": _PROJECT})
    assert theirs.results("jobspec-render-check") == {"jobspec render --check": "Failed"}
    jobspec = next(ours.home.glob("repo*/py_env-*/bin/jobspec"))
    assert program(jobspec, "render", cwd=theirs.folder, env=dict(os.environ)).returncode == 0
    assert theirs.results("jobspec-render-check") == {"jobspec render --check": "Passed"}

    # schemas for editors, where there are any
    assert theirs.results("jobspec-schema-check") == {"jobspec schema check": "Failed"}
    shutil.copytree(ROOT / "schemas", theirs.folder / "schemas")  # as `jobspec schema export schemas` writes them
    assert theirs.results("jobspec-schema-check") == {"jobspec schema check": "Passed"}
    with (theirs.folder / "schemas" / "trainer-2.3.0" / "trainer.kubeflow.org" / "trainjob_v1alpha1.json").open("a") as file:
        file.write(" ")
    assert theirs.results("jobspec-schema-check") == {"jobspec schema check": "Failed"}

    # without a server: the hook is there when called alone, and says what it lacks
    said = theirs.run("--hook-stage", "manual", "jobspec-dry-run").stdout
    assert "Failed" in said
    assert re.search(r"kind|Docker", said)


@pytest.mark.slow
def test_the_readme_s_three_commands_lead_to_green_hooks(ours: Ours, tmp_path: Path) -> None:
    chapter = (ROOT / "docs/guides/pre-commit.md").read_text().partition("```")[0]
    install, configure, run = [line.strip() for line in chapter.splitlines() if line.startswith("    ")]
    assert install == "pip install --quiet pre-commit"  # which this environment has
    configure = configure.replace("https://github.com/OWNER/jobspec", str(ours.repository)).replace("COMMIT", ours.revision())
    assert str(ours.repository) in configure
    assert ours.revision() in configure
    theirs = tmp_path / "theirs"
    _repository(theirs, {**OTHERS, "job.yaml": JOB.replace("replicas: 1", "replicaz: 1")})
    variables = {**ours.variables(), "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}

    def shell(line: str) -> int:
        return program("bash", "-ec", line, cwd=theirs, env=variables).returncode

    assert shell(configure) == 0
    assert shell(run) == 1  # what was fixed is to be looked at
    assert "replicas: 1" in (theirs / "job.yaml").read_text()
    _git("add", "--all", cwd=theirs)
    assert shell(run) == 0
    assert (theirs / ".git" / "hooks" / "pre-commit").exists()


_PROJECT = """\
apiVersion: jobspec.dev/v1alpha1
kind: Project
spec:
  variants:
    - {name: one, base: deploy/job.yaml}
"""
