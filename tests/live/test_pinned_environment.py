"""A pinned environment with quotas, limits, Pod Security, runtimes, classes and policies: offline, jobs fare as they do there."""

import json
import time
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any
from uuid import uuid4

import pytest

from tests.support import quick_yaml
from tests.support.manifests import write
from tests.support.processes import program, run_here
from tests.support.seeds import seed
from tests.support.server import NEWEST_OPERATORS, PLURALS, Server, kubeconfig, server_at

Data = dict[str, Any]
_JOBS = 72
_PATIENCE, _PAUSE = 120.0, 2.0  # seconds
_NAMESPACES = "/api/v1/namespaces"
_POLICIES = "/apis/admissionregistration.k8s.io/v1"
_LABELLED = {"trainer.kubeflow.org/trainjob-ancestor-step": "trainer"}
#: What all namespaces of a run share, by the paths of their kinds.
_SHARED = """
apiVersion: scheduling.k8s.io/v1
kind: PriorityClass
metadata: {name: NAME}
value: 5
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: NAME}
spec:
  matchConstraints:
    namespaceSelector: {matchLabels: {run: NAME}}
    resourceRules:
      - {apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [pods]}
      - {apiGroups: [trainer.kubeflow.org], apiVersions: [v1alpha1], operations: [CREATE, UPDATE], resources: [trainjobs]}
      - {apiGroups: [kubeflow.org], apiVersions: [v1], operations: [CREATE, UPDATE], resources: [pytorchjobs]}
  validations:
    - expression: "object.kind != 'Pod' || object.spec.containers.all(each, each.image.startsWith('ghcr.io/'))"
      message: images come from ghcr.io
    - expression: "object.kind != 'TrainJob' || object.spec.trainer.numNodes < 6"
      message: at most five nodes
    - expression: "object.kind == 'Pod' || has(object.metadata.labels) && 'team' in object.metadata.labels"
      message: jobs say their team
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: NAME}
spec: {policyName: NAME, validationActions: [Deny]}
---
apiVersion: trainer.kubeflow.org/v1alpha1
kind: ClusterTrainingRuntime
metadata: {name: NAME}
spec: RUNTIME
"""
_IN_NAMESPACE = """
apiVersion: v1
kind: ResourceQuota
metadata: {name: few, namespace: NAME}
spec: {hard: {requests.nvidia.com/gpu: "8", pods: "5", limits.memory: 256Gi}}
---
apiVersion: v1
kind: LimitRange
metadata: {name: most, namespace: NAME}
spec: {limits: [{type: Container, max: {memory: 64Gi}, default: {memory: 1Gi}, defaultRequest: {cpu: 100m}}]}
---
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainingRuntime
metadata: {name: team, namespace: NAME}
spec: RUNTIME
"""


