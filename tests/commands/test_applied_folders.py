"""What engines make of the folders that they apply: values, namespaces, and what nobody decrypts; and what helm has rendered elsewhere."""

import json
from pathlib import Path

import pytest

from tests.support.manifests import JOB, PROJECT_HEAD, write
from tests.support.processes import run_here

PATCHES = [
    {
        "target": {"kind": "Kustomization"},
        "patch": "kind: Kustomization\nmetadata: {name: all}\nspec: {decryption: {provider: sops}}",
    }
]
SECRET = """apiVersion: v1
kind: Secret
metadata: {name: token}
stringData: {token: "ENC[AES256_GCM,data:abc=,iv:def=,tag:ghi=,type:str]"}
sops: {version: 3.9.0, mac: "ENC[AES256_GCM,data:abc=,iv:def=,tag:ghi=,type:str]"}
"""
KSOPS = "apiVersion: viaduct.ai/v1\nkind: ksops\nmetadata: {name: secrets}\nfiles: [token.yaml]\n"


def _application(path: str, **source: object) -> str:
    spec = {"project": "jobs", "destination": {"namespace": "ml"}, "source": {"repoURL": "https://github.com/example/jobs", "path": path}}
    spec["source"] |= source  # type: ignore[operator]
    return json.dumps({"apiVersion": "argoproj.io/v1alpha1", "kind": "Application", "metadata": {"name": "jobs"}, "spec": spec})


def _flux(name: str, values: dict[str, str] | None, path: str = "./jobs", **more: object) -> str:
    spec = {"interval": "1h", "prune": True, "path": path, "sourceRef": {"kind": "GitRepository", "name": "jobs"}, **more}
    spec |= {"postBuild": {"substitute": values}} if values is not None else {}
    return json.dumps({"apiVersion": "kustomize.toolkit.fluxcd.io/v1", "kind": "Kustomization", "metadata": {"name": name}, "spec": spec})


def _found(folder: Path) -> list[tuple[str, int, str, str]]:
    """File, line, rule and hint of what is found."""
    files = json.loads(run_here("validate", ".", "-o", "json", cwd=folder).stdout)["files"]
    return [
        (one["file"].removeprefix("./"), one["line"], one["rule"], one.get("hint", "")) for file in files for one in file["diagnostics"]
    ]


@pytest.mark.parametrize(
    ("files", "is_reported"),
    [
        ({"argocd/jobs.json": _application("jobs")}, True),
        ({"argocd/jobs.json": _application("jobs", plugin={"name": "ksops"})}, False),
        ({"argocd/jobs.json": _application("elsewhere")}, False),
        ({"flux/jobs.json": _flux("jobs", None)}, True),
        ({"flux/jobs.json": _flux("jobs", None, decryption={"provider": "sops"})}, False),
        ({"flux/jobs.json": _flux("jobs", None, patches=PATCHES)}, True),  # its patches are for what it builds
        ({"jobs/jobs.json": _flux("jobs", None, patches=PATCHES)}, False),
        ({"flux/jobs.json": _flux("jobs", None), "all.json": _flux("all", None, "./flux", patches=PATCHES)}, False),
        ({"flux/jobs.json": _flux("jobs", None, sourceRef={"kind": "OCIRepository", "name": "jobs"})}, False),
        ({"jobs/kustomization.yaml": "resources: [token.yaml]\nnamePrefix: a-\n", "argocd/jobs.json": _application("jobs")}, True),
        ({"jobs/kustomization.yaml": "generators: [token.yaml]\n", "argocd/jobs.json": _application("jobs")}, False),
        ({"jobs/kustomization.yaml": "generators: [ksops.yaml]\n", "jobs/ksops.yaml": KSOPS, "jobs.json": _application("jobs")}, False),
        ({"jobspec.yaml": PROJECT_HEAD + "  output: jobs\n  engines: {argocd: {repoURL: https://example.com/a}}\n  variants: []\n"}, True),
        ({"jobspec.yaml": PROJECT_HEAD + "  output: jobs\n  engines: {flux: {url: https://example.com/a}}\n  variants: []\n"}, False),
    ],
)
def test_what_sops_encrypts_is_reported_where_argo_cd_has_no_plugin_for_it(
    files: dict[str, str], is_reported: bool, tmp_path: Path
) -> None:
    write(tmp_path, {".git/HEAD": "", "jobs/token.yaml": SECRET, **files})
    found = [each for each in _found(tmp_path) if each[2] == "encrypted-manifest"]
    assert [each[:3] for each in found] == ([("jobs/token.yaml", 5, "encrypted-manifest")] if is_reported else [])


