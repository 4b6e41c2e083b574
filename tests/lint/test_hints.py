"""Hints that say what to write: a manifest that follows them has the finding no more."""

import pytest
import yaml

from jobspec import Cluster
from jobspec.api import lint
from jobspec.reports.printable import in_one_line

_JOB = """\
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata: {name: llama, namespace: ml}
spec:
  runtimeRef: {name: torch-distributed}
  trainer:
    numNodes: 3
    image: ghcr.io/acme/train:1.4
    command: [torchrun, --standalone, --nnodes=1, train.py]
    resourcesPerNode: {requests: {cpu: 2, memory: 4Gi}, limits: {memory: 4Gi, nvidia.com/gpu: 2}}
"""
_QUOTA = """
apiVersion: v1
kind: ResourceQuota
metadata: {name: q, namespace: ml}
spec: {hard: {requests.memory: 10Gi}}
"""
_RANGE = """
apiVersion: v1
kind: LimitRange
metadata: {name: l, namespace: ml}
spec: {limits: [{type: Container, max: {memory: 3Gi}}]}
"""


def _hints(text: str, rule: str, *objects: str, trainer: str = "2.3") -> list[str]:
    found = lint(text, cluster=Cluster({"trainer": trainer}, objects=objects))
    assert not [each for each in found.diagnostics if each.stage in ("decoding", "schema")]
    return [each.hint for each in found.diagnostics if each.rule == rule]


@pytest.mark.parametrize("release", ["2.0", "2.1", "2.2", "2.3"])
def test_shared_memory_of_a_runtime_is_mounted_by_the_field_of_the_release(release: str) -> None:
    (hint,) = _hints(_JOB, "small-shared-memory", trainer=release)
    written = yaml.safe_load(hint.partition("of the TrainJob:\n")[2])
    assert max(map(len, hint.splitlines())) <= 54  # which stand behind six blanks
    assert yaml.safe_load(in_one_line(hint.partition("of the TrainJob:\n")[2])) == written
    job = yaml.safe_load(_JOB)
    job["spec"] |= written
    assert _hints(yaml.safe_dump(job), "small-shared-memory", trainer=release) == []


def test_torchrun_with_one_node_is_told_all_that_keeps_it_alone() -> None:
    (hint,) = _hints(_JOB, "trains-alone")
    assert hint.startswith("remove `--standalone` and `--nnodes=1`")
    assert _hints(_JOB.replace("--standalone, --nnodes=1, ", ""), "trains-alone") == []


def test_an_undefined_variable_names_each_variable_of_the_pod_once() -> None:
    (hint,) = _hints(_JOB.replace("train.py", "--log-dir=/logs/$(LOGS), train.py"), "undefined-variable")
    assert hint == "the pod has `PET_NNODES`, `PET_NPROC_PER_NODE`, `PET_NODE_RANK`, `PET_MASTER_ADDR`, `PET_MASTER_PORT`"


_BACKUP = """\
apiVersion: batch/v1
kind: Job
metadata: {name: backup, namespace: ml}
spec:
  template:
    spec:
      restartPolicy: Never
      volumes: [{name: host, hostPath: {path: /home/core}}]
      containers:
      - {name: main, image: "tools:1.4", command: [backup.sh], resources: {}, securityContext: {privileged: true}}
"""


def test_what_works_on_its_node_is_not_told_of_rdma() -> None:
    of_node = ", unless it is about the files of the node itself"
    assert _hints(_BACKUP, "privileged-container") == ["add the capability that is needed instead, unless it changes the node itself"]
    assert _hints(_BACKUP, "host-path") == [f"use a claim{of_node}"]
    for device in ("nvidia.com/gpu", "rdma/ib", "vpc.amazonaws.com/efa"):
        with_device = _BACKUP.replace("resources: {}", f"resources: {{limits: {{{device}: 1}}}}")
        assert _hints(with_device, "privileged-container") == ["add the capability that is needed instead, IPC_LOCK for RDMA"]
        assert _hints(with_device, "host-path") == ["use a claim"]


def test_an_ssh_key_may_be_readable_by_the_group_that_openshift_sets() -> None:
    runtime = """\
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainingRuntime
metadata: {name: mpi, labels: {trainer.kubeflow.org/framework: mpi}}
spec:
  mlPolicy: {numNodes: 1, mpi: {numProcPerNode: 1, mpiImplementation: OpenMPI, sshAuthMountPath: /home/mpiuser/.ssh}}
  template:
    spec:
      replicatedJobs:
      - name: launcher
        template:
          metadata: {labels: {trainer.kubeflow.org/trainjob-ancestor-step: trainer}}
          spec:
            template:
              spec:
                containers: [{name: node, image: "solver:1.4", command: [mpirun, solver], securityContext: {runAsUser: 1000}}]
      - {name: node, template: {spec: {template: {spec: {containers: [{name: node, image: "solver:1.4"}]}}}}}
"""
    (hint,) = _hints(runtime, "unusable-ssh-key")
    assert hint == "set `fsGroup` of the pods to the group of the user, unless the cluster sets it, as OpenShift's SCC does"


def test_a_quota_says_what_it_has_room_for() -> None:
    (hint,) = _hints(_JOB, "never-fits", _QUOTA)
    assert hint == "request at most 3413Mi in each of the 3 pods or have 2 pods, or raise the quota"
    assert _hints(_JOB.replace("4Gi", "3413Mi"), "never-fits", _QUOTA) == []
    assert _hints(_JOB.replace("numNodes: 3", "numNodes: 2"), "never-fits", _QUOTA) == []


def test_a_limit_range_says_its_largest_amount() -> None:
    assert "write 3Gi" in _hints(_JOB, "pods-refused", _RANGE)
    assert _hints(_JOB.replace("4Gi", "3Gi"), "pods-refused", _RANGE) == []
