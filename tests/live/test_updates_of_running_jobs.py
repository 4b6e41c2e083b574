"""What real operators do with jobs that are updated while they run, compared with what `jobspec diff` says of it.

It needs the server with operators (see CONTRIBUTING.md): pods have to be made, and need not run.
"""

import json
import time
from collections.abc import Iterator
from typing import Any

import pytest

from jobspec.documents.reader import read
from jobspec.operators.trainer.runtimes import has_runtime_patches
from jobspec.project.effects import update
from jobspec.project.fields import changes, fields_of
from jobspec.world.world import Cluster
from tests.support.server import PLURALS, PODS, WITH_OPERATORS, WORKLOADS, Server, server_at

NAMESPACE = "updates-of-running-jobs"
#: Where the objects are that operators make of jobs, and the label with the name of the job.
MADE = {PODS: "training.kubeflow.org/job-name", WORKLOADS["Job"]: "jobset.sigs.k8s.io/jobset-name"}

_OVERRIDES = "podSpecOverrides: [{targetJobs: [{name: node}], nodeSelector: {no: where}}]"
_POD = "{name: node, template: {spec: {template: {spec: {nodeSelector: {no: where}}}}}}"
_PATCHES = f"runtimePatches: [{{manager: example.com/a, trainingRuntimeSpec: {{template: {{spec: {{replicatedJobs: [{_POD}]}}}}}}}}]"

#: Of each job, by its name: what the operator has made of it, with what would change.
Made = dict[str, dict[str, Any]]


def _role(name: str, image: str = "a", replicas: int = 1, more: str = "") -> str:
    pod = f"spec: {{containers: [{{name: pytorch, image: example.com/{image}}}]}}"
    return f"    {name}: {{replicas: {replicas}, {more}template: {{{pod}}}}}\n"


def _pytorchjob(*roles: str, spec: str = "") -> str:
    head = "apiVersion: kubeflow.org/v1\nkind: PyTorchJob\nmetadata: {name: NAME}\nspec:\n"
    return f"{head}{spec}  pytorchReplicaSpecs:\n{''.join(roles)}"


def _trainjob(spec: str) -> str:
    """A TrainJob whose pods find no node, since a simulated node would complete them at once."""
    common = "runtimeRef: {name: torch-distributed}, OVERRIDES"
    return f"apiVersion: trainer.kubeflow.org/v1alpha1\nkind: TrainJob\nmetadata: {{name: NAME}}\nspec: {{{common}, {spec}}}\n"


SUSPENDED, RESUMED = (f"  runPolicy: {{suspend: {each}}}\n" for each in ("true", "false"))

#: Name -> a job, and the same one updated.
UPDATES = {
    "image": (_pytorchjob(_role("Master")), _pytorchjob(_role("Master", "b"))),
    "process": (_pytorchjob(_role("Master")), _pytorchjob(_role("Master"), spec='  nprocPerNode: "2"\n')),
    "restart": (_pytorchjob(_role("Master")), _pytorchjob(_role("Master", more="restartPolicy: Never, "))),
    "more-workers": (_pytorchjob(_role("Worker", replicas=1)), _pytorchjob(_role("Worker", replicas=3))),
    "fewer-workers": (_pytorchjob(_role("Worker", replicas=3)), _pytorchjob(_role("Worker", replicas=1))),
    "role-added": (_pytorchjob(_role("Master")), _pytorchjob(_role("Master"), _role("Worker"))),
    "role-gone": (_pytorchjob(_role("Master"), _role("Worker")), _pytorchjob(_role("Master"))),
    "suspended": (_pytorchjob(_role("Master")), _pytorchjob(_role("Master"), spec=SUSPENDED)),
    "resumed": (_pytorchjob(_role("Master"), spec=SUSPENDED), _pytorchjob(_role("Master", "b"), spec=RESUMED)),
    "queue": tuple(_pytorchjob(_role("Master"), spec=f"  runPolicy: {{schedulingPolicy: {{queue: {each}}}}}\n") for each in "ab"),
    "trainer": (_trainjob("trainer: {image: example.com/a}"), _trainjob("trainer: {image: example.com/b, numNodes: 2}")),
    "runtime": (_trainjob("trainer: {}"), _trainjob("trainer: {}").replace("torch-distributed", "mpi-distributed")),
    "train-suspended": (_trainjob("trainer: {}"), _trainjob("trainer: {}, suspend: true")),
}


