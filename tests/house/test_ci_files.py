"""The action for GitHub and the component for GitLab: their steps run as they stand, with the inputs that others give."""

import json
import os
import re
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import pytest
import yaml

from tests.support.forge import forge_on_loopback, github_job, gitlab_job
from tests.support.manifests import JOB, write
from tests.support.processes import command, environment, program
from tests.support.reference import ROOT
from tests.support.repositories import committed, git

_BAD = JOB.replace("replicas: 1", "replicaz: 1")
ACTION: dict[str, Any] = yaml.load((ROOT / "action.yml").read_text(), yaml.BaseLoader)


def _program(folder: Path) -> None:
    """A program `jobspec` of this checkout in a folder."""
    folder.mkdir(parents=True)
    words = " ".join(f'"{word}"' for word in command())
    (folder / "jobspec").write_text(f'#!/bin/sh\nexec {words} "$@"\n')
    (folder / "jobspec").chmod(0o755)


def _step(folder: Path, name: str, more: Mapping[str, str] | None = None, **given: str) -> CompletedProcess[str]:
    """Run a step of the action as a runner does: with the inputs in its environment, by `bash -e`."""
    (step,) = [each for each in ACTION["runs"]["steps"] if each.get("name") == name]
    inputs = {key: each["default"] for key, each in ACTION["inputs"].items()} | {
        key.replace("_", "-"): value for key, value in given.items()
    }
    values = {f"inputs.{key}": value for key, value in inputs.items()} | {"github.token": "secret"}
    variables = {key: re.sub(r"\$\{\{ ([\w.-]+) \}\}", lambda found: values[found[1]], text) for key, text in step["env"].items()}
    if "FORMAT" in variables:
        variables["FORMAT"] = "github" if inputs["annotations"] == "true" else "text"
    assert "${{" not in step["run"] + "".join(variables.values())
    if not (folder / "temp").exists():
        _program(folder / "temp" / "jobspec" / "bin")
    return program(
        "bash",
        "-eo",
        "pipefail",
        "-c",
        step["run"],
        cwd=folder,
        env=environment(
            **(more or {}), RUNNER_TEMP=str(folder / "temp"), GITHUB_STEP_SUMMARY=str(folder / "temp" / "summary"), **variables
        ),
    )


def test_the_action_annotates_and_fails(tmp_path: Path) -> None:
    write(tmp_path, {"jobs/a.yaml": _BAD, "more/b.yaml": JOB})
    done = _step(tmp_path, "Check the manifests", paths="jobs more", options="--target trainer=2.2")
    assert done.returncode == 1
    (error,) = [each for each in done.stdout.splitlines() if each.startswith("::error ")]
    assert error.startswith("::error file=jobs/a.yaml,line=8,")
    assert '"unknown-field"' in (tmp_path / "temp" / "jobspec.sarif").read_text()
    assert "| jobs/a.yaml:8:7 |" in (tmp_path / "temp" / "summary").read_text()
    said = _step(tmp_path, "Check the manifests", annotations="false", paths="more", command="validate").stdout
    assert said.startswith("1 document: 1 valid")
    assert _step(tmp_path, "Check the manifests", paths="more").returncode == 0
    assert _step(tmp_path, "Check the manifests", paths="none").returncode == 2


def test_the_action_writes_one_comment_on_a_change(tmp_path: Path) -> None:
    place = committed(tmp_path / "repository", {"job.yaml": JOB})
    committed(place, {"job.yaml": JOB.replace("replicas: 1", "replicas: 2")})
    with forge_on_loopback() as forge:
        job = {key: value for key, value in github_job(forge).items() if key != "GITHUB_TOKEN"}
        for image in ("a:1", "a:2"):
            done = _step(place, "Comment on what the pull request changes", job)
            assert done.returncode == 0, done.stderr
            committed(place, {"other.yaml": f"{{apiVersion: v1, kind: ConfigMap, metadata: {{name: a}}, data: {{image: '{image}'}}}}\n"})
        (comment,) = [each["body"] for each in forge.comments if "jobspec" in each["body"]]
    assert comment.startswith("<!-- jobspec diff -->\n### 1 of 1 object changes")
    assert comment.count("<!-- jobspec diff -->") == 1