SOPS_METADATA = "sops:\n  mac: ENC[AES256_GCM,data:A,iv:A,tag:B,type:str]\n"
ENCRYPTED = "token%sENC[AES256_GCM,data:A,iv:A,tag:B,type:str]\n"


@pytest.mark.parametrize(
    ("engine", "generator", "said"),
    [
        (_flux("jobs", None), "envs: [hub.env]", "Kustomization `jobs` has no `decryption`: Flux applies the encrypted values"),
        (_flux("jobs", None), "files: [conf=conf.yaml]", "Flux applies the encrypted values"),
        (_flux("jobs", None, path="./prod"), "files: [conf.yaml]", "Flux applies the encrypted values"),
        (_application("jobs"), "files: [conf.yaml]", "Argo CD applies the encrypted values"),
        (_flux("jobs", None), "files: [plain.yaml]", ""),
        (_flux("jobs", None, decryption={"provider": "sops"}), "envs: [hub.env]", ""),
    ],
)
def test_encrypted_files_of_generators_are_reported(engine: str, generator: str, said: str, tmp_path: Path) -> None:
    files = {
        "jobs/hub.env": ENCRYPTED % "=" + "sops_mac=ENC[AES256_GCM,data:A,iv:A,tag:B,type:str]\n",
        "jobs/conf.yaml": ENCRYPTED % ": " + SOPS_METADATA,
        "jobs/plain.yaml": "token: a\n",
        "jobs/kustomization.yaml": f"secretGenerator:\n- name: hub\n  {generator}\n",
        "prod/kustomization.yaml": "resources: [../jobs]\nnamePrefix: prod-\n",
    }
    write(tmp_path, {".git/HEAD": "", **files, "engine.json": engine})
    found = json.loads(run_here("validate", ".", "-o", "json", cwd=tmp_path).stdout)["files"]
    rows = [each for file in found for each in file["diagnostics"] if each["rule"] == "encrypted-manifest"]
    assert [(each["file"].removeprefix("./"), each["line"]) for each in rows] == ([("jobs/kustomization.yaml", 3)] if said else [])
    assert all(said in each["message"] for each in rows)


def test_values_that_all_kustomizations_of_a_folder_give_are_filled_in(tmp_path: Path) -> None:
    job = JOB.replace("name: train", "name: ${name}").replace("replicas: 1", "replicas: ${replicas}")
    files = {
        ".git/HEAD": "",
        "a.json": _flux("a", {"name": "Train", "replicas": "1"}, targetNamespace="ml"),
        "b.json": _flux("b", {"name": "Train", "replicas": "2"}, targetNamespace="ml"),
        "c.json": _flux("c", None),
    }
    write(tmp_path, {"jobs/job.yaml": job, **files})
    several = "Flux's Kustomizations of this folder have several values for `replicas`"
    line = next(number for number, text in enumerate(job.splitlines(), 1) if "${replicas}" in text)
    name = next(number for number, text in enumerate(job.splitlines(), 1) if "${name}" in text)
    found = [each for each in _found(tmp_path) if each[0] == "jobs/job.yaml"]
    assert [each[:3] for each in found] == [("jobs/job.yaml", name, "invalid-name"), ("jobs/job.yaml", line, "unjudged-template")]
    assert found[1][3] == several


def test_a_variable_in_a_file_of_a_generator_is_reported_at_its_line(tmp_path: Path) -> None:
    files = {
        "jobs/kustomization.yaml": "configMapGenerator: [{name: scripts, files: [run.sh]}]\n",
        "jobs/run.sh": "#!/bin/bash\n\ntorchrun --nnodes=${PET_NNODES} train.py\n",
        "flux.json": _flux("jobs", {"OTHER": "1"}),
    }
    write(tmp_path, {".git/HEAD": "", **files})
    assert [each[:3] for each in _found(tmp_path)] == [("jobs/run.sh", 3, "unset-variable")]


