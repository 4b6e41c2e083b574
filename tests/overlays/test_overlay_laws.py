"""The laws of overlays, over generated jobs and overlays from an alphabet so small that they keep meeting.

A world is a kind of job at a release, with what is generated for it.
"""

import copy
import json
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from jobspec.apis.releases import choose
from jobspec.diagnostics.diagnostic import Diagnostic
from jobspec.diagnostics.places import Mark, Marks
from jobspec.documents.document import Document
from jobspec.documents.marked_tree import MarkedTree, items
from jobspec.documents.reader import read
from jobspec.overlays.apply import apply
from jobspec.overlays.load import LoadedOverlay
from jobspec.session.inputs import load_overlays
from tests.support.seeds import examples, seed

TARGET = choose([])
pytestmark = pytest.mark.slow
LAW = settings(deadline=None, suppress_health_check=list(HealthCheck))

Data = dict[str, Any]
Maker = Callable[[Random], Any]


def one_of(*values: Any) -> Maker:
    """One of the values; those that are makers make theirs."""
    return lambda r: made(r.choice(values), r)


def made(value: Any, r: Random) -> Any:
    """What a template stands for: makers make, mappings and lists are filled."""
    if callable(value):
        return value(r)
    if isinstance(value, dict):
        return {key: made(child, r) for key, child in value.items()}
    return [made(child, r) for child in value] if isinstance(value, list) else value


def some(fields: Data, *, share: float = 0.4, least: int = 1) -> Maker:
    """A mapping with some of the fields."""

    def make(r: Random) -> Data:
        names = [name for name in fields if r.random() < share]
        names = names if len(names) >= least else r.sample(list(fields), least)
        return {name: made(fields[name], r) for name in names}

    return make


def several(*values: Any, most: int = 2, least: int = 1) -> Maker:
    """Different ones of the values, in any order."""
    return lambda r: [made(each, r) for each in r.sample(values, r.randint(least, min(most, len(values))))]


def keyed(key: str, names: list[Any], fields: Data, **more: Any) -> Maker:
    """A list whose items are distinguished by *key*."""
    return lambda r: [{key: name, **made(more, r), **some(fields)(r)} for name in r.sample(names, r.randint(1, min(2, len(names))))]


def or_null(value: Any) -> Maker:
    return lambda r: None if r.random() < 0.12 else made(value, r)


def or_append(value: Any) -> Maker:
    return lambda r: {"$append": made(value, r)} if r.random() < 0.4 else made(value, r)


def or_change(value: Any, *keys: str) -> Maker:
    """A list with keys, of which some items are removals; or its items appended."""

    def make(r: Random) -> Any:
        listed = made(value, r)
        removals = [{**{key: item[key] for key in keys if key in item}, "$remove": True} for item in listed]
        return {"$append": listed} if r.random() < 0.4 else [pair[r.random() < 0.5] for pair in zip(listed, removals, strict=True)]

    return make


def nullable(fields: Data) -> Data:
    return {name: or_null(value) for name, value in fields.items()}


text = one_of("x", "y")
number = one_of(1, 2)
boolean = one_of(True, False)
texts = some({"x": text, "y": text})
tolerations = several(*({"key": key, "operator": "Exists", **more} for key in "xy" for more in ({}, {"effect": "x"}, {"effect": None})))
words = several("--f", "--g", "--f", "--f=1", "--g=x", "--h", "run.py", "3", "-1e-3", most=6, least=0)
flags = some({flag: one_of(None, True, 1, "x", -1, "-y", "x", 1) for flag in ("--f", "--g", "--h", "-k")}, share=0.3)
env_source = {
    "value": text,
    "valueFrom": some({"fieldRef": {"fieldPath": "metadata.name"}, "secretKeyRef": {"name": "s", "key": text}}, share=0.2),
}
volume_source = {"emptyDir": one_of({}, {"medium": "Memory"}, {"sizeLimit": "1Gi"}), "persistentVolumeClaim": {"claimName": text}}
ports = several({"containerPort": 1}, {"containerPort": 1, "protocol": "UDP"}, {"containerPort": 2, "name": text})
mounts = keyed("mountPath", ["/m", "/n"], {"subPath": text, "subPathExpr": text, "readOnly": boolean}, name="v")
amounts = one_of({"cpu": number}, {"memory": number}, {"cpu": number, "memory": number})

