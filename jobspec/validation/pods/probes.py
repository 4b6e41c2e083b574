"""The probes of containers, and the hooks of their lives.

Follows `validateProbe` and its callers, `validateLifecycle` and `validateHandler`, k8s.io/kubernetes pkg/apis/core/validation, and
`IsHTTPHeaderName`, k8s.io/apimachinery pkg/util/validation, 1.36.
"""

from __future__ import annotations

from jobspec.validation.pods.complaints import excluded, missing, negative, unsupported, wrong_name
from jobspec.validation.pods.defaults import PROBES
from jobspec.validation.pods.ports import number_problems, reference_problems
from jobspec.validation.problem import Problem

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from jobspec.diagnostics import Path

_OF_PROBES = ("exec", "httpGet", "tcpSocket", "grpc")
_OF_HOOKS = ("exec", "httpGet", "tcpSocket", "sleep")
_SCHEMES = ("HTTP", "HTTPS")
_NUMBERS = ("initialDelaySeconds", "timeoutSeconds", "periodSeconds", "successThreshold", "failureThreshold")
_HEADER = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-")


def running_problems(container: dict[str, Any], path: Path, grace_period: int) -> Iterator[Problem]:
    """The problems of the probes and hooks of a container that runs beside others; its pod has *grace_period* seconds to end."""
    hooks = container.get("lifecycle", {})
    for name in ("postStart", "preStop"):
        if name in hooks:
            yield from _action(hooks[name], _OF_HOOKS, (*path, "lifecycle", name), grace_period)
    for name in PROBES:
        if name in container:
            yield from _probe(name, container[name], (*path, name), grace_period)


def _probe(name: str, probe: dict[str, Any], path: Path, grace_period: int) -> Iterator[Problem]:
    yield from _action(probe, _OF_PROBES, path, grace_period)
    for field in _NUMBERS:
        yield from negative(probe.get(field, 0), (*path, field))
    seconds, successes = probe.get("terminationGracePeriodSeconds"), probe.get("successThreshold", 0)
    if seconds is not None and name == "readinessProbe":
        message = "a readiness probe ends no container, so it has no time to end"
        yield excluded((*path, "terminationGracePeriodSeconds"), message)
    elif seconds is not None and seconds <= 0:
        message = f"`terminationGracePeriodSeconds` of a probe is at least 1, not {seconds}"
        yield Problem("out-of-range", (*path, "terminationGracePeriodSeconds"), message)
    if name != "readinessProbe" and successes > 1:
        message = f"the `successThreshold` of a {name.removesuffix('Probe')} probe is 1, not {successes}"
        yield Problem("out-of-range", (*path, "successThreshold"), message, "leave it out")


def _action(around: dict[str, Any], known: tuple[str, ...], path: Path, grace_period: int) -> Iterator[Problem]:
    """The problems of the one action that a probe or hook takes; the server looks at the first, and refuses further ones."""
    given = [name for name in known if name in around]
    if not given:
        choices = ", ".join(f"`{name}`" for name in known)
        yield Problem("missing-field", path, f"`{path[-1]}` names nothing to do: it takes one of {choices}", at_key=True)
        return
    yield from _one(given[0], around[given[0]], (*path, given[0]), grace_period)
    for name in given[1:]:
        yield excluded((*path, name), f"`{path[-1]}` does one thing, and has `{given[0]}` already", "remove one of the two")


def _one(name: str, action: dict[str, Any], path: Path, grace_period: int) -> Iterator[Problem]:
    if name == "exec" and not action.get("command"):
        yield missing("command", action, path)
    elif name == "httpGet":
        yield from _request(action, path)
    elif name == "tcpSocket":
        yield from reference_problems(action, path)
    elif name == "grpc":
        yield from number_problems(action["port"], (*path, "port")) if "port" in action else (missing("port", action, path),)
    elif name == "sleep" and not 0 <= action.get("seconds", 0) <= grace_period:
        message = f"a hook sleeps no longer than the pod has to end, {grace_period} seconds, and not for {action.get('seconds', 0)}"
        yield Problem("out-of-range", (*path, "seconds"), message, "raise `terminationGracePeriodSeconds` of the pod")


def _request(action: dict[str, Any], path: Path) -> Iterator[Problem]:
    yield from reference_problems(action, path)
    scheme = action.get("scheme")
    if scheme and scheme not in _SCHEMES:
        yield unsupported(scheme, _SCHEMES, (*path, "scheme"))
    for index, header in enumerate(action.get("httpHeaders", ())):
        name, at = header.get("name", ""), (*path, "httpHeaders", index)
        if not name:
            yield missing("name", header, at)
        elif not _HEADER.issuperset(name):
            yield wrong_name(name, "a header", "it has to be of letters, digits and `-`", (*at, "name"))
