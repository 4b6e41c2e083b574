"""Flux's real controllers sync what is rendered as it stands, and say of jobs what became of them.

Real operators make the pods of jobs, and a simulated node runs them: those of a TrainJob end by themselves, those of a PyTorchJob when a
test ends them. Flux takes a timeout of less than 30 seconds for 30.
"""

import os
import time
from collections.abc import Iterator, Mapping
from itertools import count
from pathlib import Path

import pytest

from tests.support.flux import VARIABLE, Synced, served
from tests.support.processes import run_here
from tests.support.server import kubeconfig

_BASE = """\
apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata: {name: mnist}
spec:
  pytorchReplicaSpecs:
    Master:
      replicas: 1
      restartPolicy: Never
      template:
        spec:
          containers:
            - name: pytorch
              image: example.com/train:v1
              command: [python, train.py]
              volumeMounts: [{name: data, mountPath: /data}]
          volumes: [{name: data, emptyDir: {}}]
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: pending}
spec: {storageClassName: nowhere, accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
"""
_TRAINJOB = """\
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata: {name: mnist}
spec:
  runtimeRef: {kind: TrainingRuntime, name: ours}
  trainer: {command: [python, train.py], resourcesPerNode: {limits: {cpu: 1, memory: 1024Mi}}}
---
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainingRuntime
metadata: {name: ours}
spec:
  mlPolicy: {numNodes: 1}
  template:
    spec:
      replicatedJobs:
        - name: node
          template:
            metadata: {labels: {trainer.kubeflow.org/trainjob-ancestor-step: trainer}}
            spec:
              template:
                spec:
                  restartPolicy: Never
                  nodeSelector: {nowhere: "true"}
                  containers: [{name: node, image: "example.com/train:v1"}]
"""
_PROJECT = """\
apiVersion: jobspec.dev/v1alpha1
kind: Project
spec:
  target: {training-operator: "1.9", trainer: "2.3"}
  variants: [{name: mnist, base: base/job.yaml, namespace: NAME, flags: {--lr: "0.1"}}]
  engines: {flux: {url: "URL", name: NAME, interval: 3s, timeout: 30s}}
"""
_OTHER = {'"0.1"': '"0.3"'}
_NUMBERS = count(1)


@pytest.fixture
def synced(tmp_path: Path) -> Iterator[Synced]:
    kubeconfig(VARIABLE)
    name = f"flux-{os.getpid()}-{next(_NUMBERS)}"
    with served(tmp_path) as address:
        found = Synced(name, tmp_path, address)
        yield found
        found.remove()


def _render(synced: Synced, base: str = _BASE, changes: Mapping[str, str] | None = None) -> str:
    """Commit the project with its rendered tree; returns the commit."""
    project = _PROJECT.replace("NAME", synced.name).replace("URL", synced.url)
    for old, new in (changes or {}).items():
        assert old in project
        project = project.replace(old, new)
    return synced.repository.commit({"jobspec.yaml": project, "base/job.yaml": base})


def _job(synced: Synced, kind: str = "pytorchjob") -> str:
    """The name of the one job."""
    (name,) = synced.uids(kind)
    return name


@pytest.mark.parametrize("kind", ["TrainJob", "PyTorchJob"])
def test_a_new_repository_runs_as_it_was_written_and_stays_applied(kind: str, synced: Synced) -> None:
    """`jobspec init`, a commit and what is said to the engine are all that it takes: no namespace has to be there."""
    folder = synced.repository.folder
    place = ("--namespace", synced.name, "--repository", synced.url, "--engine", "flux", "--kind", kind)
    done = run_here("init", folder, *place)
    assert done.returncode == 0, done.stderr
    project = (
        (folder / "jobspec.yaml").read_text().replace("ref: {branch: main}", f"ref: {{branch: main}}, name: {synced.name}, interval: 3s")
    )
    revision = synced.repository.commit({"jobspec.yaml": project})
    synced.engage()
    synced.becomes(revision, "True")
    before = synced.uids(kind)
    assert len(before) == 2
    if kind == "TrainJob":
        synced.waits_for(lambda: all(_is(each, "Complete") for each in synced.items(kind).values()), lambda: synced.items(kind))
    synced.stays(revision, "True")
    assert synced.uids(kind) == before


