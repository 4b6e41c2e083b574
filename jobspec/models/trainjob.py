"""TrainJob (`trainer.kubeflow.org/v1alpha1`): a training, described by a runtime and started by a job, run by the trainer."""

from typing import Annotated, ClassVar, Literal

from annotated_types import Ge, Le, MaxLen, MinLen
from pydantic import Field

from jobspec.apis import cel_rules
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
    constant,
    optional_field,
)
from jobspec.models.meta import Condition, EmbeddedMeta, ObjectMeta
from jobspec.models.pod.container import (
    EnvVar,
    LocalObjectReference,
    PodSecurityContext,
    ResourceRequirements,
    SecurityContext,
    VolumeMount,
)
from jobspec.models.pod.spec import Affinity, PodSchedulingGate, Toleration
from jobspec.models.pod.volume import Volume

_NAME_LABEL = Validation(cel_rules.NAME_IS_LABEL.text, "metadata.name must match RFC 1035 DNS label format")
_NAME_LENGTH = Validation(cel_rules.NAME_IS_SHORT.text, "metadata.name must be no more than 63 characters")
_MANAGER = Validation(
    cel_rules.KNOWN_MANAGER.text, "ManagedBy must be trainer.kubeflow.org/trainjob-controller or kueue.x-k8s.io/multikueue if set"
)
_URI = Validation(cel_rules.URI.text, "storageUri may be empty, or it must be a valid URI (scheme://...)")
#: A word of a command line.
Word = Annotated[str, Since("trainer", "2.2", MaxLen(65536)), Since("trainer", "2.3", MaxLen(1048576))]
Words = Annotated[AtomicList[Word], Since("trainer", "2.2", MaxLen(128))]
#: A name whose length the first releases did not limit.
OldName = Annotated[str, Since("trainer", "2.1", MinLen(1)), Since("trainer", "2.2", MaxLen(253))]


class RuntimeRef(Model):
    """The runtime, which is the template for everything that the job does not set."""

    name: OldName = Field(description="name of the runtime, such as `torch-distributed`; it has to exist when the job is created")
    kind: Annotated[str, Since("trainer", "2.2", MaxLen(253))] = Field(
        default="ClusterTrainingRuntime",
        description="`ClusterTrainingRuntime`, left out too, or `TrainingRuntime` for one of the job's own namespace",
    )
    api_group: Annotated[str, Since("trainer", "2.2", MaxLen(253))] = Field(
        default="trainer.kubeflow.org", description="API group of the runtime: `trainer.kubeflow.org`, no other is supported"
    )


EnvVars = Annotated[list[EnvVar], Keyed("name"), Since("trainer", "2.2", MaxLen(128))]


class InitializerSource(Model):
    """Something to download before the training starts."""

    storage_uri: Annotated[str | None, Since("trainer", "2.2", MaxLen(2048)), Since("trainer", "2.3", _URI)] = optional_field(
        "where it is, such as `hf://org/name` or `s3://bucket/path`; the initializer sees it as `STORAGE_URI`"
    )
    env: EnvVars | None = optional_field("variables of the initializer's container")
    secret_ref: LocalObjectReference | None = optional_field("Secret whose keys become variables, such as an access token")


class Initializer(Model):
    """Downloads before the training; the runtime has to have a replicated job for each."""

    dataset: InitializerSource | None = optional_field("the data; the runtime needs a job and container `dataset-initializer`")
    model: InitializerSource | None = optional_field("the model; the runtime needs a job and container `model-initializer`")


