"""A PyTorchJob becomes a TrainJob whose pods are the same ones, as far as anybody can tell; the rest is reported."""

from typing import Any

import pytest

from jobspec.migrate.facts import NAME
from jobspec.migrate.jobs import LOST, MigratedJob, loss_report, migrate_to_trainjob, shared_key
from tests.migrate.jobs import RELEASES, accepted, cluster, corpus, documents_of, jobs_among, pytorchjob, text_of
from tests.support.reference import folder


def _migrated(manifest: dict[str, Any], trainer: str = "2.3", gang_scheduler: str = "") -> MigratedJob:
    documents = accepted(text_of(manifest), trainer)
    (job,) = jobs_among(documents)
    found = migrate_to_trainjob(job, documents, cluster(trainer), gang_scheduler=gang_scheduler)
    assert isinstance(found, MigratedJob)
    assert found.after
    assert documents_of(text_of(*(each.data() for each in found.trees)), trainer)[1].diagnostics == ()
    assert found.after.nodes == found.before.nodes
    return found


def _after(found: MigratedJob) -> dict[tuple[str, ...], Any]:
    assert found.after
    return dict(found.after.facts)


def _rules(found: MigratedJob) -> dict[str, str]:
    pairs = zip(found.rules(), found.differences, strict=True)
    rules = {" ".join(shared_key(each.key)): rule.removeprefix("migration-") for rule, each in pairs}
    assert all(rule == "note" for name, rule in rules.items() if name.endswith(f" env {NAME}"))
    assert rules.pop("job life others after a failure", "note") == "note"
    return {name: rule for name, rule in rules.items() if not name.endswith(f" env {NAME}")}


ENDS = {"job life succeeds": "change"}
RETRIES = {"node life restarts": "change"}


@pytest.mark.parametrize("trainer", RELEASES)
def test_a_plain_job_needs_no_runtime_of_its_own(trainer: str) -> None:
    found = _migrated(pytorchjob({"command": ["torchrun"], "args": ["train.py"]}, nprocPerNode="2"), trainer)
    assert [each.kind for each in found.documents] == ["TrainJob"]
    assert _rules(found) == {**ENDS, **RETRIES}
    assert found.documents[0].data["spec"]["trainer"] == {
        "numNodes": 2,
        "numProcPerNode": 2,
        "image": "example.com/train:1",
        "command": ["torchrun"],
        "args": ["train.py"],
        "env": [{"name": "PYTHONUNBUFFERED", "value": "1"}],
    }


def test_a_program_that_reads_its_rank_has_it_from_the_pod() -> None:
    found = _migrated(pytorchjob(nprocPerNode="1"))
    assert _rules(found) == {**ENDS, **RETRIES}
    env = found.documents[0].data["spec"]["trainer"]["env"]
    assert {each["name"]: each.get("value", "") for each in env} == {
        "TRAINJOB_NAME": "",
        "PYTHONUNBUFFERED": "1",
        "MASTER_PORT": "29500",
        "MASTER_ADDR": "$(TRAINJOB_NAME)-node-0-0.$(TRAINJOB_NAME)",
        "WORLD_SIZE": "2",
        "RANK": "",
    }
    assert [_after(found)[f"node {rank}", "container that trains", "env", "RANK"].value for rank in (0, 1)] == ["0", "1"]


def test_names_of_hosts_in_the_program_are_those_of_the_new_pods() -> None:
    found = _migrated(pytorchjob({"args": ["--init=tcp://train-master-0:1"], "env": [{"name": "PEER", "value": "train-worker-0.ml.svc"}]}))
    trainer = found.documents[-1].data["spec"]["trainer"]
    assert trainer["args"] == ["--init=tcp://$(TRAINJOB_NAME)-node-0-0.$(TRAINJOB_NAME):1"]
    assert trainer["env"][1]["value"] == "$(TRAINJOB_NAME)-node-0-1.$(TRAINJOB_NAME).ml.svc"
    assert "loss" not in _rules(found).values()


