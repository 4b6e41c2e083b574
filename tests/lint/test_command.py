"""`jobspec lint`, from the outside: what it is given, what it prints, and how it ends."""

import json
import shutil
from pathlib import Path

import pytest

from jobspec.reports.formats import FORMATS
from tests.support.cases import every_place
from tests.support.manifests import NEWEST, PROJECT_HEAD, write
from tests.support.processes import RELEASES, run, run_here
from tests.support.reference import ROOT

JOB = """\
apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata: {name: train}
spec:
  pytorchReplicaSpecs:
    Master:
      replicas: 1
      restartPolicy: Never
      template: {spec: {containers: [{name: pytorch, image: train}]}}
"""
AT_ONCE = JOB.replace("spec:\n  pytorch", "spec:\n  runPolicy: {activeDeadlineSeconds: -1}\n  pytorch")
CLAIM = """\
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data}
spec: {accessModes: [ReadWriteOncePod], resources: {requests: {storage: 1Gi}}}
"""
WORKERS = """\
apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata: {name: workers}
spec:
  elasticPolicy: {}
  pytorchReplicaSpecs:
    Worker:
      replicas: 2
      restartPolicy: Never
      template:
        spec:
          containers: [{name: pytorch, image: "train:1.4"}]
          volumes:
            - name: data
              persistentVolumeClaim: {claimName: data}
"""
HEAD = f"{PROJECT_HEAD}  variants:\n"
THREE = """\
    - {name: one, base: base.yaml}
    - {name: two, base: base.yaml, overlays: [./newest.yaml], namespace: two}
    - {name: three, base: base.yaml, overlays: [./newest.yaml], namespace: three}
"""
IDLE = """\
    - name: idle-${lr}
      base: base.yaml
      matrix: {lr: [0.1, 0.01]}
      flags: {--lr: "${lr}"}
      overlays: [gpu-nccl]
"""

#: A guide as there are many: for a trainer before 2.2, with GPUs in the requests alone, and the same job in two steps.
PAGE = """\
# Jobs in queues

```yaml
apiVersion: trainer.kubeflow.org/v1alpha1
kind: ClusterTrainingRuntime
metadata: {name: team-torch, labels: {trainer.kubeflow.org/framework: torch}}
spec:
  mlPolicy:
    numNodes: 1
    torch:
      numProcPerNode: auto
  template:
    spec:
      replicatedJobs:
        - name: node
          template:
            metadata: {labels: {trainer.kubeflow.org/trainjob-ancestor-step: trainer}}
            spec: {template: {spec: {containers: [{name: node, image: "pytorch/pytorch:2.7.1"}]}}}
```

A job in a queue:

```yaml
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata:
  name: in-a-queue
  labels: {kueue.x-k8s.io/queue-name: user-queue}
spec:
  runtimeRef: {name: torch-distributed}
  trainer:
    numNodes: 2
    command: [torchrun, train.py]
    resourcesPerNode:
      requests:
        cpu: 4
        nvidia.com/gpu: 1
```

The same with priority:

```yaml
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata:
  name: in-a-queue
  labels: {kueue.x-k8s.io/queue-name: user-queue, kueue.x-k8s.io/priority-class: high}
spec:
  runtimeRef: {name: torch-distributed}
  trainer: {numNodes: 2, command: [torchrun, train.py]}
```
"""


def _reported(*arguments: str, cwd: Path, text: str = "") -> list[tuple[str, str, int]]:
    """File, rule and line of each finding, but for what every PyTorchJob is reported."""
    done = run_here("lint", "-o", "json", "--ignore", "legacy-operator", *arguments, cwd=cwd, stdin=text)
    assert done.returncode in (0, 1), done.stderr
    found = [(each["file"], each["rule"], each["line"]) for file in json.loads(done.stdout)["files"] for each in every_place(file)]
    return list(dict.fromkeys(found))


