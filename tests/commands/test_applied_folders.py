"""What engines make of the folders that they apply: values, namespaces, and what nobody decrypts; and what helm has rendered elsewhere."""

import json
from pathlib import Path

import pytest

from tests.support.manifests import JOB, PROJECT_HEAD, write
from tests.support.processes import run_here

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
        ({"flux/jobs.json": _flux("jobs", None)}, False),
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


def test_a_finding_in_what_helm_rendered_names_the_template(tmp_path: Path) -> None:
    wrong = JOB.replace("name: train", "name: Train")
    rendered = f"---\n# Source: train/templates/job.yaml\n{wrong}---\n# Source: train/templates/more.yaml\n{wrong}---\n{wrong}"
    write(tmp_path, {"out.yaml": rendered})
    for arguments in (["out.yaml"], ["."]):
        report = json.loads(run_here("validate", *arguments, "-o", "json", cwd=tmp_path).stdout)
        hints = [each.get("hint", "") for file in report["files"] for each in file["diagnostics"] if each["rule"] == "invalid-name"]
        templates = [each.partition("helm rendered it from ")[2] for each in hints]
        assert templates == ["train/templates/job.yaml", "train/templates/more.yaml", ""]