def test_the_component_writes_one_comment_on_a_change(tmp_path: Path) -> None:
    base = git(committed(tmp_path, {"jobs/a.yaml": JOB}), "rev-parse", "HEAD").strip()
    write(tmp_path, {"jobs/a.yaml": JOB.replace("replicas: 1", "replicas: 2")})
    _program(tmp_path / ".jobspec-venv" / "bin")
    _, jobs = _component({"paths": "jobs", "diff": "true", "command": "lint"})
    script = "\n".join(jobs["jobspec"]["after_script"])
    with forge_on_loopback() as forge:
        variables = {**gitlab_job(forge), "CI_MERGE_REQUEST_DIFF_BASE_SHA": base}
        for _ in range(2):
            done = program("bash", "-eo", "pipefail", "-c", script, cwd=tmp_path, env=environment(**variables))
            assert done.returncode == 0, done.stderr
        assert ["1 of 1 object changes" in each["body"] for each in forge.comments[150:]] == [True]
    assert done.stdout == "comment unchanged\n"


def test_the_action_is_what_runners_take() -> None:
    steps = ACTION["runs"]["steps"]
    assert ACTION["runs"]["using"] == "composite"
    assert all(("run" in step) == ("shell" in step) and ("run" in step) != ("uses" in step) for step in steps)
    assert all(re.fullmatch(r"(actions|github)/[\w/-]+@[0-9a-f]{40}", step["uses"]) for step in steps if "uses" in step)
    assert "${{" not in "".join(step.get("run", "") for step in steps)  # what others write must not become a command
    used = set(re.findall(r"inputs\.([\w-]+)", (ROOT / "action.yml").read_text()))
    assert used == ACTION["inputs"].keys()


@pytest.mark.parametrize(("page", "inputs"), [("github.md", ACTION["inputs"].keys()), ("gitlab.md", None)])
def test_the_pages_name_every_input(page: str, inputs: Any) -> None:
    reported = set(re.findall(r"^\| `([\w-]+)` \|", (ROOT / "docs" / "guides" / page).read_text(), re.MULTILINE))
    assert reported == set(inputs or _component({})[0])


def _component(given: dict[str, str]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The inputs of the component, and its jobs with the inputs filled in."""
    head, _, body = (ROOT / "templates" / "jobspec.yml").read_text().partition("\n---\n")
    inputs = yaml.load(head, yaml.BaseLoader)["spec"]["inputs"]
    values = {name: each["default"] for name, each in inputs.items()} | given
    return inputs, yaml.load(re.sub(r"\$\[\[ inputs\.(\w+) \]\]", lambda found: values[found[1]], body), yaml.BaseLoader)


@pytest.mark.parametrize(("text", "code"), [(JOB, 0), (_BAD, 1)])
def test_the_component_reports_tests_and_fails_where_they_do(tmp_path: Path, text: str, code: int) -> None:
    write(tmp_path, {"jobs/a.yaml": text})
    _program(tmp_path / ".jobspec-venv" / "bin")
    _, jobs = _component({"paths": "jobs", "options": "--target trainer=2.2", "command": "lint"})
    script = "\n".join(jobs["jobspec"]["script"])
    done = program("bash", "-eo", "pipefail", "-c", script, cwd=tmp_path, env=environment(PATH=os.environ["PATH"]))
    assert done.returncode == code, done.stderr
    assert ("<failure" in (tmp_path / "jobspec.xml").read_text()) == bool(code)
    assert jobs["jobspec"]["artifacts"]["reports"] == {"junit": "jobspec.xml", "codequality": "jobspec.json"}
    rows = json.loads((tmp_path / "jobspec.json").read_text())
    assert ("unknown-field", "jobs/a.yaml") in {(each["check_name"], each["location"]["path"]) for each in rows} or not code
    assert len({each["fingerprint"] for each in rows}) == len(rows)


def test_zizmor_finds_nothing_in_workflows_in_the_action_and_in_what_init_writes() -> None:
    zizmor = Path(sys.executable).with_name("zizmor")
    asked = [ROOT / ".github", ROOT / "action.yml", ROOT / "jobspec" / "scaffold" / "workflow.yaml"]
    done = program(zizmor, "--offline", "--no-progress", *asked)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.skipif(not shutil.which("actionlint"), reason="actionlint is not installed")
def test_actionlint_finds_nothing_in_workflows_and_in_the_one_that_init_writes(tmp_path: Path) -> None:
    assert program(*command("init", tmp_path / "new")).returncode == 0
    asked = [*sorted((ROOT / ".github" / "workflows").iterdir()), tmp_path / "new" / ".github" / "workflows" / "jobspec.yaml"]
    done = program("actionlint", *asked, cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_release_takes_the_notes_of_its_version() -> None:
    (command,) = re.findall(r"sed -n .* CHANGELOG.md", (ROOT / ".github" / "workflows" / "release.yml").read_text())
    text = "# Changelog\n\n## 1.2.0\n\n- new\n\n## 1.1.0\n\n- old\n"
    done = program("bash", "-c", command.replace("CHANGELOG.md", "/dev/stdin"), stdin=text, env=environment(TAG="v1.2.0"))
    assert done.stdout == "\n- new\n\n"