@pytest.mark.parametrize(
    ("pod", "spec"),
    [
        ({"volumeMounts": [{"name": "d", "mountPath": "/d"}]}, {"volumes": [{"name": "d", "emptyDir": {}}]}),
        ({"workingDir": "/x", "imagePullPolicy": "Always", "ports": [{"containerPort": 80}]}, {}),
        ({"resources": {"limits": {"nvidia.com/gpu": 8}}}, {"nodeSelector": {"a": "b"}, "tolerations": [{"operator": "Exists"}]}),
        ({}, {"schedulerName": "volcano", "priorityClassName": "", "hostNetwork": True, "dnsPolicy": "ClusterFirstWithHostNet"}),
        ({"envFrom": [{"configMapRef": {"name": "c"}}]}, {"serviceAccountName": "s", "imagePullSecrets": [{"name": "p"}]}),
        ({"lifecycle": {"preStop": {"sleep": {"seconds": 1}}}}, {"initContainers": [{"name": "i", "image": "i:1"}]}),
    ],
)
@pytest.mark.parametrize("trainer", ["2.0", "2.3"])
def test_what_a_trainjob_cannot_say_stands_in_a_runtime(pod: dict[str, Any], spec: dict[str, Any], trainer: str) -> None:
    job = pytorchjob(pod, nprocPerNode="1", runPolicy={"backoffLimit": 3})
    for replica in job["spec"]["pytorchReplicaSpecs"].values():
        replica["template"]["spec"] |= spec
        replica["template"]["metadata"] = {"labels": {"team": "a"}, "annotations": {"sidecar.istio.io/inject": "false"}}
    found = _migrated(job, trainer)
    assert [each.kind for each in found.documents] == ["TrainingRuntime", "TrainJob"]
    assert _rules(found) == ENDS