base_container = {
    "image": text,
    "env": or_null(keyed("name", ["A", "B", "C"], env_source)),
    "ports": or_null(ports),
    "volumeMounts": mounts,
    "resources": or_null(some({"limits": or_null(amounts), "requests": amounts})),
    "command": or_null(words),
    "args": or_null(words),
}


def containers(r: Random) -> list[Data]:
    main = {"name": "pytorch", **some(base_container, share=0.6)(r)}
    return [main, {"name": "side", "image": "i"}] if r.random() < 0.7 else [main]


base_pod = {
    "volumes": keyed("name", ["v", "w"], volume_source),
    "tolerations": tolerations,
    "nodeSelector": texts,
    "hostNetwork": boolean,
    "initContainers": None,
}
base_role = {
    "replicas": 1,
    "template": lambda r: {
        "metadata": some({"labels": texts, "annotations": None})(r),
        "spec": {**some(base_pod)(r), "containers": containers(r)},
    },
}
base = {
    "apiVersion": "kubeflow.org/v1",
    "kind": "PyTorchJob",
    "metadata": {"name": "job", "namespace": "team"},
    "spec": {"pytorchReplicaSpecs": some({"Master": base_role, "Worker": base_role}, share=0.7)},
}

container_change = {
    "image": or_null(text),
    "env": or_null(or_change(keyed("name", ["A", "B", "C"], nullable(env_source)), "name")),
    "ports": or_null(or_change(ports, "containerPort", "protocol")),
    "volumeMounts": or_null(or_change(mounts, "mountPath")),
    "resources": or_null(some({"limits": or_null({"cpu": or_null(one_of(1, "${cpus}"))}), "requests": amounts})),
    "securityContext": or_null(some({"privileged": or_null(boolean), "runAsUser": number})),
}
pod_change = {
    "containers": one_of(
        keyed("name", ["${training}"], container_change),
        keyed("name", ["${training}"], container_change),
        keyed("name", ["${training}", "side"], container_change),
        keyed("name", ["${training}"], {**container_change, "args": or_null(words)}),
        {"$append": keyed("name", ["extra", "side"], container_change)},
        [{"name": "side", "$remove": True}],
    ),
    "volumes": or_null(or_change(keyed("name", ["v", "w"], nullable(volume_source)), "name")),
    "tolerations": or_null(or_append(tolerations)),
    "nodeSelector": or_null(some({"x": or_null(text), "y": or_null(text)})),
    "hostNetwork": or_null(boolean),
}
template_change = some(
    {
        "metadata": some({"labels": or_null(some({"x": or_null(text), "y": text})), "annotations": {"x": "${cpus}x"}}, share=0.2),
        "spec": some(pod_change, share=0.3),
    }
)
entry = one_of(
    some({"flags": flags, "template": template_change}),
    lambda r: {"roles": several("master", "worker")(r), **some({"flags": flags, "template": template_change})(r)},
)
new_role = {"template": {"spec": {"containers": {"$append": [{"name": "pytorch", "image": "n"}]}}}}
job_change = some(
    {
        "nprocPerNode": or_null(text),
        "runPolicy": or_null(some({"backoffLimit": or_null(number), "suspend": boolean, "schedulingPolicy": {"queue": text}})),
        "pytorchReplicaSpecs": {"Worker": or_null(one_of({"replicas": number}, new_role))},
    },
    share=0.2,
)
claim = {
    "apiVersion": "v1",
    "kind": "PersistentVolumeClaim",
    "metadata": {"name": text},
    "spec": {"accessModes": [text], "resources": {"requests": {"storage": "1Gi"}}},
}
spec = some({"pods": several(entry, entry), "job": {"PyTorchJob": {"spec": job_change}}, "resources": [claim]}, share=0.25)
change = one_of({"pods": several(entry, entry)}, {"pods": several(entry, entry)}, spec)


def drawn(template: Any) -> st.SearchStrategy[Any]:
    return st.randoms(use_true_random=True).map(lambda r: made(template, r))


