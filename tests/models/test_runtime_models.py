"""JobSets and runtimes: built in Python, and what differs between releases."""

from typing import Any

import pytest

from jobspec.apis.releases import RELEASES
from jobspec.models import ClusterTrainingRuntime, JobSet, TrainingRuntime
from jobspec.models.base import Model
from jobspec.models.job import JobSpec, JobTemplateSpec
from jobspec.models.jobset import (
    DependsOn,
    FailurePolicy,
    FailurePolicyRule,
    JobSetSpec,
    ReplicatedJob,
    VolumeClaimMeta,
    VolumeClaimPolicy,
    VolumeClaimTemplate,
)
from jobspec.models.meta import Condition, EmbeddedMeta, ObjectMeta
from jobspec.models.pod.container import Container
from jobspec.models.pod.spec import PodSpec, PodTemplateSpec
from jobspec.models.runtime import EnvInjectionTarget, JobSetTemplateSpec, MLPolicy, TorchMLPolicySource, TrainingRuntimeSpec
from jobspec.schemas.files import crd
from jobspec.schemas.structure import structure_of
from tests.support import quick_yaml
from tests.support.models import dump, refused_at

RUNTIME = """
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainingRuntime
metadata: {name: team-torch}
spec:
  mlPolicy: {numNodes: 2, torch: {}}
  template:
    spec:
      failurePolicy:
        maxRestarts: 3
        rules:
          - {name: broken, action: FailJobSet, onJobFailureReasons: [PodFailurePolicy]}
      volumeClaimPolicies:
        - templates:
            - metadata: {name: initializer}
      replicatedJobs:
        - name: node
          dependsOn:
            - {name: dataset-initializer, status: Complete}
          template:
            metadata: {labels: {trainer.kubeflow.org/trainjob-ancestor-step: trainer}}
            spec:
              backoffLimit: 0
              template:
                spec:
                  restartPolicy: Never
                  containers:
                    - {name: node, image: "train:1"}
"""

SPEC = ("spec",)
TEMPLATE = (*SPEC, "template")
POLICY = (*SPEC, "mlPolicy")
JOBSET = (*TEMPLATE, "spec")
JOB = (*JOBSET, "replicatedJobs")


def _at(model: type[Model], release: str, *path: str) -> dict[str, Any]:
    """The structure of a field at a release; a list stands for its items on the way."""
    structure = structure_of(model, release)
    for name in path:
        structure = structure.get("items", structure)["fields"][name]
    return structure


def _has(model: type[Model], release: str, *path: str) -> bool:
    outer = _at(model, release, *path[:-1])
    return path[-1] in outer.get("items", outer)["fields"]


def _since(model: type[Model], *path: str) -> list[str]:
    """The releases that have a field."""
    return [release for release in RELEASES[model.RESOURCE.component] if _has(model, release, *path)]  # type: ignore[attr-defined]


def test_a_runtime_in_python_is_the_document_in_yaml() -> None:
    pods = PodTemplateSpec(spec=PodSpec(restart_policy="Never", containers=[Container(name="node", image="train:1")]))
    job = JobTemplateSpec(
        metadata=EmbeddedMeta(labels={"trainer.kubeflow.org/trainjob-ancestor-step": "trainer"}),
        spec=JobSpec(backoff_limit=0, template=pods),
    )
    rule = FailurePolicyRule(name="broken", action="FailJobSet", on_job_failure_reasons=["PodFailurePolicy"])
    jobset = JobSetSpec(
        failure_policy=FailurePolicy(max_restarts=3, rules=[rule]),
        volume_claim_policies=[VolumeClaimPolicy(templates=[VolumeClaimTemplate(metadata=VolumeClaimMeta(name="initializer"))])],
        replicated_jobs=[
            ReplicatedJob(name="node", depends_on=[DependsOn(name="dataset-initializer", status="Complete")], template=job),
        ],
    )
    runtime = TrainingRuntime(
        api_version="trainer.kubeflow.org/v1alpha1",
        kind="TrainingRuntime",
        metadata=ObjectMeta(name="team-torch"),
        spec=TrainingRuntimeSpec(
            ml_policy=MLPolicy(num_nodes=2, torch=TorchMLPolicySource()),
            template=JobSetTemplateSpec(spec=jobset),
        ),
    )
    assert dump(runtime) == quick_yaml.load(RUNTIME)


