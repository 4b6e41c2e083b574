"""A pinned environment with quotas, limits, Pod Security, runtimes, classes and policies: offline, jobs fare as they do there."""

import json
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random
from typing import Any
from uuid import uuid4

import pytest

from tests.support import quick_yaml
from tests.support.manifests import write
from tests.support.processes import program, run_here
from tests.support.seeds import seed
from tests.support.server import NEWEST_OPERATORS, PLURALS, Answer, Server, kubeconfig, server_at

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


def _runtime(image: str, pod: Data | None = None) -> Data:
    """The spec of a runtime; *pod*: further fields of its pods, and under `container` of their container."""
    own = dict(pod or {})
    container = {"name": "node", "image": image, "command": ["torchrun", "train.py"], **own.pop("container", {})}
    spec = {"template": {"spec": {**own, "containers": [container]}}}
    jobs = [{"name": "node", "template": {"metadata": {"labels": _LABELLED}, "spec": spec}}]
    return {"mlPolicy": {"numNodes": 1, "torch": {}}, "template": {"spec": {"replicatedJobs": jobs}}}


@dataclass(frozen=True)
class _Case:
    """A job in a namespace of its own."""

    job: Data
    pods: int
    """How many it has."""
    runtime: Data
    """The spec of the TrainingRuntime in its namespace."""
    level: str
    """Of Pod Security in its namespace."""

    @property
    def namespace(self) -> str:
        return str(self.job["metadata"]["namespace"])


def _cases(run: str, random: Random) -> Iterator[_Case]:
    for number in range(_JOBS):
        metadata = {"name": "a", "namespace": f"{run}-{number}", "labels": {"team": "vision"} if random.random() < 0.85 else {}}
        image = "docker.io/example/train:1" if random.random() < 0.1 else "ghcr.io/example/train:1"
        wanted = {"nvidia.com/gpu": random.choice((0, 0, 1, 2, 4, 9)), "memory": random.choice(("", "", "", "8Gi", "8Gi", "65Gi"))}
        limits = {name: value for name, value in wanted.items() if value}
        nodes, own = random.choice((1, 1, 1, 2, 2, 3, 6)), _odd(run, random)
        runtime, level = _runtime("ghcr.io/example/team:1", own), random.choice(("privileged", "privileged", "baseline", "restricted"))
        spec: Data
        if number % 2:
            roles = {"Master": 1, "Worker": nodes - 1} if random.random() < 0.6 and nodes > 1 else {"Worker": nodes}
            container = {"name": "pytorch", "image": image, "command": ["python", "train.py"], "resources": {"limits": limits}}
            container |= own.pop("container", {})
            template = {"spec": {**own, "containers": [container]}}
            spec = {"pytorchReplicaSpecs": {role: {"replicas": count, "template": template} for role, count in roles.items()}}
            yield _Case({"apiVersion": "kubeflow.org/v1", "kind": "PyTorchJob", "metadata": metadata, "spec": spec}, nodes, runtime, level)
        else:
            names = (run, run, "team", "team", "team", f"{run}-none")
            name = random.choice(names)
            ref = {"name": name, **({"kind": "TrainingRuntime"} if name == "team" else {})}
            spec = {"runtimeRef": ref, "trainer": {"numNodes": nodes, "image": image, "resourcesPerNode": {"limits": limits}}}
            job = {"apiVersion": "trainer.kubeflow.org/v1alpha1", "kind": "TrainJob", "metadata": metadata, "spec": spec}
            yield _Case(job, nodes, runtime, level)


def _odd(run: str, random: Random) -> Data:
    """What of a pod Pod Security, classes and ServiceAccounts decide on."""
    hardened = {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}
    of_pod = {"runAsNonRoot": True, "runAsUser": 1000, "seccompProfile": {"type": "RuntimeDefault"}}
    found: Data = random.choice(
        (
            *({} for _ in range(8)),
            {"hostNetwork": True},
            {"priorityClassName": run},
            {"priorityClassName": f"{run}-none"},
            {"serviceAccountName": "none"},
            {"volumes": [{"name": "host", "hostPath": {"path": "/data"}}]},
            *({"securityContext": of_pod, "container": {"securityContext": hardened}} for _ in range(4)),
        )
    )
    return dict(found)