class Trainer(Model):
    """The training program and its nodes, in place of the runtime's."""

    image: Annotated[str | None, Since("trainer", "2.2", MaxLen(500))] = optional_field(
        "image of the container `node`, the runtime's by default"
    )
    command: Words | None = optional_field(
        "program to start, mostly `torchrun`: under plain `python` each pod trains alone; set alone, the runtime's `args` stay"
    )
    args: Words | None = optional_field("arguments of the program; without `command`, the runtime's `command` gets them")
    env: EnvVars | None = optional_field(
        "variables of the container `node`; the operator sets `PET_*` for torchrun, and never `RANK` or `MASTER_ADDR`"
    )
    num_nodes: Pointer[Int32] = optional_field(
        "pods to train in, by default the runtime's `mlPolicy.numNodes`, else 1; with 0 the job completes at once"
    )
    num_proc_per_node: Annotated[IntOrString | None, Since("trainer", "2.2", Type(Int32)), GoPointer()] = optional_field(
        "processes per pod, by default one for each GPU, else for each CPU asked for; before 2.2 also `auto`, `cpu` or `gpu`"
    )
    resources_per_node: ResourceRequirements | None = optional_field(
        "resources of the container `node`: over the runtime's by name, before 2.3 in place of all; `claims` are lost"
    )


# Changes of a TrainJob to its runtime before release 2.2: `podSpecOverrides` of 2.0 and `podTemplateOverrides` of 2.1.


class TargetJob(Model):
    """A replicated job of the runtime."""

    name: Annotated[str, Since("trainer", "2.1", MinLen(1))] = Field(
        description="name of the replicated job: usually `node` for the training; an unknown one is refused"
    )


class Targeted(Model):
    """What says which replicated jobs it is meant for."""

    target_jobs: AtomicList[TargetJob] = Field(description="the replicated jobs to change; in 2.0 a job may be targeted only once")


# Changes of a TrainJob to its runtime: `runtimePatches`, from release 2.2 on.
#
# The overrides of earlier releases use the same patches of containers, pods and pod templates.


IMMUTABLE = Validation(cel_rules.UNCHANGED.text, "field is immutable")


class ContainerPatch(Model):
    """Additions to a container that the runtime has; its image, command and resources are not among them."""

    name: OldName = Field(description="name of the container in the runtime, such as `node`; a new one cannot be added")
    env: EnvVars | None = optional_field("variables; refused for `node` and the initializers, which have an `env` of their own")
    volume_mounts: Annotated[list[VolumeMount] | None, Keyed("name"), Since("trainer", "2.2", MaxLen(128))] = optional_field(
        "mounts; `name` is the key, not `mountPath`: a second mount of one volume needs another entry around it"
    )
    security_context: Annotated[SecurityContext | None, Since("trainer", "2.2")] = optional_field(
        "user, privileges and confinement; merged field by field"
    )


ContainerPatches = Annotated[list[ContainerPatch], Keyed("name"), Since("trainer", "2.2", MaxLen(64), IMMUTABLE)]


class PodSpecPatch(Model):
    """The fields of pods that a job can change; all others, such as `priorityClassName`, only a runtime can set."""

    service_account_name: Annotated[str | None, Since("trainer", "2.2", MaxLen(253), IMMUTABLE)] = optional_field(
        "ServiceAccount that the pods act as, the runtime's by default"
    )
    node_selector: dict[str, str] | None = optional_field("labels that the nodes have; merged with the runtime's by key")
    affinity: Annotated[Affinity | None, Since("trainer", "2.1")] = optional_field(
        "nodes and neighbours that the pods require or prefer; a list in it replaces the runtime's"
    )
    tolerations: Annotated[AtomicList[Toleration] | None, Since("trainer", "2.2", MaxLen(128))] = optional_field(
        "taints that do not keep the pods away; the list replaces the runtime's, so repeat those for GPUs"
    )
    scheduling_gates: Annotated[list[PodSchedulingGate] | None, Keyed("name"), Since("trainer", "2.2", MaxLen(16))] = optional_field(
        "gates that hold the pods back"
    )
    image_pull_secrets: Annotated[
        list[LocalObjectReference] | None, Since("trainer", "2.1"), Keyed("name"), Since("trainer", "2.2", MaxLen(64), IMMUTABLE)
    ] = optional_field("Secrets to pull images with, besides the runtime's")
    security_context: Annotated[PodSecurityContext | None, Since("trainer", "2.2"), IMMUTABLE] = optional_field(
        "users, groups and confinement of all containers; merged field by field"
    )
    termination_grace_period_seconds: Annotated[Pointer[Int64], Since("trainer", "2.3"), Ge(0), IMMUTABLE] = optional_field(
        "seconds from the stop signal to the kill, 30 by default: the time for a last checkpoint"
    )
    init_containers: ContainerPatches | None = optional_field("additions to init containers that the runtime has")
    containers: ContainerPatches | None = optional_field("additions to containers that the runtime has")
    volumes: Annotated[list[Volume] | None, Keyed("name"), Since("trainer", "2.2", MaxLen(128), IMMUTABLE)] = optional_field(
        "volumes to mount; never a name of the runtime's with another source: both sources would stay"
    )


