"""The rules of the training-operator's webhooks: those for PyTorchJobs, and for its other kinds. 1.7 has no webhook.

Follows `validatePyTorchJob`, `validateTFJob`, `validateXGBoostJob`, `validatePaddleJob` and `validateJAXJob`,
github.com/kubeflow/training-operator pkg/webhooks, 1.8.1 to 1.9.4. MPIJob has no webhook, and that of MXJob refuses nothing.
"""

from __future__ import annotations

from jobspec.apis.releases import Target, is_at_least
from jobspec.diagnostics.places import Key, Path, value_at
from jobspec.diagnostics.problems import rename, set_to
from jobspec.diagnostics.rules import Finding, Rule
from jobspec.operators.training_operator import MANAGED_BY
from jobspec.operators.training_operator.frameworks import FRAMEWORKS, LAUNCHER, Framework
from jobspec.operators.webhooks import job_name, undecodable_value
from jobspec.operators.workloads import REPLICA_SPECS, Workload

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import Any


def has_webhook(release: str) -> bool:
    """Whether a webhook refuses what the operator cannot read, before the operator sees it."""
    return is_at_least(release, "1.8.0")


_OLDER_PROCESSES: Path = ("spec", "elasticPolicy", "nProcPerNode")
_MANAGERS = ("kubeflow.org/training-operator", "kueue.x-k8s.io/multikueue")


def _framework(workload: Workload) -> Framework:
    """What the operator requires of a job's kind."""
    return FRAMEWORKS[workload.document.group_kind]


def missing_types(framework: Framework) -> str:
    """Return the remedy of a job without replica types."""
    if LAUNCHER in framework.types:
        return "add a `Launcher` and a `Worker`"
    return "add a `Master`, a `Worker` or both" if len(framework.types) == 2 else "add a `Worker`"


def known_types(framework: Framework) -> str:
    """Return the hint that names the replica types of a kind."""
    known = " and ".join(f"`{each}`" for each in framework.types)
    return f"the types are {known}" if framework.types[1:] else f"the only type is {known}"


def replica_specs(workload: Workload, target: Target) -> Iterator[Finding]:
    """A job needs `pytorchReplicaSpecs`, even where the schema lets `spec` be absent. Describe a Master, Workers or both."""
    framework = _framework(workload)
    field = framework.replicas[1]
    if workload.spec.get(field) is None:
        yield Finding(framework.replicas, f"the job has no `{field}`, and so no pods", missing_types(framework))


def replica_type(workload: Workload, target: Target) -> Iterator[Finding]:
    """The operator knows the replica types `Master` and `Worker`, spelt exactly so; the schema takes any key."""
    framework = _framework(workload)
    for role in workload.roles:
        if role.name not in framework.types:
            near = next((known for known in framework.types if known.lower() == role.name.lower()), "")
            hint = f"write `{near}`" if near else known_types(framework)
            changes = [rename(role.path, near)] if near else []
            yield Finding(role.path, f"{framework.a_job} has no replica type `{role.name}`", hint, changes=changes)


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
    wanted = _framework(workload).container
    for role in workload.roles:
        names = [container["name"] for _, container in role.items("containers")]
        if not names:
            yield Finding(role.at("containers"), f"`{role.name}` has no container", f"it needs one named `{wanted}`")
        elif wanted not in names:
            message = f"none of `{role.name}`'s containers is named `{wanted}`, as the operator requires"
            (path, _), *others = role.items("containers")
            is_sure = not others and all(each["name"] != wanted for _, each in role.items("initContainers"))
            changes = [set_to((*path, "name"), wanted)] if is_sure else []
            yield Finding(role.at("containers"), message, f"rename `{names[0]}` to `{wanted}`", changes=changes)


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


def manager_frozen(workload: Workload, target: Target) -> Iterator[Finding]:
    """An update cannot change, add or remove the manager of a job. Create a new job.

    The webhook of PyTorchJob compares the new job with itself, and that of JAXJob compares nothing: both accept it.
    """
    if workload.old is None:
        return
    now, before = (value_at(each.data, MANAGED_BY) for each in (workload.document, workload.old))
    if now != before:
        yield Finding(MANAGED_BY, "the manager of a job cannot be changed", "create a new job")


def chief_and_master(workload: Workload, target: Target) -> Iterator[Finding]:
    """A TFJob can have a Chief or a Master, not both: they are two names of one role."""
    leading = [role for role in workload.roles if role.name in ("Chief", "Master")]
    if leading[1:]:
        yield Finding(leading[1].path, "a TFJob cannot have both a `Chief` and a `Master`", "remove one of them")


def missing_master(workload: Workload, target: Target) -> Iterator[Finding]:
    """An XGBoostJob needs a Master, to which the Workers connect."""
    path = _framework(workload).replicas
    if value_at(workload.document.data, path) is not None and all(role.name != "Master" for role in workload.roles):
        yield Finding((*path, Key("Master")), "an XGBoostJob needs a `Master`, and has none", "add a `Master` with `replicas: 1`")


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

_DECODED = Rule(undecodable_value, since="1.8.1")
_OF_ANY_KIND = [
    _DECODED,
    Rule(job_name, since="1.8.1"),
    Rule(replica_specs, since="1.8.1"),
    Rule(training_container, since="1.8.1"),
    Rule(container_image, since="1.8.1"),
]
_MANAGED = [Rule(managed_by, since="1.9.0"), Rule(manager_frozen, since="1.9.0")]
_TYPES = Rule(replica_type, since="1.8.1")
#: Sibling kind -> the rules of its webhook.
SIBLING_RULES: Mapping[str, Sequence[Rule]] = {
    "JAXJob": [*_OF_ANY_KIND, _TYPES],
    "MXJob": [_DECODED],
    "PaddleJob": [*_OF_ANY_KIND, *_MANAGED, _TYPES],
    "TFJob": [*_OF_ANY_KIND, *_MANAGED, Rule(chief_and_master, since="1.8.1")],
    "XGBoostJob": [*_OF_ANY_KIND, *_MANAGED, _TYPES, Rule(master_replicas, since="1.8.1"), Rule(missing_master, since="1.8.1")],
}
