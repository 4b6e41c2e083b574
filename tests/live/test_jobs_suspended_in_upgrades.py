"""What becomes of TrainJobs that an older trainer suspended, compared with what `jobspec upgrade` says of them.

It needs the servers with operators (see CONTRIBUTING.md). The JobSet that an older trainer made is made as that one would.
"""

import json
import time

import pytest

from jobspec.apis.releases import choose
from jobspec.documents.reader import read
from jobspec.migrate.upgrade import JudgedJob, UpgradeState, changes
from jobspec.operators.expansion import expand
from jobspec.world.world import Cluster
from tests.hunt.updates import namespace
from tests.support.server import PLURALS, WITH_OPERATORS, Server, server_at

_JOB = """\
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata: {name: NAME}
spec: {suspend: false, runtimeRef: {name: torch-distributed}, trainer: {image: example.com/a, command: [torchrun, a.py]PROCESSES}}
"""
#: Name of a job -> its number of processes; without one, trainers set different variables for torchrun from 2.1 on.
_PROCESSES = {"same": ", numProcPerNode: 1", "other": ""}


@pytest.mark.parametrize("variable", WITH_OPERATORS, ids=["old", "newest"])
def test_what_an_older_trainer_suspended_starts_unless_it_has_to_be_recreated(variable: str) -> None:
    server = server_at(variable)
    with namespace(server) as place:
        for name, processes in _PROCESSES.items():
            text = _JOB.replace("NAME", name).replace("PROCESSES", processes)
            assert _start(server, place, name, text) == _predicted(name, text, server), name
    server.close()


def _predicted(name: str, text: str, server: Server) -> str:
    (job,) = read(text, file="job.yaml")[0]
    clusters = [Cluster(choose(["trainer=2.0.0"])), Cluster(server.target)]
    before, after = (UpgradeState(each, [], {name: JudgedJob(name, job, [], each.target)}) for each in clusters)
    found = changes(before, after, lambda jobs, work: list(map(work, jobs)))
    return "never starts" if any(each.rule == "recreated-first" for each in found) else "starts"


def _start(server: Server, place: str, name: str, text: str, *, seconds: float = 90) -> str:
    """Whether the trainer resumes a job with the JobSet of an older one, or says that it cannot."""
    (job,) = read(text, file="job.yaml")[0]
    made = next(each.data() for each in expand(job, [], choose(["trainer=2.0.0"])).objects if each.value["kind"].value == "JobSet")
    made = {**made, "metadata": {"name": name}, "spec": {**made["spec"], "suspend": True}}
    jobset = f"{PLURALS['JobSet'].format(place)}/{name}"
    for path, data in ((jobset, made), (f"{PLURALS['TrainJob'].format(place)}/{name}", job.data)):
        answer = server.apply(f"{path}?fieldManager=trainer&force=true", json.dumps(data))
        assert answer.accepted, answer.message
    events = f"/api/v1/namespaces/{place}/events?fieldSelector=involvedObject.kind%3DTrainJob,involvedObject.name%3D{name}"
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if server.get(jobset)["spec"].get("suspend") is not True:
            return "starts"
        if any(each["type"] == "Warning" for each in server.get(events)["items"]):
            return "never starts"
        time.sleep(0.5)
    return "nothing happens"
