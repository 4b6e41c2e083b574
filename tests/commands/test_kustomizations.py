"""What kustomize makes of a kustomization and its patches, jobspec says: both read the same."""

import itertools
import json
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from jobspec.documents.kustomization_fields import FIELDS
from jobspec.documents.reader import read
from tests.support.manifests import CONFIG, write
from tests.support.processes import run_here

pytestmark = pytest.mark.skipif(not shutil.which("kustomize"), reason="kustomize is not installed")


_OF_JOB = "apiVersion: kubeflow.org/v1\nkind: PyTorchJob\nmetadata: {name: train}\n"
_JOB = f"{_OF_JOB}spec:\n  runPolicy: {{backoffLimit: 1}}\n  pytorchReplicaSpecs: {{}}\n"
_OF_WEB = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\n"
_WEB = f"{_OF_WEB}spec: {{template: {{spec: {{containers: [{{name: web, image: 'a:1'}}]}}}}}}\n"
_AS = dict.fromkeys(("NamePrefix", "nameprefix"), " (read as `namePrefix`)")


def _built(folder: Path) -> tuple[list[Any], str]:
    """Return the objects that kustomize builds of a folder, and what it says if it fails."""
    done = subprocess.run(["kustomize", "build", folder], capture_output=True, text=True, check=False)
    return list(yaml.safe_load_all(done.stdout)), done.stderr if done.returncode else ""


def _found(folder: Path, *words: str) -> list[dict[str, Any]]:
    """Return the warnings and errors of lint."""
    files = json.loads(run_here("lint", *words, "-o", "json", cwd=folder).stdout)["files"]
    return [one for each in files for one in each["diagnostics"] if one["severity"] != "info"]


def _paths(fields: Mapping[str, Any]) -> Iterator[tuple[str, ...]]:
    for name, inside in fields.items():
        yield from ((name, *rest) for rest in _paths(inside)) if inside else [(name,)]


@pytest.mark.slow
def test_kustomize_has_each_field_that_we_know_and_takes_it_in_any_case(tmp_path: Path) -> None:
    """kustomize says which field it does not know, and where it wants a list or a mapping."""
    refused = []
    for path in _paths(FIELDS):
        for lists in itertools.product([False, True], repeat=len(path) - 1):
            value: Any = None
            for name, is_list in zip(reversed(path), (False, *reversed(lists)), strict=True):
                value = {name.upper(): [value] if is_list else value}
            write(tmp_path, {"kustomization.yaml": json.dumps(value)})
            if not re.search("unknown field|cannot unmarshal", _built(tmp_path)[1]):
                break
        else:
            refused.append(path)
    assert refused == []


