"""JobSet (`jobset.x-k8s.io/v1alpha2`): Jobs that start, restart, fail and succeed together."""

from typing import Annotated, ClassVar, Literal

from annotated_types import Ge, MaxLen
from pydantic import Field

from jobspec.apis import cel_rules
from jobspec.models.base import (
    AtomicList,
    Choices,
    Column,
    Int32,
    Keyed,
    Merge,
    Model,
    Pointer,
    Resource,
    Since,
    Until,
    Validation,
    constant,
    optional_field,
)
from jobspec.models.job import JobTemplateSpec
from jobspec.models.meta import Condition, EmbeddedMeta, ObjectMeta
from jobspec.models.pod.volume import PersistentVolumeClaimSpec, PersistentVolumeClaimStatus

IMMUTABLE = Validation(cel_rules.UNCHANGED.text, "Value is immutable")


class DependsOn(Model):
    """A replicated job to wait for."""

    name: str = Field(description="name of a replicated job that stands before this one")
    status: Literal["Ready", "Complete"] = Field(description="wait until all its Jobs are `Ready` (or over), or `Complete`")


class ReplicatedJob(Model):
    """Jobs made from one template, all alike."""

    name: str = Field(description="name; it becomes a part of the Jobs' and pods' names, which have at most 63 characters")
    replicas: Int32 = Field(default=1, description="number of Jobs; always 1 where the template has the ancestor label of a TrainJob")
    group_name: Annotated[str, Since("jobset", "0.10")] = Field(
        default="default", description="group that the Jobs are numbered in, by label"
    )
    depends_on: Annotated[list[DependsOn] | None, MaxLen(5), Until("jobset", "0.10", MaxLen(1)), Keyed("name"), IMMUTABLE] = optional_field(
        "replicated jobs to wait for, at most 5; never for the first one; excludes `InOrder`; it cannot change"
    )
    template: JobTemplateSpec = Field(description="the Jobs; a TrainJob's parts go where the ancestor label says, to a container `node`")


class Network(Model):
    """How the pods find each other."""

    enable_dns_hostnames: Pointer[bool] = Field(
        default=None,
        alias="enableDNSHostnames",
        description="pods are reached as `<JobSet>-<replicated job>-<Job>-<pod>.<subdomain>`; true by default",
    )
    subdomain: str | None = optional_field("Service's name, the JobSet's by default; a TrainJob's `PET_MASTER_ADDR` ignores it")
    publish_not_ready_addresses: Pointer[bool] = optional_field("DNS answers for pods that are not ready yet; true by default")


class Coordinator(Model):
    """The pod whose address all Jobs and pods get as `jobset.sigs.k8s.io/coordinator`, a label and an annotation."""

    replicated_job: str = Field(description="name of its replicated job")
    job_index: int | None = optional_field("number of its Job, from 0 (default)")
    pod_index: int | None = optional_field("number of the pod in the Job, from 0 (default)")


# The policies of a JobSet: when it starts, restarts, fails and succeeds, and which volumes it claims.


class SuccessPolicy(Model):
    """Which Jobs have to succeed."""

    operator: Literal["All", "Any"] = Field(description="`All` or `Any` of the Jobs")
    target_replicated_jobs: AtomicList[str] | None = optional_field("replicated jobs that count, by name; all by default")


class StartupPolicy(Model):
    """The order in which the replicated jobs start; deprecated."""

    startup_policy_order: Literal["AnyOrder", "InOrder"] = Field(
        description="`AnyOrder`, or `InOrder`: each once the one before is ready; deprecated, use `replicatedJobs[].dependsOn`"
    )


