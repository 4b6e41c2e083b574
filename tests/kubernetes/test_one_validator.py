"""The same verdict from our own schemas and from the same CRDs given as files, problem by problem.

What comes from other releases may differ, hints and words about fields alike, since no CRD knows of them; and so may hints that come
from the order in which people write fields, which CRDs do not tell.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import pytest

from jobspec.apis.kinds import MODELS
from jobspec.apis.releases import RELEASES, choose
from jobspec.diagnostics.places import Mark, marks_at
from jobspec.documents.decoding import decode
from jobspec.documents.document import Document
from jobspec.documents.reader import read
from jobspec.kubernetes.custom_kinds import CustomKinds
from jobspec.kubernetes.verdict import Verdict, verdict
from jobspec.models import ClusterTrainingRuntime, JobSet, PyTorchJob, TrainingRuntime, TrainJob
from jobspec.schemas import shapes
from jobspec.schemas.files import crd
from tests.support.mutants import mutant
from tests.support.reference import ROOT, folder
from tests.support.ruled import MAKERS
from tests.support.seeds import seed

Target = Mapping[str, str]

_MODELS = (PyTorchJob, TrainJob, TrainingRuntime, ClusterTrainingRuntime, JobSet)
_RELEASES = [f"{component}={release}" for component in ("training-operator", "trainer", "jobset") for release in RELEASES[component]]
_MUTANTS = 600
_PAIRS = 400
_START = re.compile(r"^---(?:\s.*)?\n", re.MULTILINE)


def _kinds_of(component: str) -> list[tuple[str, str]]:
    return [kind for kind, owner in MODELS.items() if owner == component]


@cache
def _by_own_crds(wish: str) -> CustomKinds:
    """The kinds of a release by the CRDs that we write."""
    component, _, release = wish.partition("=")
    definitions = [crd(model, release) for model in _MODELS if model.RESOURCE.component == component]
    return CustomKinds([Document(each, marks_at(each, Mark("crd.json")), file="crd.json") for each in definitions])


@cache
def _by_upstream_crds(wish: str) -> CustomKinds:
    """The kinds of a release by upstream's CRDs."""
    component, _, release = wish.partition("=")
    files = sorted(folder("crds").glob(f"*@v{release}.yaml"))
    documents = [document for file in files for document in read(file.read_text(), file=file.name)[0]]
    ours = {(version.rpartition("/")[0], kind) for version, kind in _kinds_of(component)}
    named = {(each.data["spec"]["group"], each.data["spec"]["names"]["kind"]): each for each in documents}
    assert ours & named.keys(), f"no CRD of {wish}"
    return CustomKinds([each for name, each in named.items() if name in ours])


def _document(data: dict[str, Any], file: str = "object.json") -> Document:
    ((document,), problems) = read(json.dumps(data, ensure_ascii=False), file=file)
    assert problems == []
    return document


def _reported(found: Verdict) -> list[tuple[Any, ...]]:
    """Status, and what is said of each place; the words about unknown fields may name another release."""
    said = [(each.mark.line, each.field, each.rule, "" if each.rule == "unknown-field" else each.message) for each in found.diagnostics]
    return [(found.status,), *sorted(said)]


def _difference(document: Document, target: Target, kinds: CustomKinds, old: Document | None = None) -> str:
    ours, given = _reported(verdict(document, target, old=old)), _reported(verdict(document, target, custom_kinds=kinds, old=old))
    if ours == given:
        return ""
    left, right = [each for each in ours if each not in given], [each for each in given if each not in ours]
    return f"{document.file} {document.kind}: ours {left}, by the CRD {right}\n  {json.dumps(document.data)[:3000]}"


def _differences(documents: Iterable[Document], wish: str, kinds: CustomKinds) -> list[str]:
    target, ours = choose([wish]), _kinds_of(wish.partition("=")[0])
    mine = [document for document in documents if (document.api_version, document.kind) in ours]
    assert mine
    return [reported for document in mine if (reported := _difference(document, target, kinds))]


@cache
def _texts(*places: Path) -> list[tuple[str, str]]:
    """The documents of all manifests in folders, each as its file's name and its text."""
    files = [path for place in places for path in sorted(place.rglob("*.y*ml"))]
    texts = [(path.name, text) for path in files if isinstance(text := decode(path.read_bytes(), str(path)), str)]
    return [(name, part) for name, text in texts for part in _START.split(text)]


