"""Updates: what a server says to a new state of an object that it has."""

import json
import re
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from random import Random, SystemRandom
from typing import Any

import pytest

from jobspec import cli, shapes
from jobspec.cluster import Cluster, StoredObjects
from jobspec.commands.stored import from_files
from jobspec.diagnostics import Diagnostic
from jobspec.documents.document import Document
from jobspec.documents.reader import read
from jobspec.targets import choose
from tests.agreement.corpus import ENDLESS
from tests.support import server as servers
from tests.support.cases import assert_reported, expectations, states, target_of
from tests.support.checking import result
from tests.support.mutants import mutant
from tests.support.processes import program
from tests.support.reference import ROOT, folder
from tests.support.ruled import MAKERS
from tests.support.seeds import settled_seed
from tests.support.server import PLURALS, Answer, Server

CASES = sorted((ROOT / "tests" / "cases" / "updates").glob("*.yaml"))
_TARGET = choose([])
_MUTANTS = 1000


def _judge(case: str, place: Path) -> list[Diagnostic]:
    before, after = states(case)
    (place / "before.yaml").write_text(before)
    (place / "after.yaml").write_text(after)
    cluster = Cluster(target_of(case), webhooks=False, stored=from_files(str(place / "before.yaml")))
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
    assert f"{tmp_path}/new.yaml:5:41: error: `queue` cannot change" in capsys.readouterr().out
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
    (told,) = [line for line in capsys.readouterr().out.splitlines() if " error: " in line]
    assert 'ä b.yaml:5:41: error: `queue` cannot change once the object exists, and was the text "one"' in told


