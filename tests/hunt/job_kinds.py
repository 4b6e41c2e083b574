"""Change jobs of all kinds at random, and compare `validate` with a server.

The server has the operator of each kind, and its webhooks.

No command fails on them: not on outcomes, lint, queues or the objects that operators make of them.
"""

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from functools import cache
from pathlib import Path
from random import Random

import yaml

from jobspec.schemas import shapes
from jobspec.world.world import Cluster
from tests.agreement.corpus import ENDLESS, Case
from tests.agreement.live import Live
from tests.hunt import kueue
from tests.hunt.finds import Find
from tests.hunt.manifests import CHANGES
from tests.support import quick_yaml
from tests.support.job_growth import grown_sibling
from tests.support.mutants import can_be_read
from tests.support.processes import run_here
from tests.support.ray_growth import grown_ray
from tests.support.reference import ROOT
from tests.support.server import OF_V1, PLURALS, WORKLOADS, Server

Kinds = Mapping[str, tuple[str, str]]
"""Kind -> its apiVersion, and the name that the server's client has for it."""
KINDS: Kinds = {
    "Job": ("batch/v1", "Job"),
    "CronJob": ("batch/v1", "CronJob"),
    "JobSet": ("jobset.x-k8s.io/v1alpha2", "JobSet"),
    "MPIJob": ("kubeflow.org/v2beta1", "MPIJob"),
    **{kind: ("ray.io/v1", kind) for kind in ("RayCluster", "RayJob", "RayService", "RayCronJob")},
    "LeaderWorkerSet": ("leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet"),
    **{kind: ("kubeflow.org/v1", f"{kind} of v1") for kind in ("TFJob", "XGBoostJob", "PaddleJob", "JAXJob")},
}
#: The same of kinds that a server has if it has no mpi-operator, whose MPIJobs take the place of training-operator's.
WITHOUT_MPI_OPERATOR: Kinds = {"MPIJob": ("kubeflow.org/v1", "MPIJob of v1")}
#: Kinds that other hunts make new objects of.
OF_OTHER_HUNTS: Kinds = {"PyTorchJob": ("kubeflow.org/v1", "PyTorchJob"), "TrainJob": ("trainer.kubeflow.org/v1alpha1", "TrainJob")}
_ALL = (KINDS, WITHOUT_MPI_OPERATOR, OF_OTHER_HUNTS)
#: The kinds that the Kueue of the test server queues, and those that some test servers queue.
_QUEUED = ("Job", "JobSet", "MPIJob", "RayCluster", "RayJob")
_SOMETIMES_QUEUED = {
    "LeaderWorkerSet": {"leaderWorkerTemplate": {"workerTemplate": {"spec": {"containers": [{"name": "a", "image": "a"}]}}}},
    "RayService": {"rayClusterConfig": {"headGroupSpec": {"rayStartParams": {}, "template": {"spec": {"containers": [{"name": "a"}]}}}}},
}
#: What a webhook of Kueue says of a kind that we take to be in queues where there is Kueue, and that the test server does not queue.
_OF_NO_QUEUE = re.compile('webhook "[mv]rayservice.kb.io"')
_LABEL = "kueue.x-k8s.io/queue-name"
_TRIED = 5  # commands run on every fifth text: they take longer than a server's answer
#: The commands that end in a report on each text, whatever is wrong with it.
_COMMANDS = (("lint", "--target", "kueue=0.19.2"), ("expand",))
_LONGEST = 6000  # characters of what is changed
_START = re.compile(r"^---.*\n", re.MULTILINE)
_OF_SIBLINGS = "kubeflow.org/v1"
_MADE = ("RayCluster", "RayJob", "RayService")


def prepare(server: Server, kinds: Kinds = KINDS) -> Live:
    """The server as one that is compared with; skips the test where it lacks one of the kinds."""
    paths = {**PLURALS, **OF_V1, **WORKLOADS}
    server.needs(*(name for _, name in kinds.values() if name not in WORKLOADS))
    has_queues = server.call("GET", "/apis/kueue.x-k8s.io/v1beta2/clusterqueues?limit=1").accepted
    target = {**server.target, **({"kueue": "0.19.2"} if has_queues else {})}
    assert paths.keys() >= {name for _, name in kinds.values()}
    return Live("newest-operators", server, Cluster(target, closed=True))


def finds(live: Live, random: Random, tally: Counter[str], folder: Path, *, count: int = 100, kinds: Kinds = KINDS) -> Iterator[Find]:
    """Yield the changed jobs on which the server and we disagree, of as many of each kind.

    Those on which a command of ours fails are among them.
    """
    for kind in kinds:
        cases = list(changed(live, kind, random, count, kinds))
        tally.update(case.kind for case in cases)
        yield from disagreements(live, kind, cases)
        yield from (Find(case.text, said, "a report") for case in cases[::_TRIED] if (said := failure(case.text, folder)))


def failure(text: str, folder: Path) -> str:
    """The exception of the first command that fails on a text; empty if none does."""
    place = folder / "job.yaml"
    place.write_bytes(text.encode())
    for command in _COMMANDS:
        done = run_here(*command, place, cwd=folder)
        if done.returncode not in (0, 1, 2) or "Traceback" in done.stderr:
            return f"{' '.join(command)}: exit code {done.returncode}: {done.stderr[-600:]}"
    return ""


