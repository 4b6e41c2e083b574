"""A live trainer makes of migrated PyTorchJobs the pods that the migration was chosen by, and live servers take them in every release."""

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from jobspec.apis.kinds import PYTORCHJOB
from jobspec.documents.document import Document
from jobspec.migrate.jobs import MigratedJob, becomes_trainjob, migrate_to_trainjob
from jobspec.operators.api_defaults import with_api_defaults
from jobspec.operators.workloads import QUEUE
from tests.migrate.jobs import cluster, corpus, documents_of, jobs_among
from tests.support import server as servers
from tests.support.reference import ROOT, folder
from tests.support.server import PLURALS, WITH_OPERATORS, Server

_AT_ONCE = 6
_SECONDS = 180
_NODE = "node"
Data = dict[str, Any]


@pytest.fixture(scope="module", params=WITH_OPERATORS, ids=["old", "newest"])
def server(request: pytest.FixtureRequest) -> Iterator[Server]:
    yield from servers.find(at=request.param)


def _sources() -> list[Path]:
    return [*corpus(folder("corpus", "manifests")), *sorted((ROOT / "tests" / "cases" / "migrate").glob("*/job.yaml"))]


def _migrated(paths: list[Path], trainer: str, *, others: bool = False) -> Iterator[tuple[str, MigratedJob]]:
    """The PyTorchJobs in files that migrate to a release of the trainer. *others*: the jobs of other kinds in place of these."""
    for path in paths:
        documents, result = documents_of(path.read_bytes(), trainer, path.name)
        jobs = [each for each in documents if becomes_trainjob(each) and each.group_kind != PYTORCHJOB] if others else jobs_among(documents)
        for job in jobs if result.valid else ():
            found = migrate_to_trainjob(job, documents, cluster(trainer))
            if isinstance(found, MigratedJob) and not _needs_more(found):
                yield path.name, found


def _needs_more(found: MigratedJob) -> bool:
    """Whether pods need what the server has not, such as a priority class, or the job was read from a server and cannot be made."""
    facts = found.after.facts if found.after else {}
    amounts = [key for key in facts if "requests" in key and "/" in key[-1]]
    if any((*key[:-2], "limits", key[-1]) not in facts for key in amounts):
        return True  # which no server takes in a pod
    text = json.dumps([each.data for each in found.documents])
    return any(word in text for word in ('"priorityClassName"', '"serviceAccountName"', '"resourceVersion"', '"runtimeClassName"'))


def _create(server: Server, namespace: str, document: Document) -> None:
    metadata = document.data["metadata"]
    labels = {name: value for name, value in metadata.get("labels", {}).items() if name != QUEUE}  # a Kueue there would have it wait
    made = {**document.data, "metadata": {**metadata, "labels": labels, "namespace": namespace}}
    for _ in range(20):  # the trainer's webhook may learn of a new runtime late
        answer = server.call("POST", PLURALS[document.kind].format(namespace) + "?fieldValidation=Strict", json.dumps(made))
        if answer.accepted or "not found" not in answer.message:
            break
        time.sleep(0.5)
    assert answer.accepted, (document.file, answer.message)


def _environment(container: Data) -> dict[str, Any]:
    return {each["name"]: each.get("valueFrom") or each.get("value", "") for each in container.get("env", ())}


def _seen(pod: Data) -> Data:
    """What distinguishes a pod of a job from others: its number, its command, its variables, its volumes but the token's."""
    (container,) = (each for each in pod["spec"]["containers"] if each["name"] == _NODE)
    return {
        "host": pod["spec"]["hostname"],
        "words": [*container.get("command", ()), "|", *container.get("args", ())],
        "env": _environment(container),
        "resources": container.get("resources", {}),
        "volumes": [each["name"] for each in pod["spec"].get("volumes", ()) if not each["name"].startswith("kube-api-access")],
        "policy": pod["spec"]["restartPolicy"],
    }


def _pods(server: Server, namespace: str, count: int) -> list[Data]:
    until = time.monotonic() + _SECONDS
    while True:
        found = server.get(f"/api/v1/namespaces/{namespace}/pods")["items"]
        if len(found) >= count or time.monotonic() > until:
            return sorted(map(_seen, found), key=lambda each: each["host"])
        time.sleep(0.5)


def _check(server: Server, sources: list[tuple[str, MigratedJob]]) -> None:
    prefix = f"migrated-{time.time_ns() // 1_000_000}"
    created = []
    for number, (name, found) in enumerate(sources):
        if found.documents[-1].data["spec"].get("suspend"):
            continue
        namespace = f"{prefix}-{number}"
        assert server.has_namespace(namespace)
        for document in found.documents:
            _create(server, namespace, document)
        created.append((name, namespace, found))
    for name, namespace, found in created:
        assert found.after
        objects = with_api_defaults(found.after.objects, found.documents, cluster(server.target["trainer"]).target)
        expected = [each.data() for each in objects if each.value["kind"].value == "Pod"]
        assert _pods(server, namespace, len(expected)) == sorted(map(_seen, expected), key=lambda each: each["host"]), name


@pytest.mark.slow
def test_every_job(server: Server) -> None:
    sources = list(_migrated(_sources(), server.target["trainer"]))
    assert len(sources) > 70
    sources = sources[server.target["trainer"] == "2.0.0" :: 2]  # each job on one of both servers
    for number in range(0, len(sources), _AT_ONCE):  # operators act late where many jobs come at once
        _check(server, sources[number : number + _AT_ONCE])


def test_jobs_of_other_kinds(server: Server) -> None:
    sources = list(_migrated(_sources(), server.target["trainer"], others=True))
    assert {each.job.kind for _, each in sources} >= {"Job", "JobSet", "MPIJob"}
    for number in range(0, len(sources), _AT_ONCE):
        _check(server, sources[number : number + _AT_ONCE])