class FailurePolicyRule(Model):
    """What to do if a Job fails and all conditions of the rule hold."""

    name: str = Field(
        description="name, unique: 1 to 128 letters, digits, `_`, `,` and `:`, a letter first; JobSets get one by default, runtimes do not"
    )
    action: Annotated[
        Literal["FailJobSet", "RestartJobSet", "RestartJobSetAndIgnoreMaxRestarts", "RestartJob", "RestartJobAndIgnoreMaxRestarts"],
        Until("jobset", "0.12", Choices(("FailJobSet", "RestartJobSet", "RestartJobSetAndIgnoreMaxRestarts"))),
    ] = Field(description="fail, or restart the JobSet or (alpha, off by default) the Job; `...IgnoreMaxRestarts` is not counted")
    target_replicated_jobs: AtomicList[str] | None = optional_field("replicated jobs that it holds for, by name; all by default")
    on_job_failure_reasons: list[str] | None = optional_field(
        "reasons of the failure, such as `BackoffLimitExceeded`, `DeadlineExceeded` or `PodFailurePolicy`; all by default"
    )
    on_job_failure_message_patterns: Annotated[list[str] | None, Since("jobset", "0.10")] = optional_field(
        "regular expressions (RE2), of which one matches the failure's message; all messages by default"
    )


class FailurePolicy(Model):
    """What to do if Jobs fail."""

    max_restarts: Int32 | None = optional_field("restarts of the whole JobSet until it fails, 0 by default")
    restart_strategy: Annotated[
        Literal["Recreate", "BlockingRecreate", "InPlaceRestart"], Until("jobset", "0.11", Choices(("Recreate", "BlockingRecreate")))
    ] = Field(
        default="Recreate",
        description="`Recreate` each Job once its old one is gone; `BlockingRecreate`: once all are; `InPlaceRestart`: alpha, off",
    )
    rules: Annotated[list[FailurePolicyRule] | None, Merge("name")] = optional_field(
        "rules, of which the first that holds decides; without one, `RestartJobSet`"
    )


class VolumeClaimMeta(EmbeddedMeta):
    """The metadata of a claim that a JobSet makes."""

    name: str | None = optional_field("name that containers mount it by, no pod's volume has it; the claim is `<name>-<JobSet>`")
    namespace: str | None = optional_field("not to be set: the claim is made in the namespace of the JobSet")


class VolumeClaimTemplate(Model):
    """A claim that a JobSet makes, and whose volume it adds to the pods that mount it."""

    api_version: str | None = optional_field("ignored: always `v1`")
    kind: str | None = optional_field("ignored: always `PersistentVolumeClaim`")
    metadata: VolumeClaimMeta | None = optional_field("name, labels and annotations; the name is needed")
    spec: PersistentVolumeClaimSpec | None = optional_field("the storage; `ReadWriteMany` where pods on several nodes mount it")
    status: PersistentVolumeClaimStatus | None = optional_field("ignored: the control plane sets the status of claims")


class VolumeRetentionPolicy(Model):
    """What becomes of the claims."""

    when_deleted: Literal["Delete", "Retain"] = Field(
        default="Delete", description="`Delete` the claims, and the data, with the JobSet, or `Retain` them"
    )


class VolumeClaimPolicy(Model):
    """Claims that the pods of a JobSet share."""

    FACTS = (Validation(cel_rules.NO_NAMESPACE.text, "namespace cannot be set for VolumeClaimPolicies templates"),)

    templates: Annotated[AtomicList[VolumeClaimTemplate], MaxLen(50)] | None = optional_field(
        "the claims, at most 50; a container of at least one replicated job mounts each, by its name"
    )
    retention_policy: VolumeRetentionPolicy | None = optional_field("what becomes of the claims when the JobSet is deleted")


class JobSetSpec(Model):
    """The Jobs, and what they have in common."""

    FACTS = (Validation(cel_rules.ONE_ORDER.text, "StartupPolicy and DependsOn APIs are mutually exclusive"),)

    suspend: Pointer[bool] = optional_field("delete the pods and wait; a TrainJob overwrites it by its own")
    managed_by: Pointer[str] = optional_field("controller, `jobset.sigs.k8s.io/jobset-controller` by default; it cannot change")
    ttl_seconds_after_finished: Annotated[Pointer[Int32], Ge(0)] = optional_field(
        "seconds after the end until it is deleted, never by default; a TrainJob stays, and on 2.3.0 runs again if it failed"
    )
    network: Annotated[Network | None, IMMUTABLE] = optional_field("how the pods find each other; it cannot change")
    coordinator: Coordinator | None = optional_field("the pod whose address all others get")
    success_policy: Annotated[SuccessPolicy | None, IMMUTABLE] = optional_field(
        "which Jobs have to succeed, all by default; it cannot change"
    )
    failure_policy: Annotated[FailurePolicy | None, IMMUTABLE] = optional_field(
        "what failures lead to; by default, the first failed Job fails the JobSet; it cannot change"
    )
    startup_policy: Annotated[StartupPolicy | None, IMMUTABLE] = optional_field(
        "deprecated: the order of the starts; `replicatedJobs[].dependsOn` took its place; it cannot change"
    )
    volume_claim_policies: Annotated[AtomicList[VolumeClaimPolicy] | None, MaxLen(50), IMMUTABLE, Since("jobset", "0.11")] = optional_field(
        "claims that the pods share, at most 50 policies; they cannot change"
    )
    replicated_jobs: Annotated[list[ReplicatedJob] | None, Keyed("name")] = optional_field(
        "the Jobs, by role; only labels, `nodeSelector`, tolerations and gates of the pods can change, while suspended"
    )


