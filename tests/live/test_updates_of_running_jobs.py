"""What real operators do with jobs that are updated while they run, compared with what `jobspec diff` says of it.

It needs the server with operators (see CONTRIBUTING.md): pods have to be made, and need not run.
"""

import json
import os
import shutil
import time
from collections.abc import Iterator
from typing import Any

import pytest

from jobspec.cluster import Cluster
from jobspec.documents.reader import read
from jobspec.gitops.diff.changes import changes
from jobspec.gitops.diff.fields import fields_of
from jobspec.gitops.diff.meaning import update
from tests.support.processes import program

CLUSTER = Cluster({"training-operator": "1.8.1", "trainer": "2.0.0"})
NAMESPACE = "updates-of-running-jobs"
PODS = "pods", "training.kubeflow.org/job-name"
SETS = "jobs.batch", "jobset.sigs.k8s.io/jobset-name"


def _role(name: str, image: str = "a", replicas: int = 1, more: str = "") -> str:
    pod = f"spec: {{containers: [{{name: pytorch, image: example.com/{image}}}]}}"
    return f"    {name}: {{replicas: {replicas}, {more}template: {{{pod}}}}}\n"


def _pytorchjob(*roles: str, spec: str = "") -> str:
    head = "apiVersion: kubeflow.org/v1\nkind: PyTorchJob\nmetadata: {name: NAME}\nspec:\n"
    return f"{head}{spec}  pytorchReplicaSpecs:\n{''.join(roles)}"


def _trainjob(spec: str) -> str:
    """A TrainJob whose pods find no node, since a simulated node would complete them at once."""
    common = "runtimeRef: {name: torch-distributed}, podSpecOverrides: [{targetJobs: [{name: node}], nodeSelector: {no: where}}]"
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


def _kubectl(*arguments: str, stdin: str = "") -> tuple[int, str]:
    done = program("kubectl", f"--namespace={NAMESPACE}", *arguments, stdin=stdin, env=os.environ | {"KUBECONFIG": _kubeconfig()})
    return done.returncode, done.stdout + done.stderr


def _kubeconfig() -> str:
    place = os.environ.get("JOBSPEC_TEST_OPERATORS_KUBECONFIG")
    if not place or not shutil.which("kubectl"):
        pytest.skip("JOBSPEC_TEST_OPERATORS_KUBECONFIG names no server with operators, or kubectl is not installed (see CONTRIBUTING.md)")
    return place


def _made(name: str) -> dict[str, Any]:
    """What the operator has made of a job: pods, or the Jobs of a TrainJob; by name, with what would change."""
    found = {}
    for kind, label in (PODS, SETS):
        _, text = _kubectl("get", kind, f"--selector={label}={name}", "--output=json")
        for each in json.loads(text)["items"]:
            meta, spec = each["metadata"], each["spec"]
            if "deletionTimestamp" not in meta:
                found[f"{kind}/{meta['name']}"] = (
                    meta["uid"],
                    json.dumps({key: spec.get(key) for key in ("suspend", "template", "containers")}),
                )
    return found


def _settled(names: list[str], *, seconds: float) -> dict[str, dict[str, Any]]:
    """What is made of jobs once nothing changes any more."""
    before: dict[str, dict[str, Any]] = {}
    quiet_since = time.monotonic()
    while time.monotonic() - quiet_since < seconds:
        found = {name: _made(name) for name in names}
        if found != before:
            before, quiet_since = found, time.monotonic()
        time.sleep(0.5)
    return before


def _await_change(names: list[str], before: dict[str, dict[str, Any]], *, seconds: float = 60) -> None:
    """Wait until there is something else of these jobs, which operators with much to do come to late; at most so long."""
    start = time.monotonic()
    while time.monotonic() - start < seconds and any(_made(name) == before[name] for name in names):
        time.sleep(0.5)


@pytest.fixture
def namespace() -> Iterator[str]:
    _kubectl("create", "namespace", NAMESPACE)
    yield NAMESPACE
    _kubectl("delete", "pytorchjobs,trainjobs", "--all", "--wait=false")
    _kubectl("delete", "namespace", NAMESPACE, "--wait=false")


@pytest.mark.slow
@pytest.mark.usefixtures("namespace")
def test_operators_do_with_updates_what_is_said() -> None:
    for name, (old, _) in UPDATES.items():
        code, said = _kubectl("apply", "--server-side", "--filename=-", stdin=old.replace("NAME", name))
        assert code == 0, said
    before = _settled(list(UPDATES), seconds=6)
    assert all(made or name == "resumed" for name, made in before.items()), before
    refused = {}
    for name, (_, new) in UPDATES.items():
        code, said = _kubectl("apply", "--server-side", "--filename=-", stdin=new.replace("NAME", name))
        refused[name] = said if code else ""
    expected = {name: _predicted(name) for name in UPDATES}
    _await_change([name for name, what in expected.items() if what == "in-place"], before)
    after = _settled(list(UPDATES), seconds=6)
    seen = {name: "refused" if refused[name] else "ignored" if before[name] == after[name] else "in-place" for name in UPDATES}
    assert seen == expected, refused


def _predicted(name: str) -> str:
    old, new = (read(text.replace("NAME", name), file="job.yaml")[0][0] for text in UPDATES[name])
    found = changes(fields_of(old, CLUSTER.target), fields_of(new, CLUSTER.target))
    return update(old, new, found, [new], CLUSTER).meaning
