"""Overlays on jobs: the cases in `tests/cases/overlays`, and the shipped ones through the command line."""

import json
import pickle
import re
from pathlib import Path
from typing import Any

import pytest

from jobspec.apis.releases import choose
from jobspec.documents.reader import read
from jobspec.overlays.apply import apply
from jobspec.overlays.load import shipped
from jobspec.session.inputs import load_overlays
from jobspec.world.world import Cluster
from tests.support import quick_yaml
from tests.support.cases import assert_reported, expectations
from tests.support.checking import checked
from tests.support.processes import run_here
from tests.support.reference import ROOT

FOLDER = ROOT / "tests" / "cases" / "overlays"
TARGET = choose([])
JOB = """\
apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata: {name: job}
spec:
  pytorchReplicaSpecs:
    Master:
      template:
        spec:
"""
OVERLAY = """\
apiVersion: jobspec.dev/v1alpha1
kind: Overlay
metadata: {{name: {}}}
spec:
"""


def cases() -> list[Any]:
    found = []
    for path in sorted(FOLDER.glob("*.txt")):
        for text in re.split(r"^=== case: ", path.read_text(), flags=re.M)[1:]:
            title, _, parts = text.partition("\n")
            found.append(pytest.param(sections(parts), id=f"{path.stem}: {title}"))
    return found


def sections(text: str) -> dict[str, str]:
    names_and_bodies = re.split(r"^=== (.+)\n", text, flags=re.M)[1:]
    return dict(zip(names_and_bodies[::2], names_and_bodies[1::2], strict=True))


def indented(text: str, depth: int) -> str:
    return "".join(" " * depth + line if line.strip() else line for line in text.splitlines(keepends=True))


def write_files(parts: dict[str, str], folder: Path) -> tuple[Path, list[Path]]:
    """The base and the overlays of a case as files."""
    base = folder / "base.yaml"
    base.write_text(parts.get("base") or JOB + indented(parts["pod"], 10))
    overlays = []
    for name, text in parts.items():
        if name not in ("base", "pod", "set", "target", "expected pod", "expected documents"):
            whole = text if text.startswith("apiVersion") else OVERLAY.format(name) + indented(text, 2)
            overlays.append(folder / f"{name}.yaml")
            overlays[-1].write_text(whole)
    return base, overlays


def layer_of(file: str) -> str:
    """The overlay that a file of a case holds, or that an option is for."""
    name = file.removeprefix("--set ").partition(".")[0] if file.startswith("--set ") else Path(file).stem
    return "" if name == "base" else name


def sets(parts: dict[str, str]) -> list[str]:
    """The texts for `--set`, one in a line."""
    return [line.partition(" # ~ ")[0] for line in parts.get("set", "").splitlines() if line]


@pytest.mark.parametrize("parts", cases())
def test_case(parts: dict[str, str], tmp_path: Path) -> None:
    base, overlays = write_files(parts, tmp_path)
    target = choose(parts.get("target", "").split())
    loaded, problems = load_overlays(list(map(str, overlays)), sets(parts), target)
    documents: list[Any] = []
    if not problems:
        rendered = checked(base, Cluster(target, webhooks=False), loaded)
        problems = list(rendered.result.diagnostics)
        documents = [document.data for document in rendered.documents]
    for path in (base, *overlays):
        text = path.read_text().replace("{a}", str(tmp_path / "a.yaml"))
        assert_reported(expectations(text), [each for each in problems if each.mark.file == str(path)])
    for line in filter(None, parts.get("set", "").splitlines()):
        found = [each for each in problems if each.mark.file == f"--set {line.partition(' # ~ ')[0]}"]
        assert [(each.rule, each.words in diagnostic.message) for each, diagnostic in zip(expectations(line), found, strict=True)] == [
            (each.rule, True) for each in found
        ]
    for each in problems:
        assert each.mark.layer == layer_of(each.mark.file)
    if "expected documents" in parts:
        assert list(filter(None, quick_yaml.load_all(parts["expected documents"]))) == documents
    elif "expected pod" in parts:
        assert quick_yaml.load(parts["expected pod"]) == documents[0]["spec"]["pytorchReplicaSpecs"]["Master"]["template"]["spec"]
    else:
        assert any(each.severity == "error" for each in problems)


