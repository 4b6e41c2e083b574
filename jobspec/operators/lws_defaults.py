"""The defaults that LeaderWorkerSet's webhook fills into a LeaderWorkerSet, on plain data.

They stand below the room of LeaderWorkerSet because what all webhooks share asks whether an object has them.

Follows `LeaderWorkerSetWebhook.Default`, sigs.k8s.io/lws pkg/webhooks, 0.7.0 to 0.10.0.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from jobspec.diagnostics.places import Data


RECREATE_GROUP, NO_GROUP_RESTART = "RecreateGroupOnPodRestart", "None"
"""Restart policies of a group: all of its pods, or the one pod that ended."""
_OLD_NO_GROUP_RESTART = "Default"
ROLLING_UPDATE, SHARED = "RollingUpdate", "Shared"
ROLLING = {"maxUnavailable": 1, "maxSurge": 0, "partition": 0}
"""The numbers of a rolling update that says none."""


def with_lws_defaults(spec: Data) -> Data:
    """Return the spec of a LeaderWorkerSet with the webhook's defaults.

    If it has them all, the result is equal. A value of a wrong type stays.
    """
    defaults = {"leaderWorkerTemplate": _template, "rolloutStrategy": _strategy, "networkConfig": _network}
    values = {field: {} if spec.get(field) is None else spec[field] for field in defaults}
    return {
        **spec,
        **{field: fill(values[field]) if isinstance(values[field], dict) else values[field] for field, fill in defaults.items()},
    }


def _template(template: Data) -> Data:
    policy = _or_default(template.get("restartPolicy"), RECREATE_GROUP)
    return {**template, "restartPolicy": NO_GROUP_RESTART if policy == _OLD_NO_GROUP_RESTART else policy}


def _strategy(strategy: Data) -> Data:
    kind = _or_default(strategy.get("type"), ROLLING_UPDATE)
    needs_numbers = kind == ROLLING_UPDATE and strategy.get("rollingUpdateConfiguration") is None
    return {**strategy, "type": kind, **({"rollingUpdateConfiguration": ROLLING} if needs_numbers else {})}


def _network(network: Data) -> Data:
    policy = network.get("subdomainPolicy")
    return {**network, "subdomainPolicy": SHARED if policy is None else policy}


def _or_default(value: Any, default: str) -> Any:
    """Return a value, or the default if it is absent, null or empty text.

    A value of a wrong type stays.
    """
    return default if value is None or value == "" else value


def as_lws_webhook_writes(spec: Data) -> Data:
    """The spec of a LeaderWorkerSet as the webhook writes it: with its defaults, and with the specs of all pod templates."""
    made = with_lws_defaults(spec)
    template = made["leaderWorkerTemplate"]
    if not isinstance(template, dict):
        return made
    pods = {role: {"spec": {}, **each} for role in ("leaderTemplate", "workerTemplate") if isinstance(each := template.get(role), dict)}
    return {**made, "leaderWorkerTemplate": {**template, **pods}}
