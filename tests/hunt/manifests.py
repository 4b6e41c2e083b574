"""Manifests after changes at random: `validate` and a server, with the operators' webhooks or without, say the same to them."""

from collections.abc import Collection
from dataclasses import dataclass
from random import Random

from jobspec.operators.trainer.runtimes import shipped
from jobspec.world.world import Cluster
from tests.agreement import corpus
from tests.agreement.corpus import VERSIONS, Case
from tests.agreement.live import Live
from tests.hunt.finds import Find
from tests.support import quick_yaml
from tests.support.mutants import Change, at_one_place, at_two_places, in_other_words, in_the_text
from tests.support.server import NEWEST_OPERATORS, OPERATORS, Server, target

CHANGES: tuple[Change, ...] = (at_one_place, at_two_places, in_the_text, in_other_words)
OF_OPERATORS = VERSIONS.keys() - {"PersistentVolumeClaim"}
"""The kinds that operators' webhooks see."""
_RUNTIMES = "/apis/trainer.kubeflow.org/v1alpha1/clustertrainingruntimes/{}?fieldManager=tests&force=true"


@dataclass(frozen=True)
class HuntedServer:
    """A server, the manifests that are changed for it, and the kinds for which it needs minutes where a quantity has no end."""

    live: Live
    bases: list[Case]
    endless: Collection[str]

    def finds(self, change: Change, random: Random, *, count: int) -> list[Find]:
        """The changed manifests on which the server and we disagree."""
        cases = corpus.mutants(self.bases, change, count, target=self.live.cluster.target, random=random, endless=self.endless)
        return self.live.disagreements(cases)


def control_plane(server: Server) -> Live:
    """A server that has CRDs alone."""
    server.needs(*VERSIONS)
    return Live("control-plane", server, Cluster(target(), webhooks=False))


def operators(server: Server, *, newest: bool = False) -> Live:
    """A server with operators, old ones or the newest, to which the trainer's own runtimes belong."""
    releases = () if newest else ("training-operator=1.8.1", "trainer=2.0.0", "jobset=0.8.2")
    served = target(*releases, at=NEWEST_OPERATORS if newest else OPERATORS)
    server.needs(*OF_OPERATORS)
    for name, runtime in shipped(served).items():
        answer = server.apply(_RUNTIMES.format(name), quick_yaml.dump(runtime))
        assert answer.accepted, answer.message
    return Live("newest-operators" if newest else "operators", server, Cluster(served, closed=True))


def without_webhooks(live: Live) -> HuntedServer:
    """Manifests of real projects, and cases of the kinds that these hardly have."""
    rare = [case for case in corpus.our_own() if case.kind not in ("PyTorchJob", "PersistentVolumeClaim")]
    return HuntedServer(live, [*corpus.of_projects(), *rare], ("PersistentVolumeClaim",))


def with_webhooks(live: Live) -> HuntedServer:
    """Manifests of real projects, of the operators' kinds."""
    return HuntedServer(live, of_operators(corpus.of_projects()), OF_OPERATORS)


def of_operators(cases: list[Case]) -> list[Case]:
    """The cases of the operators' kinds."""
    return [case for case in cases if case.kind in OF_OPERATORS]
