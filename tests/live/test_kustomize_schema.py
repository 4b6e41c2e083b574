"""Argo CD and Flux merge the lists of a custom resource by the schema that `jobspec schema kustomize --into` writes."""

import os
from collections.abc import Callable
from contextlib import closing
from itertools import count
from pathlib import Path
from typing import Any

from tests.support.argocd import APPLICATIONS, VARIABLE, ArgoCD, Repository
from tests.support.flux import VARIABLE as FLUX
from tests.support.flux import Synced, served
from tests.support.processes import run_here
from tests.support.server import kubeconfig

_JOB = """\
apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata: {name: mnist}
spec:
  runPolicy: {suspend: true}
  pytorchReplicaSpecs:
    Master:
      replicas: 1
      restartPolicy: Never
      template:
        spec:
          containers:
            - name: pytorch
              image: example.com/train:v1
              command: [python, train.py]
              env: [{name: EPOCHS, value: "3"}]
"""
_PATCH = """\
apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata: {name: mnist}
spec:
  pytorchReplicaSpecs:
    Master:
      template:
        spec:
          containers:
            - name: pytorch
              image: example.com/train:v2
              env: [{name: SEED, value: "1"}]
"""
_FILES = {
    "base/job.yaml": _JOB,
    "base/kustomization.yaml": "resources: [job.yaml]\n",
    "overlays/prod/patch.yaml": _PATCH,
    "overlays/prod/kustomization.yaml": "resources: [../../base]\npatches: [{path: patch.yaml}]\n",
}
_LOST = {"image": "example.com/train:v2", "command": None, "env": ["SEED"]}
_KEPT = {"image": "example.com/train:v2", "command": ["python", "train.py"], "env": ["EPOCHS", "SEED"]}
_NUMBERS = count(1)


def _container(job: dict[str, Any]) -> dict[str, Any]:
    """What the patch is about of the container of a job; empty if there is no job."""
    if not job.get("spec"):
        return {}
    (container,) = job["spec"]["pytorchReplicaSpecs"]["Master"]["template"]["spec"]["containers"]
    names = sorted(each["name"] for each in container["env"])
    return {"image": container["image"], "command": container.get("command"), "env": names}


def _commit_both(repository: Repository, becomes: Callable[[str, dict[str, Any]], None]) -> None:
    """Commit an overlay without the schema, then with it, and wait each time for what becomes of the container."""
    becomes(repository.commit(_FILES), _LOST)
    written = run_here("schema", "kustomize", "--into", "overlays/prod", cwd=repository.folder)
    assert written.returncode == 0, written.stderr
    becomes(repository.commit({}), _KEPT)


def test_flux_keeps_what_a_patch_does_not_name(tmp_path: Path) -> None:
    kubeconfig(FLUX)
    name = f"schema-{os.getpid()}-{next(_NUMBERS)}"
    with served(tmp_path) as address:
        synced = Synced(name, tmp_path, address)

        def becomes(revision: str, expected: dict[str, Any]) -> None:
            synced.look()
            synced.becomes(revision, "True")
            assert _container(synced.items("pytorchjob")["mnist"]) == expected

        metadata = {"name": name, "namespace": "flux-system"}
        source = {"interval": "3s", "url": synced.url, "ref": {"branch": "main"}}
        applied = {"interval": "3s", "path": "./overlays/prod", "prune": True, "targetNamespace": name, "timeout": "30s"}
        try:
            synced.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
            synced.create({"apiVersion": "source.toolkit.fluxcd.io/v1", "kind": "GitRepository", "metadata": metadata, "spec": source})
            spec = {**applied, "sourceRef": {"kind": "GitRepository", "name": name}}
            synced.create({"apiVersion": "kustomize.toolkit.fluxcd.io/v1", "kind": "Kustomization", "metadata": metadata, "spec": spec})
            _commit_both(synced.repository, becomes)
        finally:
            synced.remove()


def test_argo_cd_keeps_what_a_patch_does_not_name(tmp_path: Path) -> None:
    kubeconfig(VARIABLE)
    name = f"schema-{os.getpid()}-{next(_NUMBERS)}"
    repository = Repository(tmp_path / "repository")
    job = f"/apis/kubeflow.org/v1/namespaces/{name}/pytorchjobs/mnist"
    with closing(ArgoCD()) as argocd:

        def becomes(revision: str, expected: dict[str, Any]) -> None:
            if not argocd.get(f"{APPLICATIONS}/{name}"):
                argocd.apply({APPLICATIONS: _application(name, repository.url)})
            argocd.refresh(name)
            argocd.waits_for(lambda: argocd.state(name).synced == revision, lambda: str(argocd.state(name)))
            assert _container(argocd.get(job)) == expected

        try:
            _commit_both(repository, becomes)
        finally:
            argocd.delete(f"{APPLICATIONS}/{name}", f"/api/v1/namespaces/{name}", waits=False)


def _application(name: str, url: str) -> dict[str, Any]:
    return {
        "apiVersion": "argoproj.io/v1alpha1",
        "kind": "Application",
        "metadata": {"name": name, "namespace": "argocd"},
        "spec": {
            "project": "default",
            "source": {"repoURL": url, "path": "overlays/prod", "targetRevision": "main"},
            "destination": {"server": "https://kubernetes.default.svc", "namespace": name},
            "syncPolicy": {"automated": {"prune": True}, "syncOptions": ["CreateNamespace=true"]},
        },
    }
