"""`jobspec expand`, as people and programs use it."""

import fcntl
import json
import os
import pty
import re
import struct
import sys
import termios
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobspec.documents.marked_tree import set_by
from jobspec.documents.writer import write
from jobspec.operators.made import operator_mark
from jobspec.operators.workloads import JOBS
from jobspec.reports.expansion import with_origin
from tests.support import quick_yaml
from tests.support.manifests import CONFIG, JOB, RUNTIME
from tests.support.processes import environment, run, run_here

TWO = """\
apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata:
  name: train
spec:
  pytorchReplicaSpecs:
    Master: &pods
      replicas: 1
      template:
        spec:
          containers:
          - name: pytorch
            image: example.com/train:v1
            command: [python, train.py]
            args: [--addr=$(MASTER_ADDR), --rank=$(RANK), "--note=a b"]
            volumeMounts: [{name: data, mountPath: /data, readOnly: true}]
          volumes: [{name: data, persistentVolumeClaim: {claimName: images}}]
    Worker:
      <<: *pods
      replicas: 2
"""
TRAINJOB = """\
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata: {name: bert}
spec:
  runtimeRef:
    name: torch-distributed
  trainer: {numNodes: 2, image: "example.com/train:v1", command: [torchrun, train.py], resourcesPerNode: {limits: {nvidia.com/gpu: 4}}}
"""
TRAINJOB_TABLE = """\
TrainJob bert: what trainer 2.3.0 creates for it (trainjob.yaml)

  RANK  POD                     HOST NAME           CONTAINERS
  0     bert-node-0-0-<random>  bert-node-0-0.bert  node
  1     bert-node-0-1-<random>  bert-node-0-1.bert  node

  bert-node-0-0-<random> to bert-node-0-1-<random>: container node
    image       example.com/train:v1
    command     torchrun train.py
    env added   PET_NNODES=2 PET_NPROC_PER_NODE=auto PET_NODE_RANK=0..1
                PET_MASTER_ADDR=bert-node-0-0.bert PET_MASTER_PORT=29500 JOB_COMPLETION_INDEX=0..1
    ports       29500
    limits      nvidia.com/gpu=4

  ConfigMap   bert-runtime-snapshot
  JobSet      bert
  Service     bert
  Job         bert-node-0
"""
NAMES = ["train-master-0", "train-master-0", "train-worker-0", "train-worker-1", "train-worker-0", "train-worker-1"]
TABLE = """\
PyTorchJob train: what training-operator 1.9.4 creates for it (job.yaml)

  RANK  POD             HOST NAME       CONTAINERS
  0     train-master-0  train-master-0  pytorch
  1     train-worker-0  train-worker-0  init-pytorch, pytorch
  2     train-worker-1  train-worker-1  init-pytorch, pytorch

  train-master-0: container pytorch
    image       example.com/train:v1
    command     python train.py --addr=train-master-0 --rank=0 '--note=a b'
    env added   PYTHONUNBUFFERED=1 MASTER_PORT=23456 PET_MASTER_PORT=23456
                MASTER_ADDR=train-master-0 PET_MASTER_ADDR=train-master-0
                WORLD_SIZE=3 RANK=0 PET_NODE_RANK=0 PET_NPROC_PER_NODE=auto
                PET_NNODES=3
    ports       23456(pytorchjob-port)
    volumes     /data from data (persistentVolumeClaim images) read-only

  train-worker-0 to train-worker-1: init container init-pytorch
    image       alpine:3.10
    command     sh -c 'err=1;for i in $(seq 100); do if nslookup train-master-0;
                then err=0 && break; fi;echo waiting for master; sleep 2; done;
                exit $err'
    limits      cpu=100m memory=20Mi
    requests    cpu=50m memory=10Mi
  train-worker-0 to train-worker-1: container pytorch
    image       example.com/train:v1
    command     python train.py --addr=train-master-0 '--rank=$(RANK)' '--note=a
                b'
    env added   PYTHONUNBUFFERED=1 MASTER_PORT=23456 PET_MASTER_PORT=23456
                MASTER_ADDR=train-master-0 PET_MASTER_ADDR=train-master-0
                WORLD_SIZE=3 RANK=1..2 PET_NODE_RANK=1..2
                PET_NPROC_PER_NODE=auto PET_NNODES=3
    ports       23456(pytorchjob-port)
    volumes     /data from data (persistentVolumeClaim images) read-only

  Service     train-master-0:23456 train-worker-0:23456 train-worker-1:23456
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "job.yaml").write_text(TWO)
    return tmp_path


def _names(objects: list[dict[str, Any]]) -> list[str]:
    return [each["metadata"]["name"] for each in objects]


def test_yaml_for_a_pipe_and_a_list_for_programs(folder: Path) -> None:
    done = run("expand", "job.yaml", cwd=folder)
    assert (done.returncode, done.stderr) == (0, "")
    objects = list(quick_yaml.load_all(done.stdout))
    assert [each["kind"] for each in objects] == ["Pod", "Service", "Pod", "Pod", "Service", "Service"]
    assert _names(objects) == NAMES
    listed = run("expand", "job.yaml", "-o", "json", cwd=folder)
    assert (listed.returncode, listed.stderr) == (0, "")
    assert json.loads(listed.stdout) == {"apiVersion": "v1", "kind": "List", "items": objects}


def test_defaults_are_what_the_server_adds(folder: Path) -> None:
    plain, whole = (
        next(quick_yaml.load_all(run_here("expand", "job.yaml", *more, cwd=folder).stdout))["spec"] for more in ((), ("--defaults",))
    )
    assert "dnsPolicy" not in plain
    assert whole["dnsPolicy"] == "ClusterFirst"
    assert [each["name"] for each in whole["volumes"]] == ["data", "kube-api-access-<random>"]
    assert whole["containers"][0]["imagePullPolicy"] == "IfNotPresent"


_HUGE_PAGES = (
    JOB
    + """\
            resources: {limits: {hugepages-2Mi: 4Mi, memory: 1Gi, cpu: 500m}}
          - {name: b, image: "b:1", resources: {limits: {hugepages-2Mi: 2Mi, memory: 1Gi, cpu: 500m}}}
          resources: {OWN: {cpu: 2}}
