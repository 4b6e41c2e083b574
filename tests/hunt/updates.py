"""Updates at random: `validate --from` and a server that has the old object say the same to the new one."""

import json
import re
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from random import Random, SystemRandom
from typing import Any

from jobspec.diagnostics.diagnostic import has_error
from jobspec.documents.document import Document
from jobspec.documents.reader import read
from jobspec.schemas import shapes
from jobspec.world.world import Cluster, StoredObjects
from tests.agreement.corpus import ENDLESS
from tests.hunt.finds import Find
from tests.support.checking import result
from tests.support.mutants import mutant
from tests.support.reference import folder
from tests.support.ruled import MAKERS
from tests.support.server import PLURALS, PODS, STRICT, WORKLOADS, Answer, Server, target

_KINDS = ("JobSet", "PyTorchJob", "TrainJob", "TrainingRuntime")
_ONLY_THE_CLUSTER_KNOWS = "only dynamically provisioned pvc can be resized"

Update = tuple[str, "OnServer"]
"""The text of a new state, and the object that it is one of."""


@contextmanager
def namespace(server: Server) -> Iterator[str]:
    """A namespace of its own for a while."""
    name = f"jobspec-{SystemRandom().randrange(2**32):x}"
    assert server.has_namespace(name)
    try:
        yield name
    finally:
        server.call("DELETE", f"/api/v1/namespaces/{name}")


class OnServer:
    """An object on the server, and the document that it was made from."""

    def __init__(self, server: Server, document: Document, namespace: str) -> None:
        self.document = document
        self._server = server
        self._place = {**PLURALS, **WORKLOADS, "Pod": PODS}[document.kind].format(namespace)
        self._path = f"{self._place}/{document.name}"
        self._namespace = namespace
        made = server.call("POST", self._place + "?fieldValidation=Strict", json_of(self._placed(document.data)))
        self.refusal = made.message
        if made.accepted and document.kind == "PersistentVolumeClaim":
            self._give_status(document.data.get("status") or _bound(document.data))
        if made.accepted and document.kind == "Job" and document.data.get("status"):
            self._give_status(document.data["status"])
        self._version = server.get(self._path)["metadata"]["resourceVersion"] if made.accepted else ""

    def read(self) -> Document:
        """The object as the server has it."""
        return documents(json_of(self._server.get(self._path)), "stored.yaml")[0]

    def update(self, data: dict[str, Any]) -> Answer:
        """The reply to a dry update; a custom resource's needs to say of which state."""
        path = f"{self._path}{STRICT}"
        placed = self._placed(self._with_generated(data) if self.document.kind == "Job" else data)
        if isinstance(placed.get("metadata"), dict):
            said = placed["metadata"].get("resourceVersion")
            placed["metadata"] = {**placed["metadata"], "resourceVersion": self._version if said in (None, "") else said}
        answer = self._server.call("PUT", path, json_of(placed))
        return Answer(200) if _ONLY_THE_CLUSTER_KNOWS in answer.message else answer

    def _with_generated(self, data: dict[str, Any]) -> dict[str, Any]:
        """A Job with what the server wrote into it at first, and neither state says, as an apply keeps it."""
        stored, spec = self._server.get(self._path)["spec"], data.get("spec")
        if not isinstance(spec, dict):
            return data
        kept = {}
        if "completions" in stored and "completions" not in self.document.data["spec"]:
            kept["completions"] = stored["completions"]
        if stored.get("manualSelector"):
            return {**data, "spec": {**kept, **spec}}
        template = spec.get("template") if isinstance(spec.get("template"), dict) else {}
        metadata = template.get("metadata") if isinstance(template.get("metadata"), dict) else {}
        labels = {
            name: each for name, each in stored["template"]["metadata"]["labels"].items() if name.endswith(("controller-uid", "job-name"))
        }
        labelled = {**template, "metadata": {**metadata, "labels": {**labels, **(metadata.get("labels") or {})}}}
        own = spec.get("selector")
        selector = {**stored["selector"], **(own or {})} if own is None or isinstance(own, dict) else own
        return {**data, "spec": {**kept, **spec, "selector": selector, "template": labelled}}

    def _give_status(self, status: dict[str, Any]) -> None:
        answer = self._server.call("PUT", f"{self._path}/status", json.dumps({**self._server.get(self._path), "status": status}))
        assert answer.accepted, answer.message

    def _placed(self, data: dict[str, Any]) -> dict[str, Any]:
        """The object in this test's namespace, if it is such as can be."""
        meta = data.get("metadata")
        if isinstance(meta, dict) and isinstance(meta.get("namespace"), str):
            return {**data, "metadata": {**meta, "namespace": self._namespace}}
        return {**data}