def test_a_document_in_yaml_is_the_runtime_in_python() -> None:
    document = quick_yaml.load(RUNTIME)
    assert dump(TrainingRuntime.model_validate(document)) == document
    document["kind"] = "ClusterTrainingRuntime"
    assert dump(ClusterTrainingRuntime.model_validate(document)) == document


def test_names_that_no_rule_makes() -> None:
    document = {
        "apiVersion": "jobset.x-k8s.io/v1alpha2",
        "kind": "JobSet",
        "spec": {"network": {"enableDNSHostnames": True, "publishNotReadyAddresses": False}, "ttlSecondsAfterFinished": 0},
    }
    assert dump(JobSet.model_validate(document)) == document


@pytest.mark.parametrize(
    ("model", "data", "where"),
    [
        (JobSetSpec, {"ttlSecondsAfterFinished": -1}, ("ttlSecondsAfterFinished",)),
        (JobSetSpec, {"volumeClaimPolicies": [{}] * 51}, ("volumeClaimPolicies",)),
        (ReplicatedJob, {"name": "node"}, ("template",)),
        (ReplicatedJob, {"name": "x", "template": {}, "dependsOn": [{"name": "y", "status": "Ready"}] * 6}, ("dependsOn",)),
        (DependsOn, {"name": "x", "status": "Running"}, ("status",)),
        (EnvInjectionTarget, {"jobName": "node", "containerNames": []}, ("containerNames",)),
        (EnvInjectionTarget, {"jobName": "node", "containerNames": ["x" * 64]}, ("containerNames", 0)),
        (MLPolicy, {"jax": {"numNodes": 1}}, ("jax", "numNodes")),
        (MLPolicy, {"mpi": {"mpiImplementation": "Intel"}}, ("mpi", "mpiImplementation")),
        (
            Condition,
            {"type": "Failed", "status": "true", "reason": "Why", "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z"},
            ("status",),
        ),
    ],
)
def test_what_no_release_takes(model: type[Model], data: dict[str, Any], where: tuple[str | int, ...]) -> None:
    assert refused_at(model, data) == [where]


@pytest.mark.parametrize(
    ("model", "path", "releases"),
    [
        (TrainingRuntime, (*POLICY, "torch", "numProcPerNode"), ["2.0.0", "2.1.0"]),
        (TrainingRuntime, (*POLICY, "torch", "elasticPolicy"), ["2.0.0", "2.1.0"]),
        (TrainingRuntime, (*POLICY, "torch", "envInjection"), ["2.3.0"]),
        (TrainingRuntime, (*POLICY, "jax"), ["2.2.0", "2.2.1", "2.3.0"]),
        (TrainingRuntime, (*POLICY, "xgboost"), ["2.2.0", "2.2.1", "2.3.0"]),
        (TrainingRuntime, (*POLICY, "flux"), ["2.2.0", "2.2.1", "2.3.0"]),
        (TrainingRuntime, (*SPEC, "podGroupPolicy", "volcano"), ["2.1.0", "2.2.0", "2.2.1", "2.3.0"]),
        (TrainingRuntime, (*JOBSET, "volumeClaimPolicies"), ["2.2.0", "2.2.1", "2.3.0"]),
        (TrainingRuntime, (*JOB, "groupName"), ["2.1.0", "2.2.0", "2.2.1", "2.3.0"]),
        (JobSet, (*SPEC, "volumeClaimPolicies"), ["0.11.1", "0.12.0"]),
        (JobSet, (*SPEC, "failurePolicy", "rules", "onJobFailureMessagePatterns"), ["0.10.1", "0.11.1", "0.12.0"]),
        (JobSet, ("status", "currentInPlaceRestartAttempt"), ["0.11.1", "0.12.0"]),
        (JobSet, ("status", "replicatedJobsStatus", "jobRestarts"), ["0.12.0"]),
    ],
)
def test_the_releases_that_have_a_field(model: type[Model], path: tuple[str, ...], releases: list[str]) -> None:
    assert _since(model, *path) == releases


