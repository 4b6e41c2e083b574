"""The probes that KubeRay adds to the container in which Ray runs, where it has none.

Follows `initLivenessAndReadinessProbe`, github.com/ray-project/kuberay ray-operator/controllers/ray/common, 1.4.2 to 1.7.0.
"""

from __future__ import annotations

from jobspec.apis.releases import is_at_least
from jobspec.documents.marked_tree import MarkedTree, set_by, text, with_fields
from jobspec.go.values import integer
from jobspec.operators.kuberay import HEAD, PORTS, WORKER
from jobspec.operators.kuberay.cluster import RayCluster, container_port
from jobspec.operators.kuberay.start import AGENT_PORT, is_ray_at_least

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

_ASK = "wget --tries 1 -T {seconds} -q -O- http://localhost:{port}/{path} | grep success"
_ANSWERS_HTTP = (2, 53, 0)
"""The release of Ray from which one address answers for all of a node."""


def with_probes(container: MarkedTree, cluster: RayCluster, node_type: str, parameters: Mapping[str, str]) -> MarkedTree:
    """A container of Ray, started with *parameters*, with the probes that it lacks."""
    seconds = 5 if node_type == HEAD else 2
    parameters = parameters if is_at_least(cluster.release, "1.6.0") else {}
    check, serving = _check(cluster, node_type, parameters), cluster.maker == "RayService" and node_type == WORKER
    live = {**_times(30, seconds, failures=120), **check}
    ready = {**_times(10, seconds, failures=1 if serving else 10), **check}
    if serving:
        port = container_port(container, "serve")
        asked = [*_commands(node_type, parameters), _ASK.format(seconds=10, port=port, path="-/healthz")]
        ready = {**_times(10, seconds, failures=1), **_execute(asked)}
    probes = {"livenessProbe": live, "readinessProbe": ready}
    missing = {name: set_by(cluster.mark, each) for name, each in probes.items() if container.get(name) is None}
    return with_fields(container, missing)


def _check(cluster: RayCluster, node_type: str, parameters: Mapping[str, str]) -> dict[str, Any]:
    """How a node is asked whether it works."""
    if is_at_least(cluster.release, "1.6.0") and is_ray_at_least(text(cluster.spec, "rayVersion"), _ANSWERS_HTTP):
        return {"httpGet": {"path": "/api/healthz", "port": _agent_port(parameters)}}
    return _execute(_commands(node_type, parameters))


def _commands(node_type: str, parameters: Mapping[str, str]) -> list[str]:
    agent = _ASK.format(seconds=2, port=_agent_port(parameters), path="api/local_raylet_healthz")
    dashboard = _port(parameters, "dashboard-port", PORTS["dashboard"])
    return [agent, *([_ASK.format(seconds=10, port=dashboard, path="api/gcs_healthz")] if node_type == HEAD else [])]


def _execute(commands: list[str]) -> dict[str, Any]:
    return {"exec": {"command": ["bash", "-c", " && ".join(commands)]}}


def _times(delay: int, seconds: int, *, failures: int) -> dict[str, int]:
    return {
        "initialDelaySeconds": delay,
        "timeoutSeconds": seconds,
        "periodSeconds": 5,
        "successThreshold": 1,
        "failureThreshold": failures,
    }


def _agent_port(parameters: Mapping[str, str]) -> int:
    return _port(parameters, "dashboard-agent-listen-port", AGENT_PORT)


def _port(parameters: Mapping[str, str], name: str, default: int) -> int:
    """The port that a parameter names; *default* where it names no number."""
    found = integer(parameters.get(name, ""), 32)
    return default if found is None else found