@cache
def _cases() -> list[Document]:
    places = [ROOT / "tests" / "cases" / part for part in ("validate", "updates", "guides", "admission")]
    return list(_documents(_texts(*places)))


@cache
def _public() -> list[Document]:
    """Public manifests, and what is in the records of real servers: manifests, and objects as they are stored."""
    manifests = [folder("corpus", "manifests"), folder("corpus", "companions"), folder("golden", "probes")]
    return [*_documents(_texts(*manifests)), *_recorded(folder("golden"))]


def _documents(texts: Iterable[tuple[str, str]]) -> Iterator[Document]:
    for name, text in texts:
        documents, problems = read(text, file=name)
        yield from documents if not problems else ()


def _recorded(golden: Path) -> Iterator[Document]:
    for path in sorted(golden.rglob("*.json")):
        for number, data in enumerate(_objects(json.loads(path.read_text()))):
            yield _document(data, f"{path.name}[{number}]")


def _objects(data: Any) -> Iterator[dict[str, Any]]:
    """The objects of our kinds in a record."""
    if isinstance(data, dict) and (data.get("apiVersion"), data.get("kind")) in MODELS and "metadata" in data:
        yield data
    elif isinstance(data, dict | list):
        for inner in data.values() if isinstance(data, dict) else data:
            yield from _objects(inner)


@pytest.mark.parametrize("wish", _RELEASES)
def test_cases(wish: str) -> None:
    differences = _differences(_cases(), wish, _by_own_crds(wish))
    assert differences == [], "\n".join(differences)


@pytest.mark.slow
@pytest.mark.parametrize("wish", _RELEASES)
def test_public_manifests_and_stored_objects(wish: str) -> None:
    kinds = _by_upstream_crds(wish)
    differences = _differences([*_cases(), *_public()], wish, kinds)
    assert differences == [], "\n".join(differences)


_OWN_KINDS = "|".join(kind for version, kind in MODELS if "." in version)
_OWN_KIND = re.compile(rf"\A(?:#.*\n)*apiVersion:.*\nkind: ({_OWN_KINDS})$", re.MULTILINE)


def _mutated(random: Random) -> Iterator[tuple[Document, Target, str]]:
    """Random changes of our cases, each for one release of its operator."""
    bases = [
        (name, text)
        for name, text in _texts(ROOT / "tests" / "cases" / "validate", ROOT / "tests" / "cases" / "guides")
        if len(text) < 6000 and _OWN_KIND.search(text)
    ]
    for _ in range(_MUTANTS):
        name, text = random.choice(bases)
        wish = random.choice(_RELEASES)
        documents, problems = read(text, file=name)
        kind = (documents[0].api_version, documents[0].kind) if documents and not problems else ("", "")
        if MODELS.get(kind) == wish.partition("=")[0]:
            target = choose([wish])
            shape = shapes.load(*kind, target)
            assert shape
            for each in _documents([(name, mutant(text, shape, random))]):
                if isinstance(each.data, dict) and (each.api_version, each.kind) == kind:
                    yield each, target, wish


def test_mutants() -> None:
    mutants = list(_mutated(Random(seed())))
    assert len(mutants) > _MUTANTS / 20
    differences = [reported for document, target, wish in mutants if (reported := _difference(document, target, _by_own_crds(wish)))]
    assert differences == [], "\n".join(differences)


def test_generated_updates() -> None:
    random = Random(seed())
    differences = []
    for _ in range(_PAIRS):
        maker = random.choice(MAKERS[:-1])
        old, new = (_document(maker(random)) for _ in range(2))
        component = MODELS[old.api_version, old.kind]
        wish = random.choice([each for each in _RELEASES if each.startswith(f"{component}=")])
        differences += [reported for reported in [_difference(new, choose([wish]), _by_own_crds(wish), old)] if reported]
    assert differences == [], "\n".join(differences)


def test_updates_to_mutants() -> None:
    stored = [each for each in _cases() if isinstance(each.data, dict)]
    differences = []
    for document, target, wish in _mutated(Random(seed() + 1)):
        old = next(each for each in stored if (each.file, each.kind) == (document.file, document.kind))
        differences += [reported for reported in [_difference(document, target, _by_own_crds(wish), old)] if reported]
    assert differences == [], "\n".join(differences)
