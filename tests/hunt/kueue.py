"""Kueue's kinds, and jobs that wait in its queues, after changes at random: a server with Kueue and `validate` say the same to them."""

import json
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache
from random import Random, SystemRandom
from typing import Any

import pytest
import yaml

from jobspec.apis.releases import choose
from jobspec.documents.document import Document
from jobspec.documents.reader import read
from jobspec.journey import checking
from jobspec.journey.steps import Source
from jobspec.operators.trainer.runtimes import shipped
from jobspec.schemas import shapes
from jobspec.world.world import Cluster, StoredObjects
from tests.agreement.corpus import ENDLESS
from tests.hunt.finds import Find, errors_of
from tests.support import quick_yaml
from tests.support.mutants import mutant
from tests.support.reference import ROOT
from tests.support.server import KUEUE, STRICT, Answer, Server, target

NAME = "kueue"
"""The server's name in finds."""
_BASES = ROOT / "tests" / "cases" / "kueue" / "bases.yaml"
_CASES = ROOT / "tests" / "cases" / "admission"
_RUNTIMES = "/apis/trainer.kubeflow.org/v1alpha1/clustertrainingruntimes/{}?fieldManager=tests&force=true"
_TEXTS = (
    *("", "a", "A_b", "a.b", "a/b", "x" * 64, "0", "1", "2", "3", "-1", "+2", "08", "1.5", "4294967297", "99999999999999999999"),
    *("true", "T", "yes", "False", "cloud/rack", "kubernetes.io/hostname", "cloud/block", "null", "[]", "{}"),
    *('[{"topology": "cloud/block", "size": 2}]', '[{"topology": "cloud/block", "size": 4}, {"topology": "cloud/rack", "size": 2}]'),
    *("example.com/gate", "a.b/c, d.e/f", "d.e/f", "a.b/c,,a.b/c", "a.b/" + "x" * 60),
    *('[{"Topology": "cloud/rack", "size": 3}, {"topology": "cloud/rack", "size": 2}]', '[{"topology": 1}]', '[{"size": 1}, null]'),
)
_LABELS = ("queue-name", "prebuilt-workload-name", "priority-class", "max-exec-time-seconds")
_ANNOTATIONS = ("job-min-parallelism", "job-completions-equal-parallelism", "prebuilt-workload-name", "elastic-job", "admission-gated-by")
_OF_PODS = (
    *("required-topology", "preferred-topology", "unconstrained-topology", "slice-required-topology", "slice-size", "group-name"),
    "slice-required-topology-constraints",
)
_NOT_IN_0_18 = ("admission-gated-by", "podset-slice-required-topology-constraints")
_TRIES = 4


def prepare(server: Server) -> None:
    """Skip the test where the server has no Kueue; store the trainer's own runtimes."""
    if not server.call("GET", "/apis/kueue.x-k8s.io/v1beta2/clusterqueues?limit=1").accepted:
        pytest.skip("the server has no Kueue")
    for name, runtime in shipped(choose([])).items():
        answer = server.apply(_RUNTIMES.format(name), quick_yaml.dump(runtime))
        assert answer.accepted, answer.message


@cache
def bases() -> list[dict[str, Any]]:
    """Manifests that Kueue accepts, of its kinds in both versions, and of jobs."""
    return [each for each in yaml.load_all(_BASES.read_text(), yaml.CSafeLoader) if each]


def cluster_of(kind: str) -> Cluster:
    """The cluster that a kind meets."""
    return Cluster(choose(_releases(kind).split()), closed=True)


@cache
def _releases(kind: str) -> str:
    """What runs on the server: Kueue 0.19, with the integration of PyTorchJobs, as 0.18 has it."""
    return f"kueue={'0.18' if kind == 'PyTorchJob' else '0.19'} kubernetes={target(at=KUEUE)['kubernetes']}"