def _is(job: Mapping[str, object], condition: str) -> bool:
    status = job.get("status") or {}
    assert isinstance(status, dict)
    return any(each["type"] == condition and each["status"] == "True" for each in status.get("conditions", ()))


def test_a_change_is_applied_at_once_though_jobs_run_longer_than_the_timeout(synced: Synced) -> None:
    """A claim that waits for its first consumer holds nothing back, either; the run before is pruned."""
    first = _render(synced)
    synced.engage()
    synced.becomes(first, "True")
    old = _job(synced)
    time.sleep(31)
    synced.becomes(first, "True")  # it is Unknown while the controller looks at the tree again
    second = _render(synced, changes=_OTHER)
    since = time.monotonic()
    synced.look()
    synced.becomes(second, "True")
    assert time.monotonic() - since < 20
    assert _job(synced) != old


def test_a_tree_that_waits_for_its_jobs_holds_a_change_back(synced: Synced) -> None:
    waiting = {"timeout: 30s": "timeout: 30s, wait: true"}
    first = _render(synced, changes=waiting)
    synced.engage()
    synced.waits_for(lambda: synced.uids("pytorchjob"), synced.state)
    since = time.monotonic()
    second = _render(synced, changes=waiting | _OTHER)
    synced.look()
    synced.waits_for(lambda: synced.state()[0] == second, synced.state)
    assert time.monotonic() - since > 15
    assert first != second
    synced.waits_for(lambda: synced.items("pod"), synced.state)
    synced.kubectl("delete", "pvc", "pending", f"--namespace={synced.name}", "--wait=false")


def test_a_job_that_fails_shows_and_one_that_ends_well_or_is_suspended_is_healthy(synced: Synced) -> None:
    first = _render(synced)
    synced.engage()
    synced.becomes(first, "True")
    failed = _job(synced)
    synced.end_pod(f"{failed}-master-0", "Failed")
    synced.becomes(first, "False", f"PyTorchJob/{synced.name}/{failed} status: 'Failed'")
    second = _render(synced, changes=_OTHER)
    synced.look()
    synced.becomes(second, "True")
    done = _job(synced)
    assert done != failed
    synced.end_pod(f"{done}-master-0", "Succeeded")
    synced.waits_for(lambda: _is(synced.items("pytorchjob")[done], "Succeeded"), lambda: synced.items("pytorchjob"))
    synced.stays(second, "True")
    held = _render(synced, _BASE.replace("spec:\n  pytorch", "spec:\n  runPolicy: {suspend: true}\n  pytorch", 1))
    synced.look()
    synced.becomes(held, "True")
    synced.waits_for(lambda: _is(synced.items("pytorchjob")[_job(synced)], "Suspended"), lambda: synced.items("pytorchjob"))
    synced.stays(held, "True")


@pytest.mark.parametrize("base", [_BASE, _TRAINJOB], ids=["PyTorchJob", "TrainJob"])
def test_a_job_of_a_fixed_name_is_replaced_once_for_each_change(base: str, synced: Synced) -> None:
    kind = "trainjob" if "TrainJob" in base else "pytorchjob"
    fixed = {"namespace: NAME".replace("NAME", synced.name): f"naming: fixed, namespace: {synced.name}"}
    first = _render(synced, base, fixed)
    synced.engage()
    synced.becomes(first, "True")
    before = synced.uids(kind)
    synced.stays(first, "True")
    assert synced.uids(kind) == before
    second = _render(synced, base, fixed | _OTHER)
    synced.look()
    synced.becomes(second, "True")
    after = synced.uids(kind)
    assert after.keys() == before.keys() == {"mnist"}
    assert after != before
    synced.stays(second, "True")
    assert synced.uids(kind) == after


def test_a_new_run_of_a_trainjob_prunes_the_old_one_and_leaves_its_runtime(synced: Synced) -> None:
    first = _render(synced, _TRAINJOB)
    synced.engage()
    synced.becomes(first, "True")
    old, runtime = _job(synced, "trainjob"), synced.uids("trainingruntime")
    second = _render(synced, _TRAINJOB, _OTHER)
    synced.look()
    synced.becomes(second, "True")
    assert _job(synced, "trainjob") != old
    assert synced.uids("trainingruntime") == runtime
    synced.stays(second, "True")
