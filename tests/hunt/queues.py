"""Queues at random with jobs at random, each in an empty cluster or beside others: what Kueue does is what `queue` says."""

import json
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from random import Random, SystemRandom
from typing import Any

from jobspec.apis.releases import choose
from jobspec.documents.reader import read
from jobspec.operators.kueue.admission import QueueAnswer, ask, ask_in_turn
from jobspec.operators.kueue.workload import workload_of, workloads_of
from jobspec.operators.kueue.world import world_of
from tests.hunt.finds import Find
from tests.support import quick_yaml
from tests.support.server import PLURALS, WORKLOADS, Server

Data = dict[str, Any]

_KUEUE = "/apis/kueue.x-k8s.io/v1beta2"
_PATHS = {
    "Namespace": "/api/v1/namespaces",
    "Node": "/api/v1/nodes",
    "LimitRange": "/api/v1/namespaces/{}/limitranges",
    "PriorityClass": "/apis/scheduling.k8s.io/v1/priorityclasses",
    "AdmissionCheck": f"{_KUEUE}/admissionchecks",
    "RuntimeClass": "/apis/node.k8s.io/v1/runtimeclasses",
    "ResourceFlavor": f"{_KUEUE}/resourceflavors",
    "Topology": f"{_KUEUE}/topologies",
    "Cohort": f"{_KUEUE}/cohorts",
    "ClusterQueue": f"{_KUEUE}/clusterqueues",
    "LocalQueue": f"{_KUEUE}/namespaces/{{}}/localqueues",
    "WorkloadPriorityClass": f"{_KUEUE}/workloadpriorityclasses",
    "Workload": f"{_KUEUE}/namespaces/{{}}/workloads",
    **PLURALS,
    **WORKLOADS,
}
_TARGET = choose(())
_PATIENCE = 40.0  # seconds
_SETTLED = 2.0
"""Seconds after which a workload that waits is not tried any more: Kueue goes on at once with flavors that are left."""
_THREADS = 4
GPU = "example.com/gpu"
"""A resource that no node of the server's own has."""
_ACTIVE = {"type": "Active", "status": "True", "reason": "Active", "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z"}
_PRIORITIES = (-5, 0, 10, 100)
_KINDS = ("PyTorchJob", "TrainJob", "JobSet", "Job")
#: The kinds of further operators, and all kinds.
OF_OPERATORS = ("MPIJob", "RayCluster", "RayJob", "LeaderWorkerSet")
ALL_KINDS = (*_KINDS, *OF_OPERATORS)


def finds(
    server: Server, random: Random, tally: Counter[str], *, worlds: int = 24, jobs: int = 3, kinds: Sequence[str] = _KINDS
) -> Iterator[Find]:
    """The jobs of some kinds of which Kueue makes something else than we say."""
    seeds = [random.randrange(1 << 32) for _ in range(worlds)]
    with ThreadPoolExecutor(_THREADS) as threads:
        for found in threads.map(lambda seed: _in_world(server, Random(seed), tally, jobs, kinds), seeds):
            yield from found


def running_finds(
    server: Server, random: Random, tally: Counter[str], *, worlds: int = 24, jobs: int = 4, kinds: Sequence[str] = _KINDS
) -> Iterator[Find]:
    """Yield the jobs of which Kueue makes something else than we say.

    Other jobs run and wait already.
    """
    seeds = [random.randrange(1 << 32) for _ in range(worlds)]
    with ThreadPoolExecutor(_THREADS) as threads:
        for found in threads.map(lambda seed: _in_running_world(server, Random(seed), tally, jobs, kinds), seeds):
            yield from found


def _in_running_world(server: Server, random: Random, tally: Counter[str], jobs: int, kinds: Sequence[str]) -> list[Find]:
    world = World(random, f"q{SystemRandom().randrange(1 << 32):08x}", is_running=True, kinds=kinds)
    found: list[Find] = []
    made: list[str] = []
    try:
        if not world.create(server):
            tally["refused worlds"] += 1
            return []
        tally["worlds"] += 1
        for _ in range(random.randint(3, 9)):
            made += _submitted(server, *world.job())[0]
        for _ in range(jobs):
            before = _settled(server, world)
            if before is None:
                tally["restless worlds"] += 1
                break
            job, others = world.job()
            if random.random() < 0.5:  # so that some are preempted
                job["metadata"]["labels"]["kueue.x-k8s.io/priority-class"] = f"{world.prefix}-p{max(_PRIORITIES)}"
            static = [each for each in world.objects if each["kind"] not in ("ClusterQueue", "Node")]
            text = quick_yaml.dump_all([job, *others, *static, *before])
            groups = _groups_of(job)
            ours = None if groups else _ours(text)
            paths, uid = _submitted(server, job, others)
            made += paths
            if not uid:
                tally["refused jobs"] += 1
                continue
            if ours is None:
                tally["groups"] += groups
                find = _found_in_groups(text, _theirs_of_groups(server, world, uid, groups), tally)
                found += [find] if find else []
                continue
            theirs = _theirs_beside(server, world.namespace, uid, ours, before)
            tally[ours.verdict] += 1
            tally[job["kind"]] += 1
            tally["with topology"] += any(each.placement for each in ours.pod_sets)
            if wrong := _difference(ours, theirs):
                found.append(Find(f"{_HEAD}{json.dumps(theirs)}\n{text}", _said(ours), f"{wrong}: {theirs}"))
    finally:
        _remove(server, reversed(made))
        _emptied(server, world)
        world.delete(server)
    return found


