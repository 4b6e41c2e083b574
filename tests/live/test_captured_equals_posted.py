"""What `jobspec capture` writes of calls of the Kubeflow SDK is what the SDK posts to a live trainer, and what that stores."""

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.support import server as servers
from tests.support.processes import environment, run
from tests.support.sdk_calls import CALLS, CREATE_JOB_CALLS, whole
from tests.support.server import NEWEST_OPERATORS, Server

pytest.importorskip("kubeflow.trainer", reason="the Kubeflow SDK is not installed")

#: Writes the body of each request that creates a TrainJob, and sends it on.
RECORDING = """\
import json, sys
from kubernetes import client
from kubeflow.common.types import KubernetesBackendConfig
from kubeflow.trainer import TrainerClient
create, make = client.CustomObjectsApi.create_namespaced_custom_object, TrainerClient.__init__
def recording(self, group, version, namespace, plural, body, *arguments, **options):
    with open(sys.argv[1], "a") as file:
        file.write(json.dumps(self.api_client.sanitize_for_serialization(body)) + "\\n")
    return create(self, group, version, namespace, plural, body, *arguments, **options)
client.CustomObjectsApi.create_namespaced_custom_object = recording
TrainerClient.__init__ = lambda self: make(self, KubernetesBackendConfig(config_file=sys.argv[2], namespace=sys.argv[3]))
"""
#: What the API server and the trainer's webhook fill in.
_DEFAULTS = {("spec", "managedBy"), ("spec", "suspend"), ("spec", "runtimeRef", "apiGroup"), ("spec", "runtimeRef", "kind")}


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    yield from servers.find("TrainJob", at=NEWEST_OPERATORS)


def test_captured_jobs_are_what_the_sdk_posts_and_the_trainer_stores(server: Server, tmp_path: Path) -> None:
    namespace = f"captured-{time.time_ns()}"
    assert server.has_namespace(namespace)
    try:
        (tmp_path / "calls.py").write_text(CALLS)
        written = run("capture", tmp_path / "calls.py", "--namespace", namespace, "-o", "json")
        captured = {each["metadata"]["name"]: each for each in yaml.safe_load_all(written.stdout)}
        (tmp_path / "live" / "calls.py").parent.mkdir()
        (tmp_path / "live" / "calls.py").write_text(RECORDING + CALLS)
        config = servers.kubeconfig(NEWEST_OPERATORS)
        command = [sys.executable, tmp_path / "live" / "calls.py", tmp_path / "posted", config, namespace]
        live = subprocess.run(command, env=environment(), capture_output=True, text=True, check=False)
        assert live.returncode == 0, live.stderr
        posted = [json.loads(line) for line in (tmp_path / "posted").read_text().splitlines()]
        refused = {line.removeprefix("refused ") for line in live.stdout.splitlines() if line.startswith("refused ")}
        assert {f"refused {each}" for each in refused} == {each for each in written.stderr.splitlines() if each.startswith("refused ")}
        assert {each["metadata"]["name"] for each in posted} == captured.keys() | refused
        assert len(captured) >= 15
        for each in posted:
            name = each["metadata"]["name"]
            if name in refused:
                continue
            metadata = {name: value for name, value in captured[name]["metadata"].items() if name != "namespace"}
            assert whole(each) == {**captured[name], "metadata": metadata}, name
            stored = server.get(f"/apis/trainer.kubeflow.org/v1alpha1/namespaces/{namespace}/trainjobs/{name}")
            assert {path for path, _ in leaves(captured[name])} <= {path for path, _ in leaves(stored)}, name
            kept = dict(leaves(stored))
            assert {path: kept[path] for path, _ in leaves(captured[name])} == dict(leaves(captured[name])), name
            spec = {path for path, _ in leaves(stored) if path[0] == "spec" and (path[1], path[-1]) != ("runtimePatches", "time")}
            assert spec - {path for path, _ in leaves(captured[name])} <= _DEFAULTS, name
    finally:
        server.call("DELETE", f"/api/v1/namespaces/{namespace}")


#: Writes the body of each request that creates a job of the training client, and sends it on.
RECORDING_JOBS = """\
import json, sys
from kubernetes import client
create, file = client.CustomObjectsApi.create_namespaced_custom_object, sys.argv[2]
def recording(self, group, version, namespace, plural, body, *arguments, **options):
    with open(file, "a") as opened:
        opened.write(json.dumps(self.api_client.sanitize_for_serialization(body)) + "\\n")
    return create(self, group, version, namespace, plural, body, *arguments, **options)
client.CustomObjectsApi.create_namespaced_custom_object = recording
"""


def test_captured_jobs_are_what_the_training_client_posts_and_the_server_stores(server: Server, tmp_path: Path) -> None:
    pytest.importorskip("kubeflow.training", reason="kubeflow-training is not installed")
    namespace = f"captured-jobs-{time.time_ns()}"
    assert server.has_namespace(namespace)
    try:
        (tmp_path / "calls.py").write_text(CREATE_JOB_CALLS)
        written = run("capture", tmp_path / "calls.py", "-o", "json", "--", namespace)
        captured = {each["metadata"]["name"]: each for each in yaml.safe_load_all(written.stdout)}
        (tmp_path / "live.py").write_text(RECORDING_JOBS + CREATE_JOB_CALLS)
        config = str(servers.kubeconfig(NEWEST_OPERATORS))
        command = [sys.executable, tmp_path / "live.py", namespace, tmp_path / "posted"]
        live = subprocess.run(command, env={**environment(), "KUBECONFIG": config}, capture_output=True, text=True, check=False)
        assert live.returncode == 0, live.stderr
        posted = [json.loads(line) for line in (tmp_path / "posted").read_text().splitlines()]
        assert [each["metadata"]["name"] for each in posted] == [*captured]
        assert len(captured) >= 15
        for each in posted:
            name = each["metadata"]["name"]
            metadata = {**each["metadata"], "namespace": namespace}
            assert {**whole(each), "metadata": whole(metadata)} == captured[name], name
            stored = dict(leaves(server.get(f"/apis/kubeflow.org/v1/namespaces/{namespace}/pytorchjobs/{name}")))
            given = {path: value for path, value in leaves(captured[name]["spec"], ("spec",)) if value != {}}  # the server fills those
            assert {path: stored[path] for path in given} == given, name
    finally:
        server.call("DELETE", f"/api/v1/namespaces/{namespace}")


def leaves(value: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[tuple[str | int, ...], Any]]:
    """The values of data that hold no others, with their paths."""
    children = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    found = [each for key, child in children for each in leaves(child, (*path, key))]
    yield from found or [(path, value)]