def test_a_finding_in_what_helm_rendered_names_the_template(tmp_path: Path) -> None:
    wrong = JOB.replace("name: train", "name: Train")
    rendered = f"---\n# Source: train/templates/job.yaml\n{wrong}---\n# Source: train/templates/more.yaml\n{wrong}---\n{wrong}"
    write(tmp_path, {"out.yaml": rendered})
    for arguments in (["out.yaml"], ["."]):
        report = json.loads(run_here("validate", *arguments, "-o", "json", cwd=tmp_path).stdout)
        hints = [each.get("hint", "") for file in report["files"] for each in file["diagnostics"] if each["rule"] == "invalid-name"]
        templates = [each.partition("helm rendered it from ")[2] for each in hints]
        assert templates == ["train/templates/job.yaml", "train/templates/more.yaml", ""]


def _reported(folder: Path) -> list[tuple[int, str, str]]:
    """Line, rule and severity of what is said of the job."""
    files = json.loads(run_here("validate", ".", "-o", "json", cwd=folder).stdout)["files"]
    found = [one for file in files for one in file["diagnostics"] if one["file"].endswith("job.yaml")]
    return sorted((one["line"], one["rule"], one["severity"]) for one in found)


SCRIPT = """apiVersion: batch/v1
kind: Job
metadata: {name: train}
spec:
  parallelism: ${workers}
  template:
    spec:
      restartPolicy: Never
      containers:
        - name: train
          image: ghcr.io/acme/train:1.2
          command:
            - bash
            - -c
            - |
              cd "${ROOT}"
              exec train $1 $$ $HOME ${MODE:-fast}
"""
UNSET = (16, "unset-variable", "warning")
OPEN = (5, "unjudged-template", "info")
REFUSED = (5, "wrong-type", "error")


@pytest.mark.parametrize(
    ("build", "expected"),
    [
        ({"substitute": {"workers": "2"}}, [UNSET]),
        ({"substitute": {"workers": "2", "ROOT": "/data"}}, []),
        ({"substitute": {"workers": "two", "ROOT": "/data"}}, [REFUSED]),
        ({"substitute": {"ROOT": "/data"}}, [(5, "unset-variable", "warning")]),
        ({"substitute": {"workers": "2"}, "substituteFrom": [{"kind": "ConfigMap", "name": "elsewhere"}]}, []),
        ({"substitute": {"workers": "2"}, "substituteFrom": [{"kind": "ConfigMap", "name": "here"}]}, []),
        ({"substituteFrom": [{"kind": "ConfigMap", "name": "here"}]}, [(5, "unset-variable", "warning")]),
        ({"substituteFrom": [{"kind": "ConfigMap", "name": "elsewhere"}]}, [OPEN]),
        ({"substituteStrategy": "Always"}, [(5, "unset-variable", "warning"), UNSET]),
        ({}, [REFUSED]),
    ],
)
def test_variables_that_flux_has_no_value_for(build: dict[str, object], expected: list[object], tmp_path: Path) -> None:
    here = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: here}\ndata: {ROOT: /data}\n"
    write(tmp_path, {".git/HEAD": "", "jobs/job.yaml": SCRIPT, "here.yaml": here, "flux.json": _flux("jobs", None, postBuild=build)})
    assert _reported(tmp_path) == expected


@pytest.mark.parametrize(
    ("files", "is_refused"),
    [
        ({}, True),
        ({"overlay/kustomization.yaml": "resources: [../jobs]\nnamePrefix: a-\n"}, True),
        ({"flux.json": _flux("jobs", None, sourceRef={"kind": "OCIRepository", "name": "jobs"})}, False),
        ({"more.json": _flux("more", None, sourceRef={"kind": "Bucket", "name": "jobs"})}, False),
        ({"parent.json": _flux("all", None, "./clusters", patches=[{"patch": "kind: Kustomization\nspec: {postBuild: {}}"}])}, False),
        ({"clusters/kustomization.yaml": "patches: [{target: {kind: Kustomization}, path: add.yaml}]\n"}, False),
        ({"flux.json": _flux("jobs", None, "./overlay"), "overlay/kustomization.yaml": "resources: [../jobs]\n"}, False),
    ],
)
def test_a_variable_stays_only_where_no_other_program_knows_it(files: dict[str, str], is_refused: bool, tmp_path: Path) -> None:
    add = "- {op: add, path: /spec/postBuild, value: {substitute: {workers: '2'}}}\n"
    base = {"clusters/add.yaml": add} if "clusters/kustomization.yaml" in files else {}
    write(tmp_path, {".git/HEAD": "", "jobs/job.yaml": SCRIPT, "flux.json": _flux("jobs", None), **base, **files})
    assert (REFUSED in _reported(tmp_path)) == is_refused


