"""`validate` says what a real server with real operators and their webhooks says: manifests, mutants of them, other ways to write them."""

import os
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from random import Random, SystemRandom
from typing import Any

import pytest
import yaml

from jobspec import shapes
from jobspec.documents.files import Found
from jobspec.judge import World
from jobspec.manifests import Checked, check
from jobspec.runtimes.runtime import shipped
from jobspec.targets import choose
from tests import test_verdict_equals_server as plain
from tests.mutants import mutant
from tests.server import Answer, Server
from tests.test_verdict_equals_server import Case

_TARGET = choose(["training-operator=1.8.1", "trainer=2.0.0", "jobset=0.8.2"])
_VERSIONS = {kind: version for kind, version in plain._VERSIONS.items() if kind != "PersistentVolumeClaim"}
_RUNTIMES = "/apis/trainer.kubeflow.org/v1alpha1/clustertrainingruntimes/{}?fieldManager=tests&force=true"
_MUTANTS = 1500
_RESTYLED = 400


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    """A server with the operators of the target, to which the trainer's own runtimes belong."""
    place = os.environ.get("JOBSPEC_TEST_OPERATORS_KUBECONFIG")
    if not place:
        pytest.skip("JOBSPEC_TEST_OPERATORS_KUBECONFIG names no kubeconfig of a server with operators (see CONTRIBUTING.md)")
    found = Server(Path(place))
    found.needs(*_VERSIONS)
    for name, runtime in shipped(_TARGET).items():
        answer = found.apply(_RUNTIMES.format(name), yaml.safe_dump(runtime))
        assert answer.accepted, answer.message
    yield found
    found.close()


def _bases() -> list[Case]:
    return [case for case in plain._real() if case.kind in _VERSIONS]


def _small(cases: list[Case]) -> list[Case]:
    return [case for case in cases if len(case.text) < 6000]


def _seed() -> int:
    seed = int(os.environ.get("JOBSPEC_TEST_SEED") or SystemRandom().randrange(2**32))
    sys.stdout.write(f"JOBSPEC_TEST_SEED={seed}\n")
    return seed


def _mutants(seed: int) -> Iterator[Case]:
    """Mistakes at one place, and at two at once."""
    random, bases = Random(seed), _small(_bases())
    by_kind = {kind: [base for base in bases if base.kind == kind] for kind in _VERSIONS}
    for number in range(_MUTANTS):
        kind = random.choice([kind for kind in by_kind if by_kind[kind]])
        base = random.choice(by_kind[kind])
        shape = shapes.load(_VERSIONS[kind], kind, _TARGET)
        assert shape
        text = mutant(base.text, shape, random)
        if not plain.ENDLESS.search(text):
            yield Case(f"mutant {number} of {base.name} (seed {seed})", kind, text)


def _restyled(seed: int) -> Iterator[Case]:
    """The same manifests in other words: quotes, blocks, flow style, anchors, comments, CRLF."""
    random, bases = Random(seed), _small(_bases())
    for number in range(_RESTYLED):
        base = random.choice(bases)
        try:
            node = yaml.compose(base.text, yaml.CSafeLoader)
        except yaml.YAMLError:
            continue
        _restyle(node, random)
        text = yaml.serialize(node, width=random.choice((20, 80, 1000)), allow_unicode=random.random() < 0.5)
        lines = [f"{line}  # {number}" if random.random() < 0.1 and _takes_comment(line) else line for line in text.splitlines()]
        yield Case(f"{base.name} in another style (seed {seed})", base.kind, random.choice(("\n", "\r\n")).join([*lines, ""]))


def _restyle(node: Any, random: Random) -> None:
    if isinstance(node, yaml.ScalarNode):
        if node.tag == "tag:yaml.org,2002:str":
            node.style = random.choice((None, '"', "'", "|", ">"))
        return
    node.flow_style = random.random() < 0.2
    for child in [each for pair in node.value for each in pair] if isinstance(node, yaml.MappingNode) else node.value:
        _restyle(child, random)


def _takes_comment(line: str) -> bool:
    """Whether a line ends outside of any text: a key of a block."""
    return line.endswith(":") and not set(line) & set("\"'|>{[")


def _check(case: Case, file: Path) -> Checked:
    file.write_bytes(case.text.encode())
    return check(Found(str(file), named=True), _TARGET, world=World(closed=True))


def _disagreements(server: Server, cases: list[Case], place: Path) -> list[str]:
    judged = [_check(case, place / "manifest.yaml") for case in cases]
    with ThreadPoolExecutor(6) as pool:
        asked = zip(cases, judged, strict=True)
        answers = pool.map(lambda pair: server.judge(pair[0].kind, pair[0].text, namespace=plain._namespace(pair[1])), asked)
        told = zip(cases, judged, map(_as_new, answers), strict=True)
        return [plain._tell(case, checked, answer) for case, checked, answer in told if not plain._agree(checked, answer)]


def _as_new(answer: Answer) -> Answer:
    """A name that is taken is found out last: nothing else stands against the object."""
    return Answer(201) if answer.code == 409 and "already exists" in answer.message else answer


def test_manifests_of_real_projects(server: Server, tmp_path: Path) -> None:
    cases = _bases()
    assert len(cases) > 150
    disagreements = _disagreements(server, cases, tmp_path)
    assert disagreements == [], "\n".join(disagreements)


def test_other_ways_to_write_them(server: Server, tmp_path: Path) -> None:
    disagreements = _disagreements(server, list(_restyled(_seed())), tmp_path)
    assert disagreements == [], "\n".join(disagreements)


def test_mutants(server: Server, tmp_path: Path) -> None:
    disagreements = _disagreements(server, list(_mutants(_seed())), tmp_path)
    assert disagreements == [], "\n".join(disagreements)
