"""The server's Go rules for a NetworkPolicy.

Follows `ValidateNetworkPolicySpec` and `ValidateNetworkPolicyUpdate`, k8s.io/kubernetes pkg/apis/networking/validation, 1.30 to
1.37.
"""

from __future__ import annotations

from jobspec.diagnostics.places import Data, Path
from jobspec.diagnostics.problems import Problem, Problems
from jobspec.go.formats import sloppy_address
from jobspec.kubernetes.label_selectors import selector_problems
from jobspec.kubernetes.pods.containers import PROTOCOLS, bad_port_name, number_problems
from jobspec.kubernetes.problems import (
    at_most,
    excluded,
    field_items,
    missing,
    named,
    one_of,
)
from jobspec.kubernetes.workloads.services import bad_range

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Container, Iterator
    from ipaddress import IPv4Network, IPv6Network

    Network = IPv4Network | IPv6Network


_TYPES = ("Ingress", "Egress")
_SELECTORS = ("podSelector", "namespaceSelector")
#: The two directions, each with the field that holds its peers.
_DIRECTIONS = (("ingress", "from"), ("egress", "to"))


def networkpolicy_problems(policy: Data, old: Data | None, release: str) -> Problems:
    """Yield the problems of the rules; ranges that *old* has already are not checked."""
    spec = policy.get("spec", {})
    known = set(_ranges((old or {}).get("spec", {})))
    yield from selector_problems(spec.get("podSelector"), ("spec", "podSelector"))
    for direction, peers in _DIRECTIONS:
        for path, rule in field_items(spec, direction, ("spec",)):
            for at, port in field_items(rule, "ports", path):
                yield from _port(port, at)
            for at, peer in field_items(rule, peers, path):
                yield from _peer(peer, at, known, release)
    count = len(spec.get("policyTypes", ()))
    yield from at_most(len(_TYPES), count, "item", ("spec", "policyTypes"))
    for at, each in field_items(spec, "policyTypes", ("spec",)) if count <= len(_TYPES) else ():
        yield from one_of(each, _TYPES, at)


def _ranges(spec: Data) -> Iterator[str]:
    for direction, peers in _DIRECTIONS:
        for rule in spec.get(direction, ()):
            for peer in rule.get(peers, ()):
                block = peer.get("ipBlock", {})
                yield from (block.get("cidr", ""), *block.get("except", ()))


def _port(made: Data, path: Path) -> Problems:
    port, end = made.get("port"), made.get("endPort")
    yield from one_of(made.get("protocol", "TCP"), PROTOCOLS, (*path, "protocol"))
    if isinstance(port, int):
        yield from number_problems(port, (*path, "port"))
        if end is not None and end < port:
            yield Problem("conflicting-values", (*path, "endPort"), f"`endPort` ({end}) is below `port` ({port})")
        elif end is not None:
            yield from number_problems(end, (*path, "endPort"))
        return
    if end is not None:
        what = "`port` is missing" if port is None else f"`port` is the name `{port}`"
        yield excluded((*path, "endPort"), f"`endPort` ends a range of numbers, and {what}", "write a number as `port`")
    if port is not None:
        yield from named(port, "a port", bad_port_name, (*path, "port"))


def _peer(peer: Data, path: Path, known: Container[str], release: str) -> Problems:
    for field in _SELECTORS:
        yield from selector_problems(peer.get(field), (*path, field))
    block = peer.get("ipBlock")
    if block is not None:
        yield from _block(block, (*path, "ipBlock"), known, release)
    selectors = [field for field in _SELECTORS if field in peer]
    if block is None and not selectors:
        message = "the peer is empty; it has a `podSelector`, a `namespaceSelector`, both, or an `ipBlock`"
        yield Problem("missing-field", path, message, "`podSelector: {}` is every pod of the namespace")
    elif block is not None and selectors:
        yield excluded(path, f"`ipBlock` excludes `{selectors[0]}`", "write two peers", at_key=True)


def _block(block: Data, path: Path, known: Container[str], release: str) -> Problems:
    whole = block.get("cidr", "")
    if not whole:
        yield missing("cidr", block, path, "write it as `10.0.0.0/8`")
        return
    if whole not in known and (why := bad_range(whole, release)):
        yield Problem("wrong-format", (*path, "cidr"), f"`{whole}` is not a range of addresses: {why}")
    around = _network(whole)
    for at, inner in field_items(block, "except", path) if around else ():
        if inner not in known and (why := bad_range(inner, release)):
            yield Problem("wrong-format", at, f"`{inner}` is not a range of addresses: {why}")
        elif (found := _network(inner)) and around and not (found.network_address in around and found.prefixlen > around.prefixlen):
            yield Problem("conflicting-values", at, f"`{inner}` is not a part of `{whole}`, the range that it is excluded from")


def _network(text: str) -> Network | None:
    """The network of a CIDR text, also with leading zeros or host bits; None for other texts."""
    from ipaddress import ip_network

    place, _, bits = text.partition("/")
    found = sloppy_address(place)
    is_range = found and bits.isascii() and bits.isdecimal() and int(bits) <= found.max_prefixlen
    return ip_network(f"{found}/{int(bits)}", strict=False) if is_range else None
