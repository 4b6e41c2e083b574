"""Why kustomize cannot build: where it is reported, how much it weighs, and in which words."""

import json
import shutil
from pathlib import Path

import pytest

from tests.support.manifests import write
from tests.support.processes import run_here

JOB = "apiVersion: batch/v1\nkind: Job\nmetadata: {name: train}\nspec: {backoffLimit: 2, template: {spec: {restartPolicy: Never}}}\n"
OTHER = "apiVersion: batch/v1\nkind: Job\nmetadata: {name: other}\n"
OPERATION = "- {op: replace, path: /spec/nothing/here, value: 1}\n"

REPLACEMENT = "source: {kind: ConfigMap, name: nothing, fieldPath: data.a}\ntargets: [{select: {kind: Job}, fieldPaths: [spec.a.b]}]\n"

pytestmark = pytest.mark.skipif(not (shutil.which("kustomize") or shutil.which("kubectl")), reason="no kustomize or kubectl")


def _found(folder: Path) -> list[tuple[str, str, str]]:
    """Place, severity and message of each kustomization that cannot be built."""
    files = json.loads(run_here("lint", ".", "-o", "json", cwd=folder).stdout)["files"]
    found = [one for file in files for one in file["diagnostics"] if one["rule"] == "broken-kustomization"]
    said = [
        (f"{one['file']}:{one['line']}", one["severity"], one["message"].removeprefix("kustomize cannot build this: ")) for one in found
    ]
    assert not any(str(folder) in message or "/tmp" in message or "config.kubernetes.io" in message for _, _, message in said)
    return said


@pytest.mark.parametrize(
    ("kustomization", "line", "severity", "words"),
    [
        ("patches:\n  - target: {kind: Job}\n    patch: |-\n      " + OPERATION, 5, "error", "doc is missing path: /spec/nothing/here"),
        ("patches:\n  - target: {kind: Job}\n    path: operation.yaml\n", 4, "error", "doc is missing path: /spec/nothing/here"),
        ("patches:\n  - path: other.yaml\n", 3, "error", "Job `other`"),
        ("patchesStrategicMerge:\n  - other.yaml\n", 3, "error", "Job `other`"),
        ("replicas:\n  - name: nothing\n    count: 2\n", 3, "error", "resource with name nothing"),
        ("configMapGenerator:\n  - name: a\n    behavior: merge\n    literals: [a=b]\n", 3, "error", "ConfigMap `a` does not exist"),
        ("commonLabels: {a: 2}\n", 2, "error", "cannot unmarshal number"),
        ("resources: [job.yaml, again.yaml]\nnamePrefix: a-\n", 2, "error", "`again.yaml`: may not add resource"),
        ("replacements:\n  - path: replacement.yaml\n", 3, "error", "nothing selected by ConfigMap `nothing`"),
        (
            "configMapGenerator:\n  - name: a\n    literals: [A=b]\nreplacements:\n  - source:\n"
            "      kind: ConfigMap\n      fieldPath: data.IMAGE_URL\n    targets: [{select: {kind: Job}, fieldPaths: [spec.a]}]\n",
            *(8, "error", "fieldPath `data.IMAGE_URL` is missing for replacement source ConfigMap"),
        ),
        (
            "replacements:\n  - source: {kind: Job, fieldPath: metadata.name}\n    targets:\n"
            "      - {select: {kind: Job}, fieldPaths: [metadata.labels.JOB_NAME]}\n",
            *(5, "error", 'unable to find field "metadata.labels.JOB_NAME" in replacement target'),
        ),
        (
            "replacements:\n  - source: {kind: Job, fieldPath: metadata.name}\n    targets:\n"
            "      - {select: {kind: Job}, fieldPaths: [spec.backoffLimit]}\n",
            *(2, "error", "cannot decode !!str `train` as a !!int"),
        ),
        ("components:\n  - ../component.yaml\n", 3, "error", "`component.yaml`: file is not directory"),
        ("patchs: []\n", 2, "warning", "unknown field `patchs`"),
        ("resources: [job.yaml, ../around.yaml]\n", 2, "warning", "`../around.yaml`: the file is not in or below the folder"),
        (
            "configMapGenerator:\n  - name: a\n    files:\n      - job.yaml\n      - code=../around.yaml\n      - again.yaml\n",
            *(6, "warning", "`code=../around.yaml`: the file is not in or below the folder"),
        ),
        (
            "secretGenerator:\n  - name: a\n    envs:\n      - ../around.yaml\n",
            *(5, "warning", "`../around.yaml`: the file is not in or below the folder"),
        ),
    ],
)
def test_a_build_that_fails_is_reported_at_the_entry_that_is_its_cause(
    kustomization: str, line: int, severity: str, words: str, tmp_path: Path
) -> None:
    head = "# All jobs.\n" + ("resources: [job.yaml]\n" if "resources" not in kustomization else "")
    files = {"app/job.yaml": JOB, "app/again.yaml": JOB, "app/operation.yaml": OPERATION, "app/other.yaml": OTHER, "around.yaml": JOB}
    files |= {"app/replacement.yaml": REPLACEMENT, "component.yaml": "kind: Component\n"}
    write(tmp_path, {".git/HEAD": "", **files, "app/kustomization.yaml": head + kustomization})
    at = line + 1 if "resources: [job.yaml]\n" in head else line
    ((place, how, message),) = _found(tmp_path)
    assert (place, how) == (f"app/kustomization.yaml:{at}", severity)
    assert words in message


