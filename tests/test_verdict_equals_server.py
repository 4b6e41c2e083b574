"""`validate` says what a real API server says, to manifests of all sorts and to thousands of mutants of them."""

import os
import re
import sys
import textwrap
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from random import Random, SystemRandom

import pytest

from jobspec import shapes
from jobspec.diagnostics import Diagnostic
from jobspec.documents.files import Found
from jobspec.judge import World
from jobspec.manifests import Checked, check
from jobspec.targets import KINDS, choose
from tests import server as servers
from tests.mutants import TEXTS, mutant
from tests.reference import ROOT, folder
from tests.server import PLURALS, Answer, Server

_TARGET = choose([])
_VERSIONS = {kind: version for version, kind in KINDS if kind in PLURALS}
_KIND = re.compile(rf"^kind: *[\"']?({'|'.join(_VERSIONS)})[\"']? *(?:#.*)?$", re.MULTILINE)
_START = re.compile(r"^(?=---(?:\s|$))", re.MULTILINE)
_NAMESPACE = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")
_MUTANTS = 3000

#: A quantity with which a server needs minutes, where Go code looks at it.
ENDLESS = re.compile(r"\d[eE][+-]?\d{7}")

#: What we refuse on purpose although the server takes it, by rule.
_DELIBERATE = {
    "unknown-tag": "the server takes `!!python/...`, `!!set` and the like for text or nothing; nobody can mean that",
    "too-deep": "the server has no use for 128 levels either, it only does not count them",
    "unknown-kind": "a mutating webhook writes back the kind, which the server takes from the URL, and a file does not have",
    "not-a-manifest": "the server takes a missing `kind` of a claim from the URL, which a file does not have",
}


@dataclass(frozen=True)
class Case:
    """One document in its own text, and the kind that it is sent as."""

    name: str
    kind: str
    text: str


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    for server in servers.find():
        server.needs(*_VERSIONS)
        yield server


def _documents(paths: Iterable[Path]) -> Iterator[Case]:
    """The documents of files that are, or were meant to be, of a kind that jobspec has a schema of."""
    for path in paths:
        for number, text in enumerate(_START.split(path.read_text())):
            found = _KIND.search(text)
            if found:
                yield Case(f"{path.name}[{number}]", found[1], re.sub(r"\A---.*\n", "", text))


def _real() -> list[Case]:
    named = sorted(folder("golden", "probes").rglob("*.yaml"))
    walked = sorted(each for part in ("manifests", "companions") for each in folder("corpus", part).rglob("*.y*ml"))
    return [*_documents(named), *_documents(walked)]


def _ours() -> list[Case]:
    return list(_documents(sorted((ROOT / "tests" / "cases" / "validate").glob("*.yaml"))))


def _pages() -> list[Case]:
    """What stands on web pages: blocks that begin like a manifest and go on as long as they stand as deep."""
    cases = []
    for page in sorted(folder("seeds").glob("*.txt")):
        text = page.read_text()
        for start in re.finditer(r"^( *)apiVersion:.*\n(?:(?:\1.*| *)\n)*", text, re.MULTILINE):
            block = textwrap.dedent(start[0])
            cases += [Case(f"{page.name}@{start.start()}", found[1], block) for found in [_KIND.search(block)] if found]
    return cases


_PLACES = """\
apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata: {{name: a, annotations: {{{annotation}}}}}
spec:
  elasticPolicy: {{{integer}}}
  runPolicy: {{schedulingPolicy: {{minResources: {{{quantity}}}}}}}
  pytorchReplicaSpecs: {{}}
"""


def _scalars() -> list[Case]:
    """Every odd text at a place for text, for an integer, for a quantity, and as a key."""
    cases = []
    nothing = dict.fromkeys(("annotation", "integer", "quantity"), "")
    for text in sorted({text for pool in ("numbers", "words", "tagged", "quantities") for text in TEXTS[pool]}):
        for place, content in (
            ("annotation", f"a: {text}"),
            ("annotation", f"{text}: a"),
            ("integer", f"maxReplicas: {text}"),
            ("quantity", f"a: {text}"),
        ):
            cases.append(Case(f"{content} ({place})", "PyTorchJob", _PLACES.format_map({**nothing, place: content})))
    return cases


