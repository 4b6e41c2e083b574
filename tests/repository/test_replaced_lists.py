"""Lists of custom resources that a merge patch of kustomize replaces as a whole."""

import json
import shutil
from pathlib import Path

import pytest

from tests.support.manifests import write
from tests.support.processes import program, run_here

JOB = """apiVersion: {version}
kind: {kind}
metadata: {{name: train}}
spec:
  trainer:
    env:
      - {{name: EPOCHS, value: "3"}}
      - {{name: SEED, value: "1"}}
  template:
    spec:
      containers:
        - {{name: a, image: "a:1", command: [python], env: [{{name: A, value: a}}]}}
"""
ENV = "spec:\n  trainer:\n    env: [{name: EPOCHS, value: '4'}]\n"
CONTAINERS = "spec:\n  template:\n    spec:\n      containers: [{name: a, image: 'a:2'}]\n"
ALL = "spec:\n  trainer:\n    env: [{name: EPOCHS, value: '4'}, {name: SEED, value: '2'}]\n"
ONE = [("patch.yaml", 6, "the patch replaces the whole list `env`: `SEED` of the base is lost")]
BOTH = f"{ENV}  template:\n    spec:\n      containers: [{{name: a, image: 'a:2'}}]\n"
OTHER = [("patch.yaml", 9, "the patch replaces the whole list `containers`: `command`, `env` of the base are lost")]
MERGING = {
    "definitions": {
        "a": {
            "x-kubernetes-group-version-kind": [{"group": "trainer.kubeflow.org", "version": "v1alpha1", "kind": "TrainJob"}],
            "properties": {
                "spec": {
                    "properties": {
                        "trainer": {
                            "properties": {
                                "env": {
                                    "type": "array",
                                    "items": {"type": "object"},
                                    "x-kubernetes-patch-merge-key": "name",
                                    "x-kubernetes-patch-strategy": "merge",
                                }
                            }
                        }
                    }
                }
            },
        }
    }
}
TWO = [("patch.yaml", 7, "the patch replaces the whole list `containers`: `command`, `env` of the base are lost")]

pytestmark = pytest.mark.skipif(not (shutil.which("kustomize") or shutil.which("kubectl")), reason="no kustomize or kubectl")


@pytest.mark.parametrize(
    ("kind", "patch", "more", "expected"),
    [
        ("trainer.kubeflow.org/v1alpha1 TrainJob", ENV, "", ONE),
        ("jobset.x-k8s.io/v1alpha2 JobSet", CONTAINERS, "", TWO),
        ("trainer.kubeflow.org/v1alpha1 TrainJob", ALL, "", []),
        ("trainer.kubeflow.org/v1alpha1 TrainJob", "spec:\n  trainer:\n    numNodes: 2\n", "", []),
        ("batch/v1 Job", CONTAINERS, "", []),
        ("trainer.kubeflow.org/v1alpha1 TrainJob", ENV, "openapi: {path: schema.json}\n", ONE),
        ("trainer.kubeflow.org/v1alpha1 TrainJob", ENV, "openapi: {path: merging.json}\n", []),
        ("trainer.kubeflow.org/v1alpha1 TrainJob", BOTH, "openapi: {path: merging.json}\n", OTHER),
    ],
)
def test_what_a_replaced_list_loses_is_reported_at_the_patch(
    kind: str, patch: str, more: str, expected: list[object], tmp_path: Path
) -> None:
    version, name = kind.split()
    head = f"apiVersion: {version}\nkind: {name}\nmetadata: {{name: train}}\n"
    files = {
        "job.yaml": JOB.format(version=version, kind=name),
        "patch.yaml": head + patch,
        "schema.json": '{"definitions": {}}',
        "merging.json": json.dumps(MERGING),
        "kustomization.yaml": f"resources: [job.yaml]\npatches: [{{path: patch.yaml}}]\n{more}",
    }
    write(tmp_path, files)
    found = json.loads(run_here("validate", ".", "-o", "json", cwd=tmp_path).stdout)["files"]
    lost = [one for file in found for one in file["diagnostics"] if one["rule"] == "list-replaced-by-patch"]
    assert [(each["file"], each["line"], each["message"]) for each in lost] == expected