@pytest.mark.parametrize(
    ("labels", "lost"),
    [
        ({"training.kubeflow.org/job-name": "train"}, False),
        ({"team": "a"}, False),
        ({"training.kubeflow.org/job-name": "train", "training.kubeflow.org/replica-type": "worker"}, True),
    ],
)
def test_pods_keep_apart_from_the_same_pods(labels: dict[str, str], lost: bool) -> None:
    job = pytorchjob(nprocPerNode="1", runPolicy={"backoffLimit": 3})
    term = {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": labels}}
    for replica in job["spec"]["pytorchReplicaSpecs"].values():
        replica["template"]["metadata"] = {"labels": {"team": "a"}}
        replica["template"]["spec"]["affinity"] = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    found = _migrated(job)
    assert _rules(found) == {**ENDS, **({"node pod labelSelector 0": "loss"} if lost else {})}


@pytest.mark.parametrize(
    ("replica", "policy", "rules"),
    [
        ({"restartPolicy": "Never"}, {}, ENDS),
        ({"restartPolicy": "ExitCode"}, {"backoffLimit": 1}, ENDS),
        ({"restartPolicy": "Always"}, {"backoffLimit": 1}, {**ENDS, "node life restart": "loss"}),
        ({}, {"backoffLimit": 4, "cleanPodPolicy": "Running"}, {}),
        ({}, {"backoffLimit": 4, "cleanPodPolicy": "All"}, {"job life finished pods": "loss"}),
        ({}, {"backoffLimit": 4, "activeDeadlineSeconds": 60, "suspend": True}, ENDS),
        ({}, {"backoffLimit": 4, "managedBy": "kubeflow.org/training-operator"}, ENDS),
        ({}, {"backoffLimit": 4, "managedBy": "kueue.x-k8s.io/multikueue"}, ENDS),
    ],
)
@pytest.mark.parametrize("trainer", RELEASES)
def test_the_life_of_a_job_goes_on(replica: dict[str, Any], policy: dict[str, Any], rules: dict[str, str], trainer: str) -> None:
    job = pytorchjob(nprocPerNode="1", runPolicy=policy)
    for each in job["spec"]["pytorchReplicaSpecs"].values():
        each |= replica
    assert _rules(_migrated(job, trainer)) == rules


@pytest.mark.parametrize(("trainer", "lost"), [("2.0", False), ("2.1", True), ("2.3", True)])
def test_a_time_to_live_stays_where_it_does_not_make_the_job_run_again(trainer: str, lost: bool) -> None:
    found = _rules(_migrated(pytorchjob(nprocPerNode="1", runPolicy={"backoffLimit": 4, "ttlSecondsAfterFinished": 60}), trainer))
    assert found == {**ENDS, "job life ttlSecondsAfterFinished": "loss" if lost else "change"}


@pytest.mark.parametrize("trainer", RELEASES)
def test_master_and_workers_that_differ_are_two_replicated_jobs(trainer: str) -> None:
    job = pytorchjob(workers=2, nprocPerNode="1", runPolicy={"cleanPodPolicy": "Running"})
    worker = job["spec"]["pytorchReplicaSpecs"]["Worker"]["template"]["spec"]["containers"][0]
    job["spec"]["pytorchReplicaSpecs"]["Worker"]["template"]["spec"]["containers"] = [
        {**worker, "args": ["--from=train-master-0"], "resources": {"limits": {"cpu": "2"}}},
        {"name": "logs", "image": "logs:1"},
    ]
    found = _migrated(job, trainer)
    assert _rules(found) == {}
    ranks = [_after(found)[f"node {rank}", "container that trains", "env", "RANK"].value for rank in range(3)]
    assert ranks == ["0", "1", "2"]


@pytest.mark.parametrize("label", ["batch.kubernetes.io/job-name", "job-name", "controller-uid"])
def test_labels_that_a_job_refuses_from_others_are_lost(label: str) -> None:
    job = pytorchjob(workers=0, nprocPerNode="1", runPolicy={"backoffLimit": 3})
    job["spec"]["pytorchReplicaSpecs"]["Master"]["template"]["metadata"] = {"labels": {label: "mine", "team": "a"}}
    found = _migrated(job)
    assert _rules(found) == {f"node labels {label}": "loss"}
    runtime = found.documents[0].data["spec"]["template"]["spec"]["replicatedJobs"][0]
    assert runtime["template"]["spec"]["template"]["metadata"] == {"labels": {"team": "a"}}


def test_restarts_of_roles_are_counted_by_job() -> None:
    job = pytorchjob(nprocPerNode="1", runPolicy={"backoffLimit": 3, "cleanPodPolicy": "Running"})
    job["spec"]["pytorchReplicaSpecs"]["Worker"]["template"]["spec"]["containers"][0]["workingDir"] = "/x"
    assert _rules(_migrated(job)) == {"job life restarts are counted": "change"}


@pytest.mark.parametrize(("scheduler", "trainer"), [("volcano", "2.1"), ("volcano", "2.3"), ("scheduler-plugins", "2.0")])
def test_gangs_are_scheduled_as_before(scheduler: str, trainer: str) -> None:
    job = pytorchjob(
        {"resources": {"limits": {"cpu": "1"}}}, nprocPerNode="1", runPolicy={"backoffLimit": 4, "schedulingPolicy": {"queue": "q"}}
    )
    rules = _rules(_migrated(job, trainer, gang_scheduler=scheduler))
    assert "loss" not in rules.values()
    assert "job gang minMember" not in rules


def test_what_others_read_of_the_scheduling_policy_is_reported() -> None:
    found = _migrated(pytorchjob(nprocPerNode="1", runPolicy={"schedulingPolicy": {"priorityClass": "high"}}))
    assert [(each.rule, each.field) for each in loss_report(found) if each.rule == LOST] == [
        (LOST, "spec.runPolicy.schedulingPolicy.priorityClass")
    ]


def test_elastic_nodes_meet_as_before_and_nobody_scales_them() -> None:
    metric = {"type": "Resource", "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 80}}}
    policy = {"minReplicas": 1, "maxReplicas": 3, "rdzvBackend": "c10d", "maxRestarts": 9, "metrics": [metric]}
    found = _migrated(pytorchjob({"command": ["torchrun", "a.py"]}, workers=2, master=False, elasticPolicy=policy))
    assert {name for name, rule in _rules(found).items() if rule == "loss"} == {"job autoscaler"}
    assert _after(found)["node 1", "container that trains", "launcher", "rdzv_endpoint"].value == "<node 0>:23456"


@pytest.mark.slow
@pytest.mark.parametrize("trainer", RELEASES)
def test_every_public_job_migrates_and_all_that_differs_is_reported(trainer: str) -> None:
    found = 0
    for path in corpus(folder("corpus", "manifests")):
        documents, result = documents_of(path.read_bytes(), trainer, path.name)
        for job in jobs_among(documents) if result.valid else ():
            found += 1
            migrated = migrate_to_trainjob(job, documents, cluster(trainer))
            assert isinstance(migrated, MigratedJob), path
            assert migrated.after, path
            text = text_of(*(each.data() for each in migrated.trees))
            assert documents_of(text, trainer)[1].diagnostics == (), path
            assert migrated.after.nodes == migrated.before.nodes, path
            assert list(migrated.after.refusals) == [], path
            lost = {" ".join(each.key) for rule, each in zip(migrated.rules(), migrated.differences, strict=True) if rule == LOST}
            assert {each for each in lost if "job-name" not in each} <= {"job autoscaler"}, path
            assert bool(loss_report(migrated)) == bool(migrated.differences), path
    assert found > 70


@pytest.mark.slow
@pytest.mark.parametrize("trainer", RELEASES)
def test_every_probe_migrates_or_says_why_not(trainer: str) -> None:
    migrated = 0
    for path in corpus(folder("golden", "probes")):
        documents, result = documents_of(path.read_bytes(), trainer, path.name)
        for job in jobs_among(documents) if result.valid else ():
            found = migrate_to_trainjob(job, documents, cluster(trainer))
            if not isinstance(found, MigratedJob):
                assert "is not migrated: " in found.message, path
                continue
            migrated += 1
            assert found.after, path
            assert found.after.nodes == found.before.nodes, path
            text = text_of(*(each.data() for each in found.trees))
            assert documents_of(text, trainer)[1].valid, path
    assert migrated > 50
