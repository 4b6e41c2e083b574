"""Whatever is handed in, the answer is one reason in one place, soon, and nothing is written."""

import json
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import pytest

import jobspec
from tests.hunt import bad_input
from tests.hunt.finds import report
from tests.support import manifests
from tests.support.processes import command, environment, program, run_here
from tests.support.reference import ROOT
from tests.support.seeds import seed

LIMIT = 500 * 1024 * 1024  # bytes of address space
PROCESSOR = 10  # seconds of a processor, however busy the machine is; a tenth of one is usual
PATIENCE = 600.0  # seconds, for what would wait and compute nothing

JOB = f"{manifests.JOB}            command: [python, train.py]\n"
OVERLAY = """\
apiVersion: jobspec.dev/v1alpha1
kind: Overlay
metadata: {name: mine}
spec:
"""
PLAIN = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n"
MEBIBYTE = 1024 * 1024

Runner = Callable[..., subprocess.CompletedProcess[str]]


def _run_limited(*arguments: str | Path, cwd: Path, **options: Any) -> subprocess.CompletedProcess[str]:
    """One run as a process of its own, with little memory and little time of a processor.

    A shell sets the limits: to fork this process, which has a lot in memory, would take half as long as a run.
    """
    limited = ["sh", "-c", f'ulimit -v {LIMIT // 1024} && ulimit -t {PROCESSOR} && exec "$@"', "sh", *command(*arguments)]
    return program(*limited, cwd=cwd, timeout=PATIENCE, **options)


FIELDS = {"rule", "stage", "severity", "message", "field", "file", "document", "line", "column", "endLine", "endColumn", "layer", "hint"}


def _errors(text: str) -> list[tuple[str, str, str]]:
    """Rule, file and `line:column` of each error in a JSON report, whose form is that of every report."""
    report = json.loads(text)
    assert list(report) == ["files", "target", "summary"]
    counts = ["documents", "valid", "invalid", "partly", "skipped", "willNotRun"]
    assert [each for each in report["summary"] if each != "notReached"] == counts
    found = []
    for file in report["files"]:
        assert list(file) == ["path", "valid", "documents", "diagnostics"]
        for each in file["diagnostics"]:
            assert each.keys() == FIELDS
            found.append((each["rule"], each["file"], f"{each['line']}:{each['column']}" if each["line"] else ""))
    return found


def _refuses(folder: Path, *arguments: str, rule: str, place: str = "", file: str = "bad.yaml", runner: Runner = run_here) -> None:
    """Exit code 1 and this one error, as text and as JSON, from `validate` and from `render`, which writes nothing."""
    before = sorted(folder.rglob("*"))
    for name in ("validate", "render"):
        done = runner(name, *arguments, cwd=folder)
        reported, nothing = (done.stdout, done.stderr) if name == "validate" else (done.stderr, done.stdout)
        assert (done.returncode, nothing) == (1, "")
        first, *rest = reported.splitlines()
        assert first.startswith(f"{file}:{place}: error: " if place else f"{file}: error: ")
        assert first.removesuffix(" [*]").endswith(f"[{rule}]")
        assert all(line.startswith(("    ", "invalid: ")) for line in rest[:-1])
    for start in (["validate"], ["render", "--to", "out"]):
        done = runner(*start, *arguments, "-o", "json", cwd=folder)
        assert (done.returncode, done.stderr, _errors(done.stdout)) == (1, "", [(rule, file, place)])
    assert sorted(folder.rglob("*")) == before


