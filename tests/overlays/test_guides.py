"""The jobs of public guides come out of plain bases and overlays, equal as data to the guides' own."""

import json
import re
import textwrap
from pathlib import Path
from typing import Any

import pytest

from tests.support import quick_yaml
from tests.support.processes import program, run_here
from tests.support.reference import ROOT, folder
from tests.support.server import kubeconfig

CASES = ROOT / "tests" / "cases" / "guides"


def _guide(number: str) -> str:
    (path,) = folder("seeds").glob(f"{number}_*.txt")
    return path.read_text()


def _jobs(number: str) -> list[str]:
    """The text of each PyTorchJob in a guide, whatever the guide's markup around it."""
    found = re.findall(r'^( *apiVersion: "?kubeflow.org/v1"?\n *kind: .*?)(?=\n\s*(?:```|EOF))', _guide(number), re.DOTALL | re.MULTILINE)
    return [textwrap.dedent(text) for text in found]


def _render(base: str, *arguments: str | Path) -> Any:
    done = run_here("render", CASES / base, *arguments)
    assert (done.returncode, done.stderr) == (0, "")
    return quick_yaml.load(done.stdout)


def test_guide_000() -> None:
    guide = _guide("000")
    (nodes,), (cpus,), (memory,) = (re.findall(rf"{name}[=:] *(\S+),", guide) for name in ("num_nodes", '"cpu"', '"memory"'))
    (runtime,) = re.findall(r"runtime.name == \"([^\"]*)\"", guide)
    job = _render("trainjob.yaml", "--overlay", "cpu", "--set", f"cpu.cpus={cpus}", "--set", f"cpu.memory={json.loads(memory)}")
    resources = {"cpu": cpus, "memory": json.loads(memory)}
    assert job["spec"]["runtimeRef"]["name"] == runtime
    assert job["spec"]["trainer"]["numNodes"] == int(nodes)
    assert job["spec"]["trainer"]["resourcesPerNode"] == {"requests": resources, "limits": resources}


def test_guide_001() -> None:
    written, _ = _jobs("001")
    assert _render("simple.yaml", "--overlay", CASES / "simple-once.yaml") == quick_yaml.load(written)


def test_guide_002_on_cpus() -> None:
    written, _ = _jobs("002")
    overlays = ["--overlay", "istio-off", "--set", "istio-off.form=annotation", "--overlay", "pvc-output"]
    assert _render("distributed.yaml", *overlays) == quick_yaml.load(written)


def test_guide_002_on_gpus_from_the_same_base() -> None:
    _, written = _jobs("002")
    overlays = [
        "--overlay",
        "istio-off",
        "--set",
        "istio-off.form=annotation",
        "--overlay",
        "pvc-output",
        "--overlay",
        "gpu-nccl",
        "--set",
        "gpu-nccl.backend=nccl",
    ]
    assert _render("distributed.yaml", *overlays, "--overlay", CASES / "distributed-gpu.yaml") == quick_yaml.load(written)


def test_guide_004() -> None:
    (written,) = _jobs("004")
    overlays = ["--overlay", "istio-off", "--set", "istio-off.form=annotation", "--overlay", "gpu-nccl"]
    assert _render("mnist.yaml", *overlays, "--overlay", CASES / "mnist-arguments.yaml") == quick_yaml.load(written)


@pytest.mark.parametrize(("number", "count"), [("001", 2), ("002", 2), ("004", 1)])
def test_the_jobs_of_the_guides_are_valid(number: str, count: int) -> None:
    jobs = _jobs(number)
    done = run_here("validate", "-", "-o", "json", stdin="\n---\n".join(jobs))
    assert len(jobs) == count
    assert json.loads(done.stdout)["summary"] == {
        "documents": count,
        "valid": count,
        "invalid": 0,
        "partly": 0,
        "skipped": 0,
        "willNotRun": 0,
    }


def test_the_exported_job_of_guide_001_is_what_a_server_takes() -> None:
    _, exported = _jobs("001")
    job = quick_yaml.load(exported)
    assert job["status"]["conditions"]
    assert job["metadata"]["resourceVersion"] == "53223"
    assert run_here("validate", "-", stdin=exported).returncode == 0


@pytest.mark.parametrize(
    "overlays",
    [
        ["--overlay", "cpu", "--set", "cpu.cpus=2", "--set", "cpu.memory=4Gi", "--set", "cpu.backend=gloo"],
        ["--overlay", "gpu-nccl", "--overlay", "istio-off", "--set", "gpu-nccl.gpus=2"],
        ["--overlay", "pvc-output", "--set", "pvc-output.create=true", "--set", "pvc-output.class=fast"],
    ],
    ids=lambda overlays: str(overlays[1]),
)
def test_a_server_takes_what_is_rendered(overlays: list[str]) -> None:
    rendered = run_here("render", CASES / "distributed.yaml", *overlays)
    assert (rendered.returncode, rendered.stderr) == (0, "")
    command = ["kubectl", f"--kubeconfig={kubeconfig()}", "apply", "--server-side", "--dry-run=server", "--filename=-"]
    done = program(*command, stdin=rendered.stdout)
    assert (done.returncode, done.stderr) == (0, "")