def changed(base: dict[str, Any], random: Random) -> str:
    """A manifest after changes of any place, or of what Kueue reads of jobs."""
    shape = shapes.load(base["apiVersion"], base["kind"], cluster_of(base["kind"]).target)
    assert shape
    if random.random() < 0.3:
        return mutant(quick_yaml.dump(base), shape, random)
    data = json.loads(json.dumps(base))
    if base["apiVersion"].startswith("kueue") and (base["kind"] != "Workload" or random.random() < 0.6):
        for _ in range(random.choice((1, 1, 2))):
            _tinker(data, random)
        return quick_yaml.dump(data)
    change_names(data, random)
    if random.random() < 0.2 and data["kind"] != "Workload":
        policy = data["spec"].setdefault("runPolicy", {}) if data["kind"] == "PyTorchJob" else data["spec"]
        policy["suspend"] = random.random() < 0.5
    return quick_yaml.dump(data)


def change_names(data: dict[str, Any], random: Random) -> None:
    """Change or remove some of the labels and annotations that Kueue reads of a job."""
    for _ in range(random.choice((1, 1, 2, 3))):
        place, names = random.choice(list(_places(data)))
        names = tuple(each for each in names if data["kind"] != "PyTorchJob" or each not in _NOT_IN_0_18)
        key = f"kueue.x-k8s.io/{random.choice(names)}"
        if random.random() < 0.25:
            place.pop(key, None)
        else:
            place[key] = random.choice(_TEXTS)


def _tinker(data: dict[str, Any], random: Random) -> None:
    """Change a value in the spec to one of other places, remove it, write it twice, or exchange it with its neighbour."""
    containers = [each for each in _containers(data.get("spec", {})) if each]
    if not containers:
        return
    container = random.choice(containers)
    key = random.choice(list(container)) if isinstance(container, dict) else random.randrange(len(container))
    if isinstance(container[key], (dict, list)) and isinstance(container, dict) and random.random() < 0.8:
        _tinker({"spec": container[key]}, random)
        return
    chance = random.random()
    if chance < 0.55:
        container[key] = random.choice(_scalars())
    elif chance < 0.75:
        del container[key]
    elif isinstance(container, list):
        container.insert(random.randrange(len(container) + 1), json.loads(json.dumps(container[key])))
        random.shuffle(container)
    else:
        container[random.choice(_keys())] = json.loads(json.dumps(random.choice(_scalars())))


def _containers(data: Any) -> Iterator[Any]:
    if isinstance(data, (dict, list)):
        yield data
        for each in data.values() if isinstance(data, dict) else data:
            yield from _containers(each)


@cache
def _scalars() -> list[Any]:
    """Values of the manifests, and amounts that are none or odd."""
    found = [
        each for base in bases() for container in _containers(base) for each in _values(container) if not isinstance(each, (dict, list))
    ]
    odd = [
        -1,
        0,
        1,
        17,
        "1n",
        "0.5n",
        "-1m",
        "2e3",
        "1e1.5",
        "12345678901234567890",
        ".5",
        "1E",
        "256Gi",
        "None",
        "StrictFIFO",
        "Never",
        {},
        [],
        None,
    ]
    return [*found, *(odd * 6)]


def _values(container: Any) -> list[Any]:
    return list(container.values() if isinstance(container, dict) else container)


@cache
def _keys() -> list[str]:
    return sorted(
        {key for base in bases() for container in _containers(base.get("spec")) if isinstance(container, dict) for key in container}
    )


def _places(data: dict[str, Any]) -> Iterator[tuple[dict[str, str], tuple[str, ...]]]:
    """The labels and annotations that Kueue reads, each with what it reads there."""
    yield data["metadata"].setdefault("labels", {}), _LABELS
    yield data["metadata"].setdefault("annotations", {}), _ANNOTATIONS
    for template in _templates(data.get("spec")):
        yield template.setdefault("metadata", {}).setdefault("annotations", {}), tuple(f"podset-{name}" for name in _OF_PODS)


def _templates(data: Any) -> Iterator[dict[str, Any]]:
    """The pod templates in a value, and the patches of such."""
    for each in data.values() if isinstance(data, dict) else data if isinstance(data, list) else ():
        if isinstance(each, dict) and ("containers" in (each.get("spec") or {}) or each.get("metadata") == {"annotations": {}}):
            yield each
        yield from _templates(each)


# New objects.


def finds(server: Server, random: Random, tally: Counter[str], *, count: int = 500) -> list[Find]:
    """The new objects on which the server and we disagree."""
    return _disagreements(server, [(base, changed(base, random)) for base in random.choices(bases(), k=count)], tally)


