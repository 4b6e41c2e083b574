"""Ordinary jobs: the cases say which are, and the judgement of the whole job never has anything to say of one."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest

from jobspec.journey import checking
from jobspec.journey.outcomes import foresee
from jobspec.journey.steps import Source
from jobspec.outcome.ordinary import find_each_other
from jobspec.world.world import Cluster
from tests.agreement import corpus
from tests.hunt import ordinary
from tests.support import quick_yaml
from tests.support.processes import run_here
from tests.support.reference import ROOT
from tests.support.seeds import examples, seed

CASES = sorted((ROOT / "tests" / "cases" / "ordinary").glob("*.yaml"))
_JOBS = ("PyTorchJob", "TrainJob")


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_which_jobs_are_ordinary(path: Path) -> None:
    text = path.read_text()
    expected = ["# is ordinary" in each for each in text.split("\n---\n") if any(f"kind: {kind}\n" in each for kind in _JOBS)]
    found = list(ordinary.seen(text, ordinary.targets()[0]))
    assert [each.is_ordinary for each in found] == expected
    assert [each.job.name for each in found if each.wrong] == []
    assert len(expected) == sum("# is ordinary" in each or "# is judged" in each for each in text.splitlines())


@pytest.mark.parametrize("target", ordinary.targets(), ids=lambda target: "-".join((target["training-operator"], target["trainer"])))
def test_of_ordinary_jobs_nothing_is_to_be_said(target: dict[str, str]) -> None:
    tally: Counter[str] = Counter()
    for case in corpus.of_projects():
        if case.kind in _JOBS:
            for each in ordinary.seen(case.text, target):
                assert not each.wrong, (case.name, each.job.name, each.wrong)
                tally["ordinary" if each.is_ordinary else "reported" if each.said else "other"] += 1
                tally["accepted"] += each.has_ordinary_objects and bool(each.said)
    assert tally["reported"] > 20
    assert tally["accepted"] > 0
    if target["training-operator"] != "1.7.0":  # of that release no job is
        assert tally["ordinary"] > tally["other"]


def test_no_change_makes_an_ordinary_job_one_of_which_something_is_to_be_said() -> None:
    random = Random(seed())
    found = list(ordinary.finds(random, count=examples(settled=60, fresh=600)))
    assert [str(each) for each in found] == []


@pytest.mark.parametrize(
    ("words", "is_reported"),
    [
        ("train.py --standalone=no", True),
        ("--standalone train.py", False),
        ("--max_restarts=3 -m trainer --epochs 3", True),
        ("--rdzv-backend c10d train.py", False),
        ("--nnodes=2 train.py", True),
        ("--nnodes 2 train.py", True),
        ("--nnodes=1:1 train.py", False),
        ("--nnodes 1 train.py", False),
        ("--node_rank=$(RANK) train.py", True),
        ("--node-rank=first train.py", False),
        ("--nproc-per train.py", True),
        ("--monitor-interval=3 train.py", True),
        ("--no-python=1 train.py", False),
        ("--help", True),
        ("--rdzv-id", False),
        ("", True),
    ],
)
def test_what_torchrun_is_surely_given(words: str, *, is_reported: bool) -> None:
    options = {"launchers_meet": True, "has_ranks": False}
    assert find_each_other(["torchrun", *words.split()], 2, "auto", **options) is is_reported


def test_a_job_that_no_webhook_has_seen_is_judged_as_a_whole() -> None:
    container = {"name": "other", "image": "a:1"}
    roles = {"Worker": {"template": {"spec": {"containers": [container]}}}}
    job = {"apiVersion": "kubeflow.org/v1", "kind": "PyTorchJob", "metadata": {"name": "a"}, "spec": {"pytorchReplicaSpecs": roles}}
    cluster = Cluster(ordinary.targets()[0], webhooks=False)
    checked = foresee(checking.checked(Source("job.yaml", quick_yaml.dump(job)), [], cluster), cluster)
    assert [each.rule for each in checked.result.diagnostics] == ["refused-by-operator"]


@pytest.mark.parametrize(
    ("case", "options", "rule"),
    [
        ("scale.yaml", ["--overlay", "istio-off"], "operator-crash"),
        ("missing-field.yaml", ["--overlay", "istio-off", "--target", "training-operator=1.7"], "missing-field"),
    ],
)
def test_jobs_that_no_webhook_has_seen_may_lack_anything(case: str, options: list[str], rule: str) -> None:
    done = run_here("validate", ROOT / "tests" / "cases" / "validate" / case, *options)
    assert (done.returncode, done.stderr) == (1, "")
    assert f"[{rule}]" in done.stdout


def _templates() -> Iterator[tuple[str, dict[str, Any]]]:
    """The templates of all Pods among the cases of `validate` and of updates, with the names of their containers made one that trains."""
    for path in sorted((ROOT / "tests" / "cases").glob("*/*.yaml")):
        if "kind: Pod\n" in (text := path.read_text()):
            for document in quick_yaml.load_all(text):
                if isinstance(document, dict) and document.get("kind") == "Pod" and isinstance(document.get("spec"), dict):
                    metadata = {name: each for name, each in (document.get("metadata") or {}).items() if name in ("labels", "annotations")}
                    yield f"{path.name}: {document['metadata'].get('name')}", {"metadata": metadata, "spec": document["spec"]}


def test_no_pod_of_which_a_rule_has_something_to_say_is_that_of_an_ordinary_job() -> None:
    """Each rule about pods has a case that trips it: as the pod of a job, in which the container that trains is the first."""
    tally: Counter[bool] = Counter()
    for name, template in _templates():
        containers = template["spec"].get("containers")
        if not isinstance(containers, list) or not containers or not isinstance(containers[0], dict):
            continue
        spec = {**template["spec"], "containers": [{"image": "a:1", **containers[0], "name": "pytorch"}, *containers[1:]]}
        job = {"apiVersion": "kubeflow.org/v1", "kind": "PyTorchJob", "metadata": {"name": "a"}, "spec": {}}
        job["spec"] = {"pytorchReplicaSpecs": {"Master": {"replicas": 1, "template": {**template, "spec": spec}}}}
        for each in ordinary.seen(quick_yaml.dump(job), ordinary.targets()[0]):
            assert not each.wrong, (name, each.wrong)
            tally[each.is_ordinary] += 1
    assert tally[True] > 10
    assert tally[False] > 50