BOMB = "a: &a [x,x,x,x,x,x,x,x,x,x]\n" + "".join(
    f"{b}: &{b} [{','.join(['*' + a] * 10)}]\n" for a, b in zip("abcdefgh", "bcdefghi", strict=True)
)
#: Each text, its error's rule and place.
MISTAKES: dict[str, tuple[str | bytes, str, str]] = {
    "tab": (PLAIN + "data:\n\ta: b\n", "yaml-syntax", "5:1"),
    "duplicate key": (PLAIN + "kind: ConfigMap\n", "duplicate-key", "4:1"),
    "open quotes": (PLAIN + "data: {a: 'b}\n", "yaml-syntax", "4:11"),
    "control character": (PLAIN + "data: {a: \x01}\n", "yaml-syntax", "4:11"),
    "not UTF-8": (PLAIN.encode() + b"data: {a: \xff}\n", "not-utf8", "4:11"),
    "UTF-16": (JOB.encode("utf-16"), "not-utf8", "1:1"),
    "list at the top": ("- a\n- b\n", "not-a-manifest", "1:1"),
    "scalar at the top": ("hello\n", "not-a-manifest", "1:1"),
    "no kind": ("apiVersion: v1\nmetadata: {name: a}\n", "not-a-manifest", "1:1"),
    "no apiVersion": ("kind: ConfigMap\nmetadata: {name: a}\n", "not-a-manifest", "1:1"),
    "kind is a number": ("apiVersion: v1\nkind: 1\n", "not-a-manifest", "2:7"),
    "unknown kind": ("apiVersion: example.com/v1\nkind: Thing\nmetadata: {name: a}\n", "unknown-kind", "2:7"),
    "unknown version": (JOB.replace("kubeflow.org/v1", "kubeflow.org/v1beta1"), "unknown-kind", "1:13"),
    "unknown field at the top": (JOB + "extra: 1\n", "unknown-field", "15:1"),
    "unknown field in the middle": (JOB.replace("      replicas", "      replica"), "unknown-field", "8:7"),
    "unknown field far down": (JOB + "            securityContext: {capabilities: {ad: []}}\n", "unknown-field", "15:46"),
    "text for an integer": (JOB.replace("replicas: 1", 'replicas: "3"'), "wrong-type", "8:17"),
    "alias of nothing": (PLAIN + "data: *a\n", "yaml-syntax", "4:7"),
}
#: The same, of texts that could take much memory or time.
BURDENS: dict[str, tuple[str, str, str]] = {
    "an integer of 100,000 digits": (JOB.replace("replicas: 1", f"replicas: {'9' * 100_000}"), "wrong-type", "8:17"),
    "alias bomb": (BOMB, "excessive-aliasing", "4:14"),
    "alias of itself": (PLAIN + "data: &a {b: *a}\n", "recursive-alias", "4:14"),
    "over 3 MiB": (PLAIN + f"data: {{a: {'a' * 3 * MEBIBYTE}}}", "too-large", "1:1"),
    "10,000 open [": (PLAIN + "data: " + "[" * 10_000, "too-deep", "4:134"),
    "1,000,000 open [": (PLAIN + "data: " + "[" * 1_000_000, "too-deep", "4:134"),
    "10,000 [ and ]": (PLAIN + "data: " + "[" * 10_000 + "]" * 10_000, "too-deep", "4:134"),
    "10,000 open {": (PLAIN + "data: " + "{" * 10_000, "too-deep", "4:134"),
    "1,000,000 open {": (PLAIN + "data: " + "{" * 1_000_000, "too-deep", "4:134"),
    "10,000 lists in lists": (PLAIN + "data:\n" + "- " * 10_000 + "a\n", "too-deep", "5:255"),
    "1,000,000 lists in lists": (PLAIN + "data:\n" + "- " * 1_000_000 + "a\n", "too-deep", "5:255"),
    "1,000,000 dashes on one line": ("- " * 1_000_000, "too-deep", "1:257"),
    "10,000 mappings in mappings": (PLAIN + "data: " + "{a: " * 10_000, "too-deep", "4:515"),
    "2,000 mappings, each indented": ("".join(f"{' ' * depth}a:\n" for depth in range(2_000)), "too-deep", "129:129"),
    "1,000,000 question marks": ("? " * 1_000_000, "too-deep", "1:257"),
    "100,000 anchors": (JOB[: JOB.index("spec")] + f"spec: [{','.join(f'&a{n} a' for n in range(100_000))}]", "wrong-type", "5:1"),
}


@pytest.mark.parametrize("case", MISTAKES)
def test_a_file_at_fault(tmp_path: Path, case: str) -> None:
    content, rule, place = MISTAKES[case]
    manifests.write(tmp_path, {"bad.yaml": content})
    _refuses(tmp_path, "bad.yaml", rule=rule, place=place)


@pytest.mark.parametrize("case", BURDENS)
def test_a_file_that_could_take_long(tmp_path: Path, case: str) -> None:
    content, rule, place = BURDENS[case]
    (tmp_path / "bad.yaml").write_text(content)
    _refuses(tmp_path, "bad.yaml", rule=rule, place=place, runner=_run_limited)


def test_a_file_of_100_mb(tmp_path: Path) -> None:
    with open(tmp_path / "bad.yaml", "wb") as file:
        file.truncate(100 * MEBIBYTE)
    _refuses(tmp_path, "bad.yaml", rule="too-large", place="1:1", runner=_run_limited)


@pytest.mark.parametrize("document", [False, True])
def test_a_tag_that_would_run_code_runs_none(tmp_path: Path, *, document: bool) -> None:
    call = "!!python/object/apply:os.system ['touch ran']\n"
    (tmp_path / "bad.yaml").write_text(call if document else f"{PLAIN}data: {call}")
    _refuses(tmp_path, "bad.yaml", rule="unknown-tag", place="1:1" if document else "4:7")
    assert not (tmp_path / "ran").exists()


