"""Lua and CEL say of jobs what became of them: of objects that real operators wrote, and of all recorded conditions.

Where no Ray runs, KubeRay cannot write that it has finished or serves: RayJobs that run, end or were stopped by Ray, and RayServices that
serve, are upgraded or suspended, have the status that KubeRay's code writes.
"""

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from jobspec.project.engines.argocd_health import SCRIPTS, customizations
from jobspec.project.engines.flux_health import HEALTH_CHECK_EXPRS, health_checks, until_failure
from tests.support import cel_health, lua, quick_yaml, reference

_CASES = reference.ROOT / "tests" / "cases" / "health"
_STATES = {"Healthy": "Current", "Degraded": "Failed", "Progressing": "InProgress", "Suspended": "InProgress"}
_EXPRESSIONS = {each["kind"]: each for each in HEALTH_CHECK_EXPRS}

#: The kinds whose state is one of their conditions, one of which is `Failed`.
_WITH_CONDITIONS = {kind for _, kind in SCRIPTS} - {"RayJob", "RayCluster", "RayService", "LeaderWorkerSet"}

#: What each sequence of conditions in the records means.
_RECORDED = {
    "PyTorchJob": {
        (): "Progressing",
        ("Created",): "Progressing",
        ("Created", "Running"): "Progressing",
        ("Created", "Suspended"): "Suspended",
    },
    "TrainJob": {
        (): "Progressing",
        ("Complete",): "Healthy",
        ("Suspended",): "Suspended",
    },
}


def _cases() -> Iterator[Any]:
    """Upstream's form: beside each script, objects in `testdata` and what it has to say of them."""
    for file in sorted(_CASES.rglob("health_test.yaml")):
        for case in quick_yaml.load(file.read_text())["tests"]:
            path = file.parent / case["inputPath"]
            yield pytest.param(path, case["healthStatus"], id=f"{file.parent.name}-{path.stem}")


_ALL = list(_cases())


def _script(resource: dict[str, Any]) -> str:
    group = resource["apiVersion"].partition("/")[0]
    return customizations()[f"resource.customizations.health.{group}_{resource['kind']}"]


@pytest.mark.parametrize(("path", "expected"), _ALL)
def test_lua_on_objects_of_real_operators(path: Path, expected: dict[str, str]) -> None:
    resource = quick_yaml.load(path.read_text())
    assert lua.health(_script(resource), resource) == expected


@pytest.mark.parametrize(("path", "expected"), _ALL)
def test_of_three_cel_expressions_one_is_true_of_objects_of_real_operators(path: Path, expected: dict[str, str]) -> None:
    resource = quick_yaml.load(path.read_text())
    if resource["kind"] == "Job":
        assert "Job" not in _EXPRESSIONS  # Flux would not ask
    else:
        expressions = _EXPRESSIONS[resource["kind"]]
        found = {name: cel_health.value(expressions[name], resource) for name in ("inProgress", "failed", "current")}
        assert found == {name: name.lower() == _STATES[expected["status"]].lower() for name in found}


@pytest.mark.parametrize(("path", "expected"), _ALL)
def test_without_waiting_a_job_is_healthy_until_it_has_failed(path: Path, expected: dict[str, str]) -> None:
    resource = quick_yaml.load(path.read_text())
    expressions = _EXPRESSIONS.get(resource["kind"])
    if expressions:
        state = cel_health.health(until_failure(expressions), resource)
        assert state == ("Failed" if expected["status"] == "Degraded" else "Current")


@pytest.mark.parametrize(("group", "kind"), SCRIPTS)
def test_each_kind_has_cases_of_each_health(group: str, kind: str) -> None:
    folder = _CASES / group / kind
    tests = quick_yaml.load((folder / "health_test.yaml").read_text())["tests"]
    never = {"Degraded", "Suspended"} if kind == "LeaderWorkerSet" else set()
    assert {each["healthStatus"]["status"] for each in tests} == set(_STATES) - never
    assert {each["inputPath"] for each in tests} == {f"testdata/{each.name}" for each in (folder / "testdata").iterdir()}


def test_each_script_is_of_some_kind() -> None:
    scripts = reference.ROOT / "jobspec" / "project" / "health" / "lua"
    assert {each.name for each in scripts.iterdir()} == set(SCRIPTS.values())


def _scripts_with_conditions() -> set[str]:
    return {script for key, script in customizations().items() if key.rpartition("_")[2] in _WITH_CONDITIONS}


def test_the_first_meaning_that_is_true_decides_whatever_the_order_of_conditions() -> None:
    finished = [{"type": "Suspended", "status": "True", "message": "b"}, {"type": "Failed", "status": "True", "message": "a"}]
    for conditions in (finished, finished[::-1]):
        for script in _scripts_with_conditions():
            assert lua.health(script, {"status": {"conditions": conditions}}) == {"status": "Degraded", "message": "a"}


@pytest.mark.parametrize("resource", [{}, {"status": {}}, {"status": {"conditions": []}}, {"status": {"conditions": [{"type": "Odd"}]}}])
def test_lua_on_what_has_no_conditions_yet(resource: dict[str, Any]) -> None:
    for key, script in customizations().items():
        kind = key.rpartition("_")[2]
        found = lua.health(script, {"kind": kind, **resource})
        assert found["status"] == "Progressing"
        assert found["message"].startswith(f"{kind} ")


