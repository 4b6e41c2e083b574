"""A price list, by which `jobspec diff` tells what a job may cost."""

from typing import Annotated, ClassVar, Literal

from annotated_types import Ge, MinLen
from pydantic import Field

from jobspec.models.base import Model, Resource
from jobspec.models.meta import ObjectMeta

Price = Annotated[float, Ge(0)]


class PodPrice(Model):
    """The price of whole pods, by where they run."""

    node_selector: Annotated[dict[str, str], MinLen(1)] = Field(description="holds for pods whose node selector has all of these labels")
    per_hour: Price = Field(description="price of one pod for an hour")


class PricesSpec(Model):
    """Prices for an hour; a pod that no entry of `pods` is for costs what its resources do."""

    currency: Annotated[str, MinLen(1)] = Field(description="currency of all prices, such as EUR")
    pods: list[PodPrice] | None = Field(None, description="prices of whole pods; the first that holds counts")
    resources: dict[str, Price] | None = Field(
        None,
        description="price of one unit for an hour, by resource: a GPU, a CPU, a GiB of `memory`; all but GPUs can be left out",
    )


class Prices(Model):
    """What pods cost, for `jobspec diff --prices`."""

    api_version: Literal["jobspec.dev/v1alpha1"] = Field("jobspec.dev/v1alpha1", description="group and version of the kind")
    kind: Literal["Prices"] = Field("Prices", description="the kind")
    metadata: ObjectMeta | None = Field(None, description="of no use to jobspec")
    spec: PricesSpec = Field(description="the prices")

    RESOURCE: ClassVar[Resource] = Resource(group="jobspec.dev", version="v1alpha1", kind="Prices", plural="prices", component="jobspec")