def disagreements(live: Live, kind: str, cases: list[Case]) -> list[Find]:
    """The jobs of a kind on which the server and we disagree."""
    return [each for each in judge_of(live, kind).disagreements(cases) if not is_of_no_queue(live, kind, each.theirs)]


def judge_of(live: Live, kind: str) -> Live:
    """The server for a kind: one without Kueue if we take the kind to be in queues, and its Kueue does not queue it."""
    if "kueue" in live.cluster.target and kind == "PyTorchJob":  # the test server queues it, as earlier releases do
        return replace(live, cluster=kueue.cluster_of(kind))
    if kind not in _SOMETIMES_QUEUED or is_queued(live.server, kind):
        return live
    without = {name: release for name, release in live.cluster.target.items() if name != "kueue"}
    return replace(live, cluster=Cluster(without, closed=True))


def is_of_no_queue(live: Live, kind: str, answer: str) -> bool:
    """Whether an answer comes of a webhook of Kueue for a kind that its Kueue does not queue."""
    return judge_of(live, kind) is not live and bool(_OF_NO_QUEUE.search(answer))


@cache
def is_queued(server: Server, kind: str) -> bool:
    """Whether a server's Kueue queues a kind: its webhook refuses a queue name that is none."""
    metadata = {"name": "a", "labels": {_LABEL: "Bad_name"}}
    text = json.dumps({"apiVersion": KINDS[kind][0], "kind": kind, "metadata": metadata, "spec": _SOMETIMES_QUEUED[kind]})
    return _LABEL in server.judge(KINDS[kind][1], text).message


def changed(live: Live, kind: str, random: Random, count: int, kinds: Kinds = KINDS) -> Iterator[Case]:
    """Jobs of a kind after changes, some of them of cases of ours, some grown."""
    version, called = kinds[kind]
    shape = shapes.part(version, kind, live.cluster.target)
    is_read_by_kueue = "kueue" in live.cluster.target and kind in (*_QUEUED, *_SOMETIMES_QUEUED)
    for number in range(count):
        change = random.choice(CHANGES)
        base = manifest(live, kind, random, kinds)
        text = change(_with_names(base, random) if is_read_by_kueue and random.random() < 0.2 else base, shape, random)
        if not ENDLESS.search(text) and {f"kind: {kind}", f"apiVersion: {version}"} <= set(text.splitlines()):  # a server adds them
            yield Case(f"{kind} changed {change.__name__}, number {number}", called, text)


def _with_names(text: str, random: Random) -> str:
    """A job with other labels and annotations of those that Kueue reads."""
    data = json.loads(json.dumps(yaml.load(text, yaml.CSafeLoader), default=str))
    metadata = data["metadata"] = {**data["metadata"]}
    metadata.update({field: metadata.get(field) or {} for field in ("labels", "annotations")})
    with suppress(TypeError, AttributeError):  # of a manifest whose fields have other types
        kueue.change_names(data, random)
    return quick_yaml.dump(data)


def manifest(live: Live, kind: str, random: Random, kinds: Kinds = KINDS) -> str:
    """A job of a kind, of a case of ours or grown, some of them in a queue."""
    version, _ = kinds[kind]
    is_grown = (kind in _MADE or (version == _OF_SIBLINGS and kind not in OF_OTHER_HUNTS)) and random.random() < 0.5
    text = _grown(kind, random) if is_grown else random.choice(_of_cases()[version, kind])
    is_in_queue = "kueue" in live.cluster.target and kind in (*_QUEUED, *_SOMETIMES_QUEUED) and random.random() < 0.3
    return _in_queue(text) if is_in_queue else text


def _in_queue(text: str) -> str:
    data = yaml.load(text, yaml.CSafeLoader)
    data["metadata"]["labels"] = {**(data["metadata"].get("labels") or {}), _LABEL: "training"}
    return quick_yaml.dump(json.loads(json.dumps(data, default=str)))


def _grown(kind: str, random: Random) -> str:
    if not kind.startswith("Ray"):
        return quick_yaml.dump(grown_sibling(kind, "a", random))
    data = grown_ray("a", random)
    while data["kind"] != kind:
        data = grown_ray("a", random)
    return quick_yaml.dump(json.loads(json.dumps(data)))


@cache
def _of_cases() -> dict[tuple[str, str], list[str]]:
    """The jobs of each version and kind in our own cases, and of examples beside them."""
    found: dict[tuple[str, str], list[str]] = {(version, kind): [] for kinds in _ALL for kind, (version, _) in kinds.items()}
    for path in sorted((ROOT / "tests" / "cases").rglob("*.yaml")):
        for text in _START.split(path.read_text()):
            kind, version = (re.search(rf"^{field}: *(\S+)", text, re.MULTILINE) for field in ("kind", "apiVersion"))
            known = found.get((version[1], kind[1])) if kind and version else None
            if known is not None and len(text) < _LONGEST and _is_plain(text) and can_be_read(text):
                known.append(text)
    return found


def _is_plain(text: str) -> bool:
    """Whether a document is a manifest as users write it, not a template or a part of another case."""
    try:
        data = yaml.load(text, yaml.CSafeLoader)
    except (yaml.YAMLError, ValueError):
        return False
    return isinstance(data, dict) and isinstance(data.get("metadata"), dict) and isinstance(data.get("spec"), dict)
