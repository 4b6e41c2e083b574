"""TrainJob (`trainer.kubeflow.org/v1alpha1`): a training, described by a runtime and started by a job, run by the trainer."""

from typing import Annotated, ClassVar, Literal

from annotated_types import Ge, Le, MaxLen, MinLen
from pydantic import Field

from jobspec import cel_rules
from jobspec.models.base import (
    AtomicList,
    Column,
    GoPointer,
    Int32,
    Int64,
    IntOrString,
    Keyed,
    Merge,
    Model,
    Pointer,
    Resource,
    Since,
    Time,
    Type,
    Until,
    Validation,
)
from jobspec.models.meta import Condition, ObjectMeta
from jobspec.models.pod.reference import LocalObjectReference
from jobspec.models.pod.resources import ResourceRequirements
from jobspec.models.trainjob_overrides import PodSpecOverride, PodTemplateOverride
from jobspec.models.trainjob_patches import IMMUTABLE, EnvVars, OldName, RuntimePatch

_NAME_LABEL = Validation(cel_rules.NAME_IS_LABEL.text, "metadata.name must match RFC 1035 DNS label format")
_NAME_LENGTH = Validation(cel_rules.NAME_IS_SHORT.text, "metadata.name must be no more than 63 characters")
_MANAGER = Validation(
    cel_rules.KNOWN_MANAGER.text,
    "ManagedBy must be trainer.kubeflow.org/trainjob-controller or kueue.x-k8s.io/multikueue if set",
)
_URI = Validation(
    cel_rules.URI.text,
    "storageUri may be empty, or it must be a valid URI (scheme://...)",
)

#: A word of a command line.
Word = Annotated[str, Since("trainer", "2.2", MaxLen(65536)), Since("trainer", "2.3", MaxLen(1048576))]
Words = Annotated[AtomicList[Word], Since("trainer", "2.2", MaxLen(128))]


class RuntimeRef(Model):
    """The runtime, which is the template for everything that the job does not set."""

    name: OldName = Field(description="name of the runtime, such as `torch-distributed`; it has to exist when the job is created")
    kind: Annotated[str, Since("trainer", "2.2", MaxLen(253))] = Field(
        "ClusterTrainingRuntime",
        description="`ClusterTrainingRuntime`, left out too, or `TrainingRuntime` for one of the job's own namespace",
    )
    api_group: Annotated[str, Since("trainer", "2.2", MaxLen(253))] = Field(
        "trainer.kubeflow.org", description="API group of the runtime: `trainer.kubeflow.org`, no other is supported"
    )


class InitializerSource(Model):
    """Something to download before the training starts."""

    storage_uri: Annotated[str | None, Since("trainer", "2.2", MaxLen(2048)), Since("trainer", "2.3", _URI)] = Field(
        None, description="where it is, such as `hf://org/name` or `s3://bucket/path`; the initializer sees it as `STORAGE_URI`"
    )
    env: EnvVars | None = Field(None, description="variables of the initializer's container")
    secret_ref: LocalObjectReference | None = Field(None, description="Secret whose keys become variables, such as an access token")


class Initializer(Model):
    """Downloads before the training; the runtime has to have a replicated job for each."""

    dataset: InitializerSource | None = Field(None, description="the data; the runtime needs a job and container `dataset-initializer`")
    model: InitializerSource | None = Field(None, description="the model; the runtime needs a job and container `model-initializer`")


class Trainer(Model):
    """The training program and its nodes, in place of the runtime's."""

    image: Annotated[str | None, Since("trainer", "2.2", MaxLen(500))] = Field(
        None, description="image of the container `node`, the runtime's by default"
    )
    command: Words | None = Field(
        None,
        description="program to start, mostly `torchrun`: under plain `python` each pod trains alone; set alone, the runtime's `args` stay",
    )
    args: Words | None = Field(None, description="arguments of the program; without `command`, the runtime's `command` gets them")
    env: EnvVars | None = Field(
        None, description="variables of the container `node`; the operator sets `PET_*` for torchrun, and never `RANK` or `MASTER_ADDR`"
    )
    num_nodes: Pointer[Int32] = Field(
        None, description="pods to train in, by default the runtime's `mlPolicy.numNodes`, else 1; with 0 the job completes at once"
    )
    num_proc_per_node: Annotated[IntOrString | None, Since("trainer", "2.2", Type(Int32)), GoPointer()] = Field(
        None,
        description="processes per pod, by default one for each GPU, else for each CPU asked for; before 2.2 also `auto`, `cpu` or `gpu`",
    )
    resources_per_node: ResourceRequirements | None = Field(
        None, description="resources of the container `node`: over the runtime's by name, before 2.3 in place of all; `claims` are lost"
    )


