"""A project file to variants: matrices, overlays, names, and what is wrong, at its line."""

import json
import re
from pathlib import Path

import pytest

from jobspec.documents.reader import read
from jobspec.project.matrix import label_of, max_name_length
from tests.support.cases import every_place, expectations
from tests.support.manifests import JOB, PROJECT_HEAD, RUNTIME, TRAINJOB, write
from tests.support.processes import run_here
from tests.support.reference import ROOT

PROJECTS = sorted((ROOT / "tests" / "cases" / "projects").glob("*.yaml"))
OVERLAY = """\
apiVersion: jobspec.dev/v1alpha1
kind: Overlay
metadata: {name: large}
spec:
  parameters: {pool: {type: string}}
  pods: [{template: {spec: {nodeSelector: {pool: "${pool}"}}}}]
"""
SUSPEND = """\
apiVersion: jobspec.dev/v1alpha1
kind: Overlay
metadata: {name: suspend}
spec: {job: {PyTorchJob: {spec: {runPolicy: {suspend: true}}}}}
"""
FILES = {
    "base/job.yaml": JOB,
    "base/trainjob.yaml": TRAINJOB + "---\n" + RUNTIME.replace("spec:\n", "spec:\n  mlPolicy: {numNodes: 1}\n", 1),
    "base/two.yaml": f"{JOB}---\n{JOB.replace('name: train', 'name: other')}",
    "overlays/large.yaml": OVERLAY,
    "overlays/paused.yaml": SUSPEND,
    "overlays/resumed.yaml": SUSPEND.replace("true", "false"),
}


def _place(tmp_path: Path, project: str) -> Path:
    """A repository with bases, an overlay and a project."""
    write(tmp_path, {**FILES, "jobspec.yaml": project})
    (tmp_path / ".git").mkdir()
    return tmp_path


def _rendered(tmp_path: Path, variants: str) -> dict[str, str]:
    """The files of a rendered project, by path, without their first line."""
    done = run_here("render", cwd=_place(tmp_path, PROJECT_HEAD + variants))
    assert done.returncode == 0, done.stdout + done.stderr
    found = sorted((tmp_path / "rendered").glob("*/*-*.yaml"))
    return {str(path.relative_to(tmp_path / "rendered")): path.read_text().partition("\n")[2] for path in found}


@pytest.mark.parametrize("path", PROJECTS, ids=lambda path: path.stem)
def test_each_mistake_is_reported_at_its_line_and_nothing_is_written(tmp_path: Path, path: Path) -> None:
    text = path.read_text()
    folder = _place(tmp_path, text)
    for command in ("validate", "render"):
        done = run_here(command, "jobspec.yaml", "-o", "json", cwd=folder)
        reported = [each for file in json.loads(done.stdout)["files"] for each in every_place(file)]
        found = [(each["line"], each["message"], each["rule"]) for each in reported if each["severity"] == "error"]
        assert sorted((line, rule) for line, _, rule in found) == [(each.line, each.rule) for each in expectations(text)]
        assert all(any(each.words in message for _, message, _ in found) for each in expectations(text))
        assert done.returncode == 1
    assert not (folder / "rendered").exists()


def test_values_of_a_matrix_keep_their_spelling(tmp_path: Path) -> None:
    entry = (
        "  variants:\n"
        "  - name: v-${lr}-${amp}\n"
        "    base: base/job.yaml\n"
        "    naming: fixed\n"
        "    matrix: {lr: [1e-3, 0.10, 1_000, '05'], amp: [true, false]}\n"
        '    flags: {--lr: "${lr}", --amp: "${amp}", --wd: 1e-4}\n'
        '    labels: {lr: "${lr}", amp: "${amp}"}\n'
    )
    files = _rendered(tmp_path, entry)
    assert set(files) == {
        f"v-{lr}-{amp}/pytorchjob-v-{lr.replace('.', '-').replace('_', '-')}-{amp}.yaml"
        for lr in ("1e-3", "0.10", "1_000", "05")
        for amp in ("true", "false")
    }
    text = files["v-0.10-true/pytorchjob-v-0-10-true.yaml"]
    arguments = re.findall(r"^            - (.*)$", text, re.MULTILINE)
    assert arguments == ["--lr", '"0.10"', "--amp", "--wd", '"1e-4"']
    assert 'lr: "0.10"' in text
    assert 'amp: "true"' in text
    assert "--amp" not in files["v-1e-3-false/pytorchjob-v-1e-3-false.yaml"]


def test_defaults_are_for_all_and_variants_override_them(tmp_path: Path) -> None:
    entry = (
        "  defaults:\n"
        "    base: base/job.yaml\n"
        "    namespace: ml\n"
        "    naming: fixed\n"
        "    overlays: [gpu-nccl: {gpus: 2}]\n"
        "    labels: {team: vision, tier: free}\n"
        "  variants:\n"
        "  - {name: a, labels: {tier: paid}}\n"
        "  - {name: b, namespace: other, overlays: [gpu-nccl: {gpus: 4}, overlays/large.yaml: {pool: big}]}\n"
        "  - {name: c, jobName: My.Job}\n"
    )
    files = _rendered(tmp_path, entry)
    assert list(files) == ["a/pytorchjob-a.yaml", "b/pytorchjob-b.yaml", "c/pytorchjob-my-job.yaml"]
    one, other, _ = files.values()
    assert "  namespace: ml\n  labels:\n    team: vision\n    tier: paid\n" in one
    assert "nvidia.com/gpu: 2" in one
    assert "namespace: other" in other
    assert "nvidia.com/gpu: 4" in other
    assert "pool: big" in other


