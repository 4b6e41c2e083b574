"""Contracts of images where a project declares them: its variants are linted and rendered by them, from whatever folder."""

import json
from pathlib import Path

import pytest

from tests.support.manifests import JOB, write
from tests.support.processes import run_here

_BASE = JOB.replace("replicas: 1", "replicas: 1\n      restartPolicy: Never").replace(
    "image: example.com/train:v1", 'image: example.com/train:v1\n            args: ["--epochs", "3"]'
)
_OVERLAY = """\
apiVersion: jobspec.dev/v1alpha1
kind: Overlay
metadata: {name: fast}
spec:
  description: fewer epochs
  pods:
    - flags: {--epochs: few}
"""
_PROJECT = """\
apiVersion: jobspec.dev/v1alpha1
kind: Project
spec:
  variants:
    - {name: one, base: base.yaml}
    - {name: two, base: base.yaml, overlays: [./fast.yaml]}
    - {name: three, base: base.yaml, overlays: [./fast.yaml], namespace: three}
  checks:
    contracts:
      example.com/train: contracts/train.json
"""
_CONTRACT = json.dumps({"properties": {"--epochs": {"type": "integer"}}})
_FILES = {"jobspec.yaml": _PROJECT, "base.yaml": _BASE, "fast.yaml": _OVERLAY, "contracts/train.json": _CONTRACT}
_QUOTA = "apiVersion: v1\nkind: ResourceQuota\nmetadata: {name: all, namespace: other}\nspec: {hard: {pods: 9}}\n"


def _reported(*arguments: str, cwd: Path) -> tuple[int, list[tuple[str, int, str]]]:
    done = run_here(*arguments, "-o", "json", cwd=cwd)
    assert done.returncode in (0, 1), done.stderr
    found = [each for file in json.loads(done.stdout)["files"] for each in file["diagnostics"]]
    return done.returncode, [(each["file"], each["line"], each["rule"]) for each in found if each["stage"] != "lint"]


@pytest.mark.parametrize("folder", ["", "team/"])
def test_a_wrong_flag_is_reported_where_it_is_written_and_once_for_all_variants(tmp_path: Path, folder: str) -> None:
    write(tmp_path, {f"{folder}{name}": text for name, text in _FILES.items()})
    (tmp_path / ".git").mkdir()
    for command in ("lint", "render"):
        code, reported = _reported(command, f"{folder}jobspec.yaml", cwd=tmp_path)
        assert (code, reported) == (1, [(f"{folder}fast.yaml", 7, "wrong-flag-value")])
    assert not (tmp_path / folder / "rendered").exists()
    write(tmp_path, {f"{folder}fast.yaml": _OVERLAY.replace("few", "4")})
    assert _reported("lint", f"{folder}jobspec.yaml", cwd=tmp_path) == (0, [])
    assert run_here("render", f"{folder}jobspec.yaml", cwd=tmp_path).returncode == 0


def test_a_rendered_tree_is_validated_by_the_contracts_of_the_project_beside_it(tmp_path: Path) -> None:
    write(tmp_path, {**_FILES, "fast.yaml": _OVERLAY.replace("few", "4")})
    assert run_here("render", cwd=tmp_path).returncode == 0
    write(tmp_path, {"contracts/train.json": _CONTRACT.replace("--epochs", "--steps")})
    for command in ("validate", "lint"):
        code, reported = _reported(command, "rendered", cwd=tmp_path)
        assert (code, [rule for _, _, rule in reported]) == (1, ["unknown-flag"] * 3)


def test_a_contract_that_is_given_comes_before_that_of_the_project(tmp_path: Path) -> None:
    write(tmp_path, {**_FILES, "other.json": json.dumps({"properties": {"--epochs": {"type": "string"}}})})
    assert _reported("lint", "jobspec.yaml", "--contract", "example.com/train=other.json", cwd=tmp_path) == (0, [])


@pytest.mark.parametrize(
    ("path", "text", "message"),
    [
        ("none.json", "", "no contract at `none.json`: there is no such file"),
        ("../../etc.json", "", "no contract at `../../etc.json`: it leads out of the repository"),
        ("bad.json", "{", "bad.json: not valid JSON: Expecting property name enclosed in double quotes: line 1 column 2 (char 1)"),
        ("bad.json", "[]", "bad.json: this is not a contract: a JSON Schema whose `properties` are flags, such as `--epochs`"),
    ],
)
def test_a_contract_that_cannot_be_read_is_reported_at_its_place(tmp_path: Path, path: str, text: str, message: str) -> None:
    write(
        tmp_path,
        {f"team/{name}": each for name, each in (_FILES | {"jobspec.yaml": _PROJECT.replace("contracts/train.json", path)}).items()},
    )
    write(tmp_path, {f"team/{path}": text} if text else {})
    for command in ("validate", "lint", "render"):
        done = run_here(command, "team/jobspec.yaml", cwd=tmp_path)
        assert done.returncode == 1
        assert f"team/jobspec.yaml:10:26: error: {message} [invalid-project]" in done.stdout + done.stderr


def test_the_contract_of_the_trainer_is_there_by_its_name(tmp_path: Path) -> None:
    write(tmp_path, {**_FILES, "jobspec.yaml": _PROJECT.replace("contracts/train.json", "trainer")})
    assert _reported("lint", "jobspec.yaml", cwd=tmp_path) == (1, [("fast.yaml", 7, "wrong-flag-value")])


def test_a_contract_counts_where_objects_of_other_files_decide_on_pods_too(tmp_path: Path) -> None:
    write(tmp_path, {**_FILES, "jobs/a.yaml": _BASE.replace('"3"', '"three"'), "jobs/quota.yaml": _QUOTA})
    assert _reported("validate", "jobs", cwd=tmp_path) == (1, [("jobs/a.yaml", 15, "wrong-flag-value")])
