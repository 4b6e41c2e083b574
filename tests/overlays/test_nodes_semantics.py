"""A change to a TrainJob reaches its pods: the pods of the overlaid job are the overlaid pods of the job.

The trainer that merges a job into its runtime is a small model here, made from what its releases were seen to do: patches are
merged by Kubernetes' patch keys, after Go has left out what it holds for empty; lists without keys are replaced; fields of
`spec.trainer` replace those of the container `node`, variables one by one, and from 2.3 on resources one by one, too.
Overlays on pods are tested with PyTorchJobs: here each pod template is put into one.
"""

import copy
import json
from collections import Counter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobspec.runtimes.runtime import shipped
from jobspec.targets import choose
from tests.overlays.test_overlay_laws import WORLDS, Data, World, applied, data, documents, overlays
from tests.support.reference import folder

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
POINTERS = ("value", "image", "optional", "privileged", "runAsUser", "emptyDir", "terminationGracePeriodSeconds", "serviceAccountName")

Pods = dict[str, Data]


def in_go(value: Any, name: str = "", *, entries: bool = False) -> Any:
    """A value as the trainer's types write it again: what Go holds for empty is left out, but for entries of maps and pointers."""
    if isinstance(value, dict):
        children = {key: in_go(child, key, entries=name in ("labels", "annotations", "nodeSelector")) for key, child in value.items()}
        return {key: child for key, child in children.items() if child is not None}
    if isinstance(value, list):
        return [in_go(child) for child in value] or None
    return None if value in ("", False, 0) and not entries and name not in POINTERS else value


def merged(base: Any, patch: Any, name: str = "") -> Any:
    """A strategic merge."""
    if isinstance(base, dict) and isinstance(patch, dict):
        return {**base, **{key: merged(base.get(key), child, key) for key, child in patch.items()}}
    if isinstance(base, list) and isinstance(patch, list) and name in KEYS:
        return upserted(base, patch, KEYS[name], merge=True)
    return copy.deepcopy(patch)


def upserted(base: list[Data], items: list[Data], key: str, *, merge: bool = False) -> list[Data]:
    result = list(base)
    for item in items:
        at = [index for index, old in enumerate(result) if old[key] == item[key]]
        if at:
            result[at[0]] = merged(result[at[0]], item) if merge else item
        else:
            result.append(item)
    return result


def changes(job: Data, name: str) -> list[Data]:
    """What the job's own field says to the pods of a replicated job, in order."""
    spec = job["spec"]
    found = []
    for entry in spec.get("podSpecOverrides", []) + spec.get("podTemplateOverrides", []):
        if any(target["name"] == name for target in entry["targetJobs"]):
            said = {key: child for key, child in entry.items() if key != "targetJobs"}
            found.append(said if "podTemplateOverrides" in spec else {"spec": said})
    for entry in spec.get("runtimePatches", []):
        listed = entry["trainingRuntimeSpec"]["template"]["spec"]["replicatedJobs"]
        found += [each["template"]["spec"]["template"] for each in listed if each["name"] == name]
    return found


def with_trainer(container: Data, trainer: Data, release: str) -> Data:
    """The training container with what the job says of it."""
    result = {**container, **{name: trainer[name] for name in ("image", "command", "args") if trainer.get(name) is not None}}
    resources = {name: amounts for name, amounts in (trainer.get("resourcesPerNode") or {}).items() if name in ("limits", "requests")}
    resources = {name: amounts for name, amounts in resources.items() if amounts is not None}
    if resources and release < "2.3":
        result["resources"] = resources
    elif resources:
        result["resources"] = merged(result.get("resources") or {}, resources)
    if trainer.get("env"):
        result["env"] = upserted(result.get("env") or [], trainer["env"], "name")
    return result