def test_a_warning_is_reported_and_ends_well_and_an_error_does_not(tmp_path: Path) -> None:
    write(tmp_path, {"job.yaml": JOB, "at-once.yaml": AT_ONCE})
    done = run("lint", "job.yaml", "--ignore", "legacy-operator", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    message = "mutable tag: `train`, that is `:latest`, can change under the same name"
    assert done.stdout.startswith(f"job.yaml:9:61: warning: {message} [unpinned-image]\n")
    assert run_here("lint", "at-once.yaml", cwd=tmp_path).returncode == 1
    assert run_here("validate", "at-once.yaml", cwd=tmp_path).returncode == 0


def test_what_a_server_refuses_is_reported_as_by_validate_and_not_linted(tmp_path: Path) -> None:
    write(tmp_path, {"job.yaml": JOB.replace("replicas: 1", "replicas: one")})
    done, validated = (run_here(command, "job.yaml", cwd=tmp_path) for command in ("lint", "validate"))
    assert (done.returncode, done.stdout) == (1, validated.stdout.replace("admission and outcome)", "admission, outcome and lint)"))


def test_what_becomes_of_a_job_is_reported_beside_what_bites(tmp_path: Path) -> None:
    write(tmp_path, {"job.yaml": JOB.replace("image: train}", "image: train, volumeMounts: [{name: dat, mountPath: /data}]}")})
    assert [rule for _, rule, _ in _reported("job.yaml", cwd=tmp_path)] == ["unpinned-image", "pods-refused"]


def test_standard_input(tmp_path: Path) -> None:
    assert _reported("-", cwd=tmp_path, text=JOB) == [("<stdin>", "unpinned-image", 9)]


@pytest.mark.parametrize("names", [("claim", "workers"), ("workers", "claim")])
def test_all_files_are_seen_whatever_their_order(names: tuple[str, str], tmp_path: Path) -> None:
    write(tmp_path, {"claim.yaml": CLAIM, "workers.yaml": WORKERS})
    assert _reported(*(f"{name}.yaml" for name in names), cwd=tmp_path) == [("workers.yaml", "claim-of-one-pod", 14)]
    assert _reported("workers.yaml", cwd=tmp_path) == []


@pytest.mark.parametrize(
    ("trainer", "rules"),
    [
        ("2.1", [("old-trainer-in-queue", 28), ("job-refused", 37), ("old-trainer-in-queue", 47)]),
        ("2.2", [("unknown-field", 11), ("no-deadline", 27), ("rewritten-quantity", 36), ("job-refused", 37)]),
        ("2.3", [("unknown-field", 11), ("no-deadline", 27), ("rewritten-quantity", 36), ("job-refused", 37)]),
    ],
)
def test_what_has_become_of_a_guide_is_reported(trainer: str, rules: list[tuple[str, int]], tmp_path: Path) -> None:
    write(tmp_path, {"page.md": PAGE})
    reported = _reported("page.md", "--target", f"trainer={trainer}", cwd=tmp_path)
    assert sorted((line, rule) for _, rule, line in reported) == sorted((line, rule) for rule, line in rules)


def test_what_kustomize_makes_of_a_folder_may_be_referred_to() -> None:
    done = run_here("lint", ROOT / "tests" / "cases" / "lint" / "kustomized", "--no-build", "--ignore", "legacy-operator")
    assert done.stdout == f"3 documents: 2 valid, 1 skipped (1 kustomization) {RELEASES}\n"


@pytest.mark.skipif(not (shutil.which("kustomize") or shutil.which("kubectl")), reason="no kustomize or kubectl")
def test_kustomize_changes_no_references_in_jobs_to_names_that_it_adds_a_hash_to(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    folder = tmp_path / "kustomized"
    shutil.copytree(ROOT / "tests" / "cases" / "lint" / "kustomized", folder)
    (folder / "train.py").write_text("")
    done = run_here("lint", folder)
    assert "17:52: info: no ConfigMap `code` in the job's namespace among the files [unknown-source]" in done.stdout
    assert "hint: kustomize names it `code-" in done.stdout
    with (folder / "kustomization.yaml").open("a") as file:
        file.write("generatorOptions: {disableNameSuffixHash: true}\n")
    assert "[unknown-source]" not in run_here("lint", folder).stdout


def test_a_file_that_is_given_twice_is_one(tmp_path: Path) -> None:
    write(tmp_path, {"job.yaml": JOB})
    assert set(_reported("job.yaml", "job.yaml", cwd=tmp_path)) == {("job.yaml", "unpinned-image", 9)}


def test_a_place_in_an_overlay_is_reported_there(tmp_path: Path) -> None:
    write(tmp_path, {"job.yaml": JOB, "newest.yaml": NEWEST})
    assert _reported("job.yaml", "--overlay", "./newest.yaml", cwd=tmp_path) == [("./newest.yaml", "unpinned-image", 11)]


def test_a_project_is_linted_as_it_renders_each_mistake_once(tmp_path: Path) -> None:
    write(tmp_path, {"jobspec.yaml": HEAD + THREE, "base.yaml": JOB, "newest.yaml": NEWEST})
    reported = _reported("jobspec.yaml", cwd=tmp_path)
    assert sorted((file.removeprefix("./"), rule, line) for file, rule, line in reported) == [
        ("base.yaml", "unpinned-image", 9),
        ("newest.yaml", "unpinned-image", 11),
    ]


def test_what_the_project_itself_causes_is_reported_in_its_file_once(tmp_path: Path) -> None:
    """A job has its name from there; of the variants of a matrix, one has it."""
    write(tmp_path, {"jobspec.yaml": HEAD + IDLE, "base.yaml": JOB.replace("image: train", "image: example.com/train:v1")})
    assert _reported("jobspec.yaml", cwd=tmp_path) == [("jobspec.yaml", "no-deadline", 5)]


@pytest.mark.parametrize("form", FORMATS)
def test_every_format_of_reports_holds_advice(form: str, tmp_path: Path) -> None:
    write(tmp_path, {"job.yaml": JOB})
    done = run_here("lint", "job.yaml", "-o", form, cwd=tmp_path)
    assert done.returncode == 0
    assert "unpinned-image" in done.stdout


def test_many_files_are_reported_as_one_by_one(tmp_path: Path) -> None:
    write(tmp_path, {f"{number}.yaml": JOB.replace("name: train", f"name: train-{number}") for number in range(60)})
    reported = run_here("lint", "-o", "json", ".", cwd=tmp_path)
    assert [len(each["diagnostics"]) for each in json.loads(reported.stdout)["files"]] == [2] + [
        1
    ] * 59  # that PyTorchJobs are legacy, once


def test_jobs_of_training_operator_that_kueue_does_not_queue(tmp_path: Path) -> None:
    about = "metadata: {name: a, labels: {kueue.x-k8s.io/queue-name: team}}"
    containers = 'template: {spec: {containers: [{name: tensorflow, image: "a:1"}]}}'
    text = f"apiVersion: kubeflow.org/v1\nkind: TFJob\n{about}\nspec: {{tfReplicaSpecs: {{Worker: {{{containers}}}}}}}\n---\n"
    workers = f"runPolicy: {{cleanPodPolicy: All}}, mpiReplicaSpecs: {{Launcher: {{{containers}}}, Worker: {{{containers}}}}}"
    text += f"apiVersion: kubeflow.org/v1\nkind: MPIJob\n{about}\nspec: {{{workers}}}\n"
    write(tmp_path, {"jobs.yaml": text})
    for release, said in (("0.18", ["MPIJobs of kubeflow.org/v1"]), ("0.19", ["TFJobs by default", "MPIJobs of kubeflow.org/v1"])):
        done = run_here("lint", "jobs.yaml", "--target", f"kueue={release}", cwd=tmp_path)
        found = [line for line in done.stdout.splitlines() if "bypasses Kueue" in line]
        assert [one in line and "[legacy-operator]" in line for one, line in zip(said, found, strict=True)] == [True] * len(said)