def pair_of(change: Maker) -> Maker:
    """The specs of two overlays, which often say a part of the same."""

    def make(r: Random) -> tuple[Data, Data]:
        one, other = made(change, r), made(change, r)
        if "pods" in one and r.random() < 0.5:
            agreed = thinned(r.choice(one["pods"]), r)
            other = {**other, "pods": [agreed] if r.random() < 0.7 else [*other.get("pods", []), agreed]}
        return one, other

    return make


def thinned(value: Any, r: Random) -> Any:
    """The value with some of it left out, but nothing that says what an item is."""
    if isinstance(value, dict):
        kept = ("name", "mountPath", "containerPort", "roles", "$append", "containers", "template", "spec")
        return {key: thinned(child, r) for key, child in value.items() if key in kept or r.random() < 0.8}
    if isinstance(value, list):
        return [thinned(child, r) for number, child in enumerate(value) if not number or r.random() < 0.7][:: r.choice((1, -1))]
    return value


def pod_of(container: Data, *, share: float) -> Maker:
    """A pod template of a runtime, with one more container at times."""

    def make(r: Random) -> Data:
        listed = [{"name": "node", "image": "i", **some(container, share=share, least=0)(r)}]
        listed += [{"name": "side", "image": "i", **some(side_container, share=share, least=0)(r)}] if r.random() < 0.6 else []
        metadata = some({"labels": texts, "annotations": texts}, share=share, least=0)(r)
        return {"metadata": metadata, "spec": {**some(node_pod, share=share, least=0)(r), "containers": listed}}

    return make


security = {
    "privileged": boolean,
    "runAsUser": one_of(0, 1),
    "capabilities": some({"add": several("A", "B"), "drop": several("A", "B")}, least=0),
}
node_mounts = keyed("mountPath", ["/m", "/n"], {"subPath": text, "readOnly": boolean}, name=one_of("v", "w"))
terms = several(*({"weight": 1, "podAffinityTerm": {"topologyKey": key}} for key in "xy"))
affinity = some({kind: {"preferredDuringSchedulingIgnoredDuringExecution": terms} for kind in ("podAffinity", "podAntiAffinity")})
side_container = {"env": keyed("name", ["A", "B"], env_source), "volumeMounts": node_mounts, "securityContext": some(security)}
node_container = {**side_container, "resources": some({"limits": amounts, "requests": amounts}), "command": words, "args": words}
node_pod = {
    "volumes": keyed("name", ["v", "w"], volume_source),
    "tolerations": several({"key": "x", "operator": "Exists"}, {"key": "y", "operator": "Exists"}),
    "nodeSelector": texts,
    "serviceAccountName": text,
    "imagePullSecrets": several({"name": "x"}, {"name": "y"}),
    "affinity": affinity,
    "priorityClassName": "high",
}
SINCE = {"securityContext": "2.2", "imagePullSecrets": "2.1", "affinity": "2.1", "metadata": "2.1"}


