"""The policies of a JobSet: when it starts, restarts, fails and succeeds, and which volumes it claims."""

from typing import Annotated, Literal

from annotated_types import MaxLen
from pydantic import Field

from jobspec import cel_rules
from jobspec.models.base import AtomicList, Choices, Int32, Merge, Model, Since, Until, Validation
from jobspec.models.meta import EmbeddedMeta
from jobspec.models.persistentvolumeclaim import PersistentVolumeClaimStatus
from jobspec.models.pod.claim import PersistentVolumeClaimSpec


class SuccessPolicy(Model):
    """Which Jobs have to succeed."""

    operator: Literal["All", "Any"] = Field(description="`All` or `Any` of the Jobs")
    target_replicated_jobs: AtomicList[str] | None = Field(None, description="replicated jobs that count, by name; all by default")


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
    target_replicated_jobs: AtomicList[str] | None = Field(None, description="replicated jobs that it holds for, by name; all by default")
    on_job_failure_reasons: list[str] | None = Field(
        None, description="reasons of the failure, such as `BackoffLimitExceeded`, `DeadlineExceeded` or `PodFailurePolicy`; all by default"
    )
    on_job_failure_message_patterns: Annotated[list[str] | None, Since("jobset", "0.10")] = Field(
        None, description="regular expressions (RE2), of which one matches the failure's message; all messages by default"
    )


class FailurePolicy(Model):
    """What to do if Jobs fail."""

    max_restarts: Int32 | None = Field(None, description="restarts of the whole JobSet until it fails, 0 by default")
    restart_strategy: Annotated[
        Literal["Recreate", "BlockingRecreate", "InPlaceRestart"], Until("jobset", "0.11", Choices(("Recreate", "BlockingRecreate")))
    ] = Field(
        "Recreate",
        description="`Recreate` each Job once its old one is gone; `BlockingRecreate`: once all are; `InPlaceRestart`: alpha, off",
    )
    rules: Annotated[list[FailurePolicyRule] | None, Merge("name")] = Field(
        None, description="rules, of which the first that holds decides; without one, `RestartJobSet`"
    )


class VolumeClaimMeta(EmbeddedMeta):
    """The metadata of a claim that a JobSet makes."""

    name: str | None = Field(None, description="name that containers mount it by, no pod's volume has it; the claim is `<name>-<JobSet>`")
    namespace: str | None = Field(None, description="not to be set: the claim is made in the namespace of the JobSet")


class VolumeClaimTemplate(Model):
    """A claim that a JobSet makes, and whose volume it adds to the pods that mount it."""

    api_version: str | None = Field(None, description="ignored: always `v1`")
    kind: str | None = Field(None, description="ignored: always `PersistentVolumeClaim`")
    metadata: VolumeClaimMeta | None = Field(None, description="name, labels and annotations; the name is needed")
    spec: PersistentVolumeClaimSpec | None = Field(None, description="the storage; `ReadWriteMany` where pods on several nodes mount it")
    status: PersistentVolumeClaimStatus | None = Field(None, description="ignored: the control plane sets the status of claims")


class VolumeRetentionPolicy(Model):
    """What becomes of the claims."""

    when_deleted: Literal["Delete", "Retain"] = Field(
        "Delete", description="`Delete` the claims, and the data, with the JobSet, or `Retain` them"
    )


class VolumeClaimPolicy(Model):
    """Claims that the pods of a JobSet share."""

    FACTS = (
        Validation(
            cel_rules.NO_NAMESPACE.text,
            "namespace cannot be set for VolumeClaimPolicies templates",
        ),
    )

    templates: Annotated[AtomicList[VolumeClaimTemplate], MaxLen(50)] | None = Field(
        None, description="the claims, at most 50; a container of at least one replicated job mounts each, by its name"
    )
    retention_policy: VolumeRetentionPolicy | None = Field(None, description="what becomes of the claims when the JobSet is deleted")
