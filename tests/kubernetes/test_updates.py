"""Updates: what a server says to a new state of an object that it has."""

import json
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest

from jobspec import cli
from jobspec.diagnostics.diagnostic import Diagnostic
from jobspec.session.stored import documents_in
from jobspec.world.world import Cluster, StoredObjects
from tests.hunt import updates
from tests.hunt.finds import report
from tests.hunt.updates import OnServer, documents
from tests.support import server as servers
from tests.support.cases import assert_reported, expectations, states, target_of
from tests.support.checking import result
from tests.support.processes import program
from tests.support.reference import ROOT
from tests.support.seeds import seed
from tests.support.server import Server

CASES = sorted((ROOT / "tests" / "cases" / "updates").glob("*.yaml"))


def _judge(case: str, place: Path) -> list[Diagnostic]:
    before, after = states(case)
    (place / "before.yaml").write_text(before)
    (place / "after.yaml").write_text(after)
    cluster = Cluster(target_of(case), webhooks=False, stored=StoredObjects(documents_in(str(place / "before.yaml"), option="--from")))
    return list(result(place / "after.yaml", cluster).diagnostics)


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_each_case_is_judged_as_expected(path: Path, tmp_path: Path) -> None:
    case = path.read_text()
    assert_reported(expectations(case), _judge(case, tmp_path))


_JOB = "apiVersion: kubeflow.org/v1\nkind: PyTorchJob\nmetadata: {name: %s}\nspec:\n  runPolicy: {schedulingPolicy: {queue: %s}}\n"


def _job(name: str, queue: str) -> str:
    return _JOB % (name, queue) + f"  pytorchReplicaSpecs: {json.dumps(_REPLICAS)}\n"


_REPLICAS = {"Worker": {"replicas": 1, "template": {"spec": {"containers": [{"name": "pytorch", "image": "a:1"}]}}}}


def test_old_objects_are_found_in_a_file_or_folder_by_name(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "old").mkdir()
    (tmp_path / "old" / "list.yaml").write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": [{"kind": "none"}]}))
    (tmp_path / "old" / "jobs.yaml").write_text(_job("a", "one") + "---\n" + _job("b", "one"))
    (tmp_path / "old" / "broken.yaml").write_text("a: [\n")
    (tmp_path / "new.yaml").write_text(_job("b", "two") + "---\n" + _job("c", "two"))
    assert cli.main(["validate", str(tmp_path / "new.yaml"), "--from", str(tmp_path / "old")]) == 1
    assert f"{tmp_path}/new.yaml:5:41: error: `queue` is immutable" in capsys.readouterr().out
    assert cli.main(["validate", str(tmp_path / "new.yaml"), "--from", str(tmp_path / "new.yaml")]) == 0


def test_an_old_file_that_cannot_be_read_ends_the_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "new.yaml").write_text(_job("a", "one"))
    (tmp_path / "old.yaml").write_text("a: [\n")
    assert cli.main(["validate", str(tmp_path / "new.yaml"), "--from", str(tmp_path / "old.yaml")]) == 2
    assert capsys.readouterr().err.startswith(f"jobspec: --from {tmp_path}/old.yaml:2:1: ")


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A repository whose last commit has a job in a folder, and whose working tree another queue for it."""

    def git(*arguments: str) -> None:
        program("git", "-C", tmp_path, "-c", "user.name=a", "-c", "user.email=a@b", *arguments, check=True)

    git("init")
    (tmp_path / "jobs" / ".hidden").mkdir(parents=True)
    (tmp_path / "jobs" / "ä b.yaml").write_text(_job("a", "one"))
    (tmp_path / "jobs" / "notes.txt").write_text(_job("a", "other"))
    (tmp_path / "jobs" / "latin-1.yaml").write_bytes("# ä\n".encode("latin-1"))
    (tmp_path / "jobs" / ".hidden" / "job.yaml").write_text(_job("a", "other"))
    git("add", ".")
    git("commit", "-m", "a job")
    (tmp_path / "jobs" / "ä b.yaml").write_text(_job("a", "two"))
    (tmp_path / "jobs" / "latin-1.yaml").unlink()
    (tmp_path / "jobs" / "new.yaml").write_text(_job("b", "two"))
    return tmp_path


@pytest.mark.parametrize("path", ["jobs", "jobs/ä b.yaml", "."])
def test_old_objects_are_found_at_a_git_ref(path: str, repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["validate", str(repository / path), "--from-ref", "HEAD"]) == 1
    (reported,) = [line for line in capsys.readouterr().out.splitlines() if " error: " in line]
    assert 'ä b.yaml:5:41: error: `queue` is immutable, and was the string "one"' in reported


def test_a_file_that_was_not_there_holds_new_objects(repository: Path) -> None:
    assert cli.main(["validate", str(repository / "jobs" / "new.yaml"), "--from-ref", "HEAD"]) == 0


@pytest.mark.parametrize(
    ("arguments", "reported"),
    [
        (("jobs", "--from-ref", "nowhere"), "jobspec: --from-ref nowhere is not a ref of "),
        (("jobs", "--from-ref=--help"), "jobspec: --from-ref --help is not a ref of "),
        (("-", "--from-ref", "HEAD"), "jobspec: --from-ref: standard input is not a file of a Git repository"),
    ],
)
def test_what_git_cannot_give_ends_the_run(
    arguments: tuple[str, ...], reported: str, repository: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(repository)
    assert cli.main(["validate", *arguments]) == 2
    assert capsys.readouterr().err.startswith(reported)


# --- against a server, in a namespace of its own ---


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    yield from servers.find("PyTorchJob", "TrainJob", "TrainingRuntime", "ClusterTrainingRuntime", "JobSet")


@pytest.fixture
def namespace(server: Server) -> Iterator[str]:
    with updates.namespace(server) as name:
        yield name


_LEFT_OUT = (
    # objects that a server of the newest release does not take, or not with these identities, or that are in no namespace, or are applied
    *("builtin", "crd", "identity", "job-1.35", "job-1.36", "kept", "pod-applied", "trainjob-2.1"),
    # what tests/live/test_workloads_equal_server.py compares: two tests at once would want the same node ports
    *("job", "service", "workloads"),
)


@pytest.mark.parametrize("path", [case for case in CASES if case.stem not in _LEFT_OUT], ids=lambda path: path.stem)
def test_a_server_says_the_same_to_each_case(path: Path, server: Server, namespace: str, tmp_path: Path) -> None:
    case = path.read_text()
    before, after = (documents(state, path.name) for state in states(case))
    stored = {(document.kind, document.name): OnServer(server, document, namespace) for document in before}
    assert [each.refusal for each in stored.values() if each.refusal] == []
    refused = {each.document for each in _judge(case, tmp_path)}
    for document in after:
        if (document.kind, document.name) in stored:
            answer = stored[document.kind, document.name].update(document.data)
            assert answer.accepted == (document.index not in refused), f"{document.kind} {document.name}: {answer.message}"


@pytest.mark.slow
def test_a_server_says_the_same_to_mutants(server: Server, namespace: str, tmp_path: Path) -> None:
    made = updates.mutants(server, namespace, Random(seed()))
    assert len(made) > 500
    assert report(updates.finds(made, tmp_path)) == ""


@pytest.mark.slow
def test_a_server_says_the_same_to_generated_updates(server: Server, namespace: str, tmp_path: Path) -> None:
    assert report(updates.finds(updates.generated(server, namespace, Random(seed())), tmp_path)) == ""