POD = "template:\n    spec:\n      tolerations: [{tolerations}]\n      containers: [{{name: a, image: 'a:1', envFrom: [{sources}]}}]\n"
ATOMIC_LOST = [
    ("patch.yaml", 7, "the patch replaces the whole list `tolerations`, which has no merge key: `gpu` of the base is lost"),
    ("patch.yaml", 8, "the patch replaces the whole list `envFrom`, which has no merge key: `a`, `b` of the base are lost"),
]


@pytest.mark.parametrize(
    ("kind", "tolerations", "sources", "expected"),
    [
        ("batch/v1 Job", "{key: spot}", "{secretRef: {name: c}}", ATOMIC_LOST),
        ("jobset.x-k8s.io/v1alpha2 JobSet", "{key: spot}", "{configMapRef: {name: a}}, {secretRef: {name: b}}", ATOMIC_LOST[:1]),
        ("apps/v1 Deployment", "{key: gpu}, {key: spot}", "{secretRef: {name: b}}, {configMapRef: {name: a}}", []),
        ("apps/v1 Deployment", "{$patch: replace}, {key: spot}", "{secretRef: {name: b}}, {configMapRef: {name: a}}", []),
    ],
)
def test_lists_without_merge_keys_are_reported_of_every_workload(
    kind: str, tolerations: str, sources: str, expected: list[object], tmp_path: Path
) -> None:
    version, name = kind.split()
    head = f"apiVersion: {version}\nkind: {name}\nmetadata: {{name: train}}\nspec:\n  "
    base = head + POD.format(tolerations="{key: gpu}", sources="{configMapRef: {name: a}}, {secretRef: {name: b}}")
    patch = head + POD.format(tolerations=tolerations, sources=sources)
    write(tmp_path, {"job.yaml": base, "p.yaml": patch, "kustomization.yaml": "resources: [job.yaml]\npatches: [{path: p.yaml}]\n"})
    found = json.loads(run_here("validate", ".", "-o", "json", cwd=tmp_path).stdout)["files"]
    lost = [one for file in found for one in file["diagnostics"] if one["rule"] == "list-replaced-by-patch"]
    assert [(each["file"].replace("p.yaml", "patch.yaml"), each["line"], each["message"]) for each in lost] == expected
    assert {each["severity"] for each in lost} <= {"info"}


def test_a_list_that_merges_in_a_built_in_kind_is_not_reported(tmp_path: Path) -> None:
    head = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a}\nspec:\n  template:\n    spec:\n      containers:\n"
    base = f"{head}      - {{name: a, image: 'a:1', env: [{{name: A, value: a}}], envFrom: [{{secretRef: {{name: s}}}}]}}\n"
    patch = f"{head}      - {{name: a, env: [{{$patch: replace}}, {{name: B, value: b}}]}}\n"
    write(tmp_path, {"job.yaml": base, "p.yaml": patch, "kustomization.yaml": "resources: [job.yaml]\npatches: [{path: p.yaml}]\n"})
    assert "list-replaced-by-patch" not in run_here("validate", ".", "-o", "concise", cwd=tmp_path).stdout


def test_a_comment_in_the_patch_says_that_a_list_is_meant_to_be_replaced(tmp_path: Path) -> None:
    head = "apiVersion: batch/v1\nkind: Job\nmetadata: {name: train}\nspec:\n  template:\n    spec:\n"
    base = f"{head}      tolerations: [{{key: gpu}}]\n      restartPolicy: Never\n      containers: [{{name: a, image: 'a:1'}}]\n"
    patch = f"{head}      tolerations: [{{key: spot}}] # jobspec: ignore[list-replaced-by-patch] on purpose\n"
    write(tmp_path, {"job.yaml": base, "p.yaml": patch, "kustomization.yaml": "resources: [job.yaml]\npatches: [{path: p.yaml}]\n"})
    done = run_here("validate", ".", "-o", "concise", cwd=tmp_path)
    assert done.stdout.startswith("3 documents: 1 valid, 2 skipped (1 kustomize patch, 1 kustomization), 1 ignored"), done.stdout
    alone = run_here("lint", ".", "--no-build", "-o", "concise", cwd=tmp_path)
    assert "unused-ignore" not in alone.stdout


