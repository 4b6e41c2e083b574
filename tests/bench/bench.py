"""Whole processes side by side: jobspec against kubeconform (a Go program), and against a bare interpreter.

    python tests/bench/bench.py [--kubeconform PATH] [--crds FOLDER] [--runs N]

Prints the median wall time of each, its ratio to the first one's in the same rounds, and the memory of its largest
process. kubeconform validates the same files by jobspec's own JSON Schemas, or with `--crds` by those that its users
make of upstream's CRDs. jobspec is measured as users have it: installed into a virtual environment, with byte code,
which a checkout may lack. Without kubeconform only what needs no peer is measured.
"""

import argparse
import json
import os
import shutil
import statistics
import subprocess
import tempfile
import time
import venv
from pathlib import Path
from typing import Any

import yaml

from jobspec.targets import RELEASES

ROOT = Path(__file__).parent.parent.parent
GUIDES = ROOT / "tests" / "cases" / "guides"
JOBS = {"PyTorchJob": GUIDES / "simple.yaml", "TrainJob": GUIDES / "trainjob.yaml"}
PLACES = {
    "PyTorchJob": ("training-operator", "kubeflow.org", "pytorchjob_v1"),
    "TrainJob": ("trainer", "trainer.kubeflow.org", "trainjob_v1alpha1"),
}
NUMBER = 2000


def newest(component: str) -> str:
    return list(RELEASES[component])[-1]


def schemas(crds: Path | None, folder: Path) -> str:
    """A folder of schemas for kubeconform, as its `--schema-location`."""
    folder.mkdir()
    for kind, (component, group, name) in PLACES.items():
        if crds is None:
            shutil.copy(ROOT / "schemas" / f"{component}-{newest(component)}" / group / f"{name}.json", folder)
        else:
            (crd,) = crds.glob(f"{kind.lower()}s.{group}@v{newest(component)}.yaml")
            (folder / f"{name}.json").write_text(json.dumps(converted(yaml.safe_load(crd.read_text()))))
    return f"{folder}/{{{{.ResourceKind}}}}_{{{{.ResourceAPIVersion}}}}.json"


def converted(crd: dict[str, Any]) -> dict[str, Any]:
    """A CRD's schema, closed to unknown fields as the usual converters do."""
    (version,) = crd["spec"]["versions"]
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


def write_many(folder: Path, *, broken: bool) -> Path:
    """Distinct files, half of them of several documents; with one mistake in each where *broken*."""
    folder.mkdir()
    jobs = [path.read_text() for path in JOBS.values()]
    for number in range(NUMBER):
        texts = [distinct(text, number) for text in (jobs if number % 2 else jobs[:1])]
        if broken:
            texts[0] = texts[0].replace("image:", "imagePulPolicy: Always\n" + " " * indent(texts[0], "image:") + "image:", 1)
        (folder / f"{number}.yaml").write_text("---\n".join(texts))
    return folder


def distinct(text: str, number: int) -> str:
    """The job under another name, with labels, image and arguments of its own."""
    name = yaml.safe_load(text)["metadata"]["name"]
    labelled = text.replace(f"name: {name}\n", f"name: job-{number}\n  labels:\n    number: n{number}\n", 1)
    return labelled.replace("--epochs=", f"--epochs={number}").replace("image: ", f"image: registry-{number}.example/")


def indent(text: str, word: str) -> int:
    line = next(line for line in text.splitlines() if line.lstrip("- ").startswith(word))
    return line.index(word)


def installed(folder: Path) -> Path:
    """The programs of a fresh virtual environment with jobspec in it."""
    venv.create(folder, with_pip=True)
    subprocess.run([folder / "bin" / "pip", "install", "--quiet", "--disable-pip-version-check", ROOT], check=True)
    return folder / "bin"


def measured(command: list[str], code: int) -> tuple[float, float]:
    """Wall time in seconds of one whole process, which ends with *code*, and the memory of its largest process in MB."""
    started = time.perf_counter()
    with tempfile.TemporaryFile() as output:
        process = subprocess.Popen(command, stdout=output, stderr=output)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        taken = time.perf_counter() - started
        output.seek(0)
        assert process.returncode == code, (command, output.read()[-1000:])
    return taken, usage.ru_maxrss / 1000


def compare(title: str, commands: dict[str, tuple[list[str], int]], runs: int) -> None:
    """Run the commands in turn, round by round, and print medians and ratios to the first."""
    times: dict[str, list[float]] = {name: [] for name in commands}
    memory = dict.fromkeys(commands, 0.0)
    for number in range(runs + 1):
        for name, (command, code) in commands.items():
            taken, memory[name] = measured(command, code)
            if number:  # the first round warms the file cache
                times[name].append(taken)
    peer, *_ = commands
    print(f"{title}, {runs} rounds")
    for name, taken_by in times.items():
        ratios = [one / other for one, other in zip(taken_by, times[peer], strict=True)]
        print(f"  {name:14} median {statistics.median(taken_by) * 1000:7.1f} ms   min {min(taken_by) * 1000:7.1f} ms   ", end="")
        print(f"{memory[name]:4.0f} MB   {statistics.median(ratios):.2f} of {peer}")


def main() -> None:
    """Measure a cold start on one job of each kind, and on many distinct files, sound and broken."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kubeconform", default=shutil.which("kubeconform"), help="the program, found on PATH by default")
    parser.add_argument("--crds", type=Path, help="a folder of upstream's CRDs, named PLURAL.GROUP@vRELEASE.yaml")
    parser.add_argument("--runs", type=int, default=20)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        programs = installed(folder / "venv")
        jobspec = [str(programs / "jobspec"), "validate"]
        bare = {"python": ([str(programs / "python"), "-c", "pass"], 0)}
        peer = [options.kubeconform or "", "-schema-location", schemas(options.crds, folder / "schemas")]
        many, broken = write_many(folder / "many", broken=False), write_many(folder / "broken", broken=True)

        def against_peer(path: Path) -> dict[str, tuple[list[str], int]]:
            return ({"kubeconform": ([*peer, str(path)], 0)} if options.kubeconform else {}) | {"jobspec": ([*jobspec, str(path)], 0)}

        if not options.kubeconform:
            print("kubeconform is not on PATH (name it with --kubeconform): nothing is compared with it")
        for kind, path in JOBS.items():
            compare(f"one {kind}, cold", against_peer(path) | bare, options.runs)
        few = max(options.runs // 4, 3)
        compare(f"{NUMBER:,} files", against_peer(many), few)
        wrong = {"sound": ([*jobspec, str(many)], 0), "one error each": ([*jobspec, str(broken)], 1)}
        compare(f"{NUMBER:,} files with one error in each", wrong, few)


if __name__ == "__main__":
    main()