BASE = """\
apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata: {name: mnist, namespace: team}
spec:
  pytorchReplicaSpecs:
    Master:
      replicas: 1
      template:
        spec:
          containers:
          - {name: pytorch, image: "train:1", args: [--backend, gloo]}
    Worker:
      template:
        spec:
          containers:
          - {name: pytorch, image: "train:1", args: [--backend=gloo]}
"""
CONTAINER = {"name": "pytorch", "image": "train:1"}
MASTER = {**CONTAINER, "args": ["--backend", "gloo"]}
WORKER = {**CONTAINER, "args": ["--backend=gloo"]}


def rendered(*overlays: str, sets: tuple[str, ...] = ()) -> list[Any]:
    options = [word for name in overlays for word in ("--overlay", name)] + [word for text in sets for word in ("--set", text)]
    result = run_here("render", "-", *options, stdin=BASE)
    assert (result.returncode, result.stderr) == (0, "")
    return list(quick_yaml.load_all(result.stdout))


def templates(documents: list[Any]) -> tuple[Any, Any]:
    roles = documents[0]["spec"]["pytorchReplicaSpecs"]
    return roles["Master"]["template"], roles["Worker"]["template"]


def pods(master: Any, worker: Any, **more: Any) -> tuple[Any, Any]:
    return {"spec": {"containers": [master], **more}}, {"spec": {"containers": [worker]}}


def test_every_shipped_overlay_has_a_test_here() -> None:
    assert shipped() == ["cpu", "gpu-nccl", "istio-off", "pvc-output"]


def test_cpu_says_nothing_that_is_not_asked_of_it() -> None:
    assert templates(rendered("cpu")) == pods(MASTER, WORKER)


def test_cpu_with_all_parameters() -> None:
    amounts = {"cpu": 2, "memory": "8Gi"}
    resources = {"resources": {"requests": amounts, "limits": amounts}}
    master, worker = {**CONTAINER, "args": ["--backend", "mpi"], **resources}, {**CONTAINER, "args": ["--backend=mpi"], **resources}
    assert templates(rendered("cpu", sets=("cpu.cpus=2", "cpu.memory=8Gi", "cpu.backend=mpi"))) == pods(master, worker)


@pytest.mark.parametrize(("sets", "gpus"), [((), 1), (("gpu-nccl.gpus=4",), 4)])
def test_gpu_nccl_leaves_the_arguments_of_the_program_alone(sets: tuple[str, ...], gpus: int) -> None:
    resources = {"resources": {"limits": {"nvidia.com/gpu": gpus}}}
    assert templates(rendered("gpu-nccl", sets=sets)) == pods({**MASTER, **resources}, {**WORKER, **resources})


def test_gpu_nccl_sets_the_backend_that_is_asked_for() -> None:
    resources = {"resources": {"limits": {"nvidia.com/gpu": 1}}}
    master, worker = {**CONTAINER, "args": ["--backend", "nccl"], **resources}, {**CONTAINER, "args": ["--backend=nccl"], **resources}
    assert templates(rendered("gpu-nccl", sets=("gpu-nccl.backend=nccl",))) == pods(master, worker)


@pytest.mark.parametrize(
    ("sets", "fields"),
    [
        ((), ["annotations", "labels"]),
        (("istio-off.form=both",), ["annotations", "labels"]),
        (("istio-off.form=annotation",), ["annotations"]),
        (("istio-off.form=label",), ["labels"]),
    ],
)
def test_istio_off(sets: tuple[str, ...], fields: list[str]) -> None:
    metadata = {field: {"sidecar.istio.io/inject": "false"} for field in fields}
    master, worker = pods(MASTER, WORKER)
    assert templates(rendered("istio-off", sets=sets)) == ({"metadata": metadata, **master}, {"metadata": metadata, **worker})


@pytest.mark.parametrize(("sets", "claim"), [((), "data"), (("pvc-output.claim=out",), "out")])
def test_pvc_output_mounts_an_existing_claim_in_the_master(sets: tuple[str, ...], claim: str) -> None:
    documents = rendered("pvc-output", sets=sets)
    master = {**MASTER, "volumeMounts": [{"name": claim, "mountPath": "/opt/pytorch/output"}]}
    volumes = [{"name": claim, "persistentVolumeClaim": {"claimName": claim}}]
    assert templates(documents) == pods(master, WORKER, volumes=volumes)
    assert len(documents) == 1


