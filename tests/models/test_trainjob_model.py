"""TrainJobs in Python, and what their releases say differently."""

from typing import Any

import pytest

from jobspec.apis.releases import RELEASES
from jobspec.models import TrainJob
from jobspec.models.base import Model
from jobspec.models.meta import ObjectMeta
from jobspec.models.pod.container import EnvVar, ResourceRequirements, VolumeMount
from jobspec.models.pod.volume import PersistentVolumeClaimVolumeSource, Volume
from jobspec.models.trainjob import (
    ContainerPatch,
    JobSetSpecPatch,
    JobSetTemplatePatch,
    JobSpecPatch,
    JobTemplatePatch,
    PodSpecOverride,
    PodSpecPatch,
    PodTemplateOverride,
    PodTemplatePatch,
    ReplicatedJobPatch,
    RuntimePatch,
    RuntimeRef,
    TargetJob,
    Trainer,
    TrainingRuntimeSpecPatch,
    TrainJobSpec,
)
from jobspec.schemas.structure import structure_of
from tests.support import quick_yaml
from tests.support.models import dump, refused_at

JOB = """
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata: {name: digits}
spec:
  runtimeRef: {name: torch-distributed}
  trainer:
    image: registry.example/digits:1
    command: [torchrun, train.py]
    args: [--epochs=10]
    env: [{name: NCCL_DEBUG, value: INFO}]
    numNodes: 4
    numProcPerNode: 8
    resourcesPerNode: {limits: {nvidia.com/gpu: 8, memory: 64Gi}}
  runtimePatches:
    - manager: example.com/data
      trainingRuntimeSpec:
        template:
          spec:
            replicatedJobs:
              - name: node
                template:
                  spec:
                    template:
                      spec:
                        nodeSelector: {zone: a}
                        containers: [{name: node, volumeMounts: [{name: data, mountPath: /data}]}]
                        volumes: [{name: data, persistentVolumeClaim: {claimName: digits}}]
  activeDeadlineSeconds: 3600
"""


def _at(release: str, *path: str) -> dict[str, Any]:
    """The structure at a path of the TrainJob of a release; `[]` steps into the items of a list."""
    structure = structure_of(TrainJob, release)
    for step in path:
        structure = structure["items"] if step == "[]" else structure["fields"][step]
    return structure


def test_a_job_in_python_is_the_document_in_yaml() -> None:
    pods = PodSpecPatch(
        node_selector={"zone": "a"},
        containers=[ContainerPatch(name="node", volume_mounts=[VolumeMount(name="data", mount_path="/data")])],
        volumes=[Volume(name="data", persistent_volume_claim=PersistentVolumeClaimVolumeSource(claim_name="digits"))],
    )
    jobs = JobTemplatePatch(spec=JobSpecPatch(template=PodTemplatePatch(spec=pods)))
    job_set = JobSetTemplatePatch(spec=JobSetSpecPatch(replicated_jobs=[ReplicatedJobPatch(name="node", template=jobs)]))
    job = TrainJob(
        api_version="trainer.kubeflow.org/v1alpha1",
        kind="TrainJob",
        metadata=ObjectMeta(name="digits"),
        spec=TrainJobSpec(
            runtime_ref=RuntimeRef(name="torch-distributed"),
            trainer=Trainer(
                image="registry.example/digits:1",
                command=["torchrun", "train.py"],
                args=["--epochs=10"],
                env=[EnvVar(name="NCCL_DEBUG", value="INFO")],
                num_nodes=4,
                num_proc_per_node=8,
                resources_per_node=ResourceRequirements(limits={"nvidia.com/gpu": 8, "memory": "64Gi"}),
            ),
            runtime_patches=[
                RuntimePatch(manager="example.com/data", training_runtime_spec=TrainingRuntimeSpecPatch(template=job_set)),
            ],
            active_deadline_seconds=3600,
        ),
    )
    assert dump(job) == quick_yaml.load(JOB)


def test_a_document_in_yaml_is_the_job_in_python() -> None:
    assert dump(TrainJob.model_validate(quick_yaml.load(JOB))) == quick_yaml.load(JOB)


def test_a_model_takes_what_any_release_takes() -> None:
    data = {
        "runtimeRef": {"name": ""},
        "labels": {"team": "vision"},
        "trainer": {"numProcPerNode": "auto"},
        "podSpecOverrides": [{"targetJobs": [{"name": "node"}], "serviceAccountName": "trainer"}],
        "podTemplateOverrides": [{"targetJobs": [{"name": "node"}], "spec": {"serviceAccountName": "trainer"}}],
    }
    spec = TrainJobSpec(
        runtime_ref=RuntimeRef(name=""),
        labels={"team": "vision"},
        trainer=Trainer(num_proc_per_node="auto"),
        pod_spec_overrides=[PodSpecOverride(target_jobs=[TargetJob(name="node")], service_account_name="trainer")],
        pod_template_overrides=[
            PodTemplateOverride(target_jobs=[TargetJob(name="node")], spec=PodSpecPatch(service_account_name="trainer")),
        ],
    )
    assert dump(spec) == data
    assert TrainJobSpec.model_validate(data) == spec


