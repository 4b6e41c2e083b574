"""A change to a TrainJob reaches its pods: the pods of the overlaid job are the overlaid pods of the job.

Overlays on pods are tested with PyTorchJobs: here each pod template of the JobSet that the trainer makes is put into one.
"""

import copy
import json
from collections import Counter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobspec.diagnostics.places import Mark, marks_at
from jobspec.documents.document import Document
from jobspec.documents.marked_tree import set_by
from jobspec.operators.made import as_go_writes
from jobspec.operators.trainer.objects import expand_trainjob
from jobspec.operators.trainer.runtimes import shipped
from jobspec.operators.trainer.train_job import PORT
from jobspec.schemas import shapes
from tests.overlays.test_overlay_laws import WORLDS, Data, World, applied, data, documents, overlays

ANCESTOR = "trainer.kubeflow.org/trainjob-ancestor-step"
KEYS = {
    "containers": "name",
    "initContainers": "name",
    "volumes": "name",
    "env": "name",
    "volumeMounts": "mountPath",
    "imagePullSecrets": "name",
    "schedulingGates": "name",
}

Pods = dict[str, Data]


def document(data: Data) -> Document:
    return Document(data, marks_at(data, Mark("<generated>")), file="<generated>")


def pods(job: Data, runtime: Data, target: Any) -> Pods:
    """The pod templates of the replicated jobs that train, as the trainer writes them into the JobSet, without what it adds of its own."""
    expansion = expand_trainjob(document(job), document(runtime), target)
    (jobset,) = [each.data() for each in expansion.objects if each.data()["kind"] == "JobSet"]
    templates = {each["name"]: each["template"] for each in jobset["spec"]["replicatedJobs"]}
    return {name: without_additions(each["spec"]["template"]) for name, each in templates.items() if is_training(name, each)}


def is_training(name: str, template: Data) -> bool:
    return name == "node" or template.get("metadata", {}).get("labels", {}).get(ANCESTOR) == "trainer"


def without_additions(template: Data) -> Data:
    """A template without the variables, ports and volumes that the trainer's plugins add."""
    template = copy.deepcopy(template)
    for container in template["spec"]["containers"]:
        container["env"] = [each for each in container.get("env", []) if not each["name"].startswith(("PET_", "OMPI_", "JAX_", "DMLC_"))]
        container["volumeMounts"] = [each for each in container.get("volumeMounts", []) if not each["name"].startswith("mpi-")]
        container["ports"] = [each for each in container.get("ports", []) if each["containerPort"] != PORT]
    template["spec"]["volumes"] = [each for each in template["spec"].get("volumes", []) if not each["name"].startswith("mpi-")]
    return template


def overlaid_pods(world: World, before: Pods, spec: Data, trains: set[str]) -> tuple[Pods, list[Any]]:
    """The overlay on the pods themselves, each of which stands in a PyTorchJob; the program runs in the trainer's own alone."""
    result, problems = {}, []
    for name, template in before.items():
        said = [{key: child for key, child in entry.items() if key != "roles"} for entry in spec["pods"]]
        if name not in trains:
            said = [without_program(entry) for entry in said]
        (overlay,) = overlays(a={"pods": said})
        base = {"apiVersion": "kubeflow.org/v1", "kind": "PyTorchJob", "metadata": {"name": "job"}}
        replicas = {"Master": {"template": renamed(template, "node", "pytorch")}}
        rendered, found = applied(world, documents([{**base, "spec": {"pytorchReplicaSpecs": replicas}}]), overlay)
        job, *_ = data(rendered)
        result[name] = renamed(job["spec"]["pytorchReplicaSpecs"]["Master"]["template"], "pytorch", "node")
        problems += found
    return result, problems


def written(template: Data, target: Any) -> Data:
    """A template in the form in which the trainer writes it: quantities in one form, nothing that is empty."""
    shape = shapes.load("jobset.x-k8s.io/v1alpha2", "JobSet", target)
    inside = shape and shape.at(("spec", "replicatedJobs", 0, "template", "spec", "template"))
    found: Data = as_go_writes(set_by(Mark(""), template), inside).data()
    return found


def renamed(template: Data, old: str, new: str) -> Data:
    template = copy.deepcopy(template)
    for container in template["spec"]["containers"]:
        container["name"] = new if container["name"] == old else container["name"]
    return template


def without_program(entry: Data) -> Data:
    entry = {key: child for key, child in copy.deepcopy(entry).items() if key != "flags"}
    listed = entry.get("template", {}).get("spec", {}).get("containers") or []
    for container in listed["$append"] if isinstance(listed, dict) else listed:
        for name in ("command", "args"):
            container.pop(name, None)
    return entry


def settled(value: Any, name: str = "") -> Any:
    """A value without what means nothing: empty fields, the order of lists that have keys, and a variable's value beside its source.

    A server refuses pods with both, and the trainer leaves out the value.
    """
    if isinstance(value, dict) and "valueFrom" in value:
        value = {key: child for key, child in value.items() if key != "value"}
    if isinstance(value, dict):
        children = {key: settled(child, key) for key, child in value.items()}
        return {key: child for key, child in children.items() if child not in (None, [], "") and (child != {} or key == "emptyDir")}
    if isinstance(value, list):
        listed = [settled(child) for child in value]
        return sorted(listed, key=lambda item: str(item[KEYS[name]])) if name in KEYS else listed
    return None if value is False and name == "readOnly" else value


def runtime_of(base: list[Data], target: Any) -> Data | None:
    """The runtime of the base's job: the document before it, or one that the release ships."""
    return base[0] if len(base) == 2 else shipped(target).get(base[-1]["spec"]["runtimeRef"]["name"])


def difference(world: World, base: list[Data], spec: Data, seen: Counter[str]) -> tuple[Any, Any] | None:
    """The pods of the overlaid job and the overlaid pods of the job, where these differ although nothing was said."""
    runtime = runtime_of(base, world.target)
    seen["all"] += 1
    if runtime is None:
        return None
    (overlay,) = overlays(a=spec)
    results, problems = applied(world, documents(base), overlay)
    if problems:
        return None
    seen["applied"] += 1
    before, after = pods(base[-1], runtime, world.target), pods(data(results)[-1], runtime, world.target)
    jobs = runtime["spec"]["template"]["spec"]["replicatedJobs"]
    trains = {job["name"] for job in jobs if job["template"].get("metadata", {}).get("labels", {}).get(ANCESTOR) == "trainer"}
    expected, problems = overlaid_pods(world, before, spec, trains)
    seen["changed"] += settled(before) != settled(expected)
    if problems:
        return [problem.message for problem in problems], None
    expected = {name: written(template, world.target) for name, template in expected.items()}
    return None if settled(after) == settled(expected) else (settled(after), settled(expected))


@pytest.mark.parametrize("world", [each for each in WORLDS if each.name.startswith("TrainJob")], ids=lambda world: world.name)
def test_the_pods_of_the_overlaid_job_are_the_overlaid_pods_of_the_job(world: World) -> None:
    seen: Counter[str] = Counter()

    @world.law
    @given(st.data())
    def law(drawing: st.DataObject) -> None:
        base, spec = drawing.draw(world.bases), drawing.draw(world.specs)
        spec = {"pods": spec["pods"]}  # what else an overlay says, it says to the job itself
        found = difference(world, base, spec, seen)
        assert not found, json.dumps([base, spec, found])

    law()
    assert seen["applied"] > 0.2 * seen["all"], seen
    assert seen["changed"] > 0.1 * seen["all"], seen