@pytest.mark.parametrize(
    ("text", "name", "dropped"),
    [
        ("Resources: [old.yaml]\nnamePrefix: my-\n", "my-old", []),
        ("resources: [old.yaml]\nNameprefix: my-\n", "my-old", []),
        ("Kind: Kustomization\nRESOURCES: [old.yaml]\nConfigMapGenerator:\n- {Name: old, BEHAVIOR: merge, Literals: [a=b]}\n", "old", []),
        ("resources: [new.yaml]\nResources: [old.yaml]\n", "new", [(1, "resources", 2)]),
        ("Resources: [old.yaml]\nresources: [new.yaml]\n", "new", [(2, "resources", 1)]),
        ("resources: [old.yaml]\nNamePrefix: b-\nnamePrefix:\n", "b-old", []),
        ("resources: [old.yaml]\nNAMEPREFIX: a-\nnameprefix: b-\nNamePrefix: c-\n", "b-old", [(4, "NamePrefix", 2), (3, "nameprefix", 4)]),
        ("Bases: [old.yaml]\nbases:\nresources: [new.yaml]\n", "new", [(2, "bases", 1)]),
        ("---\nresources: [old.yaml]\nnamePrefix: a-\nnamePrefix: b-\n", "b-old", [(4, "namePrefix", 3)]),
        ("# one\n---\nresources: [old.yaml]\nnamePrefix: a-\nnamePrefix: b-\n", "b-old", [(5, "namePrefix", 4)]),
        ("namePrefix: b-\nkind: Kustomization\nkind: Kustomization\nresources: [old.yaml]\n", "b-old", [(3, "kind", 2)]),
    ],
)
def test_fields_count_in_any_case_and_the_last_of_equal_ones(text: str, name: str, dropped: list[Any], tmp_path: Path) -> None:
    """kustomize decodes them as Go's encoding/json does, upper case first."""
    write(tmp_path, {f"{name}.yaml": CONFIG.replace("settings", name) for name in ("old", "new")})
    write(tmp_path, {"kustomization.yaml": text})
    objects, _ = _built(tmp_path)
    assert [each["metadata"]["name"].startswith(name) for each in objects] == [True]
    expected = [
        (line, f"kustomize takes this `{field}`{_AS.get(field, '')}, and drops the one in line {other}") for line, field, other in dropped
    ]
    for words in ([".", "--no-cache"], [".", "--no-build"], ["kustomization.yaml"]):
        assert sorted((each["line"], each["message"]) for each in _found(tmp_path, *words)) == sorted(expected)
    rows = json.loads(run_here("lint", ".", "-o", "json", cwd=tmp_path).stdout)["files"]
    assert [one["reason"] for each in rows for one in each["documents"] if each["path"] == "kustomization.yaml"] == ["kustomization"]


@pytest.mark.parametrize("folder", ["", "sub/"])
def test_a_text_is_no_kustomization_by_what_it_says_alone(folder: str) -> None:
    """A file of another name, a later document, and an object of another API are manifests."""
    twice = "Resources: []\nResources: []\n"

    def said(text: str, file: str) -> list[str]:
        return [each.severity for each in read(text, file=f"{folder}{file}")[1]]

    assert said(twice, "kustomization.yml") == ["warning"]
    assert said(twice, "base.yaml") == ["error"]
    assert said(f"a: 1\n---\n{twice}", "kustomization.yaml") == ["error"]
    assert said(f"apiVersion: v1\n{twice}", "kustomization.yaml") == ["error"]
    assert said(f"kind: PyTorchJob\n{twice}", "kustomization.yaml") == ["error"]
    assert [each.data for each in read("Resources: []\n", file="base.yaml")[0]] == [{"Resources": []}]
    assert [each.data for each in read("Resources: []\n", file="kustomization.yaml")[0]] == [{"resources": []}]


@pytest.mark.parametrize(
    ("text", "is_empty"),
    [
        ("", True),
        ("# nothing yet\n", True),
        ("resources:\n", True),
        ("bases: []\n", True),
        ("namespace: ''\n", True),
        ("apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources:\n# - job.yaml\n", True),
        ("resources: []\n", False),
        ("resources:\nnamespace: a\n", False),
        ("generatorOptions: {}\n", False),
    ],
)
@pytest.mark.parametrize("has_overlay", [False, True])
def test_an_empty_kustomization_is_refused(text: str, is_empty: bool, has_overlay: bool, tmp_path: Path) -> None:
    """kustomize takes a list without entries, but not a field without a value."""
    overlay = {"overlay/kustomization.yaml": "resources: [../base]\n"} if has_overlay else {}
    write(tmp_path, {".git/HEAD": "", "base/kustomization.yaml": text, "base/config.yaml": CONFIG, **overlay})
    assert ("kustomization.yaml is empty" in _built(tmp_path / "base")[1]) == is_empty
    said = [(each["file"], each["line"], each["severity"], each["message"]) for each in _found(tmp_path, ".")]
    expected = ("base/kustomization.yaml", 1, "error", "kustomize cannot build this: kustomization.yaml is empty")
    assert said == [expected] * is_empty


def test_an_empty_kustomization_that_something_fills_in_is_no_error(tmp_path: Path) -> None:
    """A script copies the folder, and adds resources to it."""
    write(tmp_path, {".git/HEAD": "", "templates/cluster/kustomization.yaml": "resources:\n"})
    assert _found(tmp_path, ".") == []