def pods(job: Data, runtime: Data, release: str) -> Pods:
    """The pod templates of the replicated jobs that train."""
    policy = runtime["spec"].get("mlPolicy") or {}
    result = {}
    for each in runtime["spec"]["template"]["spec"]["replicatedJobs"]:
        name = each["name"]
        trains = each["template"].get("metadata", {}).get("labels", {}).get(ANCESTOR) == "trainer"
        if not trains and name != "node":
            continue
        template = copy.deepcopy(each["template"]["spec"]["template"])
        for said in changes(job, name):
            template = merged(template, in_go(said))
        trainer = job["spec"].get("trainer") or {}
        if not trains:
            beside = release >= "2.3" and (policy.get("mpi") or {}).get("runLauncherAsNode")
            trainer = {field: trainer[field] for field in ("env", "resourcesPerNode") if beside and field in trainer}
        if not policy and release >= "2.3":
            trainer = {field: child for field, child in trainer.items() if field != "resourcesPerNode"}
        listed = template["spec"]["containers"]
        listed[:] = [with_trainer(item, trainer, release) if item["name"] == "node" else item for item in listed]
        result[name] = template
    return result


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
    """A value without what means nothing: empty fields, and the order of lists that have keys."""
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
    release = world.name.split()[-1]
    runtime = runtime_of(base, world.target)
    seen["all"] += 1
    if runtime is None:
        return None
    (overlay,) = overlays(a=spec)
    results, problems = applied(world, documents(base), overlay)
    if problems:
        return None
    seen["applied"] += 1
    before, after = pods(base[-1], runtime, release), pods(data(results)[-1], runtime, release)
    jobs = runtime["spec"]["template"]["spec"]["replicatedJobs"]
    trains = {job["name"] for job in jobs if job["template"].get("metadata", {}).get("labels", {}).get(ANCESTOR) == "trainer"}
    expected, problems = overlaid_pods(world, before, spec, trains)
    seen["changed"] += settled(before) != settled(expected)
    if problems:
        return [problem.message for problem in problems], None
    return None if settled(after) == settled(expected) else (settled(after), settled(expected))


@pytest.mark.parametrize("world", WORLDS[1:], ids=lambda world: world.name)
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


def seen_template(template: Data) -> Data:
    """A recorded or modelled template without what the trainer adds of its own, and without what the record or ours leaves out."""
    template = copy.deepcopy(template)
    for container in template["spec"]["containers"]:
        container["env"] = [each for each in container.get("env", []) if not each["name"].startswith(("PET_", "OMPI_", "JAX_", "DMLC_"))]
        container["volumeMounts"] = [each for each in container.get("volumeMounts", []) if not each["name"].startswith("mpi-")]
        container["image"] = container.get("image", "").partition(":")[0]
        container.pop("ports", None)
        if "-c" in container.get("command", []):  # the demonstrations of shipped runtimes are ours in a remark only
            container["command"] = container["command"][:-1]
        for amounts in container.get("resources", {}).values():
            amounts.update({name: str(amount) for name, amount in amounts.items()})
    template["spec"]["volumes"] = [each for each in template["spec"].get("volumes", []) if not each["name"].startswith("mpi-")]
    template["spec"].pop("restartPolicy", None)  # JobSet's default
    found: Data = settled(template)
    return found


@pytest.mark.parametrize("release", ["2.0.0", "2.1.0", "2.2.1", "2.3.0"])
def test_the_model_makes_what_the_trainer_made(release: str) -> None:
    compared = 0
    for path in sorted(folder("golden", f"trainer-{release}").rglob("*.json")):
        record = json.loads(path.read_text())
        stored = [each["stored"] for each in record["documents"] if each.get("stored")]
        made = {each["metadata"]["name"]: each for each in record["created"] if each["kind"] == "JobSet"}
        for job in (each for each in stored if each["kind"] == "TrainJob" and each["metadata"]["name"] in made):
            ref = job["spec"]["runtimeRef"]
            beside = [each for each in stored if each["kind"] == ref["kind"] and each["metadata"]["name"] == ref["name"]]
            runtime = beside[0] if beside else shipped(choose([f"trainer={release}"])).get(ref["name"])
            if runtime is None:
                continue
            listed = made[job["metadata"]["name"]]["spec"]["replicatedJobs"]
            recorded = {each["name"]: seen_template(each["template"]["spec"]["template"]) for each in listed}
            modelled = {name: seen_template(template) for name, template in pods(job, runtime, release).items()}
            assert modelled == {name: recorded[name] for name in modelled}, path
            compared += 1
    assert compared > 50
