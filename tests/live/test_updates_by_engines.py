"""What becomes of a changed job in a cluster that Argo CD or Flux syncs is what `validate --from` says of the change.

Each job is a folder of one repository, which an Application or a Kustomization of its own applies.
"""

import json
import os
from collections.abc import Iterator, Mapping
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from tests.support import quick_yaml
from tests.support.argocd import APPLICATIONS, ArgoCD, Repository
from tests.support.flux import VARIABLE, Synced, served
from tests.support.manifests import write
from tests.support.processes import run_here
from tests.support.repositories import committed
from tests.support.server import kubeconfig

_OPTIONS = "argocd.argoproj.io/sync-options"
_FORCE = "kustomize.toolkit.fluxcd.io/force"
_BY_ARGO_CD: dict[str, dict[str, str]] = {
    "plain": {},
    "replaced": {_OPTIONS: "Replace=true"},
    "forced": {_OPTIONS: "Force=true"},
    "recreated": {_OPTIONS: "Force=true,Replace=true"},
    "hook": {"argocd.argoproj.io/hook": "Sync"},
    "of-flux": {_FORCE: "enabled"},
}
_BY_FLUX: dict[str, dict[str, str]] = {
    "plain": {},
    "forced": {_FORCE: "Enabled"},
    "small": {_FORCE: "enabled"},
    "of-argo-cd": {_OPTIONS: "Force=true,Replace=true"},
}
_NUMBERS = count(1)


def _job(name: str, namespace: str, annotations: Mapping[str, str], image: str) -> str:
    container = {"name": "main", "image": image, "command": ["python", "train.py"]}
    spec = {"template": {"spec": {"restartPolicy": "Never", "containers": [container]}}}
    metadata = {"name": name, "namespace": namespace, "annotations": {"example.com/a": "b", **annotations}}
    return quick_yaml.dump_all([{"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": spec}])


def _jobs(namespace: str, annotations: Mapping[str, Mapping[str, str]], image: str) -> dict[str, str]:
    return {f"{name}/job.yaml": _job(name, namespace, each, image) for name, each in annotations.items()}


def _said(place: Path, before: Mapping[str, str], after: Mapping[str, str]) -> dict[str, bool]:
    """Whether `validate` says of each job that an engine recreates it, and not that the change is refused."""
    write(place / "before", before)
    committed(place / "repository", after)
    done = run_here("validate", ".", "--from", "../before", "-o", "json", cwd=place / "repository")
    found = {each["path"]: {one["rule"] for one in each["diagnostics"]} for each in json.loads(done.stdout)["files"]}
    return {path.split("/")[0]: "immutable-field" not in rules for path, rules in found.items() if path.endswith("/job.yaml")}


