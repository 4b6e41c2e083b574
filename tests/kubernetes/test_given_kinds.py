"""`--crd` and `--schema-location`: the kinds that users bring along."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from jobspec.apis.releases import choose
from jobspec.cli import main
from jobspec.documents.reader import read
from jobspec.go import regex
from jobspec.kubernetes.cel import evaluation
from jobspec.kubernetes.custom_kinds import CustomKinds
from jobspec.kubernetes.verdict import verdict
from tests.support.reference import ROOT

_CRD = str(ROOT / "tests" / "cases" / "crds" / "lists-and-defaults.yaml")
_THING = "apiVersion: things.example.com/v1\nkind: Thing\nmetadata: {name: a}\nspec: {size: %s}\n"
_SCHEMA = {
    "type": "object",
    "properties": {
        "spec": {"type": "object", "additionalProperties": False, "properties": {"size": {"$ref": "parts.json#/definitions/size"}}}
    },
}


def _report(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, object]:
    main(["validate", *arguments, "-o", "json"])
    report: dict[str, object] = json.loads(capsys.readouterr().out)
    return report


def _statuses(report: dict[str, object]) -> list[str]:
    return [row["status"] for file in report["files"] for row in file["documents"]]  # type: ignore[attr-defined]


def test_objects_are_judged_by_a_given_crd(capsys: pytest.CaptureFixture[str]) -> None:
    assert _statuses(_report(capsys, _CRD, "--crd", _CRD)) == ["valid", "valid", "valid", "invalid", "invalid", "invalid"]


def test_a_given_crd_goes_before_our_own_schema(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    names = {"kind": "PyTorchJob", "plural": "pytorchjobs"}
    version = {
        "name": "v1",
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": {"type": "string"}}}},
    }
    spec = {"group": "kubeflow.org", "names": names, "scope": "Namespaced", "versions": [version]}
    crd = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "pytorchjobs.kubeflow.org"},
        "spec": spec,
    }
    (tmp_path / "crd.json").write_text(json.dumps(crd))
    job = tmp_path / "job.yaml"
    job.write_text("apiVersion: kubeflow.org/v1\nkind: PyTorchJob\nmetadata: {name: a}\nspec: text\n")
    assert _statuses(_report(capsys, str(job), "--crd", str(tmp_path / "crd.json"), "--no-admission")) == ["valid"]


def test_a_broken_crd_is_reported_in_its_place(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    broken = tmp_path / "crd.yaml"
    broken.write_text(Path(_CRD).read_text().replace("scope: Namespaced", "scope: namespaced"))
    assert main(["validate", _CRD, "--crd", str(broken)]) == 1
    assert f"{broken}:7:10: error: `scope` must be one of Cluster, Namespaced" in capsys.readouterr().out


def test_crds_of_a_folder_are_read_when_an_object_is_of_their_kind(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    crd = Path(_CRD).read_text().partition("\n---\n")[0]
    (tmp_path / "lists.yaml").write_text(crd)
    (tmp_path / "others.yaml").write_text(
        crd.replace("Listing", "Other").replace("lists", "others").replace("scope: Namespaced", "scope: namespaced")
    )
    (tmp_path / "notes.yaml").write_text("kind: Notes\n")
    thing = "apiVersion: odd.example.com/v1\nkind: %s\nmetadata: {name: a}\nspec: {set: [a, a]}\n"
    (tmp_path / "a.txt").write_text(thing % "Listing")
    assert _statuses(_report(capsys, str(tmp_path / "a.txt"), "--crd", str(tmp_path))) == ["invalid"]
    (tmp_path / "a.txt").write_text(thing % "Other")
    assert main(["validate", str(tmp_path / "a.txt"), "--crd", str(tmp_path)]) == 1
    assert f"{tmp_path}/others.yaml:7:10: error: `scope` " in capsys.readouterr().out


def test_an_unknown_field_names_the_file_of_the_crd(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    crd = Path(_CRD).read_text().partition("\n---\n")[0]
    thing = "apiVersion: odd.example.com/v1\nkind: Listing\nmetadata: {name: a}\nspec: {replica: 1, other: 1}\n"
    (tmp_path / "crd.yaml").write_text(crd)
    (tmp_path / "thing.yaml").write_text(thing)
    (tmp_path / "both.yaml").write_text(f"{crd}\n---\n{thing}")

    def hints(*arguments: str) -> list[str]:
        report = _report(capsys, *arguments)
        return [each["hint"] for file in report["files"] for each in file["diagnostics"]]  # type: ignore[attr-defined]

    whose = f"by the CRD in {tmp_path}/crd.yaml"
    assert hints(str(tmp_path / "thing.yaml"), "--crd", str(tmp_path / "crd.yaml")) == [f"did you mean `replicas`?; {whose}", whose]
    assert hints(str(tmp_path / "both.yaml")) == ["did you mean `replicas`?", ""]


def test_crds_in_a_list_are_read_as_others_are(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    crd = Path(_CRD).read_text().partition("\n---\n")[0]
    lines = [line for line in crd.splitlines() if not line.startswith("#")]
    listed = "apiVersion: v1\nkind: List\nitems:\n- " + "\n  ".join(lines)
    (tmp_path / "crds.yaml").write_text(listed)
    wrong = tmp_path / "a.yaml"
    wrong.write_text("apiVersion: odd.example.com/v1\nkind: Listing\nmetadata: {name: a}\nspec: {set: [a, a]}\n")
    assert _statuses(_report(capsys, str(wrong), "--crd", str(tmp_path / "crds.yaml"))) == ["invalid"]
    assert _statuses(_report(capsys, str(wrong), "--crd", str(tmp_path))) == ["invalid"]
    assert _statuses(_report(capsys, str(tmp_path))) == ["invalid", "valid"]


def test_a_crd_that_is_twice_in_a_folder_is_reported_when_it_is_used(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("one", "two"):
        (tmp_path / f"{name}.yaml").write_text(Path(_CRD).read_text().partition("\n---\n")[0])
    assert main(["validate", _CRD, "--crd", str(tmp_path)]) == 2
    assert f"is given twice, in {tmp_path}/one.yaml and in {tmp_path}/two.yaml" in capsys.readouterr().err


def test_a_file_without_a_crd_is_no_crd(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["validate", _CRD, "--crd", str(ROOT / "tests" / "cases" / "validate" / "claim.yaml")]) == 2
    assert "no CustomResourceDefinition" in capsys.readouterr().err


@pytest.mark.parametrize(
    "layout",
    [
        "{}/{{{{.ResourceKind}}}}-{{{{.Group}}}}-{{{{.ResourceAPIVersion}}}}.json",
        "file://{}/{{{{ .ResourceKind }}}}{{{{ .KindSuffix }}}}.json",
    ],
)
def test_kinds_with_a_json_schema_count_as_partly(layout: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("thing-things.example.com-v1", "thing-things-v1"):
        (tmp_path / f"{name}.json").write_text(json.dumps(_SCHEMA))
    (tmp_path / "parts.json").write_text(json.dumps({"definitions": {"size": {"type": "integer"}}}))
    file = tmp_path / "thing.yaml"
    file.write_text("---\n".join(_THING % size for size in ("1", "a", "null", "1, more: 1")))
    report = _report(capsys, str(file), "--schema-location", layout.format(tmp_path))
    found = [(each["rule"], each["field"]) for each in report["files"][0]["diagnostics"]]  # type: ignore[index]
    assert _statuses(report) == ["partly", "invalid", "partly", "invalid"]
    assert found == [("wrong-type", "spec.size"), ("unknown-field", "spec.more")]


def test_a_json_schema_is_asked_about_built_in_kinds_that_are_checked_partly(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("configmap-v1", "ingress-networking-v1"):
        (tmp_path / f"{name}.json").write_text('{"required": ["none"]}')
    config = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n"
    ingress = "apiVersion: networking.k8s.io/v1\nkind: Ingress\nmetadata: {name: a}\n"
    file = tmp_path / "objects.yaml"
    file.write_text(f"{config}---\n{ingress}")
    layout = f"{tmp_path}/{{{{ .ResourceKind }}}}{{{{ .KindSuffix }}}}.json"
    assert _statuses(_report(capsys, str(file), "--schema-location", layout)) == ["valid", "invalid"]


@pytest.mark.parametrize("location", ["default", "https://example.com/{{.ResourceKind}}.json"])
def test_nothing_is_fetched(location: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["validate", _CRD, "--schema-location", location]) == 2
    assert "jobspec downloads nothing" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("schema", "complaint"),
    [
        ("{", "cannot be read as JSON"),
        ("1.5", "no JSON Schema"),
        ('{"$schema": {"a": 1}}', "no JSON Schema"),
        ('{"type": 5}', "not a JSON Schema: 5 is not valid"),
        ('{"$ref": "#"}', "refers to itself without an end"),
        ('{"$ref": "#/definitions/none"}', "it refers to #/definitions/none, which is not there"),
        ('{"$ref": "none.json"}', "none.json: cannot be read as JSON: [Errno 2] No such file"),
        (
            '{"$ref": "https://example.com/a.json"}',
            "it refers to https://example.com/a.json, which is not a local file: jobspec downloads nothing",
        ),
    ],
)
def test_a_broken_json_schema_is_reported_by_its_file(
    schema: str, complaint: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "thing.json").write_text(schema)
    (tmp_path / "thing.yaml").write_text(_THING % 1)
    assert main(["validate", str(tmp_path / "thing.yaml"), "--schema-location", f"{tmp_path}/{{{{.ResourceKind}}}}.json"]) == 2
    said = capsys.readouterr().err
    assert f"{tmp_path}/thing.json: " in said
    assert complaint in said


def test_the_server_drops_the_namespace_of_a_kind_that_has_none(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = "apiVersion: odd.example.com/v1\nkind: Listing\nmetadata: {name: a, namespace: Not_One}\nspec: {}\n"
    (tmp_path / "thing.yaml").write_text(text)
    crd = Path(_CRD).read_text().partition("\n---\n")[0]
    for scope, status in (("Namespaced", "invalid"), ("Cluster", "valid")):
        (tmp_path / "crd.yaml").write_text(crd.replace("scope: Namespaced", f"scope: {scope}"))
        assert _statuses(_report(capsys, str(tmp_path / "thing.yaml"), "--crd", str(tmp_path / "crd.yaml"))) == [status]


_WITHOUT_CEL = "import sys; sys.modules['cel_expr_python'] = None; from jobspec.cli import main; sys.exit(main(sys.argv[1:]))"


def _run_without_cel(*arguments: str) -> tuple[int, list[tuple[str, str, str]]]:
    """The exit code, and severity, rule and field of each diagnostic, where the CEL library is not installed."""
    command = [sys.executable, "-c", _WITHOUT_CEL, "validate", *arguments, "-o", "json"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    report = json.loads(done.stdout)
    return done.returncode, [(each["severity"], each["rule"], each["field"]) for file in report["files"] for each in file["diagnostics"]]


def test_rules_and_patterns_of_a_crd_are_warnings_without_the_cel_library(tmp_path: Path) -> None:
    fields = {"name": {"type": "string", "pattern": "^[a-z]+$", "x-kubernetes-validations": [{"rule": "self != 'a'"}]}}
    schema = {"type": "object", "properties": {**fields, "size": {"type": "integer", "x-kubernetes-validations": [{"rule": "self > 1"}]}}}
    names = {"kind": "Thing", "plural": "things"}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    spec = {"group": "things.example.com", "names": names, "scope": "Namespaced", "versions": [version]}
    crd, thing = tmp_path / "crd.json", tmp_path / "thing.yaml"
    head = {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition"}
    crd.write_text(json.dumps({**head, "metadata": {"name": "things.things.example.com"}, "spec": spec}))
    thing.write_text("apiVersion: things.example.com/v1\nkind: Thing\nmetadata: {name: a}\nsize: 1\n")
    at = "spec.versions[0].schema.openAPIV3Schema.properties[name]"
    not_checked = [("warning", "rule-not-evaluated", f"{at}.{keyword}") for keyword in ("pattern", "x-kubernetes-validations")]
    assert _run_without_cel(str(crd)) == (0, not_checked)
    assert _run_without_cel(str(thing), "--crd", str(crd)) == (0, [("warning", "rule-not-evaluated", "size")])


_PATTERNS = """\
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: lists.odd.example.com}
spec:
  group: odd.example.com
  names: {kind: List, plural: lists}
  scope: Namespaced
  versions:
    - name: v1
      served: true
      storage: true
      schema:
        openAPIV3Schema:
          type: object
          properties:
            plain: {type: string, pattern: '^a[b-d]+$'}
            scripts: {type: string, pattern: '^\\p{Greek}+$'}
            either: {type: string, anyOf: [{pattern: '\\pL'}, {maxLength: 1}]}
            ruled: {type: string, x-kubernetes-validations: [{rule: self.startsWith('a')}]}
            known: {type: string, x-kubernetes-validations: [{rule: self == oldSelf}]}
"""


@pytest.mark.parametrize(
    ("fields", "reported"),
    [
        ("plain: abc", []),
        ('plain: "abc\\n"', ["wrong-format"]),
        ("scripts: a", ["rule-not-evaluated"]),
        ("either: a", ["rule-not-evaluated"]),
        ("ruled: b", ["rule-not-evaluated"]),
        ("known: a", []),
    ],
)
def test_without_the_cel_library_nothing_is_silently_right(fields: str, reported: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.startswith(("cel_expr_python", "jobspec.kubernetes.cel.library"))]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "cel_expr_python", None)
    evaluation._compiled.cache_clear()
    regex._compiled.cache_clear()
    (crd,), _ = read(_PATTERNS, file="crd.yaml")
    (thing,), _ = read(f"apiVersion: odd.example.com/v1\nkind: List\nmetadata: {{name: a}}\n{fields}\n", file="a.yaml")
    found = verdict(thing, choose([]), custom_kinds=CustomKinds([crd]))
    evaluation._compiled.cache_clear()
    assert [each.rule for each in found.diagnostics] == reported
    assert found.status == ("invalid" if "wrong-format" in reported else "valid")
