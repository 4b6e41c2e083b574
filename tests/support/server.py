"""A client for the real API server in `JOBSPEC_TEST_KUBECONFIG`, which tests compare with."""

import base64
import http.client
import json
import os
import ssl
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

import pytest

from jobspec.apis.releases import Target, choose
from tests.support import quick_yaml
from tests.support.seeds import seed

PLURALS = {
    "PyTorchJob": "/apis/kubeflow.org/v1/namespaces/{}/pytorchjobs",
    "PersistentVolumeClaim": "/api/v1/namespaces/{}/persistentvolumeclaims",
    "TrainJob": "/apis/trainer.kubeflow.org/v1alpha1/namespaces/{}/trainjobs",
    "TrainingRuntime": "/apis/trainer.kubeflow.org/v1alpha1/namespaces/{}/trainingruntimes",
    "ClusterTrainingRuntime": "/apis/trainer.kubeflow.org/v1alpha1/clustertrainingruntimes",
    "DisaggregatedSet": "/apis/disaggregatedset.x-k8s.io/v1/namespaces/{}/disaggregatedsets",
    "JobSet": "/apis/jobset.x-k8s.io/v1alpha2/namespaces/{}/jobsets",
    "MPIJob": "/apis/kubeflow.org/v2beta1/namespaces/{}/mpijobs",
    "LeaderWorkerSet": "/apis/leaderworkerset.x-k8s.io/v1/namespaces/{}/leaderworkersets",
    "RayCluster": "/apis/ray.io/v1/namespaces/{}/rayclusters",
    "RayJob": "/apis/ray.io/v1/namespaces/{}/rayjobs",
    "RayService": "/apis/ray.io/v1/namespaces/{}/rayservices",
    "RayCronJob": "/apis/ray.io/v1/namespaces/{}/raycronjobs",
}
#: Kinds of training-operator beside PyTorchJob.
SIBLINGS = {
    f"{name}Job": f"/apis/kubeflow.org/v1/namespaces/{{}}/{name.lower()}jobs" for name in ("TF", "XGBoost", "Paddle", "JAX", "MX", "MPI")
}
#: The same under names that no kind of another operator has.
OF_V1 = {f"{kind} of v1": path for kind, path in SIBLINGS.items()}
#: Kinds that every server has, in which templates of pods are, and Services.
PODS = "/api/v1/namespaces/{}/pods"
WORKLOADS = {
    "CronJob": "/apis/batch/v1/namespaces/{}/cronjobs",
    "DaemonSet": "/apis/apps/v1/namespaces/{}/daemonsets",
    "Deployment": "/apis/apps/v1/namespaces/{}/deployments",
    "Job": "/apis/batch/v1/namespaces/{}/jobs",
    "ReplicaSet": "/apis/apps/v1/namespaces/{}/replicasets",
    "ReplicationController": "/api/v1/namespaces/{}/replicationcontrollers",
    "Service": "/api/v1/namespaces/{}/services",
    "StatefulSet": "/apis/apps/v1/namespaces/{}/statefulsets",
}

CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
http.client._MAXHEADERS = 1000  # type: ignore[attr-defined]  # a server sends each of its warnings in a header
STRICT = "?dryRun=All&fieldValidation=Strict"


@dataclass(frozen=True)
class Answer:
    """A server's reply: the status code, and for a refusal its message and the fields in it."""

    code: int
    message: str = ""
    fields: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()

    @property
    def accepted(self) -> bool:
        return self.code < 300

    def __str__(self) -> str:
        return f"{self.code} {self.message[:600]}"