@pytest.mark.parametrize(
    ("kustomization", "line", "words"),
    [
        ("configMapGenerator:\n- name: a\n  literals: [a=b]\nsecretGenerator:\n- name: b\n  literals: [1]\n", 7, "cannot unmarshal number"),
        ("configMapGenerator:\n- name: a\n- name:\n  - b\n", 4, "cannot unmarshal array"),
        ("labels:\n- pairs:\n    a: b\n    c: true\n", 5, "cannot unmarshal bool"),
        ("images:\n- name: a\n- name: b\n  tag: a\n", 5, 'unknown field "tag"'),
        ("replicas:\n- name: a\n  count: b\n", 4, "cannot unmarshal string"),
        ("components:\n-\n", 3, "an entry is empty"),
        ("configMapGenerator:\n- {name: b, literals: [A=b]}\n- name: a\n  literals: [A=b, A=c]\n", 4, "illegally repeats the key `A`"),
    ],
)
def test_a_kustomization_that_kustomize_cannot_decode_is_reported_at_the_value(
    kustomization: str, line: int, words: str, tmp_path: Path
) -> None:
    write(tmp_path, {".git/HEAD": "", "job.yaml": JOB, "kustomization.yaml": f"resources: [job.yaml]\n{kustomization}"})
    ((place, _, message),) = _found(tmp_path)
    assert place == f"kustomization.yaml:{line}"
    assert words in message


@pytest.mark.parametrize("top", ["", "app/"])
def test_a_kustomization_that_lists_itself_is_a_cycle(top: str, tmp_path: Path) -> None:
    """Also in the folder of the repository."""
    write(tmp_path, {".git/HEAD": "", f"{top}job.yaml": JOB, f"{top}kustomization.yaml": "resources:\n- job.yaml\n- .\n"})
    ((place, how, message),) = _found(tmp_path)
    assert (place, how) == (f"{top}kustomization.yaml:3", "error")
    assert "cycle detected" in message


def test_a_component_that_cannot_be_built_is_told_in_words(tmp_path: Path) -> None:
    component = "kind: Component\nconfigMapGenerator:\n- {name: nothing, behavior: merge, literals: [a=b]}\n"
    root = "resources: [job.yaml]\ncomponents: [component]\n"
    write(tmp_path, {".git/HEAD": "", "job.yaml": JOB, "kustomization.yaml": root, "component/kustomization.yaml": component})
    ((place, _, message),) = _found(tmp_path)
    assert (place, message) == (
        "component/kustomization.yaml:3",
        "merging from generator: ConfigMap `nothing` does not exist; cannot merge or replace",
    )


