"""When and where a pod is scheduled, apart from affinity."""

from pydantic import Field

from jobspec.models.base import AtomicList, Int32, Int64, Model, Pointer
from jobspec.models.meta import LabelSelector


class Toleration(Model):
    """Taints of nodes that do not keep the pod away."""

    key: str | None = Field(None, description="key of the taint, such as `nvidia.com/gpu`; left out with `Exists`, for every key")
    operator: str | None = Field(None, description="`Equal` (default) or `Exists`; behind a feature gate also `Lt` and `Gt`")
    value: str | None = Field(None, description="value of the taint; none with `Exists`")
    effect: str | None = Field(None, description="`NoSchedule`, `PreferNoSchedule` or `NoExecute`; left out, every effect")
    toleration_seconds: Pointer[Int64] = Field(None, description="seconds until a `NoExecute` taint evicts the pod; never by default")


class TopologySpreadConstraint(Model):
    """Spread the pods that match evenly over places."""

    max_skew: Int32 = Field(description="most by which the numbers of pods in two places may differ, at least 1")
    topology_key: str = Field(description="node label whose equal values make one place, such as `topology.kubernetes.io/zone`")
    when_unsatisfiable: str = Field(description="`DoNotSchedule` keeps the pod pending, `ScheduleAnyway` only prefers")
    label_selector: LabelSelector | None = Field(None, description="the pods that count, by label")
    match_label_keys: AtomicList[str] | None = Field(None, description="label keys whose values the pods share with this one")
    min_domains: Pointer[Int32] = Field(None, description="fewest places that have to exist, 1 by default; only with `DoNotSchedule`")
    node_affinity_policy: Pointer[str] = Field(
        None, description="`Honor` (default) counts only nodes that the pod may choose, `Ignore` all"
    )
    node_taints_policy: Pointer[str] = Field(
        None, description="`Ignore` (default) counts nodes with taints too, `Honor` only tolerated ones"
    )


class PodSchedulingGate(Model):
    """A reason to hold a new pod back; it is scheduled once all gates are removed."""

    name: str = Field(description="name of the gate")


class WorkloadReference(Model):
    """The Workload that the pod belongs to, and its group in it."""

    name: str = Field(description="name of the Workload, in the pod's own namespace")
    pod_group: str = Field(description="name of the group inside of the Workload")
    pod_group_replica_key: str | None = Field(
        None, description="which replica of the group the pod belongs to; the one there is by default"
    )


class PodSchedulingGroup(Model):
    """The group that the pod is scheduled with."""

    pod_group_name: Pointer[str] = Field(None, description="name of the PodGroup, in the pod's own namespace")