def of_cases(server: Server, tally: Counter[str]) -> list[Find]:
    """The documents of our own cases on which the server and we disagree."""
    texts = [text for path in sorted(_CASES.glob("kueue*.yaml")) if "0.18" not in path.stem for text in path.read_text().split("\n---\n")]
    cases = [(yaml.load(text, yaml.CSafeLoader), text) for text in texts]
    return _disagreements(server, [each for each in cases if each[0]["kind"] in _RESOURCES], tally)  # the frameworks of the test server


def _disagreements(server: Server, cases: list[tuple[dict[str, Any], str]], tally: Counter[str]) -> list[Find]:
    with ThreadPoolExecutor(6) as pool:
        found = list(
            pool.map(
                lambda case: _created(server, *case, tally),
                [each for each in cases if not ENDLESS.search(each[1]) and not _has_odd_kind(each[1], each[0])],
            )
        )
    return [each for each in found if each]


def _has_odd_kind(text: str, base: dict[str, Any]) -> bool:
    """Whether a manifest says another kind or version than its URL, which the server or a defaulting webhook may correct."""
    return any(f"\n{field}: {base[field]}\n" not in f"\n{text}" for field in ("kind", "apiVersion"))


def _created(server: Server, base: dict[str, Any], text: str, tally: Counter[str]) -> Find | None:
    cluster = cluster_of(base["kind"])
    checked = checking.checked(Source("manifest.yaml", text.encode()), (), cluster)
    answer = server.call("POST", _path(base, "default") + STRICT, text)
    if answer.code == 409 and "already exists" in answer.message:
        answer = Answer(201)
    if "namespace of the provided object does not match" in answer.message:
        return None
    return _find(base, text, errors_of(checked), answer, tally)


def _find(base: dict[str, Any], text: str, ours: list[Any], answer: Answer, tally: Counter[str], stored: str = "") -> Find | None:
    tally[f"{base['kind']} {base['apiVersion'].rpartition('/')[2]}{' update' if stored else ''}"] += 1
    tally["accepted" if answer.accepted else "refused"] += 1
    if answer.accepted == (not ours):
        return None
    return Find(text, str(ours), str(answer), NAME, answer.accepted, target=_releases(base["kind"]), stored=stored)


def _path(data: dict[str, Any], namespace: str) -> str:
    resource = _RESOURCES[data["kind"]]
    within = "" if data["kind"] in _CLUSTER_SCOPED else f"namespaces/{namespace}/"
    return f"/apis/{data['apiVersion']}/{within}{resource}"


_RESOURCES = {
    **{kind: f"{kind.lower()}s" for kind in ("AdmissionCheck", "ClusterQueue", "Cohort", "LocalQueue", "ResourceFlavor", "Workload")},
    **{kind: f"{kind.lower()}s" for kind in ("MultiKueueCluster", "MultiKueueConfig", "ProvisioningRequestConfig")},
    **{kind: f"{kind.lower()}s" for kind in ("Job", "JobSet", "PyTorchJob", "TrainJob")},
    "Topology": "topologies",
    "WorkloadPriorityClass": "workloadpriorityclasses",
}
_CLUSTER_SCOPED = _RESOURCES.keys() - {"LocalQueue", "Workload", "Job", "JobSet", "PyTorchJob", "TrainJob"}


# Updates of stored objects.


@contextmanager
def stored(server: Server) -> Iterator[list["Stored"]]:
    """The accepted manifests, stored under names of their own, jobs once suspended and once not."""
    name = f"kueue-{SystemRandom().randrange(1 << 32):08x}"
    assert server.has_namespace(name)
    found = []
    try:
        for number, base in enumerate(bases()):
            states = (True, False) if base["kind"] in ("Job", "JobSet", "PyTorchJob", "TrainJob") else (None,)
            found += [Stored(server, _named(base, f"{name}-{number}", suspend=suspend), name) for suspend in states]
        yield found
    finally:
        for each in found:
            server.call("DELETE", each.path)
        server.call("DELETE", f"/api/v1/namespaces/{name}")


def _named(base: dict[str, Any], name: str, *, suspend: bool | None) -> dict[str, Any]:
    """A manifest under another name, with a name of its own if it is not suspended: a queue would suspend it."""
    data = json.loads(json.dumps(base))
    data["metadata"]["name"] = f"{name}-{'s' if suspend else 'r'}"
    if suspend is not None:
        policy = data["spec"].setdefault("runPolicy", {}) if data["kind"] == "PyTorchJob" else data["spec"]
        policy["suspend"] = suspend
    if suspend is False:
        data["metadata"].get("labels", {}).pop("kueue.x-k8s.io/queue-name", None)
    return data


