"""Kinds of common projects: their schemas warn, and the server's own rules about metadata refuse."""

import json
from pathlib import Path

from jobspec.apis.releases import choose
from jobspec.kubernetes import common_kinds
from jobspec.schemas.shapes import load_metadata
from tests.support.manifests import write
from tests.support.processes import run_here
from tests.support.reference import ROOT

CASES = ROOT / "tests" / "cases" / "common"
SCHEMAS = ROOT / "schemas" / "common"
TARGET = choose([])


def test_what_the_schema_of_some_release_says_is_a_warning() -> None:
    for path in CASES.iterdir():
        (file,) = json.loads(run_here("validate", path, "-o", "json").stdout)["files"]
        found = {(each["line"], each["severity"], each["rule"]) for each in file["diagnostics"]}
        lines = enumerate(path.read_text().splitlines(), 1)
        assert found == {(number, *line.partition("# ~ ")[2].split()) for number, line in lines if "# ~ " in line}
        rows = {each["status"] for each in file["documents"]}
        assert rows == {"partly", "invalid"}
        reasons = [each["reason"] for each in file["documents"] if each["status"] == "partly"]
        assert all(each.startswith("schema of ") and each.endswith(" without CEL rules") for each in reasons)
        assert all(
            "`jobspec schema add`" in each["hint"] and not each.get("fix") for each in file["diagnostics"] if each["severity"] != "error"
        )


def test_the_crd_of_the_cluster_comes_first(tmp_path: Path) -> None:
    spec = {"type": "object", "properties": {"spec": {"type": "object", "properties": {"tries": {"type": "integer"}}}}}
    crd = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "helmreleases.helm.toolkit.fluxcd.io"},
        "spec": {
            "group": "helm.toolkit.fluxcd.io",
            "names": {"kind": "HelmRelease", "plural": "helmreleases", "singular": "helmrelease", "listKind": "HelmReleaseList"},
            "scope": "Namespaced",
            "versions": [{"name": "v2", "served": True, "storage": True, "schema": {"openAPIV3Schema": spec}}],
        },
    }
    release = "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: a}\nspec: {tries: 3, interval: 1h}\n"
    write(tmp_path, {"crd.json": json.dumps(crd), "release.yaml": release})
    done = run_here("validate", "release.yaml", "--crd", "crd.json", "-o", "concise", cwd=tmp_path)
    assert done.stdout.splitlines()[0] == "release.yaml:4:18: error: unknown field `interval` in `spec` [unknown-field]"


def test_every_file_is_of_a_release_in_the_table() -> None:
    paths = sorted(path for path in SCHEMAS.rglob("*") if path.is_file())
    assert len(paths) > 60
    for path in paths:
        file = json.loads(path.read_text())
        assert path == ROOT / "schemas" / common_kinds.file_of(file["group"], file["kind"])
        assert file["releases"].keys() <= {release for release, _ in common_kinds.PROJECTS[file["project"]]}
    assert {json.loads(path.read_text())["project"] for path in paths} == common_kinds.PROJECTS.keys()


def test_a_file_is_small_and_has_each_shape_once() -> None:
    assert sum(path.stat().st_size for path in SCHEMAS.rglob("*.json")) < 600_000
    metadata = load_metadata(TARGET)
    port = {"type": "object", "description": "a port", "properties": {"description": {"type": "string"}, "number": {"type": "integer"}}}
    schema = {
        "type": "object",
        "properties": {"spec": {"type": "object", "properties": {"first": port, "second": port}, "required": ["first"]}},
    }
    names = {"kind": "Gate", "plural": "gates"}
    versions = [{"name": "v1", "served": True, "schema": {"openAPIV3Schema": schema}}, {"name": "v0", "served": False}]
    crd = {"spec": {"group": "example.com", "names": names, "scope": "Cluster", "versions": versions}}
    ((path, text),) = common_kinds.files([("example/gates", "2", crd), ("example/gates", "1", crd)], metadata)
    assert path == "common/example.com/gate.json"
    file = json.loads(text)
    assert {release: list(versions) for release, versions in file["releases"].items()} == {"2": ["v1"]}
    rows = file["releases"]["2"]["v1"]
    assert [row["fields"]["first"] == row["fields"]["second"] for row in rows if row and "first" in row.get("fields", {})] == [True]
    assert rows.count(None) == 1
    assert "a port" not in text