BASE = """apiVersion: jobset.x-k8s.io/v1alpha2
kind: JobSet
metadata: {name: train}
spec:
  replicatedJobs:
  - name: node
    template:
      spec:
        template:
          spec:
            restartPolicy: Never
            containers:
            - name: main
              image: example.com/train:v1
              env: [{name: EPOCHS, value: "3"}]
              volumeMounts: [{name: data, mountPath: /data}]
            volumes: [{name: data, emptyDir: {}}]
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: board}
spec:
  selector: {matchLabels: {app: board}}
  template:
    metadata: {labels: {app: board}}
    spec: {containers: [{name: board, image: "example.com/board:v1"}]}
"""
PATCH = """apiVersion: jobset.x-k8s.io/v1alpha2
kind: JobSet
metadata: {name: train}
spec:
  replicatedJobs:
  - name: node
    template:
      spec:
        template:
          spec:
            containers:
            - name: main
              env: [{name: SEED, value: "1"}]
              volumeMounts: [{name: data, mountPath: /more}]
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: board}
spec:
  template:
    spec: {containers: [{name: board, env: [{name: A, value: a}]}]}
"""
KEPT = ("example.com/train:v1", "EPOCHS", "SEED", "/data", "/more", "example.com/board:v1")


def _overlays(folder: Path, more: str = "") -> Path:
    kustomization = f"# ours\nresources: [../../base]\npatches:\n- path: patch.yaml\n{more}"
    write(
        folder,
        {
            ".git/HEAD": "",
            "base/jobs.yaml": BASE,
            "base/kustomization.yaml": "resources: [jobs.yaml]\n",
            **{f"overlays/{name}/patch.yaml": PATCH for name in ("dev", "prod")},
            **{f"overlays/{name}/kustomization.yaml": kustomization for name in ("dev", "prod")},
        },
    )
    return folder


def _built(folder: Path) -> str:
    command = ("kustomize", "build") if shutil.which("kustomize") else ("kubectl", "kustomize")
    return program(*command, folder, check=True).stdout


def test_what_a_fix_writes_brings_back_what_was_lost(tmp_path: Path) -> None:
    _overlays(tmp_path)
    found = json.loads(run_here("lint", ".", "-o", "json", cwd=tmp_path).stdout)["files"]
    lost = [one for file in found for one in file["diagnostics"] if one["rule"] == "list-replaced-by-patch"]
    assert [(each["file"], each["line"], each["builds"]) for each in lost] == [
        (f"overlays/{name}/patch.yaml", 5, [f"overlays/{name}"]) for name in ("dev", "prod")
    ]
    assert all("`image`, `EPOCHS`, `/data`" in each["message"] for each in lost)
    shown = run_here("lint", ".", "--diff", cwd=tmp_path)
    assert shown.returncode == 1
    assert "+  path: kustomize-schema.json" in shown.stdout
    assert not (tmp_path / "overlays" / "dev" / "kustomize-schema.json").exists()
    done = run_here("validate", ".", "--fix", cwd=tmp_path)
    assert "list-replaced-by-patch" not in done.stdout
    assert "overlays/dev/kustomization.yaml: 1 problem fixed by overlays/dev/kustomize-schema.json\n" in done.stderr
    for name in ("dev", "prod"):
        assert (tmp_path / "overlays" / name / "kustomization.yaml").read_text().startswith("# ours\nresources: [../../base]\n")
        built = _built(tmp_path / "overlays" / name)
        assert [each for each in KEPT if each not in built] == []


