"""In the environments that operators really give to pods, the processes train together, or say why they do not."""

import json
import os
import resource
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.support import quick_yaml
from tests.support.reference import ROOT, folder
from tests.trainer import idx, jobs
from trainer.config import Refusal, parse
from trainer.processes import Place, place

Pod = dict[str, str]

CASES = {path.stem: quick_yaml.load(path.read_text()) for path in sorted((ROOT / "tests" / "cases" / "environments").glob("*.yaml"))}
#: The container that the operator looks for.
CONTAINERS = {"training-operator": "pytorch", "trainer": "node"}
INDEX = "batch.kubernetes.io/job-completion-index"


@pytest.fixture(scope="module")
def digits(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return idx.write(tmp_path_factory.mktemp("digits"), train=240, test=80)


def _recorded(record: Path) -> list[Pod]:
    """The environment of the training container of each pod in a record; empty where the operator prepared none."""
    release = record.relative_to(folder("golden")).parts[0]
    name = CONTAINERS[release.rpartition("-")[0]]
    made = [each for each in json.loads(record.read_text()).get("created", []) if each["kind"] == "Pod"]
    pods = [(pod["metadata"], container) for pod in made for container in pod["spec"]["containers"] if container["name"] == name]
    found = [_environment(metadata, container.get("env", [])) for metadata, container in pods]
    return found if any(name.startswith("PET_") for pod in found for name in pod) else []


def _environment(metadata: dict[str, Any], entries: list[dict[str, Any]]) -> Pod:
    """The values of a container's environment as the kubelet resolves them; secrets and the like are none of the operators'."""
    values = {}
    for entry in entries:
        if "value" in entry:
            values[entry["name"]] = entry["value"]
        elif INDEX in entry.get("valueFrom", {}).get("fieldRef", {}).get("fieldPath", ""):
            values[entry["name"]] = metadata["annotations"][INDEX]
    return values


def _on_loopback(pods: list[Pod]) -> list[Pod]:
    """The same environments on this machine: its address, and a port that is free, for those of the operator."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    ours = {"ADDR": "127.0.0.1", "PORT": port, "ENDPOINT": f"127.0.0.1:{port}"}
    places = ("MASTER_ADDR", "MASTER_PORT", "RDZV_ENDPOINT")
    return [{name: ours[name.rpartition("_")[2]] if name.endswith(places) else value for name, value in pod.items()} for pod in pods]


def _train_together(program: str, pods: list[Pod], world_size: int, digits: Path, nodes: Path) -> None:
    flags = [f"--data-dir={digits}", "--no-download", "--batch-size=20", "--test-batch-size=40"]
    started = [jobs.start(nodes / str(number), *flags, program=program, environment=pod) for number, pod in enumerate(_on_loopback(pods))]
    assert [process.ends(seconds=240) for process in started] == [0] * len(pods), [process.log.read_text() for process in started]
    (metrics,) = nodes.glob("*/output/metrics.jsonl")  # the first process writes, alone
    assert metrics.parent.parent == nodes / "0"
    events = [json.loads(line) for line in metrics.read_text().splitlines()]
    assert [event["world_size"] for event in events if event["event"] == "run"] == [world_size]
    assert [event["step"] for event in events if event["event"] == "test"] == [240 // 20 // world_size]


@pytest.mark.parametrize("name", [name for name, case in CASES.items() if "world_size" in case])
def test_pods_of_a_case_train_together(name: str, digits: Path, tmp_path: Path) -> None:
    _train_together(CASES[name]["program"], CASES[name]["pods"], CASES[name]["world_size"], digits, tmp_path)


@pytest.mark.parametrize(
    ("record", "program", "world_size"),
    [
        ("training-operator-1.9.4/probes/pytorchjob/plain.json", "python", 3),
        ("training-operator-1.9.4/corpus/kubeflow__training-operator/examples__pytorch__cpu-demo__demo@v1.9.0.json", "torchrun", 4),
        ("trainer-2.3.0/probes/trainjob/nproc-auto-cpu.json", "torchrun", 4),
    ],
)
def test_recorded_pods_train_together(record: str, program: str, world_size: int, digits: Path, tmp_path: Path) -> None:
    _train_together(program, _recorded(folder("golden", *record.split("/"))), world_size, digits, tmp_path)


def test_the_case_of_a_trainjob_is_what_the_operator_gives() -> None:
    recorded = _recorded(folder("golden", "trainer-2.3.0", "probes", "trainjob", "plain.json"))
    assert [pod | {"PET_MASTER_ADDR": "job-node-0-0.job"} for pod in recorded] == CASES["trainjob"]["pods"]


def _places(pods: list[Pod]) -> list[Place | str]:
    """Where each pod's environment puts a process of plain python, or what is said against it."""
    found: list[Place | str] = []
    for pod in pods:
        try:
            found.append(place(pod, parse([])))
        except Refusal as refusal:
            found.append(str(refusal))
    return found


@pytest.mark.parametrize("name", [name for name, case in CASES.items() if case["program"] == "python"])
def test_places_of_a_case(name: str) -> None:
    places = _places(CASES[name]["pods"])
    if "refused" in CASES[name]:
        assert all(isinstance(each, str) and all(word in each for word in CASES[name]["refused"]) for each in places), places
    else:
        assert places == [Place(rank, len(places), node_rank=rank) for rank in range(len(places))]


@pytest.mark.parametrize("name", [name for name, case in CASES.items() if "refused" in case])
def test_refusing_takes_no_two_seconds_and_leaves_nothing(name: str, tmp_path: Path) -> None:
    before = sum(resource.getrusage(resource.RUSAGE_CHILDREN)[:2])
    pods = [_cold(tmp_path / str(number), pod) for number, pod in enumerate(CASES[name]["pods"])]
    said = [pod.communicate(timeout=60)[0] for pod in pods]
    # Seconds of work, which a busy machine does not stretch: nothing waits here.
    assert sum(resource.getrusage(resource.RUSAGE_CHILDREN)[:2]) - before < 2 * len(pods)
    assert all(pod.returncode for pod in pods)
    assert all(word in text for text in said for word in CASES[name]["refused"]), said
    assert [path for node in tmp_path.iterdir() for path in node.iterdir()] == []


def _cold(node: Path, pod: Pod) -> subprocess.Popen[str]:
    """Start the trainer with nothing imported yet, in a folder of its own and with no more of our environment than programs need."""
    node.mkdir()
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT), **pod}
    command = [sys.executable, "-m", "trainer", "--no-download"]
    return subprocess.Popen(command, cwd=node, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def test_no_recorded_job_trains_apart_under_plain_python() -> None:
    together, apart = 0, []
    for record in sorted(folder("golden").glob("*/*/**/*.json")):
        found = [each for each in _places(_recorded(record)) if isinstance(each, Place)]
        ranks, sizes = {each.rank for each in found}, {each.world_size for each in found}
        if len(ranks) < len(found) or len(sizes) > 1:
            apart.append(str(record))
        together += len(found) > 1 and sizes == {len(found)}
    assert apart == []
    assert together > 400