def nodes_changes(release: str) -> Maker:
    """What overlays say that a TrainJob of the release has a place for, mostly."""

    def of_release(fields: Data) -> Data:
        return {name: value for name, value in fields.items() if SINCE.get(name, "") <= release}

    container = of_release(
        {
            "image": or_null(text),
            "env": or_null(or_change(keyed("name", ["A", "B", "C"], nullable(env_source)), "name")),
            "volumeMounts": or_null(or_change(node_mounts, "mountPath")),
            "resources": or_null(some({"limits": or_null({"cpu": or_null(one_of(1, "${cpus}"))}), "requests": or_null(amounts)})),
            "securityContext": or_null(some({**nullable(security), "capabilities": {"add": or_append(several("A", "B", least=0))}})),
        }
    )
    pod = of_release(
        {
            "containers": one_of(
                keyed("name", ["${training}"], container),
                keyed("name", ["${training}"], container),
                keyed("name", ["${training}", "side"], container),
                keyed("name", ["${training}"], {**container, "args": or_null(words), "command": or_null(words)}),
                {"$append": keyed("name", ["side"], container)},
                [{"name": "side", "$remove": True}],
                [{"name": "side", "$remove": True}],
                [{"name": "side", "$remove": True}],
            ),
            "volumes": or_null(or_change(keyed("name", ["v", "w"], nullable(volume_source)), "name")),
            "tolerations": or_null(or_append(tolerations)),
            "nodeSelector": or_null(some({"x": or_null(text), "y": or_null(text)})),
            "serviceAccountName": or_null(one_of("x", "y", "")),
            "imagePullSecrets": or_append(several({"name": "x"}, {"name": "y"})),
            "affinity": or_null(affinity),
            "priorityClassName": one_of(None, None, text),
        }
    )
    metadata = some({"labels": or_null(some({"x": or_null(text), "y": text})), "annotations": {"x": "${cpus}x"}}, share=0.2)
    template = some(of_release({"metadata": metadata, "spec": some(pod, share=0.25)}))
    volume = one_of("v", "w")
    removal = {"template": {"spec": {"volumes": [{"name": volume, "$remove": True}]}}}  # alone: a job can follow few other removals
    entry = one_of(*[some({"flags": flags, "template": template})] * 7, removal)
    entries = several(entry, lambda r: {"roles": several("master", "worker")(r), **entry(r)})
    job = some({"trainer": some({"numNodes": or_null(number), "image": text, "args": words}), "suspend": boolean}, share=0.3)
    return one_of({"pods": entries}, {"pods": entries}, {"pods": entries, "job": {"TrainJob": {"spec": job}}})


trainer = {
    "numNodes": number,
    "image": text,
    "command": words,
    "args": words,
    "env": keyed("name", ["A", "B"], env_source),
    "resourcesPerNode": some({"limits": amounts, "requests": amounts}),
}


def pod_changes(release: str) -> Maker:
    """What a job of a release says already to the pods of a replicated job."""
    fields = {name: node_pod[name] for name in ("volumes", "tolerations", "nodeSelector", "serviceAccountName")}
    spec = {**fields, "containers": [{"name": "node", "volumeMounts": several({"name": "v", "mountPath": one_of("/m", "/n")})}]}
    if release == "2.0":
        return some(spec)
    if release == "2.1":
        return some({"spec": some(spec), "metadata": {"labels": texts}})
    more = {"securityContext": some(security)}
    return some({"spec": some({**spec, "containers": [{"name": "node", **more}]}), "metadata": {"labels": texts}})


def entries(release: str, names: list[str]) -> Maker:
    """What a job of a release says already, in the field of the release."""

    def make(r: Random) -> Data:
        said = pod_changes(release)
        if release in ("2.0", "2.1"):
            targets = [[name] for name in names] if release == "2.0" or r.random() < 0.6 else [names[:1], names, names[-1:]]
            chosen = r.sample(targets, r.randint(1, len(targets)))
            field = "podSpecOverrides" if release == "2.0" else "podTemplateOverrides"
            return {field: [{"targetJobs": [{"name": name} for name in each], **said(r)} for each in chosen]}
        managers = r.sample(["jobspec.dev/overlays", "example.com/a", "example.com/b"], r.randint(1, 2))
        return {
            "runtimePatches": [
                {"manager": manager, "trainingRuntimeSpec": {"template": {"spec": {"replicatedJobs": patched(r, said, names)}}}}
                for manager in managers
            ]
        }

    def patched(r: Random, said: Maker, names: list[str]) -> list[Data]:
        return [{"name": name, "template": {"spec": {"template": said(r)}}} for name in r.sample(names, r.randint(1, len(names)))]

    return make


def runtime(r: Random) -> Data:
    """A runtime whose job trains in one replicated job or, as MPI does, in two."""
    mpi = r.random() < 0.2
    ancestors = {"launcher": "trainer", "node": ""} if mpi else {"node": "trainer" if r.random() < 0.95 else "", "other": ""}
    policy = {"mpi": {"runLauncherAsNode": boolean(r)}} if mpi else {"torch": {}}
    jobs = [
        {
            "name": name,
            "template": {
                "metadata": {"labels": {"trainer.kubeflow.org/trainjob-ancestor-step": label} if label else {}},
                "spec": {"template": pod_of(node_container, share=0.3)(r)},
            },
        }
        for name, label in ancestors.items()
    ]
    spec = {"mlPolicy": policy} if r.random() < 0.95 else {}
    listed = {"replicatedJobs": jobs if r.random() < 0.7 else jobs[::-1]}
    return {
        "apiVersion": "trainer.kubeflow.org/v1alpha1",
        "kind": "TrainingRuntime",
        "metadata": {"name": "team"},
        "spec": {**spec, "template": {"spec": listed}},
    }


