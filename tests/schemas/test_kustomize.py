"""The OpenAPI document for kustomize, by real `kubectl kustomize`: images stay where strategic merge patches touch containers."""

import json
import re
import shutil
import subprocess
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any

import pytest

from jobspec import models
from jobspec.apis.kinds import MODELS
from jobspec.apis.releases import MODELLED, RELEASES, choose, release_of
from jobspec.cli import main
from jobspec.schemas.json_schema import with_kinds
from tests.support import quick_yaml
from tests.support.processes import environment, program, run_here
from tests.support.server import kubeconfig

pytestmark = pytest.mark.skipif(not shutil.which("kubectl"), reason="kubectl is not installed")

MERGED_BY_NAME = {"x-kubernetes-patch-merge-key": "name", "x-kubernetes-patch-strategy": "merge"}
#: As much of a server's document as it takes to patch a Deployment.
BASE: dict[str, Any] = {
    "swagger": "2.0",
    "info": {"title": "Kubernetes", "version": "v1.36.0"},
    "paths": {"/healthz/": {"get": {"responses": {}}}},
    "definitions": {
        "io.k8s.api.apps.v1.Deployment": {
            "type": "object",
            "properties": {"spec": {"$ref": "#/definitions/io.k8s.api.apps.v1.DeploymentSpec"}},
            "x-kubernetes-group-version-kind": [{"group": "apps", "kind": "Deployment", "version": "v1"}],
        },
        "io.k8s.api.apps.v1.DeploymentSpec": {
            "type": "object",
            "properties": {"template": {"$ref": "#/definitions/io.k8s.api.core.v1.PodTemplateSpec"}},
        },
        "io.k8s.api.core.v1.PodTemplateSpec": {
            "type": "object",
            "properties": {"spec": {"$ref": "#/definitions/io.k8s.api.core.v1.PodSpec"}},
        },
        "io.k8s.api.core.v1.PodSpec": {
            "type": "object",
            "properties": {
                "containers": {"type": "array", "items": {"$ref": "#/definitions/io.k8s.api.core.v1.Container"}, **MERGED_BY_NAME}
            },
        },
        "io.k8s.api.core.v1.Container": {"type": "object", "properties": {"image": {"type": "string"}, "name": {"type": "string"}}},
    },
}


def _containers(name: str, **more: Any) -> dict[str, Any]:
    return {"spec": {"containers": [{"name": name, **more}]}}


def _deployment(pod: dict[str, Any]) -> dict[str, Any]:
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}, "spec": {"template": pod}}


def _pytorchjob(**pods: dict[str, Any]) -> dict[str, Any]:
    replicas = {role: {"template": pod} for role, pod in pods.items()}
    return {
        "apiVersion": "kubeflow.org/v1",
        "kind": "PyTorchJob",
        "metadata": {"name": "train"},
        "spec": {"pytorchReplicaSpecs": replicas},
    }


def _runtime(kind: str, pod: dict[str, Any]) -> dict[str, Any]:
    jobs = [{"name": "node", "template": {"spec": {"template": pod}}}]
    spec = {"template": {"spec": {"replicatedJobs": jobs}}}
    return {"apiVersion": "trainer.kubeflow.org/v1alpha1", "kind": kind, "metadata": {"name": "torch"}, "spec": spec}


def _jobset(pod: dict[str, Any]) -> dict[str, Any]:
    jobs = [{"name": "node", "template": {"spec": {"template": pod}}}]
    return {"apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet", "metadata": {"name": "set"}, "spec": {"replicatedJobs": jobs}}


GPU = {"resources": {"limits": {"nvidia.com/gpu": 1}}}
JOB = _pytorchjob(Master=_containers("pytorch", image="train:v1", args=["a"]), Worker=_containers("pytorch", image="train:v1"))
PATCH = _pytorchjob(Master=_containers("pytorch", **GPU))


def _build(place: Path, resources: list[Any], patches: list[Any], openapi: str | None, **more: Any) -> dict[str, Any]:
    """What `kubectl kustomize` builds of resources and strategic merge patches, by kind."""
    kustomization: dict[str, Any] = {"resources": ["resources.yaml"], "patches": [{"patch": quick_yaml.dump(each)} for each in patches]}
    if openapi is not None:
        (place / "openapi.json").write_text(openapi)
        kustomization["openapi"] = {"path": "openapi.json"}
    (place / "resources.yaml").write_text(quick_yaml.dump_all(resources))
    (place / "kustomization.yaml").write_text(quick_yaml.dump(kustomization | more))
    done = program("kubectl", "kustomize", place)
    assert done.returncode == 0, done.stderr
    return {each["kind"]: each for each in quick_yaml.load_all(done.stdout)}


