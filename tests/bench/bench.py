"""Whole processes side by side: jobspec against kubeconform (a Go program), and against a bare interpreter.

    python tests/bench/bench.py [--kubeconform PATH] [--crd FILE] [--runs N]

Prints the median wall time of each, and its ratio to kubeconform's in the same rounds. kubeconform validates the same
files by the JSON Schema that its users make of upstream's CRD (`--crd`), or by one without descriptions that is made
here of our model, and is quicker to load. jobspec is measured as users have it: installed into a virtual
environment, with byte code, which a checkout may lack.
"""

import argparse
import json
import shutil
import statistics
import subprocess
import tempfile
import time
import venv
from pathlib import Path
from typing import Any

import yaml

from jobspec.models import PyTorchJob
from jobspec.schemas import shape_of
from jobspec.targets import RELEASES

ROOT = Path(__file__).parent.parent.parent
JOB = ROOT / "tests" / "cases" / "guides" / "simple.yaml"


def json_schema(shape: dict[str, Any]) -> dict[str, Any]:
    """A shape as the strict JSON Schema that kubeconform's users convert CRDs to."""
    if shape["type"] in ("any", "int-or-string"):
        return {} if shape["type"] == "any" else {"type": ["integer", "string"]}
    schema: dict[str, Any] = {"type": shape["type"]}
    if "fields" in shape:
        schema["properties"] = {name: json_schema(child) for name, child in shape["fields"].items()}
        schema["additionalProperties"] = False
    if "required" in shape:
        schema["required"] = shape["required"]
    if "values" in shape:
        schema["additionalProperties"] = json_schema(shape["values"])
    if "items" in shape:
        schema["items"] = json_schema(shape["items"])
    return schema


def schema(crd: Path | None) -> dict[str, Any]:
    """What kubeconform is given: upstream's schema, closed to unknown fields as the usual converters do, or ours."""
    if crd is None:
        return json_schema(shape_of(PyTorchJob, list(RELEASES["training-operator"])[-1]))
    (version,) = yaml.safe_load(crd.read_text())["spec"]["versions"]
    root: dict[str, Any] = version["schema"]["openAPIV3Schema"]
    metadata = root["properties"].pop("metadata")
    close(root)
    root["properties"]["metadata"] = metadata
    return root


def close(node: Any) -> None:
    """Refuse unknown fields everywhere below."""
    if isinstance(node, dict):
        if "properties" in node and node.get("type") == "object":
            node.setdefault("additionalProperties", False)
        for child in node.values():
            close(child)


def installed(folder: Path) -> Path:
    """The programs of a fresh virtual environment with jobspec in it."""
    venv.create(folder, with_pip=True)
    subprocess.run([folder / "bin" / "pip", "install", "--quiet", "--disable-pip-version-check", ROOT], check=True)
    return folder / "bin"


def seconds(command: list[str]) -> float:
    """Wall time of one whole process, which has to succeed."""
    started = time.perf_counter()
    done = subprocess.run(command, capture_output=True, check=False)
    taken = time.perf_counter() - started
    assert done.returncode == 0, (command, done.stdout[-500:], done.stderr[-500:])
    return taken


def compare(title: str, commands: dict[str, list[str]], runs: int) -> None:
    """Run the commands in turn, round by round, and print medians and ratios to the first."""
    times: dict[str, list[float]] = {name: [] for name in commands}
    for number in range(runs + 1):
        for name, command in commands.items():
            taken = seconds(command)
            if number:  # the first round warms the file cache
                times[name].append(taken)
    peer, *_ = commands
    print(f"{title}, {runs} rounds")
    for name, taken in times.items():
        ratios = [one / other for one, other in zip(taken, times[peer], strict=True)]
        print(f"  {name:12} median {statistics.median(taken) * 1000:7.1f} ms   min {min(taken) * 1000:7.1f} ms   ", end="")
        print(f"{statistics.median(ratios):.2f} of {peer}")


def main() -> None:
    """Measure a cold start on one file, and 2,000 distinct files."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kubeconform", default=shutil.which("kubeconform"), help="the program, found on PATH by default")
    parser.add_argument("--crd", type=Path, help="upstream's CustomResourceDefinition of PyTorchJob")
    parser.add_argument("--runs", type=int, default=20)
    options = parser.parse_args()
    if not options.kubeconform:
        parser.error("kubeconform is not on PATH: name it with --kubeconform")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        programs = installed(folder / "venv")
        jobspec, python = str(programs / "jobspec"), str(programs / "python")
        (folder / "pytorchjob_v1.json").write_text(json.dumps(schema(options.crd)))
        peer = [options.kubeconform, "-schema-location", f"{folder}/{{{{.ResourceKind}}}}_{{{{.ResourceAPIVersion}}}}.json"]
        cold = {"kubeconform": [*peer, str(JOB)], "jobspec": [jobspec, "validate", str(JOB)], "python": [python, "-c", "pass"]}
        compare("one file, cold", cold, options.runs)
        many = folder / "many"
        many.mkdir()
        text = JOB.read_text()
        for number in range(2000):
            job = text.replace("pytorch-simple", f"pytorch-{number}").replace("--epochs=10", f"--epochs={number}")
            (many / f"{number}.yaml").write_text(job)
        compare("2,000 files", {"kubeconform": [*peer, str(many)], "jobspec": [jobspec, "validate", str(many)]}, max(options.runs // 4, 3))


if __name__ == "__main__":
    main()
