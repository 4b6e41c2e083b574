"""IP addresses, networks (CIDR) and URLs in CEL.

Follows k8s.io/apiserver pkg/cel/library ip.go, cidr.go and urls.go, 1.36. Each value is a map with one string, which is the same for equal
values.
"""

from __future__ import annotations

import re
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_interface, ip_network
from typing import TYPE_CHECKING

from jobspec.validation import text_formats

if TYPE_CHECKING:
    from collections.abc import Callable

    Address = dict[str, str]

_BROADCAST = IPv4Address("255.255.255.255")
_LOCAL_MULTICAST = ip_network("224.0.0.0/24")


def ip(text: str) -> Address:
    """Parse an IP address. Raises ValueError for other texts, and for addresses with a zone or an embedded IPv4 address."""
    return {"ip": str(_parsed(text))}


def _parsed(text: str) -> IPv4Address | IPv6Address:
    address = ip_address(text)
    if "%" in text or (isinstance(address, IPv6Address) and address.ipv4_mapped):
        raise ValueError(f"{text} has a zone, or another address inside")
    return address


def is_canonical(text: str) -> bool:
    """Whether an address is written in its canonical form. Raises ValueError for a text that is no address."""
    return ip(text)["ip"] == text


def family(one: Address) -> int:
    """The IP version: 4 or 6."""
    return ip_address(one["ip"]).version


def is_unspecified(one: Address) -> bool:
    """Whether it is `0.0.0.0` or `::`."""
    return ip_address(one["ip"]).is_unspecified


def is_loopback(one: Address) -> bool:
    """Whether it is a loopback address."""
    return ip_address(one["ip"]).is_loopback


def is_link_local(one: Address) -> bool:
    """Whether it is a link-local unicast address."""
    return ip_address(one["ip"]).is_link_local


def is_link_local_multicast(one: Address) -> bool:
    """Whether it is a link-local multicast address."""
    address = ip_address(one["ip"])
    if isinstance(address, IPv4Address):
        return address in _LOCAL_MULTICAST
    return address.packed[0] == 0xFF and address.packed[1] & 0x0F == 0x02


def is_global_unicast(one: Address) -> bool:
    """Whether it is a global unicast address, as Go counts them: private addresses are."""
    address = ip_address(one["ip"])
    return not (address == _BROADCAST or address.is_unspecified or address.is_loopback or address.is_multicast or address.is_link_local)


def cidr(text: str) -> Address:
    """Parse a network such as `10.0.0.1/8`; its host bits are kept. Raises ValueError for other texts."""
    address, _, length = text.partition("/")
    _parsed(address)
    if not re.fullmatch("0|[1-9][0-9]*", length, re.ASCII):
        raise ValueError(f"{text} has no length of a prefix")
    return {"cidr": str(ip_interface(text))}


def contains_ip(network: Address, other: Address | str) -> bool:
    """Whether a network contains an address."""
    found = ip(other) if isinstance(other, str) else other
    return ip_address(found["ip"]) in ip_network(network["cidr"], strict=False)


def contains_cidr(network: Address, other: Address | str) -> bool:
    """Whether a network contains another network."""
    found = cidr(other) if isinstance(other, str) else other
    outer, inner = ip_network(network["cidr"], strict=False), ip_network(found["cidr"], strict=False)
    return outer.version == inner.version and inner.subnet_of(outer)  # type: ignore[arg-type]  # both are of one version


def address_of(one: Address) -> Address:
    """The address of a network, host bits included."""
    return {"ip": one["cidr"].partition("/")[0]}


def prefix_length(one: Address) -> int:
    """The prefix length of a network in bits."""
    return int(one["cidr"].partition("/")[2])


def masked(one: Address) -> Address:
    """A network with its host bits set to zero."""
    return {"cidr": str(ip_network(one["cidr"], strict=False))}


def text_of(one: Address) -> str:
    """The canonical text of an address or a network."""
    return one.get("ip") or one["cidr"]


def url(text: str) -> Address:
    """Parse a URL. Raises ValueError for other texts."""
    if not text_formats.is_uri(text):
        raise ValueError(f"{text} is no URL")
    return {"url": text}


def part(name: str) -> Callable[[Address], str]:
    """A function that gives one part of a URL: scheme, host, hostname, port or path."""

    def find(one: Address) -> str:
        from urllib.parse import urlsplit

        parts = urlsplit(one["url"])
        host = parts.netloc.rpartition("@")[2]
        hostname, _, port = host.rpartition(":") if re.search(r":[0-9]*$", host) and not host.endswith("]") else (host, "", "")
        return {"scheme": parts.scheme, "host": host, "hostname": hostname.strip("[]"), "port": port, "path": _escaped(parts.path)}[name]

    return find


def _escaped(path: str) -> str:
    from urllib.parse import quote, unquote_to_bytes

    if re.fullmatch(r"[A-Za-z0-9\-_.~!$&'()*+,;=:@\[\]%/]*", path):
        return path
    return quote(unquote_to_bytes(path), safe="/$&+,:;=@-_.~")


def query(one: Address) -> dict[str, list[str]]:
    """The query parameters of a URL, each with its values."""
    from urllib.parse import parse_qs, urlsplit

    return parse_qs(urlsplit(one["url"]).query, keep_blank_values=True)