def _images(value: Any) -> list[str]:
    """Every image below a value, in order."""
    if isinstance(value, dict):
        own = [value["image"]] if "image" in value else []
        return own + [image for child in value.values() for image in _images(child)]
    return [image for child in value for image in _images(child)] if isinstance(value, list) else []


def _jobspec(*arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    return run_here("schema", "kustomize", *arguments, env=environment(**variables))


def _merged(place: Path, base: Any, *arguments: str) -> str:
    """What the command prints, in this process, which has the models already."""
    (place / "base.json").write_text(json.dumps(base))
    with redirect_stdout(StringIO()) as printed:
        assert main(["schema", "kustomize", "--base", str(place / "base.json"), *arguments]) == 0
    return printed.getvalue()


def _patched(place: Path, openapi: str | None) -> dict[str, list[str]]:
    """The images that a PyTorchJob and a Deployment have left in one kustomization that patches both."""
    built = _build(
        place,
        [JOB, _deployment(_containers("web", image="web:v1"))],
        [PATCH, _deployment(_containers("web", resources={"limits": {"cpu": 1}}))],
        openapi,
    )
    assert (
        built["PyTorchJob"]["spec"]["pytorchReplicaSpecs"]["Master"]["template"]["spec"]["containers"][0]["resources"] == GPU["resources"]
    )
    assert built["Deployment"]["spec"]["template"]["spec"]["containers"][0]["resources"] == {"limits": {"cpu": 1}}
    return {kind: _images(document) for kind, document in built.items()}


BOTH = {"PyTorchJob": ["train:v1", "train:v1"], "Deployment": ["web:v1"]}


def test_with_the_document_both_keep_their_images(tmp_path: Path) -> None:
    assert _patched(tmp_path, _merged(tmp_path, BASE)) == BOTH


def test_without_it_the_pytorchjob_loses_its_own(tmp_path: Path) -> None:
    assert _patched(tmp_path, None) == {**BOTH, "PyTorchJob": ["train:v1"]}


def test_alone_it_would_take_the_deployments(tmp_path: Path) -> None:
    """Why there has to be a base."""
    assert _patched(tmp_path, _merged(tmp_path, {**BASE, "definitions": {}})) == {**BOTH, "Deployment": []}


def test_the_document_of_a_real_server(tmp_path: Path) -> None:
    """Its own definitions of a PyTorchJob do not say how patches merge; ours take their place, and their name."""
    fetched = program("kubectl", f"--kubeconfig={kubeconfig()}", "get", "--raw", "/openapi/v2")
    assert _patched(tmp_path, fetched.stdout) == {**BOTH, "PyTorchJob": ["train:v1"]}
    (tmp_path / "fetched.json").write_text(fetched.stdout)
    done = _jobspec("--base", str(tmp_path / "fetched.json"))
    assert (done.returncode, done.stderr) == (0, "")
    assert _patched(tmp_path, done.stdout) == BOTH
    theirs, ours = (_lasting(json.loads(text)) for text in (fetched.stdout, done.stdout))
    assert theirs["definitions"].keys() <= ours["definitions"].keys()
    assert theirs["paths"].items() <= ours["paths"].items()
    references = {reference for definition in ours["definitions"].values() for reference in _references(definition)}
    assert {reference.removeprefix("#/definitions/") for reference in references} <= ours["definitions"].keys()


def _lasting(document: dict[str, Any]) -> dict[str, Any]:
    """The document without the groups that other tests define for moments, whose first label is of `t` and a number."""
    passing = re.compile(r"\bt[0-9a-f]{5,8}\b")
    kept = {part: {name: value for name, value in document[part].items() if not passing.search(name)} for part in ("definitions", "paths")}
    return {**document, **kept}


def _references(value: Any) -> set[str]:
    if isinstance(value, dict):
        own = {value["$ref"]} if isinstance(value.get("$ref"), str) else set()
        return own.union(*(_references(child) for child in value.values()))
    return set().union(*(_references(child) for child in value)) if isinstance(value, list) else set()


@pytest.mark.parametrize("trainer", RELEASES["trainer"])
def test_every_kind_on_every_release_of_the_trainer(trainer: str, tmp_path: Path) -> None:
    def all_of(pod: dict[str, Any]) -> list[Any]:
        return [_runtime("TrainingRuntime", pod), _runtime("ClusterTrainingRuntime", pod), _jobset(pod)]

    openapi = _merged(tmp_path, BASE, "--target", f"trainer={trainer}")
    built = _build(tmp_path, all_of(_containers("node", image="a:v1")), all_of(_containers("node", **GPU)), openapi)
    assert {kind: _images(document) for kind, document in built.items()} == {
        "TrainingRuntime": ["a:v1"],
        "ClusterTrainingRuntime": ["a:v1"],
        "JobSet": ["a:v1"],
    }


@pytest.mark.parametrize("operator", RELEASES["training-operator"])
def test_every_list_that_overlays_merge_is_merged_on_every_release(operator: str, tmp_path: Path) -> None:
    """On all of them, although the CRDs of some declare no keys; what has no merge key is replaced."""
    before = {
        "env": [{"name": "A", "value": "1"}],
        "ports": [{"containerPort": 1, "name": "a", "protocol": "TCP"}],
        "volumeMounts": [{"name": "data", "mountPath": "/a"}],
        "args": ["a"],
    }
    after = {
        "env": [{"name": "B", "value": "2"}],
        "ports": [{"containerPort": 1, "protocol": "TCP", "hostPort": 1}, {"containerPort": 1, "protocol": "UDP"}],
        "volumeMounts": [{"name": "data", "mountPath": "/b"}],
        "args": ["b"],
    }
    openapi = _merged(tmp_path, BASE, "--target", f"training-operator={operator}")
    job, patch = (_pytorchjob(Worker=_containers("pytorch", **lists)) for lists in (before, after))
    built = _build(tmp_path, [job], [patch], openapi)
    (container,) = built["PyTorchJob"]["spec"]["pytorchReplicaSpecs"]["Worker"]["template"]["spec"]["containers"]
    assert {each["name"]: each["value"] for each in container["env"]} == {"A": "1", "B": "2"}
    assert sorted(container["ports"], key=str) == [
        {"containerPort": 1, "hostPort": 1, "name": "a", "protocol": "TCP"},
        {"containerPort": 1, "protocol": "UDP"},
    ]
    assert {each["mountPath"] for each in container["volumeMounts"]} == {"/a", "/b"}
    assert container["args"] == ["b"]


def test_patches_of_a_trainjob_merge_by_their_manager(tmp_path: Path) -> None:
    def trainjob(*patches: dict[str, Any]) -> dict[str, Any]:
        spec = {"runtimeRef": {"name": "torch"}, "runtimePatches": list(patches)}
        return {"apiVersion": "trainer.kubeflow.org/v1alpha1", "kind": "TrainJob", "metadata": {"name": "a"}, "spec": spec}

    def patch(manager: str, label: str) -> dict[str, Any]:
        return {"manager": manager, "trainingRuntimeSpec": {"template": {"metadata": {"labels": {label: "x"}}}}}

    built = _build(tmp_path, [trainjob(patch("a/b", "a"))], [trainjob(patch("a/b", "b"), patch("a/c", "c"))], _merged(tmp_path, BASE))
    labels = {
        each["manager"]: each["trainingRuntimeSpec"]["template"]["metadata"]["labels"]
        for each in built["TrainJob"]["spec"]["runtimePatches"]
    }
    assert labels == {"a/b": {"a": "x", "b": "x"}, "a/c": {"c": "x"}}


def test_a_namespace_is_given_to_what_has_one(tmp_path: Path) -> None:
    pod = _containers("node", image="a:v1")
    resources = [_runtime("TrainingRuntime", pod), _runtime("ClusterTrainingRuntime", pod), JOB]
    built = _build(tmp_path, resources, [], _merged(tmp_path, BASE), namespace="team")
    assert {kind: document["metadata"].get("namespace") for kind, document in built.items()} == {
        "TrainingRuntime": "team",
        "ClusterTrainingRuntime": None,
        "PyTorchJob": "team",
    }
    without = _build(tmp_path, resources, [], None, namespace="team")
    assert without["ClusterTrainingRuntime"]["metadata"]["namespace"] == "team"


def test_merging_twice_changes_nothing() -> None:
    target = choose([])
    kinds = {
        kind: (getattr(models, kind), release_of(component, target)) for (_, kind), component in MODELS.items() if component in MODELLED
    }.values()
    once = with_kinds(BASE, kinds)
    assert with_kinds(once, kinds) == once
    assert json.loads(json.dumps(BASE)) == BASE
    assert BASE["definitions"].items() < once["definitions"].items()


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"swagger": "2.0"}', '{"definitions": []}', "definitions: {}"])
def test_a_base_that_is_none(text: str, tmp_path: Path) -> None:
    (tmp_path / "base.json").write_text(text)
    done = _jobspec("--base", str(tmp_path / "base.json"))
    message = "not an OpenAPI v2 document in JSON; `kubectl get --raw /openapi/v2` prints one"
    assert (done.returncode, done.stdout, done.stderr) == (2, "", f"jobspec: {tmp_path / 'base.json'}: {message}\n")


