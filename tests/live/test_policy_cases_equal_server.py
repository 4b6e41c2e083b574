"""Of the case files of policies, a real API server with its controllers accepts, refuses and warns of what `validate` does."""

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from jobspec.diagnostics.diagnostic import Diagnostic
from jobspec.server.local import control_plane
from jobspec.world.world import Cluster
from tests.hunt import admission_policies
from tests.support import quick_yaml
from tests.support import server as servers
from tests.support.checking import result
from tests.support.cluster import assets
from tests.support.control_plane import kubeconfig as kubeconfig_of
from tests.support.reference import ROOT
from tests.support.server import OPERATORS, STRICT, Server, target

#: Kinds -> the path of their objects. The first are stored, since they decide on the others; none is stored as the default of a cluster.
_STORED = {
    "Namespace": "/api/v1/namespaces",
    "PriorityClass": "/apis/scheduling.k8s.io/v1/priorityclasses",
    "RuntimeClass": "/apis/node.k8s.io/v1/runtimeclasses",
    "LimitRange": "/api/v1/namespaces/{}/limitranges",
    "ResourceQuota": "/api/v1/namespaces/{}/resourcequotas",
    "ServiceAccount": "/api/v1/namespaces/{}/serviceaccounts",
    "ConfigMap": "/api/v1/namespaces/{}/configmaps",
    "ValidatingAdmissionPolicy": "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies",
    "ValidatingAdmissionPolicyBinding": "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings",
    "MutatingAdmissionPolicy": "/apis/admissionregistration.k8s.io/v1/mutatingadmissionpolicies",
    "MutatingAdmissionPolicyBinding": "/apis/admissionregistration.k8s.io/v1/mutatingadmissionpolicybindings",
}
_ASKED = {
    "Pod": "/api/v1/namespaces/{}/pods",
    "PersistentVolumeClaim": "/api/v1/namespaces/{}/persistentvolumeclaims",
    "Deployment": "/apis/apps/v1/namespaces/{}/deployments",
    "CronJob": "/apis/batch/v1/namespaces/{}/cronjobs",
    "Job": "/apis/batch/v1/namespaces/{}/jobs",
    "PyTorchJob": "/apis/kubeflow.org/v1/namespaces/{}/pytorchjobs",
}
_POLICIES = ROOT / "tests" / "cases" / "policies"
_DEFAULT = _POLICIES / "default-class.yaml"
#: The server knows more, runs no Kyverno or Kueue, lacks the CRD of the case.
_OPEN = ("closed-world", "costs", "custom-versions", "equivalent", "kyverno", "older-release", "validating-unknown")
_CASES = sorted(path for path in _POLICIES.glob("*.yaml") if path != _DEFAULT and path.stem not in _OPEN)
_SETTLED = 3.0  # seconds after which the server's plugins have seen what was created, and compiled policies


@pytest.fixture
def server() -> Iterator[Server]:
    yield from servers.find(at=OPERATORS)


def test_cases(server: Server, tmp_path: Path) -> None:
    _compare(server, _CASES, tmp_path)


def test_the_default_class_of_a_cluster(tmp_path: Path) -> None:
    """On a server of its own, since such a class counts for the pods of all tests."""
    with control_plane(assets()) as client:
        file = tmp_path / "kubeconfig"
        file.write_text(kubeconfig_of(client))
        server = Server(file)
        _compare(server, [_DEFAULT], tmp_path)
        server.close()


def _compare(server: Server, cases: list[Path], tmp_path: Path) -> None:
    prefix = f"policies-{time.time_ns() % 10**9:09d}-"
    texts = {path.stem: path.read_text().replace("policies-", f"{prefix}{number}-") for number, path in enumerate(cases)}
    admission_policies.keep_config_maps_watched(server)
    made: list[str] = []
    try:
        for text in texts.values():
            made += _stored(server, list(quick_yaml.load_all(text)))
        time.sleep(_SETTLED)
        for name, text in texts.items():
            (tmp_path / f"{name}.yaml").write_text(text)
            assert _ours(tmp_path / f"{name}.yaml") == [_answer(server, each) for each in quick_yaml.load_all(text)], name
    finally:
        for path in made:
            server.call("DELETE", path)


def _ours(path: Path) -> list[tuple[bool, bool]]:
    """Of each document, whether we accept it, and whether we say what the server warns of."""
    found = result(path, Cluster(target(at=OPERATORS), webhooks=False))
    warned = {each.document for each in found.diagnostics if _is_warning(each)}
    return [(row.status != "invalid", row.index in warned) for row in found.documents]


def _is_warning(found: Diagnostic) -> bool:
    """The server warns of all that does not fit, of what works nevertheless, too, and of no policy that is missing."""
    return found.rule == "policy-type" or (found.severity == "warning" and found.rule != "unresolved-reference")


def _answer(server: Server, data: dict[str, Any]) -> tuple[bool, bool]:
    kind = data["kind"]
    path = {**_STORED, **_ASKED}[kind].format(data["metadata"].get("namespace"))
    stored = server.get(f"{path}/{data['metadata']['name']}") if kind in _STORED else {}
    if stored.get("metadata", {}).get("uid"):
        return True, bool(stored.get("status", {}).get("typeChecking", {}).get("expressionWarnings"))
    answer = server.call("POST", path + STRICT, json.dumps(data))
    return answer.accepted, any("PodSecurity" in each or "Policy" in each for each in answer.warnings)


def _stored(server: Server, documents: list[dict[str, Any]]) -> Iterator[str]:
    """Store what decides on others, where the server takes it, in namespaces that are made for all; the paths by which it is deleted."""
    named = {each["metadata"].get("namespace") for each in documents} - {None}
    given = {each["metadata"]["name"]: each for each in documents if each["kind"] == "Namespace"}
    for name in sorted(named | given.keys()):
        labels = given.get(name, {}).get("metadata", {}).get("labels", {})
        body = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels}}
        if server.call("POST", _STORED["Namespace"], json.dumps(body)).accepted:
            yield f"{_STORED['Namespace']}/{name}"
    for each in documents:
        if each["kind"] in _STORED and each["kind"] != "Namespace":
            path = _STORED[each["kind"]].format(each["metadata"].get("namespace"))
            if server.call("POST", path, json.dumps(each)).accepted:
                yield f"{path}/{each['metadata']['name']}"