@pytest.mark.parametrize(
    ("model", "data", "where"),
    [
        (TrainJobSpec, {}, ("runtimeRef",)),
        (TrainJobSpec, {"runtimeRef": {"name": "torch"}, "backoffLimit": 3}, ("backoffLimit",)),
        (TrainJobSpec, {"runtimeRef": {"name": "torch"}, "activeDeadlineSeconds": 0}, ("activeDeadlineSeconds",)),
        (RuntimePatch, {"manager": ""}, ("manager",)),
        (ContainerPatch, {"name": "node", "image": "other"}, ("image",)),
        (PodSpecPatch, {"terminationGracePeriodSeconds": -1}, ("terminationGracePeriodSeconds",)),
        (PodSpecOverride, {"serviceAccountName": "trainer"}, ("targetJobs",)),
        (Trainer, {"numNodes": "4"}, ("numNodes",)),
    ],
)
def test_a_model_refuses_what_every_release_refuses(model: type[Model], data: dict[str, Any], where: tuple[str, ...]) -> None:
    assert refused_at(model, data) == [where]


ALWAYS = {"runtimeRef", "initializer", "trainer", "suspend", "managedBy"}


@pytest.mark.parametrize(
    ("release", "others"),
    [
        ("2.0.0", {"labels", "annotations", "podSpecOverrides"}),
        ("2.1.0", {"labels", "annotations", "podTemplateOverrides"}),
        ("2.2.0", {"runtimePatches", "activeDeadlineSeconds"}),
        ("2.2.1", {"runtimePatches", "activeDeadlineSeconds"}),
        ("2.3.0", {"runtimePatches", "activeDeadlineSeconds"}),
    ],
)
def test_fields_by_release(release: str, others: set[str]) -> None:
    assert set(_at(release, "spec")["fields"]) == ALWAYS | others


@pytest.mark.parametrize(
    ("release", "field", "use"),
    [
        ("2.0.0", "podSpecOverrides", "`podTemplateOverrides`, or `runtimePatches` from 2.2 on"),
        ("2.1.0", "podTemplateOverrides", "`runtimePatches`"),
        ("2.1.0", "labels", "`runtimePatches` with `trainingRuntimeSpec.template.metadata.labels`"),
        ("2.1.0", "annotations", "`runtimePatches` with `trainingRuntimeSpec.template.metadata.annotations`"),
    ],
)
def test_a_field_that_went_says_what_to_use(release: str, field: str, use: str) -> None:
    assert _at(release, "spec", field)["use"] == use


def _by_release(fact: str, *path: str) -> list[Any]:
    return [_at(release, *path).get(fact) for release in RELEASES["trainer"]]


def test_processes_per_node_became_a_number() -> None:
    where = ("spec", "trainer", "numProcPerNode")
    assert _by_release("type", *where) == ["int-or-string", "int-or-string", "integer", "integer", "integer"]
    assert _by_release("format", *where) == [None, None, "int32", "int32", "int32"]


def test_limits_came_later_and_grew() -> None:
    assert _by_release("maxLength", "spec", "trainer", "command", "[]") == [None, None, 65536, 65536, 1048576]
    assert _by_release("maxItems", "spec", "trainer", "command") == [None, None, 128, 128, 128]
    assert _by_release("minLength", "spec", "runtimeRef", "name") == [None, 1, 1, 1, 1]
    assert _by_release("minProperties", "status") == [None, 1, 1, 1, 1]


def test_rules_by_release() -> None:
    def messages(*path: str) -> list[list[str]]:
        return [[rule["message"] for rule in rules or []] for rules in _by_release("rules", *path)]

    immutable = ["field is immutable"]
    assert messages("spec", "runtimeRef") == 2 * [["runtimeRef is immutable"]] + 3 * [immutable]
    assert messages("spec", "trainer") == [[], [], immutable, immutable, immutable]
    assert [len(each) for each in messages()] == [0, 2, 2, 2, 2]
    assert [len(each) for each in messages("spec", "initializer", "model", "storageUri")] == [0, 0, 0, 0, 1]


POD_2_0 = {"serviceAccountName", "nodeSelector", "tolerations", "schedulingGates", "initContainers", "containers", "volumes"}
POD_2_1 = POD_2_0 | {"affinity", "imagePullSecrets"}
POD_2_2 = POD_2_1 | {"securityContext"}
JOBS = ("spec", "runtimePatches", "[]", "trainingRuntimeSpec", "template", "spec", "replicatedJobs")
PATCH = (*JOBS, "[]", "template", "spec", "template", "spec")


@pytest.mark.parametrize(
    ("release", "path", "fields"),
    [
        ("2.0.0", ("spec", "podSpecOverrides", "[]"), POD_2_0 | {"targetJobs"}),
        ("2.1.0", ("spec", "podTemplateOverrides", "[]", "spec"), POD_2_1),
        ("2.2.1", PATCH, POD_2_2),
        ("2.3.0", PATCH, POD_2_2 | {"terminationGracePeriodSeconds"}),
    ],
)
def test_what_a_job_may_change_in_pods(release: str, path: tuple[str, ...], fields: set[str]) -> None:
    assert set(_at(release, *path)["fields"]) == fields


def test_what_it_is_for_stands_first_in_an_override() -> None:
    assert next(iter(_at("2.0.0", "spec", "podSpecOverrides", "[]")["fields"])) == "targetJobs"
    assert next(iter(_at("2.1.0", "spec", "podTemplateOverrides", "[]")["fields"])) == "targetJobs"


def test_by_what_overlays_merge_lists() -> None:
    assert _at("2.0.0", "spec", "podSpecOverrides")["merge"] == ["targetJobs"]
    assert _at("2.1.0", "spec", "podTemplateOverrides")["merge"] == ["targetJobs"]
    assert _at("2.3.0", "spec", "runtimePatches")["merge"] == ["manager"]
    assert _at("2.3.0", *JOBS)["merge"] == ["name"]
    assert _at("2.3.0", *PATCH, "containers", "[]", "volumeMounts")["merge"] == ["name"]
    assert _at("2.3.0", *PATCH, "tolerations").get("merge") is None
