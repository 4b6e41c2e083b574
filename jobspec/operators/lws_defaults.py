"""The defaults that LeaderWorkerSet's webhook fills into a LeaderWorkerSet, on plain data.

They stand below the room of LeaderWorkerSet because what all webhooks share asks whether an object has them.

Follows `LeaderWorkerSetWebhook.Default`, sigs.k8s.io/lws pkg/webhooks, 0.7.0 to 0.9.0.
"""

from __future__ import annotations

from jobspec.go.values import mapping

TYPE_CHECKING = False
if TYPE_CHECKING:
    from jobspec.diagnostics.places import Data


RECREATE_GROUP, NO_GROUP_RESTART = "RecreateGroupOnPodRestart", "None"
"""Restart policies of a group: all of its pods, or the one pod that ended."""
_OLD_NAMES = {"": RECREATE_GROUP, "Default": NO_GROUP_RESTART}
ROLLING_UPDATE, SHARED = "RollingUpdate", "Shared"
ROLLING = {"maxUnavailable": 1, "maxSurge": 0, "partition": 0}
"""The numbers of a rolling update that says none."""


def with_lws_defaults(spec: Data) -> Data:
    """The spec of a LeaderWorkerSet with the webhook's defaults; an equal one if it has them all."""
    template, strategy, network = (mapping(spec, field) for field in ("leaderWorkerTemplate", "rolloutStrategy", "networkConfig"))
    policy = template.get("restartPolicy") or ""
    kind = strategy.get("type") or ROLLING_UPDATE
    rolling = strategy.get("rollingUpdateConfiguration")
    numbers = {"rollingUpdateConfiguration": ROLLING} if kind == ROLLING_UPDATE and rolling is None else {}
    subdomain = network.get("subdomainPolicy")
    return {
        **spec,
        "leaderWorkerTemplate": {**template, "restartPolicy": _OLD_NAMES.get(policy, policy)},
        "rolloutStrategy": {**strategy, "type": kind, **numbers},
        "networkConfig": {**network, "subdomainPolicy": SHARED if subdomain is None else subdomain},
    }


def as_lws_webhook_writes(spec: Data) -> Data:
    """The spec of a LeaderWorkerSet as the webhook writes it: with its defaults, and with the specs of all pod templates."""
    made = with_lws_defaults(spec)
    template = made["leaderWorkerTemplate"]
    pods = {role: {"spec": {}, **each} for role in ("leaderTemplate", "workerTemplate") if isinstance(each := template.get(role), dict)}
    return {**made, "leaderWorkerTemplate": {**template, **pods}}
