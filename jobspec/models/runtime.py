"""TrainingRuntime and ClusterTrainingRuntime (`trainer.kubeflow.org/v1alpha1`): templates that TrainJobs refer to."""

from typing import Annotated, ClassVar, Literal

from annotated_types import MaxLen, MinLen
from pydantic import Field

from jobspec.apis import cel_rules
from jobspec.models.base import (
    AtomicList,
    Choices,
    GoPointer,
    Int32,
    IntOrString,
    Keyed,
    ListType,
    Model,
    Pointer,
    Required,
    Resource,
    Since,
    Until,
    Validation,
    constant,
    optional_field,
)
from jobspec.models.jobset import JobSetSpec
from jobspec.models.meta import EmbeddedMeta, ObjectMeta
from jobspec.models.pytorchjob import MetricSpec


class EnvInjectionTarget(Model):
    """Containers of one replicated job that get the variables too."""

    job_name: Annotated[str, MinLen(1), MaxLen(253)] = Field(description="name of the replicated job")
    container_names: Annotated[
        list[Annotated[str, MaxLen(63)]],
        MinLen(1),
        MaxLen(8),
        ListType("set"),
        Validation(
            cel_rules.NO_NODE.text, "containerNames must not include the main node container because PET_* envs are always injected into it"
        ),
    ] = Field(description="1 to 8 of its containers, init containers too; never `node`, which has the variables anyway")


class EnvInjection(Model):
    """Further containers that get the `PET_*` variables."""

    targets: Annotated[list[EnvInjectionTarget] | None, Keyed("jobName"), MaxLen(16)] = optional_field(
        "the containers by replicated job, at most 16; they get the variables even where the TrainJob has no `trainer`"
    )


class TorchElasticPolicy(Model):
    """The bounds of an elastic training; no release uses them."""

    min_nodes: Int32 | None = optional_field("fewest nodes")
    max_nodes: Int32 | None = optional_field("most nodes")
    max_restarts: Int32 | None = optional_field("restarts of the training")
    metrics: AtomicList[MetricSpec] | None = optional_field("metrics to scale the nodes by")


class TorchMLPolicySource(Model):
    """A training that torchrun starts: `PET_*` variables in the container `node`, where the TrainJob has a `trainer`."""

    num_proc_per_node: Annotated[
        IntOrString,
        GoPointer(),
        Validation(cel_rules.NUMBER_OF_PROCESSES.text, "NumProcPerNode must be equal to auto, cpu, gpu, or int value"),
        Until("trainer", "2.2", use="`spec.trainer.numProcPerNode` of the TrainJob"),
    ] = Field(
        default="auto", description="processes per node: a number, `auto` (default: a process for each GPU, else CPU), `cpu` or `gpu`"
    )
    elastic_policy: Annotated[
        TorchElasticPolicy | None, Until("trainer", "2.2", use="`mlPolicy.numNodes`: no release trains elastically")
    ] = optional_field("bounds of an elastic training; without any effect, and it excludes `numNodes`")
    env_injection: Annotated[EnvInjection | None, Since("trainer", "2.3")] = optional_field(
        "further containers that get the `PET_*` variables, such as a check of the network"
    )


class MPIMLPolicySource(Model):
    """A training that `mpirun` starts: replicated jobs `launcher` and `node`, connected by SSH, and a host file."""

    num_proc_per_node: Annotated[Int32, GoPointer()] = Field(
        default=1, description="slots of each node; 1 (default) becomes the number of GPUs where there are more"
    )
    mpi_implementation: Annotated[Literal["OpenMPI", ""], Until("trainer", "2.1", Choices(("OpenMPI",)))] = Field(
        default="OpenMPI", description="`OpenMPI`, the only one; an empty text passes the API server and fails in the operator"
    )
    ssh_auth_mount_path: Annotated[str, Since("trainer", "2.2", MaxLen(4096))] = Field(
        default="/root/.ssh", description="folder of the SSH keys, in the home of the user that the containers run as"
    )
    run_launcher_as_node: Annotated[bool, GoPointer()] = Field(
        default=False, description="the launcher trains too, as one of the nodes; one node still makes two pods"
    )


class JAXMLPolicySource(Model):
    """A training with JAX: `JAX_*` variables in the container `node`, where the TrainJob has a `trainer`."""


class XGBoostMLPolicySource(Model):
    """A training with XGBoost: `DMLC_*` variables in the container `node`, where the TrainJob has a `trainer`."""


class FluxMLPolicySource(Model):
    """A training that Flux starts in place of the container's command; the TrainJob has to say `trainer.numNodes`."""

    num_proc_per_node: Annotated[Int32, GoPointer(), Validation(cel_rules.POSITIVE.text, "NumProcPerNode in fluxPolicy must be >= 1")] = (
        Field(default=1, description="processes per node, at least 1")
    )


