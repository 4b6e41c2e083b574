"""Updates: what the engine that applies an object, and its operator, make of a new state of it."""

import json
import subprocess
from pathlib import Path
from typing import Literal

import pytest

from jobspec.diagnostics.diagnostic import Diagnostic
from jobspec.session.stored import documents_in
from jobspec.world.world import Cluster, StoredObjects
from tests.support.cases import assert_reported, expectations, states, target_of
from tests.support.checking import result
from tests.support.manifests import write
from tests.support.processes import run_here
from tests.support.reference import ROOT

CASES = sorted((ROOT / "tests" / "cases" / "engines").glob("*.yaml"))


def _judge(case: str, place: Path) -> list[Diagnostic]:
    before, after = states(case)
    write(place, {"before.yaml": before, "after.yaml": after})
    side: Literal["client", "server"] = "server" if "# apply: server" in case else "client"
    stored = StoredObjects(documents_in(str(place / "before.yaml"), option="--from"), side)
    return list(result(place / "after.yaml", Cluster(target_of(case), stored=stored)).diagnostics)


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_each_case_is_judged_as_expected(path: Path, tmp_path: Path) -> None:
    case = path.read_text()
    assert_reported(expectations(case), _judge(case, tmp_path))


_JOB = """apiVersion: batch/v1
kind: Job
metadata: {name: migrate}
spec: {template: {spec: {restartPolicy: Never, containers: [{name: main, image: "a:1"}]}}}
"""


def _kustomization(name: str, *, force: bool, path: str = "./jobs") -> str:
    spec = {"interval": "1h", "prune": True, "path": path, "sourceRef": {"kind": "GitRepository", "name": "jobs"}, "force": force}
    return json.dumps({"apiVersion": "kustomize.toolkit.fluxcd.io/v1", "kind": "Kustomization", "metadata": {"name": name}, "spec": spec})


def _annotated(annotation: str) -> str:
    return _JOB.replace("{name: migrate}", f"{{name: migrate, annotations: {{{annotation}}}}}")


_APPLICATION = json.dumps(
    {
        "apiVersion": "argoproj.io/v1alpha1",
        "kind": "Application",
        "metadata": {"name": "jobs"},
        "spec": {
            "project": "default",
            "source": {"path": "jobs", "repoURL": "https://example.com/a"},
            "destination": {"name": "in-cluster"},
        },
    }
)
_OF_ARGO_CD = _annotated('argocd.argoproj.io/sync-options: "Force=true,Replace=true"')
_OF_FLUX = _annotated("kustomize.toolkit.fluxcd.io/force: enabled")
_OF_HELM = _annotated("helm.sh/hook: pre-install")
_BUILD = {"jobs/kustomization.yaml": "resources: [../base]\nnamePrefix: a-\n", "base/kustomization.yaml": "resources: [job.yaml]\n"}


@pytest.mark.parametrize(
    ("files", "rules"),
    [
        ({"jobs/job.yaml": _JOB, "flux.json": _kustomization("jobs", force=True)}, {"recreated-object"}),
        ({"jobs/job.yaml": _JOB, "flux.json": _kustomization("jobs", force=False)}, {"immutable-field"}),
        ({"jobs/job.yaml": _JOB, "flux.json": _kustomization("jobs", force=True, path="./others")}, {"immutable-field"}),
        (
            {"jobs/job.yaml": _JOB, "a.json": _kustomization("a", force=True), "b.json": _kustomization("b", force=False)},
            {"immutable-field"},
        ),
        ({"base/job.yaml": _JOB, **_BUILD, "flux.json": _kustomization("jobs", force=True)}, {"recreated-object"}),
        ({"base/job.yaml": _JOB, **_BUILD, "flux.json": _kustomization("jobs", force=False)}, {"immutable-field"}),
    ],
)
def test_what_flux_forces_is_recreated(files: dict[str, str], rules: set[str], tmp_path: Path) -> None:
    assert _rules(files, tmp_path) == rules


@pytest.mark.parametrize(
    ("job", "engine", "rule"),
    [
        (_OF_ARGO_CD, {}, "recreated-object"),
        (_OF_ARGO_CD, {"argocd.json": _APPLICATION}, "recreated-object"),
        (_OF_ARGO_CD, {"flux.json": _kustomization("jobs", force=False)}, "immutable-field"),
        (_OF_ARGO_CD, {"argocd.json": _APPLICATION, "flux.json": _kustomization("jobs", force=False)}, "recreated-object"),
        (_OF_FLUX, {"flux.json": _kustomization("jobs", force=False)}, "recreated-object"),
        (_OF_FLUX, {"argocd.json": _APPLICATION}, "immutable-field"),
        (_OF_HELM, {"argocd.json": _APPLICATION}, "recreated-object"),
        (_OF_HELM, {"flux.json": _kustomization("jobs", force=False)}, "immutable-field"),
    ],
)
def test_a_known_engine_looks_at_its_own_annotations_alone(job: str, engine: dict[str, str], rule: str, tmp_path: Path) -> None:
    assert _rules({"jobs/job.yaml": job, **engine}, tmp_path) == {rule}


def _rules(files: dict[str, str], place: Path) -> set[str]:
    """The rules of what is said of a new image of the job in a repository."""
    write(place, files)
    for command in (["init", "-q"], ["add", "."], ["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "a"]):
        subprocess.run(["git", *command], cwd=place, check=True)
    (job,) = place.rglob("job.yaml")
    job.write_text(job.read_text().replace("a:1", "a:2"))
    report = json.loads(run_here("validate", ".", "--from-ref", "HEAD", "-o", "json", cwd=place).stdout)
    return {one["rule"] for file in report["files"] for one in file["diagnostics"]}
