"""PyTorchJob (`kubeflow.org/v1`): a distributed training, run by the training operator."""

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from jobspec.apis import cel_rules
from jobspec.models.base import (
    Column,
    GoPointer,
    Int32,
    Int64,
    Merge,
    Model,
    Pointer,
    Quantity,
    Resource,
    Scale,
    Since,
    Time,
    Validation,
    constant,
    optional_field,
)
from jobspec.models.meta import LabelSelector, ObjectMeta
from jobspec.models.pod.spec import PodTemplateSpec


class SchedulingPolicy(Model):
    """How the pods are scheduled as a gang, where the operator has a gang scheduler."""

    min_available: Int32 | None = optional_field("fewest pods to start together, the sum of all replicas by default")
    queue: Annotated[
        str | None,
        Since("training-operator", "1.8", Validation(cel_rules.UNCHANGED.text, "spec.runPolicy.schedulingPolicy.queue is immutable")),
    ] = optional_field("queue of Volcano, `default` by default; it cannot change")
    min_resources: dict[str, Quantity] | None = optional_field("resources to start together, computed from the pods by default")
    priority_class: str | None = optional_field("PriorityClass of the gang; only Volcano looks at it")
    schedule_timeout_seconds: Pointer[Int32] = optional_field("seconds to wait for the gang; only scheduler-plugins looks at it")


class RunPolicy(Model):
    """Deadline, restarts, cleanup and gang scheduling of a job."""

    suspend: Annotated[bool, GoPointer()] = Field(
        default=False, description="delete the pods and wait; the start time is reset when the job resumes"
    )
    managed_by: Annotated[Pointer[str], Since("training-operator", "1.9")] = optional_field(
        "controller: `kubeflow.org/training-operator` or `kueue.x-k8s.io/multikueue`"
    )
    clean_pod_policy: str | None = optional_field("pods to delete when the job is over: `None` (default), `Running` or `All`")
    ttl_seconds_after_finished: Pointer[Int32] = optional_field("seconds after the end until the job is deleted; never by default")
    active_deadline_seconds: Pointer[Int64] = optional_field("seconds after the start until the job fails; never by default")
    backoff_limit: Pointer[Int32] = optional_field("restarts of containers in running pods until the job fails; no limit by default")
    scheduling_policy: SchedulingPolicy | None = optional_field("settings of gang scheduling")


class RDZVConf(Model):
    """A setting of the rendezvous backend."""

    key: str | None = optional_field("name of the setting, such as `last_call_timeout`")
    value: str | None = optional_field("its value, as text")


class MetricTarget(Model):
    """The number to keep a metric at."""

    type: str = Field(description="which of the others is meant: `Utilization`, `Value` or `AverageValue`")
    average_utilization: Pointer[Int32] = optional_field("mean over the pods, in percent of what they requested")
    average_value: Quantity | None = optional_field("mean over the pods, as a quantity")
    value: Quantity | None = optional_field("the metric itself, as a quantity")


class ResourceMetricSource(Model):
    """CPU or memory that the pods use."""

    name: str = Field(description="the resource, such as `cpu`")
    target: MetricTarget = Field(description="the number to keep it at")


class ContainerResourceMetricSource(Model):
    """CPU or memory that one container of each pod uses."""

    container: str = Field(description="name of the container")
    name: str = Field(description="the resource, such as `cpu`")
    target: MetricTarget = Field(description="the number to keep it at")


class MetricIdentifier(Model):
    """A metric by name."""

    name: str = Field(description="name of the metric")
    selector: LabelSelector | None = optional_field("further choice by the metric's labels")


class PodsMetricSource(Model):
    """A metric that each pod has; the mean counts."""

    metric: MetricIdentifier = Field(description="the metric")
    target: MetricTarget = Field(description="the number to keep it at, an `AverageValue`")


# Metrics of a HorizontalPodAutoscaler (`autoscaling/v2`).


class CrossVersionObjectReference(Model):
    """An object in the same namespace."""

    api_version: str | None = optional_field("API version of the object")
    kind: str = Field(description="kind of the object")
    name: str = Field(description="name of the object")


class ObjectMetricSource(Model):
    """A metric of one other object."""

    described_object: CrossVersionObjectReference = Field(description="the object")
    metric: MetricIdentifier = Field(description="the metric")
    target: MetricTarget = Field(description="the number to keep it at, a `Value` or `AverageValue`")


class ExternalMetricSource(Model):
    """A metric from outside of the cluster, the length of a queue for example."""

    metric: MetricIdentifier = Field(description="the metric")
    target: MetricTarget = Field(description="the number to keep it at, a `Value` or `AverageValue`")


class MetricSpec(Model):
    """A metric to scale by; the source that `type` names is set, and no other."""

    type: str = Field(description="the source: `Resource`, `ContainerResource`, `Pods`, `Object` or `External`")
    resource: ResourceMetricSource | None = optional_field("CPU or memory of the pods")
    container_resource: ContainerResourceMetricSource | None = optional_field("CPU or memory of one container of each pod")
    pods: PodsMetricSource | None = optional_field("a metric that each pod has")
    object: ObjectMetricSource | None = optional_field("a metric of one other object")
    external: ExternalMetricSource | None = optional_field("a metric from outside of the cluster")