_DROPS = "kustomize takes the `{key}` in line {first}, and drops this one"
_TAKES = "kustomize takes this `{key}`, and drops the one in line {first}"
_REFUSES = "kustomize cannot build this: duplicate key `{key}`"


@pytest.mark.parametrize(
    ("patch", "key", "line", "first", "says", "value"),
    [
        (f"{_OF_JOB}spec:\n  runPolicy:\n    backoffLimit: 2\n    backoffLimit: 3\n", "backoffLimit", 7, 6, _DROPS, 2),
        (f"{_OF_JOB}spec:\n  runPolicy: {{backoffLimit: 2}}\n  runPolicy: {{backoffLimit: 3}}\n", "runPolicy", 6, 5, _DROPS, 2),
        (f"{_OF_JOB}spec: {{runPolicy: {{backoffLimit: 2}}}}\nspec: {{nprocPerNode: auto}}\n", "spec", 5, 4, _DROPS, 2),
        (f"{_OF_JOB}spec:\n  nprocPerNode: auto\n  nprocPerNode: '2'\n", "nprocPerNode", 6, 5, _DROPS, 1),
        (f"{_OF_JOB}spec:\n  elasticPolicy:\n    maxReplicas: 2\n    maxReplicas: 3\n", "maxReplicas", 7, 6, _REFUSES, None),
        (f"{_OF_JOB}spec:\n  runPolicy:\n    $patch: replace\n    a: 2\n    a: 3\n", "a", 8, 7, _REFUSES, None),
        (f"{_OF_WEB}spec: {{template: {{spec: {{containers: [{{name: web, image: b, image: c}}]}}}}}}\n", "image", 4, 4, _DROPS, 1),
        (f"{_OF_WEB}spec: {{template: {{spec: {{containers: [{{name: new, image: b, image: c}}]}}}}}}\n", "image", 4, 4, _REFUSES, None),
        ("- op: replace\n  path: /spec/runPolicy/backoffLimit\n  value: 2\n  value: 3\n", "value", 4, 3, _TAKES, 3),
        ("- op: replace\n  path: /spec/runPolicy\n  value:\n    backoffLimit: 2\n    backoffLimit: 3\n", "backoffLimit", 5, 4, _TAKES, 3),
    ],
)
@pytest.mark.parametrize("form", ["file", "text", "file in folder", "text in folder", "old file", "old text"])
def test_a_key_that_a_patch_sets_twice_is_told_with_what_kustomize_makes_of_it(
    patch: str, key: str, line: int, first: int, says: str, value: int | None, form: str, tmp_path: Path
) -> None:
    """It is told once, also if several kustomizations have the patch."""
    is_json, shift, file, folder = patch.startswith("- op"), 0, "base/patch.yaml", "base"
    if "text" in form:
        shift, file = (3 if form == "old text" and not is_json else 4), "base/kustomization.yaml"
    text = "|\n" + "".join(f"    {each}\n" for each in patch.splitlines())
    target = "{kind: PyTorchJob, name: train, group: kubeflow.org, version: v1}" if is_json else ""
    field = ("patchesJson6902" if is_json else "patchesStrategicMerge") if form.startswith("old") else "patches"
    if field == "patchesStrategicMerge":
        entry = f"- {text}" if "text" in form else "- patch.yaml\n"
    else:
        entry = (f"- target: {target}\n" if target else "- options: {}\n") + (
            f"  patch: {text}" if "text" in form else "  path: patch.yaml\n"
        )
    files = {"base/job.yaml": _JOB, "base/web.yaml": _WEB, "base/kustomization.yaml": f"resources: [job.yaml, web.yaml]\n{field}:\n{entry}"}
    if "text" not in form:
        files["base/patch.yaml"] = patch
    if form.endswith("folder"):
        files |= {f"{name}/kustomization.yaml": "resources: [../base]\nnamespace: a\n" for name in ("dev", "prod")}
        folder = "dev"
    write(tmp_path, {".git/HEAD": "", **files})
    objects, failure = _built(tmp_path / folder)
    limits = [each["spec"]["runPolicy"]["backoffLimit"] for each in objects if each["kind"] == "PyTorchJob"]
    assert limits == ([] if value is None else [value])
    assert ("already defined" in failure) == (value is None)
    message = says.format(key=key, first=first + shift)
    found = [each for each in _found(tmp_path, ".") if each["rule"] in ("duplicate-key", "broken-kustomization")]
    assert [(each["file"], each["line"], each["message"]) for each in found] == [(file, line + shift, message)]


