"""At which restart the real training-operator fails a job, compared with the rules by which `jobspec run` does.

It needs the server with operators (see CONTRIBUTING.md). No kubelet restarts anything there: the test writes what one would into the status
of the pods.
"""

import json
import time
from collections.abc import Iterator

import pytest

from jobspec.documents.reader import read
from jobspec.operators.expansion import expand
from jobspec.run.endings import restart_rules
from tests.support.server import PLURALS, PODS, WITH_OPERATORS, Server, server_at

NAMESPACE = "backoff-limits"
JOB = """\
apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata: {name: NAME}
spec:
  runPolicy: {backoffLimit: LIMIT}
  pytorchReplicaSpecs:
    Master: &role
      replicas: 1
      restartPolicy: POLICY
      template: {spec: {containers: [{name: pytorch, image: example.com/a}]}}
    Worker: *role
"""
#: A policy and a limit of each job, by its name.
JOBS = {f"{policy.lower()}-{limit}": (policy, limit) for policy in ("OnFailure", "Always", "Never") for limit in (0, 1, 2, 3)}
_MOST = 4


def _job(name: str) -> str:
    policy, limit = JOBS[name]
    return JOB.replace("NAME", name).replace("LIMIT", str(limit)).replace("POLICY", policy)


@pytest.fixture(params=WITH_OPERATORS, ids=["old", "newest"])
def server(request: pytest.FixtureRequest) -> Iterator[Server]:
    server = server_at(request.param)
    assert server.has_namespace(NAMESPACE)
    yield server
    server.call("DELETE", PLURALS["PyTorchJob"].format(NAMESPACE))
    server.call("DELETE", f"/api/v1/namespaces/{NAMESPACE}")
    server.close()


def _restart(server: Server, name: str, number: int) -> bool:
    """Tell in the status of a job's worker that it was restarted so often, as a kubelet does; whether the pod is there."""
    container = {"name": "pytorch", "image": "a", "imageID": "a", "ready": True, "started": True, "restartCount": number}
    status = {"phase": "Running", "containerStatuses": [{**container, "state": {"running": {"startedAt": "2026-01-01T00:00:00Z"}}}]}
    path = f"{PODS.format(NAMESPACE)}/{name}-worker-0/status"
    return server.patch(path, json.dumps({"status": status})).accepted


def _await_pods(server: Server) -> None:
    """Wait for the pods, and until a simulated node has them run, which writes their status once; without a node they wait for good."""
    until, seen = time.monotonic() + 60, 0.0
    while time.monotonic() < until and (not seen or time.monotonic() - seen < 10):
        pods = server.get(PODS.format(NAMESPACE))["items"]
        seen = seen or (time.monotonic() if len(pods) == 2 * len(JOBS) else 0.0)
        if seen and all(each["status"]["phase"] == "Running" for each in pods):
            return
        time.sleep(0.2)


def _failed(server: Server) -> set[str]:
    jobs = server.get(PLURALS["PyTorchJob"].format(NAMESPACE))["items"]
    return {each["metadata"]["name"] for each in jobs for said in each["status"].get("conditions", ()) if said["type"] == "Failed"}


def _settled(server: Server, *, seconds: float = 6) -> set[str]:
    """The jobs that have failed, once none has followed for some time."""
    found, since = _failed(server), time.monotonic()
    while time.monotonic() - since < seconds:
        time.sleep(0.5)
        if (now := _failed(server)) != found:
            found, since = now, time.monotonic()
    return found


@pytest.mark.slow
def test_the_operator_fails_a_job_at_the_restart_that_is_predicted(server: Server) -> None:
    for name in JOBS:
        answer = server.apply(f"{PLURALS['PyTorchJob'].format(NAMESPACE)}/{name}?fieldManager=tests", _job(name))
        assert answer.accepted, answer
    _await_pods(server)
    seen: dict[str, int] = {}
    for number in range(1, _MOST + 1):
        waiting = set(JOBS) - seen.keys()
        until = time.monotonic() + 60
        while waiting and time.monotonic() < until:
            waiting = {name for name in waiting if not _restart(server, name, number)}
            time.sleep(0.2)
        assert not waiting
        seen |= dict.fromkeys(_settled(server) - seen.keys(), number)
    assert seen == {name: at for name in JOBS if (at := _predicted(name, server))}


def _predicted(name: str, server: Server) -> int:
    """The restart at which the job fails; 0 where it does not count them."""
    (job,), _ = read(_job(name), file="job.yaml")
    objects = [each.data() for each in expand(job, [job], server.target).objects]
    rules = restart_rules(job, objects)
    return next((number for number in range(1, _MOST + 1) if rules.starts_again("worker", 1) and rules.too_many(number)), 0)
