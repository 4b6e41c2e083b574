"""Jobs that look ordinary, in whatever way they were changed: of them the judgement of the whole job has nothing to say.

Of those whose objects alone look ordinary, it says the same where it does not ask what a server says of the objects.
"""

import copy
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from functools import cache
from random import Random
from typing import Any, NamedTuple

import yaml

from jobspec.apis.releases import RELEASES, choose
from jobspec.diagnostics.diagnostic import Diagnostic
from jobspec.documents.document import Document
from jobspec.journey import checking
from jobspec.journey.steps import Source
from jobspec.operators.trainer.runtimes import runtime_of
from jobspec.operators.workloads import resumed, takes_overlays
from jobspec.outcome.judgement import judged
from jobspec.outcome.ordinary import looked_at
from jobspec.schemas import shapes
from jobspec.world.world import Cluster
from tests.hunt.finds import Find
from tests.support import pod_mutants, quick_yaml
from tests.support.job_growth import grown_job
from tests.support.reference import ROOT

Data = Any
Target = Mapping[str, str]

_NAMES = (*("a" * length for length in (29, 30, 31, 40, 41, 50, 63)), "a-b", "1a", "a.b")
#: Texts and numbers at which something changes; most of them stand in a job's own values, too.
_EDGES: list[Any] = [
    *("", "a", "A", "-a", "a.b", "a_b", "1", "0", "01", "1:1", "--standalone", "--nnodes=1", "--nnodes", "--nproc-per-node=2", "--rdzv-id"),
    *("torchrun", "python", "python3", "-m", "torch.distributed.run", "-c", "sh", "tune", "init-pytorch", "pytorch", "node", "RANK"),
    *("PET_NNODES", "WORLD_SIZE", "MASTER_ADDR", "JOB_COMPLETION_INDEX", "a" * 30, "a" * 41, "a" * 64, "/a", "a/../b", "nvidia.com/gpu"),
    *("cpu", "1m", "1500m", "1Gi", "1025Mi", "0.5", "1e3", "memory", "pytorchjob-port", "Always", "Exists", "kubernetes.io/a", "$(A)"),
    *(0, 1, 2, 80, 23456, 65536, -1, 2**31, 1.5, True, False, None, [], {}),
]


class Seen(NamedTuple):
    """A job that was looked at and judged as a whole."""

    job: Document
    has_ordinary_objects: bool
    is_ordinary: bool
    said: str
    """What the judgement of the whole job says."""
    wrong: str
    """What it says although the look says that it does not; empty where both agree."""


def finds(random: Random, *, count: int = 300) -> Iterator[Find]:
    """The jobs of which a look says what the judgement does not, among so many."""
    for _ in range(count):
        text = mutant(random)
        for target in targets():
            if apart := _apart(text, target):
                released = ",".join(f"{name}={release}" for name, release in target.items())
                yield Find(text, "ordinary", apart, target=released)


def difference(text: str) -> str:
    """What the judgement says in some release of a job that looks ordinary; empty where there is nothing."""
    return next(filter(None, (_apart(text, target) for target in targets())), "")


@cache
def targets() -> list[Target]:
    """The releases of both operators, each in one of them at least."""
    trainer, operator = list(RELEASES["trainer"]), list(RELEASES["training-operator"])
    pairs = [(operator[number % len(operator)], release) for number, release in enumerate(reversed(trainer))]
    return [choose([f"training-operator={one}", f"trainer={other}"]) for one, other in [(operator[-1], trainer[-1]), *pairs]]


def _apart(text: str, target: Target) -> str:
    return next((f"{each.job.name}: {each.wrong}" for each in seen(text, target) if each.wrong), "")


def seen(text: str, target: Target) -> Iterator[Seen]:
    """The accepted jobs of a text whose runtimes are there."""
    cluster = Cluster(target)
    checked = checking.checked(Source("jobs.yaml", text), [], cluster)
    accepted = {(row.index, row.name) for row in checked.result.documents if row.status == "valid"}
    there = [each for each in checked.documents if (each.index, each.name) in accepted]
    for job in map(resumed, filter(takes_overlays, there)):
        runtime = runtime_of(job, there, cluster.target) if job.kind == "TrainJob" else None
        if runtime is None and job.kind == "TrainJob":
            continue
        accepted, ordinary = looked_at(job, runtime, cluster.target)
        said = _said(judged(job, there, cluster))
        expected = "" if ordinary else _said(judged(job, there, cluster, skip_server_checks=True)) if accepted else said
        yield Seen(job, accepted, ordinary, said, "" if said == expected else said or expected)