class ElasticPolicy(Model):
    """An elastic training: the number of workers may change, and they meet by rendezvous."""

    min_replicas: Pointer[Int32] = optional_field("fewest workers, `maxReplicas` by default; without both, the workers' `replicas`")
    max_replicas: Pointer[Int32] = optional_field("most workers, `minReplicas` by default; without both, the workers' `replicas`")
    max_restarts: Int32 | None = optional_field("restarts of the worker group that torchrun allows; its own default otherwise")
    rdzv_backend: str | None = optional_field("where workers meet: `c10d` (default), `etcd` or `etcd-v2`; not checked")
    rdzv_host: str | None = optional_field("host of the rendezvous, the first worker by default")
    rdzv_port: Int32 | None = optional_field("port of the rendezvous, the worker's `pytorchjob-port` by default")
    rdzv_id: str | None = optional_field("name of the rendezvous, the same for all workers, as `PET_RDZV_ID`")
    rdzv_conf: list[RDZVConf] | None = optional_field("settings of the backend; never an empty list: the operator fails on it")
    standalone: bool | None = optional_field("one node with a rendezvous of its own, as `PET_STANDALONE`")
    n_proc_per_node: Int32 | None = optional_field("deprecated: the number of processes; use `spec.nprocPerNode`, never both")
    metrics: list[MetricSpec] | None = optional_field("metrics to scale the workers by; with them, the operator makes an autoscaler")


class ReplicaSpec(Model):
    """The replicas of one role."""

    replicas: Int32 | None = optional_field("number of pods, 1 by default; the Master needs it to be written, as 1")
    restart_policy: str | None = optional_field("`Always`, `OnFailure` (default), `Never` or `ExitCode` (again from code 128 on)")
    template: PodTemplateSpec | None = optional_field("the pods, with a container `pytorch`; their `restartPolicy` is overwritten")


class PyTorchJobSpec(Model):
    """What to train with."""

    run_policy: RunPolicy | None = optional_field("how long it runs, how often it fails, and what is left of it")
    nproc_per_node: str | None = optional_field("processes per pod: a number in quotes, `auto` (default), `cpu` or `gpu`")
    elastic_policy: ElasticPolicy | None = optional_field("makes the training elastic; it needs a Worker")
    pytorch_replica_specs: dict[str, ReplicaSpec] = Field(description="the replicas by role: `Master` (one pod), `Worker`, or both")


class JobCondition(Model):
    """A state that the job is or was in."""

    type: str = Field(description="`Created`, `Running`, `Restarting`, `Succeeded`, `Suspended` or `Failed`")
    status: str = Field(description="`True`, `False` or `Unknown`")
    reason: str | None = optional_field("why, as a word, such as `PyTorchJobRunning`")
    message: str | None = optional_field("why, as a sentence")
    last_update_time: Time | None = optional_field("when it was last written")
    last_transition_time: Time | None = optional_field("when `status` last changed")


class ReplicaStatus(Model):
    """The status of the pods of one role."""

    active: Int32 | None = optional_field("pods that run and are not being deleted")
    succeeded: Int32 | None = optional_field("pods that ended well")
    failed: Int32 | None = optional_field("pods that failed, or run while being deleted")
    selector: str | None = optional_field("the pods as a label selector in text form; the scale subresource reads it")
    label_selector: LabelSelector | None = optional_field("deprecated: the pods by label; `selector` took its place")


class JobStatus(Model):
    """The status of the job; written by the operator."""

    conditions: Annotated[list[JobCondition] | None, Merge("type")] = optional_field("states of the job, the newest last")
    replica_statuses: dict[str, ReplicaStatus] | None = optional_field("numbers of pods, by role")
    start_time: Time | None = optional_field("when the operator took the job up, or resumed it")
    completion_time: Time | None = optional_field("when the job ended")
    last_reconcile_time: Time | None = optional_field("when the operator last looked at the job")


class PyTorchJob(Model):
    """A distributed training with PyTorch: a Master and Workers, or Workers alone."""

    RESOURCE: ClassVar[Resource] = Resource(
        group="kubeflow.org",
        version="v1",
        kind="PyTorchJob",
        plural="pytorchjobs",
        component="training-operator",
        status=True,
        scale=Scale(
            replicas=".spec.pytorchReplicaSpecs.Worker.replicas",
            status_replicas=".status.replicaStatuses.Worker.active",
            selector=".status.replicaStatuses.Worker.selector",
        ),
        columns=(
            Column("State", "string", ".status.conditions[-1:].type"),
            Column("Age", "date", ".metadata.creationTimestamp"),
        ),
    )

    api_version: Literal["kubeflow.org/v1"] = constant("version of the API", "kubeflow.org/v1")
    kind: Literal["PyTorchJob"] = constant("kind of the object", "PyTorchJob")
    metadata: ObjectMeta | None = optional_field("name, labels and so on; pods and services need a name up to 54 characters")
    spec: PyTorchJobSpec | None = optional_field("what to train with")
    status: JobStatus | None = optional_field("status of the job; written by the operator")
