"""`jobspec dry-run` on a server with real operators: their webhooks' refusals and warnings, at the lines that caused them."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from jobspec.operators.trainer.runtimes import shipped
from jobspec.session.finding import find
from tests.support import manifests, quick_yaml
from tests.support.checking import documents
from tests.support.cluster import Run, Runner, refused, untouched
from tests.support.manifests import placed
from tests.support.reference import folder
from tests.support.server import OLD_RELEASES, OPERATORS, WITH_OPERATORS, Server, kubeconfig, server_at

_RUNTIMES = "/apis/trainer.kubeflow.org/v1alpha1/clustertrainingruntimes"

#: Others, and other processes of one run, may ask the same server the same things.
NAMESPACE = f"dry-run-operators-{os.getpid()}"
JOBSETS = f"/apis/jobset.x-k8s.io/v1alpha2/namespaces/{NAMESPACE}/jobsets"

JOB = placed(manifests.JOB, NAMESPACE).replace("Master", "Worker")
TRAINJOB = f"""\
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata:
  name: train
  namespace: {NAMESPACE}
spec:
  runtimeRef:
    name: torch-distributed
  trainer:
    numProcPerNode: auto
"""
RUNTIME = placed(manifests.RUNTIME, NAMESPACE)
#: No controller has anything to do with it.
JOBSET = f"""\
apiVersion: jobset.x-k8s.io/v1alpha2
kind: JobSet
metadata:
  name: live
  namespace: {NAMESPACE}
spec:
  managedBy: example.com/nobody
  replicatedJobs:
  - name: node
    replicas: 1
    template:
      spec: {{template: {{spec: {{restartPolicy: Never, containers: [{{name: node, image: "example.com/train:v1"}}]}}}}}}
"""


@pytest.fixture(scope="module")
def variable(request: pytest.FixtureRequest) -> str:
    """What names the server: the one with the old operators unless a test says otherwise."""
    return getattr(request, "param", OPERATORS)


@pytest.fixture(scope="module")
def server(variable: str) -> Iterator[Server]:
    """The server, to which the trainer's own runtimes belong."""
    found = server_at(variable)
    for name, runtime in shipped(found.target).items():
        answer = found.apply(f"{_RUNTIMES}/{name}?fieldManager=tests&force=true", quick_yaml.dump(runtime))
        assert answer.accepted, answer.message
    yield found
    found.close()


@pytest.fixture(scope="module", autouse=True)
def nothing_is_stored(server: Server) -> Iterator[None]:
    """All dry-runs of this module together leave nothing."""
    with untouched(server, NAMESPACE):
        yield