def test_jobs_fare_offline_as_they_do_in_the_pinned_environment(server: Server, run: str, tmp_path: Path) -> None:
    cases = list(_cases(run, Random(seed())))
    for each in cases:
        _prepare(server, each, run)
    _wait(lambda: all(_has_quota(server, each.namespace) for each in cases))
    context = program("kubectl", "config", "current-context", check=True).stdout.strip()
    assert run_here("pin", "--context", context, "-o", "live.yaml", cwd=tmp_path).returncode == 0
    write(tmp_path, {f"jobs/{number}.yaml": quick_yaml.dump(each.job) for number, each in enumerate(cases)})
    done = run_here("validate", "jobs", "--cluster", "live.yaml", "-o", "json", cwd=tmp_path)
    said = {int(Path(each["path"]).stem): each for each in json.loads(done.stdout)["files"]}
    theirs = _fares(server, cases)
    ours = [_said_of(said[number]) for number in range(len(cases))]
    different = [number for number, each in enumerate(cases) if ours[number] != theirs[number][0]]
    # a server may let pods past a quota that it has just been given: what differs is asked once more, in a namespace of its own
    again = [_again(cases[number]) for number in different]
    for each in again:
        _prepare(server, each, run)
    _wait(lambda: all(_has_quota(server, each.namespace) for each in again))
    time.sleep(_PAUSE if again else 0)
    theirs = theirs | dict(zip(different, _fares(server, again).values(), strict=True))
    messages = {number: [it["message"] for it in said[number]["diagnostics"]] for number in different}
    wrong = {at: (ours[at], messages[at], *theirs[at], cases[at]) for at in different if ours[at] != theirs[at][0]}
    counts = Counter(fate for fate, _, _ in theirs.values())
    assert wrong == {}
    assert min(counts[each] for each in ("refused", "runs", "does not run")) > _JOBS / 10, counts


def _said_of(file: Data) -> str:
    """What is said of a job offline."""
    (row,) = file["documents"]
    return "refused" if row["status"] == "invalid" else "does not run" if row["runs"] is False else "runs"


def _fares(server: Server, cases: Sequence[_Case]) -> dict[int, tuple[str, str, list[str]]]:
    """How each job fares on the server, by its number, with the answer to it and the refusals of its pods."""
    answers = [_create(server, each) for each in cases]
    accepted = [each for each, answer in zip(cases, answers, strict=True) if answer.accepted]
    _wait(lambda: all(_came(server, each) >= each.pods or _refusals(server, each) for each in accepted))
    found = {}
    for number, (each, answer) in enumerate(zip(cases, answers, strict=True)):
        refusals = _refusals(server, each)
        came = not refusals and _came(server, each) >= each.pods
        found[number] = "refused" if not answer.accepted else "runs" if came else "does not run", answer.message, refusals
    return found


def _again(case: _Case) -> _Case:
    """The same job in another namespace."""
    metadata = {**case.job["metadata"], "namespace": f"{case.namespace}-again"}
    return replace(case, job={**case.job, "metadata": metadata})


def _prepare(server: Server, case: _Case, run: str) -> None:
    labels = {"run": run, "pod-security.kubernetes.io/enforce": case.level}
    server.post(_NAMESPACES, json.dumps({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": case.namespace, "labels": labels}}))
    quota, limits, runtime = _IN_NAMESPACE.replace("NAME", case.namespace).replace("RUNTIME", json.dumps(case.runtime)).split("---\n")
    for path, each in (("resourcequotas", quota), ("limitranges", limits)):
        assert server.call("POST", f"{_NAMESPACES}/{case.namespace}/{path}", each).accepted
    assert server.call("POST", PLURALS["TrainingRuntime"].format(case.namespace), runtime).accepted


def _create(server: Server, case: _Case) -> Answer:
    path = PLURALS[case.job["kind"]].format(case.namespace)
    return server.call("POST", f"{path}?fieldValidation=Strict", json.dumps(case.job))


def _has_quota(server: Server, namespace: str) -> bool:
    """Whether the quota of a namespace is counted, and pods can be made there."""
    quota, account = (server.get(f"{_NAMESPACES}/{namespace}/{each}") for each in ("resourcequotas/few", "serviceaccounts/default"))
    return bool(quota.get("status", {}).get("used")) and bool(account.get("metadata"))


def _came(server: Server, case: _Case) -> int:
    return len(server.get(f"{_NAMESPACES}/{case.namespace}/pods").get("items") or ())


def _refusals(server: Server, case: _Case) -> list[str]:
    """What events say of pods and other objects that could not be made."""
    events = server.get(f"{_NAMESPACES}/{case.namespace}/events").get("items") or ()
    return [it["message"] for it in events if it["type"] == "Warning" and ("FailedCreate" in it["reason"] or "denied" in it["message"])]


def _wait(is_done: Callable[[], bool]) -> None:
    end = time.monotonic() + _PATIENCE
    while not is_done() and time.monotonic() < end:
        time.sleep(_PAUSE)
