"""The JSON Schemas of reports describe every field that commands print, and refuse others."""

import json
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from tests.support.manifests import JOB, PROJECT_HEAD, write
from tests.support.processes import run_here
from tests.support.reference import ROOT
from tests.support.repositories import committed

CASES = ROOT / "tests" / "cases"
PROJECT = {
    "base.yaml": JOB,
    "prices.yaml": "apiVersion: jobspec.dev/v1alpha1\nkind: Prices\nspec: {currency: EUR, resources: {nvidia.com/gpu: 2.4}}\n",
    "jobspec.yaml": f"{PROJECT_HEAD}  defaults: {{base: base.yaml}}\n  variants:\n  - {{name: a, overlays: [gpu-nccl]}}\n  - {{name: b}}\n",
}


def _closed(schema: Any) -> Any:
    """The same schema without room for fields that it does not describe."""
    if isinstance(schema, list):
        return [_closed(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    closed = {name: _closed(each) for name, each in schema.items()}
    return closed | {"additionalProperties": False} if "properties" in schema and "additionalProperties" not in schema else closed


def _conforms(name: str, printed: str) -> None:
    schema = json.loads((ROOT / "docs" / "schemas" / f"{name}.json").read_text())
    Draft202012Validator.check_schema(schema)
    found = [f"{each.json_path}: {each.message}" for each in Draft202012Validator(_closed(schema)).iter_errors(json.loads(printed))]
    assert found == []


@pytest.mark.parametrize("folder", ["validate", "lint", "outcome"])
def test_findings(folder: str) -> None:
    done = run_here("lint", CASES / folder, "-o", "json", "--fail-on", "info")
    assert done.returncode == 1
    _conforms("findings", done.stdout)


def test_findings_of_other_commands(tmp_path: Path) -> None:
    write(
        tmp_path,
        {"job.yaml": JOB, "empty.yaml": "\n", "bytes.yaml": "a: 1\n", "other.yaml": "kind: A\napiVersion: b/v1\nmetadata: {name: c}\n"},
    )
    (tmp_path / "bytes.yaml").write_bytes(b"\xff")
    for words in (
        ("validate", ".", "--skip-unknown"),
        ("lint", ".", "--ignore", "lint"),
        ("migrate", "job.yaml", "--to", "TrainJob", "--in-place"),
    ):
        _conforms("findings", run_here(*words, "-o", "json", cwd=tmp_path).stdout)


def test_a_change(tmp_path: Path) -> None:
    committed(tmp_path, PROJECT)
    _conforms("diff", run_here("diff", "-o", "json", cwd=tmp_path).stdout)
    changed = PROJECT["jobspec.yaml"].replace("name: b", "name: c").replace("[gpu-nccl]", "[{gpu-nccl: {gpus: 2}}]")
    write(tmp_path, {"jobspec.yaml": changed})
    _conforms("diff", run_here("diff", "-o", "json", "--prices", "prices.yaml", cwd=tmp_path).stdout)
    write(tmp_path, {"jobspec.yaml": "a: 1\n"})
    _conforms("findings", run_here("diff", "-o", "json", cwd=tmp_path).stdout)


def test_a_change_of_a_repository(tmp_path: Path) -> None:
    gone = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: gone}\n"
    committed(tmp_path, {"base.yaml": JOB, "gone.yaml": gone, "prices.yaml": PROJECT["prices.yaml"]})
    _conforms("diff-repository", run_here("diff", "-o", "json", cwd=tmp_path).stdout)
    write(tmp_path, {"base.yaml": JOB.replace("replicas: 1", "replicas: 2"), "new.yaml": JOB.replace("name: ", "name: new-", 1)})
    (tmp_path / "gone.yaml").unlink()
    done = run_here("diff", "-o", "json", "--prices", "prices.yaml", cwd=tmp_path)
    _conforms("diff-repository", done.stdout)
    assert [each["meaning"] for each in json.loads(done.stdout)["objects"]].count("removed") == 1


def test_origins(tmp_path: Path) -> None:
    write(tmp_path, PROJECT)
    assert run_here("render", cwd=tmp_path).returncode == 0
    (path,) = (tmp_path / "rendered" / "a").glob("pytorchjob-*")
    _conforms("blame", run_here("blame", path, ".", "-o", "json", cwd=tmp_path).stdout)