class MLPolicy(Model):
    """The number of nodes, and at most one framework that starts the processes."""

    FACTS = (
        Until(
            "trainer",
            "2.2",
            Validation(cel_rules.NODES_ONCE.text, "numNodes should not be set if torch.elasticPolicy is configured"),
            Validation(cel_rules.TORCH_OR_MPI.text, "Only one of the policy can be configured"),
        ),
        Since("trainer", "2.2", Validation(cel_rules.ONE_POLICY.text, "Only one of the policy can be configured")),
    )

    num_nodes: Pointer[Int32] = optional_field(
        "nodes where the TrainJob says none, 1 by default: pods of the Job that is labelled as `trainer`"
    )
    torch: TorchMLPolicySource | None = optional_field("torchrun; `{}` is enough")
    mpi: MPIMLPolicySource | None = optional_field("MPI, for DeepSpeed and MLX too; leave `numNodes` at 1, as it multiplies the launcher")
    jax: Annotated[JAXMLPolicySource | None, Since("trainer", "2.2")] = optional_field("JAX; always `{}`")
    xgboost: Annotated[XGBoostMLPolicySource | None, Since("trainer", "2.2")] = optional_field("XGBoost; always `{}`")
    flux: Annotated[FluxMLPolicySource | None, Since("trainer", "2.2")] = optional_field("the Flux framework")


class CoschedulingPodGroupPolicySource(Model):
    """A gang of scheduler-plugins: its PodGroup asks for all pods, those of initializers too."""

    schedule_timeout_seconds: Annotated[Int32, GoPointer()] = Field(
        default=60, description="seconds to wait for the gang; 0 means the default, 60"
    )


class NetworkTopologySpec(Model):
    """How close to each other the pods run, by Volcano's HyperNodes."""

    mode: Literal["hard", "soft"] = Field(default="hard", description="`hard` keeps the pods pending, `soft` only prefers")
    highest_tier_allowed: int = Field(default=1, description="highest tier of HyperNodes that the pods may span; greater is farther apart")


class VolcanoPodGroupPolicySource(Model):
    """A gang of Volcano; its queue is the JobSet's annotation `scheduling.volcano.sh/queue-name`."""

    network_topology: NetworkTopologySpec | None = optional_field("how close to each other the pods run")


class PodGroupPolicy(Model):
    """The gang that the pods are scheduled as; their `schedulerName` has to name the gang's scheduler."""

    coscheduling: CoschedulingPodGroupPolicySource | None = optional_field("a gang of scheduler-plugins; never with `volcano`")
    volcano: Annotated[VolcanoPodGroupPolicySource | None, Since("trainer", "2.1")] = optional_field(
        "a gang of Volcano; never with `coscheduling`: nothing refuses both, and each makes a PodGroup"
    )


class JobSetTemplateSpec(Model):
    """The JobSet that is made for a TrainJob; its name and namespace are the TrainJob's."""

    FACTS = (Since("trainer", "2.1", MinLen(1)),)

    metadata: EmbeddedMeta | None = optional_field("labels and annotations of the JobSet; the TrainJob's own are not copied")
    spec: JobSetSpec | None = optional_field("the Jobs, and what they have in common")


class TrainingRuntimeSpec(Model):
    """How the training is distributed and scheduled, and the template of its JobSet."""

    FACTS = (Since("trainer", "2.1", MinLen(1)),)

    ml_policy: MLPolicy | None = optional_field("how the training is distributed; without it `resourcesPerNode` is ignored")
    pod_group_policy: PodGroupPolicy | None = optional_field(
        "the gang that the pods are scheduled as, none by default; their `schedulerName` is not set"
    )
    template: Annotated[JobSetTemplateSpec | None, Until("trainer", "2.1", Required())] = optional_field(
        "the JobSet; for torch a replicated job `node` with a container `node`, its Job template labelled as `trainer`"
    )


class TrainingRuntime(Model):
    """A template for TrainJobs of the same namespace; their `runtimeRef.kind` has to be `TrainingRuntime`."""

    RESOURCE: ClassVar[Resource] = Resource(
        group="trainer.kubeflow.org", version="v1alpha1", kind="TrainingRuntime", plural="trainingruntimes", component="trainer"
    )

    api_version: Literal["trainer.kubeflow.org/v1alpha1"] = constant("version of the API", "trainer.kubeflow.org/v1alpha1")
    kind: Literal["TrainingRuntime"] = constant("kind of the object", "TrainingRuntime")
    metadata: ObjectMeta | None = optional_field("name, labels and so on; TrainJobs refer to the runtime by its name")
    spec: TrainingRuntimeSpec | None = optional_field("how TrainJobs are run; from 2.3 on, a TrainJob keeps the one that it began with")


class ClusterTrainingRuntime(Model):
    """A template for TrainJobs of all namespaces."""

    RESOURCE: ClassVar[Resource] = Resource(
        group="trainer.kubeflow.org",
        version="v1alpha1",
        kind="ClusterTrainingRuntime",
        plural="clustertrainingruntimes",
        component="trainer",
        scope="Cluster",
    )

    api_version: Literal["trainer.kubeflow.org/v1alpha1"] = constant("version of the API", "trainer.kubeflow.org/v1alpha1")
    kind: Literal["ClusterTrainingRuntime"] = constant("kind of the object", "ClusterTrainingRuntime")
    metadata: ObjectMeta | None = optional_field("name, labels and so on, no namespace; TrainJobs refer to it by its name")
    spec: TrainingRuntimeSpec | None = optional_field("how TrainJobs are run; from 2.3 on, a TrainJob keeps the one that it began with")