@pytest.mark.parametrize(
    ("sets", "spec"),
    [
        ((), {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "10Gi"}}}),
        (
            ("pvc-output.size=1Ti", "pvc-output.class=fast", "pvc-output.access=ReadWriteMany"),
            {"accessModes": ["ReadWriteMany"], "storageClassName": "fast", "resources": {"requests": {"storage": "1Ti"}}},
        ),
    ],
)
def test_pvc_output_adds_the_claim_on_demand(sets: tuple[str, ...], spec: Any) -> None:
    _, claim = rendered("pvc-output", sets=("pvc-output.create=true", *sets))
    metadata = {"name": "data", "namespace": "team"}
    assert claim == {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": metadata, "spec": spec}


def test_all_that_go_together_go_together_in_any_order() -> None:
    assert rendered("gpu-nccl", "istio-off", "pvc-output") == rendered("pvc-output", "istio-off", "gpu-nccl")


@pytest.mark.parametrize("path", sorted((ROOT / "tests" / "cases" / "guides").glob("*.yaml")), ids=lambda path: path.stem)
def test_a_job_with_overlays_is_the_same_in_another_process(path: Path) -> None:
    overlays, _ = load_overlays(["istio-off", "cpu"], [], TARGET)
    documents, _ = read(path.read_text(), file=path.name)
    (job, *_) = apply(documents, overlays, TARGET).documents
    copy = pickle.loads(pickle.dumps(job))
    changed = ("spec", "pytorchReplicaSpecs", "Master", "template", "metadata", "annotations", "sidecar.istio.io/inject")
    places = [(), ("metadata", "name"), changed]
    assert copy.data == job.data
    assert [str(copy.marks.nearest(each).place()) for each in places] == [str(job.marks.nearest(each).place()) for each in places]


def test_cpu_and_gpu_exclude_each_other_in_both_orders() -> None:
    for pair in (("cpu", "gpu-nccl"), ("gpu-nccl", "cpu")):
        result = run_here("validate", "-", "-o", "json", *(word for name in pair for word in ("--overlay", name)), stdin=BASE)
        (report,) = json.loads(result.stdout)["files"]
        (problem,) = report["diagnostics"]
        assert (result.returncode, problem["rule"]) == (1, "overlay-conflict")
        assert problem["message"] == f"`{pair[1]}` and `{pair[0]}` are mutually exclusive"


@pytest.mark.parametrize(
    ("text", "rule", "field"),
    [
        ("gpu-nccl.gpus=two", "wrong-parameter", "spec.parameters[gpus]"),
        ("gpu-nccl.gpus=--5", "wrong-parameter", "spec.parameters[gpus]"),
        ("gpu-nccl.gpus=" + "9" * 5000, "wrong-parameter", "spec.parameters[gpus]"),
        ("gpu-nccl.gpus=0", "wrong-parameter", "spec.parameters[gpus]"),
        ("gpu-nccl.gpu=2", "unknown-parameter", ""),
    ],
)
def test_a_wrong_parameter_is_reported_at_the_command_line(text: str, rule: str, field: str) -> None:
    result = run_here("render", "-", "--overlay", "gpu-nccl", "--set", text, "-o", "json", stdin=BASE)
    assert result.returncode == 1, result.stderr
    (report,) = json.loads(result.stderr)["files"]
    (problem,) = report["diagnostics"]
    place = (problem["file"], problem["line"], problem["layer"], problem["field"])
    assert (problem["rule"], *place) == (rule, f"--set {text}", 0, "gpu-nccl", field)
    if rule == "unknown-parameter":
        assert problem["hint"] == "did you mean `gpus`?"


def test_every_format_reports_a_wrong_parameter_at_the_command_line() -> None:
    places = {
        "text": "--set gpu-nccl.gpus=two: error: `gpus`: expected an integer, got `two` (overlay gpu-nccl) [wrong-parameter]\n",
        "junit": '<testsuite name="--set gpu-nccl.gpus=two"',
        "sarif": '"uri": "--set%20gpu-nccl.gpus%3Dtwo"',
        "github": "::error file=--set gpu-nccl.gpus=two,title=wrong-parameter::",
    }
    for output, place in places.items():
        result = run_here("validate", "-", "--overlay", "gpu-nccl", "--set", "gpu-nccl.gpus=two", "-o", output, stdin=BASE)
        assert place in result.stdout


def test_an_overlay_that_is_shipped_is_shown_by_its_name() -> None:
    base = BASE.replace("--backend, gloo]", "--backend, gloo], resources: {limits: {nvidia.com/gpu: 2}}")
    backends = ("--set", "gpu-nccl.backend=nccl", "--set", "cpu.backend=gloo")
    result = run_here("validate", "-", "--overlay", "gpu-nccl", "--overlay", "cpu", *backends, stdin=base)
    lines = result.stdout.splitlines()
    gpu, cpu = ((ROOT / "overlays" / f"{name}.yaml").read_text().splitlines() for name in ("gpu-nccl", "cpu"))
    line, column = cpu.index("    - flags:") + 2, len("        --backend: ") + 1
    other = f"overlay gpu-nccl:{gpu.index('        --backend: ${backend}') + 1}:{column}"
    message = f'`cpu` sets `--backend` to " gloo", and `gpu-nccl` sets `--backend` to " nccl" (in {other})'
    assert f"overlay cpu:{line}:{column}: error: {message} [overlay-conflict]" in lines
    assert f"    {line} |         --backend: ${{backend}}" in lines
    assert str(ROOT) not in result.stdout


def test_the_way_out_of_a_conflict_edits_no_overlay_that_is_shipped(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(OVERLAY.format("mine") + "  pods: [{flags: {--backend: mpi}}]\n")
    hints = {
        ("gpu-nccl", str(path)): "remove one of them, or set `override: true` in `mine`",
        (str(path), "gpu-nccl"): "remove one of them, or apply `mine` after `gpu-nccl` and set `override: true` in it",
        ("gpu-nccl", "cpu"): "remove one of them",
    }
    for (first, second), hint in hints.items():
        sets = ("--set", "cpu.backend=gloo") if second == "cpu" else ()
        nccl = ("--set", "gpu-nccl.backend=nccl")
        result = run_here("validate", "-", "--overlay", first, "--overlay", second, *nccl, *sets, stdin=BASE)
        assert f"    hint: {hint}" in result.stdout.splitlines()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--overlay", "gpu-ncl"), "no overlay `gpu-ncl`: did you mean `gpu-nccl`?"),
        (("--overlay", "no/such.yaml"), "no overlay at no/such.yaml"),
        (("--overlay", "cpu", "--set", "cpus=2"), "--set cpus=2: write OVERLAY.NAME=VALUE"),
        (("--overlay", "cpu", "--set", "gpu-nccl.gpus=2"), "--set gpu-nccl.gpus=2: no overlay `gpu-nccl` is applied (applied: cpu)"),
        (("--set", "cpu.cpus=2"), "no overlay `cpu` is applied (applied: none)"),
    ],
)
def test_what_cannot_be_run_as_asked(arguments: tuple[str, ...], message: str) -> None:
    result = run_here("render", "-", *arguments, stdin=BASE)
    assert (result.returncode, result.stdout) == (2, "")
    assert message in result.stderr


