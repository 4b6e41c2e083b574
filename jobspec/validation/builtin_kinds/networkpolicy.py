"""What the server's Go code says of a NetworkPolicy.

Follows `ValidateNetworkPolicySpec` and `ValidateNetworkPolicyUpdate`, k8s.io/kubernetes pkg/apis/networking/validation, 1.36.
"""

from __future__ import annotations

from jobspec.validation.complaints import missing_by_code, unsupported_choice
from jobspec.validation.label_selector import selector_problems
from jobspec.validation.pods.ports import bad_port_name, number_problems
from jobspec.validation.problem import Problem
from jobspec.validation.workloads.addresses import bad_range

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Container, Iterator
    from ipaddress import IPv4Network, IPv6Network
    from typing import Any

    from jobspec.diagnostics import Path

    Network = IPv4Network | IPv6Network

_PROTOCOLS = ("TCP", "UDP", "SCTP")
_TYPES = ("Ingress", "Egress")
_SELECTORS = ("podSelector", "namespaceSelector")
#: The two directions, each with the field that holds its peers.
_DIRECTIONS = (("ingress", "from"), ("egress", "to"))


def problems(policy: dict[str, Any], old: dict[str, Any] | None) -> Iterator[Problem]:
    """The problems of the rules; ranges that *old* has are taken as they are."""
    spec = policy.get("spec", {})
    known = set(_ranges((old or {}).get("spec", {})))
    yield from selector_problems(spec.get("podSelector"), ("spec", "podSelector"))
    for direction, peers in _DIRECTIONS:
        for index, rule in enumerate(spec.get(direction, ())):
            path: Path = ("spec", direction, index)
            for number, port in enumerate(rule.get("ports", ())):
                yield from _port(port, (*path, "ports", number))
            for number, peer in enumerate(rule.get(peers, ())):
                yield from _peer(peer, (*path, peers, number), known)
    yield from _types(spec.get("policyTypes", []))


def _ranges(spec: dict[str, Any]) -> Iterator[str]:
    for direction, peers in _DIRECTIONS:
        for rule in spec.get(direction, ()):
            for peer in rule.get(peers, ()):
                block = peer.get("ipBlock", {})
                yield from (block.get("cidr", ""), *block.get("except", ()))


def _types(types: list[str]) -> Iterator[Problem]:
    if len(types) > len(_TYPES):
        yield Problem("wrong-size", ("spec", "policyTypes"), f"`policyTypes` takes at most 2 items, and has {len(types)}")
        return
    for index, each in enumerate(types):
        if each not in _TYPES:
            yield unsupported_choice(each, _TYPES, ("spec", "policyTypes", index))


def _port(made: dict[str, Any], path: Path) -> Iterator[Problem]:
    protocol, port, end = made.get("protocol"), made.get("port"), made.get("endPort")
    if protocol is not None and protocol not in _PROTOCOLS:
        yield unsupported_choice(protocol, _PROTOCOLS, (*path, "protocol"))
    if isinstance(port, int):
        yield from number_problems(port, (*path, "port"))
        if end is not None and end < port:
            yield Problem("conflicting-values", (*path, "endPort"), f"`endPort` ({end}) is below `port` ({port})")
        elif end is not None:
            yield from number_problems(end, (*path, "endPort"))
        return
    if end is not None:
        what = "`port` is missing" if port is None else f"`port` is the name `{port}`"
        yield Problem(
            "conflicting-values", (*path, "endPort"), f"`endPort` ends a range of numbers, and {what}", "write a number as `port`"
        )
    if port is not None and (why := bad_port_name(port)):
        yield Problem("invalid-name", (*path, "port"), f"`{port}` is no name for a port: {why}")


def _peer(peer: dict[str, Any], path: Path, known: Container[str]) -> Iterator[Problem]:
    for field in _SELECTORS:
        yield from selector_problems(peer.get(field), (*path, field))
    block = peer.get("ipBlock")
    if block is not None:
        yield from _block(block, (*path, "ipBlock"), known)
    selectors = [field for field in _SELECTORS if field in peer]
    if block is None and not selectors:
        message = "the peer is empty; it has a `podSelector`, a `namespaceSelector`, both, or an `ipBlock`"
        yield Problem("missing-field", path, message, "`podSelector: {}` is every pod of the namespace")
    elif block is not None and selectors:
        yield Problem("conflicting-values", path, f"`ipBlock` excludes `{selectors[0]}`", "write two peers", at_key=True)


def _block(block: dict[str, Any], path: Path, known: Container[str]) -> Iterator[Problem]:
    whole = block.get("cidr", "")
    if not whole:
        yield missing_by_code("cidr", block, path, "write it as `10.0.0.0/8`")
        return
    if whole not in known and (why := bad_range(whole)):
        yield Problem("wrong-format", (*path, "cidr"), f"`{whole}` is no range of addresses: {why}")
    around = _network(whole)
    for index, inner in enumerate(block.get("except", ())) if around else ():
        at = (*path, "except", index)
        if inner not in known and (why := bad_range(inner)):
            yield Problem("wrong-format", at, f"`{inner}` is no range of addresses: {why}")
        elif (found := _network(inner)) and around and not _is_inside(found, around):
            yield Problem("conflicting-values", at, f"`{inner}` is no part of `{whole}`, which it is to be left out of")


def _network(text: str) -> Network | None:
    """The range that a text means, even where it has zeros in front or bits behind its prefix; None for other texts."""
    from ipaddress import ip_network

    place, _, bits = text.partition("/")
    if ":" not in place:
        place = ".".join(each.lstrip("0") or "0" for each in place.split("."))
    try:
        return ip_network(f"{place}/{int(bits)}", strict=False) if bits.isascii() and bits.isdecimal() and "%" not in place else None
    except ValueError:
        return None


def _is_inside(inner: Network, outer: Network) -> bool:
    return inner.version == outer.version and inner.network_address in outer and inner.prefixlen > outer.prefixlen