def trainjob(release: str) -> Maker:
    """A TrainJob, and its runtime before it, at times."""

    def make(r: Random) -> list[Data]:
        context = [runtime(r)] if r.random() < 0.75 else []
        names = [job["name"] for each in context for job in each["spec"]["template"]["spec"]["replicatedJobs"]] or ["node", "other"]
        shipped = one_of("torch-distributed", "torchtune-llama3.2-1b", "deepspeed-distributed", "of-the-cluster")
        spec: Data = {"runtimeRef": {"kind": "TrainingRuntime", "name": "team"} if context else {"name": shipped(r)}}
        spec |= {"trainer": some(trainer, share=0.3, least=0)(r)} if r.random() < 0.7 else {}
        spec |= entries(release, names)(r) if r.random() < 0.4 else {}
        job = {"apiVersion": "trainer.kubeflow.org/v1alpha1", "kind": "TrainJob", "metadata": {"name": "job"}, "spec": spec}
        return [*context, job]

    return make


def _templates(r: Random) -> tuple[Data, Data]:
    """The pod templates of two roles."""
    one, other = (made(base_role, r)["template"] for _ in range(2))
    return one, other


def _training_job(kind: str, field: str, *roles: str, version: str = "v1") -> Maker:
    """A job of training-operator or mpi-operator with some roles."""

    def make(r: Random) -> list[Data]:
        specs = {name: {"template": each} for name, each in zip(roles, _templates(r), strict=False) if name != roles[0] or r.random() < 0.7}
        return [{"apiVersion": f"kubeflow.org/{version}", "kind": kind, "metadata": {"name": "job"}, "spec": {field: specs}}]

    return make


def _job_set(r: Random) -> list[Data]:
    first, second = _templates(r)
    jobs = [{"name": name, "template": {"spec": {"template": each}}} for name, each in (("leader", first), ("node", second))]
    spec = {"replicatedJobs": jobs if r.random() < 0.6 else jobs[1:]}
    return [{"apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet", "metadata": {"name": "job"}, "spec": spec}]