def json_of(data: dict[str, Any]) -> str:
    """JSON that is YAML too, which has no pairs of escapes for one character."""
    return json.dumps(data, ensure_ascii=False)


def _bound(claim: dict[str, Any]) -> dict[str, Any]:
    """The status that a claim without one is taken to have."""
    return {"phase": "Bound", "capacity": {"storage": claim["spec"]["resources"]["requests"]["storage"]}}


def documents(text: str, name: str) -> list[Document]:
    """The documents of a text; none where it has a mistake of YAML."""
    found, problems = read(text, file=name)
    return [] if problems else found


def mutants(server: Server, namespace: str, random: Random, *, count: int = 1000) -> list[Update]:
    """Mutants of stored probes and cases that still are the same objects."""
    bases = _bases(server, namespace, random)
    assert {stored.document.kind for _, stored in bases} == set(_KINDS)
    made = [(_mutant(*base, random), base[1]) for base in random.choices(bases, k=count)]
    return [(text, stored) for text, stored in made if _is_update(text, stored)]


def generated(server: Server, namespace: str, random: Random, *, objects: int = 10) -> list[Update]:
    """New states of objects around the rules of our kinds."""
    return [
        (json.dumps(_named(maker(random), stored.document.name)), stored)
        for maker in MAKERS
        for stored in (_first_stored(server, namespace, maker, f"{maker.__name__}-{number}", random) for number in range(objects))
        for _ in range(12)
    ]


def finds(updates: list[Update], place: Path) -> Iterator[Find]:
    """The updates on which the server and we disagree."""
    with ThreadPoolExecutor(6) as pool:
        for found in pool.map(lambda each: _find(*each[1], place / f"{each[0]}.yaml"), enumerate(updates)):
            yield from found


def _find(text: str, stored: OnServer, file: Path) -> list[Find]:
    (document,) = documents(text, "new.yaml")
    file.write_text(text)
    ours = result(file, Cluster(target(), webhooks=False, stored=StoredObjects([stored.document]))).diagnostics
    answer = stored.update(document.data)
    if answer.accepted == (not has_error(ours)):  # a warning is about later applies
        return []
    return [Find(text, str(ours), str(answer), "control-plane", answer.accepted, stored=json_of(stored.document.data))]


def _bases(server: Server, namespace: str, random: Random) -> list[tuple[str, OnServer]]:
    """Some probes and cases of every kind with a namespace, as far as the server takes them."""
    paths = [
        *folder("golden", "probes").rglob("*.yaml"),
        *folder("corpus", "companions").rglob("*.yaml"),
        *folder("corpus", "manifests").rglob("*.yaml"),
    ]
    texts = [text for path in sorted(paths) for text in re.split(r"^---\n", path.read_text(), flags=re.MULTILINE) if len(text) < 6000]
    bases: list[tuple[str, OnServer]] = []
    for kind in _KINDS:
        ours = [text for text in texts if re.search(rf"^kind: {kind}$", text, re.MULTILINE)]
        for text in random.sample(ours, min(len(ours), 12)):
            for document in documents(text, "base.yaml")[:1]:
                stored = OnServer(server, document, namespace) if document.kind == kind and document.name else None
                if stored and not stored.refusal:
                    bases.append((text, stored))
    return bases


def _first_stored(server: Server, namespace: str, maker: Callable[[Random], dict[str, Any]], name: str, random: Random) -> OnServer:
    """The first generated object that the server takes."""
    while True:
        (document,) = documents(json.dumps(_named(maker(random), name)), "old.yaml")
        stored = OnServer(server, document, namespace)
        if not stored.refusal:
            return stored


def _named(data: dict[str, Any], name: str) -> dict[str, Any]:
    return {**data, "metadata": {"name": name}}


def _mutant(text: str, stored: OnServer, random: Random) -> str:
    shape = shapes.load(stored.document.api_version, stored.document.kind, target())
    assert shape
    made = mutant(text, shape, random)
    return made if not ENDLESS.search(made) else text


def _is_update(text: str, stored: OnServer) -> bool:
    """Whether a mutant still is the stored object, and not so broken that nobody can decode it."""
    found = documents(text, "new.yaml")
    return len(found) == 1 and isinstance(found[0].data, dict) and _identity(found[0]) == _identity(stored.document)


def _identity(document: Document) -> tuple[str, str, str, str]:
    meta = document.data.get("metadata") if isinstance(document.data, dict) else None
    said = {field: meta.get(field) for field in ("uid", "resourceVersion") if meta.get(field)} if isinstance(meta, dict) else {}
    return document.api_version, document.kind, document.name, f"{document.namespace}{said}"
