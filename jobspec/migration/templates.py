"""A pod template of a PyTorchJob as one of a runtime: its training container has another name, and a Job restarts pods by its own rules."""

from __future__ import annotations

from jobspec.documents.marked_tree import items, text
from jobspec.migration.life import UNLIMITED, exit_code_rule
from jobspec.migration.made import by_migration, present
from jobspec.migration.placement import is_of_job
from jobspec.migration.selectors import with_new_names
from jobspec.migration.variables import environment, operators_own, port_of_trainer, text_of, translated

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection
    from typing import Any

    from jobspec.documents.marked_tree import MarkedTree
    from jobspec.migration.nodes import JobNode
    from jobspec.migration.source import SourceJob

TRAINING = "node"
_V1 = "pytorch"
_OPERATORS_PORT = "pytorchjob-port"


def training_container(template: MarkedTree) -> MarkedTree:
    """The container that trains in a template of a PyTorchJob."""
    containers = {text(each, "name"): each for each in items(template.get("spec", "containers"))}
    return containers[_V1]


def pod_template(
    source: SourceJob,
    replica: MarkedTree,
    node: JobNode,
    *,
    rank: str,
    renamed: Callable[[str], str],
    without: Collection[str] = (),
    has_port: bool = False,
) -> MarkedTree:
    """A replica type's template. *without*: the fields of the training container that the TrainJob says itself.

    *has_port*: the trainer adds the port at which processes meet.
    """
    template = replica.value["template"]
    spec = template.value["spec"]

    host_network = spec.get("hostNetwork")
    takes_port = not has_port and host_network is not None and host_network.value is True

    def container(each: MarkedTree) -> MarkedTree:
        is_training = text(each, "name") == _V1
        made = _container(each, node, rank=rank, renamed=renamed, training=is_training, without=without if is_training else ())
        return _with_port(made, node) if is_training and takes_port else made

    containers = spec.value["containers"].with_value([container(each) for each in items(spec.get("containers"))])
    fields = {name: each for name, each in with_new_names(spec).value.items() if name != "restartPolicy"}
    policy = replica.get("restartPolicy")
    word = "OnFailure" if source.restart(replica) in ("OnFailure", "Always") else "Never"
    restart = policy.with_value(word) if policy else by_migration(word)
    pod: MarkedTree = spec.with_value({"restartPolicy": restart, **fields, "containers": containers})
    whole: MarkedTree = template.with_value({**template.value, **_metadata(template), "spec": pod})
    return whole


def _metadata(template: MarkedTree) -> dict[str, MarkedTree]:
    """The metadata of a template without the labels that a Job writes itself, and refuses from others."""
    labels = template.get("metadata", "labels")
    if labels is None:
        return {}
    kept = labels.with_value({name: each for name, each in labels.value.items() if not is_of_job(name)})
    metadata = template.value["metadata"]
    others = {name: each for name, each in metadata.value.items() if name != "labels"}
    return {"metadata": metadata.with_value({**({"labels": kept} if kept.value else {}), **others})}


def _container(
    each: MarkedTree, node: JobNode, *, rank: str, renamed: Callable[[str], str], training: bool, without: Collection[str]
) -> MarkedTree:
    fields = {name: child for name, child in each.value.items() if name not in without}
    if training:
        fields["name"] = each.value["name"].with_value(TRAINING)
    ports = [port for port in items(each.get("ports")) if not training or text(port, "name") != _OPERATORS_PORT]
    fields.pop("ports", None)
    if ports:
        fields["ports"] = each.value["ports"].with_value(ports)
    for field in ("command", "args"):
        if field in fields:
            fields[field] = words(fields[field], renamed)
    made = node.pod.container(text(each, "name"))
    if "env" not in without and made:
        added = [translated(one, rank, renamed) for one in operators_own(made)]
        env = environment(each, added, renamed)
        fields["env"] = each.value["env"].with_value(env) if "env" in each.value else by_migration(env)
    return each.with_value(fields)


def _with_port(container: MarkedTree, node: JobNode) -> MarkedTree:
    """A container that takes the port at which processes meet from its node, as that of training-operator does."""
    made = node.training
    given = next(each for each in items(made and made.get("ports")) if text(each, "name") == _OPERATORS_PORT)
    number = port_of_trainer(text_of(given.value["containerPort"]))
    port = by_migration({"name": _OPERATORS_PORT, "containerPort": int(number)}, given)
    ports = container.get("ports")
    others = items(ports)
    return container.with_value({**container.value, "ports": (ports or port).with_value([*others, port])})


def words(given: MarkedTree, renamed: Callable[[str], str]) -> MarkedTree:
    """The words of a command line with other names of hosts."""
    return given.with_value([each.with_value(renamed(text_of(each))) for each in items(given)])


def job_template(source: SourceJob, replica: MarkedTree, template: MarkedTree, *, labelled: bool, nodes: int) -> dict[str, Any]:
    """The template of a replicated job: its label, its pods, and how they live."""
    labels = {"metadata": {"labels": {"trainer.kubeflow.org/trainjob-ancestor-step": "trainer"}}} if labelled else {}
    return {**labels, "spec": {**_life(source, replica, nodes=nodes), "template": template}}


def _life(source: SourceJob, replica: MarkedTree, *, nodes: int) -> dict[str, Any]:
    policy = source.restart(replica)
    cause = replica.get("restartPolicy")
    limit = source.policy("backoffLimit")
    allowed = by_migration(0 if policy == "Never" else UNLIMITED, cause)
    if limit and policy in ("OnFailure", "Always"):
        allowed = limit
    rule = by_migration({"rules": [exit_code_rule()]}, cause) if policy == "ExitCode" else None
    deadline = source.policy("activeDeadlineSeconds") if not has_deadline(source) else None
    success = _success(source) if nodes > 1 else None
    fields = {"activeDeadlineSeconds": deadline, "backoffLimit": allowed, "podFailurePolicy": rule, "successPolicy": success}
    return present(fields)


def has_deadline(source: SourceJob) -> bool:
    """Whether a TrainJob of the release has a deadline of its own."""
    from jobspec.targets import reached

    return reached(source.release, "2.2.0")


def _success(source: SourceJob) -> MarkedTree | None:
    """Who has to succeed, where the operator ends the others then."""
    clean = source.policy("cleanPodPolicy")
    if clean is None or clean.value == "None":
        return None
    if "Master" in source.replicas:
        return by_migration({"rules": [{"succeededIndexes": "0"}]}, clean)
    return by_migration({"rules": [{"succeededCount": 1}]}, clean) if source.spec.get("elasticPolicy") else None