def test_an_overlay_is_one_document_of_kind_overlay(tmp_path: Path) -> None:
    path = tmp_path / "x.yaml"
    for text, message in [(BASE, "not an overlay, but a PyTorchJob"), ("", "must hold one document, not 0")]:
        path.write_text(text)
        result = run_here("render", "-", "--overlay", str(path), stdin=BASE)
        assert result.returncode == 2
        assert message in result.stderr


def test_two_overlays_of_one_name(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text((ROOT / "overlays" / "cpu.yaml").read_text())
    result = run_here("render", "-", "--overlay", "cpu", "--overlay", str(path), stdin=BASE)
    assert result.returncode == 2
    assert f"overlay cpu and {path} have the same name, cpu" in result.stderr


@pytest.mark.parametrize("path", sorted((ROOT / "tests" / "cases" / "admission").glob("*.yaml")), ids=lambda path: path.stem)
def test_overlays_on_what_webhooks_refuse_end_without_a_crash(path: Path) -> None:
    assert run_here("validate", str(path), "--overlay", "istio-off", "--overlay", "pvc-output").returncode in (0, 1)


def test_a_quantity_that_go_does_not_parse_is_reported_with_overlays_as_without(tmp_path: Path) -> None:
    job = tmp_path / "job.yaml"
    job.write_text(
        "apiVersion: trainer.kubeflow.org/v1alpha1\nkind: TrainJob\nmetadata: {name: a}\nspec:\n"
        "  runtimeRef: {name: torch-distributed}\n  trainer: {image: a:1, resourcesPerNode: {limits: {cpu: 1e1.5}}}\n"
    )
    for overlays in ((), ("--overlay", "istio-off"), ("--overlay", "istio-off", "--overlay", "pvc-output")):
        done = run_here("validate", str(job), *overlays)
        assert (done.returncode, done.stdout.count("[undecodable-value]")) == (1, 1), overlays
