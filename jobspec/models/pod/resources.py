"""What containers and pods may consume."""

from typing import Annotated

from pydantic import Field

from jobspec.models.base import Keyed, Model, Pointer, Quantity, Since, Until


class ResourceClaim(Model):
    """A use of one of the pod's `resourceClaims`."""

    name: str = Field(description="name of the entry in the pod's `resourceClaims`")
    request: Annotated[str | None, Since("kubernetes", "0.31")] = Field(
        None, description="one request of the claim; without it, everything that the claim got"
    )


class ResourceRequirements(Model):
    """What is reserved for a container, and what it may use at most."""

    limits: dict[str, Quantity] | None = Field(None, description="most it may use, by resource: `cpu`, `memory`, `nvidia.com/gpu`")
    requests: dict[str, Quantity] | None = Field(None, description="what the scheduler reserves, by resource; the limit by default")
    claims: Annotated[list[ResourceClaim] | None, Keyed("name")] = Field(None, description="devices by dynamic resource allocation")


class ContainerResizePolicy(Model):
    """What a change of one resource means to the running container."""

    resource_name: str = Field(description="the resource: `cpu` or `memory`")
    restart_policy: str = Field(description="`NotRequired` to resize in place, or `RestartContainer`")


class ClaimSource(Model):
    """Where the ResourceClaim of a pod comes from; one of the two."""

    resource_claim_name: Pointer[str] = Field(None, description="an existing ResourceClaim in the pod's namespace")
    resource_claim_template_name: Pointer[str] = Field(None, description="a template, from which the pod gets a claim of its own")


class PodResourceClaim(Model):
    """A ResourceClaim that has to be allocated before the pod starts; one of the two sources."""

    name: str = Field(description="name by which containers refer to it")
    source: Annotated[
        ClaimSource | None, Until("kubernetes", "0.31", use="`resourceClaimName` or `resourceClaimTemplateName` right beside `name`")
    ] = Field(None, description="where the claim comes from; needed")
    resource_claim_name: Annotated[Pointer[str], Since("kubernetes", "0.31")] = Field(
        None, description="an existing ResourceClaim in the pod's namespace"
    )
    resource_claim_template_name: Annotated[Pointer[str], Since("kubernetes", "0.31")] = Field(
        None, description="a template, from which the pod gets a claim of its own"
    )