class ReplicatedJobStatus(Model):
    """The status of the Jobs of one replicated job."""

    name: str = Field(description="name of the replicated job")
    ready: Int32 = Field(description="Jobs whose pods are all ready or have succeeded")
    succeeded: Int32 = Field(description="Jobs that ended well")
    failed: Int32 = Field(description="Jobs that failed")
    active: Int32 = Field(description="Jobs with a pod that is pending or running")
    suspended: Int32 = Field(description="Jobs that are suspended")
    job_restarts: Annotated[AtomicList[Int32] | None, MaxLen(1024), Since("jobset", "0.12")] = optional_field(
        "restarts of each Job by itself, by its number"
    )
    job_restarts_count_towards_max: Annotated[AtomicList[Int32] | None, MaxLen(1024), Since("jobset", "0.12")] = optional_field(
        "those of them that count towards `maxRestarts`"
    )


class JobSetStatus(Model):
    """The status of the JobSet; written by the operator."""

    conditions: Annotated[list[Condition] | None, Keyed("type")] = optional_field(
        "`Completed`, `Failed`, `Suspended`, `StartupPolicyInProgress` and `StartupPolicyCompleted`"
    )
    terminal_state: str | None = optional_field("how it ended: `Completed` or `Failed`")
    restarts: Int32 | None = optional_field("restarts of the whole JobSet")
    restarts_count_towards_max: Int32 | None = optional_field("those of them that count towards `maxRestarts`")
    replicated_jobs_status: Annotated[list[ReplicatedJobStatus] | None, Keyed("name")] = optional_field(
        "numbers of Jobs, by replicated job"
    )
    previous_in_place_restart_attempt: Annotated[Int32 | None, Ge(0), Since("jobset", "0.11")] = optional_field(
        "pods of this attempt, or an earlier one, start again in place (alpha)"
    )
    current_in_place_restart_attempt: Annotated[Int32 | None, Ge(0), Since("jobset", "0.11")] = optional_field(
        "pods of this attempt may begin their work (alpha)"
    )


class JobSet(Model):
    """Jobs that start, restart, fail and succeed together; the trainer makes one for each TrainJob."""

    RESOURCE: ClassVar[Resource] = Resource(
        group="jobset.x-k8s.io",
        version="v1alpha2",
        kind="JobSet",
        plural="jobsets",
        component="jobset",
        status=True,
        columns=(
            Column("TerminalState", "string", ".status.terminalState", "Final state of JobSet"),
            Column("Restarts", "string", ".status.restarts", "Number of restarts"),
            Column("Completed", "string", '.status.conditions[?(@.type=="Completed")].status'),
            Column("Suspended", "string", ".spec.suspend", "JobSet suspended"),
            Column("Age", "date", ".metadata.creationTimestamp", "Time this JobSet was created"),
        ),
    )

    api_version: Literal["jobset.x-k8s.io/v1alpha2"] = constant("version of the API", "jobset.x-k8s.io/v1alpha2")
    kind: Literal["JobSet"] = constant("kind of the object", "JobSet")
    metadata: ObjectMeta | None = optional_field("name, labels and so on; the name becomes a part of the pods' names")
    spec: JobSetSpec | None = optional_field("the Jobs, and what they have in common")
    status: JobSetStatus | None = optional_field("status of the JobSet; written by the operator")
