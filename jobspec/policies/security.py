"""Privileges that training does not need, and secrets in manifests."""

from __future__ import annotations

from jobspec.lint.security import SECRET_ENDINGS, SECRETS, SHORTEST, TOKEN_FORMS
from jobspec.policies.cel import in_containers, literal, sentences
from jobspec.policies.rule import PolicyRule
from jobspec.policies.storage import SERVES_NO_NODE
from jobspec.policies.templates import EVERY

_VALUE = "variable.value"
_NAME = "variable.name.upperAscii()"
_IS_SECRET = f"({_NAME} in {literal(SECRETS)} || {literal(SECRET_ENDINGS)}.exists(ending, {_NAME}.endsWith(ending)))"
_IS_REAL = f"{_VALUE}.size() >= {SHORTEST} && !{_VALUE}.matches('^[<${{`]') && !{_VALUE}.lowerAscii().matches('^(your|xxx|change|replace)')"
_IS_TOKEN = f"{_VALUE}.matches({literal(f'^(?:{TOKEN_FORMS})$')})"


POLICIES = (
    PolicyRule(
        "privileged-container",
        in_containers("container.isPrivileged", "container.name", where=SERVES_NO_NODE),
        EVERY,
    ),
    PolicyRule(
        "host-namespaces",
        sentences(f"!({SERVES_NO_NODE}) ? '' :\n    (pod.hostIPC ? 'hostIPC' : '') + (pod.hostPID ? ' hostPID' : '')"),
        EVERY,
    ),
    PolicyRule(
        "secret-in-manifest",
        sentences(
            f"pod.containers.map(container, container.env.filter(variable,\n"
            f"      ({_IS_SECRET} && {_IS_REAL}) ||\n      {_IS_TOKEN})\n"
            "    .map(variable, container.name + ': ' + variable.name).join(', ')).filter(text, text != '').join(', ')"
        ),
        EVERY,
        differs=["it looks at values in `env`; lint finds those of ConfigMaps, and tokens and set variables in command lines, too"],
    ),
)