def test_a_file_that_was_not_there_holds_new_objects(repository: Path) -> None:
    assert cli.main(["validate", str(repository / "jobs" / "new.yaml"), "--from-ref", "HEAD"]) == 0


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("jobs", "--from-ref", "nowhere"), "jobspec: --from-ref nowhere is no ref of "),
        (("jobs", "--from-ref=--help"), "jobspec: --from-ref --help is no ref of "),
        (("-", "--from-ref", "HEAD"), "jobspec: --from-ref: standard input is no file of a Git repository"),
    ],
)
def test_what_git_cannot_give_ends_the_run(
    arguments: tuple[str, ...], told: str, repository: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(repository)
    assert cli.main(["validate", *arguments]) == 2
    assert capsys.readouterr().err.startswith(told)


# --- against a server, in a namespace of its own ---


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    for server in servers.find():
        server.needs(*PLURALS)
        yield server


@pytest.fixture
def namespace(server: Server) -> Iterator[str]:
    name = f"jobspec-{SystemRandom().randrange(2**32):x}"
    assert server.has_namespace(name)
    yield name
    server.call("DELETE", f"/api/v1/namespaces/{name}")


class _Stored:
    """An object on the server, and the document that it was made from."""

    def __init__(self, server: Server, document: Document, namespace: str) -> None:
        self.document = document
        self._server = server
        self._place = PLURALS[document.kind].format(namespace)
        self._path = f"{self._place}/{document.name}"
        self._namespace = namespace
        made = server.call("POST", self._place + "?fieldValidation=Strict", _json(self._placed(document.data)))
        self.refusal = made.message
        if made.accepted and document.kind == "PersistentVolumeClaim":
            self._give_status(document.data.get("status") or _bound(document.data))
        self._version = server.get(self._path)["metadata"]["resourceVersion"] if made.accepted else ""

    def update(self, data: dict[str, Any]) -> Answer:
        """The reply to a dry update; a custom resource's needs to say of which state."""
        path = f"{self._path}?dryRun=All&fieldValidation=Strict"
        placed = self._placed(data)
        if isinstance(placed.get("metadata"), dict):
            said = placed["metadata"].get("resourceVersion")
            placed["metadata"] = {**placed["metadata"], "resourceVersion": self._version if said in (None, "") else said}
        answer = self._server.call("PUT", path, _json(placed))
        return Answer(200) if _ONLY_THE_CLUSTER_KNOWS in answer.message else answer

    def _give_status(self, status: dict[str, Any]) -> None:
        answer = self._server.call("PUT", f"{self._path}/status", json.dumps({**self._server.get(self._path), "status": status}))
        assert answer.accepted, answer.message

    def _placed(self, data: dict[str, Any]) -> dict[str, Any]:
        """The object in this test's namespace, if it is such as can be."""
        meta = data.get("metadata")
        if isinstance(meta, dict) and isinstance(meta.get("namespace"), str):
            return {**data, "metadata": {**meta, "namespace": self._namespace}}
        return {**data}


def _json(data: dict[str, Any]) -> str:
    """JSON that is YAML too, which has no pairs of escapes for one character."""
    return json.dumps(data, ensure_ascii=False)


def _bound(claim: dict[str, Any]) -> dict[str, Any]:
    """The status that a claim without one is taken to have."""
    return {"phase": "Bound", "capacity": {"storage": claim["spec"]["resources"]["requests"]["storage"]}}


_ONLY_THE_CLUSTER_KNOWS = "only dynamically provisioned pvc can be resized"


def _documents(text: str, name: str) -> list[Document]:
    documents, problems = read(text, file=name)
    return [] if problems else documents


#: Objects that a server of the newest release does not take, or not with these identities, or that are in no namespace.
_NOT_TO_BE_STORED = ("crd", "identity", "kept", "trainjob-2.1")


@pytest.mark.parametrize("path", [case for case in CASES if case.stem not in _NOT_TO_BE_STORED], ids=lambda path: path.stem)
def test_a_server_says_the_same_to_each_case(path: Path, server: Server, namespace: str, tmp_path: Path) -> None:
    case = path.read_text()
    before, after = (_documents(state, path.name) for state in states(case))
    stored = {document.name: _Stored(server, document, namespace) for document in before}
    assert [each.refusal for each in stored.values() if each.refusal] == []
    refused = {each.document for each in _judge(case, tmp_path)}
    for document in after:
        if document.name in stored:
            answer = stored[document.name].update(document.data)
            assert answer.accepted == (document.index not in refused), f"{document.kind} {document.name}: {answer.message}"


def _bases(server: Server, namespace: str, random: Random) -> list[tuple[str, _Stored]]:
    """Some probes and cases of every kind with a namespace, as far as the server takes them."""
    paths = [
        *folder("golden", "probes").rglob("*.yaml"),
        *folder("corpus", "companions").rglob("*.yaml"),
        *folder("corpus", "manifests").rglob("*.yaml"),
    ]
    texts = [text for path in sorted(paths) for text in re.split(r"^---\n", path.read_text(), flags=re.MULTILINE) if len(text) < 6000]
    bases: list[tuple[str, _Stored]] = []
    for kind in sorted(set(PLURALS) - {"ClusterTrainingRuntime"}):
        ours = [text for text in texts if re.search(rf"^kind: {kind}$", text, re.MULTILINE)]
        for text in random.sample(ours, min(len(ours), 12)):
            for document in _documents(text, "base.yaml")[:1]:
                stored = _Stored(server, document, namespace) if document.kind == kind and document.name else None
                if stored and not stored.refusal:
                    bases.append((text, stored))
    return bases


@pytest.mark.slow
def test_a_server_says_the_same_to_mutants(server: Server, namespace: str, tmp_path: Path) -> None:
    random = Random(settled_seed())
    bases = _bases(server, namespace, random)
    assert {stored.document.kind for _, stored in bases} == set(PLURALS) - {"ClusterTrainingRuntime"}
    mutants = [(_mutant(*base, random), base[1]) for base in random.choices(bases, k=_MUTANTS)]
    updates = [(text, stored) for text, stored in mutants if _is_update(text, stored)]
    assert len(updates) > _MUTANTS / 2
    differences = _differences(updates, tmp_path)
    assert not differences, "\n".join(differences)


@pytest.mark.slow
def test_a_server_says_the_same_to_generated_updates(server: Server, namespace: str, tmp_path: Path) -> None:
    random = Random(settled_seed())
    pairs = [
        (json.dumps(_named(maker(random), stored.document.name)), stored)
        for maker in MAKERS
        for stored in (_first_stored(server, namespace, maker, f"{maker.__name__}-{number}", random) for number in range(10))
        for _ in range(12)
    ]
    differences = _differences(pairs, tmp_path)
    assert not differences, "\n".join(differences)


def _first_stored(server: Server, namespace: str, maker: Callable[[Random], dict[str, Any]], name: str, random: Random) -> _Stored:
    """The first generated object that the server takes."""
    while True:
        (document,) = _documents(json.dumps(_named(maker(random), name)), "old.yaml")
        stored = _Stored(server, document, namespace)
        if not stored.refusal:
            return stored


def _named(data: dict[str, Any], name: str) -> dict[str, Any]:
    return {**data, "metadata": {"name": name}}


def _mutant(text: str, stored: _Stored, random: Random) -> str:
    shape = shapes.load(stored.document.api_version, stored.document.kind, _TARGET)
    assert shape
    made = mutant(text, shape, random)
    return made if not ENDLESS.search(made) else text


def _is_update(text: str, stored: _Stored) -> bool:
    """Whether a mutant still is the stored object, and not so broken that nobody can decode it."""
    documents = _documents(text, "new.yaml")
    return len(documents) == 1 and isinstance(documents[0].data, dict) and _identity(documents[0]) == _identity(stored.document)


def _differences(updates: list[tuple[str, _Stored]], place: Path) -> list[str]:
    """How ours and the server's answers to new states differ."""
    with ThreadPoolExecutor(6) as pool:
        asked = [pool.submit(_difference, *update, place / f"{number}.yaml") for number, update in enumerate(updates)]
        return [told for each in asked if (told := each.result())]


def _difference(text: str, stored: _Stored, file: Path) -> str:
    (document,) = _documents(text, "new.yaml")
    file.write_text(text)
    ours = result(file, Cluster(_TARGET, webhooks=False, stored=StoredObjects([stored.document]))).diagnostics
    answer = stored.update(document.data)
    if answer.accepted == (not ours):
        return ""
    return f"{text}\nwas: {json.dumps(stored.document.data)}\nours: {ours}\nserver: {answer.code} {answer.message[:400]}\n"


def _identity(document: Document) -> tuple[str, str, str, str]:
    meta = document.data.get("metadata") if isinstance(document.data, dict) else None
    said = {field: meta.get(field) for field in ("uid", "resourceVersion") if meta.get(field)} if isinstance(meta, dict) else {}
    return document.api_version, document.kind, document.name, f"{document.namespace}{said}"