POD = "  pods: [{%stemplate: {spec: {containers: [{name: %s, image: %s}]}}}]\n"
OVERLAYS: dict[str, tuple[str, list[str], str, str]] = {
    "a parameter that is not an integer": (
        "",
        ["--overlay", "gpu-nccl", "--set", "gpu-nccl.gpus=two"],
        "wrong-parameter",
        "--set gpu-nccl.gpus=two",
    ),
    "a parameter below its limit": ("", ["--overlay", "gpu-nccl", "--set", "gpu-nccl.gpus=0"], "wrong-parameter", "--set gpu-nccl.gpus=0"),
    "a parameter that the overlay lacks": (
        "",
        ["--overlay", "gpu-nccl", "--set", "gpu-nccl.gpu=1"],
        "unknown-parameter",
        "--set gpu-nccl.gpu=1",
    ),
    "overlays that are mutually exclusive": ("", ["--overlay", "cpu", "--overlay", "gpu-nccl"], "overlay-conflict", "overlay gpu-nccl"),
    "a container that the base lacks": (POD % ("", "sidecar", "b"), [], "missing-container", "mine.yaml"),
    "a role that the base lacks": (POD % ("roles: [worker], ", "pytorch", "b"), [], "missing-role", "mine.yaml"),
    "a parameter that is not declared": (POD % ("", "pytorch", '"${image}"'), [], "invalid-overlay", "mine.yaml"),
    "an unknown field of an overlay": ("  pod: []\n", [], "unknown-field", "mine.yaml"),
    "a value of a wrong type": (POD % ("", "pytorch", "3"), [], "wrong-type", "mine.yaml"),
    "an overlay that is not a YAML": ("\tpods: []\n", [], "yaml-syntax", "mine.yaml"),
}


@pytest.mark.parametrize("case", OVERLAYS)
def test_an_overlay_at_fault(tmp_path: Path, case: str) -> None:
    spec, arguments, rule, file = OVERLAYS[case]
    (tmp_path / "job.yaml").write_text(JOB)
    (tmp_path / "mine.yaml").write_text(OVERLAY + spec)
    arguments = arguments or ["--overlay", "mine.yaml"]
    done = run_here("validate", "job.yaml", *arguments, cwd=tmp_path)
    first, *_ = done.stdout.splitlines()
    assert (done.returncode, done.stderr, first.endswith(f"[{rule}]")) == (1, "", True)
    assert first.startswith(f"{file}:")
    done = run_here("render", "job.yaml", *arguments, cwd=tmp_path)
    assert (done.returncode, done.stdout, done.stderr.splitlines()[0]) == (1, "", first)
    done = run_here("render", "job.yaml", *arguments, "-o", "json", "--to", "out", cwd=tmp_path)
    assert (done.returncode, done.stderr, [found[0] for found in _errors(done.stdout)]) == (1, "", [rule])
    assert not (tmp_path / "out").exists()


def test_texts_with_mistakes_at_random_end_in_a_report(tmp_path: Path) -> None:
    assert report(bad_input.finds(Random(seed()), tmp_path)) == ""


def test_flags_inside_a_shell_string(tmp_path: Path) -> None:
    (tmp_path / "job.yaml").write_text(JOB.replace("[python, train.py]", "[sh, -c, python train.py --backend gloo]"))
    _refuses(
        tmp_path,
        "job.yaml",
        "--overlay",
        "gpu-nccl",
        "--set",
        "gpu-nccl.backend=nccl",
        rule="shell-command",
        file="job.yaml",
        place="14:31",
    )


MISUSES: dict[str, tuple[list[str], list[str]]] = {
    "an unknown overlay": (["--overlay", "gpu-ncl"], ["gpu-ncl", "gpu-nccl"]),
    "an overlay's file that is missing": (["--overlay", "./mine.yaml"], ["./mine.yaml"]),
    "a file that is not an overlay": (["--overlay", "./job.yaml"], ["./job.yaml", "not an overlay"]),
    "files that are missing": (["one.yaml", "two.yaml"], ["one.yaml", "two.yaml"]),
    "a folder without manifests": (["empty"], ["empty"]),
    "a --set without an overlay": (["--set", "gpu-nccl.gpus=1"], ["gpu-nccl.gpus=1"]),
    "a --set without a name": (["--overlay", "cpu", "--set", "cpus=1"], ["cpus=1", "OVERLAY.NAME=VALUE"]),
    "a --set without a value": (["--overlay", "cpu", "--set", "cpu.cpus"], ["cpu.cpus", "OVERLAY.NAME=VALUE"]),
    "a target that nobody knows": (["--target", "training-operator=0.1"], ["training-operator=0.1", "1.9.4"]),
    "a target without a release": (["--target", "1.9.4"], ["1.9.4", "training-operator"]),
    "an option that nobody knows": (["--frobnicate"], ["--frobnicate"]),
    "a format that nobody knows": (["-o", "xml"], ["xml", "json"]),
}


