"""`validate` says what a real API server says, to manifests of all sorts and to thousands of mutants of them."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from jobspec.cluster import Cluster
from jobspec.targets import choose
from tests.agreement import corpus
from tests.agreement.corpus import VERSIONS, Case
from tests.agreement.live import Live
from tests.support import server as servers
from tests.support.mutants import TEXTS, Change, at_one_place, at_two_places, in_other_words, in_the_text
from tests.support.seeds import seed

_TARGET = choose([])
_MUTANTS: dict[Change, int] = {at_one_place: 1000, at_two_places: 700, in_the_text: 400, in_other_words: 250}


@pytest.fixture(scope="module")
def live() -> Iterator[Live]:
    for server in servers.find():
        server.needs(*VERSIONS)
        yield Live("control-plane", server, Cluster(_TARGET, webhooks=False))


def test_manifests_of_real_projects(live: Live, tmp_path: Path) -> None:
    cases = corpus.of_projects()
    assert len(cases) > 150
    assert live.disagreements(cases, tmp_path) == []


def test_our_own_cases(live: Live, tmp_path: Path) -> None:
    cases = corpus.our_own()
    assert len(cases) > 50
    assert live.disagreements(cases, tmp_path) == []


def test_manifests_on_web_pages(live: Live, tmp_path: Path) -> None:
    cases = corpus.of_web_pages()
    assert len(cases) >= 5
    assert live.disagreements(cases, tmp_path) == []


_PLACES = """\
apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata: {{name: a, annotations: {{{annotation}}}}}
spec:
  elasticPolicy: {{{integer}}}
  runPolicy: {{schedulingPolicy: {{minResources: {{{quantity}}}}}}}
  pytorchReplicaSpecs: {{}}
"""


def _scalars() -> Iterator[Case]:
    """Every odd text at a place for text, for an integer, for a quantity, and as a key."""
    nothing = dict.fromkeys(("annotation", "integer", "quantity"), "")
    for text in sorted({text for pool in ("numbers", "words", "tagged", "quantities") for text in TEXTS[pool]}):
        for place, content in (
            ("annotation", f"a: {text}"),
            ("annotation", f"{text}: a"),
            ("integer", f"maxReplicas: {text}"),
            ("quantity", f"a: {text}"),
        ):
            yield Case(f"{content} ({place})", "PyTorchJob", _PLACES.format_map({**nothing, place: content}))


@pytest.mark.slow
def test_every_odd_scalar_at_every_kind_of_place(live: Live, tmp_path: Path) -> None:
    assert live.disagreements(_scalars(), tmp_path) == []


@pytest.mark.slow
@pytest.mark.parametrize("change", _MUTANTS)
def test_mutants(change: Change, live: Live, tmp_path: Path) -> None:
    rare = [case for case in corpus.our_own() if case.kind not in ("PyTorchJob", "PersistentVolumeClaim")]
    bases = [*corpus.of_projects(), *rare]
    cases = corpus.mutants(bases, change, _MUTANTS[change], target=_TARGET, seed=seed(), endless=["PersistentVolumeClaim"])
    disagreements = live.disagreements(cases, tmp_path)
    assert disagreements == [], "\n".join(disagreements)


def test_what_is_known_to_differ_does(live: Live, tmp_path: Path) -> None:
    assert live.outdated(tmp_path) == []