@pytest.mark.parametrize(
    ("path", "key", "by_release"),
    [
        (SPEC, "required", {"2.0.0": ["template"], "2.1.0": None}),
        (SPEC, "minProperties", {"2.0.0": None, "2.1.0": 1}),
        (TEMPLATE, "minProperties", {"2.0.0": None, "2.1.0": 1}),
        ((*POLICY, "mpi", "mpiImplementation"), "enum", {"2.0.0": ["OpenMPI"], "2.1.0": ["OpenMPI", ""]}),
        ((*POLICY, "mpi", "sshAuthMountPath"), "maxLength", {"2.1.0": None, "2.2.0": 4096}),
        ((*JOB, "dependsOn"), "maxItems", {"2.0.0": 1, "2.1.0": 5}),
        (
            (*JOBSET, "failurePolicy", "restartStrategy"),
            "enum",
            {"2.1.0": ["Recreate", "BlockingRecreate"], "2.2.0": ["Recreate", "BlockingRecreate", "InPlaceRestart"]},
        ),
    ],
)
def test_facts_of_a_runtime_by_release(path: tuple[str, ...], key: str, by_release: dict[str, Any]) -> None:
    assert {release: _at(TrainingRuntime, release, *path).get(key) for release in by_release} == by_release


def test_a_jobs_restart_by_itself_is_newer_than_its_rules() -> None:
    path = (*SPEC, "failurePolicy", "rules", "action")
    assert _at(JobSet, "0.11.1", *path)["enum"] == ["FailJobSet", "RestartJobSet", "RestartJobSetAndIgnoreMaxRestarts"]
    assert "RestartJob" in _at(JobSet, "0.12.0", *path)["enum"]


def test_the_status_of_a_pods_condition_could_not_always_be_left_out() -> None:
    path = (*SPEC, "replicatedJobs", "template", "spec", "podFailurePolicy", "rules", "onPodConditions")
    assert _at(JobSet, "0.10.1", *path)["items"]["required"] == ["type", "status"]
    assert _at(JobSet, "0.11.1", *path)["items"]["required"] == ["type"]


def test_what_took_the_place_of_a_field_that_is_gone() -> None:
    assert _at(TrainingRuntime, "2.1.0", *POLICY, "torch", "numProcPerNode")["use"] == "`spec.trainer.numProcPerNode` of the TrainJob"


def test_one_policy_of_those_that_a_release_has() -> None:
    old, new = (_at(TrainingRuntime, release, *POLICY)["rules"] for release in ("2.1.0", "2.2.0"))
    assert [rule["rule"] for rule in old] == [
        "!(has(self.numNodes) && (has(self.torch) && has(self.torch.elasticPolicy)))",
        "!(has(self.torch) && has(self.mpi))",
    ]
    assert [rule["message"] for rule in new] == ["Only one of the policy can be configured"]


def test_what_cannot_change_says_so() -> None:
    rule = {"rule": "self == oldSelf", "message": "Value is immutable"}
    fixed = ("network", "successPolicy", "failurePolicy", "startupPolicy", "volumeClaimPolicies")
    spec = _at(JobSet, "0.12.0", *SPEC)["fields"]
    assert [name for name, field in spec.items() if rule in field.get("rules", [])] == list(fixed)
    assert rule in spec["replicatedJobs"]["items"]["fields"]["dependsOn"]["rules"]


def test_failure_rules_merge_by_name_although_the_server_takes_them_as_they_are() -> None:
    rules = _at(JobSet, "0.12.0", *SPEC, "failurePolicy", "rules")
    assert (rules["merge"], rules.get("keys")) == (["name"], None)


@pytest.mark.parametrize("release", RELEASES["trainer"])
def test_both_runtimes_share_one_spec(release: str) -> None:
    assert structure_of(TrainingRuntime, release)["fields"]["spec"] == structure_of(ClusterTrainingRuntime, release)["fields"]["spec"]


def test_only_one_runtime_is_of_a_namespace() -> None:
    assert crd(TrainingRuntime, "2.3.0")["spec"]["scope"] == "Namespaced"
    assert crd(ClusterTrainingRuntime, "2.3.0")["spec"]["scope"] == "Cluster"


def test_a_policy_without_settings_takes_none() -> None:
    assert _at(TrainingRuntime, "2.3.0", *POLICY, "jax")["fields"] == {}
    version = crd(TrainingRuntime, "2.3.0")["spec"]["versions"][0]
    policy = version["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]["mlPolicy"]["properties"]["jax"]
    assert policy.keys() == {"description", "type"}