@pytest.mark.parametrize("output", ["text", "json"])
@pytest.mark.parametrize("case", MISUSES)
def test_what_cannot_run_as_asked(tmp_path: Path, case: str, output: str) -> None:
    arguments, words = MISUSES[case]
    (tmp_path / "job.yaml").write_text(JOB)
    (tmp_path / "empty").mkdir()
    for start in (["validate"], ["render", "--to", "out"]):
        done = run_here(*start, "job.yaml", "-o", output, *arguments, cwd=tmp_path)
        assert (done.returncode, done.stdout) == (2, "")
        assert [word for word in words if word not in done.stderr] == []
        assert "Traceback" not in done.stderr
    assert sorted(os.listdir(tmp_path)) == ["empty", "job.yaml"]


@pytest.mark.parametrize("to", ["job.yaml", "job.yaml/below", "/proc/jobspec/out", "foreign", "link"])
def test_an_output_folder_that_cannot_be_written(tmp_path: Path, to: str) -> None:
    (tmp_path / "job.yaml").write_text(JOB)
    (tmp_path / "foreign").mkdir()
    (tmp_path / "foreign" / "notes.txt").write_text("mine")
    (tmp_path / "link").symlink_to("foreign")
    before = sorted(tmp_path.rglob("*"))
    done = run_here("render", "job.yaml", "--to", to, cwd=tmp_path)
    assert (done.returncode, done.stdout, len(done.stderr.splitlines())) == (2, "", 1)
    assert done.stderr.startswith(f"jobspec: {to}")
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="the system has no /dev/full")
@pytest.mark.parametrize("arguments", [["validate", "job.yaml"], ["render", "job.yaml"], ["explain", "wrong-type"], ["--help"]])
def test_an_output_that_is_full(tmp_path: Path, arguments: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PYTHONUNBUFFERED", raising=False)  # argparse passes by an error of its own write
    (tmp_path / "job.yaml").write_text(JOB)
    with open("/dev/full", "w") as full:
        done = _run_limited(*arguments, cwd=tmp_path, stdout=full)
    assert (done.returncode, done.stderr) == (2, "jobspec: cannot write the output: No space left on device\n")


@pytest.mark.parametrize(
    ("arguments", "code"),
    [(["validate", "job.yaml"], 0), (["render", "job.yaml"], 0), (["validate", "many.yaml"], 0), (["render", "many.yaml"], 2)],
)
def test_an_output_that_nobody_reads(tmp_path: Path, arguments: list[str], code: int) -> None:
    (tmp_path / "job.yaml").write_text(JOB)
    (tmp_path / "many.yaml").write_text("".join(f"---\napiVersion: v1\nkind: ConfigMap\nmetadata: {{name: a{n}}}\n" for n in range(3000)))
    reading, writing = os.pipe()
    os.close(reading)
    done = _run_limited(*arguments, cwd=tmp_path, stdout=writing)
    os.close(writing)
    assert (done.returncode, done.stderr) == (code, "")  # of the verdict where it was reached before the output failed


def test_a_name_that_is_not_utf8(tmp_path: Path) -> None:
    path = os.fsdecode(os.fsencode(tmp_path) + b"/b\xff.yaml")
    with open(path, "w") as file:
        file.write(PLAIN + "kind: a\n")
    for output in ("text", "json"):
        done = _run_limited("validate", path, "-o", output, cwd=tmp_path)
        assert (done.returncode, done.stderr) == (1, "")


def test_a_bug_says_where_to_report_it(tmp_path: Path) -> None:
    shutil.copytree(Path(jobspec.__file__).parent, tmp_path / "jobspec", ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("schemas", "overlays"):
        shutil.copytree(ROOT / name, tmp_path / name)
    for schema in (tmp_path / "schemas").rglob("pytorchjob_v1.json"):
        schema.write_text('{"shapes": [')
    (tmp_path / "job.yaml").write_text(JOB)
    for number in range(100):
        shutil.copyfile(tmp_path / "job.yaml", tmp_path / f"job-{number}.yaml")
    for arguments in (["validate", "job.yaml"], ["render", "job.yaml"], ["validate", "."]):
        done = _run_limited(*arguments, cwd=tmp_path, env=environment(PYTHONPATH=str(tmp_path)))
        assert (done.returncode, done.stdout) == (3, "")
        assert "Traceback" in done.stderr
        assert "JSONDecodeError: Expecting value: line 1 column 13" in done.stderr
        assert f"in {tmp_path}/schemas/" in done.stderr, "the lines do not lead to the fault"
        assert done.stderr.splitlines()[-1].startswith("jobspec: this is a bug of jobspec; please report it")
