"""Ordinary TrainJobs, of runtimes that train with torchrun in one replicated job."""

from __future__ import annotations

from jobspec.operators.trainer.runtimes import ANCESTOR, TRAINER
from jobspec.outcome.ordinary.pods import containers_of, is_ordinary_metadata, is_ordinary_template
from jobspec.outcome.ordinary.programs import is_process_count, launches_every_node, sets_no_ranks, torchrun_words, words_of
from jobspec.outcome.ordinary.values import (
    are_labels,
    each,
    has_short_name,
    having,
    is_anything,
    is_count_of_pods,
    is_number,
    is_text,
    one_of,
)
from jobspec.programs.torchrun import starts_python

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from jobspec.outcome.ordinary.values import Check

_NODE = "node"
_LONGEST_NAME = 30
_POLICIES = ("Never", "OnFailure")


def has_ordinary_objects(data: dict[str, Any], runtime: dict[str, Any]) -> bool:
    """Whether a server accepts all objects of an accepted TrainJob of a runtime. Both are *data*."""
    if not has_short_name(data, _LONGEST_NAME) or not _JOB(data.get("spec")) or not _RUNTIME(runtime.get("spec")):
        return False
    template = _template(runtime)
    container = containers_of(template).get(_NODE)
    if container is None or template["spec"].get("restartPolicy", "Never") not in _POLICIES:
        return False
    trainer = data["spec"].get("trainer", {})
    if container.get("resources") and "resourcesPerNode" in trainer:  # which the trainer merges
        return False
    others = [each for each in template["spec"]["containers"] if each["name"] != _NODE]
    spec = _with_patches({**template["spec"], "containers": [{**container, **_said(trainer)}, *others]}, data["spec"])
    return spec is not None and is_ordinary_template({"spec": spec})


def has_ordinary_programs(data: dict[str, Any], runtime: dict[str, Any]) -> bool:
    """Whether the programs of a TrainJob with ordinary objects find each other, and are told no ranks by its own variables."""
    trainer = data["spec"].get("trainer", {})
    training = {**containers_of(_template(runtime))[_NODE], **_said(trainer)}
    nodes = trainer.get("numNodes") or runtime["spec"]["mlPolicy"].get("numNodes") or 1
    return sets_no_ranks(training) and "trainer" in data["spec"] and _has_rendezvous(words_of(training), nodes)


def _with_patches(pod: dict[str, Any], job: dict[str, Any]) -> dict[str, Any] | None:
    """The spec of a pod with what the patch of a job, if it has one, adds; None where they have more in common than a container's name."""
    patched = dict(pod)
    for patch in job.get("runtimePatches", ()):
        added = patch["trainingRuntimeSpec"]["template"]["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]["spec"]
        mounts = {each["name"]: each["volumeMounts"] for each in added.get("containers", ())}
        containers = [{**each, "volumeMounts": mounts[each["name"]]} if each["name"] in mounts else each for each in pod["containers"]]
        taken = [each["name"] for each in pod["containers"] if "volumeMounts" in each]
        if added.keys() & pod.keys() - {"containers"} or not mounts.keys() <= set(containers_of({"spec": pod})) - set(taken):
            return None
        patched = {**pod, **added, "containers": containers}
    return patched


def _template(runtime: dict[str, Any]) -> dict[str, Any]:
    """The pod template of an ordinary runtime."""
    template: dict[str, Any] = runtime["spec"]["template"]["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]
    return template


def _said(trainer: dict[str, Any]) -> dict[str, Any]:
    """What the job says of the container that trains."""
    said: dict[str, Any] = {name: trainer[name] for name in ("image", "command", "args", "env") if name in trainer}
    return {**said, "resources": trainer["resourcesPerNode"]} if "resourcesPerNode" in trainer else said


def _has_rendezvous(words: list[str], nodes: int) -> bool:
    """Whether the program meets those of the other pods by the variables of torchrun."""
    if not words or words[0] == "tune":
        return False
    options = torchrun_words(words)
    return launches_every_node(options) if options is not None else nodes == 1 or not starts_python(words)


def _nested(check: Check, *steps: str) -> Check:
    """A mapping with one field, and in it another one, and so on, the innermost of which passes."""
    for step in reversed(steps):
        check = having({step: check}, step)
    return check


def _trains(value: Any) -> bool:
    return type(value) is dict and value == {ANCESTOR: TRAINER}


_OF_CONTAINER = ("image", "command", "args", "env", "resourcesPerNode")
_PATCHED_POD = having(
    {
        **dict.fromkeys(("serviceAccountName", "nodeSelector", "tolerations", "affinity", "volumes", "imagePullSecrets"), is_anything),
        "containers": each(having({"name": is_text, "volumeMounts": is_anything}, "name", "volumeMounts")),
    }
)
_PATCHED_JOB = having(
    {"name": one_of(_NODE), "template": _nested(_PATCHED_POD, "spec", "template", "spec")},
    *("name", "template"),
)
_PATCH = having(
    {
        "manager": is_text,
        "trainingRuntimeSpec": _nested(
            having(
                {
                    "metadata": is_ordinary_metadata,
                    "spec": _nested(lambda value: type(value) is list and len(value) == 1 and _PATCHED_JOB(value[0]), "replicatedJobs"),
                },
                "spec",
            ),
            "template",
        ),
    },
    "trainingRuntimeSpec",
)
_JOB = having(
    {
        "runtimeRef": is_anything,
        "activeDeadlineSeconds": is_number,
        "labels": are_labels,
        "runtimePatches": lambda value: type(value) is list and len(value) < 2 and all(map(_PATCH, value)),
        "trainer": having(
            {
                **dict.fromkeys(_OF_CONTAINER, is_anything),  # looked at in the runtime's container
                "numNodes": is_count_of_pods,
                "numProcPerNode": is_process_count,
            }
        ),
    },
    "runtimeRef",
)
_REPLICATED = having(
    {
        "name": one_of(_NODE),
        "template": having(
            {
                "metadata": having({"labels": _trains}, "labels"),
                "spec": having({"template": is_ordinary_template}, "template"),
            },
            *("metadata", "spec"),
        ),
    },
    *("name", "template"),
)
_RUNTIME = having(
    {
        "mlPolicy": having(
            {"numNodes": is_count_of_pods, "torch": having({"numProcPerNode": is_process_count})},
            "torch",
        ),
        "template": having(
            {
                "spec": having(
                    {"replicatedJobs": lambda value: type(value) is list and len(value) == 1 and _REPLICATED(value[0])}, "replicatedJobs"
                )
            },
            "spec",
        ),
    },
    *("mlPolicy", "template"),
)