"""
)


@pytest.mark.parametrize(
    ("own", "release", "expected"),
    [
        ("limits", "1.36", {"limits": "cpu: 2, hugepages-2Mi: 6Mi", "requests": "cpu: 1, hugepages-2Mi: 6Mi, memory: 2Gi"}),
        ("limits", "1.37", {"limits": "cpu: 2, hugepages-2Mi: 6Mi, memory: 2Gi", "requests": "cpu: 1, hugepages-2Mi: 6Mi, memory: 2Gi"}),
        ("requests", "1.36", {"limits": "hugepages-2Mi: 6Mi", "requests": "cpu: 2, hugepages-2Mi: 6Mi, memory: 2Gi"}),
    ],
)
def test_a_pod_as_a_whole_has_the_huge_pages_of_its_containers(own: str, release: str, expected: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "job.yaml").write_text(_HUGE_PAGES.replace("OWN", own))
    done = run_here("expand", "job.yaml", "--defaults", "-o", "json", "--target", f"kubernetes={release}", cwd=tmp_path)
    pod = next(each for each in json.loads(done.stdout)["items"] if each["kind"] == "Pod")
    resources = pod["spec"]["resources"]
    assert {field: ", ".join(f"{name}: {each}" for name, each in sorted(resources[field].items())) for field in resources} == expected


@pytest.mark.parametrize(("processes", "expected"), [("4", "8"), ("+4", "8"), ("gpu", "2"), ("9223372036854775808", "2")])
def test_what_is_no_number_of_64_bits_counts_as_one_process(processes: str, expected: str, tmp_path: Path) -> None:
    role = "{replicas: 1, template: {spec: {containers: [{name: pytorch, image: a}]}}}"
    spec = f'{{nprocPerNode: "{processes}", pytorchReplicaSpecs: {{Master: {role}, Worker: {role}}}}}'
    (tmp_path / "job.yaml").write_text(f"apiVersion: kubeflow.org/v1\nkind: PyTorchJob\nmetadata: {{name: a}}\nspec: {spec}\n")
    done = run_here("expand", "job.yaml", "-o", "json", cwd=tmp_path)
    pod = next(each for each in json.loads(done.stdout)["items"] if each["kind"] == "Pod")
    assert {"name": "WORLD_SIZE", "value": expected} in pod["spec"]["containers"][0]["env"]


def test_origins_stand_behind_each_line(folder: Path) -> None:
    plain = run_here("expand", "job.yaml", "--defaults", "--overlay", "gpu-nccl", cwd=folder).stdout
    reported = run_here("expand", "job.yaml", "--defaults", "--overlay", "gpu-nccl", "--origin", cwd=folder)
    assert reported.stderr == ""
    assert list(quick_yaml.load_all(reported.stdout)) == list(quick_yaml.load_all(plain))
    lines = [line.split("  # ") for line in reported.stdout.splitlines()]
    assert [line.rstrip() for line, *_ in lines] == plain.splitlines()
    by_text = {line.strip(): place for line, *rest in lines for place in rest}
    assert by_text["image: example.com/train:v1"] == "job.yaml:13:20"
    assert by_text["image: alpine:3.10"] == "training-operator 1.9.4"
    assert by_text["dnsPolicy: ClusterFirst"] == "kube-apiserver 1.37"
    assert by_text['nvidia.com/gpu: "1"'].startswith("overlay gpu-nccl:")
    assert [line for line, *rest in lines if not rest] == ["---"] * (len(NAMES) - 1)


_SCALARS = st.none() | st.booleans() | st.integers() | st.text(max_size=12) | st.sampled_from(["a\nb\n", "a: b", "#", "x\ny", "\n", "- a"])


_KEYS = st.text(min_size=1, max_size=4) | st.just("a" * 200)
_VALUES = st.recursive(_SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_KEYS, inner, max_size=3), max_leaves=12)


@pytest.mark.slow
@given(st.dictionaries(_KEYS, _VALUES, min_size=1, max_size=4))
def test_origins_change_nothing_in_what_the_text_means(data: dict[str, Any]) -> None:
    text = with_origin(set_by(operator_mark("an operator", "1.0"), data))
    assert quick_yaml.load(text) == data
    assert "  # an operator 1.0" in text
    assert re.sub("  # an operator 1.0$", "", text, flags=re.MULTILINE).split() == write([data]).split()


def test_a_table_for_people(folder: Path) -> None:
    assert _on_a_terminal(80, "expand", "job.yaml", cwd=folder) == TABLE
    wide = _on_a_terminal(200, "expand", "job.yaml", cwd=folder)
    assert "    command     python train.py --addr=train-master-0 '--rank=$(RANK)' '--note=a b'\n" in wide
    assert wide.split() == TABLE.split()
    narrow = _on_a_terminal(35, "expand", "job.yaml", cwd=folder)
    assert "  0     train-master-0\n" in narrow
    assert "host name train-worker-0 to train-worker-1" in " ".join(narrow.split())


def test_a_table_of_a_trainjob(folder: Path) -> None:
    (folder / "trainjob.yaml").write_text(TRAINJOB)
    assert _on_a_terminal(100, "expand", "trainjob.yaml", cwd=folder) == TRAINJOB_TABLE


def test_a_runtime_of_another_file_is_met_and_one_that_is_nowhere_reported_once(folder: Path) -> None:
    (folder / "job.yaml").write_text(TRAINJOB.replace("name: torch-distributed", "{kind: TrainingRuntime, name: ours}"))
    (folder / "runtime.yaml").write_text(RUNTIME)
    listed = json.loads(run_here("expand", ".", "-o", "json", cwd=folder).stdout)
    assert [each["kind"] for each in listed["items"]].count("Pod") == 2
    alone = run_here("expand", "job.yaml", "-o", "json", cwd=folder)
    assert (alone.returncode, json.loads(alone.stdout)["items"]) == (1, [])
    assert "error: no TrainingRuntime `ours` in the files" in alone.stderr
    assert "warning" not in alone.stderr
    (folder / "job.yaml").write_text(TRAINJOB.replace("name: torch-distributed", "name: torch_distributed"))
    alone = run_here("expand", "job.yaml", "-o", "table", cwd=folder)
    assert (alone.returncode, alone.stdout) == (1, "")
    assert "hint: did you mean `torch-distributed`?" in alone.stderr


def _on_a_terminal(columns: int, *arguments: str, cwd: Path) -> str:
    """What a terminal of that width shows, without colours."""
    process, terminal = pty.fork()
    if process == 0:
        os.chdir(cwd)
        fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
        os.execve(sys.executable, [sys.executable, "-m", "jobspec", *arguments], environment(NO_COLOR="1", TERM="xterm"))
    shown = b""
    try:
        while part := os.read(terminal, 1 << 16):
            shown += part
    except OSError:  # the end of the program, on Linux
        pass
    assert os.waitpid(process, 0)[1] == 0
    os.close(terminal)
    return shown.decode().replace("\r\n", "\n")


def test_what_the_server_refuses_is_reported_and_not_expanded(folder: Path) -> None:
    (folder / "bad.yaml").write_text(JOB.replace("replicas", "replica"))
    for form, printed in (("yaml", ""), ("json", '{\n  "apiVersion": "v1",\n  "kind": "List",\n  "items": []\n}\n')):
        done = run_here("expand", "job.yaml", "bad.yaml", "-o", form, cwd=folder)
        assert (done.returncode, done.stdout) == (1, printed)
        assert "bad.yaml:8:7: error: unknown field `replica` in `Master` [unknown-field]" in done.stderr
        assert done.stderr.endswith("jobspec: fix these errors first, then run expand again\n")


def test_what_the_operator_fails_on_is_an_error_and_the_rest_is_expanded(folder: Path) -> None:
    (folder / "crash.yaml").write_text(
        TWO.replace("name: train", "name: other").replace("spec:\n", "spec:\n  elasticPolicy: {rdzvConf: []}\n", 1)
    )
    done = run_here("expand", "crash.yaml", "job.yaml", "-o", "json", cwd=folder)
    assert done.returncode == 1
    assert _names(json.loads(done.stdout)["items"]) == NAMES
    assert "crash.yaml:6:19: error: " in done.stderr
    assert "[operator-crash]" in done.stderr


def test_a_suspended_job_is_nothing_for_now(folder: Path) -> None:
    (folder / "later.yaml").write_text(TWO.replace("spec:\n", "spec:\n  runPolicy: {suspend: true}\n", 1))
    done = run_here("expand", "later.yaml", cwd=folder)
    assert (done.returncode, done.stdout) == (0, "")
    assert "later.yaml:6:24: info: the job is suspended" in done.stderr


_POD = "template: {spec: {restartPolicy: Never, containers: [{name: main, image: example.com/train:v1}]}}"
_SUSPENDED = {
    "Job": ("batch/v1", _POD),
    "JobSet": ("jobset.x-k8s.io/v1alpha2", f"replicatedJobs: [{{name: a, template: {{spec: {{{_POD}}}}}}}]"),
    "TrainJob": ("trainer.kubeflow.org/v1alpha1", "runtimeRef: {name: torch-distributed}"),
}
_FLAVORS = "flavors: [{name: cpus, resources: [{name: cpu, nominalQuota: 4}]}]"
_QUEUES = f"""\
apiVersion: kueue.x-k8s.io/v1beta1
kind: ResourceFlavor
metadata: {{name: cpus}}
---
apiVersion: kueue.x-k8s.io/v1beta1
kind: ClusterQueue
metadata: {{name: all}}
spec: {{namespaceSelector: {{}}, resourceGroups: [{{coveredResources: [cpu], {_FLAVORS}}}]}}
---
apiVersion: kueue.x-k8s.io/v1beta1
kind: LocalQueue
metadata: {{name: team, namespace: ml}}
spec: {{clusterQueue: all}}
"""


@pytest.mark.parametrize("kind", _SUSPENDED)
def test_of_each_suspended_job_it_says_what_shows_the_pods(kind: str, folder: Path) -> None:
    version, spec = _SUSPENDED[kind]
    text = f"apiVersion: {version}\nkind: {kind}\nmetadata: {{name: train, namespace: ml}}\nspec:\n  suspend: true\n  {spec}\n"
    (folder / "job.yaml").write_text(text)
    done = run_here("expand", "job.yaml", "-o", "table", cwd=folder)
    assert done.returncode == 0
    assert done.stdout.endswith("\n\n  no pods: the job is suspended\n")
    assert done.stderr.startswith("job.yaml:5:12: info: the job is suspended: it has no pods until `suspend` is false [no-pods-created]\n")
    assert "hint: to see its pods, expand it with `suspend: false`\n" in done.stderr
    (folder / "job.yaml").write_text(text.replace("namespace: ml", "namespace: ml, labels: {kueue.x-k8s.io/queue-name: team}"))
    (folder / "queues.yaml").write_text(_QUEUES)
    assert "hint: `--queued --queues PATH` shows the pods as Kueue starts them\n" in run_here("expand", "job.yaml", cwd=folder).stderr
    assert "hint: name the queues with --queues" in run_here("expand", "job.yaml", "--queued", cwd=folder).stderr
    done = run_here("expand", "job.yaml", "--queued", "--queues", "queues.yaml", "-o", "table", cwd=folder)
    assert "suspended" not in done.stdout + done.stderr
    assert "RANK  POD" in done.stdout


def test_a_run_of_a_suspended_cron_job_has_pods(folder: Path) -> None:
    spec = f"{{suspend: true, schedule: '0 0 * * *', jobTemplate: {{spec: {{{_POD}}}}}}}"
    text = f"apiVersion: batch/v1\nkind: CronJob\nmetadata: {{name: a}}\nspec: {spec}\n"
    (folder / "job.yaml").write_text(text)
    done = run_here("expand", "job.yaml", "-o", "table", cwd=folder)
    assert "RANK  POD" in done.stdout
    assert "suspended" not in done.stdout + done.stderr


def test_release_overlays_and_priority_classes_of_other_files_count(folder: Path) -> None:
    (folder / "class.yaml").write_text("apiVersion: scheduling.k8s.io/v1\nkind: PriorityClass\nmetadata: {name: high}\nvalue: 7\n")
    text = TWO.replace("          volumes", "          priorityClassName: high\n          volumes", 1)
    (folder / "job.yaml").write_text(text)
    arguments = ("expand", ".", "--defaults", "-o", "json", "--overlay", "gpu-nccl", "--set", "gpu-nccl.gpus=3")
    done = run_here(*arguments, "--target", "training-operator=1.7", cwd=folder)
    assert done.returncode == 0
    pod = json.loads(done.stdout)["items"][0]["spec"]
    assert pod["priority"] == 7
    assert pod["containers"][0]["resources"]["limits"] == {"nvidia.com/gpu": "3"}
    names = [each["name"] for each in pod["containers"][0]["env"]]
    assert names.index("PET_NPROC_PER_NODE") < names.index("PET_NODE_RANK")


def test_a_generated_name_reads_random(folder: Path) -> None:
    (folder / "job.yaml").write_text(JOB.replace("name: train", "generateName: train-"))
    pod, _ = quick_yaml.load_all(run_here("expand", "job.yaml", "--no-admission", cwd=folder).stdout)
    assert pod["metadata"]["name"] == "train-<random>-master-0"


def test_what_cannot_be_done(folder: Path) -> None:
    (folder / "settings.yaml").write_text(CONFIG)
    (folder / "vast.yaml").write_text(TWO.replace("replicas: 2", "replicas: 2000000000"))
    (folder / "nodes.yaml").write_text(TRAINJOB.replace("numNodes: 2", "numNodes: 2000000000"))
    (folder / "mpi.yaml").write_text((folder / "nodes.yaml").read_text().replace("torch-distributed", "deepspeed-distributed"))
    for arguments, words in (
        (("vast.yaml",), "jobspec: 2000000001 pods of PyTorchJob `train` are too many to expand: the limit is 100000\n"),
        (("nodes.yaml",), "jobspec: 2000000000 pods of Job `bert-node-0` are too many to expand: the limit is 100000\n"),
        (("mpi.yaml",), "jobspec: 1999999999 nodes of TrainJob `bert` are too many to expand: the limit is 100000\n"),
        (("settings.yaml",), f"jobspec: nothing to expand: the files hold no {', '.join(kind for _, kind in JOBS)}\n"),
        (("job.yaml", "--origin", "-o", "json"), "jobspec: --origin is for YAML: remove `-o`, or write `-o yaml`\n"),
        (("nowhere.yaml",), "jobspec: nowhere.yaml: no such file or folder\n"),
    ):
        done = run_here("expand", *arguments, cwd=folder)
        assert (done.returncode, done.stdout, done.stderr) == (2, "", words)