class _Applications:
    """An Application for each folder of a repository, in a namespace of their name."""

    def __init__(self, argocd: ArgoCD, name: str, folder: Path) -> None:
        self.argocd, self.name, self.repository = argocd, name, Repository(folder)

    def engage(self, *folders: str) -> None:
        """Create an Application for each folder."""
        self.folders = folders
        self.argocd.apply({"/api/v1/namespaces": {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": self.name}}})
        for each in folders:
            self.argocd.apply({APPLICATIONS: self.application(each)})

    def application(self, folder: str) -> dict[str, Any]:
        """The Application of a folder."""
        spec = {
            "project": "default",
            "source": {"repoURL": self.repository.url, "path": folder, "targetRevision": "main"},
            "syncPolicy": {"automated": {"prune": True}, "syncOptions": ["CreateNamespace=false"], "retry": {"limit": 0}},
            "destination": {"server": "https://kubernetes.default.svc", "namespace": self.name},
        }
        metadata = {"name": f"{self.name}-{folder}", "namespace": "argocd"}
        return {"apiVersion": "argoproj.io/v1alpha1", "kind": "Application", "metadata": metadata, "spec": spec}

    def phase(self, folder: str, revision: str) -> str:
        """How the sync of a revision ended; empty if it has not."""
        self.argocd.refresh(f"{self.name}-{folder}")
        operation = self.argocd.get(f"{APPLICATIONS}/{self.name}-{folder}").get("status", {}).get("operationState", {})
        is_over = operation.get("finishedAt") and operation.get("syncResult", {}).get("revision") == revision
        return str(operation["phase"]) if is_over else ""

    def ends(self, revision: str) -> None:
        """Wait until all folders are synced, or are not."""
        self.argocd.waits_for(
            lambda: all(self.phase(each, revision) for each in self.folders),
            lambda: str({each: self.phase(each, revision) for each in self.folders}),
        )

    def uids(self, resource: str) -> dict[str, str]:
        """The uids of objects, by name."""
        found = self.argocd.items(f"{resource.format(self.name)}")
        return {name: each["metadata"]["uid"] for (_, name), each in found.items()}

    def remove(self) -> None:
        """Remove the Applications and the namespace."""
        self.argocd.delete(*(f"{APPLICATIONS}/{self.name}-{each}" for each in self.folders))
        self.argocd.delete(f"/api/v1/namespaces/{self.name}", waits=False)


@pytest.fixture
def applications(tmp_path: Path) -> Iterator[_Applications]:
    argocd = ArgoCD()
    name = f"updates-{os.getpid()}-{next(_NUMBERS)}"
    found = _Applications(argocd, name, tmp_path / name)
    yield found
    found.remove()
    argocd.close()


_BATCH = "/apis/batch/v1/namespaces/{}/jobs"
_JOBSETS = "/apis/jobset.x-k8s.io/v1alpha2/namespaces/{}/jobsets"


def test_argo_cd_recreates_the_jobs_that_are_said_to_be_recreated(applications: _Applications, tmp_path: Path) -> None:
    before, after = (_jobs(applications.name, _BY_ARGO_CD, image) for image in ("a:1", "a:2"))
    first = applications.repository.commit({**before, "hook/more.yaml": _more(applications.name, "a")})  # hooks alone are no difference
    applications.engage(*_BY_ARGO_CD)
    applications.ends(first)
    old = applications.uids(_BATCH)
    second = applications.repository.commit({**after, "hook/more.yaml": _more(applications.name, "b")})
    applications.ends(second)
    new = applications.uids(_BATCH)
    phases = {each: applications.phase(each, second) for each in _BY_ARGO_CD}
    engine = quick_yaml.dump_all([applications.application(each) for each in _BY_ARGO_CD])
    said = _said(tmp_path, before, {**after, "argocd.yaml": engine})
    assert {name: new[name] != old[name] for name in old} == said
    assert {name: phase == "Succeeded" for name, phase in phases.items()} == said


def _more(namespace: str, value: str) -> str:
    return f"apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: more, namespace: {namespace}}}\ndata: {{a: {value}}}\n"


def test_argo_cd_applies_a_jobset_again_only_with_its_defaults_written(applications: _Applications, tmp_path: Path) -> None:
    """Its client-side apply takes away what JobSet's webhook adds at the creation alone."""

    def jobset(name: str, team: str, spec: dict[str, Any], pod: dict[str, Any]) -> str:
        pod = {**pod, "nodeSelector": {"nowhere": "true"}, "containers": [{"name": "main", "image": "a:1"}]}
        jobs = [{"name": "w", "template": {"spec": {**spec, "parallelism": 1, "completions": 1, "template": {"spec": pod}}}}]
        metadata = {"name": name, "namespace": applications.name, "labels": {"team": team}}
        return quick_yaml.dump_all(
            [{"apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet", "metadata": metadata, "spec": {"replicatedJobs": jobs}}]
        )

    def files(team: str) -> dict[str, str]:
        written = jobset("written", team, {"completionMode": "Indexed"}, {"restartPolicy": "OnFailure"})
        return {"lacking/a.yaml": jobset("lacking", team, {}, {}), "written/a.yaml": written}

    first = applications.repository.commit(files("a"))
    applications.engage("lacking", "written")
    applications.ends(first)
    second = applications.repository.commit(files("b"))
    applications.ends(second)
    write(tmp_path / "before", files("a"))
    write(tmp_path / "after", files("b"))
    done = run_here("validate", "after", "--from", "before", "--apply", "client", "-o", "json", cwd=tmp_path)
    rules = {each["path"].split("/")[-2]: {one["rule"] for one in each["diagnostics"]} for each in json.loads(done.stdout)["files"]}
    said = {name: "lost-in-apply" not in found for name, found in rules.items()}
    assert said == {"lacking": False, "written": True}
    assert {each: applications.phase(each, second) == "Succeeded" for each in applications.folders} == said


def test_argo_cd_cannot_sync_a_generated_name(applications: _Applications) -> None:
    text = _job("a", applications.name, {}, "a:1").replace("name: a\n", "generateName: a-\n")
    assert "generateName" in text
    first = applications.repository.commit({"generated/job.yaml": text})
    applications.engage("generated")
    applications.ends(first)
    assert applications.phase("generated", first) == "Failed"
    assert applications.uids(_BATCH) == {}


@pytest.fixture
def synced(tmp_path: Path) -> Iterator[Synced]:
    kubeconfig(VARIABLE)
    name = f"updates-{os.getpid()}-{next(_NUMBERS)}"
    with served(tmp_path) as address:
        found = Synced(name, tmp_path, address)
        yield found
        found.remove(*(f"{name}-{each}" for each in (*_BY_FLUX, "whole", "generated")))


def _engage(synced: Synced, *folders: str) -> None:
    """Have Flux apply each folder by a Kustomization of its own; that of the folder `whole` by force."""
    metadata = {"name": synced.name, "namespace": "flux-system"}
    source = {"interval": "3s", "url": synced.url, "ref": {"branch": "main"}}
    synced.kubectl("create", "namespace", synced.name)
    synced.create({"apiVersion": "source.toolkit.fluxcd.io/v1", "kind": "GitRepository", "metadata": metadata, "spec": source})
    for each in folders:
        synced.create(_kustomization(synced, each))


def _kustomization(synced: Synced, folder: str) -> dict[str, Any]:
    spec = {
        "interval": "1h",
        "timeout": "30s",
        "prune": True,
        "path": f"./{folder}",
        "force": folder == "whole",
        "sourceRef": {"kind": "GitRepository", "name": synced.name},
    }
    metadata = {"name": f"{synced.name}-{folder}", "namespace": "flux-system"}
    return {"apiVersion": "kustomize.toolkit.fluxcd.io/v1", "kind": "Kustomization", "metadata": metadata, "spec": spec}


def _ready(synced: Synced, revision: str, *folders: str) -> dict[str, bool]:
    """Whether each folder is applied, once that is known."""

    def states() -> dict[str, tuple[str, str, str]]:
        return {each: synced.state(f"{synced.name}-{each}") for each in folders}

    synced.waits_for(lambda: all(each[0] == revision and each[1] in ("True", "False") for each in states().values()), states)
    return {name: each[1] == "True" for name, each in states().items()}


def test_flux_recreates_the_jobs_that_are_said_to_be_recreated(synced: Synced, tmp_path: Path) -> None:
    annotations = {**_BY_FLUX, "whole": {}}
    before, after = (_jobs(synced.name, annotations, image) for image in ("a:1", "a:2"))
    first = synced.repository.commit(before)
    _engage(synced, *annotations)
    assert all(_ready(synced, first, *annotations).values())
    old = synced.uids("job")
    second = synced.repository.commit(after)
    ready = _ready(synced, second, *annotations)
    new = synced.uids("job")
    engine = quick_yaml.dump_all([_kustomization(synced, each) for each in annotations])
    (tmp_path / "said").mkdir()
    said = _said(tmp_path / "said", before, {**after, "flux.yaml": engine})
    assert {name: new[name] != old[name] for name in old} == said
    assert ready == said


def test_flux_applies_nothing_with_a_generated_name(synced: Synced) -> None:
    revision = synced.repository.commit(
        {"generated/job.yaml": _job("a", synced.name, {}, "a:1").replace("name: a\n", "generateName: a-\n")}
    )
    _engage(synced, "generated")
    assert _ready(synced, revision, "generated") == {"generated": False}
    assert "missing metadata.name" in synced.state(f"{synced.name}-generated")[2]