#: Schemas of a user's own: of no kind, of a kind without merge keys, by a reference, and in YAML.
OWN_SCHEMAS = {
    "empty": '{"definitions": {}}',
    "other": '{\n  "swagger": "2.0",\n  "definitions": {\n    "a": {"type": "object"}\n  }\n}\n',
    "without keys": """{"definitions": {"train": {
  "type": "object",
  "properties": {"spec": {"$ref": "#/definitions/spec"}, "mine": {"type": "string"}},
  "x-kubernetes-group-version-kind": [{"group": "kubeflow.org", "version": "v1", "kind": "PyTorchJob"}]
 },
 "spec": {"properties": {"pytorchReplicaSpecs": {"additionalProperties": {"properties": {"template": {"type": "object"}}}}}}
}}""",
    "yaml": "# ours\nswagger: '2.0'\ndefinitions:\n  a: {type: object}  # kept\n",
}


@pytest.mark.parametrize("own", OWN_SCHEMAS.values(), ids=list(OWN_SCHEMAS))
def test_a_schema_of_the_users_own_gets_the_kinds_that_it_lacks(own: str, tmp_path: Path) -> None:
    _overlays(tmp_path, "openapi: {path: own.json}\n")
    write(tmp_path, {f"overlays/{name}/own.json": own for name in ("dev", "prod")})
    done = run_here("validate", ".", "--fix", cwd=tmp_path)
    assert "list-replaced-by-patch" not in done.stdout
    assert "overlays/dev/kustomization.yaml: 1 problem fixed by overlays/dev/own.json\n" in done.stderr
    for name in ("dev", "prod"):
        folder = tmp_path / "overlays" / name
        assert "openapi: {path: own.json}\n" in (folder / "kustomization.yaml").read_text()
        kept = [line for line in own.splitlines() if line.strip(" {}") and line not in (folder / "own.json").read_text()]
        assert len(kept) <= 1  # the line to which something is added
        built = _built(folder)
        assert [each for each in KEPT[:-1] if each not in built] == []


@pytest.mark.parametrize("named_in", ["base", "component"])
def test_a_schema_of_a_base_or_component_gets_the_kinds_that_it_lacks(named_in: str, tmp_path: Path) -> None:
    _overlays(tmp_path, "components: [../../component]\n")
    component = "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\ncommonAnnotations: {a: b}\n"
    naming = "openapi: {path: own.json}\n"
    own = {"definitions": {"a": {"type": "object"}}}
    write(
        tmp_path,
        {
            "component/kustomization.yaml": component + naming * (named_in == "component"),
            "base/kustomization.yaml": "resources: [jobs.yaml]\n" + naming * (named_in == "base"),
            f"{named_in}/own.json": json.dumps(own),
        },
    )
    done = run_here("validate", ".", "--fix", cwd=tmp_path)
    assert "list-replaced-by-patch" not in done.stdout
    assert f"overlays/dev/kustomization.yaml: 1 problem fixed by {named_in}/own.json\n" in done.stderr
    for name in ("dev", "prod"):
        assert "openapi" not in (tmp_path / "overlays" / name / "kustomization.yaml").read_text()
        built = _built(tmp_path / "overlays" / name)
        assert [each for each in KEPT[:-1] if each not in built] == []


@pytest.mark.parametrize(
    ("openapi", "expected"),
    [
        ("{path: https://example.com/a.json}", "its `openapi` names https://example.com/a.json, which is not a file of this repository"),
        ("{path: ../../../a.json}", "its `openapi` names ../../../a.json, which is not a file of this repository"),
        ("{version: v1.21.2}", "its `openapi` has no `path`; write `openapi: {path: kustomize-schema.json}`"),
        ("{path: list.json}", "overlays/dev/list.json: not an OpenAPI document that can be edited; add the definitions that"),
    ],
)
def test_a_schema_that_cannot_be_edited_is_told_of(openapi: str, expected: str, tmp_path: Path) -> None:
    repository = tmp_path / "a"
    _overlays(repository, f"openapi: {openapi}\n")
    write(tmp_path, {"a.json": "{}", "a/overlays/dev/list.json": "[]"})
    done = run_here("schema", "kustomize", "--into", "overlays/dev", cwd=repository)
    assert (done.returncode, expected in done.stderr) == (2, True), done.stderr


