"""The ports of containers, and what probes and hooks say of ports.

Follows `validateContainerPorts`, `checkHostPortConflicts`, `validatePodHostNetworkDeps` and `ValidatePortNumOrName`, k8s.io/kubernetes
pkg/apis/core/validation, and `IsValidPortName`, k8s.io/apimachinery pkg/util/validation, 1.36.
"""

from __future__ import annotations

from jobspec.validation.pods.complaints import duplicate, excluded, missing, unsupported, wrong_name
from jobspec.validation.problem import Problem

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from jobspec.diagnostics import Path

_PROTOCOLS = ("TCP", "UDP", "SCTP")
_LETTERS = frozenset("abcdefghijklmnopqrstuvwxyz")
_NAME = _LETTERS | frozenset("0123456789-")


def port_problems(container: dict[str, Any], path: Path) -> Iterator[Problem]:
    """The problems of a container's ports, apart from ports of the host that are taken twice."""
    names: set[str] = set()
    for index, port in enumerate(container.get("ports", ())):
        at = (*path, "ports", index)
        name = port.get("name")
        if name:
            if why := bad_port_name(name):
                yield wrong_name(name, "a port", why, (*at, "name"))
            elif name in names:
                yield duplicate(name, "a port", (*at, "name"))
            names.add(name)
        if not port.get("containerPort"):
            yield missing("containerPort", port, at)
        else:
            yield from number_problems(port["containerPort"], (*at, "containerPort"))
        if port.get("hostPort"):
            yield from number_problems(port["hostPort"], (*at, "hostPort"))
        protocol = port.get("protocol")
        if protocol and protocol not in _PROTOCOLS:
            yield unsupported(protocol, _PROTOCOLS, (*at, "protocol"))


def host_port_problems(containers: list[tuple[Path, dict[str, Any]]]) -> Iterator[Problem]:
    """The ports of the host that containers which run beside each other take twice; each container comes with its path."""
    taken: set[tuple[str, str, int]] = set()
    for path, container in containers:
        for index, port in enumerate(container.get("ports", ())):
            number = port.get("hostPort")
            if not number:
                continue
            key = (port.get("protocol") or "TCP", port.get("hostIP", ""), number)
            if key in taken:
                message = f"the port {number} of the host ({key[0]}) is taken already by another port of the pod"
                yield Problem("duplicate-item", (*path, "ports", index, "hostPort"), message, "choose another number, or remove one")
            taken.add(key)


def host_network_problems(spec: dict[str, Any], path: Path) -> Iterator[Problem]:
    """The ports of the host that are others than the container's, where both are on one network."""
    for index, container in enumerate(spec.get("containers", ()) if spec.get("hostNetwork") else ()):
        for number, port in enumerate(container.get("ports", ())):
            own, of_host = port.get("containerPort", 0), port.get("hostPort", 0)
            if of_host not in (0, own):
                message = f"on the network of the host a container's port is the host's port, and here {own} would be {of_host}"
                yield excluded((*path, "containers", index, "ports", number, "hostPort"), message)


def number_problems(number: int, path: Path) -> Iterator[Problem]:
    """The problem of a number that is no port."""
    if not 1 <= number <= 65535:
        yield Problem("out-of-range", path, f"a port is a number from 1 to 65535, and {number} is not")


def reference_problems(action: dict[str, Any], path: Path) -> Iterator[Problem]:
    """The problem of the `port` of an action, which is a number or the name of a port of the container."""
    port = action.get("port")
    if port is None:
        yield missing("port", action, path, "write the number of the port, or its name")
    elif isinstance(port, int):
        yield from number_problems(port, (*path, "port"))
    elif why := bad_port_name(port):
        hint = f"leave the quotes out: `{port}`" if port.isdecimal() else ""
        yield Problem("wrong-format", (*path, "port"), f'"{port}" is neither the number nor the name of a port: {why}', hint)


def bad_port_name(name: str) -> str:
    """Why a text cannot be the name of a port; empty if it can."""
    if len(name) > 15:
        return f"it has {len(name)} characters, more than 15"
    if not _NAME.issuperset(name) or _LETTERS.isdisjoint(name):
        return "it has to be of lower-case letters, digits and `-`, with at least one letter"
    if "--" in name or name[0] == "-" or name[-1] == "-":
        return "dashes cannot stand at its begin or end, nor two of them together"
    return ""
