"""How a pod resolves host names."""

from typing import Annotated

from pydantic import Field

from jobspec.models.base import Model, PodList, Pointer, Required, Since


class HostAlias(Model):
    """A line of the pod's `/etc/hosts`."""

    ip: Annotated[str | None, Since("kubernetes", "0.31", Required())] = Field(None, description="the IP address")
    hostnames: PodList[str] | None = Field(None, description="host names of the address")


class PodDNSConfigOption(Model):
    """An option of the resolver."""

    name: str | None = Field(None, description="name of the option, such as `ndots`; needed")
    value: Pointer[str] = Field(None, description="its value, where it takes one")


class PodDNSConfig(Model):
    """Settings of `/etc/resolv.conf`, added to those of `dnsPolicy`."""

    nameservers: PodList[str] | None = Field(None, description="addresses of name servers, at most 3; needed with policy `None`")
    searches: PodList[str] | None = Field(None, description="domains to try for short names, at most 32")
    options: PodList[PodDNSConfigOption] | None = Field(None, description="options of the resolver")
