"""All hunts: what each needs, how a round of it goes, and how a find of one that asks no server is looked at again."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from functools import cached_property
from pathlib import Path
from random import Random

from tests.agreement.live import Live
from tests.hunt import (
    admission_policies,
    alike,
    bad_input,
    builtin_kinds,
    cache,
    claims,
    definitions,
    edits,
    exact_kinds,
    folders,
    job_admission,
    job_kinds,
    job_pods,
    job_policies,
    job_updates,
    kueue,
    laws,
    manifests,
    migrations,
    models,
    mutating_policies,
    objects,
    odd_updates,
    ordinary,
    pod_policies,
    pod_surroundings,
    pod_updates,
    pods,
    policies,
    policy_kinds,
    queues,
    rules,
    substitutions,
    trainjob_pods,
    updates,
    workloads,
)
from tests.hunt.finds import Find
from tests.support.reference import folder
from tests.support.server import JOBS, KUEUE, NEWEST_OPERATORS, OPERATORS, Server, kubeconfig, server_at


class Ground:
    """Where rounds take place: servers, which are looked for when they are needed, a folder for files, and a tally."""

    def __init__(self, folder: Path, tally: Counter[str]) -> None:
        self.folder = folder
        self.tally = tally

    @cached_property
    def server(self) -> Server:
        return Server(kubeconfig())

    @cached_property
    def operators(self) -> Server:
        return server_at(OPERATORS)

    @cached_property
    def newest_operators(self) -> Server:
        return server_at(NEWEST_OPERATORS)

    @cached_property
    def newest_webhooks(self) -> manifests.HuntedServer:
        return manifests.with_webhooks(manifests.operators(self.newest_operators, newest=True))

    @cached_property
    def kueue(self) -> Server:
        server = Server(kubeconfig(KUEUE))
        kueue.prepare(server)
        return server

    @cached_property
    def jobs(self) -> Live:
        return job_kinds.prepare(server_at(JOBS))

    @cached_property
    def mpijobs(self) -> Live:
        return job_kinds.prepare(self.newest_operators, job_kinds.WITHOUT_MPI_OPERATOR)

    @cached_property
    def without_webhooks(self) -> manifests.HuntedServer:
        return manifests.without_webhooks(manifests.control_plane(self.server))

    @cached_property
    def with_webhooks(self) -> manifests.HuntedServer:
        return manifests.with_webhooks(manifests.operators(self.operators))


class Hunt:
    """A hunt: one round of it with a seed gives what was found."""

    def __init__(
        self, name: str, finds: Callable[[Ground, Random], Iterable[Find]], prepare: Callable[[Ground], object] = lambda _: None
    ) -> None:
        self.name = name
        self.finds = finds
        self.prepare = prepare
        """Skips, as a test does, where something is not there that the hunt needs."""


def _mutants(setting: manifests.HuntedServer, random: Random) -> Iterator[Find]:
    for change in manifests.CHANGES:
        yield from setting.finds(change, random, count=250)


def _objects(ground: Ground, random: Random) -> Iterator[Find]:
    with objects.case(ground.server, random.choice(objects.CASES)) as served:
        yield from objects.finds(served, objects.changed_objects(served, random), ground.tally)


def _operators_kinds(ground: Ground, random: Random) -> Iterator[Find]:
    names = sorted(path.name for path in folder("crds").glob("*.yaml"))
    with objects.operators(ground.server, random.choice(names)) as served:
        yield from objects.finds(served, objects.grown_objects(served, random), ground.tally)


def _updates(ground: Ground, random: Random) -> Iterator[Find]:
    with updates.namespace(ground.server) as name:
        yield from updates.finds(updates.mutants(ground.server, name, random), ground.folder)
        yield from updates.finds(updates.generated(ground.server, name, random, objects=2), ground.folder)


def _kueue(ground: Ground, random: Random) -> Iterator[Find]:
    yield from kueue.finds(ground.kueue, random, ground.tally)
    with kueue.stored(ground.kueue) as objects:
        yield from kueue.update_finds(objects, random, ground.tally)


def _queued_kinds(ground: Ground) -> list[str]:
    """The kinds of jobs of which the server's Kueue makes Workloads: LeaderWorkerSets are not among the frameworks of every server."""
    groups = "LeaderWorkerSet"
    return [each for each in queues.ALL_KINDS if each != groups or job_kinds.is_queued(ground.kueue, each)]


def _mpijobs_of_v1(ground: Ground, random: Random) -> Iterator[Find]:
    kinds = job_kinds.WITHOUT_MPI_OPERATOR
    yield from job_kinds.finds(ground.mpijobs, random, ground.tally, ground.folder, count=300, kinds=kinds)