def _mutants(bases: list[Case], seed: int) -> list[Case]:
    random = Random(seed)
    small = [base for base in bases if len(base.text) < 6000]
    by_kind = {kind: [base for base in small if base.kind == kind] for kind in _VERSIONS}
    cases: list[Case] = []
    while len(cases) < _MUTANTS:
        kind = random.choice(list(by_kind))
        base = random.choice(by_kind[kind])
        shape = shapes.load(_VERSIONS[kind], kind, _TARGET)
        assert shape
        text = mutant(base.text, shape, random)
        if kind == "PersistentVolumeClaim" and ENDLESS.search(text):
            continue
        cases.append(Case(f"mutant {len(cases)} of {base.name} (seed {seed})", kind, text))
    return cases


def _disagreements(server: Server, cases: list[Case], place: Path) -> list[str]:
    judged = [_check(case, place / "manifest.yaml") for case in cases]
    with ThreadPoolExecutor(6) as pool:
        answers = pool.map(
            lambda pair: server.judge(pair[0].kind, pair[0].text, namespace=_namespace(pair[1])), zip(cases, judged, strict=True)
        )
        told = zip(cases, judged, answers, strict=True)
        return [_tell(case, checked, answer) for case, checked, answer in told if not _agree(checked, answer)]


def _check(case: Case, file: Path) -> Checked:
    file.write_bytes(case.text.encode())
    return check(Found(str(file), named=True), _TARGET, world=World(webhooks=False))


def _namespace(checked: Checked) -> str:
    name = checked.documents[0].namespace if checked.documents else ""
    return name if _NAMESPACE.fullmatch(name) else "default"


def _errors(checked: Checked) -> list[Diagnostic]:
    """What stands against the first document, the only one that the server reads."""
    return [each for each in checked.report.diagnostics if each.document in (0, None) and each.severity == "error"]


def _agree(checked: Checked, answer: Answer) -> bool:
    errors = _errors(checked)
    if answer.accepted and errors:
        return all(each.rule in _DELIBERATE for each in errors)
    return answer.accepted == (not errors and bool(checked.report.documents))


def _tell(case: Case, checked: Checked, answer: Answer) -> str:
    return f"{case.name}\n  ours: {_errors(checked)}\n  server: {answer.code} {answer.message[:300]}\n{textwrap.indent(case.text, '    ')}"


def test_manifests_of_real_projects(server: Server, tmp_path: Path) -> None:
    cases = _real()
    assert len(cases) > 150
    assert _disagreements(server, cases, tmp_path) == []


def test_our_own_cases(server: Server, tmp_path: Path) -> None:
    cases = _ours()
    assert len(cases) > 50
    assert _disagreements(server, cases, tmp_path) == []


def test_manifests_on_web_pages(server: Server, tmp_path: Path) -> None:
    cases = _pages()
    assert len(cases) >= 5
    assert _disagreements(server, cases, tmp_path) == []


@pytest.mark.slow
def test_every_odd_scalar_at_every_kind_of_place(server: Server, tmp_path: Path) -> None:
    assert _disagreements(server, _scalars(), tmp_path) == []


@pytest.mark.slow
def test_mutants(server: Server, tmp_path: Path) -> None:
    seed = int(os.environ.get("JOBSPEC_TEST_SEED") or SystemRandom().randrange(2**32))
    sys.stdout.write(f"JOBSPEC_TEST_SEED={seed}\n")
    rare = [case for case in _ours() if case.kind not in ("PyTorchJob", "PersistentVolumeClaim")]
    disagreements = _disagreements(server, _mutants([*_real(), *rare], seed), tmp_path)
    assert disagreements == [], "\n".join(disagreements)
