"""What Kueue's releases and API versions differ in: which jobs a release queues, and objects in the other one of the versions.

Follows the conversions of apis/kueue/v1beta1, sigs.k8s.io/kueue 0.19.2.
"""

from __future__ import annotations

from jobspec.apis.kinds import (
    CRON_JOB,
    JOB,
    JOBSET,
    LEADER_WORKER_SET,
    MPIJOB,
    PYTORCHJOB,
    QUEUED_TRAINING_JOBS,
    RAY_CLUSTER,
    RAY_JOB,
    RAY_SERVICE,
    TRAINJOB,
    GroupKind,
)
from jobspec.apis.kinds import QUEUE_GROUP as GROUP
from jobspec.apis.releases import is_at_least
from jobspec.go.values import mapping, texts
from jobspec.operators.mutation import queued_by_default
from jobspec.operators.workloads import is_of_other_operator

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    from jobspec.diagnostics.places import Data, Path
    from jobspec.documents.document import Document

    #: Part of an object -> its fields that have other names -> the name, and the value.
    Changes = dict[str, dict[str, tuple[str, Any]]]

_OLD = f"{GROUP}/v1beta1"
_NEW = f"{GROUP}/v1beta2"
#: What both versions call differently in `flavorFungibility`.
_FUNGIBILITY = {"Borrow": "MayStopSearch", "Preempt": "MayStopSearch"}
#: `priorityClassSource` of a Workload -> the group and kind of its priority class.
_PRIORITY_SOURCES = {
    f"{GROUP}/workloadpriorityclass": (GROUP, "WorkloadPriorityClass"),
    "scheduling.k8s.io/priorityclass": ("scheduling.k8s.io", "PriorityClass"),
}


RELEASE = "0.19.2"
"""The newest release whose behaviour is known."""
_FRAMEWORKS = {
    **{kind: f"kubeflow.org/{kind[1].lower()}" for kind in QUEUED_TRAINING_JOBS},
    TRAINJOB: "trainer.kubeflow.org/trainjob",
    JOBSET: "jobset.x-k8s.io/jobset",
    MPIJOB: "kubeflow.org/mpijob",
    JOB: "batch/job",
    LEADER_WORKER_SET: "leaderworkerset.x-k8s.io/leaderworkerset",
    RAY_CLUSTER: "ray.io/raycluster",
    RAY_JOB: "ray.io/rayjob",
    RAY_SERVICE: "ray.io/rayservice",
}
"""The kinds of jobs of which Workloads can be said, with their names among `integrations.frameworks` of Kueue's configuration."""
FRAMEWORK_OF_GROUPS = _FRAMEWORKS[LEADER_WORKER_SET]
KINDS: tuple[GroupKind, ...] = tuple(_FRAMEWORKS)
_APP_WRAPPER: GroupKind = ("workload.codeflare.dev", "AppWrapper")
_APP_WRAPPERS = "workload.codeflare.dev/appwrapper"
FURTHER_FRAMEWORKS: dict[str, GroupKind] = {
    "sparkoperator.k8s.io/sparkapplication": ("sparkoperator.k8s.io", "SparkApplication"),
    _APP_WRAPPERS: _APP_WRAPPER,
    "deployment": ("apps", "Deployment"),
    "statefulset": ("apps", "StatefulSet"),
    "pod": ("", "Pod"),
}
"""Other kinds that Kueue queues, by their names among `integrations.frameworks`."""
REMOVED_FRAMEWORKS = {"kubeflow.org/mxjob": "0.11"}
"""The frameworks that Kueue had, and the release that has none of the name."""
FRAMEWORKS = (*_FRAMEWORKS.values(), *FURTHER_FRAMEWORKS)
"""The names of all frameworks."""
QUEUED_KINDS = frozenset((*KINDS, CRON_JOB, *FURTHER_FRAMEWORKS.values()))
"""The kinds whose objects Kueue queues, and CronJobs, whose Jobs it queues."""


def makes_workloads_of(job: Document) -> bool:
    """True if Kueue can make Workloads of jobs of this kind.

    Among MPIJobs, Kueue sees only those of mpi-operator.
    """
    return job.group_kind in KINDS and not is_of_other_operator(job)


def not_queued(kind: GroupKind, release: str, configuration: Data) -> tuple[str, str]:
    """Why Kueue does not queue a kind, and the hint; both empty for a kind that it queues.

    *configuration*: its own, where that is given, which queues Jobs alone unless it names frameworks.
    """
    framework = _FRAMEWORKS.get(kind, "")
    way = f"name `{framework}` among `integrations.frameworks` of Kueue's configuration"
    hint = f"`jobspec migrate FILE --to TrainJob --in-place` converts it; or {way}" if kind == PYTORCHJOB else way
    if configuration:
        named = texts(mapping(configuration, "integrations"), "frameworks") or [_FRAMEWORKS[JOB]]
        return ("", "") if framework in named else (f"bypasses Kueue: its configuration does not queue {kind[1]}s", hint)
    if not queued_by_default(kind, release):
        return f"bypasses Kueue: Kueue {release} does not queue {kind[1]}s by default", hint
    return "", ""