@pytest.mark.parametrize(
    ("configuration", "line", "severity", "words"),
    [
        ("apiVersion: v1\nvarReference: []\n", 1, "warning", 'unknown field "apiVersion"'),
        ("images:\n- paths: spec/image\n", 2, "warning", 'unknown field "paths"'),
        ("images:\n  path: spec/image\n", 1, "error", "cannot unmarshal object"),
        ("images: []\nvarReference: {\n", 3, "error", "did not find expected node content"),
        ("images: []\nvarReference:\n- path: spec/*\n  kind: Job\n", 3, "error", "wildcard is not supported"),
        ("images: []\nvarReference:\n- {path: a, kind: B}\n- {path: a, kind: B, create: true}\n", 2, "error", "conflicting fieldspecs"),
    ],
)
def test_a_build_that_fails_for_a_configuration_is_reported_there(
    configuration: str, line: int, severity: str, words: str, tmp_path: Path
) -> None:
    variables = "vars: [{name: A, objref: {apiVersion: batch/v1, kind: Job, name: train}}]\n"
    text = f"apiVersion: kustomize.config.k8s.io/v1beta1\nresources: [job.yaml]\nconfigurations: [names.yaml]\n{variables}"
    write(tmp_path, {".git/HEAD": "", "job.yaml": JOB, "kustomization.yaml": text, "names.yaml": configuration})
    ((place, how, message),) = _found(tmp_path)
    assert (place, how) == (f"names.yaml:{line}", severity)
    assert words in message


def test_a_variable_that_has_no_value_is_reported_in_the_base_that_has_it(tmp_path: Path) -> None:
    objref = "objref: {apiVersion: batch/v1, kind: Job, name: train}"
    variables = f"vars:\n- name: team\n  {objref}\n  fieldref: {{fieldpath: metadata.namespace}}\n"
    base = {"base/job.yaml": JOB, "base/kustomization.yaml": f"resources: [job.yaml]\n{variables}"}
    write(tmp_path, {".git/HEAD": "", **base, "prod/kustomization.yaml": "resources: [../base]\nnamePrefix: a-\n"})
    ((place, how, message),) = _found(tmp_path)
    assert (place, how) == ("base/kustomization.yaml:3", "error")
    assert "field specified in var" in message


def test_a_base_that_cannot_be_built_is_reported_once_for_all_its_builds(tmp_path: Path) -> None:
    files = {
        "base/job.yaml": JOB,
        "base/kustomization.yaml": "resources: [job.yaml]\npatches:\n  - path: patch.yaml\n",
        "base/patch.yaml": OTHER,
        "dev/kustomization.yaml": "resources: [../base]\nnamePrefix: dev-\n",
        "prod/kustomization.yaml": "resources: [../base]\nnamePrefix: prod-\n",
    }
    write(tmp_path, {".git/HEAD": "", **files})
    assert [each[:2] for each in _found(tmp_path)] == [("base/kustomization.yaml:3", "error")]


@pytest.mark.parametrize(("listed", "severity"), [("settings.yaml", "warning"), ("settings", "error")])
def test_what_a_base_lists_and_is_not_there_is_reported_once_for_all_its_builds(listed: str, severity: str, tmp_path: Path) -> None:
    files = {"base/job.yaml": JOB, "base/settings/settings.json": "{}", "base/kustomization.yaml": f"resources: [job.yaml, {listed}]\n"}
    overlays = {f"{name}/kustomization.yaml": f"resources: [../base]\nnamePrefix: {name}-\n" for name in ("dev", "prod")}
    write(tmp_path, {".git/HEAD": "", **files, **overlays})
    lines = run_here("lint", ".", "-o", "concise", "--select", "broken-kustomization", cwd=tmp_path).stdout.splitlines()
    assert [each.split(" ")[:2] for each in lines[:-1]] == [["base/kustomization.yaml:1:23:", f"{severity}:"]]
    assert "3 unbuilt kustomizations: its build fails" in lines[-1]
    assert len(_found(tmp_path)) == 1
