"""In the environments that operators really give to pods, the processes train together, or say why they do not."""

import json
import os
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.reference import ROOT, folder
from tests.trainer import idx
from trainer.config import Refusal, parse
from trainer.processes import Place, place

Pod = dict[str, str]

CASES = {path.stem: yaml.safe_load(path.read_text()) for path in sorted((ROOT / "tests" / "cases" / "environments").glob("*.yaml"))}
PROGRAMS = {
    "python": [sys.executable, "-m", "trainer"],
    "torchrun": [sys.executable, "-m", "torch.distributed.run", "-m", "trainer"],
}
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


def _start(program: str, pods: list[Pod], nodes: Path, *flags: str) -> list[subprocess.Popen[str]]:
    """Start the trainer in every pod, each in a folder of its own and with no more of our environment than programs need."""
    started = []
    for number, pod in enumerate(_on_loopback(pods)):
        node = nodes / str(number)
        node.mkdir()
        environment = {"PATH": os.environ["PATH"], "HOME": str(nodes), "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1", **pod}
        command = [*PROGRAMS[program], *flags]
        streams = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
        started.append(subprocess.Popen(command, cwd=node, env=environment, text=True, **streams))  # type: ignore[call-overload]
    return started


def _outputs(started: list[subprocess.Popen[str]], seconds: float) -> list[tuple[int, str]]:
    """What each process says until it ends, and how it ends; none is left behind."""
    until = time.monotonic() + seconds
    try:
        said = [process.communicate(timeout=until - time.monotonic())[0] for process in started]
        return [(process.returncode, text) for process, text in zip(started, said, strict=True)]
    finally:
        for process in started:
            with process:
                process.kill()


def _train_together(program: str, pods: list[Pod], world_size: int, digits: Path, nodes: Path) -> None:
    flags = [f"--data-dir={digits}", "--no-download", "--batch-size=20", "--test-batch-size=40"]
    outputs = _outputs(_start(program, pods, nodes, *flags), 240)
    assert [code for code, _ in outputs] == [0] * len(pods), outputs
    (metrics,) = nodes.glob("*/output/metrics.jsonl")  # the first process writes, alone
    assert metrics.parent.parent == nodes / "0"
    events = [json.loads(line) for line in metrics.read_text().splitlines()]
    assert [event["world_size"] for event in events if event["event"] == "run"] == [world_size]
    assert [event["step"] for event in events if event["event"] == "test"] == [240 // 20 // world_size]


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name, case in CASES.items() if "world_size" in case])
def test_pods_of_a_case_train_together(name: str, digits: Path, tmp_path: Path) -> None:
    _train_together(CASES[name]["program"], CASES[name]["pods"], CASES[name]["world_size"], digits, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("record", "program", "world_size"),
    [
        ("training-operator-1.9.4/probes/pytorchjob/plain.json", "python", 3),
        ("training-operator-1.9.4/corpus/kubeflow__training-operator/examples__pytorch__cpu-demo__demo@v1.9.0.json", "torchrun", 4),
        ("trainer-2.3.0/probes/trainjob/plain.json", "torchrun", 2),
        ("trainer-2.3.0/probes/trainjob/nproc-auto-cpu.json", "torchrun", 4),
    ],
)
def test_recorded_pods_train_together(record: str, program: str, world_size: int, digits: Path, tmp_path: Path) -> None:
    _train_together(program, _recorded(folder("golden", *record.split("/"))), world_size, digits, tmp_path)


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
    started = time.monotonic()
    outputs = _outputs(_start(CASES[name]["program"], CASES[name]["pods"], tmp_path, "--no-download"), 30)
    taken = time.monotonic() - started
    assert all(code and all(word in text for word in CASES[name]["refused"]) for code, text in outputs), outputs
    assert [path for node in tmp_path.iterdir() for path in node.iterdir()] == []
    assert taken < 2 * len(outputs)  # they share this machine's processors


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