class PodSpecOverride(PodSpecPatch, Targeted):  # the last base's fields come first
    """Changes to the pods of some replicated jobs, in 2.0."""


class PodTemplatePatch(Model):
    """Changes to the pods of one replicated job."""

    metadata: EmbeddedMeta | None = optional_field("labels and annotations to add to the pods; nothing else of it counts")
    spec: PodSpecPatch | None = optional_field("changes to what the pods are and where they run")


class PodTemplateOverride(PodTemplatePatch, Targeted):
    """Changes to the pods of some replicated jobs, in 2.1; those later in the list override earlier ones."""


Name = Annotated[str, MinLen(1), MaxLen(253)]


class JobSpecPatch(Model):
    """Changes to the specification of one replicated job: only to its pods."""

    template: PodTemplatePatch | None = optional_field("changes to the pods")


class JobTemplatePatch(Model):
    """Changes to the Jobs of one replicated job."""

    metadata: EmbeddedMeta | None = optional_field("labels and annotations to add to the Jobs; nothing else of it counts")
    spec: JobSpecPatch | None = optional_field("changes to the pods of the Jobs")


class ReplicatedJobPatch(Model):
    """Changes to one replicated job of the runtime."""

    name: Name = Field(description="name of the replicated job in the runtime: usually `node` for the training; an unknown one is refused")
    template: JobTemplatePatch | None = optional_field("changes to its Jobs and pods")


class JobSetSpecPatch(Model):
    """Changes to what the JobSet runs."""

    replicated_jobs: Annotated[list[ReplicatedJobPatch] | None, Keyed("name"), MaxLen(100)] = optional_field(
        "changes to the runtime's replicated jobs, by name"
    )


class JobSetTemplatePatch(Model):
    """Changes to the JobSet that the runtime makes."""

    metadata: EmbeddedMeta | None = optional_field(
        "labels and annotations to add to the JobSet, such as Volcano's queue; nothing else of it counts"
    )
    spec: JobSetSpecPatch | None = optional_field("changes to what it runs")


class TrainingRuntimeSpecPatch(Model):
    """Changes to the specification of the runtime."""

    template: JobSetTemplatePatch | None = optional_field("changes to the JobSet")


class RuntimePatch(Model):
    """The changes of one manager; those later in the list override earlier ones."""

    manager: Annotated[Name, IMMUTABLE] = Field(description="who wants them, as `example.com/name`; without a domain and `/` it is refused")
    time: Time | None = optional_field("when the entry last changed; set by the operator")
    training_runtime_spec: TrainingRuntimeSpecPatch | None = optional_field(
        "the changes; on update only while the job is suspended and no pod of it is active"
    )


