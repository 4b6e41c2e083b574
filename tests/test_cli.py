"""The command line as a user meets it: what it takes, what it prints where, and how it ends."""

import json
import os
import shlex
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

from jobspec.apis.releases import choose, reported
from jobspec.diagnostics.explanations import RULES
from jobspec.diagnostics.results import FileResult
from jobspec.lint.catalogue import rules, severity_of, stage_of
from jobspec.reports.formats import report
from tests.support.manifests import CLASS, COMPOSE, CONFIG, JOB, PROJECT_HEAD, write
from tests.support.processes import RELEASES, command, environment, program, run, run_here
from tests.support.reference import ROOT

BAD = JOB.replace("replicas", "replica")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--help"], ["validate", "render", "expand", "explain", "schema", "exit codes:"]),
        (["validate", "--help"], ["--overlay", "--set", "--target", "--skip-unknown", "--output"]),
        (["render", "--help"], ["--overlay", "--set", "--target", "--to DIR"]),
        (["expand", "--help"], ["--overlay", "--defaults", "--origin", "{auto,table,yaml,json}"]),
        (["explain", "--help"], ["RULE"]),
        (["schema", "--help"], ["check", "export"]),
    ],
)
def test_help_names_what_there_is(arguments: list[str], words: list[str]) -> None:
    done = run_here(*arguments)
    assert (done.returncode, done.stderr) == (0, "")
    assert [word for word in words if word not in done.stdout] == []


def test_the_version_is_the_project_files() -> None:
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    assert run("--version").stdout == f"jobspec {version}\n"
    installed = Path(sys.executable).with_name("jobspec")
    assert program(installed, "--version").stdout == f"jobspec {version}\n"