def test_a_schema_that_jobspec_wrote_is_written_anew(tmp_path: Path) -> None:
    _overlays(tmp_path)
    assert run_here("schema", "kustomize", "--into", "overlays/dev", cwd=tmp_path).returncode == 0
    schema = tmp_path / "overlays" / "dev" / "kustomize-schema.json"
    text = schema.read_text()
    schema.write_text(text.replace("PyTorchJob", "OtherJob"))
    assert run_here("schema", "kustomize", "--into", "overlays/dev", cwd=tmp_path).returncode == 0
    assert schema.read_text() == text


def test_an_error_for_what_is_lost_is_reported_at_the_patch(tmp_path: Path) -> None:
    job = """apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata: {name: train}
spec:
  pytorchReplicaSpecs:
    Master:
      replicas: 1
      template:
        spec:
          containers:
          - {name: pytorch, image: "a:1", volumeMounts: [{name: data, mountPath: /data}]}
          volumes: [{name: data, emptyDir: {}}]
"""
    patch = job.partition("containers")[0] + "volumes: [{name: more, emptyDir: {}}]\n"
    write(tmp_path, {"job.yaml": job, "p.yaml": patch, "kustomization.yaml": "resources: [job.yaml]\npatches: [{path: p.yaml}]\n"})
    files = json.loads(run_here("validate", ".", "-o", "json", cwd=tmp_path).stdout)["files"]
    errors = [one for file in files for one in file["diagnostics"] if one["severity"] == "error"]
    assert [(each["rule"], each["file"], each["line"]) for each in errors] == [("pods-refused", "p.yaml", 10)]
    assert [(each["file"], each["line"]) for each in errors[0]["related"]] == [("job.yaml", 11)]


JSON_PATCHED = {
    "one file": ({"p.yaml": PATCH.split("---\n")[0]}, "patches:\n- path: p.yaml # ours\n"),
    "two documents": ({"p.yaml": PATCH}, "patches:\n- path: p.yaml\n"),
    "strategic merges": ({"p.yaml": PATCH.split("---\n")[0]}, "patchesStrategicMerge:\n- p.yaml\n"),
    "two documents merged": (
        {"p.yaml": PATCH},
        "patchesStrategicMerge: [p.yaml]\npatches:\n- {path: q.yaml, target: {kind: Deployment}}\n",
    ),
    "in place": ({}, "patches:\n- patch: |\n" + "".join(f"    {each}\n" for each in PATCH.split("---\n")[0].splitlines())),
    "in place with a target": (
        {},
        "patches:\n- target: {kind: JobSet, name: train}\n  patch: |-\n"
        + "".join(f"    {each}\n" for each in PATCH.split("---\n")[0].splitlines()),
    ),
    "in a list": ({}, "patchesStrategicMerge:\n- |\n" + "".join(f"  {each}\n" for each in PATCH.split("---\n")[0].splitlines())),
}


@pytest.mark.parametrize("form", JSON_PATCHED)
def test_a_json_patch_brings_back_what_was_lost(form: str, tmp_path: Path) -> None:
    files, entry = JSON_PATCHED[form]
    more = {"q.yaml": "- {op: add, path: /metadata/annotations, value: {a: b}}\n"} if "q.yaml" in entry else {}
    own = {"jobs.yaml": BASE, "kustomization.yaml": f"# ours\nresources: [jobs.yaml]\n{entry}", ".git/HEAD": ""}
    write(tmp_path, {**own, **files, **more})
    assert "example.com/train:v1" not in _built(tmp_path)
    shown = run_here("lint", ".", "--diff", "--fix-lists", "json-patch", cwd=tmp_path)
    assert "+- op: test" in shown.stdout.replace("+    ", "+").replace("+  ", "+")
    done = run_here("validate", ".", "--fix", "--fix-lists", "json-patch", cwd=tmp_path)
    assert "list-replaced-by-patch" not in done.stdout
    assert "kustomization.yaml: 1 problem fixed by " in done.stderr
    built = _built(tmp_path)
    kept = [each for each in KEPT if each not in built]
    assert kept == []
    assert "openapi" not in (tmp_path / "kustomization.yaml").read_text()
    assert ("name: A" in built) == ("two" in form)