class Stored:
    """An object on the server."""

    def __init__(self, server: Server, base: dict[str, Any], namespace: str) -> None:
        if base["kind"] not in _CLUSTER_SCOPED:
            base["metadata"]["namespace"] = namespace
        self.namespace = namespace
        self.path = f"{_path(base, namespace)}/{base['metadata']['name']}"
        self._server = server
        answer = server.call("POST", _path(base, namespace), json.dumps(base))
        assert answer.accepted, f"{base['kind']} {base['apiVersion']}: {answer.message}"

    def read(self) -> dict[str, Any]:
        """The object as the server has it now, without who set which field."""
        data = self._server.get(self.path)
        data["metadata"].pop("managedFields", None)
        return data

    def changed(self, random: Random) -> dict[str, Any] | None:
        """Another state of the object; None where the change makes it another one, or no object at all."""
        now = self.read()
        now.pop("status", None)
        documents, problems = read(changed(now, random), file="new.yaml")
        data = documents[0].data if documents and not problems and isinstance(documents[0].data, dict) else {}
        same = [data.get(field) == now[field] for field in ("apiVersion", "kind")]
        metadata = data.get("metadata")
        if not all(same) or not isinstance(metadata, dict) or metadata.get("name") != now["metadata"]["name"]:
            return None
        metadata |= {"namespace": self.namespace} if "namespace" in now["metadata"] else {}
        return data

    def update(self, data: dict[str, Any]) -> tuple[dict[str, Any], Answer]:
        """The object as it was before, and the reply to a dry update, which is sent again where a controller was quicker."""
        for _ in range(_TRIES):
            before = self.read()
            body = {**data, "metadata": {**data["metadata"], "resourceVersion": before["metadata"]["resourceVersion"]}}
            answer = self._server.call("PUT", self.path + STRICT, json.dumps(body, ensure_ascii=False))
            if answer.code != 409:
                break
        return before, answer


def update_finds(objects: list[Stored], random: Random, tally: Counter[str], *, count: int = 500) -> list[Find]:
    """The updates on which the server and we disagree."""
    cases = [(each, state) for each in random.choices(objects, k=count) if (state := each.changed(random))]
    with ThreadPoolExecutor(6) as pool:
        found = list(pool.map(lambda case: _updated(*case, tally), cases))
    return [each for each in found if each]


def _updated(each: Stored, data: dict[str, Any], tally: Counter[str]) -> Find | None:
    before, answer = each.update(data)
    data = {**data, "metadata": {**data["metadata"], "resourceVersion": before["metadata"]["resourceVersion"]}}
    text = json.dumps(data, ensure_ascii=False)
    if answer.code == 409 or ENDLESS.search(text) or (data["kind"] == "Job" and lacks_generated(data["spec"], before["spec"])):
        return None
    (old,) = _documents(json.dumps(before, ensure_ascii=False))
    cluster = cluster_of(data["kind"]).updating(StoredObjects([old]))
    checked = checking.checked(Source("manifest.yaml", text.encode()), (), cluster)
    return _find(data, text, errors_of(checked), answer, tally, json.dumps(before))


def lacks_generated(new: Any, old: dict[str, Any]) -> bool:
    """Whether a Job lacks the selector and the labels that the server gave it, which an applied manifest leaves out."""
    template = new.get("template") if isinstance(new, dict) else None
    metadata = template.get("metadata") if isinstance(template, dict) else None
    labels = metadata.get("labels") if isinstance(metadata, dict) else None
    selector = new.get("selector") if isinstance(new, dict) else None
    given = selector.get("matchLabels") if isinstance(selector, dict) else None
    has_labels = isinstance(labels, dict) and labels.keys() >= old["template"]["metadata"]["labels"].keys()
    return not (has_labels and isinstance(given, dict) and given.keys() >= old["selector"]["matchLabels"].keys())


def _documents(text: str) -> list[Document]:
    found, problems = read(text, file="stored.yaml")
    assert not problems
    return found