def test_a_base_that_is_not_there(tmp_path: Path) -> None:
    done = _jobspec("--base", str(tmp_path / "none.json"))
    assert (done.returncode, done.stderr) == (2, f"jobspec: {tmp_path / 'none.json'}: No such file or directory\n")


def test_without_a_cluster_the_document_has_all_kinds_and_is_small(tmp_path: Path) -> None:
    done = _jobspec(PATH=str(tmp_path))
    assert (done.returncode, done.stderr) == (0, "")
    assert _patched(tmp_path, done.stdout) == BOTH
    assert len(done.stdout) < 100_000


ENV = {"env": [{"name": "A", "value": "1"}], "image": "train:v1"}
OTHER = {"env": [{"name": "B", "value": "2"}]}


def _ray(pod: dict[str, Any]) -> dict[str, Any]:
    return {
        "apiVersion": "ray.io/v1",
        "kind": "RayJob",
        "metadata": {"name": "ray"},
        "spec": {"rayClusterSpec": {"headGroupSpec": {"template": pod}}},
    }


def _unknown(pod: dict[str, Any]) -> dict[str, Any]:
    return {"apiVersion": "example.com/v1", "kind": "Trainer", "metadata": {"name": "own"}, "spec": {"nodes": {"template": pod}}}


@pytest.mark.parametrize(
    "made", [_ray, _unknown, _deployment, _jobset, lambda pod: _pytorchjob(Worker=pod), lambda pod: _runtime("TrainingRuntime", pod)]
)
def test_the_kinds_of_a_repository_keep_what_patches_do_not_name(made: Any, tmp_path: Path) -> None:
    base, overlay = tmp_path / "base", tmp_path / "overlays" / "prod"
    overlay.mkdir(parents=True)
    base.mkdir()
    (tmp_path / ".git").mkdir()
    (base / "job.yaml").write_text(quick_yaml.dump(made(_containers("main", **ENV))))
    (base / "kustomization.yaml").write_text("resources: [job.yaml]\n")
    (overlay / "patch.yaml").write_text(quick_yaml.dump(made(_containers("main", **OTHER))))
    (overlay / "kustomization.yaml").write_text("# ours\nresources: [../../base]\npatches:\n- path: patch.yaml\n")
    done = run_here("schema", "kustomize", "--into", str(overlay))
    assert (done.returncode, done.stderr) == (0, "")
    assert (overlay / "kustomization.yaml").read_text().startswith("# ours\nresources: [../../base]\n")
    built = program("kubectl", "kustomize", overlay, check=True).stdout
    assert [each in built for each in ("train:v1", "name: A", "name: B")] == [True] * 3
    assert len((overlay / "kustomize-schema.json").read_text()) < 12_000
    again = run_here("schema", "kustomize", "--into", str(overlay))
    assert (again.returncode, again.stdout) == (0, f"{overlay / 'kustomize-schema.json'}\n")


def test_an_entry_of_another_schema_stays(tmp_path: Path) -> None:
    (tmp_path / "kustomization.yaml").write_text("openapi: {path: own.json}\n")
    done = run_here("schema", "kustomize", "--into", str(tmp_path))
    assert done.returncode == 2
    assert "its `openapi` names own.json, which is not a file of this repository" in done.stderr
    assert [each.name for each in tmp_path.iterdir()] == ["kustomization.yaml"]