class TrainJobSpec(Model):
    """What to train: a runtime, and changes to it."""

    runtime_ref: Annotated[
        RuntimeRef,
        Until("trainer", "2.2", Validation(cel_rules.UNCHANGED.text, "runtimeRef is immutable")),
        Since("trainer", "2.2", IMMUTABLE),
    ] = Field(description="the runtime; it cannot change")
    initializer: Annotated[Initializer | None, Since("trainer", "2.2", IMMUTABLE)] = Field(
        None, description="data and model to download first; from 2.2 on fixed once the job exists"
    )
    trainer: Annotated[Trainer | None, Since("trainer", "2.2", IMMUTABLE)] = Field(
        None, description="the program and its nodes, at least `{}`: without it pods get no `PET_*`; from 2.2 on fixed once the job exists"
    )
    labels: Annotated[
        dict[str, str] | None, Until("trainer", "2.2", use="`runtimePatches` with `trainingRuntimeSpec.template.metadata.labels`")
    ] = Field(None, description="labels of the JobSet, over the runtime's")
    annotations: Annotated[
        dict[str, str] | None, Until("trainer", "2.2", use="`runtimePatches` with `trainingRuntimeSpec.template.metadata.annotations`")
    ] = Field(None, description="annotations of the JobSet, over the runtime's")
    pod_spec_overrides: Annotated[
        AtomicList[PodSpecOverride] | None,
        Merge("targetJobs"),
        Until("trainer", "2.1", use="`podTemplateOverrides`, or `runtimePatches` from 2.2 on"),
    ] = Field(None, description="changes to the pods of the runtime's replicated jobs")
    pod_template_overrides: Annotated[
        AtomicList[PodTemplateOverride] | None,
        Merge("targetJobs"),
        Since("trainer", "2.1"),
        Until("trainer", "2.2", use="`runtimePatches`"),
    ] = Field(None, description="changes to the pods of the runtime's replicated jobs")
    runtime_patches: Annotated[list[RuntimePatch] | None, Since("trainer", "2.2"), Keyed("manager"), MaxLen(16)] = Field(
        None, description="changes to the JobSet, Jobs and pods of the runtime, an entry for each `manager`; a later entry wins"
    )
    suspend: Annotated[bool, GoPointer()] = Field(False, description="delete the pods and wait; the deadline counts anew when it goes on")
    active_deadline_seconds: Annotated[Pointer[Int64], Since("trainer", "2.2"), Ge(1), IMMUTABLE] = Field(
        None, description="seconds from creation or resumption, in a queue too, until it fails and loses its pods; never by default"
    )
    managed_by: Annotated[
        str,
        _MANAGER,
        Until("trainer", "2.2", Validation(cel_rules.UNCHANGED.text, "ManagedBy value is immutable")),
        Since("trainer", "2.2", MaxLen(253), IMMUTABLE),
    ] = Field(
        "trainer.kubeflow.org/trainjob-controller",
        description="controller: this default, or `kueue.x-k8s.io/multikueue`, which the trainer minds only from 2.3 on; it cannot change",
    )


Count = Annotated[Int32, Since("trainer", "2.1", Ge(0))]


class ReplicatedJobStatus(Model):
    """The status of the Jobs of one replicated job."""

    name: OldName = Field(description="name of the replicated job")
    ready: Count = Field(description="Jobs whose pods are all ready or have succeeded")
    succeeded: Count = Field(description="Jobs that ended well")
    failed: Count = Field(description="Jobs that failed")
    active: Count = Field(description="Jobs with pods that run or wait")
    suspended: Count = Field(description="Jobs that are suspended")


class Metric(Model):
    """A number that the training reports."""

    name: Annotated[str, MinLen(1), MaxLen(64)] = Field(description="name of the metric, such as `loss`")
    value: Annotated[str, MinLen(1), MaxLen(64)] = Field(description="its newest value, as text")


class TrainerStatus(Model):
    """How far the training is, as the program itself reports; behind a feature gate that is off by default."""

    FACTS = (Validation(cel_rules.UPDATED.text, "lastUpdatedTime is required when trainerStatus is present"),)

    progress_percentage: Annotated[Int32 | None, Ge(0), Le(100)] = Field(None, description="how much is done, from 0 to 100")
    estimated_remaining_seconds: Annotated[Int32 | None, Ge(0)] = Field(None, description="seconds to the end, as the program estimates")
    metrics: Annotated[AtomicList[Metric] | None, MaxLen(256)] = Field(None, description="the newest values of metrics")
    last_updated_time: Time | None = Field(None, description="when the program last reported; needed")


class TrainJobStatus(Model):
    """The status of the job; written by the operator."""

    conditions: Annotated[list[Condition] | None, Keyed("type"), Since("trainer", "2.2", MaxLen(8))] = Field(
        None, description="`Suspended`, `Complete` or `Failed`; a job that runs from the start has none: look at `jobsStatus`"
    )
    jobs_status: Annotated[list[ReplicatedJobStatus] | None, Keyed("name"), Since("trainer", "2.2", MaxLen(100))] = Field(
        None, description="numbers of Jobs, by replicated job"
    )
    trainer_status: Annotated[TrainerStatus | None, Since("trainer", "2.2")] = Field(None, description="how far the training is")


class TrainJob(Model):
    """A training: a runtime by name, and changes to it."""

    FACTS = (Since("trainer", "2.1", _NAME_LABEL, _NAME_LENGTH),)

    RESOURCE: ClassVar[Resource] = Resource(
        group="trainer.kubeflow.org",
        version="v1alpha1",
        kind="TrainJob",
        plural="trainjobs",
        component="trainer",
        status=True,
        columns=(
            Column("State", "string", ".status.conditions[-1:].type"),
            Column("Age", "date", ".metadata.creationTimestamp"),
        ),
    )

    api_version: Literal["trainer.kubeflow.org/v1alpha1"] = Field(
        "trainer.kubeflow.org/v1alpha1", description="version of the API: `trainer.kubeflow.org/v1alpha1`"
    )
    kind: Literal["TrainJob"] = Field("TrainJob", description="kind of the object: `TrainJob`")
    metadata: ObjectMeta | None = Field(
        None,
        description="name of at most 63 characters, but pods allow 48, or 33 with a `dataset-initializer`; pods get no labels from here",
    )
    spec: TrainJobSpec | None = Field(None, description="what to train; without it no runtime is found")
    status: Annotated[TrainJobStatus | None, Since("trainer", "2.1", MinLen(1))] = Field(
        None, description="status of the job; written by the operator"
    )