def test_a_shared_companion_stands_in_a_folder_of_its_own(tmp_path: Path) -> None:
    entry = (
        "  defaults:\n"
        "    base: base/job.yaml\n"
        "    resources: [{apiVersion: v1, kind: ConfigMap, metadata: {name: settings}, data: {a: '$${b}'}}]\n"
        "  variants: [{name: z, namespace: other}, {name: b}, {name: a}]\n"
    )
    files = _rendered(tmp_path, entry)
    assert [path for path in files if "configmap" in path] == ["_shared/configmap-settings.yaml", "z/configmap-settings.yaml"]
    assert 'a: "${b}"' in files["_shared/configmap-settings.yaml"]


def test_the_namespace_is_written_where_a_runtime_is_looked_up(tmp_path: Path) -> None:
    files = _rendered(tmp_path, "  variants: [{name: a, base: base/trainjob.yaml, namespace: ml, overlays: [gpu-nccl]}]\n")
    assert [path.partition("-")[0] for path in files] == ["a/trainingruntime", "a/trainjob"]
    assert all("\n  namespace: ml\n" in text for text in files.values())


def test_a_job_whose_name_the_server_would_make_gets_one(tmp_path: Path) -> None:
    write(tmp_path, {"base/made.yaml": JOB.replace("name: train", "generateName: train-", 1)})
    files = _rendered(tmp_path, "  variants: [{name: a, base: base/made.yaml, naming: fixed}]\n")
    assert list(files) == ["a/pytorchjob-a.yaml"]
    assert "generateName" not in files["a/pytorchjob-a.yaml"]


def test_many_variants_are_spread_over_processes(tmp_path: Path) -> None:
    entry = "  variants: [{name: 'a-${seed}', base: base/trainjob.yaml, namespace: 'n${seed}', matrix: {seed: [%s]}}]\n"
    assert len(_rendered(tmp_path, entry % ", ".join(map(str, range(60))))) == 120


def test_a_companion_without_metadata_is_reported_at_its_line(tmp_path: Path) -> None:
    entry = "  variants:\n  - {name: a, namespace: ml, base: base/job.yaml, resources: [{apiVersion: v1, kind: Secret}]}\n"
    done = run_here("render", cwd=_place(tmp_path, PROJECT_HEAD + entry))
    assert re.findall(r"^jobspec\.yaml:5:.*\[(.*)\]$", done.stderr, re.MULTILINE) == ["missing-name"]


def test_a_hash_covers_the_spec_alone_and_not_whether_the_job_is_suspended(tmp_path: Path) -> None:
    def name(variant: str, number: int) -> str:
        (path,) = _rendered(tmp_path / str(number), f"  variants: [{{name: a, base: base/job.yaml, {variant}}}]\n")
        return path

    said = ("flags: {}", "labels: {a: b}", "flags: {--lr: 1}", "overlays: [overlays/paused.yaml]", "overlays: [overlays/resumed.yaml]")
    for number in range(len(said)):
        (tmp_path / str(number)).mkdir()
    plain, labelled, flagged, paused, resumed = (name(variant, number) for number, variant in enumerate(said))
    assert re.fullmatch(r"a/pytorchjob-a-[0-9a-f]{8}\.yaml", plain)
    assert plain == labelled
    assert plain != flagged
    assert plain == paused == resumed


@pytest.mark.parametrize(
    ("text", "label"),
    [("mnist-0.01-1", "mnist-0-01-1"), ("A_b", "a-b"), ("0.1", "job-0-1"), ("-x-", "x"), ("...", ""), ("é1", "job-1")],
)
def test_a_name_becomes_a_label(text: str, label: str) -> None:
    assert label_of(text) == label


def _job(text: str) -> int:
    (job, *rest), _ = read(text, file="job.yaml")
    return max_name_length(job, rest[0] if rest else None)


def test_the_room_for_a_name_is_what_the_operators_leave() -> None:
    workers = JOB + "    Worker:\n      replicas: {}\n"
    assert [_job(JOB), _job(workers.format(10)), _job(workers.format(11))] == [54, 54, 53]
    assert _job(TRAINJOB + "---\n" + RUNTIME) == 48
    assert _job(TRAINJOB + "---\n" + RUNTIME.replace("name: node\n", "name: dataset-initializer\n", 1)) == 33


def test_a_long_name_is_cut_before_its_hash_and_is_an_error_without_one(tmp_path: Path) -> None:
    name = "n" * 60
    (path,) = _rendered(tmp_path, f"  variants: [{{name: {name}, base: base/job.yaml}}]\n")
    assert re.fullmatch(rf"{name}/pytorchjob-n{{45}}-[0-9a-f]{{8}}\.yaml", path)
    (tmp_path / "jobspec.yaml").write_text(f"{PROJECT_HEAD}  variants: [{{name: {name}, base: base/job.yaml, naming: fixed}}]\n")
    done = run_here("render", cwd=tmp_path)
    assert "jobspec.yaml:4:21: error: `nnn" in done.stderr
    assert "leave room for 54" in done.stderr


def test_a_diagnostic_about_what_the_variant_says_stands_at_its_line(tmp_path: Path) -> None:
    folder = _place(tmp_path, f"{PROJECT_HEAD}  variants:\n  - name: a\n    base: base/job.yaml\n    labels:\n      team: not a label!\n")
    done = run_here("render", cwd=folder)
    assert done.returncode == 1
    assert "jobspec.yaml:8:13: error: " in done.stderr
    assert "(variant a) [invalid-metadata]" in done.stderr
