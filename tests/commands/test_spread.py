"""Work that is spread over processes."""

import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from jobspec.cli import main
from jobspec.session.processes import alike_together
from jobspec.session.spreading import spread
from tests.support.reference import ROOT

CASES = ROOT / "tests" / "cases"


@pytest.fixture(autouse=True)
def two_processors(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("jobspec.session.spreading.processors", lambda: 2)


def _patiently(number: int) -> tuple[int, int]:
    """The number, and the process that had it, which gives others the time to start."""
    time.sleep(0.01)
    return number, os.getpid()


def test_results_come_in_the_order_of_their_items_from_several_processes() -> None:
    found = spread(range(60), _patiently)
    assert [number for number, _ in found] == list(range(60))
    assert len({pid for _, pid in found}) == 2


def test_neighbours_are_worked_on_in_one_process() -> None:
    found = spread(range(165), _patiently)
    assert [number for number, _ in found] == list(range(165))
    rows = [{pid for _, pid in found[start : start + 10]} for start in range(1, 165, 10)]
    assert [len(row) for row in rows] == [1] * 17
    assert len(set.union(*rows)) == 2


def test_what_is_alike_is_worked_on_in_one_process() -> None:
    """Of 40 kinds that take turns, each is in one row, but for those at the ends of rows."""
    found = alike_together(range(400), _patiently, lambda number: (number % 40, number), spread)
    assert [number for number, _ in found] == list(range(400))
    processes = [{pid for number, pid in found if number % 40 == kind} for kind in range(40)]
    assert sum(len(each) > 1 for each in processes) <= 16
    assert len(set.union(*processes)) == 2


def test_who_is_done_takes_what_others_have_not_begun() -> None:
    own = os.getpid()

    def work(_: int) -> int:
        time.sleep(0.01 if os.getpid() == own else 0.2)
        return os.getpid()

    assert spread(range(33), work).count(own) > 20


def test_the_first_item_is_worked_on_before_others_start() -> None:
    loaded: list[int] = []

    def work(number: int) -> list[int]:
        loaded.append(number)
        return loaded[:1]

    assert spread(range(7), work) == [[0]] * 7
    assert spread([], work) == []


_OWN = os.getpid()


def _fails(number: int) -> int:
    time.sleep(0.1)
    if os.getpid() != _OWN:
        raise ValueError("no good")
    return number


def _makes_a_function(number: int) -> Callable[[], int]:
    time.sleep(0.1)
    return lambda: number


@pytest.mark.parametrize(("work", "error", "said"), [(_fails, ValueError, "no good"), (_makes_a_function, AttributeError, "pickle")])
def test_what_ends_a_worker_is_reported(work: Callable[[int], object], error: type[Exception], said: str) -> None:
    with pytest.raises(error, match=said) as caught:
        spread(range(9), work)
    assert "In a worker process" in caught.value.__notes__[0]


def test_an_error_ends_the_work_of_all(tmp_path: Path) -> None:
    def work(number: int) -> int:
        (tmp_path / str(number)).touch()
        time.sleep(0.02)
        if os.getpid() == _OWN and number:
            raise ValueError("no good")
        return number

    with pytest.raises(ValueError, match="no good"):
        spread(range(170), work)
    assert len(list(tmp_path.iterdir())) < 60


_CHANGING = """\
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicy
metadata: {name: labelled}
spec:
  matchConstraints:
    resourceRules: [{apiGroups: [trainer.kubeflow.org], apiVersions: ["*"], operations: [CREATE], resources: [trainjobs]}]
  reinvocationPolicy: Never
  mutations:
  - patchType: ApplyConfiguration
    applyConfiguration: {expression: 'Object{metadata: Object.metadata{labels: {"team": "nlp"}}}'}
---
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicyBinding
metadata: {name: labelled}
spec: {policyName: labelled}
"""
_RUNTIME = """\
apiVersion: trainer.kubeflow.org/v1alpha1
kind: ClusterTrainingRuntime
metadata: {name: own, labels: {trainer.kubeflow.org/framework: plain}}
spec:
  template:
    spec:
      replicatedJobs:
      - name: node
        template: {spec: {template: {spec: {restartPolicy: Always, containers: [{name: node, image: "ghcr.io/acme/train:1"}]}}}}
"""
_JOB = """\
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata: {name: job}
spec: {runtimeRef: {name: own}}
"""


def _reported(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    assert main([*arguments, "-o", "json"]) in (0, 1)
    return capsys.readouterr().out


def _assert_same_in_several_processes(command: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    by_several = _reported([command, "."], capsys)
    monkeypatch.setattr("jobspec.session.processes._WORTH_SPREADING", 10_000)
    assert _reported([command, "."], capsys) == by_several


def test_jobs_that_a_policy_changes_are_judged_by_a_runtime_of_another_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, text in {"policy": _CHANGING, "runtime": _RUNTIME, **{f"job-{number}": _JOB for number in range(50)}}.items():
        (tmp_path / f"{name}.yaml").write_text(text)
    monkeypatch.chdir(tmp_path)
    _assert_same_in_several_processes("validate", monkeypatch, capsys)


@pytest.mark.slow
@pytest.mark.parametrize("room", ["lint", "outcome", "policies"])
@pytest.mark.parametrize("command", ["lint", "validate"])
def test_files_with_every_kind_of_finding_are_judged_the_same_in_several_processes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], command: str, room: str
) -> None:
    for number, path in enumerate(sorted((CASES / room).glob("*.yaml"))):
        (tmp_path / f"{number:03}.yaml").write_bytes(path.read_bytes())
    monkeypatch.chdir(tmp_path)
    _assert_same_in_several_processes(command, monkeypatch, capsys)
