"""Health check expressions of Flux, evaluated as Flux evaluates them.

Follows StatusEvaluator.Evaluate, fluxcd/pkg runtime/cel, 0.99.0: the object's top-level fields are the variables.
"""

from collections.abc import Mapping
from functools import cache
from typing import Any

from cel_expr_python import cel

_EXTENSIONS = "extensions:\n- name: optional\n- name: sets\n- name: strings\n"
_FIELDS = ("apiVersion", "kind", "metadata", "spec", "status")


def health(expressions: Mapping[str, str], resource: dict[str, Any]) -> str:
    """`InProgress`, `Failed` or `Current`, or the error of an expression: then Flux does not know."""
    for name in [each for each in ("inProgress", "failed", "current") if each in expressions]:
        found = value(expressions[name], resource)
        if found is not False:
            return name[0].upper() + name[1:] if found is True else str(found)
    return "InProgress"


def value(expression: str, resource: dict[str, Any]) -> object:
    """What an expression makes of an object; an error as its text."""
    found = _compiled(expression).eval(data=resource)
    return found.value()


@cache
def _compiled(expression: str) -> cel.Expression:
    config = cel.NewEnvConfigFromYaml(_EXTENSIONS)
    return cel.NewEnv(config=config, variables=dict.fromkeys(_FIELDS, cel.Type.DYN)).compile(expression)
