"""Evaluate CEL expressions with the CEL library, in an environment that has Kubernetes' functions."""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from functools import cache
from typing import TYPE_CHECKING

from cel_expr_python import cel
from google.protobuf.duration_pb2 import Duration
from google.protobuf.timestamp_pb2 import Timestamp

from jobspec.validation.cel.adapting import adapted
from jobspec.validation.cel.checking import CheckedExpression, CompileError
from jobspec.validation.cel.functions import FUNCTIONS, RUNTIME_TYPES
from jobspec.validation.cel.signatures import DYN
from jobspec.validation.cel.syntax import EXTENSIONS, parse

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

#: The library's types by their names in signatures; the last are Kubernetes' own.
_TYPES = {
    **{kind: getattr(cel.Type, kind.upper()) for kind in RUNTIME_TYPES},
    "dyn": cel.Type.DYN,
    "strings": cel.Type.List(cel.Type.STRING),
    **dict.fromkeys(("Quantity", "URL", "IP", "CIDR", "Semver", "NamedFormat"), cel.Type.MAP),
}


def _returning(implementation: Callable[..., Any]) -> Callable[..., Any]:
    """A function whose durations and times are protobuf messages, as the library expects them back, also inside lists and maps."""
    return lambda *arguments: _as_returned(implementation(*arguments))


def _as_returned(value: Any) -> Any:
    if isinstance(value, list):
        return [_as_returned(each) for each in value]
    if isinstance(value, dict):
        return {key: _as_returned(each) for key, each in value.items()}
    if isinstance(value, timedelta):
        made = Duration()
        made.FromTimedelta(value)
        return made
    if isinstance(value, datetime):
        moment = Timestamp()
        moment.FromDatetime(value)
        return moment
    return value


def _declared() -> list[cel.FunctionDecl]:
    """The declarations of Kubernetes' functions: their overloads by name."""
    made: dict[str, dict[str, cel.Overload]] = {}
    for signature, implementation in FUNCTIONS:
        name, parameters, overload = _overload(signature, implementation)
        made.setdefault(name, {}).setdefault(parameters, overload)
    return [cel.FunctionDecl(name, list(overloads.values())) for name, overloads in made.items()]


def _overload(signature: str, implementation: Callable[..., Any]) -> tuple[str, str, cel.Overload]:
    """The name of a function, its parameters as the library tells overloads apart, and the overload."""
    call, _, result = signature.rpartition(" ")
    found = re.fullmatch(r"(.+?)\((.*)\)", call)
    assert found
    receiver, _, name = found[1].rpartition(".")
    is_member = receiver in _TYPES
    takes = [_TYPES[each] for each in ([receiver] if is_member else []) + (found[2].split(", ") if found[2] else [])]
    overload = cel.Overload(call, _TYPES[result], takes, is_member, _returning(implementation))
    return name if is_member else found[1], ", ".join(each.name() for each in takes), overload


@cache
def environment() -> cel.Env:
    """The environment in which expressions are evaluated, without types: `self` and `oldSelf` may be anything."""
    variables = {"self": cel.Type.DYN, "oldSelf": cel.Type.DYN}
    config = cel.NewEnvConfigFromYaml(f"{EXTENSIONS}- name: bindings\n")
    return cel.NewEnv(config=config, variables=variables, functions=_declared())


class Program:
    """A CEL expression, ready to be evaluated."""

    def __init__(self, text: str) -> None:
        """Raises RuntimeError, with the reason, for an expression that cannot be compiled."""
        tree = parse(text, environment())
        try:
            checked = CheckedExpression(tree, {"self": DYN, "oldSelf": DYN}, {}, lenient=True)
        except CompileError as error:
            raise RuntimeError(f"{tree.position(error.at)}: {error}") from None
        self._expression = environment().deserialize(adapted(tree, checked))

    def run(self, variables: dict[str, Any]) -> Any:
        """The value of the expression for *variables*. Raises ValueError with the library's message where the evaluation fails."""
        try:
            answer = self._expression.eval(data=variables)
            value = answer.value() if answer.type() == cel.Type.ERROR else answer.plain_value()
        except (RuntimeError, TypeError) as error:  # the library cannot evaluate it, or convert its value to Python
            raise ValueError(str(error)) from None
        if answer.type() == cel.Type.ERROR:
            raise ValueError(str(value))
        return value