def _said(text: str, name: str, server: Server) -> str:
    """A job under its name, in the words of the server's trainer."""
    words = _PATCHES if has_runtime_patches(server.target["trainer"]) else _OVERRIDES
    return text.replace("NAME", name).replace("OVERRIDES", words)


def _apply(server: Server, name: str, text: str) -> str:
    """Apply a job; gives the server's message where it is refused."""
    place = PLURALS["PyTorchJob" if "kind: PyTorchJob" in text else "TrainJob"].format(NAMESPACE)
    answer = server.apply(f"{place}/{name}?fieldManager=tests", _said(text, name, server))
    return "" if answer.accepted else answer.message


def _made(server: Server) -> Made:
    found: Made = {name: {} for name in UPDATES}
    for place, label in MADE.items():
        for each in server.get(place.format(NAMESPACE))["items"]:
            meta, spec = each["metadata"], each["spec"]
            if label in meta.get("labels", {}) and "deletionTimestamp" not in meta:
                what = json.dumps({key: spec.get(key) for key in ("suspend", "template", "containers")})
                found[meta["labels"][label]][f"{place}/{meta['name']}"] = meta["uid"], what
    return found


def _settled(server: Server, *, seconds: float) -> Made:
    """What is made of jobs once nothing changes any more."""
    before: Made = {}
    quiet_since = time.monotonic()
    while time.monotonic() - quiet_since < seconds:
        found = _made(server)
        if found != before:
            before, quiet_since = found, time.monotonic()
        time.sleep(0.5)
    return before


def _await_change(server: Server, names: list[str], before: Made, *, seconds: float = 180) -> None:
    """Wait until there is something else of these jobs, which operators with much to do come to late; at most so long."""
    start = time.monotonic()
    while time.monotonic() - start < seconds and any(_made(server)[name] == before[name] for name in names):
        time.sleep(0.5)


@pytest.fixture(params=WITH_OPERATORS, ids=["old", "newest"])
def server(request: pytest.FixtureRequest) -> Iterator[Server]:
    server = server_at(request.param)
    assert server.has_namespace(NAMESPACE)
    yield server
    for kind in ("PyTorchJob", "TrainJob"):
        server.call("DELETE", PLURALS[kind].format(NAMESPACE))
    server.call("DELETE", f"/api/v1/namespaces/{NAMESPACE}")
    server.close()


@pytest.mark.slow
def test_operators_do_with_updates_what_is_said(server: Server) -> None:
    assert [said for name, (old, _) in UPDATES.items() if (said := _apply(server, name, old))] == []
    before = _settled(server, seconds=6)
    assert all(made or name == "resumed" for name, made in before.items()), before
    refused = {name: _apply(server, name, new) for name, (_, new) in UPDATES.items()}
    expected = {name: _predicted(name, server) for name in UPDATES}
    _await_change(server, [name for name, what in expected.items() if what == "in-place"], before)
    after = _settled(server, seconds=6)
    seen = {name: "refused" if refused[name] else "ignored" if before[name] == after[name] else "in-place" for name in UPDATES}
    assert seen == expected, refused


def _predicted(name: str, server: Server) -> str:
    cluster = Cluster(server.target)
    old, new = (read(_said(text, name, server), file="job.yaml")[0][0] for text in UPDATES[name])
    found = changes(fields_of(old, cluster.target), fields_of(new, cluster.target))
    return update(old, new, found, [new], cluster).meaning