HUNTS = (
    Hunt("bad-input", lambda ground, random: bad_input.finds(random, ground.folder)),
    Hunt("folders", lambda ground, random: folders.finds(random, ground.folder), lambda _: folder("corpus")),
    Hunt("alike", lambda ground, random: alike.finds(random, ground.tally)),
    Hunt("cache", lambda ground, random: cache.finds(random, ground.folder)),
    Hunt("edits", lambda ground, random: edits.finds(random, ground.folder, ground.tally)),
    Hunt("odd-updates", lambda ground, random: odd_updates.finds(random, ground.folder)),
    Hunt("laws", lambda _, random: laws.finds(random)),
    Hunt("models", lambda _, random: models.finds(random)),
    Hunt("migrations", lambda _, random: migrations.finds(random)),
    Hunt("ordinary", lambda _, random: ordinary.finds(random)),
    Hunt(
        "mutants",
        lambda ground, random: _mutants(ground.without_webhooks, random),
        lambda ground: ground.without_webhooks,
    ),
    Hunt(
        "webhooks",
        lambda ground, random: _mutants(ground.with_webhooks, random),
        lambda ground: ground.with_webhooks,
    ),
    Hunt(
        "newest-webhooks",
        lambda ground, random: _mutants(ground.newest_webhooks, random),
        lambda ground: ground.newest_webhooks,
    ),
    Hunt("job-kinds", lambda ground, random: job_kinds.finds(ground.jobs, random, ground.tally, ground.folder), lambda ground: ground.jobs),
    Hunt("job-updates", lambda ground, random: job_updates.finds(ground.jobs, random, ground.tally), lambda ground: ground.jobs),
    Hunt("mpijobs-of-v1", _mpijobs_of_v1, lambda ground: ground.mpijobs),
    Hunt("kueue", _kueue, lambda ground: ground.kueue),
    Hunt("claims", lambda ground, random: claims.finds(ground.server, random, ground.folder), lambda ground: ground.server),
    Hunt("pods", lambda ground, random: pods.finds(ground.server, random), lambda ground: (pods.prepare(ground.server), folder("golden"))),
    Hunt(
        "job-policies",
        lambda ground, random: job_policies.finds(ground.operators, random, ground.tally),
        lambda ground: ground.operators.needs("PyTorchJob"),
    ),
    Hunt(
        "newest-job-policies",
        lambda ground, random: job_policies.finds(ground.newest_operators, random, ground.tally),
        lambda ground: ground.newest_operators.needs("PyTorchJob"),
    ),
    Hunt(
        "job-pods",
        lambda ground, random: job_pods.finds(ground.operators, random, ground.tally),
        lambda ground: (ground.operators.needs("PyTorchJob"), folder("corpus")),
    ),
    Hunt(
        "newest-job-pods",
        lambda ground, random: job_pods.finds(ground.newest_operators, random, ground.tally),
        lambda ground: (ground.newest_operators.needs("PyTorchJob"), folder("corpus")),
    ),
    Hunt(
        "trainjob-pods",
        lambda ground, random: trainjob_pods.finds(ground.operators, random, ground.tally),
        lambda ground: (ground.operators.needs("TrainJob"), folder("corpus")),
    ),
    Hunt(
        "newest-trainjob-pods",
        lambda ground, random: trainjob_pods.finds(ground.newest_operators, random, ground.tally),
        lambda ground: (ground.newest_operators.needs("TrainJob"), folder("corpus")),
    ),
    Hunt(
        "queues",
        lambda ground, random: queues.finds(ground.kueue, random, ground.tally),
        lambda ground: ground.kueue.needs("PyTorchJob", "TrainJob", "JobSet"),
    ),
    Hunt(
        "running-queues",
        lambda ground, random: queues.running_finds(ground.kueue, random, ground.tally),
        lambda ground: ground.kueue.needs("PyTorchJob", "TrainJob", "JobSet"),
    ),
    Hunt(
        "job-queues",
        lambda ground, random: queues.finds(ground.kueue, random, ground.tally, kinds=_queued_kinds(ground)),
        lambda ground: ground.kueue.needs(*queues.OF_OPERATORS),
    ),
    Hunt(
        "running-job-queues",
        lambda ground, random: queues.running_finds(ground.kueue, random, ground.tally, kinds=_queued_kinds(ground)),
        lambda ground: ground.kueue.needs(*queues.OF_OPERATORS),
    ),
    Hunt("substitutions", lambda ground, random: substitutions.finds(random, ground.tally), lambda _: substitutions.prepare()),
    Hunt(
        "pod-policies",
        lambda ground, random: pod_policies.finds(ground.server, random, ground.tally, count=10),
        lambda ground: ground.server,
    ),
    Hunt("policies", lambda ground, random: policies.evaluator_finds(random, ground.tally)),
    Hunt(
        "policies-on-server",
        lambda ground, random: policies.server_finds(ground.server, random, ground.tally),
        lambda ground: ground.server,
    ),
    Hunt(
        "admission-policies",
        lambda ground, random: admission_policies.finds(ground.server, random, ground.tally),
        lambda ground: ground.server.needs("PyTorchJob", "TrainJob"),
    ),
    Hunt(
        "job-admission",
        lambda ground, random: job_admission.finds(ground.newest_operators, random, ground.tally),
        lambda ground: ground.newest_operators.needs("PyTorchJob", "TrainJob"),
    ),
    Hunt(
        "mutating-policies",
        lambda ground, random: mutating_policies.finds(ground.server, random, ground.tally),
        lambda ground: ground.server.needs("PyTorchJob", "TrainJob"),
    ),
    Hunt(
        "policy-kinds",
        lambda ground, random: policy_kinds.finds(ground.server, random, ground.tally),
        lambda ground: ground.server,
    ),
    Hunt(
        "policy-types",
        lambda ground, random: policy_kinds.type_finds(ground.operators, random, ground.tally),
        lambda ground: ground.operators.needs("PyTorchJob", "TrainJob"),
    ),
    Hunt("exact-kinds", lambda ground, random: exact_kinds.finds(ground.server, random), lambda ground: ground.server),
    Hunt("exact-updates", lambda ground, random: exact_kinds.changes(ground.server, random), lambda ground: ground.server),
    Hunt("builtin-kinds", lambda ground, random: builtin_kinds.finds(ground.server, random), lambda ground: ground.server),
    Hunt(
        "pod-surroundings",
        lambda ground, random: pod_surroundings.finds(ground.server, random),
        lambda ground: pods.prepare(ground.server),
    ),
    Hunt(
        "updated-workloads",
        lambda ground, random: workloads.update_finds(ground.server, random, ground.folder),
        lambda ground: ground.server,
    ),
    Hunt("workloads", lambda ground, random: workloads.finds(ground.server, random, ground.folder), lambda ground: ground.server),
    Hunt("pod-updates", lambda ground, random: pod_updates.finds(ground.server, random), lambda ground: ground.server),
    Hunt("rules", lambda ground, random: rules.finds(ground.server, random, ground.folder, ground.tally), lambda ground: ground.server),
    Hunt("updates", _updates, lambda ground: (ground.server, folder("corpus"))),
    Hunt("objects", _objects, lambda ground: ground.server),
    Hunt("operators-kinds", _operators_kinds, lambda ground: (ground.server, folder("crds"))),
    Hunt(
        "definitions",
        lambda ground, random: definitions.finds(ground.server, definitions.grown(random), ground.tally),
        lambda ground: ground.server,
    ),
    Hunt(
        "changed-definitions",
        lambda ground, random: definitions.finds(ground.server, definitions.changed(random), ground.tally, places=False),
        lambda ground: (ground.server, folder("crds")),
    ),
    Hunt(
        "cel",
        lambda ground, random: definitions.finds(ground.server, definitions.with_rules(random), ground.tally),
        lambda ground: ground.server,
    ),
    Hunt(
        "cel-cost",
        lambda ground, random: definitions.finds(ground.server, definitions.costly(random), ground.tally),
        lambda ground: ground.server,
    ),
)

#: What is wrong with the text of a find, by the hunt that found it: those hunts that ask no server, or keep what it said.
DIFFERENCES: dict[str, Callable[[str, Path], str]] = {
    "alike": lambda text, _: alike.difference(text),
    "bad-input": bad_input.difference,
    "cache": cache.difference,
    "edits": edits.difference,
    "folders": folders.difference,
    "odd-updates": odd_updates.difference,
    "laws": lambda text, _: laws.difference(text),
    "models": lambda text, _: models.difference(text),
    "migrations": lambda text, _: migrations.difference(text),
    "ordinary": lambda text, _: ordinary.difference(text),
    "policies": lambda text, _: policies.difference(text),
    "queues": lambda text, _: queues.difference(text),
    "running-queues": lambda text, _: queues.difference(text),
    "job-queues": lambda text, _: queues.difference(text),
    "running-job-queues": lambda text, _: queues.difference(text),
    "substitutions": lambda text, _: substitutions.difference(text),
}