@pytest.fixture
def server() -> Iterator[Server]:
    found = server_at(NEWEST_OPERATORS)
    yield found
    found.close()


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A name of its own, of what all namespaces share; `KUBECONFIG` names the cluster."""
    monkeypatch.setenv("KUBECONFIG", str(kubeconfig(NEWEST_OPERATORS)))
    name = f"pinned-{uuid4().hex[:8]}"
    shared = _SHARED.replace("NAME", name).replace("RUNTIME", json.dumps(_runtime("ghcr.io/example/train:1")))
    program("kubectl", "apply", "--filename", "-", stdin=shared, check=True)
    yield name
    kinds = ("priorityclass", "validatingadmissionpolicy", "validatingadmissionpolicybinding", "clustertrainingruntime")
    for kind in (*kinds[1:3], kinds[0]):
        program("kubectl", "delete", "--ignore-not-found", f"{kind}/{name}", check=True)
    program("kubectl", "delete", "namespace", "--selector", f"run={name}", "--wait=false", check=True)
    program("kubectl", "delete", "--ignore-not-found", "--wait=false", f"{kinds[3]}/{name}", check=True)


def _runtime(image: str) -> Data:
    pod = {"containers": [{"name": "node", "image": image, "command": ["torchrun", "train.py"]}]}
    jobs = [{"name": "node", "template": {"metadata": {"labels": _LABELLED}, "spec": {"template": {"spec": pod}}}}]
    return {"mlPolicy": {"numNodes": 1, "torch": {}}, "template": {"spec": {"replicatedJobs": jobs}}}


def _jobs(run: str, random: Random) -> Iterator[tuple[Data, int]]:
    """Jobs in a namespace each, with the number of their pods."""
    for number in range(_JOBS):
        metadata = {"name": "a", "namespace": f"{run}-{number}", "labels": {"team": "vision"} if random.random() < 0.9 else {}}
        image = random.choice(("ghcr.io/example/train:1",) * 4 + ("docker.io/example/train:1",))
        wanted = {"nvidia.com/gpu": random.choice((0, 0, 1, 2, 4, 9)), "memory": random.choice(("", "", "8Gi", "65Gi"))}
        limits = {name: value for name, value in wanted.items() if value}
        nodes = random.choice((1, 1, 2, 3, 4, 6))
        own = _odd(run, random)
        if number % 2:
            roles = {"Master": 1, "Worker": nodes - 1} if random.random() < 0.6 and nodes > 1 else {"Worker": nodes}
            container = {"name": "pytorch", "image": image, "command": ["python", "train.py"], "resources": {"limits": limits}}
            container |= own.pop("container", {})
            specs = {role: {"replicas": count, "template": {"spec": {**own, "containers": [container]}}} for role, count in roles.items()}
            yield (
                {"apiVersion": "kubeflow.org/v1", "kind": "PyTorchJob", "metadata": metadata, "spec": {"pytorchReplicaSpecs": specs}},
                nodes,
            )
            continue
        ref = random.choice(({"name": run}, {"name": run}, {"name": "team", "kind": "TrainingRuntime"}, {"name": f"{run}-none"}))
        trainer: Data = {"numNodes": nodes, "image": image, "resourcesPerNode": {"limits": limits}}
        spec: Data = {"runtimeRef": ref, "trainer": trainer}
        container = own.pop("container", {})
        pod = {**own, **({"containers": [{"name": "node", **container}]} if container else {})}
        if pod:
            patch = {"name": "node", "template": {"spec": {"template": {"spec": pod}}}}
            spec["runtimePatches"] = [
                {"manager": "example.com/test", "trainingRuntimeSpec": {"template": {"spec": {"replicatedJobs": [patch]}}}}
            ]
        yield {"apiVersion": "trainer.kubeflow.org/v1alpha1", "kind": "TrainJob", "metadata": metadata, "spec": spec}, nodes


def _odd(run: str, random: Random) -> Data:
    """What of a pod Pod Security, classes and ServiceAccounts decide on."""
    return random.choice(
        (
            {},
            {},
            {},
            {"hostNetwork": True},
            {"priorityClassName": run},
            {"priorityClassName": f"{run}-none"},
            {"serviceAccountName": "none"},
            {"volumes": [{"name": "host", "hostPath": {"path": "/data"}}]},
            {"securityContext": {"runAsNonRoot": True, "runAsUser": 1000, "seccompProfile": {"type": "RuntimeDefault"}}},
            {"container": {"securityContext": {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}}},
        )
    )


def test_jobs_fare_offline_as_they_do_in_the_pinned_environment(server: Server, run: str, tmp_path: Path) -> None:
    random = Random(seed())
    jobs = list(_jobs(run, random))
    for job, _ in jobs:
        _prepare(server, job["metadata"]["namespace"], run, random.choice(("privileged", "privileged", "baseline", "restricted")))
    _wait(lambda: all(_has_quota(server, job["metadata"]["namespace"]) for job, _ in jobs))
    context = program("kubectl", "config", "current-context", check=True).stdout.strip()
    assert run_here("pin", "--context", context, "-o", "live.yaml", cwd=tmp_path).returncode == 0
    write(tmp_path, {f"jobs/{number}.yaml": quick_yaml.dump(job) for number, (job, _) in enumerate(jobs)})
    done = run_here("validate", "jobs", "--cluster", "live.yaml", "-o", "json", cwd=tmp_path)
    said = {int(Path(each["path"]).stem): each for each in json.loads(done.stdout)["files"]}
    answers = [
        server.call("POST", f"{PLURALS[job['kind']].format(job['metadata']['namespace'])}?fieldValidation=Strict", json.dumps(job))
        for job, _ in jobs
    ]
    accepted = {number for number, each in enumerate(answers) if each.accepted}
    _wait(lambda: all(_is_settled(server, *jobs[number]) for number in accepted))
    wrong, counts = {}, {"refused": 0, "runs": 0, "does not run": 0}
    for number, (job, pods) in enumerate(jobs):
        (row,) = said[number]["documents"]
        theirs = (
            "refused" if number not in accepted else "runs" if not _refusals(server, job) and _came(server, job) >= pods else "does not run"
        )
        ours = "refused" if row["status"] == "invalid" else "does not run" if row["runs"] is False else "runs"
        counts[theirs] += 1
        if ours != theirs:
            wrong[number] = (ours, theirs, answers[number].message, _refusals(server, job), said[number]["diagnostics"], job)
    assert wrong == {}
    assert min(counts.values()) > 5, counts


def _prepare(server: Server, namespace: str, run: str, level: str) -> None:
    labels = {"run": run, "pod-security.kubernetes.io/enforce": level}
    server.post(_NAMESPACES, json.dumps({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace, "labels": labels}}))
    text = _IN_NAMESPACE.replace("NAME", namespace).replace("RUNTIME", json.dumps(_runtime("ghcr.io/example/team:1")))
    quota, limits, runtime = text.split("---\n")
    for path, each in (("resourcequotas", quota), ("limitranges", limits)):
        assert server.call("POST", f"{_NAMESPACES}/{namespace}/{path}", each).accepted
    assert server.call("POST", PLURALS["TrainingRuntime"].format(namespace), runtime).accepted


def _has_quota(server: Server, namespace: str) -> bool:
    quota = server.get(f"{_NAMESPACES}/{namespace}/resourcequotas/few")
    return bool(quota.get("status", {}).get("used")) and bool(
        server.get(f"{_NAMESPACES}/{namespace}/serviceaccounts/default").get("metadata")
    )


def _came(server: Server, job: Data) -> int:
    return len(server.get(f"{_NAMESPACES}/{job['metadata']['namespace']}/pods").get("items") or ())


def _refusals(server: Server, job: Data) -> list[str]:
    """What events say of pods and other objects that could not be made."""
    events = server.get(f"{_NAMESPACES}/{job['metadata']['namespace']}/events").get("items") or ()
    return [
        each["message"]
        for each in events
        if each["type"] == "Warning" and ("FailedCreate" in each["reason"] or "denied" in each["message"])
    ]


def _is_settled(server: Server, job: Data, pods: int) -> bool:
    return _came(server, job) >= pods or bool(_refusals(server, job))


def _wait(is_done: Any) -> None:
    end = time.monotonic() + _PATIENCE
    while not is_done() and time.monotonic() < end:
        time.sleep(_PAUSE)
