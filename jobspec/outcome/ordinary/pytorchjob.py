"""Ordinary PyTorchJobs."""

from __future__ import annotations

from jobspec.operators.training_operator.webhook import has_webhook
from jobspec.outcome.ordinary.pods import containers_of, has_room_for_port, is_ordinary_template
from jobspec.outcome.ordinary.programs import is_process_count, launches_every_node, sets_no_ranks, torchrun_words, words_of
from jobspec.outcome.ordinary.values import (
    has_short_name,
    having,
    is_count_of_pods,
    is_name,
    is_number,
    is_port,
    is_text,
    one_of,
)
from jobspec.programs.torchrun import starts_python

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from jobspec.targets import Target

_CONTAINER = "pytorch"
_PORT = ("pytorchjob-port", 23456)
_ADDED = "init-pytorch"
"""The init container that the operator adds."""
_LONGEST_NAME = 40


def has_ordinary_objects(data: dict[str, Any], target: Target) -> bool:
    """Whether a server accepts all objects of an accepted PyTorchJob. *data*: the job's."""
    if not has_webhook(target["training-operator"]) or not has_short_name(data, _LONGEST_NAME) or not _SPEC(data.get("spec")):
        return False
    spec = data["spec"]
    roles: dict[str, Any] = spec["pytorchReplicaSpecs"]
    return all(map(_is_ordinary_role, roles.values())) and ("elasticPolicy" not in spec or _has_ordinary_limits(spec))


def has_ordinary_programs(data: dict[str, Any]) -> bool:
    """Whether the programs of a PyTorchJob with ordinary objects find each other."""
    spec = data["spec"]
    told = _told(spec)
    return all(_has_rendezvous(containers_of(each["template"])[_CONTAINER], told) for each in spec["pytorchReplicaSpecs"].values())


class _Told:
    """What the operator tells the programs of a job."""

    __slots__ = ("has_master", "meet", "processes")

    def __init__(self, processes: str, *, has_master: bool, meet: bool) -> None:
        self.processes = processes
        self.has_master = has_master
        self.meet = meet
        """Whether torchrun is told where the pods meet, or there is one."""


def _told(spec: dict[str, Any]) -> _Told:
    roles = spec["pytorchReplicaSpecs"]
    has_master = "Master" in roles
    pods = sum(each.get("replicas", 1) for each in roles.values())
    return _Told(str(spec.get("nprocPerNode", "auto")), has_master=has_master, meet=has_master or "elasticPolicy" in spec or pods == 1)


def _is_ordinary_role(role: dict[str, Any]) -> bool:
    template = role["template"]
    training = containers_of(template).get(_CONTAINER)
    names = [each["name"] for each in template["spec"].get("initContainers", ())]
    return training is not None and _ADDED not in (*names, *containers_of(template)) and has_room_for_port(training, *_PORT)


def _has_rendezvous(container: dict[str, Any], told: _Told) -> bool:
    """Whether the program meets those of the other pods, where it looks for them by itself."""
    words = words_of(container)
    options = torchrun_words(words)
    if options is None and not starts_python(words):
        return True
    if not told.has_master and not sets_no_ranks(container):  # where there is a Master, the operator's variables come behind these
        return False
    if options is not None:
        return told.meet and launches_every_node(options)
    return told.has_master and (not told.processes.isdecimal() or told.processes == "1")


def _has_ordinary_limits(spec: dict[str, Any]) -> bool:
    """Whether an elastic policy is for Workers alone, and its least number is not above its greatest."""
    policy, roles = spec["elasticPolicy"], spec["pytorchReplicaSpecs"]
    return list(roles) == ["Worker"] and bool(policy["minReplicas"] <= policy["maxReplicas"])


_ROLE = {
    "replicas": is_count_of_pods,
    "restartPolicy": one_of("Always", "OnFailure", "Never", "ExitCode"),
    "template": is_ordinary_template,
}
_ROLES = having({"Master": having(_ROLE, "template"), "Worker": having(_ROLE, "template")})
_SPEC = having(
    {
        "pytorchReplicaSpecs": lambda value: _ROLES(value) and bool(value),
        "nprocPerNode": is_process_count,
        "elasticPolicy": having(
            {
                "rdzvBackend": one_of("c10d", "etcd", "etcd-v2"),
                "rdzvHost": is_name,
                "rdzvPort": is_port,
                "rdzvId": is_text,
                "maxRestarts": is_number,
                "minReplicas": is_count_of_pods,
                "maxReplicas": is_count_of_pods,
            },
            *("minReplicas", "maxReplicas"),
        ),
        "runPolicy": having(
            {
                "cleanPodPolicy": one_of("All", "Running", "None"),
                "ttlSecondsAfterFinished": is_number,
                "activeDeadlineSeconds": is_number,
                "backoffLimit": is_number,
            }
        ),
    },
    "pytorchReplicaSpecs",
)
