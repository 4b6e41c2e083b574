"""What two jobs have in common is seen from their pods: the program, what it sees, where it runs and how long."""

import copy
from typing import Any

import pytest

from jobspec.migrate.facts import compared
from jobspec.programs.command_lines import command_line
from tests.migrate.jobs import pytorchjob, text_of, view_of


def _train_job(command: list[str], **trainer: Any) -> str:
    spec = {
        "runtimeRef": {"name": "torch-distributed"},
        "trainer": {"numNodes": 2, "image": "example.com/train:1", "command": command, **trainer},
    }
    meta = {"name": "train", "namespace": "ml"}
    return text_of({"apiVersion": "trainer.kubeflow.org/v1alpha1", "kind": "TrainJob", "metadata": meta, "spec": spec})


def _reported(before: str, after: str) -> dict[str, tuple[Any, Any]]:
    found = compared(view_of(before), view_of(after))
    return {" ".join(each.key): (each.before and each.before.value, each.after and each.after.value) for each in found}


LIFE = {
    "node 0 life restarts": ("any number", 6),
    "node 1 life restarts": ("any number", 6),
    "job life others after a failure": ("keep running", "are stopped"),
    "job life succeeds": ("when node 0 has; the others keep running", "when all nodes have"),
}


def test_the_same_job_has_no_differences() -> None:
    text = text_of(pytorchjob({"env": [{"name": "A", "value": "1"}]}))
    assert compared(view_of(text), view_of(text)) == []


def test_torchrun_finds_its_nodes_in_a_trainjob_as_it_did_before() -> None:
    job = text_of(pytorchjob({"command": ["torchrun", "train.py"]}, nprocPerNode="2"))
    found = _reported(job, _train_job(["torchrun", "train.py"], numProcPerNode=2))
    buffered = {f"node {rank} container that trains env PYTHONUNBUFFERED": ("1", None) for rank in (0, 1)}
    assert found == {**LIFE, **buffered}


def test_a_program_without_a_launcher_loses_its_rank() -> None:
    found = _reported(text_of(pytorchjob()), _train_job(["python", "train.py"]))
    lost = {name: pair for name, pair in found.items() if name.startswith("node 1") and pair[1] is None}
    assert {name.rpartition(" ")[2]: pair[0] for name, pair in lost.items()} == {
        "PYTHONUNBUFFERED": "1",
        "MASTER_PORT": "<the operator's port>",
        "MASTER_ADDR": "<node 0>",
        "WORLD_SIZE": "2",
        "RANK": "1",
    }


@pytest.mark.parametrize(
    ("change", "key"),
    [
        (lambda spec: spec["containers"][0].update(image="other:1"), "container that trains image"),
        (lambda spec: spec["containers"][0].update(workingDir="/x"), "container that trains workingDir"),
        (lambda spec: spec["containers"][0].update(args=["--lr", "1"]), "container that trains program words"),
        (lambda spec: spec["containers"][0].update(resources={"limits": {"cpu": "2"}}), "container that trains resources limits cpu"),
        (lambda spec: spec["containers"].append({"name": "side", "image": "s:1"}), "container side image"),
        (lambda spec: spec.update(nodeSelector={"gpu": "a"}), "pod nodeSelector gpu"),
        (lambda spec: spec.update(tolerations=[{"operator": "Exists"}]), "pod tolerations"),
        (lambda spec: spec.update(priorityClassName="high"), "pod priorityClassName"),
        (lambda spec: spec.update(schedulerName="volcano"), "pod schedulerName"),
        (lambda spec: spec.update(volumes=[{"name": "d", "emptyDir": {}}]), "pod volumes[d] emptyDir"),
    ],
)
def test_every_part_of_a_pod_is_seen(change: Any, key: str) -> None:
    job = pytorchjob(workers=0)
    other = copy.deepcopy(job)
    change(other["spec"]["pytorchReplicaSpecs"]["Master"]["template"]["spec"])
    assert f"node 0 {key}" in _reported(text_of(job), text_of(other))


@pytest.mark.parametrize(
    ("policy", "key"),
    [
        ({"backoffLimit": 2}, "node 0 life restarts"),
        ({"activeDeadlineSeconds": 60}, "job life activeDeadlineSeconds"),
        ({"ttlSecondsAfterFinished": 60}, "job life ttlSecondsAfterFinished"),
        ({"suspend": True}, "job life suspend"),
        ({"cleanPodPolicy": "All"}, "job life finished pods"),
        ({"managedBy": "kueue.x-k8s.io/multikueue"}, "job life managedBy"),
        ({"schedulingPolicy": {"queue": "q"}}, "job schedulingPolicy queue"),
    ],
)
def test_every_part_of_the_run_policy_is_seen(policy: dict[str, Any], key: str) -> None:
    assert key in _reported(text_of(pytorchjob()), text_of(pytorchjob(runPolicy=policy)))


