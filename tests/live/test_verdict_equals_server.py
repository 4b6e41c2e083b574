"""`validate` says what a real API server says, to manifests of all sorts and to thousands of mutants of them."""

import json
from collections.abc import Iterator
from random import Random
from typing import Any

import pytest

from jobspec.apis import kinds
from jobspec.documents.reader import read
from jobspec.kubernetes.verdict import verdict
from jobspec.schemas import shapes
from tests.agreement import corpus
from tests.agreement.corpus import Case
from tests.agreement.live import Live
from tests.hunt import manifests
from tests.hunt.finds import report
from tests.support import server as servers
from tests.support.mutants import TEXTS, Change
from tests.support.seeds import seed

_MUTANTS = dict(zip(manifests.CHANGES, (1000, 700, 400, 250), strict=True))


@pytest.fixture(scope="module")
def live() -> Iterator[Live]:
    for server in servers.find():
        yield manifests.control_plane(server)


def test_manifests_of_real_projects(live: Live) -> None:
    cases = corpus.of_projects()
    assert len(cases) > 150
    assert report(live.disagreements(cases)) == ""


def test_our_own_cases(live: Live) -> None:
    cases = corpus.our_own()
    assert len(cases) > 50
    assert report(live.disagreements(cases)) == ""


def test_manifests_on_web_pages(live: Live) -> None:
    cases = corpus.of_web_pages()
    assert len(cases) >= 5
    assert report(live.disagreements(cases)) == ""


def _builtin(live: Live) -> list[tuple[kinds.Kind, list[str]]]:
    """The built-in kinds, each with its versions in the server's release."""
    found = kinds.built_in()
    served = [(kind, [each for each in kind.api_versions if shapes.load(each, kind.name, live.cluster.target)]) for kind in found]
    return [(kind, versions) for kind, versions in served if versions]


def _served(live: Live, api_version: str) -> list[dict[str, Any]]:
    """The resources of an API version, without subresources."""
    path = f"/apis/{api_version}" if "/" in api_version else f"/api/{api_version}"
    resources = live.server.get(path)["resources"]
    return [{**each, "path": path} for each in resources if "/" not in each["name"]]


def test_built_in_kinds_and_their_scopes_are_those_of_the_server(live: Live) -> None:
    ours = {(version, kind.name, kind.namespaced) for kind, versions in _builtin(live) for version in versions}
    every = sorted({version for version, *_ in ours})
    assert ours == {(version, each["kind"], each["namespaced"]) for version in every for each in _served(live, version)}


_NAMES = [
    *("a.b", "9a", "a-b", "A_b", "a%b", "a/b", "a:b", ".", "..", "v1."),
    *("10.0.0.1", "010.0.0.1", "2001:db8::1", "2001:DB8::1", "::ffff:1.2.3.4"),
    *("a" * 52, "a" * 53, "a" * 63, "a" * 64, ".".join(["a" * 62] * 4), "a" * 254),
]
_METADATA = [
    {},
    *({"name": name} for name in _NAMES),
    *({"generateName": name} for name in _NAMES),
    *({"name": "a", "generateName": name} for name in _NAMES),
]
_NAMED_BY_SPEC = ("CustomResourceDefinition", "APIService")
_NAMED_AT_LAST = ("CertificateSigningRequest", "ReplicationController")  # what no path can hold is found once all else is right


def test_names_of_built_in_kinds_are_refused_as_the_server_does(live: Live) -> None:
    """A document without a spec is refused for other reasons, too: only what is said about its name counts."""
    wrong = []
    for kind, versions in _builtin(live):
        (resource,) = (each for each in _served(live, versions[-1]) if each["kind"] == kind.name)
        place = f"{resource['path']}/{'namespaces/default/' if kind.namespaced else ''}{resource['name']}?dryRun=All"
        for metadata in _METADATA:
            text = json.dumps({"apiVersion": versions[-1], "kind": kind.name, "metadata": metadata})
            answer = live.server.call("POST", place, text)
            theirs = bool({"metadata.name", "metadata.generateName"} & set(answer.fields))
            ours = bool(
                {"missing-name", "invalid-name"}
                & {each.rule for each in verdict(read(text, file="")[0][0], live.cluster.target).diagnostics}
            )
            late = kind.name in _NAMED_AT_LAST and not {"a%b", "a/b", ".", ".."}.isdisjoint(metadata.values())
            at_label = kind.name == "Job" and "spec.template.labels" in answer.fields  # its pods are labelled with the name
            if (ours > theirs and not late and not at_label) or (ours < theirs and kind.name not in _NAMED_BY_SPEC):
                wrong.append((kind.group, kind.name, metadata, ours, answer.message))
    assert wrong == []


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
def test_every_odd_scalar_at_every_kind_of_place(live: Live) -> None:
    assert report(live.disagreements(_scalars())) == ""


@pytest.mark.slow
@pytest.mark.parametrize("change", _MUTANTS)
def test_mutants(change: Change, live: Live) -> None:
    setting = manifests.without_webhooks(live)
    assert report(setting.finds(change, Random(seed()), count=_MUTANTS[change])) == ""


def test_what_is_known_to_differ_does(live: Live) -> None:
    assert report(live.outdated()) == ""
