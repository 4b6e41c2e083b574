"""PyTorchJobs at random in namespaces with policies at random: what `validate` says of their pods is what becomes of them."""

import json
import time
from collections import Counter
from collections.abc import Iterator
from random import Random
from typing import Any

from jobspec.diagnostics.diagnostic import Diagnostic
from jobspec.journey.checking import check
from jobspec.journey.outcomes import foresee
from jobspec.journey.reading import read
from jobspec.journey.steps import Source
from jobspec.world.world import Cluster
from tests.hunt import pod_policies
from tests.hunt.finds import Find
from tests.hunt.pod_policies import World
from tests.support import policy_growth, quick_yaml
from tests.support.server import Server

Data = dict[str, Any]

_JOBS = "/apis/kubeflow.org/v1/namespaces/{}/pytorchjobs"
_PODS = "/api/v1/namespaces/{}/pods"
_EVENTS = "/api/v1/namespaces/{}/events"
_REFUSED = ("pods-refused", "never-fits")
_PATIENCE = 60.0  # seconds
_PAUSE = 1.0
_WORKERS = 2


def finds(server: Server, random: Random, tally: Counter[str], *, jobs: int = 12) -> Iterator[Find]:
    """The jobs of which the server and the operator make something else than we say."""
    with pod_policies.worlds(server, random, jobs) as made:
        asked = [(world, job, refused) for world in made for job, refused in _accepted(world, random)]
        end = time.monotonic() + _PATIENCE
        while time.monotonic() < end and not all(_is_settled(world) for world, _, _ in asked):
            time.sleep(_PAUSE)
        for world, job, refused in asked:
            came = _came(world)
            tally["came" if came == 1 + _WORKERS else "refused"] += 1
            if (came < 1 + _WORKERS) is not bool(refused):
                ours = "; ".join(each.message for each in refused)
                theirs, all_came = f"{came} pods; {_events(world)}", came == 1 + _WORKERS
                yield Find(
                    quick_yaml.dump_all([job, *world.objects]),
                    ours,
                    theirs,
                    "operators",
                    all_came,
                    outcome=True,
                    target=server.releases,
                )


def _accepted(world: World, random: Random) -> Iterator[tuple[Data, list[Diagnostic]]]:
    """A job that the server has accepted in a namespace, and why we say that its pods will be refused; nothing after many refused ones."""
    cluster = Cluster(world.server.target, objects=world.objects, closed=True)
    for _ in range(20):
        job = _job(world, random)
        checked = check(read(Source("job.yaml", json.dumps(job)), world.server.target), cluster)
        if checked.result.valid and world.server.call("POST", _JOBS.format(world.namespace), json.dumps(job)).accepted:
            found = foresee(checked, cluster).result.diagnostics
            yield job, [each for each in found if each.rule in _REFUSED]
            return


def _job(world: World, random: Random) -> Data:
    roles = {}
    for role, count in (("Master", 1), ("Worker", _WORKERS)):
        spec = pod_policies.with_names(policy_growth.pod(random, plain=0.7)["spec"], world.prefix)
        spec["containers"][0]["name"] = "pytorch"
        spec.pop("serviceAccountName", None)  # half of the pods would have a missing one
        roles[role] = {"replicas": count, "template": {"spec": spec}}
    metadata = {"name": "a", "namespace": world.namespace}
    return {"apiVersion": "kubeflow.org/v1", "kind": "PyTorchJob", "metadata": metadata, "spec": {"pytorchReplicaSpecs": roles}}


def _is_settled(world: World) -> bool:
    return _came(world) == 1 + _WORKERS or bool(_events(world))


def _came(world: World) -> int:
    return len(world.server.get(_PODS.format(world.namespace)).get("items") or ())


def _events(world: World) -> list[str]:
    """What the operator says of pods that it cannot make."""
    found = world.server.get(_EVENTS.format(world.namespace)).get("items") or ()
    return [each["message"] for each in found if each["reason"] == "FailedCreatePod"]
