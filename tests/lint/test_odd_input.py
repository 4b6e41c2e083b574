"""Odd documents: whatever a server takes, lint does not crash on it; and what becomes of a job is not reported a second time."""

import json
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest

from jobspec.journey import checking
from jobspec.journey.outcomes import foresee
from jobspec.journey.steps import Source
from jobspec.lint.linting import lint
from jobspec.world.world import Cluster
from tests.hunt import folders
from tests.hunt.finds import report
from tests.support import quick_yaml
from tests.support.checking import checked
from tests.support.processes import run_here
from tests.support.reference import ROOT
from tests.support.seeds import seed

CASES = ROOT / "tests" / "cases"
ODD: list[Any] = [
    None,
    "",
    0,
    -1,
    1,
    [],
    {},
    "x",
    True,
    False,
    1.5,
    "${X}",
    10**9,
    ["a"],
    {"a": "b"},
    "Never",
    "auto",
    "16Gi",
    "=",
    "/dev/shm",
]
_TIMES = 100


def _paths(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield path
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for step, child in inside:
        yield from _paths(child, (*path, step))


def _with(data: Any, path: tuple[Any, ...], value: Any) -> Any:
    if not path:
        return value
    inner = _with(data[path[0]], path[1:], value)
    if isinstance(data, dict):
        return {**data, path[0]: inner}
    return [inner if index == path[0] else each for index, each in enumerate(data)]


@pytest.mark.slow
def test_odd_values_are_reported_or_passed_by() -> None:
    random = Random(seed())
    files = [list(quick_yaml.load_all(path.read_text())) for path in sorted((CASES / "lint").rglob("*.yaml"))]
    clusters = [Cluster(), Cluster({"trainer": "2.0", "training-operator": "1.7"}), Cluster({"trainer": "2.1"})]
    found = 0
    for _ in range(_TIMES):
        documents = list(random.choice(files))
        for _ in range(random.randint(1, 3)):
            at = random.randrange(len(documents))
            path = random.choice(list(_paths(documents[at]))[1:] or [()])
            documents[at] = _with(documents[at], path, random.choice(ODD))
        cluster = random.choice(clusters)
        text = "---\n".join(json.dumps(each) + "\n" for each in documents)
        file = foresee(checking.checked(Source("odd.yaml", text), (), cluster), cluster)
        found += sum(each.stage == "lint" for each in lint([file], cluster, lambda _: True)[0].diagnostics)
    assert found > _TIMES // 4


@pytest.mark.slow
def test_folders_with_mistakes_end_in_reports(tmp_path: Path) -> None:
    assert report(folders.finds(Random(seed()), tmp_path, count=20)) == ""


#: Lines at which an outcome and advice are reported of different things.
_BESIDE = {
    ("restarts-forever", "ttl-in-git"),
    ("never-fits", "no-deadline"),
    ("pods-refused", "host-namespaces"),
    ("never-submitted", "cluster-outlives-job"),
    ("no-rendezvous", "training-without-end"),
    ("no-rendezvous", "lost-exit-status"),
}


def test_what_becomes_of_a_job_is_reported_once() -> None:
    twice = set()
    for path in sorted((CASES / "outcome").glob("*.yaml")):
        for line, rules in _reported(path).items():
            twice |= {(outcome, advice) for outcome in rules["outcome"] for advice in rules["lint"] if line}
    assert twice <= _BESIDE


def _reported(path: Path) -> dict[int, dict[str, set[str]]]:
    cluster = Cluster()
    file = foresee(checked(path, cluster), cluster)
    by_line: dict[int, dict[str, set[str]]] = {}
    for each in lint([file], cluster)[0].diagnostics:
        stages = by_line.setdefault(each.mark.line, {"outcome": set(), "lint": set()})
        stages.setdefault(each.stage, set()).add(each.rule)
    return by_line


@pytest.mark.parametrize("left_out", ["apiVersion", "kind"])
def test_what_is_no_object_is_not_asked_about_beside_a_policy_that_changes_objects(left_out: str, tmp_path: Path) -> None:
    policies = (CASES / "engines" / "policy-of-create.yaml").read_text()
    given = {"apiVersion": "example.com/v1", "kind": "Given", "metadata": {"name": "a"}}
    del given[left_out]
    (tmp_path / "policies.yaml").write_text(policies)
    (tmp_path / "values.yaml").write_text(json.dumps(given))
    done = run_here("lint", ".", cwd=tmp_path)
    assert done.returncode in (0, 1), done.stderr


def test_an_update_of_a_jobset_whose_claim_template_has_no_spec_ends_in_a_report(tmp_path: Path) -> None:
    pod = {"restartPolicy": "Never", "containers": [{"name": "a", "image": "a:1"}]}
    jobs = [{"name": "a", "template": {"spec": {"template": {"spec": pod}}}}]
    spec = {"volumeClaimPolicies": [{"templates": [{"metadata": {"name": "a"}}]}], "replicatedJobs": jobs}
    job = {"apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet", "metadata": {"name": "a", "namespace": "a"}, "spec": spec}
    (tmp_path / "job.json").write_text(json.dumps(job))
    done = run_here("validate", "job.json", "--from", "job.json", cwd=tmp_path)
    assert done.returncode in (0, 1), done.stderr