def queued_by_holder(job: Document, configuration: Data) -> str:
    """Return the kind of the object around a job that Kueue queues in place of the job.

    If Kueue queues no such object, return an empty string. *configuration*: its own, where that is given.
    """
    if job.holder != _APP_WRAPPER:
        return ""
    named = mapping(configuration, "integrations")
    outside = [each.partition(".")[0] for each in texts(named, "externalFrameworks") if each.endswith(f".{_APP_WRAPPER[0]}")]
    is_queued = not configuration or _APP_WRAPPERS in texts(named, "frameworks") or _APP_WRAPPER[1] in outside
    return _APP_WRAPPER[1] if is_queued else ""


def writes_runtime_patches(release: str) -> bool:
    """True if Kueue starts a TrainJob by `runtimePatches`.

    Older releases change the job's own fields.
    """
    return is_at_least(release, "0.17.0")


def replaces_tolerations(release: str) -> bool:
    """True if Kueue writes only the flavor's tolerations into a TrainJob.

    These tolerations replace all that the runtime of the job has.
    """
    return not is_at_least(release, "0.20.0")


def as_v1beta2(data: Data) -> Data:
    """An object of Kueue as v1beta2 has it; others stay as they are."""
    if data.get("apiVersion") != _OLD:
        return data
    change = _CHANGES.get(str(data.get("kind")))
    parts = {name: mapping(data, name) for name in ("spec", "status")}
    made = change(*parts.values()) if change else {}
    return {**data, "apiVersion": _NEW, **{name: _renamed(part, made.get(name, {})) for name, part in parts.items() if name in data}}


def is_converted(data: Data) -> bool:
    """Whether the server stores an object of Kueue in another version than it is written in."""
    return data.get("apiVersion") == _OLD


def rewritten_fields(data: Data) -> Iterator[tuple[Path, Any]]:
    """Yield the path and new value of each field that a server gives back differently.

    The object is a v1beta1 object of Kueue. If the server drops a field, the value is None.
    """
    if is_converted(data):
        stored = converted(as_v1beta2(data), _OLD.rpartition("/")[2]) or data
        yield from _differences(mapping(data, "spec"), mapping(stored, "spec"), ("spec",))


def _differences(before: Data, after: Data, path: Path) -> Iterator[tuple[Path, Any]]:
    for name, value in before.items():
        if isinstance(value, dict) and isinstance(after.get(name), dict):
            yield from _differences(value, after[name], (*path, name))
        elif value and value != after.get(name):
            yield (*path, name), after.get(name)


def converted(data: Data, version: str) -> Data | None:
    """Convert an object of Kueue to a version.

    If only a server can convert the object, return None. That is so for Workloads and MultiKueueClusters from v1beta2 back.
    """
    if f"{GROUP}/{version}" == _NEW:
        return as_v1beta2(data)
    if data["kind"] in _CHANGES and data["kind"] not in _BACK:
        return None
    part, names = _BACK.get(data["kind"], ("", {}))
    made = {part: _renamed(each, {name: (names[name], each.get(name)) for name in names})} if (each := data.get(part)) else {}
    return {**data, "apiVersion": _OLD, **made}


def _cluster_queue(spec: Data, _: Data) -> Changes:
    checks = spec.get("admissionChecks")
    fungibility = {key: _FUNGIBILITY.get(str(value), value) for key, value in mapping(spec, "flavorFungibility").items()}
    made = {
        "cohort": ("cohortName", spec.get("cohort")),
        "admissionChecks": ("admissionChecksStrategy", {"admissionChecks": [{"name": each} for each in checks or ()]} if checks else None),
        "flavorFungibility": ("flavorFungibility", fungibility),
    }
    return {"spec": made}


def _multi_kueue_cluster(spec: Data, _: Data) -> Changes:
    fields = ("kubeConfig", "clusterProfileRef")
    return {"spec": dict.fromkeys(fields, ("clusterSource", {key: spec[key] for key in fields if spec.get(key)}))}


def _workload(spec: Data, status: Data) -> Changes:
    group, kind = _PRIORITY_SOURCES.get(str(spec.get("priorityClassSource")), ("", ""))
    reference = {"group": group, "kind": kind, "name": spec.get("priorityClassName")} if kind else None
    old, new = "accumulatedPastExexcutionTimeSeconds", "accumulatedPastExecutionTimeSeconds"
    renamed = {"priorityClassName": ("priorityClassRef", reference), "priorityClassSource": ("", None)}
    return {"spec": renamed, "status": {old: (new, status.get(old))}}


#: Kind -> what becomes of its spec and status in v1beta2.
_CHANGES: dict[str, Callable[[Data, Data], Changes]] = {
    "AdmissionCheck": lambda *_: {"spec": {"retryDelayMinutes": ("", None)}},
    "ClusterQueue": _cluster_queue,
    "LocalQueue": lambda _, status: {"status": {"flavorUsage": ("flavorsUsage", status.get("flavorUsage"))}},
    "MultiKueueCluster": _multi_kueue_cluster,
    "Workload": _workload,
}


#: The kinds that v1beta1 has with some fields of one part under other names, or without them.
_BACK: dict[str, tuple[str, dict[str, str]]] = {
    "AdmissionCheck": ("spec", {}),
    "ClusterQueue": ("spec", {"cohortName": "cohort", "concurrentAdmissionPolicy": ""}),
    "LocalQueue": ("status", {"flavorsUsage": "flavorUsage"}),
}


def _renamed(data: Data, made: dict[str, tuple[str, Any]]) -> Data:
    """A mapping with fields under other names, with other values; those without a value are left out."""
    found = {}
    for key, value in data.items():
        name, new = made.get(key, (key, value))
        if name and (key not in made or new is not None):
            found[name] = new
    return found