def test_a_value_that_a_json_patch_sets_twice_is_reported_at_the_last_one(tmp_path: Path) -> None:
    patch = '[{"op": "add", "path": "/data", "value": {"a": "b",\n"a": 1}}]'
    kustomization = "resources: [config.yaml]\npatches: [{path: patch.json, target: {kind: ConfigMap}}]\n"
    write(tmp_path, {"kustomization.yaml": kustomization, "config.yaml": CONFIG, "patch.json": patch})
    found = {(each["rule"], each["file"], each["line"]) for each in _found(tmp_path, ".")}
    assert found == {("duplicate-key", "patch.json", 2), ("wrong-type", "patch.json", 2)}


@pytest.mark.parametrize("has_overlay", [False, True])
def test_a_kustomization_that_is_a_template_is_not_checked(has_overlay: bool, tmp_path: Path) -> None:
    text = "resources:\n- config.yaml\n{{- if .Values.more }}\n- more.yaml\n{{- end }}\n"
    overlay = {"overlay/kustomization.yaml": "resources: [../base]\n"} if has_overlay else {}
    write(tmp_path, {".git/HEAD": "", "base/kustomization.yaml": text, "base/config.yaml": CONFIG, **overlay})
    assert _found(tmp_path, ".") == []
    said = json.loads(run_here("lint", ".", "-o", "json", cwd=tmp_path).stdout)["files"]
    assert [one["rule"] for each in said for one in each["diagnostics"]] == ["unjudged-template"]


@pytest.mark.parametrize("has_overlay", [False, True])
def test_a_kustomization_that_is_no_yaml_is_told_once(has_overlay: bool, tmp_path: Path) -> None:
    overlay = {"overlay/kustomization.yaml": "resources: [../base]\n"} if has_overlay else {}
    write(tmp_path, {".git/HEAD": "", "base/kustomization.yaml": "resources: [config.yaml\n", "base/config.yaml": CONFIG, **overlay})
    assert [(each["rule"], each["file"]) for each in _found(tmp_path, ".")] == [("yaml-syntax", "base/kustomization.yaml")]


@pytest.mark.parametrize(
    ("affix", "message"),
    [
        ("nameSuffix: -A", "`one-A` is not a valid name: "),
        ("namePrefix: A-", "`A-one` is not a valid name: "),
        ("nameSuffix: -" + "a" * 250, "254 characters, more than 253"),
    ],
)
def test_an_affix_that_makes_invalid_names_is_told_once(affix: str, message: str, tmp_path: Path) -> None:
    objects = "---\n".join(CONFIG.replace("settings", name) for name in ("one", "two", "three"))
    base = {"base/kustomization.yaml": f"resources: [objects.yaml]\n{affix}\n", "base/objects.yaml": objects}
    overlays = {f"{name}/kustomization.yaml": f"resources: [../base]\nnamespace: {name}\n" for name in ("dev", "prod")}
    write(tmp_path, {".git/HEAD": "", **base, **overlays})
    (found,) = _found(tmp_path, ".")
    assert (found["file"], found["line"], found["builds"]) == ("base/kustomization.yaml", 2, ["dev", "prod"])
    assert message in found["message"] and found["message"].endswith(" (and 2 more names)")
    rows = json.loads(run_here("lint", ".", "-o", "json", cwd=tmp_path).stdout)["files"]
    assert [one["status"] for each in rows for one in each["documents"] if one["kind"] == "ConfigMap"] == ["invalid"] * 3
