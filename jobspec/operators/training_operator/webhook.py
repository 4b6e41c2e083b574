"""The rules of the training-operator's webhook for PyTorchJobs; 1.7 has no webhook.

Follows `validatePyTorchJob`, github.com/kubeflow/training-operator pkg/webhooks/pytorch, 1.8.1 to 1.9.4.
"""

from __future__ import annotations

from jobspec.apis.releases import Target, is_at_least
from jobspec.diagnostics.places import Key, Path
from jobspec.diagnostics.problems import rename, set_to
from jobspec.diagnostics.rules import Finding, Rule
from jobspec.operators.training_operator import MANAGED_BY, REPLICA_TYPES
from jobspec.operators.webhooks import job_name, undecodable_value
from jobspec.operators.workloads import REPLICA_SPECS, Workload

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any


def has_webhook(release: str) -> bool:
    """Whether a webhook refuses what the operator cannot read, before the operator sees it."""
    return is_at_least(release, "1.8.0")


_OLDER_PROCESSES: Path = ("spec", "elasticPolicy", "nProcPerNode")
_MANAGERS = ("kubeflow.org/training-operator", "kueue.x-k8s.io/multikueue")


def replica_specs(workload: Workload, target: Target) -> Iterator[Finding]:
    """A job needs `pytorchReplicaSpecs`, even where the schema lets `spec` be absent. Describe a Master, Workers or both."""
    if workload.spec.get("pytorchReplicaSpecs") is None:
        yield Finding(REPLICA_SPECS, "the job has no `pytorchReplicaSpecs`, and so no pods", "add a `Master`, a `Worker` or both")


def replica_type(workload: Workload, target: Target) -> Iterator[Finding]:
    """The operator knows the replica types `Master` and `Worker`, spelt exactly so; the schema takes any key."""
    for role in workload.roles:
        if role.name not in REPLICA_TYPES:
            near = next((known for known in REPLICA_TYPES if known.lower() == role.name.lower()), "")
            hint = f"write `{near}`" if near else "the types are `Master` and `Worker`"
            changes = [rename(role.path, near)] if near else []
            yield Finding(role.path, f"a PyTorchJob has no replica type `{role.name}`", hint, changes=changes)


def master_replicas(workload: Workload, target: Target) -> Iterator[Finding]:
    """A Master needs `replicas: 1` in the manifest: the webhook runs before the operator fills in the default."""
    for role in workload.roles:
        replicas = role.data.get("replicas")
        if role.name == "Master" and replicas != 1:
            what = "the Master has no `replicas`" if replicas is None else f"the Master has `replicas: {replicas}`"
            yield Finding((*role.path, "replicas"), f"{what}; it must be set to 1", "write `replicas: 1`; further pods are Workers")


def worker_replicas(workload: Workload, target: Target) -> Iterator[Finding]:
    """A replica type with no replica at all is refused. Leave the type out, or suspend the job with `runPolicy.suspend`."""
    for role in workload.roles:
        replicas = role.data.get("replicas")
        if role.name != "Master" and replicas is not None and replicas < 1:
            message = f"`{role.name}` has `replicas: {replicas}`; at least 1 is needed"
            yield Finding((*role.path, "replicas"), message, f"remove `{role.name}` for a job without it")


def training_container(workload: Workload, target: Target) -> Iterator[Finding]:
    """Every replica type needs a container named `pytorch`: the operator adds its port, and reads exit codes from it."""
    for role in workload.roles:
        names = [container["name"] for _, container in role.items("containers")]
        if not names:
            yield Finding(role.at("containers"), f"`{role.name}` has no container", "it needs one named `pytorch`")
        elif "pytorch" not in names:
            message = f"none of `{role.name}`'s containers is named `pytorch`, as the operator requires"
            (path, _), *others = role.items("containers")
            is_sure = not others and all(each["name"] != "pytorch" for _, each in role.items("initContainers"))
            changes = [set_to((*path, "name"), "pytorch")] if is_sure else []
            yield Finding(role.at("containers"), message, f"rename `{names[0]}` to `pytorch`", changes=changes)


def container_image(workload: Workload, target: Target) -> Iterator[Finding]:
    """Every container needs an image; the schema would take one without, for other tools to fill in."""
    for role in workload.roles:
        for path, container in role.items("containers"):
            if not container.get("image"):
                yield Finding((*path, "image"), f"the container `{container['name']}` has no image")


def elastic_workers(workload: Workload, target: Target) -> Iterator[Finding]:
    """An elastic job changes its number of Workers, so it has to have some. Add them, or remove `elasticPolicy`."""
    if workload.spec.get("elasticPolicy") is not None and all(role.name != "Worker" for role in workload.roles):
        message = "`elasticPolicy` needs Workers, and the job has none"
        yield Finding((*REPLICA_SPECS, Key("Worker")), message, "add a `Worker`, or remove `elasticPolicy`")


def deprecated_processes(workload: Workload, target: Target) -> Iterator[Finding]:
    """`elasticPolicy.nProcPerNode` is the old place of `spec.nprocPerNode`, and deprecated. Move the value, as text, to the new one."""
    value = _older_processes(workload)
    if value is not None:
        hint = f'write `nprocPerNode: "{value}"` in `spec`'
        yield Finding(_OLDER_PROCESSES, "`elasticPolicy.nProcPerNode` is deprecated", hint, severity="warning")


def processes_twice(workload: Workload, target: Target) -> Iterator[Finding]:
    """`spec.nprocPerNode` and the older `elasticPolicy.nProcPerNode` say the same, so only one can be set. Keep the first."""
    if _older_processes(workload) is not None and workload.spec.get("nprocPerNode") is not None:
        yield Finding(_OLDER_PROCESSES, "`elasticPolicy.nProcPerNode` cannot be combined with `spec.nprocPerNode`", "remove it")


def _older_processes(workload: Workload) -> Any:
    return (workload.spec.get("elasticPolicy") or {}).get("nProcPerNode")


def managed_by(workload: Workload, target: Target) -> Iterator[Finding]:
    """Only the training-operator and MultiKueue can manage a job; no other name is allowed, nor an empty one."""
    manager = (workload.spec.get("runPolicy") or {}).get("managedBy")
    if manager is not None and manager not in _MANAGERS:
        known = " or ".join(f"`{name}`" for name in _MANAGERS)
        yield Finding(MANAGED_BY, f"unknown controller `{manager}`", f"write {known}, or remove it")


WEBHOOK_RULES = [
    Rule(undecodable_value, since="1.8.1"),
    Rule(job_name, since="1.8.1"),
    Rule(managed_by, since="1.9.0"),
    Rule(replica_specs, since="1.8.1"),
    Rule(replica_type, since="1.8.1"),
    Rule(training_container, since="1.8.1"),
    Rule(container_image, since="1.8.1"),
    Rule(master_replicas, since="1.8.1"),
    Rule(worker_replicas, since="1.9.0"),
    Rule(elastic_workers, since="1.9.0"),
    Rule(deprecated_processes, since="1.8.1"),
    Rule(processes_twice, since="1.8.1"),
]
