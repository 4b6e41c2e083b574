"""When containers start again: their own restart policies, rules by exit code, and resizes that restart.

Follows `validateContainerRestartPolicy` and `validateResizePolicy`, k8s.io/kubernetes pkg/apis/core/validation, 1.36.
"""

from __future__ import annotations

from jobspec.validation.pods.basics import POLICIES
from jobspec.validation.pods.complaints import missing, unsupported, wrong_size
from jobspec.validation.problem import Problem

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from jobspec.diagnostics import Path

_ACTIONS = ("Restart", "RestartAllContainers")
_OPERATORS = ("In", "NotIn")
_RESIZABLE = ("cpu", "memory")
_RESIZES = ("NotRequired", "RestartContainer")
_MOST_RULES = 20
_MOST_CODES = 255


def restart_problems(container: dict[str, Any], path: Path) -> Iterator[Problem]:
    """The problems of a container's restart policy, and of its rules."""
    policy, rules = container.get("restartPolicy"), container.get("restartPolicyRules", ())
    if policy is None and rules:
        yield missing("restartPolicy", container, path, "it says what happens where no rule holds")
    elif policy is not None and policy not in POLICIES:
        yield unsupported(policy, POLICIES, (*path, "restartPolicy"))
    if len(rules) > _MOST_RULES:
        yield _too_many(len(rules), _MOST_RULES, "rule", (*path, "restartPolicyRules"))
    for index, rule in enumerate(rules):
        yield from _rule(rule, (*path, "restartPolicyRules", index))


def init_restart_problems(container: dict[str, Any], path: Path) -> Iterator[Problem]:
    """The problems of an init container's restart policy; without a policy, the server does not look at its rules."""
    if "restartPolicy" in container:
        yield from restart_problems(container, path)
    elif container.get("restartPolicyRules"):
        yield missing("restartPolicy", container, path, "it says what happens where no rule holds")


def _rule(rule: dict[str, Any], path: Path) -> Iterator[Problem]:
    action, codes = rule.get("action"), rule.get("exitCodes")
    if not action:
        yield missing("action", rule, path)
    elif action not in _ACTIONS:
        yield unsupported(action, _ACTIONS, (*path, "action"))
    if codes is None:
        yield missing("exitCodes", rule, path)
        return
    operator, values = codes.get("operator"), codes.get("values", ())
    if not operator:
        yield missing("operator", codes, (*path, "exitCodes"))
    elif operator not in _OPERATORS:
        yield unsupported(operator, _OPERATORS, (*path, "exitCodes", "operator"))
    if len(values) > _MOST_CODES:
        yield _too_many(len(values), _MOST_CODES, "value", (*path, "exitCodes", "values"))


def _too_many(count: int, most: int, what: str, path: Path) -> Problem:
    return wrong_size(count, what, "most", most, path)


def resize_problems(container: dict[str, Any], path: Path, of_pod: str) -> Iterator[Problem]:
    """The problems of a container's `resizePolicy` in a pod with the restart policy *of_pod*."""
    seen: set[str] = set()
    for index, each in enumerate(container.get("resizePolicy", ())):
        at, resource, policy = (*path, "resizePolicy", index), each.get("resourceName", ""), each.get("restartPolicy", "")
        if resource in seen:
            yield Problem("duplicate-item", at, f"the resource `{resource}` has a policy already", "remove one of the two")
        seen.add(resource)
        if not resource:
            yield missing("resourceName", each, at, "it is `cpu` or `memory`")
        elif resource not in _RESIZABLE:
            yield unsupported(resource, _RESIZABLE, (*at, "resourceName"))
        if not policy:
            yield missing("restartPolicy", each, at, "it is `NotRequired` or `RestartContainer`")
        elif policy not in _RESIZES:
            yield unsupported(policy, _RESIZES, (*at, "restartPolicy"))
        elif of_pod == "Never" and policy != "NotRequired":
            message = "nothing of a pod with `restartPolicy: Never` is restarted, so a resize cannot do it either"
            yield Problem("conflicting-values", (*at, "restartPolicy"), message, "write `NotRequired`")


def init_resize_problems(container: dict[str, Any], path: Path) -> Iterator[Problem]:
    """The resizes that would restart an init container, which runs once."""
    for index, each in enumerate(container.get("resizePolicy", ())):
        if each.get("restartPolicy") == "RestartContainer":
            message = "an init container runs once, so a resize cannot restart it"
            yield Problem("conflicting-values", (*path, "resizePolicy", index, "restartPolicy"), message, "write `NotRequired`")
