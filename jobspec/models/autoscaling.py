"""Metrics of a HorizontalPodAutoscaler (`autoscaling/v2`)."""

from pydantic import Field

from jobspec.models.base import Int32, Model, Pointer, Quantity
from jobspec.models.meta import LabelSelector


class CrossVersionObjectReference(Model):
    """An object in the same namespace."""

    api_version: str | None = Field(None, description="API version of the object")
    kind: str = Field(description="kind of the object")
    name: str = Field(description="name of the object")


class MetricIdentifier(Model):
    """A metric by name."""

    name: str = Field(description="name of the metric")
    selector: LabelSelector | None = Field(None, description="further choice by the metric's labels")


class MetricTarget(Model):
    """The number to keep a metric at."""

    type: str = Field(description="which of the others is meant: `Utilization`, `Value` or `AverageValue`")
    average_utilization: Pointer[Int32] = Field(None, description="mean over the pods, in percent of what they requested")
    average_value: Quantity | None = Field(None, description="mean over the pods, as a quantity")
    value: Quantity | None = Field(None, description="the metric itself, as a quantity")


class ResourceMetricSource(Model):
    """CPU or memory that the pods use."""

    name: str = Field(description="the resource, such as `cpu`")
    target: MetricTarget = Field(description="the number to keep it at")


class ContainerResourceMetricSource(Model):
    """CPU or memory that one container of each pod uses."""

    container: str = Field(description="name of the container")
    name: str = Field(description="the resource, such as `cpu`")
    target: MetricTarget = Field(description="the number to keep it at")


class PodsMetricSource(Model):
    """A metric that each pod has; the mean counts."""

    metric: MetricIdentifier = Field(description="the metric")
    target: MetricTarget = Field(description="the number to keep it at, an `AverageValue`")


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
    resource: ResourceMetricSource | None = Field(None, description="CPU or memory of the pods")
    container_resource: ContainerResourceMetricSource | None = Field(None, description="CPU or memory of one container of each pod")
    pods: PodsMetricSource | None = Field(None, description="a metric that each pod has")
    object: ObjectMetricSource | None = Field(None, description="a metric of one other object")
    external: ExternalMetricSource | None = Field(None, description="a metric from outside of the cluster")