class Server:
    """A client for many threads that keeps its connections."""

    def __init__(self, kubeconfig: Path) -> None:
        self.releases = ""
        """The releases that it has, as `--target` takes them, with blanks between; the newest where none is said."""
        config = quick_yaml.load(kubeconfig.read_text())
        contexts = {each["name"]: each["context"] for each in config["contexts"]}
        context = contexts[config["current-context"]]
        cluster = {each["name"]: each["cluster"] for each in config["clusters"]}[context["cluster"]]
        user = {each["name"]: each["user"] for each in config["users"]}[context["user"]]
        self._place = urlsplit(cluster["server"]).netloc
        self._tls = _tls(cluster)
        self._headers = {"Authorization": f"Bearer {user['token']}", "Content-Type": "application/yaml"}
        self._idle: list[http.client.HTTPSConnection] = []
        self._lock = threading.Lock()
        self._namespaces: dict[str, bool] = {}

    @property
    def target(self) -> Target:
        """The releases that it has."""
        return choose(self.releases.split())

    def judge(self, kind: str, text: str | bytes, *, namespace: str = "default") -> Answer:
        """The reply to a strict, dry create of one document in its own text."""
        self.has_namespace(namespace)
        path = {**PLURALS, **OF_V1, **WORKLOADS}[kind].format(quote(namespace)) + STRICT
        return self.call("POST", path, text)

    def needs(self, *kinds: str) -> None:
        """Skip the test where the server lacks the CRD of a kind."""
        for kind in kinds:
            if not self.call("GET", {**PLURALS, **OF_V1}[kind].format("default") + "?limit=1").accepted:
                pytest.skip(f"the server has no CRD of {kind}")

    def has_namespace(self, name: str) -> bool:
        """Whether the namespace is there, created now where it can be."""
        with self._lock:
            if name not in self._namespaces:
                manifest = json.dumps({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
                self._namespaces[name] = self.call("POST", "/api/v1/namespaces", manifest).code in (201, 409)
            return self._namespaces[name]

    def get(self, path: str) -> dict[str, Any]:
        """A stored object; empty where the server has none, for example because another test has just removed its kind."""
        return self._object("GET", path)

    def events(self, path: str) -> Iterator[dict[str, Any]]:
        """Yield the events of a watch until the server ends it."""
        connection = http.client.HTTPSConnection(self._place, context=self._tls, timeout=None)
        connection.request("GET", path, None, self._headers | {"Content-Type": "application/json"})
        for line in connection.getresponse():
            yield json.loads(line)

    def post(self, path: str, body: str) -> dict[str, Any]:
        """Create an object; returns the server's."""
        return self._object("POST", path, body.encode())

    def apply(self, path: str, body: str) -> Answer:
        """Apply an object for real, server-side."""
        return self.patch(path, body, "application/apply-patch+yaml")

    def patch(self, path: str, body: str, form: str = "application/merge-patch+json") -> Answer:
        """Patch an object for real."""
        return self.call("PATCH", path, body, form)

    def _object(self, method: str, path: str, body: bytes | None = None) -> dict[str, Any]:
        connection = self._idle.pop() if self._idle else self._connect()
        form = {} if body else {"Content-Type": "application/json"}  # `/version` wants it, although there is no content
        headers = {**self._headers, **form}
        try:
            connection.request(method, path, body, headers)
            reply = connection.getresponse()
        except (http.client.HTTPException, ConnectionError, ssl.SSLEOFError):
            connection.close()
            connection = self._connect()
            connection.request(method, path, body, headers)
            reply = connection.getresponse()
        content = reply.read()
        self._idle.append(connection)
        found: dict[str, Any] = json.loads(content) if content.startswith(b"{") else {}
        return found

    def call(self, method: str, path: str, body: str | bytes = b"", form: str = "application/yaml") -> Answer:
        """Send a request, once more on a new connection where the server has closed the old one."""
        raw = body.encode() if isinstance(body, str) else body
        connection = self._idle.pop() if self._idle else self._connect()
        try:
            return self._call(connection, method, path, raw, form)
        except (http.client.HTTPException, ConnectionError, ssl.SSLEOFError):
            connection.close()
            return self._call(self._connect(), method, path, raw, form)

    def close(self) -> None:
        """Close all connections, for good."""
        while self._idle:
            self._idle.pop().close()

    def _connect(self) -> http.client.HTTPSConnection:
        return http.client.HTTPSConnection(self._place, context=self._tls, timeout=60)

    def _call(self, connection: http.client.HTTPSConnection, method: str, path: str, body: bytes, form: str) -> Answer:
        connection.request(method, path, body, {**self._headers, "Content-Type": form})
        reply = connection.getresponse()
        content = reply.read()
        self._idle.append(connection)
        warnings = tuple(reply.headers.get_all("Warning") or ())
        return Answer(reply.status, warnings=warnings) if reply.status < 300 else _refusal(reply.status, content)


def _refusal(code: int, content: bytes) -> Answer:
    try:
        status = json.loads(content)
    except ValueError:
        return Answer(code, content.decode(errors="replace"))
    causes = (status.get("details") or {}).get("causes") or []
    return Answer(code, str(status.get("message")), tuple(str(cause.get("field")) for cause in causes))


def _tls(cluster: dict[str, Any]) -> ssl.SSLContext:
    if cluster.get("insecure-skip-tls-verify"):
        return ssl._create_unverified_context()
    data = cluster.get("certificate-authority-data")
    return ssl.create_default_context(cafile=cluster.get("certificate-authority"), cadata=base64.b64decode(data).decode() if data else None)


CONTROL_PLANE = "JOBSPEC_TEST_KUBECONFIG"
OPERATORS = "JOBSPEC_TEST_OPERATORS_KUBECONFIG"
NEWEST_OPERATORS = "JOBSPEC_TEST_NEWEST_OPERATORS_KUBECONFIG"
KUEUE = "JOBSPEC_TEST_KUEUE_KUBECONFIG"
JOBS = "JOBSPEC_TEST_JOBS_KUBECONFIG"
#: Both servers with operators, for tests that are to hold on each.
WITH_OPERATORS = (OPERATORS, NEWEST_OPERATORS)
#: What a server has of the operators of further kinds of jobs.
OF_JOBS = "mpi-operator=0.8.0 kuberay=1.6.0 lws=0.9.0"
OLD_RELEASES = "training-operator=1.8.1 trainer=2.0.0 jobset=0.8.2"


def kubeconfig(variable: str = CONTROL_PLANE) -> Path:
    """The kubeconfig that an environment variable names; skips the test where it names none."""
    place = os.environ.get(variable)
    if not place:
        pytest.skip(f"{variable} names no kubeconfig of a server to compare with (see CONTRIBUTING.md)")
    return Path(place)


@cache
def target(*wishes: str, at: str = CONTROL_PLANE) -> Target:
    """The target of these wishes, and of the release of Kubernetes that the server in a variable has; the newest where it names none."""
    if not os.environ.get(at):
        return choose(wishes)
    server = Server(kubeconfig(at))
    release = server.get("/version")["gitVersion"]
    server.close()
    return choose([*wishes, f"kubernetes={release}"])


def server_at(variable: str) -> Server:
    """The server of the kubeconfig that a variable names; skips the test where there is none."""
    server = Server(kubeconfig(variable))
    releases = OLD_RELEASES if variable == OPERATORS else OF_JOBS
    server.releases = f"{releases} kubernetes={server.get('/version')['gitVersion']}"
    if variable == JOBS:
        _await_mpi_operator(kubeconfig(variable))
    return server


#: Seconds. An mpi-operator that could not renew its lease for five ends, and the next one waits until the lease has expired.
_PATIENCE = 180.0
_LAUNCHER = {"template": {"spec": {"containers": [{"name": "a", "image": "a:1"}]}}}
_FIRST = {
    "apiVersion": "kubeflow.org/v2beta1",
    "kind": "MPIJob",
    "metadata": {"name": "first"},
    "spec": {"mpiReplicaSpecs": {"Launcher": _LAUNCHER}},
}


@cache
def _await_mpi_operator(kubeconfig: Path) -> None:
    """Wait until an mpi-operator makes something of a job; fails with the end of its log."""
    server = Server(kubeconfig)
    for namespace in namespace_with_account(server, "first"):
        taken = server.call("POST", PLURALS["MPIJob"].format(namespace), json.dumps(_FIRST)).accepted  # not where the CRD is missing
        end = time.monotonic() + _PATIENCE
        while taken and "data" not in server.get(f"/api/v1/namespaces/{namespace}/configmaps/first-config"):
            if time.monotonic() > end:
                log = kubeconfig.parent / "mpi-operator.log"
                said = log.read_text(errors="replace")[-4000:] if log.exists() else "no log stands beside the kubeconfig"
                pytest.fail(f"mpi-operator made nothing of a job within {_PATIENCE:.0f} s: {said}")
            time.sleep(0.2)
    server.close()


def find(*kinds: str, at: str = CONTROL_PLANE) -> Iterator[Server]:
    """The server of the kubeconfig that a variable names; skips the test where there is none, or where it lacks the CRD of a kind."""
    server = server_at(at)
    try:
        server.needs(*kinds)
        yield server
    finally:
        server.close()


def namespace_with_account(server: Server, prefix: str) -> Iterator[str]:
    """A namespace of its own, once it has the account that pods need; it is deleted at the end."""
    name = f"{prefix}-{seed()}-{time.time_ns()}"
    assert server.has_namespace(name)
    end = time.monotonic() + 90.0
    while server.get(f"/api/v1/namespaces/{name}/serviceaccounts/default").get("kind") != "ServiceAccount" and time.monotonic() < end:
        time.sleep(1.0)
    yield name
    server.call("DELETE", f"/api/v1/namespaces/{name}")
