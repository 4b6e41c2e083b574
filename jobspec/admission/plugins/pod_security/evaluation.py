"""Hold a pod against the Pod Security levels of its namespace: refused by `enforce`, warned of by `warn`.

Follows `Admission.EvaluatePod` and `NewEvaluator`, k8s.io/pod-security-admission admission and policy, 0.36.3.
"""

from __future__ import annotations

from jobspec.admission.plugins.pod_security.levels import LATEST, levels_of
from jobspec.validation.problem import Problem
from jobspec.validation.reading import mapping

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from jobspec.admission.plugins.pod_security.breach import Breach
    from jobspec.admission.plugins.pod_security.levels import Level
    from jobspec.diagnostics import Path

    Data = dict[str, Any]


def pod_security_problems(pod: Data, namespace: str, labels: Mapping[str, Any]) -> tuple[list[Problem], list[Problem]]:
    """Why a namespace with these labels refuses a pod; and what the server warns of, where it refuses nothing."""
    levels = levels_of(labels)
    refusals = [_problem(each, levels.enforce, f"the namespace `{namespace}` enforces") for _, each in breaches(pod, levels.enforce)]
    if refusals:
        return refusals, []
    return [], [_problem(each, levels.warn, f"the namespace `{namespace}` warns by") for _, each in breaches(pod, levels.warn)]


def template_warnings(template: Data, path: Path, namespace: str, labels: Mapping[str, Any]) -> list[Problem]:
    """What the server warns of where a workload has this pod template at *path*: it refuses only the pods, which come later."""
    level = levels_of(labels).warn
    found = [_problem(each, level, f"the namespace `{namespace}` warns by") for _, each in breaches(template, level)]
    return [Problem(each.rule, (*path, *each.path), each.message, each.hint) for each in found]


def _problem(breach: Breach, level: Level, says: str) -> Problem:
    version = "" if level.minor == LATEST else f" of v1.{level.minor}"
    return Problem("pod-security", breach.path, f"{says} Pod Security `{level.name}`{version}, which {breach.why}", breach.hint)


def breaches(pod: Data, level: Level) -> list[tuple[str, Breach]]:
    """What a pod breaks of a level, each with the name by which the server reports the check."""
    if level.name == "privileged":
        return []
    from jobspec.admission.plugins.pod_security import baseline, restricted

    strict = [check for check in restricted.CHECKS if check.at(level.minor)] if level.name == "restricted" else []
    replaced = {check.replaces for check in strict}
    checks = [*(check for check in baseline.CHECKS if check.name not in replaced), *strict]
    metadata, spec = mapping(pod, "metadata"), mapping(pod, "spec")
    found = []
    for check in checks:
        find = check.at(level.minor)
        found += [(check.reason, each) for each in find(metadata, spec)] if find else []
    return found