def test_a_base_is_substituted_as_its_builds_are(tmp_path: Path) -> None:
    files = {
        "jobs/kustomization.yaml": "resources: [job.yaml]\n",
        "overlay/kustomization.yaml": "resources: [../jobs]\nnamePrefix: a-\n",
        "flux.json": _flux("jobs", None, "./overlay"),
    }
    write(tmp_path, {".git/HEAD": "", "jobs/job.yaml": SCRIPT, **files})
    assert _reported(tmp_path) == [REFUSED]


def test_what_flux_cannot_parse_is_an_error(tmp_path: Path) -> None:
    script = SCRIPT.replace("${ROOT}", "${ROOTS[0]}")
    write(tmp_path, {".git/HEAD": "", "jobs/job.yaml": script, "flux.json": _flux("jobs", {"workers": "2"})})
    assert _reported(tmp_path) == [(16, "bad-substitution", "error")]


@pytest.mark.parametrize(("values", "severity"), [({"REGISTRY": "ghcr.io/a"}, "warning"), (None, "info")], ids=["Flux", "other programs"])
def test_a_dollar_sign_without_braces_stays_if_flux_fills_in(values: dict[str, str] | None, severity: str, tmp_path: Path) -> None:
    job = JOB.replace("example.com/train:v1", "$REGISTRY/train:v1")
    files = {"flux.json": _flux("jobs", values)} if values else {}
    write(tmp_path, {".git/HEAD": "", "jobs/job.yaml": job, **files})
    report = json.loads(run_here("lint", ".", "-o", "json", cwd=tmp_path).stdout)
    found = [each["severity"] for file in report["files"] for each in file["diagnostics"] if each["rule"] == "unfilled-placeholder"]
    assert found == [severity]


def test_an_object_that_flux_is_to_leave_alone_keeps_its_variables(tmp_path: Path) -> None:
    left = "metadata:\n  name: train\n  annotations: {kustomize.toolkit.fluxcd.io/substitute: disabled}"
    job = SCRIPT.replace("metadata: {name: train}", left).replace("${workers}", "2")
    write(tmp_path, {".git/HEAD": "", "jobs/job.yaml": job, "flux.json": _flux("jobs", {"workers": "2"})})
    assert _reported(tmp_path) == []


@pytest.mark.parametrize(
    ("substituted", "is_refused"), [("'2'", True), ("v2", False), ("'\"2\"'", False)], ids=["number", "text", "quoted text"]
)
def test_flux_reads_what_it_substituted_as_yaml_again(substituted: str, is_refused: bool, tmp_path: Path) -> None:
    flux = f"""apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {{name: jobs}}
spec:
  path: ./jobs
  interval: 1h
  prune: true
  sourceRef: {{kind: GitRepository, name: jobs}}
  postBuild: {{substitute: {{release: {substituted}}}}}
"""
    job = (
        SCRIPT.replace("${workers}", "1").replace("${ROOT}", "/").replace("{name: train}", '{name: train, labels: {release: "${release}"}}')
    )
    write(tmp_path, {".git/HEAD": "", "jobs/job.yaml": job, "flux.yaml": flux})
    assert bool(_reported(tmp_path)) == is_refused


@pytest.mark.parametrize(
    ("engine", "place"),
    [
        (_flux("jobs", {"workers": 2}), "spec.postBuild.substitute[workers]"),  # type: ignore[dict-item]
        (_application("jobs", helm={"parameters": [{"name": "a", "value": 2}]}), "spec.source.helm.parameters[0].value"),
    ],
)
def test_a_wrong_type_in_an_object_of_an_engine_is_an_error(engine: str, place: str, tmp_path: Path) -> None:
    write(tmp_path, {"engine.json": engine})
    done = run_here("validate", "engine.json", "-o", "json", cwd=tmp_path)
    (found,) = (each for each in json.loads(done.stdout)["files"][0]["diagnostics"] if each["rule"] == "wrong-type")
    assert (found["severity"], found["field"], done.returncode) == ("error", place, 1)