def test_lua_on_a_condition_without_a_message() -> None:
    for script in _scripts_with_conditions():
        condition = {"type": "Failed", "status": "True"}
        assert lua.health(script, {"status": {"conditions": [{**condition, "reason": "R"}]}})["message"] == "R"
        assert lua.health(script, {"status": {"conditions": [condition]}})["message"] == "Failed"


_WRITTEN = {"manager": "operator", "subresource": "status"}


@pytest.mark.parametrize(
    "resource",
    [
        {"metadata": {"managedFields": [{"manager": "flux"}]}},
        {"metadata": {"managedFields": [_WRITTEN]}, "status": {}},
        {"metadata": {"managedFields": [_WRITTEN]}, "status": {"conditions": []}},
        {"metadata": {}, "status": {}},
    ],
)
def test_cel_on_what_has_no_conditions_yet(resource: dict[str, Any]) -> None:
    assert {each["kind"]: cel_health.health(each, resource) for each in HEALTH_CHECK_EXPRS} == dict.fromkeys(_EXPRESSIONS, "InProgress")


@pytest.mark.parametrize("kind", _RECORDED)
def test_lua_and_cel_on_all_recorded_conditions(kind: str) -> None:
    recorded = list(_recorded(kind))
    assert len(recorded) > 200
    assert {conditions for conditions, _ in recorded} == _RECORDED[kind].keys()
    for conditions, resource in recorded:
        expected = _RECORDED[kind][conditions]
        assert lua.health(_script(resource), resource)["status"] == expected
        assert cel_health.health(_EXPRESSIONS[kind], resource) == _STATES[expected]


def _recorded(kind: str) -> Iterator[tuple[tuple[str, ...], dict[str, Any]]]:
    """The conditions of each recorded job that are true, and the job with the status that holds them."""
    for file in sorted(reference.folder("golden").glob("*-*/**/*.json")):
        record = json.loads(file.read_text())
        for name, conditions in record["conditions"].items():
            stored = next(each["stored"] for each in record["documents"] if _named(each.get("stored")) == name)
            if stored["kind"] == kind:
                assert all(each["status"] == "True" for each in conditions)
                status = {"status": {"conditions": conditions}} if conditions else {}
                managers = [{"manager": "kubectl"}, *([_WRITTEN] if conditions else [])]
                job = {**stored, "metadata": {**stored["metadata"], "managedFields": managers}, **status}
                yield tuple(each["type"] for each in conditions), job


def _named(stored: dict[str, Any] | None) -> str:
    return f"{stored['kind']}/{stored['metadata']['name']}" if stored else ""


@pytest.mark.parametrize("kind", ["JobSet", "Job"])
def test_lua_on_all_recorded_objects_that_operators_made(kind: str) -> None:
    """They are recorded as they were made, without a status."""
    made = [
        each
        for file in sorted(reference.folder("golden").glob("*-*/**/*.json"))
        for each in json.loads(file.read_text())["created"]
        if each["kind"] == kind
    ]
    assert len(made) > 200
    (script,) = (script for key, script in customizations().items() if key.endswith(f"_{kind}"))
    assert {lua.health(script, each)["status"] for each in made} == {"Progressing"}


def test_a_kustomization_looks_at_the_kinds_of_its_tree() -> None:
    of_jobs = ["PyTorchJob", "TrainJob", "JobSet"]
    assert [each["kind"] for each in health_checks((), until_the_end=True)] == of_jobs
    found = health_checks([("ray.io", "RayCluster"), ("kubeflow.org", "MPIJob")], until_the_end=True)
    assert [each["kind"] for each in found] == [*of_jobs, "MPIJob", "RayCluster"]
    assert [each["kind"] for each in health_checks((), until_the_end=False)] == [*of_jobs, "PersistentVolumeClaim"]


def test_lua_and_cel_of_a_ray_cluster_or_service_that_has_changed_wait_for_the_operator() -> None:
    ready = [{"type": each, "status": "True"} for each in ("RayClusterProvisioned", "HeadPodReady", "Ready")]
    for kind in ("RayCluster", "RayService"):
        for seen, states in ((1, ("Progressing", "InProgress")), (2, ("Healthy", "Current"))):
            status = {"observedGeneration": seen, "conditions": ready}
            resource = {"kind": kind, "metadata": {"generation": 2}, "status": status}
            script = customizations()[f"resource.customizations.health.ray.io_{kind}"]
            assert (lua.health(script, resource)["status"], cel_health.health(_EXPRESSIONS[kind], resource)) == states


def _library() -> str:
    """The expressions as Flux's own page of expressions has them: a heading for each kind, and the entry of `healthCheckExprs`."""
    sections = []
    for each in sorted(HEALTH_CHECK_EXPRS, key=lambda one: one["kind"]):
        lines = [f"  - apiVersion: {each['apiVersion']}", f"    kind: {each['kind']}"]
        lines += [f"    {name}: {json.dumps(each[name])}" for name in ("inProgress", "failed", "current")]
        sections.append("\n".join([f"### `{each['kind']}`", "", "```yaml", "healthCheckExprs:", *lines, "```", ""]))
    return "\n".join(sections)


def test_the_page_has_the_expressions_of_all_kinds() -> None:
    page = reference.ROOT / "docs" / "reference" / "health.md"
    before, heading, _ = page.read_text().partition("## Expressions for Flux\n")
    if os.environ.get("JOBSPEC_WRITE_CASES"):
        page.write_text(f"{before}{heading}\n{_library()}")
    assert page.read_text() == f"{before}{heading}\n{_library()}"
    assert all(f"| {kind} |" in before for _, kind in SCRIPTS)
