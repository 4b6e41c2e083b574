"""IP addresses and ranges of them.

Follows `IsValidIPForLegacyField` and `IsValidCIDRForLegacyField`, k8s.io/apimachinery pkg/util/validation, 0.36, with strict validation,
and `ValidateEndpointIP`, k8s.io/kubernetes pkg/apis/core/validation, 1.36.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ipaddress import IPv4Address, IPv6Address

    Address = IPv4Address | IPv6Address


def address(text: str) -> Address | None:
    """The address that a text is; None for other texts, for one with a zone, and for one of IPv4 written as IPv6."""
    from ipaddress import ip_address

    try:
        found = ip_address(text)
    except ValueError:
        return None
    return None if "%" in text or getattr(found, "ipv4_mapped", None) is not None else found


def family_of(found: Address) -> str:
    """The family of an address as a Service names it."""
    return f"IPv{found.version}"


def bad_range(text: str) -> str:
    """Why a text is no range of addresses; empty if it is one."""
    from ipaddress import ip_network

    place, slash, bits = text.partition("/")
    found = address(place)
    if found is None or not slash or not bits.isascii() or not bits.isdecimal() or (bits[0] == "0" and len(bits) > 1):
        return "it is not of the form `10.9.8.0/24` or `2001:db8::/64`"
    if int(bits) > found.max_prefixlen:
        return f"a prefix has at most {found.max_prefixlen} bits"
    network = ip_network(text, strict=False)
    return "" if network.network_address == found else f"it has bits behind its prefix; write `{network}`"


def bad_external(found: Address) -> str:
    """Why traffic from outside cannot come to an address; empty if it can."""
    if found.is_unspecified:
        return "it is no address of anything"
    if found.is_loopback:
        return "it is this machine's own, on any machine"
    if found.is_link_local:
        return "it is of one link alone (169.254.0.0/16, fe80::/10)"
    is_multicast = found.packed[:3] == b"\xe0\x00\x00" if found.version == 4 else found.packed[0] == 0xFF and found.packed[1] & 15 == 2
    return "it is a multicast address of one link (224.0.0.0/24, ff02::/10)" if is_multicast else ""