class TrainJobSpec(Model):
    """A runtime by name, and the changes of this job to it."""

    runtime_ref: Annotated[
        RuntimeRef,
        Until("trainer", "2.2", Validation(cel_rules.UNCHANGED.text, "runtimeRef is immutable")),
        Since("trainer", "2.2", IMMUTABLE),
    ] = Field(description="the runtime; it cannot change")
    initializer: Annotated[Initializer | None, Since("trainer", "2.2", IMMUTABLE)] = optional_field(
        "data and model to download first; from 2.2 on fixed once the job exists"
    )
    trainer: Annotated[Trainer | None, Since("trainer", "2.2", IMMUTABLE)] = optional_field(
        "the program and its nodes, at least `{}`: without it pods get no `PET_*`; from 2.2 on fixed once the job exists"
    )
    labels: Annotated[
        dict[str, str] | None, Until("trainer", "2.2", use="`runtimePatches` with `trainingRuntimeSpec.template.metadata.labels`")
    ] = optional_field("labels of the JobSet, over the runtime's")
    annotations: Annotated[
        dict[str, str] | None, Until("trainer", "2.2", use="`runtimePatches` with `trainingRuntimeSpec.template.metadata.annotations`")
    ] = optional_field("annotations of the JobSet, over the runtime's")
    pod_spec_overrides: Annotated[
        AtomicList[PodSpecOverride] | None,
        Merge("targetJobs"),
        Until("trainer", "2.1", use="`podTemplateOverrides`, or `runtimePatches` from 2.2 on"),
    ] = optional_field("changes to the pods of the runtime's replicated jobs")
    pod_template_overrides: Annotated[
        AtomicList[PodTemplateOverride] | None,
        Merge("targetJobs"),
        Since("trainer", "2.1"),
        Until("trainer", "2.2", use="`runtimePatches`"),
    ] = optional_field("changes to the pods of the runtime's replicated jobs")
    runtime_patches: Annotated[list[RuntimePatch] | None, Since("trainer", "2.2"), Keyed("manager"), MaxLen(16)] = optional_field(
        "changes to the JobSet, Jobs and pods of the runtime, an entry for each `manager`; a later entry wins"
    )
    suspend: Annotated[bool, GoPointer()] = Field(
        default=False, description="delete the pods and wait; the deadline starts again when it resumes"
    )
    active_deadline_seconds: Annotated[Pointer[Int64], Since("trainer", "2.2"), Ge(1), IMMUTABLE] = optional_field(
        "seconds from creation or resumption, in a queue too, until it fails and loses its pods; never by default"
    )
    managed_by: Annotated[
        str,
        _MANAGER,
        Until("trainer", "2.2", Validation(cel_rules.UNCHANGED.text, "ManagedBy value is immutable")),
        Since("trainer", "2.2", MaxLen(253), IMMUTABLE),
    ] = Field(
        default="trainer.kubeflow.org/trainjob-controller",
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

    progress_percentage: Annotated[Int32 | None, Ge(0), Le(100)] = optional_field("how much is done, from 0 to 100")
    estimated_remaining_seconds: Annotated[Int32 | None, Ge(0)] = optional_field("seconds to the end, as the program estimates")
    metrics: Annotated[AtomicList[Metric] | None, MaxLen(256)] = optional_field("the newest values of metrics")
    last_updated_time: Time | None = optional_field("when the program last reported; needed")


class TrainJobStatus(Model):
    """The status of the job; written by the operator."""

    conditions: Annotated[list[Condition] | None, Keyed("type"), Since("trainer", "2.2", MaxLen(8))] = optional_field(
        "`Suspended`, `Complete` or `Failed`; a job that runs from the start has none: look at `jobsStatus`"
    )
    jobs_status: Annotated[list[ReplicatedJobStatus] | None, Keyed("name"), Since("trainer", "2.2", MaxLen(100))] = optional_field(
        "numbers of Jobs, by replicated job"
    )
    trainer_status: Annotated[TrainerStatus | None, Since("trainer", "2.2")] = optional_field("how far the training is")


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

    api_version: Literal["trainer.kubeflow.org/v1alpha1"] = constant("version of the API", "trainer.kubeflow.org/v1alpha1")
    kind: Literal["TrainJob"] = constant("kind of the object", "TrainJob")
    metadata: ObjectMeta | None = optional_field(
        "name of at most 63 characters, but pods allow 48, or 33 with a `dataset-initializer`; pods get no labels from here"
    )
    spec: TrainJobSpec | None = optional_field("what to train; without it no runtime is found")
    status: Annotated[TrainJobStatus | None, Since("trainer", "2.1", MinLen(1))] = optional_field(
        "status of the job; written by the operator"
    )