def _submitted(server: Server, job: Data, others: list[Data]) -> tuple[list[str], str]:
    """Where a job and what it refers to were created, and its uid; no uid where the server refuses one of them."""
    made: list[str] = []
    for each in (*others, job):
        if not server.call("POST", _path(each), json.dumps(each)).accepted:
            return made, ""
        made.append(f"{_path(each)}/{each['metadata']['name']}")
    return made, server.get(made[-1])["metadata"]["uid"]


def _has_looked_at(workloads: list[Data], queues: list[Data]) -> bool:
    """Whether Kueue has tried each workload, ended each eviction, and counts those that have quota as we do."""
    admitted = Counter(each["status"]["admission"]["clusterQueue"] for each in workloads if each.get("status", {}).get("admission"))
    return (
        all("QuotaReserved" in {it["type"] for it in each.get("status", {}).get("conditions", ())} for each in workloads)
        and not any(_is(each, "Evicted") and each["status"].get("admission") for each in workloads)
        and all(each.get("status", {}).get("reservingWorkloads", 0) == admitted[each["metadata"]["name"]] for each in queues)
    )


def _settled(server: Server, world: "World") -> list[Data] | None:
    """The queues, nodes and Workloads of a world with their status, once nothing changes any more; None where that takes too long."""
    end, quiet, last = time.monotonic() + _PATIENCE, time.monotonic(), ""
    while time.monotonic() < end:
        queues = [server.get(f"{_PATHS['ClusterQueue']}/{name}") for name in world.queues]
        workloads = server.get(_PATHS["Workload"].format(world.namespace)).get("items", [])
        nodes = [server.get(f"{_PATHS['Node']}/{each['metadata']['name']}") for each in world.objects if each["kind"] == "Node"]
        nodes = [each for each in nodes if isinstance(each.get("status"), dict)]
        for each in nodes:  # whose heartbeat counts for nothing
            conditions = each["status"].get("conditions", ())
            each["status"]["conditions"] = [{"type": it["type"], "status": it["status"]} for it in conditions]
            each["metadata"].pop("resourceVersion", None)
        found = [*queues, *nodes, *({"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "Workload", **each} for each in workloads)]
        if (now := json.dumps(found)) != last:
            quiet, last = time.monotonic(), now
        if time.monotonic() - quiet > _SETTLED and _has_looked_at(workloads, queues):
            for each in found:
                each["metadata"].pop("managedFields", None)
            return found
        time.sleep(0.2)
    return None


def _is(workload: Data, condition: str) -> bool:
    return any(it["type"] == condition and it["status"] == "True" for it in workload.get("status", {}).get("conditions", ()))


def _theirs_beside(server: Server, namespace: str, uid: str, ours: QueueAnswer, before: list[Data]) -> Data:
    """What becomes of a job beside others: its admission, what its queue has reserved, and who was preempted for it."""
    said: Data = {}
    end, quiet = time.monotonic() + _PATIENCE, time.monotonic() + _PATIENCE / 2
    status: Data = next((each["status"] for each in before if each["metadata"]["name"] == ours.cluster_queue), {})
    while time.monotonic() < end and time.monotonic() - quiet < 1.5 * _SETTLED:
        workloads = server.get(_PATHS["Workload"].format(namespace)).get("items", ())
        own = next((each for each in workloads if each["metadata"].get("labels", {}).get("kueue.x-k8s.io/job-uid") == uid), None)
        if own:
            gone = [each["metadata"]["name"] for each in workloads if _made_room(each, own["metadata"]["uid"])]
            now: Data = {"preempted": sorted(f"{namespace}/{name}" for name in gone)}
            now |= {"admission": it} if (it := own.get("status", {}).get("admission")) else {"message": _why_not(own)}
            if now != said and (now["preempted"] or now.get("admission") or now["message"]):
                quiet, said = time.monotonic(), now
        time.sleep(0.1)
    return {**said, "reserved": _reserved(server, ours.cluster_queue, status)} if said.get("admission") else said


def _made_room(workload: Data, uid: str) -> bool:
    """Whether a Workload was preempted for the one of a uid."""
    conditions = workload.get("status", {}).get("conditions", ())
    return any(each["type"] == "Preempted" and f"(UID: {uid}," in each["message"] for each in conditions)


def _why_not(workload: Data) -> list[str]:
    conditions = workload.get("status", {}).get("conditions", ())
    said = [each["message"] for each in conditions if each["type"] == "QuotaReserved" and each["status"] == "False"]
    return [each for each in said if not each.startswith("Workload no longer fits")]  # Kueue tries it again at once


def _in_world(server: Server, random: Random, tally: Counter[str], jobs: int, kinds: Sequence[str]) -> list[Find]:
    world = World(random, f"q{SystemRandom().randrange(1 << 32):08x}", kinds=kinds)
    found: list[Find] = []
    try:
        if not world.create(server):
            tally["refused worlds"] += 1
            return []
        tally["worlds"] += 1
        for _ in range(jobs):
            job, others = world.job()
            find = _asked(server, world, job, others, tally)
            found += [find] if find else []
    finally:
        world.delete(server)
    return found


def _asked(server: Server, world: "World", job: Data, others: list[Data], tally: Counter[str]) -> Find | None:
    made: list[str] = []
    for each in (*others, job):
        answer = server.call("POST", _path(each), json.dumps(each))
        if not answer.accepted:
            tally["refused jobs"] += 1
            _remove(server, made)
            return None
        made.append(f"{_path(each)}/{each['metadata']['name']}")
    text = quick_yaml.dump_all([job, *others, *world.objects])
    if groups := _groups_of(job):
        tally["groups"] += groups
        find = _found_in_groups(text, _theirs_of_groups(server, world, server.get(made[-1])["metadata"]["uid"], groups), tally)
        _remove(server, reversed(made))
        _emptied(server, world)
        return find
    ours = _ours(text)
    theirs = _theirs(server, world.namespace, server.get(made[-1])["metadata"]["uid"], ours)
    _remove(server, reversed(made))
    _emptied(server, world)
    tally[ours.verdict] += 1
    tally[job["kind"]] += 1
    tally["with topology"] += any(each.placement for each in ours.pod_sets)
    wrong = _difference(ours, theirs)
    return Find(f"{_HEAD}{json.dumps(theirs)}\n{text}", _said(ours), f"{wrong}: {theirs}") if wrong else None


_HEAD = "# Kueue: "


def difference(text: str) -> str:
    """In what our answer differs from the one that Kueue gave, which stands in the first line of a find; empty where in nothing."""
    theirs = json.loads(text.partition("\n")[0].removeprefix(_HEAD))
    if "groups" in theirs:
        return _difference_of_groups(_ours_of_groups(text), theirs)
    return _difference(_ours(text), theirs)


# The groups of a LeaderWorkerSet, each of which has a Workload.


def _groups_of(job: Data) -> int:
    """The number of groups of a LeaderWorkerSet with several; 0 for another job."""
    replicas = job["spec"]["replicas"] if job["kind"] == "LeaderWorkerSet" else 1
    return int(replicas) if replicas > 1 else 0


def _found_in_groups(text: str, theirs: Data, tally: Counter[str]) -> Find | None:
    ours = _ours_of_groups(text)
    tally.update(each.verdict for each in ours)
    tally["LeaderWorkerSet with groups"] += 1
    wrong = _difference_of_groups(ours, theirs)
    return Find(f"{_HEAD}{json.dumps(theirs)}\n{text}", "; ".join(map(_said, ours)), f"{wrong}: {theirs}") if wrong else None


def _ours_of_groups(text: str) -> list[QueueAnswer]:
    """What we say of the groups of the first document."""
    documents, problems = read(text, file="job.yaml")
    assert not problems
    world = world_of(each.data for each in documents)
    return list(ask_in_turn(workloads_of(documents[0], documents, _TARGET, world), world))


def _theirs_of_groups(server: Server, world: "World", uid: str, count: int) -> Data:
    """The admissions of the groups of a job once nothing changes any more, and who was preempted for them; empty if that takes too long."""
    end = time.monotonic() + _PATIENCE
    while time.monotonic() < end:
        workloads = [each for each in _settled(server, world) or () if each["kind"] == "Workload"]
        own = [each for each in workloads if each["metadata"].get("labels", {}).get("kueue.x-k8s.io/job-uid") == uid]
        if len(own) == count:
            uids = [each["metadata"]["uid"] for each in own]
            gone = [each["metadata"]["name"] for each in workloads if any(_made_room(each, it) for it in uids)]
            groups = [it for each in own if (it := each.get("status", {}).get("admission"))]
            return {"groups": groups, "waiting": count - len(groups), "preempted": sorted(f"{world.namespace}/{it}" for it in gone)}
        time.sleep(0.2)
    return {}


def _difference_of_groups(ours: Sequence[QueueAnswer], theirs: Data) -> str:
    """In what the admitted groups differ, of which Kueue may take any first: all are alike."""
    if not theirs or any(each.verdict == "unknown" for each in ours):
        return ""
    if sorted(name for each in ours for name in each.preempted) != theirs["preempted"]:
        return "others are preempted"
    admitted = [each for each in ours if each.verdict in ("fits", "borrows", "preempts")]
    if len(admitted) != len(theirs["groups"]):
        return f"{len(theirs['groups'])} groups admitted"
    said = [{each.name: (each.count, dict(each.flavors)) for each in answer.pod_sets} for answer in admitted]
    done = [{each["name"]: (each.get("count"), each.get("flavors", {})) for each in it["podSetAssignments"]} for it in theirs["groups"]]
    return "" if sorted(map(repr, map(_in_order, said))) == sorted(map(repr, map(_in_order, done))) else "other flavors"


def _in_order(assigned: Data) -> list[Any]:
    return sorted((name, count, sorted(flavors.items())) for name, (count, flavors) in assigned.items())


def _ours(text: str) -> QueueAnswer:
    """What we say of the first document, a job, among the others."""
    documents, problems = read(text, file="job.yaml")
    assert not problems
    world = world_of(each.data for each in documents)
    return ask(workload_of(documents[0], documents, _TARGET, world), world)


def _difference(ours: QueueAnswer, theirs: Data) -> str:
    """What of an answer differs from what Kueue did."""
    admission, preempted = theirs.get("admission"), theirs.get("preempted", [])
    if ours.verdict == "unknown" or not theirs:  # a busy Kueue that looks at no Workload for a while
        return ""
    if preempted != sorted(ours.preempted):
        return "others are preempted"
    if ours.verdict in ("never", "waits") or not admission:
        return "admitted" if admission else "" if ours.verdict not in ("fits", "borrows") else "not admitted"
    assigned = {each["name"]: (each.get("count"), each.get("flavors", {})) for each in admission["podSetAssignments"]}
    said = {each.name: (each.count, dict(each.flavors)) for each in ours.pod_sets}
    if assigned != said:
        return "other flavors"
    if preempted or not theirs["reserved"]:
        return ""  # the status of the queue came too late to say whether it borrows
    borrows = any(int(each.get("borrowed", 0) or 0) for each in theirs["reserved"])
    return "" if borrows is (ours.verdict == "borrows") else "borrows" if borrows else "does not borrow"


def _said(ours: QueueAnswer) -> str:
    sets = [f"{each.name} {each.count} {dict(each.flavors)} {[(it.flavor, it.reasons) for it in each.tried]}" for each in ours.pod_sets]
    return f"{ours.verdict} {ours.reason} {sets}"


def _theirs(server: Server, namespace: str, uid: str, ours: QueueAnswer) -> Data:
    """The admission of a job's workload, and what its queue has reserved then; or why it waits."""
    end, quiet = time.monotonic() + _PATIENCE, 0.0
    query = f"?labelSelector=kueue.x-k8s.io%2Fjob-uid%3D{uid}"
    said: Data = {}
    while time.monotonic() < end:
        for each in server.get(_PATHS["Workload"].format(namespace) + query).get("items", ()):
            status = each.get("status", {})
            if status.get("admission"):
                return {"admission": status["admission"], "reserved": _reserved(server, ours.cluster_queue, {})}
            waits = _why_not(each)
            if waits and {"message": waits} != said:
                said, quiet = {"message": waits}, time.monotonic()
        if said and ours.verdict == "never" and time.monotonic() - quiet > _SETTLED:
            return said
        time.sleep(0.1)
    return said or {"message": "no Workload"}


def _reserved(server: Server, queue: str, before: Data) -> list[Data]:
    """What a queue has reserved, once its status says so; and whether it borrows more than *before*."""
    borrowed = {(flavor, each["name"]): each.get("borrowed") for flavor, each in _resources(before)}
    for _ in range(100):
        status = _status(server, queue)
        if status.get("reservingWorkloads", 0) != before.get("reservingWorkloads", 0):
            return [{**it, "borrowed": int(borrowed.get((flavor, it["name"]), "0") != it["borrowed"])} for flavor, it in _resources(status)]
        time.sleep(0.05)
    return []


def _resources(status: Data) -> list[tuple[str, Data]]:
    return [(each["name"], {"borrowed": "0", **it}) for each in status.get("flavorsReservation", ()) for it in each["resources"]]


def _status(server: Server, queue: str) -> Data:
    """The status of a ClusterQueue; empty where a busy server does not give it."""
    found = server.get(f"{_PATHS['ClusterQueue']}/{queue}").get("status", {})
    return found if isinstance(found, dict) else {}


def _remove(server: Server, paths: Any) -> None:
    for each in paths:
        server.call("DELETE", each, json.dumps({"propagationPolicy": "Background"}), "application/json")


def _emptied(server: Server, world: "World") -> None:
    """Wait until nothing of a job is left in a world."""
    for _ in range(200):
        left = server.get(_PATHS["Workload"].format(world.namespace)).get("items")
        for each in left or ():  # without an owner that ends it
            if not each["metadata"].get("deletionTimestamp"):
                server.call("DELETE", f"{_PATHS['Workload'].format(world.namespace)}/{each['metadata']['name']}")
            if each["metadata"].get("finalizers"):
                path = f"{_PATHS['Workload'].format(world.namespace)}/{each['metadata']['name']}"
                server.patch(path, json.dumps({"metadata": {"finalizers": None}}))
        if not left:
            break
        time.sleep(0.05)
    for _ in range(100):
        queues = [_status(server, name) for name in world.queues]
        if not any(each.get("reservingWorkloads") or each.get("pendingWorkloads") for each in queues):
            return
        time.sleep(0.05)


def _path(each: Data) -> str:
    return _PATHS[each["kind"]].format(each["metadata"].get("namespace", ""))


@dataclass
class World:
    """Queues at random, all of whose names begin alike."""

    random: Random
    prefix: str
    is_running: bool = False
    """Whether jobs stay, and some may go for others: their pods find no scheduler, so that nothing ends."""
    kinds: Sequence[str] = _KINDS

    def __post_init__(self) -> None:
        random = self.random
        self.made, self.rare = 0, 0.2 if self.is_running else 0.5
        self.namespace = self.prefix
        self.rarely = Random(random.getrandbits(32))  # of its own, so that one more thing in a world changes no other
        self.levels = random.choice(([], [], ["rack", "host"], ["block", "rack", "host"], ["block", "rack"]))
        self.labels = {"type": ["a", "b"], "zone": ["x", "z"]}
        self.resources = random.choice((["cpu"], ["cpu", "memory"], ["cpu", GPU], ["cpu", "memory", GPU], ["cpu", "pods"]))
        self.flavors = [self._flavor(f"{self.prefix}-f{number}") for number in range(random.randint(1, 4))]
        self.cohorts = [f"{self.prefix}-c{number}" for number in range(random.choice((0, 1, 1, 2, 3)))]
        self.queues = [f"{self.prefix}-q{number}" for number in range(random.randint(1, 4))]
        self.objects = [*self._around(), *self._topology(), *self.flavors, *self._cohorts(), *self._priorities(), *self._checks()]
        self.objects += [self._queue(each) for each in self.queues]
        self.local = [self._local(each) for each in self.queues]
        if self.rarely.random() < 0.25:
            self.local.append(self._kueue("LocalQueue", "default", self.local[0]["spec"], namespace=self.namespace))
        self.objects += self.local

    def key(self, name: str) -> str:
        """A label of nodes in this world."""
        return "kubernetes.io/hostname" if name == "host" else f"{self.prefix}/{name}"

    def _some(self, chance: float) -> bool:
        return self.random.random() < chance

    def _kueue(self, kind: str, name: str, spec: Data, **metadata: str) -> Data:
        return {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": kind, "metadata": {"name": name, **metadata}, "spec": spec}

    def _around(self) -> Iterator[Data]:
        yield {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": self.namespace, "labels": {"team": self.random.choice("ab")}}}
        if self._some(0.15):
            limit = {"type": "Container", "defaultRequest": {"cpu": self.random.choice(("1", "500m"))}, "max": {"cpu": "6"}}
            if self.rarely.random() < 0.5:  # one that says no requests, which come of limits then
                said: tuple[Data, ...] = ({"default": {"cpu": "2"}}, {"max": {"cpu": "3"}}, {"min": {"cpu": "1"}})
                limit = {"type": "Container", **self.rarely.choice(said)}
            yield {
                "apiVersion": "v1",
                "kind": "LimitRange",
                "metadata": {"name": "a", "namespace": self.namespace},
                "spec": {"limits": [limit]},
            }
        if self._some(0.3):
            yield {
                "apiVersion": "node.k8s.io/v1",
                "kind": "RuntimeClass",
                "metadata": {"name": self.prefix},
                "handler": "a",
                "overhead": {"podFixed": {"cpu": "250m"}},
            }

    def _checks(self) -> Iterator[Data]:
        """An AdmissionCheck, whose controller says that it is active."""
        made = self._kueue("AdmissionCheck", f"{self.prefix}-ready", {"controllerName": f"example.com/{self.prefix}"})
        yield {**made, "status": {"conditions": [_ACTIVE]}}

    def _priorities(self) -> Iterator[Data]:
        for value in _PRIORITIES if self.is_running else ():
            name = f"{self.prefix}-pods{value}".replace("s-", "s-below-")
            yield {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": name}, "value": value}
            metadata = {"name": f"{self.prefix}-p{value}".replace("p-", "below-")}
            yield {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "WorkloadPriorityClass", "metadata": metadata, "value": value}

    def _topology(self) -> Iterator[Data]:
        if not self.levels:
            return
        yield self._kueue("Topology", self.prefix, {"levels": [{"nodeLabel": self.key(each)} for each in self.levels]})
        taint = {"key": self.prefix, "value": "a", "effect": "NoSchedule"}
        for number in range(self.random.randint(2, 7)):
            name = f"{self.prefix}-n{number}"
            block = self.random.randint(0, 1)
            labels = {self.key("pool"): self.random.choice("ab"), self.key("block"): f"b{block}"}
            labels |= {self.key("rack"): f"b{block}r{self.random.randint(0, 1)}", "kubernetes.io/hostname": name}
            if self._some(0.1):
                labels.pop(self.random.choice(sorted(labels)))
            size = {
                "cpu": str(self.random.randint(1, 6)),
                "memory": f"{self.random.randint(1, 8)}Gi",
                "pods": str(self.random.choice((3, 20))),
            }
            size |= {GPU: str(self.random.randint(0, 4))} if GPU in self.resources else {}
            taints = [taint, *([{"key": "other", "effect": "NoSchedule"}] if self._some(0.15) else [])]
            spec = {"taints": taints, **({"unschedulable": True} if self._some(0.1) else {})}
            ready = {"type": "Ready", "status": "True"}
            yield {
                "apiVersion": "v1",
                "kind": "Node",
                "metadata": {"name": name, "labels": labels},
                "spec": spec,
                "status": {"capacity": size, "allocatable": size, "conditions": [ready]},
            }

    def _flavor(self, name: str) -> Data:
        spec: Data = {}
        labels = {self.key(each): self.random.choice(values) for each, values in self.labels.items() if self._some(self.rare)}
        if self.levels and self._some(0.75):
            spec["topologyName"] = self.prefix
            labels = {self.key("pool"): self.random.choice("ab")}
            spec["tolerations"] = [{"key": self.prefix, "operator": "Exists"}]
        if labels:
            spec["nodeLabels"] = labels
        if self._some(self.rare / 2):
            effect = self.random.choice(("NoSchedule", "NoExecute", "PreferNoSchedule"))
            spec["nodeTaints"] = [{"key": "spot", "value": self.random.choice("ab"), "effect": effect}]
        return self._kueue("ResourceFlavor", name, spec)

    def _groups(self, *, has_parent: bool) -> list[Data]:
        """Resource groups over all resources, or over some of them."""
        flavors = [each["metadata"]["name"] for each in self.flavors]
        self.random.shuffle(flavors)
        covered = [each for each in self.resources if self._some(0.95)] or self.resources[:1]
        parts = [(covered, flavors)]
        if len(covered) > 1 and len(flavors) > 1 and self._some(0.35):
            cut = self.random.randint(1, len(flavors) - 1)
            parts = [(covered[:1], flavors[:cut]), (covered[1:], flavors[cut:])]
        return [
            {
                "coveredResources": names,
                "flavors": [
                    {"name": flavor, "resources": [self._quota(name, has_parent=has_parent) for name in names]} for flavor in of_these
                ],
            }
            for names, of_these in parts
        ]

    def _amount(self, name: str, most: int) -> str:
        number = self.random.randint(0, most)
        if name == "memory":
            return f"{number}Gi"
        return f"{number * 500}m" if name == "cpu" and self._some(0.3) else str(number)

    def _quota(self, name: str, *, has_parent: bool) -> Data:
        nominal = self.random.randint(*((2, 9) if self.is_running else (0, 5 if has_parent and self._some(0.5) else 16)))
        form = "{}Gi" if name == "memory" else "{}"
        found = {"name": name, "nominalQuota": form.format(nominal)}
        if has_parent and self._some(0.4):
            found["borrowingLimit"] = self._amount(name, 6)
        if has_parent and self._some(0.4):
            found["lendingLimit"] = form.format(self.random.randint(0, nominal))
        return found

    def _cohorts(self) -> Iterator[Data]:
        for number, name in enumerate(self.cohorts):
            if self._some(0.75) or number:
                parent = {"parentName": self.cohorts[number - 1]} if number and self._some(0.85) else {}
                groups = {"resourceGroups": self._groups(has_parent=bool(parent))} if self._some(0.4) else {}
                yield self._kueue("Cohort", name, {**parent, **groups})

    def _queue(self, name: str) -> Data:
        cohort = {"cohortName": self.random.choice(self.cohorts)} if self.cohorts and self._some(0.8) else {}
        selector: Data = self.random.choices(
            ({"namespaceSelector": {}}, {"namespaceSelector": {"matchLabels": {"team": "a"}}}, {}), weights=(93, 6, 1)
        )[0]
        stop = {"stopPolicy": self.random.choice(("Hold", "HoldAndDrain"))} if self._some(0.02) else {}
        if self.rarely.random() < 0.1:
            named = self.rarely.choice(("ready", "ready", "none"))
            checks: Data = {"name": f"{self.prefix}-{named}"}
            flavor = self.flavors[0]["metadata"]["name"]
            stop |= {"admissionChecksStrategy": {"admissionChecks": [{**checks, **self.rarely.choice(({}, {"onFlavors": [flavor]}))}]}}
        if self.rarely.random() < 0.05:
            operator = self.rarely.choice(("In", "NotIn", "Exists", "DoesNotExist"))
            requirement = {"operator": operator, **({"values": ["a"]} if operator in ("In", "NotIn") else {})}
            selector = {"namespaceSelector": {"matchExpressions": [{"key": "team", **requirement}]}}
        fungibility = {
            "flavorFungibility": {
                "whenCanBorrow": self.random.choice(("MayStopSearch", "TryNextFlavor")),
                "whenCanPreempt": self.random.choice(("MayStopSearch", "TryNextFlavor")),
            }
        }
        if self.is_running:
            said = fungibility["flavorFungibility"]
            if set(said.values()) == {"TryNextFlavor"}:
                said["preference"] = self.random.choice(("BorrowingOverPreemption", "PreemptionOverBorrowing"))
            stop |= {**self._preemption(), **({"queueingStrategy": "StrictFIFO"} if self._some(0.15) else {})}
        spec = {**cohort, **selector, **stop, **(fungibility if self._some(0.5) else {})}
        made = self._kueue("ClusterQueue", name, {**spec, "resourceGroups": self._groups(has_parent=bool(cohort))})
        if self._some(0.1):  # the older version, which calls the cohort differently
            older = {key: value for key, value in made["spec"].items() if key != "cohortName"}
            older |= {"cohort": made["spec"]["cohortName"]} if cohort else {}
            if "flavorFungibility" in older:
                old = {"whenCanBorrow": ("Borrow", "TryNextFlavor"), "whenCanPreempt": ("Preempt", "TryNextFlavor")}
                older["flavorFungibility"] = {field: self.random.choice(values) for field, values in old.items()}
            made |= {"apiVersion": "kueue.x-k8s.io/v1beta1", "spec": older}
        return made

    def _preemption(self) -> Data:
        within = self.random.choice(("Never", "LowerPriority", "LowerPriority", "LowerOrNewerEqualPriority"))
        found: Data = {"withinClusterQueue": within, "reclaimWithinCohort": self.random.choice(("Never", "LowerPriority", "Any", "Any"))}
        if found["reclaimWithinCohort"] != "Never" and self._some(0.5):
            found["borrowWithinCohort"] = {"policy": "LowerPriority"}
            if self._some(0.5):
                found["borrowWithinCohort"]["maxPriorityThreshold"] = self.random.choice(_PRIORITIES)
        return {"preemption": found}

    def _local(self, queue: str) -> Data:
        missing = self._some(0.02)
        stop = {"stopPolicy": "Hold"} if self._some(0.02) else {}
        return self._kueue("LocalQueue", queue, {"clusterQueue": f"{queue}x" if missing else queue, **stop}, namespace=self.namespace)

    # The world on a server.

    def create(self, server: Server) -> bool:
        """Create all objects; False where the server refuses one."""
        for each in self.objects:
            path = _path(each).replace("v1beta2", "v1beta1") if each["apiVersion"].endswith("/v1beta1") else _path(each)
            answer = server.call("POST", path, json.dumps(each))
            if not answer.accepted:
                return False
            if each["kind"] == "AdmissionCheck" and "status" in each:
                place = f"{path}/{each['metadata']['name']}/status"
                server.patch(place, json.dumps({"status": each["status"]}))
        for _ in range(100):  # until Kueue knows all nodes and queues
            states = [_status(server, name).get("conditions") for name in self.queues]
            if all(states):
                break
            time.sleep(0.1)
        server.get(f"/api/v1/namespaces/{self.namespace}/serviceaccounts/default")
        time.sleep(0.7 if self.levels else 0.3)
        return True

    def delete(self, server: Server) -> None:
        """Delete all objects."""
        for each in reversed(self.objects):
            with suppress(OSError):
                server.call("DELETE", f"{_path(each)}/{each['metadata']['name']}")

    # Jobs at random.

    def job(self) -> tuple[Data, list[Data]]:
        """A job in one of the queues, and what it refers to."""
        kind = self.random.choice(self.kinds)
        queue = self.random.choice(self.queues)
        annotations = {}
        self.made += 1
        metadata: Data = {"name": f"a{self.made}", "namespace": self.namespace, "labels": {"kueue.x-k8s.io/queue-name": queue}}
        if any(each["metadata"]["name"] == "default" for each in self.local) and self.rarely.random() < 0.3:
            metadata["labels"] = {}  # the webhook names the queue `default`
        if self.is_running and self._some(0.8):
            classes = [each["metadata"]["name"] for each in self.objects if each["kind"] == "WorkloadPriorityClass"]
            metadata["labels"]["kueue.x-k8s.io/priority-class"] = self.random.choice(classes)
        if kind == "Job":
            parallelism = self.random.randint(1, 5)
            if self._some(0.25):
                annotations = {"annotations": {"kueue.x-k8s.io/job-min-parallelism": str(self.random.randint(1, parallelism))}}
            completions = {"completions": self.random.randint(1, 6)} if self._some(0.5) and not annotations else {}
            template = self._template("a", parallelism, restart="Never")
            spec = {"parallelism": parallelism, **completions, "template": template, "suspend": True}
            return {"apiVersion": "batch/v1", "kind": "Job", "metadata": {**metadata, **annotations}, "spec": spec}, []
        if kind == "JobSet":
            jobs = [self._replicated(f"j{number}") for number in range(self.random.randint(1, 3))]
            if self.levels and self._some(0.3):
                jobs = [self._replicated("leader", 1, 1), self._replicated("worker")]
                self.random.shuffle(jobs)
                self._group(*(each["template"]["spec"]["template"] for each in jobs))
            return {
                "apiVersion": "jobset.x-k8s.io/v1alpha2",
                "kind": "JobSet",
                "metadata": metadata,
                "spec": {"suspend": True, "replicatedJobs": jobs},
            }, []
        if kind == "PyTorchJob":
            roles = self.random.choice((["Master"], ["Worker"], ["Master", "Worker"]))
            counts = {role: 1 if role == "Master" else self.random.randint(1, 4) for role in roles}
            specs: Data = {role: {"replicas": count, "template": self._template("pytorch", count)} for role, count in counts.items()}
            if len(roles) > 1 and self.levels and self._some(0.3):
                self._group(*(each["template"] for each in specs.values()))
            spec = {"pytorchReplicaSpecs": specs, "runPolicy": {"suspend": True}}
            return {"apiVersion": "kubeflow.org/v1", "kind": "PyTorchJob", "metadata": metadata, "spec": spec}, []
        further = {"MPIJob": self._mpijob, "RayCluster": self._raycluster, "RayJob": self._rayjob, "LeaderWorkerSet": self._lws}
        return further.get(kind, self._trainjob)(metadata)

    def _mpijob(self, metadata: Data) -> tuple[Data, list[Data]]:
        roles = self.random.choice((["Launcher"], ["Launcher", "Worker"], ["Worker", "Launcher"]))
        counts = {role: 1 if role == "Launcher" else self.random.randint(1, 4) for role in roles}
        specs: Data = {role: {"replicas": count, "template": self._template("a", count)} for role, count in counts.items()}
        if len(roles) > 1 and self.levels and self._some(0.3):
            self._group(*(each["template"] for each in specs.values()))
        spec = {"mpiReplicaSpecs": specs, "runPolicy": {"suspend": True}, "runLauncherAsWorker": self._some(0.5)}
        return {"apiVersion": "kubeflow.org/v2beta1", "kind": "MPIJob", "metadata": metadata, "spec": spec}, []

    def _raycluster(self, metadata: Data) -> tuple[Data, list[Data]]:
        return {"apiVersion": "ray.io/v1", "kind": "RayCluster", "metadata": metadata, "spec": {"suspend": True, **self._ray()}}, []

    def _rayjob(self, metadata: Data) -> tuple[Data, list[Data]]:
        spec: Data = {"suspend": True, "shutdownAfterJobFinishes": True, "entrypoint": "python a.py", "rayClusterSpec": self._ray()}
        mode = self.random.choice(({}, {}, {"submissionMode": "HTTPMode"}, {"submissionMode": "SidecarMode"}))
        if not mode and self._some(0.3):
            spec["submitterPodTemplate"] = self._template("a", 1, restart="Never")
        return {"apiVersion": "ray.io/v1", "kind": "RayJob", "metadata": metadata, "spec": {**spec, **mode}}, []

    def _ray(self) -> Data:
        """The spec of a Ray cluster."""
        workers = []
        for name in ("small", "Large", "third")[: self.random.choice((0, 1, 1, 2, 3))]:
            replicas, hosts = self.random.randint(0, 3), self.random.choice((None, 1, 2))
            hosted = {"numOfHosts": hosts} if hosts else {}
            template = self._template("a", max(1, replicas * (hosts or 1)))
            workers.append(
                {"groupName": name, "rayStartParams": {}, "replicas": replicas, "maxReplicas": 3, **hosted, "template": template}
            )
        head = {"rayStartParams": {}, "template": self._template("a", 1)}
        if workers and self.levels and self._some(0.2):
            self._group(head["template"], workers[0]["template"])
        return {"headGroupSpec": head, "workerGroupSpecs": workers}

    def _lws(self, metadata: Data) -> tuple[Data, list[Data]]:
        size = self.random.randint(1, 4)
        template: Data = {"size": size, "workerTemplate": self._template("a", max(1, size - 1))}
        if self._some(0.5):
            template["leaderTemplate"] = self._template("a", 1)
            if size > 1 and self.levels and self._some(0.3):
                self._group(template["leaderTemplate"], template["workerTemplate"])
        spec = {"replicas": self.rarely.choice((1, 1, 2, 3, 5)), "leaderWorkerTemplate": template}
        return {"apiVersion": "leaderworkerset.x-k8s.io/v1", "kind": "LeaderWorkerSet", "metadata": metadata, "spec": spec}, []

    def _group(self, *templates: Data) -> None:
        """Have pods of two templates stand together, those of a leader and of workers."""
        level, strength = self.key(self.random.choice(self.levels)), self.random.choice(("required", "preferred"))
        start = "kueue.x-k8s.io/podset-"
        for each in templates:
            each["metadata"] = {"annotations": {f"{start}{strength}-topology": level, f"{start}group-name": "g"}}

    def _replicated(self, name: str, most_replicas: int = 3, most_pods: int = 2) -> Data:
        replicas, parallelism = self.random.randint(1, most_replicas), self.random.randint(1, most_pods)
        template = self._template("a", replicas * parallelism, restart="Never")
        spec = {"parallelism": parallelism, "completions": parallelism, "template": template}
        return {"name": name, "replicas": replicas, "template": {"spec": spec}}

    def _trainjob(self, metadata: Data) -> tuple[Data, list[Data]]:
        template = self._template("node", 4, restart="Never")
        labels = {"trainer.kubeflow.org/trainjob-ancestor-step": "trainer"}
        job = {"name": "node", "template": {"metadata": {"labels": labels}, "spec": {"template": template}}}
        runtime = {
            "apiVersion": "trainer.kubeflow.org/v1alpha1",
            "kind": "TrainingRuntime",
            "metadata": {"name": metadata["name"], "namespace": self.namespace},
            "spec": {"mlPolicy": {"numNodes": self.random.randint(1, 3)}, "template": {"spec": {"replicatedJobs": [job]}}},
        }
        trainer: Data = {"numNodes": self.random.randint(1, 4)} if self._some(0.6) else {}
        if self._some(0.5):
            trainer["resourcesPerNode"] = {"requests": self._requests()}
        spec = {
            "runtimeRef": {"kind": "TrainingRuntime", "name": metadata["name"]},
            "suspend": True,
            **({"trainer": trainer} if trainer else {}),
        }
        return {"apiVersion": "trainer.kubeflow.org/v1alpha1", "kind": "TrainJob", "metadata": metadata, "spec": spec}, [runtime]

    def _requests(self) -> Data:
        names = [each for each in self.resources if each != "pods"]
        found = {name: self._amount(name, 2) for name in names if self._some(0.8)}
        if self._some(0.03):
            found["memory"] = "1Gi"
        return found

    def _template(self, container: str, count: int, *, restart: str = "") -> Data:
        requests = self._requests()
        resources: Data = {"requests": requests}
        if self._some(0.3) or GPU in requests:
            resources = {"limits": requests}
        spec: Data = {"containers": [{"name": container, "image": "a", "resources": resources}]}
        if restart:
            spec["restartPolicy"] = restart
        if self.is_running:
            spec["schedulerName"] = "none"
            spec |= self._pod_priority()
        if self._some(0.15):
            before = {name: each for name, each in self._requests().items() if name != GPU}
            init = {"name": "i", "image": "a", "resources": {"requests": before}}
            spec["initContainers"] = [{**init, **({"restartPolicy": "Always"} if self._some(0.4) else {})}]
        if self._some(0.2):
            spec["nodeSelector"] = {self.key(name): self.random.choice(values) for name, values in self.labels.items() if self._some(0.6)}
        if self._some(0.2):
            spec["tolerations"] = [
                self.random.choice(({"operator": "Exists"}, {"key": "spot", "value": "a"}, {"key": "spot", "operator": "Exists"}))
            ]
        if self._some(0.15):
            name = self.random.choice(sorted(self.labels))
            operator = self.random.choice(("In", "NotIn", "Exists", "DoesNotExist"))
            values = {"values": [self.random.choice(self.labels[name])]} if operator in ("In", "NotIn") else {}
            term = {"matchExpressions": [{"key": self.key(name), "operator": operator, **values}]}
            wanted = {"nodeSelectorTerms": [term]}
            spec["affinity"] = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": wanted}}
        if any(each["kind"] == "RuntimeClass" for each in self.objects) and self._some(0.5):
            spec["runtimeClassName"] = self.prefix
        tas = [each for each in self.flavors if "topologyName" in each["spec"]]
        annotations = self._placement(count) if tas and self._some(0.15 + 0.7 * len(tas) / len(self.flavors)) else {}
        rare = Random(repr(spec))  # of its own, so that the worlds of a seed stay
        if rare.random() < 0.03:
            spec["resourceClaims"] = [{"name": "c", "resourceClaimName": "c"}]
        metadata = {**({"annotations": annotations} if annotations else {}), **({"labels": {"odd": "-a-"}} if rare.random() < 0.03 else {})}
        return {**({"metadata": metadata} if metadata else {}), "spec": spec}

    def _pod_priority(self) -> Data:
        """The priority class of pods, which is that of their job where that names none of Kueue's."""
        names = [each["metadata"]["name"] for each in self.objects if each["kind"] == "PriorityClass"]
        return {"priorityClassName": self.rarely.choice(names)} if self.rarely.random() < 0.3 else {}

    def _placement(self, count: int) -> Data:
        start = "kueue.x-k8s.io/podset-"
        level = self.key(self.random.choice(self.levels)) if self._some(0.95) else f"{self.prefix}/none"
        found = self.random.choice(
            ({f"{start}required-topology": level}, {f"{start}preferred-topology": level}, {f"{start}unconstrained-topology": "true"}, {})
        )
        if (self._some(0.25) or not found) and count > 1:
            divisors = [each for each in range(1, count + 1) if count % each == 0]
            found = {**found, f"{start}slice-required-topology": self.key(self.random.choice(self.levels))}
            found[f"{start}slice-size"] = str(self.random.choice(divisors))
        return found