def _said(found: list[Diagnostic] | None) -> str:
    return "too many pods" if found is None else ", ".join(f"{each.rule}: {each.message}" for each in found)


def mutant(random: Random) -> str:
    """The text of a job after a few changes, which a server may take."""
    documents = copy.deepcopy(random.choice(_bases())) if random.random() < 0.8 else [grown_job("grown", random)]
    for _ in range(random.choice((1, 1, 1, 2, 3))):
        with suppress(IndexError):  # nothing is left of the job that could be changed so
            random.choice(_CHANGES)(documents, random)
    return quick_yaml.dump_all(documents, sort_keys=False)


@cache
def _bases() -> list[list[Data]]:
    """The ordinary jobs among the cases, each with its runtime."""
    found = []
    for path in sorted((ROOT / "tests" / "cases" / "ordinary").glob("*.yaml")):
        documents = list(yaml.load_all(path.read_text(), yaml.CSafeLoader))
        runtimes = {each["metadata"]["name"]: each for each in documents if each["kind"] == "ClusterTrainingRuntime"}
        for job in documents:
            if job["kind"] in ("PyTorchJob", "TrainJob"):
                context = runtimes.get(job["spec"].get("runtimeRef", {}).get("name"))
                found.append([job, *([context] if context else [])])
    return found


def _places(value: Data) -> Iterator[tuple[Data, Any]]:
    """Each mapping or list inside, with each of its keys or numbers."""
    for key, inner in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        yield value, key
        yield from _places(inner)


def _place(documents: list[Data], random: Random, wanted: type | tuple[type, ...] = object) -> tuple[Data, Any]:
    places = [place for each in documents for place in _places(each.get("spec")) if isinstance(place[0][place[1]], wanted)]
    return random.choice(places)


def _set(documents: list[Data], random: Random) -> None:
    """A scalar becomes another one, one that means something or stands elsewhere in the job."""
    around, key = _place(documents, random, (str, int, float))
    other, there = _place(documents, random, (str, int, float))
    around[key] = random.choice((other[there], random.choice(_EDGES)))


def _rename(documents: list[Data], random: Random) -> None:
    """The job has another name."""
    documents[0]["metadata"]["name"] = random.choice(_NAMES)


def _repeat(documents: list[Data], random: Random) -> None:
    """A list has an item once more, or a word that means something."""
    around, key = _place(documents, random, list)
    items = around[key]
    if items and isinstance(items[0], str):
        items.insert(random.randrange(len(items) + 1), random.choice([each for each in _EDGES if isinstance(each, str)]))
    elif items:
        items.append(copy.deepcopy(random.choice(items)))


def _drop(documents: list[Data], random: Random) -> None:
    """Something is gone."""
    around, key = _place(documents, random)
    del around[key]


def _null(documents: list[Data], random: Random) -> None:
    """A field is null."""
    around, key = _place(documents, random)
    around[key] = None


def _copy(documents: list[Data], random: Random) -> None:
    """A field has the value that a field of the same name has elsewhere."""
    around, key = _place(documents, random)
    others = [value[name] for each in documents for value, name in _places(each.get("spec")) if name == key]
    around[key] = copy.deepcopy(random.choice(others))


def _grow(documents: list[Data], random: Random) -> None:
    """The pods of a role have some other field."""
    shape = shapes.load("v1", "Pod", choose([]))
    spec = shape and shape.at(("spec",))
    assert spec
    places = [(around, key) for each in documents for around, key in _places(each) if key == "spec" and "containers" in (around[key] or ())]
    if places:
        around, key = random.choice(places)
        around[key] = pod_mutants.changed(around[key], spec, random)


_CHANGES: tuple[Callable[[list[Data], Random], None], ...] = (_set, _set, _set, _rename, _repeat, _drop, _null, _copy, _grow)
