"""Job (`batch/v1`) as templates hold it: pods that run to their end."""

from typing import Annotated

from pydantic import Field

from jobspec.models.base import AtomicList, Int32, Int64, Model, Pointer, Required, SetList, Unset, Until, optional_field
from jobspec.models.meta import EmbeddedMeta, LabelSelector
from jobspec.models.pod.spec import PodTemplateSpec


class PodFailurePolicyOnExitCodesRequirement(Model):
    """The exit codes of a rule; 0 cannot be one."""

    container_name: Pointer[str] = optional_field("whose exit codes, an init container's too; those of every container by default")
    operator: str = Field(description="`In` or `NotIn` the values")
    values: SetList[Int32] = Field(description="the exit codes, ascending, 1 to 255 of them; no 0 with `In`")


class PodFailurePolicyOnPodConditionsPattern(Model):
    """A condition of the pod that a rule is about."""

    type: str = Field(description="type of the condition, such as `DisruptionTarget` of an evicted or preempted pod")
    status: Annotated[str | None, Until("kubernetes", "0.35", Required())] = optional_field(
        "its status: `True` (default, where it may be left out), `False` or `Unknown`"
    )


class PodFailurePolicyRule(Model):
    """What to do if a pod fails; exactly one of the two conditions is set."""

    action: str = Field(description="`FailJob`, `FailIndex`, `Ignore` (not counted) or `Count` (towards `backoffLimit`)")
    on_exit_codes: PodFailurePolicyOnExitCodesRequirement | None = optional_field("the rule holds for these exit codes")
    on_pod_conditions: AtomicList[PodFailurePolicyOnPodConditionsPattern] | None = optional_field(
        "the rule holds when the pod has one of these conditions, at most 20"
    )


class PodFailurePolicy(Model):
    """What failures of pods lead to."""

    rules: AtomicList[PodFailurePolicyRule] = Field(description="at most 20 rules; the first that holds decides, and without one, `Count`")


class SuccessPolicyRule(Model):
    """The pods whose success is enough for the Job: by indexes, by number, or by both."""

    succeeded_indexes: Pointer[str] = optional_field("indexes that have to succeed, such as `0,2-4`; any by default")
    succeeded_count: Pointer[Int32] = optional_field("how many of them have to succeed, at least 1; all of `succeededIndexes` by default")


class SuccessPolicy(Model):
    """When a Job succeeds before all of its pods have."""

    rules: AtomicList[SuccessPolicyRule] = Field(description="1 to 20 rules; the first that holds ends the Job, and its other pods")


class JobSpec(Model):
    """How many pods run, how often they may fail, and what they are."""

    parallelism: Pointer[Int32] = optional_field("pods at a time, 1 by default; the trainer overwrites it by the number of nodes")
    completions: Pointer[Int32] = optional_field(
        "pods that have to succeed, 1 by default; beside `parallelism`, `Indexed` needs it; overwritten likewise"
    )
    completion_mode: Pointer[str] = optional_field("`Indexed` (a number for each pod, JobSet's default) or `NonIndexed` (a Job's)")
    backoff_limit: Pointer[Int32] = optional_field("failed pods and restarts in place until the Job fails, 6 by default")
    backoff_limit_per_index: Pointer[Int32] = optional_field("the same for each index; only for `Indexed`, `restartPolicy: Never`")
    max_failed_indexes: Pointer[Int32] = optional_field("failed indexes until the Job fails; only with `backoffLimitPerIndex`")
    pod_failure_policy: PodFailurePolicy | None = optional_field("what failures lead to; it needs `restartPolicy: Never`")
    pod_replacement_policy: Pointer[str] = optional_field(
        "replace a pod once `Failed` or already when `TerminatingOrFailed` (default); `Failed` with `podFailurePolicy`"
    )
    success_policy: SuccessPolicy | None = optional_field("when some pods are enough; only for `Indexed`; it cannot change")
    active_deadline_seconds: Pointer[Int64] = optional_field("seconds after the start until the Job fails; never by default")
    ttl_seconds_after_finished: Pointer[Int32] = optional_field("seconds after the end until the Job is deleted; never by default")
    suspend: Pointer[bool] = optional_field("delete the pods and wait; in a JobSet, the JobSet's own `suspend` decides")
    managed_by: Pointer[str] = optional_field("controller, `kubernetes.io/job-controller` by default; it cannot change")
    selector: LabelSelector | None = optional_field("the pods by label; filled in by the control plane, not to be written")
    manual_selector: Pointer[bool] = optional_field("use `selector` as written; false by default, and best left so")
    template: PodTemplateSpec = Field(description="the pods; their `restartPolicy` is `OnFailure` (JobSet's default) or `Never`")


class JobTemplateSpec(Model):
    """A Job to make copies of."""

    metadata: EmbeddedMeta | None = optional_field(
        "labels and annotations of the Jobs; here, not on the pods, stands `trainer.kubeflow.org/trainjob-ancestor-step`"
    )
    spec: Annotated[JobSpec | None, Unset("zero")] = optional_field("how many pods run, how often they may fail, and what they are")
