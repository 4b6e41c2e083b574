"""On which nodes and beside which pods a pod may, or preferably should, run."""

from typing import Annotated

from pydantic import Field

from jobspec.models.base import AtomicList, Int32, MapType, Model, PodList, Since
from jobspec.models.meta import LabelSelector


class NodeSelectorRequirement(Model):
    """A condition on one label or field of a node."""

    key: str = Field(description="key of the label, or the field `metadata.name`")
    operator: str = Field(description="`In`, `NotIn`, `Exists`, `DoesNotExist`, `Gt` or `Lt`")
    values: PodList[str] | None = Field(None, description="values to compare with: one integer for `Gt` and `Lt`, none for `Exists`")


class NodeSelectorTerm(Model):
    """Conditions on a node that hold together; without any, no node fits."""

    FACTS = (MapType("atomic"),)

    match_expressions: PodList[NodeSelectorRequirement] | None = Field(None, description="conditions on labels")
    match_fields: PodList[NodeSelectorRequirement] | None = Field(None, description="conditions on fields: `metadata.name` alone")


class NodeSelector(Model):
    """Nodes that fit at least one of several terms."""

    FACTS = (MapType("atomic"),)

    node_selector_terms: PodList[NodeSelectorTerm] = Field(description="the terms, of which one has to fit")


class PreferredSchedulingTerm(Model):
    """A liking for some nodes."""

    weight: Int32 = Field(description="weight of the liking, from 1 to 100")
    preference: NodeSelectorTerm = Field(description="the nodes that are liked")


class NodeAffinity(Model):
    """Nodes that a pod requires and likes."""

    required_during_scheduling_ignored_during_execution: NodeSelector | None = Field(None, description="the only nodes allowed")
    preferred_during_scheduling_ignored_during_execution: PodList[PreferredSchedulingTerm] | None = Field(
        None, description="likings; the node with the greatest sum of weights wins"
    )


class PodAffinityTerm(Model):
    """A selection of pods, and the topology in which they count as near."""

    topology_key: str = Field(description="node label whose equal values make one place, such as `kubernetes.io/hostname`")
    label_selector: LabelSelector | None = Field(None, description="the pods by label; left out, no pods")
    match_label_keys: Annotated[AtomicList[str] | None, Since("kubernetes", "0.29")] = Field(
        None, description="label keys whose values the pods share with this one"
    )
    mismatch_label_keys: Annotated[AtomicList[str] | None, Since("kubernetes", "0.29")] = Field(
        None, description="label keys whose values differ between the pods and this one"
    )
    namespaces: PodList[str] | None = Field(None, description="namespaces to look in, by name; this pod's own by default")
    namespace_selector: LabelSelector | None = Field(None, description="namespaces to look in by label; the empty selector takes all")


class WeightedPodAffinityTerm(Model):
    """A preference for, or against, places near a selection of pods."""

    weight: Int32 = Field(description="weight of the liking, from 1 to 100")
    pod_affinity_term: PodAffinityTerm = Field(description="the pods and the place")


class PodAffinity(Model):
    """Pods to be near to."""

    required_during_scheduling_ignored_during_execution: PodList[PodAffinityTerm] | None = Field(
        None, description="only places where all terms find a pod"
    )
    preferred_during_scheduling_ignored_during_execution: PodList[WeightedPodAffinityTerm] | None = Field(
        None, description="likings; the node with the greatest sum of weights wins"
    )


class PodAntiAffinity(Model):
    """Pods to be far from."""

    required_during_scheduling_ignored_during_execution: PodList[PodAffinityTerm] | None = Field(
        None, description="only places where no term finds a pod"
    )
    preferred_during_scheduling_ignored_during_execution: PodList[WeightedPodAffinityTerm] | None = Field(
        None, description="aversions; the node with the smallest sum of weights wins"
    )


class Affinity(Model):
    """Rules for the choice of a node, beyond `nodeSelector`; they do not move running pods."""

    node_affinity: NodeAffinity | None = Field(None, description="by the nodes' own labels")
    pod_affinity: PodAffinity | None = Field(None, description="near to other pods")
    pod_anti_affinity: PodAntiAffinity | None = Field(None, description="away from other pods")