@pytest.fixture
def dry_run(variable: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Runner:
    return Runner(kubeconfig(variable), monkeypatch, capsys)


def _ask(dry_run: Runner, *arguments: str | Path) -> Run:
    return dry_run.ask(*arguments, *_targets(OLD_RELEASES))


def _targets(releases: str) -> list[str]:
    return [word for release in releases.split() for word in ("--target", release)]


def test_good_documents_and_those_that_webhooks_refuse(dry_run: Runner, tmp_path: Path) -> None:
    names = JOB.replace("name: pytorch", "name: trainer").replace("name: train\n", "name: other\n")
    processes = TRAINJOB.replace("auto", "several").replace("name: train\n", "name: other\n")
    (tmp_path / "a.yaml").write_text(f"{JOB}---\n{names}")
    (tmp_path / "b.yaml").write_text(f"{TRAINJOB}---\n{processes}")
    (tmp_path / "c.yaml").write_text(f"{RUNTIME}---\n{JOBSET}")
    (tmp_path / "d.yaml").write_text(JOB.replace("replicas", "replicaz"))
    done = _ask(dry_run, tmp_path)
    assert done.code == 1
    assert done.statuses == ["valid", "invalid", "valid", "invalid", "valid", "valid", "invalid"]
    assert done.reported == [
        ("a.yaml:27:11", "refused-by-webhook", "spec.pytorchReplicaSpecs[Worker].template.spec.containers"),
        ("b.yaml:21:21", "refused-by-webhook", "spec.trainer.numProcPerNode"),
        ("d.yaml:9:7", "unknown-field", "spec.pytorchReplicaSpecs.Worker.replicaz"),
    ]
    assert done.messages[:2] == [
        "Required value: must have at least one container with name pytorch (webhook validator.pytorchjob.training-operator.kubeflow.org)",
        "must have an int value or [auto cpu gpu] (webhook validator.trainjob.trainer.kubeflow.org)",
    ]


def test_the_rules_of_webhooks_that_the_server_has_are_not_applied_once_more(dry_run: Runner, tmp_path: Path) -> None:
    (tmp_path / "all.yaml").write_text("---\n".join((JOB, TRAINJOB, RUNTIME, JOBSET)))
    (tmp_path / "bad.yaml").write_text(JOB.replace("name: pytorch", "name: trainer"))
    done = _ask(dry_run, tmp_path)
    assert done.remarks == []
    assert len(done.reported) == 1


def test_what_a_webhook_refuses_is_reported_in_the_overlay_that_wrote_it(dry_run: Runner, tmp_path: Path) -> None:
    (tmp_path / "job.yaml").write_text(TRAINJOB.partition("  trainer:")[0])
    overlay = tmp_path / "many.yaml"
    overlay.write_text(
        "apiVersion: jobspec.dev/v1alpha1\nkind: Overlay\nmetadata: {name: many}\nspec:\n  description: many\n  job:\n"
        "    TrainJob:\n      spec:\n        trainer:\n          numProcPerNode: several\n"
    )
    done = _ask(dry_run, tmp_path / "job.yaml", "--overlay", overlay)
    assert done.reported == [("many.yaml:10:27", "refused-by-webhook", "spec.trainer.numProcPerNode")]
    (error,) = [each for file in done.report["files"] for each in file["diagnostics"] if each["severity"] == "error"]
    assert error["layer"] == "many"


def test_a_warning_of_a_webhook(dry_run: Runner, tmp_path: Path) -> None:
    (tmp_path / "job.yaml").write_text(JOB.replace("  pytorchReplicaSpecs", "  elasticPolicy:\n    nProcPerNode: 2\n  pytorchReplicaSpecs"))
    done = _ask(dry_run, tmp_path)
    assert (done.code, done.statuses) == (0, ["valid"])
    assert done.reported == [("job.yaml:8:19", "server-warning", "spec.elasticPolicy.nProcPerNode")]
    assert done.messages == ["spec.elasticPolicy.nProcPerNode is deprecated, use spec.nprocPerNode instead"]


def test_an_update_of_a_field_that_a_webhook_keeps_as_it_is(dry_run: Runner, server: Server, tmp_path: Path) -> None:
    place = f"{JOBSETS}/live"
    (tmp_path / "same.yaml").write_text(JOBSET)
    (tmp_path / "other.yaml").write_text(JOBSET.replace("replicas: 1", "replicas: 2"))
    assert server.apply(f"{place}?fieldManager=jobspec", JOBSET).accepted
    try:
        before = server.get(place)
        done = _ask(dry_run, tmp_path)
        assert server.get(place) == before
    finally:
        server.call("DELETE", place)
    assert done.statuses == ["invalid", "valid"]
    assert done.reported == [("other.yaml:8:3", "refused-by-webhook", "spec.replicatedJobs")]
    assert done.messages == ["field is immutable (webhook vjobset.kb.io)"]


def test_a_runtime_that_is_not_there_and_one_that_stands_in_the_set(dry_run: Runner, tmp_path: Path) -> None:
    absent, ours = (TRAINJOB.replace("torch-distributed", name) for name in ("nowhere", "ours\n    kind: TrainingRuntime"))
    (tmp_path / "a.yaml").write_text(absent)
    (tmp_path / "b.yaml").write_text(f"{RUNTIME}---\n{ours}")
    done = _ask(dry_run, tmp_path)
    reports = "be created before the TrainJob is created (webhook validator.trainjob.trainer.kubeflow.org)"
    assert list(zip(done.reported, done.messages, done.hints, strict=True)) == [
        (
            ("a.yaml:7:3", "refused-by-webhook", "spec.RuntimeRef"),
            f'ClusterTrainingRuntime.trainer.kubeflow.org "nowhere" not found: specified clusterTrainingRuntime must {reports}',
            "",
        ),
        (
            ("b.yaml:21:3", "refused-by-webhook", "spec.runtimeRef"),
            f'TrainingRuntime.trainer.kubeflow.org "ours" not found: specified trainingRuntime must {reports}',
            f"it is in {tmp_path}/b.yaml: apply that first: a dry-run stores nothing",
        ),
    ]


#: By the release of the trainer, public TrainJobs whose runtime is another public manifest, which a dry-run does not store.
_RUNTIME_FIRST = {
    "2.0.0": {"docs__operator-guides__runtime.md.block4.yaml[0]"},
    "2.3.0": {
        "examples__flux__flux-interactive.yaml[0]",
        "examples__flux__lammps-train-gpus.yaml[0]",
        "examples__flux__lammps-train-job.yaml[0]",
        "examples__yaml__04-volcano-integration.yaml[1]",
    },
}
_KUEUE = "kueue.x-k8s.io"
#: An `Application`, which only a server that has Argo CD, too, knows, and judges.
_OF_ARGO_CD = {"code_search__demo__cs-demo-1103__web-app-argocd-app.yaml[0]"}


@pytest.mark.slow
@pytest.mark.parametrize("variable", WITH_OPERATORS, ids=["old", "newest"], indirect=True)
def test_the_server_says_to_public_manifests_what_validate_says(dry_run: Runner, server: Server) -> None:
    """But for shipped runtimes, which live on the server: other public versions of them are in conflict with it wherever they differ."""
    corpus = folder("corpus")
    _make_namespaces(server, corpus)
    targets = _targets(server.releases)
    asked = dry_run.ask(corpus, "--skip-unknown", *targets)
    judged = dry_run.validate(corpus, "--skip-unknown", "--closed-world", "--no-outcome", *targets)
    assert len(asked.statuses) > 350
    assert [each for each in asked.remarks if "not checked" not in each] == []  # of placeholders
    otherwise = refused(asked.report, aside="field-conflict")
    without_kueue = set() if _has_kueue(server) else _of_kueue(asked.report)
    expected = _RUNTIME_FIRST[server.target["trainer"]]
    assert (otherwise ^ refused(judged.report)) - _OF_ARGO_CD - without_kueue == expected
    assert refused(asked.report) - otherwise == _contradictions(server, corpus) - otherwise != set()


def _has_kueue(server: Server) -> bool:
    return any(each["name"] == _KUEUE for each in server.get("/apis")["groups"])


def _of_kueue(report: dict[str, Any]) -> set[str]:
    """The documents of Kueue's kinds that are refused, as `FILE[INDEX]`: a server has no kinds of an operator that it lacks."""
    return {
        f"{Path(file['path']).name}[{row['index']}]"
        for file in report["files"]
        for row in file["documents"]
        if row["apiVersion"].startswith(f"{_KUEUE}/") and row["status"] == "invalid"
    }


def _make_namespaces(server: Server, place: Path) -> None:
    inside = (document for found in find([str(place)]) for document in documents(found.path, server.target))
    for name in {document.namespace for document in inside if document.namespace}:
        server.has_namespace(name)


def _contradictions(server: Server, place: Path) -> set[str]:
    """The runtimes in files that give a field of a live one another value."""
    live = {item["metadata"]["name"]: item for item in server.get(_RUNTIMES)["items"]}
    return {
        f"{Path(found.path).name}[{document.index}]"
        for found in find([str(place)])
        for document in documents(found.path, server.target)
        if document.kind == "ClusterTrainingRuntime" and _contradicts(document.data, live.get(document.name, {}))
    }


def _contradicts(mine: Any, live: Any) -> bool:
    if isinstance(mine, dict) and isinstance(live, dict):
        return any(_contradicts(value, live[key]) for key, value in mine.items() if key in live)
    if isinstance(mine, list) and isinstance(live, list) and all(isinstance(each, dict) and "name" in each for each in [*mine, *live]):
        return _contradicts({each["name"]: each for each in mine}, {each["name"]: each for each in live})
    return bool(mine != live)