@pytest.mark.parametrize("arguments", [["expand"], ["schema"]])
def test_a_command_that_is_not_whole_gets_the_usage(arguments: list[str]) -> None:
    done = run_here(*arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("usage: jobspec")
    assert ("print the CustomResourceDefinitions" in done.stderr) == (arguments == ["schema"])  # its actions, of which it needs one


def test_standard_input() -> None:
    done = run("validate", "-", stdin=JOB)
    assert (done.returncode, done.stdout) == (0, f"1 document: 1 valid {RELEASES}\n")
    done = run("validate", "-", stdin=BAD)
    assert (done.returncode, done.stdout.startswith("<stdin>:8:7: error: ")) == (1, True)
    done = run("render", "-", stdin=JOB)
    assert (done.returncode, done.stdout, done.stderr) == (0, JOB, "")


def test_a_folder_is_walked_in_order_and_dot_folders_are_left_out(tmp_path: Path) -> None:
    write(
        tmp_path,
        {"b.yaml": JOB, "a/z.yml": CLASS, "a/c.json": '{"services": {}}', ".git/x.yaml": BAD, ".hidden.yaml": BAD, "note.txt": BAD},
    )
    done = run_here("validate", tmp_path)
    partly = "1 partly checked (1 StorageClass: structure and metadata only)"
    assert (done.returncode, done.stdout) == (0, f"3 documents: 1 valid, {partly}, 1 skipped (1 not a manifest) {RELEASES}\n")
    report = json.loads(run_here("validate", ".", "-o", "json", cwd=tmp_path).stdout)
    assert [(file["path"], [each["status"] for each in file["documents"]]) for file in report["files"]] == [
        ("b.yaml", ["valid"]),
        ("a/c.json", ["skipped"]),
        ("a/z.yml", ["partly"]),
    ]


def test_a_named_file_that_is_no_manifest_is_an_error_unless_it_may_be_skipped(tmp_path: Path) -> None:
    write(tmp_path, {"compose.yaml": COMPOSE, "job.yaml": JOB})
    done = run_here("validate", "compose.yaml", "job.yaml", cwd=tmp_path)
    assert (done.returncode, done.stdout.splitlines()[-1]) == (
        1,
        f"2 documents: 1 valid, 1 invalid (1 not checked for schema, admission and outcome), 1 error {RELEASES}",
    )
    done = run_here("validate", "--skip-unknown", "compose.yaml", "job.yaml", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (0, f"2 documents: 1 valid, 1 skipped (1 not a manifest) {RELEASES}\n")


def test_a_misspelt_kind_of_ours_is_never_skipped(tmp_path: Path) -> None:
    write(tmp_path, {"job.yaml": JOB.replace("kubeflow.org/v1", "kubeflow.org/v1beta1")})
    for arguments in (["--skip-unknown", "job.yaml"], ["."]):
        done = run_here("validate", *arguments, cwd=tmp_path)
        assert (done.returncode, "[unknown-kind]" in done.stdout) == (1, True)


def test_a_kind_of_another_group_with_the_name_of_ours_is_skipped(tmp_path: Path) -> None:
    write(tmp_path, {"job.yaml": JOB.replace("kubeflow.org/v1", "example.com/v1")})
    for arguments in (["--skip-unknown", "job.yaml"], ["."]):
        done = run_here("validate", *arguments, cwd=tmp_path)
        assert (done.returncode, done.stdout) == (
            0,
            f"1 document: 1 skipped (1 of an unknown kind: 1 PyTorchJob), pods of 1 object seen by template alone {RELEASES}\n",
        )
    done = run_here("validate", "job.yaml", cwd=tmp_path)
    assert (done.returncode, "[unknown-kind]" in done.stdout, "hint" in done.stdout) == (1, True, False)


def test_the_json_report_of_validate(tmp_path: Path) -> None:
    write(tmp_path, {"job.yaml": f"{CONFIG}---\n# nothing\n---\n{BAD}"})
    done = run("validate", "-o", "json", "job.yaml", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (1, "")
    report = json.loads(done.stdout)
    (file,) = report["files"]
    (problem,) = file["diagnostics"]
    assert (file["path"], file["valid"]) == ("job.yaml", False)
    job = {"index": 1, "apiVersion": "kubeflow.org/v1", "kind": "PyTorchJob", "name": "train", "status": "invalid", "runs": False}
    assert file["documents"] == [
        {"index": 0, "apiVersion": "v1", "kind": "ConfigMap", "name": "settings", "status": "valid", "runs": None},
        {**job, "correctedIn": ["admission", "outcome"]},
    ]
    assert problem.pop("message") and problem.pop("hint")
    assert problem == {
        "rule": "unknown-field", "stage": "schema", "severity": "error",
        "field": "spec.pytorchReplicaSpecs[Master].replica", "file": "job.yaml",
        "document": 1, "line": 15, "column": 7, "endLine": 15, "endColumn": 14, "layer": "",
    }  # fmt: skip
    assert report["target"] == {"training-operator": "1.9.4", "trainer": "2.3.0"}
    counts = {"documents": 2, "valid": 1, "invalid": 1, "partly": 0, "skipped": 0, "willNotRun": 0}
    assert report["summary"] == counts


def test_the_target_stands_in_every_report(tmp_path: Path) -> None:
    write(tmp_path, {"job.yaml": JOB})
    done = run_here("validate", "--target", "training-operator=1.9.0", "job.yaml", cwd=tmp_path)
    assert "training-operator 1.9.0" in done.stdout
    done = run_here("validate", "--target", "training-operator=1.9", "-o", "json", "job.yaml", cwd=tmp_path)
    assert json.loads(done.stdout)["target"]["training-operator"] == "1.9.4"
    done = run_here("validate", "--target", "training-operator=1.8,kuberay=1.5", "job.yaml", cwd=tmp_path)
    assert "training-operator 1.8.1" in done.stdout and "kuberay 1.5.1" in done.stdout


RAY_CLUSTER = """\
apiVersion: ray.io/v1
kind: RayCluster
metadata: {name: ray}
spec: {headGroupSpec: {rayStartParams: {}, template: {spec: {containers: [{name: ray, image: "rayproject/ray:2.9.0"}]}}}}
"""


def test_the_last_line_names_the_operators_of_the_files(tmp_path: Path) -> None:
    write(tmp_path, {"job.yaml": JOB, "ray.yaml": RAY_CLUSTER})
    assert run("validate", "job.yaml", cwd=tmp_path).stdout == f"1 document: 1 valid {RELEASES}\n"
    with_ray = f"{RELEASES.removesuffix(')')}, kuberay {choose(())['kuberay']})"
    assert run("validate", ".", cwd=tmp_path).stdout == f"2 documents: 2 valid {with_ray}\n"


def test_the_report_of_render_stays_out_of_what_is_rendered(tmp_path: Path) -> None:
    write(tmp_path, {"job.yaml": JOB})
    done = run_here("render", "job.yaml", "-o", "json", cwd=tmp_path)
    assert (done.returncode, done.stdout, json.loads(done.stderr)["summary"]["valid"]) == (0, JOB, 1)
    done = run_here("render", "job.yaml", "--to", "out/", "-o", "json", cwd=tmp_path)
    assert (done.returncode, json.loads(done.stdout)["files"][0]["path"], done.stderr) == (0, "job.yaml", "")
    done = run_here("render", "job.yaml", "--to", "out", cwd=tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (0, "out/pytorchjob-train.yaml\n", f"1 document: 1 valid {RELEASES}\n")


def test_a_stream_and_a_folder_hold_the_same(tmp_path: Path) -> None:
    write(tmp_path, {"job.yaml": JOB, "settings.yaml": CONFIG})
    done = run_here("render", "job.yaml", "settings.yaml", cwd=tmp_path)
    assert done.stdout == f"{JOB}---\n{CONFIG}"
    run_here("render", "job.yaml", "settings.yaml", "--to", "out", cwd=tmp_path)
    files = {path.name: path.read_text().partition("\n")[2] for path in (tmp_path / "out").iterdir()}
    assert files == {"pytorchjob-train.yaml": JOB, "configmap-settings.yaml": CONFIG}
    again = run_here("render", "out", cwd=tmp_path)
    assert again.stdout == f"{CONFIG}---\n{JOB}"


def test_render_writes_nothing_where_one_of_several_files_is_at_fault(tmp_path: Path) -> None:
    write(tmp_path, {"job.yaml": JOB, "bad.yaml": BAD})
    done = run_here("render", "job.yaml", "bad.yaml", cwd=tmp_path)
    assert (done.returncode, done.stdout, "bad.yaml:8:7: error: " in done.stderr) == (1, "", True)


LIST = """\
apiVersion: v1
kind: List
items:
- apiVersion: v1
  kind: ConfigMap
  metadata: {name: a}
- apiVersion: kubeflow.org/v1
  kind: PyTorchJob
  metadata: {name: b}
  spec: {pytorchReplicaSpecs: {Master: {replica: 1}}}
"""


def test_a_list_is_its_items(tmp_path: Path) -> None:
    write(tmp_path, {"list.yaml": LIST})
    (file,) = json.loads(run_here("validate", "-o", "json", "list.yaml", cwd=tmp_path).stdout)["files"]
    assert [(each["index"], each["kind"], each["status"]) for each in file["documents"]] == [
        (0, "ConfigMap", "valid"),
        (0, "PyTorchJob", "invalid"),
    ]
    places = {(each["line"], each["column"], each["rule"]) for each in file["diagnostics"]}
    assert (10, 41, "unknown-field") in places
    good = LIST.replace("{replica: 1}", "{replicas: 1, template: {spec: {containers: [{name: pytorch, image: a}]}}}")
    write(tmp_path, {"good.yaml": good})
    done = run_here("render", "good.yaml", cwd=tmp_path)
    assert (done.returncode, [line for line in done.stdout.splitlines() if line.startswith("kind")]) == (
        0,
        ["kind: ConfigMap", "kind: PyTorchJob"],
    )


def test_one_object_in_two_files_is_not_rendered(tmp_path: Path) -> None:
    write(tmp_path, {"a.yaml": JOB, "b.yaml": JOB})
    for arguments in ([], ["--to", "out"]):
        done = run_here("render", "a.yaml", "b.yaml", *arguments, cwd=tmp_path)
        assert (done.returncode, done.stdout) == (1, "")
        first, *_ = done.stderr.splitlines()
        assert first.startswith("b.yaml:4:9: error: ")
        assert first.endswith("first in a.yaml:4:9 [duplicate-resource]")
    assert not (tmp_path / "out").exists()


def test_the_same_input_gives_the_same_bytes(tmp_path: Path) -> None:
    write(tmp_path, {"job.yaml": JOB})
    render = ["render", "job.yaml", "--overlay", "gpu-nccl", "--overlay", "pvc-output", "--set", "pvc-output.create=true"]
    seen = set()
    for seed in "0", "1", "2":
        seen.add(run(*render, cwd=tmp_path, env=environment(PYTHONHASHSEED=seed)).stdout)
    (stream,) = seen
    assert stream.count("\n---\n") == 1


def test_every_rule_is_explained() -> None:
    reports = {rule: run_here("explain", rule) for rule in RULES}
    for rule, done in reports.items():
        first = " ".join(done.stdout.partition("\n\n")[0].split())
        assert (done.returncode, first.partition("): ")[::2]) == (0, (f"{rule} ({severity_of(rule)}, {stage_of(rule)}", RULES[rule]))


def test_without_a_name_all_rules_are_listed() -> None:
    done = run_here("explain")
    assert [line.split()[0] for line in done.stdout.splitlines()] == list(rules())
    assert run_here("explain", "--markdown", "no-deadline").returncode == 2


def test_an_unknown_rule_is_answered_with_the_nearest() -> None:
    done = run("explain", "unknwon-field")
    assert (done.returncode, done.stdout) == (2, "")
    assert "did you mean `unknown-field`?" in done.stderr


@pytest.mark.slow
def test_schemas_cannot_be_exported_below_a_file(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    done = run_here("schema", "export", tmp_path / "file" / "below")
    assert (done.returncode, len(done.stderr.splitlines())) == (2, 1)


def test_many_files_are_judged_as_one_by_one(tmp_path: Path) -> None:
    texts = [JOB, BAD, CONFIG, COMPOSE, "a: [", JOB.replace("1", '"1"'), "", f"{JOB}---\n{BAD}"]
    names = [f"{number:03}.yaml" for number in range(100)]
    write(tmp_path, {name: texts[number % len(texts)] for number, name in enumerate(names)})
    one_by_one = [json.loads(run_here("validate", "-o", "json", name, cwd=tmp_path).stdout)["files"][0] for name in names[: len(texts)]]
    done = run("validate", "-o", "json", *names, cwd=tmp_path)
    files = json.loads(done.stdout)["files"]
    assert (done.returncode, [file["path"] for file in files]) == (1, names)
    for number, file in enumerate(files):
        expected = json.dumps(one_by_one[number % len(texts)]).replace(names[number % len(texts)], names[number])
        assert file == json.loads(expected)


def test_one_unreadable_file_among_many_ends_the_run(tmp_path: Path) -> None:
    names = [f"{number:03}.yaml" for number in range(100)]
    write(tmp_path, dict.fromkeys(names, JOB))
    for number in (0, 51, 99):
        (tmp_path / names[number]).unlink()
        (tmp_path / names[number]).symlink_to("/proc/self/mem")  # there, and not to be read, not even by root
        done = run("validate", *names, cwd=tmp_path)
        assert (done.returncode, done.stdout) == (2, "")
        assert done.stderr.startswith("jobspec: ") and ".yaml: " in done.stderr and "Traceback" not in done.stderr


def test_a_report_on_nothing() -> None:
    assert report([], reported(choose([]))) == f"0 documents: nothing found {RELEASES}\n"
    assert json.loads(report([FileResult("a", [], [])], reported(choose([])), "json"))["files"] == [
        {"path": "a", "valid": True, "documents": [], "diagnostics": []}
    ]


def test_a_name_in_two_namespaces_is_two_objects(tmp_path: Path) -> None:
    one, other = (JOB.replace("name: train\n", f"name: train\n  namespace: {namespace}\n") for namespace in ("a", "b"))
    (tmp_path / "jobs.yaml").write_text(f"{one}---\n{other}")
    done = run_here("render", "jobs.yaml", "--to", "out", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["pytorchjob-a-train.yaml", "pytorchjob-b-train.yaml"]


def test_two_documents_that_would_be_one_file_are_refused(tmp_path: Path) -> None:
    job = JOB.replace("name: train", "generateName: train-")
    (tmp_path / "jobs.yaml").write_text(f"{job}---\n{job}")
    assert run_here("render", "jobs.yaml", cwd=tmp_path).returncode == 0
    done = run_here("render", "jobs.yaml", "--to", "out", cwd=tmp_path)
    assert done.returncode == 2
    assert "two documents would both be pytorchjob-train-.yaml" in done.stderr
    assert not (tmp_path / "out").exists()


def test_output_is_utf8_whatever_the_locale(tmp_path: Path) -> None:
    (tmp_path / "job.yaml").write_text(JOB.replace("name: train\n", "name: train\n  annotations: {a: für 学习}\n"))
    done = run("render", "job.yaml", cwd=tmp_path, env=environment(PYTHONIOENCODING="latin-1", LC_ALL="C"))
    assert "für 学习" in done.stdout


def test_a_closed_standard_output_is_reported(tmp_path: Path) -> None:
    (tmp_path / "job.yaml").write_text(JOB)
    closed = f"exec {shlex.join(command('validate', 'job.yaml'))} >&-"
    done = program("sh", "-c", closed, cwd=tmp_path)
    assert (done.returncode, done.stderr) == (2, "jobspec: cannot write the output: standard output is closed\n")


def test_what_was_written_before_a_failure_is_not_lost(tmp_path: Path) -> None:
    (tmp_path / "job.yaml").write_text(JOB)
    done = run("render", "job.yaml", "--output-file", "no/report.txt", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, run("render", "job.yaml", cwd=tmp_path).stdout)
    assert done.stderr == "jobspec: no/report.txt: cannot write: No such file or directory\n"


def test_jobs_of_two_files_share_a_companion(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / f"{name}.yaml").write_text(JOB.replace("name: train", f"name: {name}"))
    claim = ["--overlay", "pvc-output", "--set", "pvc-output.create=true"]
    done = run_here("render", "one.yaml", "two.yaml", *claim, "--to", "out", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    written = ["persistentvolumeclaim-data.yaml", "pytorchjob-one.yaml", "pytorchjob-two.yaml"]
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == written


def test_a_value_that_is_no_text_is_refused(tmp_path: Path) -> None:
    (tmp_path / "job.yaml").write_text(JOB)
    done = run("render", "job.yaml", "--overlay", "cpu", "--set", os.fsdecode(b"cpu.backend=\xff"), cwd=tmp_path)
    assert (done.returncode, done.stderr) == (2, "jobspec: --set cpu.backend: the value is not UTF-8\n")


BROKEN: dict[str, str | bytes] = {
    "tsconfig.json": '{\n  // comments are no JSON\n  "a": {"b": 1,}\n}\n',
    "mkdocs.yml": "site_name: a\nextensions:\n- emoji: !!python/name:material.emoji\n",
    "twice.yaml": "on: push\non: pull\n",
    "latin.yaml": b"name: \xe9\n",
    "large.json": b'["' + b"a" * 3_200_000 + b'"]',
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_file_that_never_was_a_manifest_is_passed_by_and_counted(tmp_path: Path, name: str) -> None:
    write(tmp_path, {name: BROKEN[name], "job.yaml": JOB})
    for arguments in (["--skip-unknown", name, "job.yaml"], ["."]):
        done = run_here("validate", *arguments, cwd=tmp_path)
        assert (done.returncode, done.stdout) == (0, f"2 documents: 1 valid, 1 skipped (1 not a manifest) {RELEASES}\n")
    assert run_here("validate", name, cwd=tmp_path).returncode == 1


def test_a_broken_manifest_is_never_passed_by(tmp_path: Path) -> None:
    (tmp_path / "job.yaml").write_text(JOB + "  kind: [")
    assert run_here("validate", "--skip-unknown", "job.yaml", cwd=tmp_path).returncode == 1
    assert run_here("validate", ".", cwd=tmp_path).returncode == 1


def test_render_takes_unknown_objects_along_and_leaves_what_is_no_object(tmp_path: Path) -> None:
    queue = "apiVersion: example.com/v1\nkind: LocalQueue\nmetadata:\n  name: a\n"
    files = {"job.yaml": JOB, "queue.yaml": queue, "compose.yaml": COMPOSE}
    files["kustomization.yaml"] = "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources: [job.yaml]\n"
    write(tmp_path / "jobs", files)
    done = run_here("render", "jobs", "--to", "out", cwd=tmp_path)
    reports = "4 documents: 1 valid, 3 skipped (1 kustomization, 1 not a manifest, 1 of an unknown kind: 1 LocalQueue)"
    assert (done.returncode, done.stderr) == (0, f"{reports} {RELEASES}\n")
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["localqueue-a.yaml", "pytorchjob-train.yaml"]


def test_a_job_that_an_overlay_does_not_fit_is_counted_as_invalid(tmp_path: Path) -> None:
    (tmp_path / "job.yaml").write_text(JOB.replace("name: pytorch", "name: trainer"))
    done = run_here("validate", "job.yaml", "--overlay", "gpu-nccl", cwd=tmp_path)
    assert done.returncode == 1
    assert done.stdout.endswith(f"\n1 document: 1 invalid (1 not checked for admission and outcome), 1 error {RELEASES}\n")


def test_a_mistake_in_an_overlay_is_reported_once_for_all_roles(tmp_path: Path) -> None:
    worker = JOB.partition("    Master:\n")[2]
    (tmp_path / "job.yaml").write_text(f"{JOB}    Worker:\n{worker}")
    (tmp_path / "my.yaml").write_text(
        "apiVersion: jobspec.dev/v1alpha1\nkind: Overlay\nmetadata: {name: my}\nspec: {pods: [{template: {spec: {hostNetwrk: true}}}]}\n"
    )
    done = run_here("validate", "job.yaml", "--overlay", "./my.yaml", "-o", "json", cwd=tmp_path)
    (found,) = json.loads(done.stdout)["files"][0]["diagnostics"]
    assert (found["rule"], found["file"], found["layer"]) == ("unknown-field", "./my.yaml", "my")


def test_gpus_that_the_base_requests_do_not_contradict_the_overlay(tmp_path: Path) -> None:
    (tmp_path / "job.yaml").write_text(f"{JOB}            resources: {{requests: {{cpu: 1, nvidia.com/gpu: 1}}}}\n")
    done = run_here("render", "job.yaml", "--overlay", "gpu-nccl", "--set", "gpu-nccl.gpus=2", cwd=tmp_path)
    assert (
        "resources:\n              limits:\n                nvidia.com/gpu: 2\n              requests:\n                cpu: 1\n"
        in done.stdout
    )
    assert done.stdout.count("nvidia.com/gpu") == 1


def test_a_volume_of_the_base_whose_name_an_overlay_takes_is_reported(tmp_path: Path) -> None:
    (tmp_path / "job.yaml").write_text(f"{JOB}          volumes: [{{name: data, hostPath: {{path: /data}}}}]\n")
    done = run_here("render", "job.yaml", "--overlay", "pvc-output", cwd=tmp_path)
    assert done.returncode == 0
    assert "warning: `hostPath` of a volume of the base is replaced" in done.stderr


def test_nothing_to_render_leaves_the_folder_alone(tmp_path: Path) -> None:
    write(tmp_path, {"job.yaml": JOB, "other/compose.yaml": COMPOSE})
    assert run_here("render", "job.yaml", "--to", "out", cwd=tmp_path).returncode == 0
    done = run_here("render", "other", "--to", "out", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (2, "jobspec: nothing to render: no Kubernetes objects in the files\n")
    assert (tmp_path / "out" / "pytorchjob-train.yaml").exists()
    assert run_here("render", "job.yaml", "--to", "", cwd=tmp_path).returncode == 2


def test_an_overlay_beside_the_jobs_is_not_rendered(tmp_path: Path) -> None:
    overlay = "apiVersion: jobspec.dev/v1alpha1\nkind: Overlay\nmetadata: {name: my}\nspec: {pods: []}\n"
    write(tmp_path, {"jobs/job.yaml": JOB, "jobs/my.yaml": overlay})
    done = run_here("render", "jobs", cwd=tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (0, JOB, "")


def test_what_render_passes_by_is_reported(tmp_path: Path) -> None:
    write(tmp_path, {"jobs/job.yaml": JOB, "jobs/compose.yaml": COMPOSE})
    done = run_here("render", "jobs", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, f"2 documents: 1 valid, 1 skipped (1 not a manifest) {RELEASES}\n")


def test_a_process_that_cannot_be_started_is_reported_as_such(tmp_path: Path) -> None:
    for number in range(60):
        (tmp_path / f"{number}.yaml").write_text(JOB)
    code = """
import os, sys
from jobspec import cli
from jobspec.session import spreading
def fork():
    raise BlockingIOError(11, "Resource temporarily unavailable")
os.fork, spreading.processors = fork, lambda: 2
sys.exit(cli.main(["validate", "."]))
"""
    done = program(sys.executable, "-c", code, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "jobspec: cannot start a process for a part of the files: Resource temporarily unavailable\n"


def test_a_program_that_cannot_be_started_is_named(tmp_path: Path) -> None:
    (tmp_path / "job.yaml").write_text(JOB)
    (tmp_path / "git").mkdir()
    (tmp_path / "git" / "git").write_text("no program")
    (tmp_path / "git" / "git").chmod(0o755)
    done = run("validate", "job.yaml", "--from-ref", "HEAD", cwd=tmp_path, env=environment(PATH=str(tmp_path / "git")))
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "jobspec: git: Exec format error\n"


def test_an_error_of_the_system_that_is_not_about_the_output_does_not_say_so(tmp_path: Path) -> None:
    gone = f"cd {shlex.quote(str(tmp_path))} && mkdir gone && cd gone && rmdir ../gone && exec {shlex.join(command('validate', '.'))}"
    done = program("sh", "-c", gone, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "jobspec: a call of the system failed: No such file or directory\n"


def test_the_environment_gives_options_that_the_command_line_does_not(tmp_path: Path) -> None:
    write(tmp_path, {"job.yaml": JOB, "crds/a.yaml": "{}\n"})

    def report(*arguments: str, **variables: str) -> dict[str, Any]:
        done = run_here("validate", "job.yaml", *arguments, cwd=tmp_path, env=environment(**variables))
        assert done.returncode == 0, done.stderr
        found: dict[str, Any] = json.loads(done.stdout)
        return found

    given = {"JOBSPEC_TARGET": "training-operator=1.8.1 trainer=2.1", "JOBSPEC_OUTPUT": "json"}
    assert report(**given)["target"]["training-operator"] == "1.8.1"
    assert report(**given)["target"]["trainer"].startswith("2.1")
    assert report("--target", "trainer=2.2", **given)["target"]["training-operator"] == "1.9.4"
    assert run_here("validate", "job.yaml", "-o", "concise", cwd=tmp_path, env=environment(**given)).stdout.startswith("1 document")
    blank = run_here("validate", "job.yaml", cwd=tmp_path, env=environment(JOBSPEC_TARGET="", JOBSPEC_OUTPUT=" "))
    assert blank.stdout.startswith("1 document")
    wrong = run_here("validate", "job.yaml", cwd=tmp_path, env=environment(JOBSPEC_TARGET="trainer=9.9"))
    assert wrong.returncode == 2


@pytest.mark.parametrize(("value", "code"), [("1", 0), ("true", 0), ("0", 1), ("false", 1), ("", 1), ("maybe", 2)])
def test_the_environment_switches_options_that_have_no_value(value: str, code: int, tmp_path: Path) -> None:
    write(tmp_path, {"other.yaml": "apiVersion: example.com/v1\nkind: Other\nmetadata: {name: a}\n"})
    assert run_here("validate", "other.yaml", cwd=tmp_path, env=environment(JOBSPEC_SKIP_UNKNOWN=value)).returncode == code
    assert run_here("list", cwd=tmp_path, env=environment(JOBSPEC_SKIP_UNKNOWN=value)).returncode == 0


def test_a_format_in_the_environment_is_for_commands_that_have_it(tmp_path: Path) -> None:
    write(tmp_path, {"job.yaml": JOB})
    done = run_here("report", "job.yaml", cwd=tmp_path, env=environment(JOBSPEC_OUTPUT="json"))
    assert done.stdout.startswith("<!doctype html>")
    assert [each.name for each in tmp_path.iterdir()] == ["job.yaml"]


def test_a_target_in_the_environment_is_not_for_projects(tmp_path: Path) -> None:
    write(tmp_path, {"job.yaml": JOB, "jobspec.yaml": f"{PROJECT_HEAD}  variants: [{{name: one, base: job.yaml}}]\n"})
    assert run_here("render", "--to", "-", cwd=tmp_path, env=environment(JOBSPEC_TARGET="training-operator=1.8.1")).returncode == 0
    assert run_here("render", "--target", "training-operator=1.8.1", cwd=tmp_path).returncode == 2