@pytest.mark.parametrize(
    ("words", "how", "program", "options"),
    [
        (["python3", "-u", "a.py", "-x"], "program", ["python", "a.py", "-x"], {}),
        (
            ["torchrun", "--nnodes=2", "--nproc-per-node", "4", "a.py", "--nnodes=9"],
            "launcher",
            ["python", "a.py", "--nnodes=9"],
            {"nnodes": "2", "nproc_per_node": "4"},
        ),
        (
            ["python", "-m", "torch.distributed.run", "--standalone", "-m", "a.b"],
            "launcher",
            ["python", "-m", "a.b"],
            {"standalone": "", "module": ""},
        ),
        (
            ["torchrun", "--nproc_per", "4", "--stand", "-r3", "--newer", "x", "a.py"],
            "launcher",
            ["python", "a.py"],
            {"nproc_per_node": "4", "standalone": "", "r3": "", "newer": "x"},
        ),
        (
            ["python", "-m", "torch.distributed.launch", "--use_env", "--", "a.py", "--nnodes=9"],
            "launcher",
            ["python", "a.py", "--nnodes=9"],
            {"use_env": ""},
        ),
        (["/bin/bash", "-c", "torchrun a.py"], "shell", ["/bin/bash", "-c", "torchrun a.py"], {}),
    ],
)
def test_a_command_line_is_taken_apart(words: list[str], how: str, program: list[str], options: dict[str, str]) -> None:
    line = command_line(words, [])
    assert (line.how, line.program, line.options) == (how, program, options)


def _mpi_job(slots: int, **spec: Any) -> str:
    pod = {"template": {"spec": {"containers": [{"name": "node", "image": "a:1"}]}}}
    jobs = [
        {"name": "launcher", "template": {"metadata": {"labels": {"trainer.kubeflow.org/trainjob-ancestor-step": "trainer"}}, "spec": pod}},
        {"name": "node", "template": {"spec": copy.deepcopy(pod)}},
    ]
    policy = {"numNodes": 2, "mpi": {"numProcPerNode": slots}}
    version, meta = "trainer.kubeflow.org/v1alpha1", {"name": "train", "namespace": "ml"}
    runtime = {
        "apiVersion": version,
        "kind": "TrainingRuntime",
        "metadata": meta,
        "spec": {"mlPolicy": policy, "template": {"spec": {"replicatedJobs": jobs}}},
    }
    spec = {"runtimeRef": {"kind": "TrainingRuntime", "name": "train"}, **spec}
    return text_of(runtime, {"apiVersion": version, "kind": "TrainJob", "metadata": meta, "spec": spec})


@pytest.mark.parametrize(
    ("one", "other", "key"),
    [
        (_mpi_job(1), _mpi_job(2), "job files hostfile"),
        (_mpi_job(1, labels={"queue": "a"}), _mpi_job(1), "jobset labels queue"),
        (_mpi_job(1, annotations={"queue": "a"}), _mpi_job(1, annotations={"queue": "b"}), "jobset annotations queue"),
    ],
)
def test_what_operators_make_beside_pods_is_seen(one: str, other: str, key: str) -> None:
    found = compared(view_of(one, "2.0"), view_of(other, "2.0"))
    assert key in {" ".join(each.key) for each in found}


def test_a_variable_that_may_be_absent_is_another_one() -> None:
    source = {"name": "s", "key": "k"}
    one, other = ({"env": [{"name": "A", "valueFrom": {"secretKeyRef": {**source, **more}}}]} for more in ({}, {"optional": True}))
    found = _reported(text_of(pytorchjob(one, workers=0)), text_of(pytorchjob(other, workers=0)))
    assert found == {"node 0 container that trains env A": ("<secretKey s k>", "<secretKey s k> (if there is one)")}


@pytest.mark.parametrize("kind", ["Job", "CronJob", "JobSet"])
def test_jobs_of_kubernetes_and_jobsets_are_compared_by_their_pods_and_their_life(kind: str) -> None:
    def job(image: str, limit: int) -> str:
        pod = {"spec": {"restartPolicy": "Never", "containers": [{"name": "main", "image": image, "command": ["python", "train.py"]}]}}
        spec: dict[str, Any] = {"backoffLimit": limit, "template": pod}
        if kind == "JobSet":
            version, spec = "jobset.x-k8s.io/v1alpha2", {"replicatedJobs": [{"name": "a", "template": {"spec": spec}}]}
        elif kind == "CronJob":
            version, spec = "batch/v1", {"schedule": "0 0 * * *", "jobTemplate": {"spec": spec}}
        else:
            version = "batch/v1"
        return text_of({"apiVersion": version, "kind": kind, "metadata": {"name": "train", "namespace": "ml"}, "spec": spec})

    assert compared(view_of(job("a:1", 2)), view_of(job("a:1", 2))) == []
    assert _reported(job("a:1", 2), job("a:2", 3)) == {
        "node 0 container that trains image": ("a:1", "a:2"),
        "node 0 life restarts": (2, 3),
    }