def _batch_job(r: Random) -> list[Data]:
    return [{"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "job"}, "spec": {"template": _templates(r)[0]}}]


def _ray_cluster(r: Random) -> list[Data]:
    head, worker = _templates(r)
    groups = [{"groupName": "gpu", "rayStartParams": {}, "template": worker}] if r.random() < 0.7 else []
    spec = {"headGroupSpec": {"rayStartParams": {}, "template": head}, **({"workerGroupSpecs": groups} if groups else {})}
    return [{"apiVersion": "ray.io/v1", "kind": "RayCluster", "metadata": {"name": "job"}, "spec": spec}]


def _group(r: Random) -> list[Data]:
    leader, worker = _templates(r)
    template = {"workerTemplate": worker, **({"leaderTemplate": leader} if r.random() < 0.6 else {})}
    metadata = {"name": "job"}
    version = "leaderworkerset.x-k8s.io/v1"
    return [{"apiVersion": version, "kind": "LeaderWorkerSet", "metadata": metadata, "spec": {"leaderWorkerTemplate": template}}]


#: Kinds whose pod templates overlays change as those of a PyTorchJob, each with what makes its jobs.
OTHERS: dict[str, Maker] = {
    "Job": _batch_job,
    "JobSet": _job_set,
    "TFJob": _training_job("TFJob", "tfReplicaSpecs", "Chief", "Worker"),
    "MPIJob": _training_job("MPIJob", "mpiReplicaSpecs", "Launcher", "Worker", version="v2beta1"),
    "RayCluster": _ray_cluster,
    "LeaderWorkerSet": _group,
}


class World:
    """A kind of job at a release: the files with such a job, and the specs of overlays and of pairs of them."""

    def __init__(self, name: str, target: Mapping[str, str], base: Maker, change: Maker, *, share: float = 1) -> None:
        self.name = name
        self.target = target
        self.base = base
        self.pair = pair_of(change)
        self.bases = drawn(base)
        self.specs = drawn(change)
        self.pairs = drawn(self.pair)
        self.law = settings(LAW, max_examples=int(LAW.max_examples * share))


RELEASES = ("2.0", "2.1", "2.2", "2.3")
WORLDS = [
    World("PyTorchJob", TARGET, lambda r: [made(base, r)], change),
    *(World(kind, TARGET, base_of_kind, change, share=0.3) for kind, base_of_kind in OTHERS.items()),
    *(World(f"TrainJob {each}", choose([f"trainer={each}"]), trainjob(each), nodes_changes(each), share=0.5) for each in RELEASES),
]


#: The laws, for whoever looks with other seeds whether they hold.
LAWS: dict[str, Callable[[World, st.DataObject], None]] = {}


def in_every_world(law: Callable[[World, st.DataObject], None]) -> Callable[[World], None]:
    """A test of a law in each world."""

    @pytest.mark.parametrize("world", WORLDS, ids=lambda world: world.name)
    def test(world: World) -> None:
        wanted = world.law.max_examples

        @settings(world.law, max_examples=examples(settled=wanted * 2 // 5, fresh=wanted))  # the hunt `laws` draws others
        @given(st.data())
        def holds(drawing: st.DataObject) -> None:
            law(world, drawing)

        holds()

    LAWS[law.__name__] = law
    return test


def manifest(name: str, spec: Data) -> Data:
    declared = {"parameters": {"cpus": {"type": "integer", "default": 2}}} if "${cpus}" in json.dumps(spec) else {}
    return {"apiVersion": "jobspec.dev/v1alpha1", "kind": "Overlay", "metadata": {"name": name}, "spec": {**spec, **declared}}


def overlays(**specs: Data) -> list[LoadedOverlay]:
    """The overlays, through real files."""
    with tempfile.TemporaryDirectory() as folder:
        paths = []
        for name, spec in specs.items():
            path = Path(folder, f"{name}.yaml")
            path.write_text(json.dumps(manifest(name, spec)))
            paths.append(str(path))
        found, problems = load_overlays(paths, [], TARGET)
    assert problems == []
    return found


def documents(base: list[Data]) -> list[Document]:
    found, problems = read("\n---\n".join(json.dumps(each, indent=1) for each in base), file="base.yaml")
    assert problems == []
    return found


def applied(world: World, base: list[Document], *given: LoadedOverlay) -> tuple[list[Document], list[Diagnostic]]:
    """The documents with the overlays applied at once, and the errors."""
    result = apply(base, given, world.target)
    return result.documents, [problem for problem in result.diagnostics if problem.severity == "error"]


def data(documents: list[Document]) -> list[Any]:
    return [document.data for document in documents]


def roles(documents: list[Document]) -> list[list[str]]:
    """The roles of each PyTorchJob; overlays add none to other kinds here."""
    return [list(document.data["spec"].get("pytorchReplicaSpecs", ())) for document in documents]


def deduplicated(values: list[Any]) -> list[Any]:
    return [value for number, value in enumerate(values) if value not in values[:number]]


def conflicting(problems: list[Diagnostic]) -> bool:
    return any(problem.rule == "overlay-conflict" for problem in problems)


@in_every_world
def test_applying_nothing_changes_nothing(world: World, drawing: st.DataObject) -> None:
    base = drawing.draw(world.bases)
    result, problems = applied(world, documents(base))
    assert (data(result), problems) == (base, [])


@in_every_world
def test_two_at_once_are_one_after_the_other(world: World, drawing: st.DataObject) -> None:
    base, pair = drawing.draw(world.bases), drawing.draw(world.pairs)
    a, b = overlays(a=pair[0], b=pair[1])
    at_once, problems = applied(world, documents(base), a, b)
    first, more_problems = applied(world, documents(base), a)
    if problems or more_problems or roles(first) != roles(at_once):  # in a role that b adds, a changes nothing when it comes before
        return
    if "flags" in json.dumps(pair):  # where a flag was removed or set, a new reader may take the next argument for a flag's value
        return
    in_turn, problems = applied(world, first, b)
    assert problems == []
    assert data(at_once) == deduplicated(data(in_turn))  # a companion that both add is in the file already when b adds it


@in_every_world
def test_twice_is_once(world: World, drawing: st.DataObject) -> None:
    base, spec = drawing.draw(world.bases), drawing.draw(world.specs)
    (a,) = overlays(a=spec)
    once, problems = applied(world, documents(base), a)
    if problems:
        return
    assert data(applied(world, documents(base), a, a)[0]) == data(once)


@in_every_world
def test_applying_it_to_its_result_changes_nothing(world: World, drawing: st.DataObject) -> None:
    base, spec = drawing.draw(world.bases), drawing.draw(world.specs)
    (a,) = overlays(a=spec)
    once, problems = applied(world, documents(base), a)
    if problems or "flags" in json.dumps(spec):  # a bare flag that comes to stand before an argument takes it, to a new reader
        return
    once = once[: len(base)]
    again, _ = applied(world, once, a)
    assert data(again)[: len(base)] == data(once)


@in_every_world
def test_overlays_that_do_not_conflict_commute(world: World, drawing: st.DataObject) -> None:
    base, pair = drawing.draw(world.bases), drawing.draw(world.pairs)
    a, b = overlays(a=pair[0], b=pair[1])
    forth, problems = applied(world, documents(base), a, b)
    back, other_problems = applied(world, documents(base), b, a)
    assert conflicting(problems) == conflicting(other_problems)
    if not problems and not other_problems:
        assert data(forth) == data(back)


@in_every_world
def test_a_base_that_many_jobs_share_becomes_what_it_becomes_alone(world: World, drawing: st.DataObject) -> None:
    base, pair = drawing.draw(world.bases), drawing.draw(world.pairs)
    a, b = overlays(a=pair[0], b=pair[1])
    shared = documents(base)
    for given_ones in ([a, b], [a], [b], [a, b]):
        of_shared, alone = apply(shared, given_ones, world.target), apply(documents(base), given_ones, world.target)
        assert [str(each) for each in of_shared.diagnostics] == [str(each) for each in alone.diagnostics]
        assert data(of_shared.documents) == data(alone.documents)
        for one, other in zip(of_shared.documents, alone.documents, strict=True):
            assert places(one.data, one.marks) == places(other.data, other.marks)


@in_every_world
def test_marks_are_a_tree_beside_the_data(world: World, drawing: st.DataObject) -> None:
    base, pair = drawing.draw(world.bases), drawing.draw(world.pairs)
    a, b = overlays(a=pair[0], b=pair[1])
    for document in applied(world, documents(base), a, b)[0]:
        assert {mark.layer for _, mark in leaves(document.data, document.marks)} <= {"", "a", "b"}


@LAW
@given(WORLDS[0].bases, WORLDS[0].pairs)
def test_every_value_has_the_mark_of_the_overlay_that_set_it(base: list[Data], pair: tuple[Data, Data]) -> None:
    a, b = overlays(a=pair[0], b=pair[1])
    (document,) = documents(base)
    before = copy.deepcopy(document.data)
    results, _ = applied(WORLDS[0], [document], a, b)
    assert document.data == before
    written = {overlay.name: {**keys(overlay.tree), **places(overlay.tree.data(), overlay.tree.marks())} for overlay in (a, b)}
    written[""] = places(document.data, document.marks)
    for result in results:
        for (file, line, column, layer), value in places(result.data, result.marks).items():
            there = written[layer].get((file, line, column, layer), "nothing")
            assert there == value if not layer else there != "nothing"


def test_what_an_overlay_says_is_its_own_even_where_the_base_says_the_same() -> None:
    template = {"spec": {"hostNetwork": True, "containers": [{"name": "pytorch"}]}}
    job = {**made(base, Random(0)), "spec": {"pytorchReplicaSpecs": {"Master": {"template": template}}}}
    (a,) = overlays(a={"pods": [{"template": {"spec": {"hostNetwork": True}}}]})
    (result,) = applied(WORLDS[0], documents([job]), a)[0]
    pod = result.marks.nearest(("spec", "pytorchReplicaSpecs", "Master", "template", "spec"))
    assert [pod.nearest(path).mark.layer for path in (("hostNetwork",), ("containers", 0, "name"))] == ["a", ""]


def test_an_item_that_an_overlay_changes_keeps_the_place_of_its_key() -> None:
    template = {"spec": {"containers": [{"name": "pytorch", "env": [{"name": "A", "value": "1"}], "ports": [{"containerPort": 1}]}]}}
    job = {**made(base, Random(0)), "spec": {"pytorchReplicaSpecs": {"Master": {"template": template}}}}
    change = {"env": [{"name": "A", "value": "1"}], "ports": [{"containerPort": 1, "protocol": "TCP"}]}
    (a,) = overlays(a={"pods": [{"template": {"spec": {"containers": [{"name": "${training}", **change}]}}}]})
    (result,) = applied(WORLDS[0], documents([job]), a)[0]
    (container,) = result.data["spec"]["pytorchReplicaSpecs"]["Master"]["template"]["spec"]["containers"]
    path = ("spec", "pytorchReplicaSpecs", "Master", "template", "spec", "containers", 0)
    found = [(value, mark.layer) for value, mark in leaves(container, result.marks.nearest(path))]
    assert found == [("pytorch", ""), ("A", ""), ("1", "a"), (1, ""), ("TCP", "a")]


def places(data: Any, marks: Marks) -> dict[tuple[str, int, int, str], Any]:
    """Each scalar by where it was written."""
    return {(mark.file, mark.line, mark.column, mark.layer): value for value, mark in leaves(data, marks)}


def keys(tree: MarkedTree) -> dict[tuple[str, int, int, str], Any]:
    """Each key by where it was written: the name of a flag is one."""
    found = {}
    for key, child in tree.value.items() if isinstance(tree.value, dict) else enumerate(items(tree)):
        if child.key:
            found[child.key.file, child.key.line, child.key.column, child.key.layer] = key
        found |= keys(child)
    return found


def leaves(value: Any, marks: Marks) -> Iterator[tuple[Any, Mark]]:
    """Every scalar with its mark; fails where the marks are no tree of the data's shape."""
    if isinstance(value, dict):
        assert isinstance(marks.children, dict)
        assert marks.children.keys() == value.keys()
        for key, child in value.items():
            yield from leaves(child, marks.children[key])
    elif isinstance(value, list):
        assert isinstance(marks.children, list)
        for child, mark in zip(value, marks.children, strict=True):
            yield from leaves(child, mark)
    else:
        assert marks.children is None
        yield value, marks.mark


@pytest.mark.parametrize("world", WORLDS, ids=lambda world: world.name)
def test_the_generators_reach_what_the_laws_are_about(world: World) -> None:
    """By numbers of its own: what Hypothesis draws for a test depends on the modules that happen to be loaded."""
    seen: Counter[str] = Counter()
    r = Random(seed())
    for _ in range(200):
        base, pair = made(world.base, r), made(world.pair, r)
        a, b = overlays(a=pair[0], b=pair[1])
        both, problems = applied(world, documents(base), a, b)
        alone, _ = applied(world, documents(base), a)
        seen["all"] += 1
        seen["applies"] += not problems
        seen["applies and both change something"] += not problems and base != data(alone) != data(both)
        seen["conflicts"] += conflicting(problems)
        seen["removals"] += not problems and "$remove" in json.dumps(pair)
        seen["flags"] += "flags" in json.dumps(pair)
    shares = {name: seen[name] / seen["all"] for name in seen}
    least = 0.3 if world is WORLDS[0] else 0.15  # a TrainJob cannot say everything, and of fewer fields overlays meet in more
    least = 0.07 if world.name in OTHERS else least  # some have no program for flags, or not each role
    assert shares["applies"] > least, shares
    assert shares["applies and both change something"] > (0.02 if world.name in OTHERS else least / 2), shares
    assert shares["conflicts"] > (0.04 if world.name in OTHERS else 0.1), shares
    assert shares["flags"] > 0.3, shares
    assert shares["removals"] > (0.01 if world.name in OTHERS else 0.03), shares
