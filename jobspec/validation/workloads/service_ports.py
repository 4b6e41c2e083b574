"""The ports of a Service.

Follows `validateServicePort` and `validateService`, k8s.io/kubernetes pkg/apis/core/validation, with the defaults of pkg/apis/core/v1,
and `initNodePorts` and `allocHealthCheckNodePort`, pkg/registry/core/service/storage, 1.36. Which node ports a cluster has, and which of
them are free, only the cluster knows.
"""

from __future__ import annotations

from jobspec.validation.metadata import bad_label_name, bad_qualified_name
from jobspec.validation.pods.complaints import missing, unsupported
from jobspec.validation.pods.ports import bad_port_name, number_problems
from jobspec.validation.problem import Problem
from jobspec.validation.reading import is_given, number, structs, text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from jobspec.diagnostics import Path

    Port = dict[str, Any]

_AT: Path = ("spec", "ports")
_PROTOCOLS = ("TCP", "UDP", "SCTP")
_MOST = 65535
_ON_NODES = ("NodePort", "LoadBalancer")


def service_ports(spec: dict[str, Any], kind: str, *, is_new: bool) -> Iterator[Problem]:
    """The problems of the ports of a Service of a *kind*."""
    ports = structs(spec, "ports")
    names: set[str] = set()
    for index, port in enumerate(ports):
        path = (*_AT, index)
        yield from _name(port, path, names, required=len(ports) > 1)
        names.add(text(port, "name"))
        yield from number_problems(number(port, "port") or 0, (*path, "port"))
        if (protocol := _protocol(port)) not in _PROTOCOLS:
            yield unsupported(protocol, _PROTOCOLS, (*path, "protocol"))
        yield from _target(port, (*path, "targetPort"))
        name = text(port, "appProtocol")
        if is_given(port, "appProtocol") and (why := bad_qualified_name(name)):
            yield Problem("wrong-format", (*path, "appProtocol"), f'"{name}" is no name of a protocol: {why}')
    yield from _duplicates(ports)
    yield from _node_ports(ports, kind, is_new=is_new)


def _name(port: Port, path: Path, names: set[str], *, required: bool) -> Iterator[Problem]:
    name = text(port, "name")
    if not name and required:
        yield missing("name", port, path, "of several ports, each has a name")
    elif name and (why := bad_label_name(name)):
        yield Problem("invalid-name", (*path, "name"), f"`{name}` is no name for a port: {why}")
    if name and name in names:
        yield Problem("duplicate-item", (*path, "name"), f"another port has the name `{name}`, too")


def _target(port: Port, path: Path) -> Iterator[Problem]:
    target = port.get("targetPort")
    if isinstance(target, str) and target:
        if why := bad_port_name(target):
            hint = f"leave the quotes out: `{target}`" if target.isascii() and target.isdecimal() else ""
            yield Problem("invalid-name", path, f"`{target}` is no name for a port: {why}", hint)
    elif isinstance(target, int) and target:
        yield from number_problems(target, path)


def _duplicates(ports: list[Port]) -> Iterator[Problem]:
    seen: set[tuple[str, int]] = set()
    for index, port in enumerate(ports):
        same = _protocol(port), number(port, "port") or 0
        if same in seen:
            yield Problem("duplicate-item", (*_AT, index), f"another port has the number {same[1]} and the protocol {same[0]}, too")
        seen.add(same)


def _node_ports(ports: list[Port], kind: str, *, is_new: bool) -> Iterator[Problem]:
    is_allocated = kind in _ON_NODES and is_new
    yield from _allocated(ports) if is_allocated else ()
    seen: set[tuple[str, int]] = set()
    for index, port in enumerate(ports):
        path, wanted = (*_AT, index, "nodePort"), number(port, "nodePort") or 0
        if wanted and kind == "ClusterIP":
            message = "only Services of type `NodePort` and `LoadBalancer` have node ports"
            yield Problem("conflicting-values", path, message, "remove it, or set the Service's `type`", at_key=True)
        elif wanted and not is_allocated and (_protocol(port), wanted) in seen:
            yield Problem("duplicate-item", path, f"another port has the node port {wanted}, too")
        seen.add((_protocol(port), wanted))


def _allocated(ports: list[Port]) -> Iterator[Problem]:
    """The problems of node ports that are asked for twice; those of one number, of several protocols, share one."""
    taken: set[int] = set()
    shared: dict[int, int] = {}
    for index, port in enumerate(ports):
        own, wanted = number(port, "port") or 0, number(port, "nodePort") or 0
        first = next(
            (number(each, "nodePort") or 0 for each in ports if (number(each, "port") or 0) == own and number(each, "nodePort")), 0
        )
        asked = wanted if own in shared and wanted != shared[own] else 0 if own in shared else first
        if asked and asked in taken:
            yield Problem("duplicate-item", (*_AT, index, "nodePort"), f"another port has the node port {asked}, too")
        if wanted and not 1 <= wanted <= _MOST:
            message = f"a node port is a number from 1 to {_MOST:,}, and of most clusters from 30,000 to 32,767; {wanted:,} is none"
            yield Problem("out-of-range", (*_AT, index, "nodePort"), message, "leave it out; the server chooses one that is free")
        taken.add(asked)
        if first:
            shared.setdefault(own, first)


def _protocol(port: Port) -> str:
    return text(port, "protocol") or "TCP"
