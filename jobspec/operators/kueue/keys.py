"""Labels and annotations of Kueue, and the keys that misspelt ones were meant to be.

Follows the constants of apis/kueue, pkg/constants, pkg/controller/constants and pkg/controller/jobs, and what reads them,
sigs.k8s.io/kueue, 0.1 to 0.19.
"""

from __future__ import annotations

from jobspec.apis.kinds import QUEUE_GROUP as GROUP
from jobspec.operators.workloads import MAXIMUM_TIME, PREFERRED_TOPOLOGY, QUEUE, REQUIRED_TOPOLOGY, SLICE_TOPOLOGY

PRIORITY, FEWEST, PREBUILT = f"{GROUP}/priority-class", f"{GROUP}/job-min-parallelism", f"{GROUP}/prebuilt-workload-name"
SYNCED, ELASTIC, GATED = (f"{GROUP}/{name}" for name in ("job-completions-equal-parallelism", "elastic-job", "admission-gated-by"))
ANYWHERE, SIZE, LAYERS, PLACED_TOGETHER = (
    f"{GROUP}/podset-{name}" for name in ("unconstrained-topology", "slice-size", "slice-required-topology-constraints", "group-name")
)
GROUP_NAME, GROUP_COUNT, _POD_INDEX = (f"{GROUP}/pod-group-{name}" for name in ("name", "total-count", "pod-index"))

#: Labels of jobs that Kueue does not read as annotations. Up to 0.14, it read the queue's name from one, too.
LABELS = (QUEUE, PRIORITY, MAXIMUM_TIME)
#: Annotations of jobs, and of pod templates for topology requests, that Kueue does not read as labels.
ANNOTATIONS = (FEWEST, SYNCED, ELASTIC, GATED)
TOPOLOGY_ANNOTATIONS = (REQUIRED_TOPOLOGY, PREFERRED_TOPOLOGY, ANYWHERE, SLICE_TOPOLOGY, SIZE, LAYERS, PLACED_TOGETHER)
_ANNOTATIONS_OF_PODS = (
    *(GROUP_COUNT, f"{GROUP}/pod-group-fast-admission", f"{GROUP}/pod-group-serving", f"{GROUP}/retriable-in-group"),
    *(f"{_POD_INDEX}-label", f"{GROUP}/safe-to-forcefully-delete"),
)
#: Key that users write -> the fields of metadata from which a release reads the key.
USERS: dict[str, tuple[str, ...]] = {
    **dict.fromkeys((*LABELS, _POD_INDEX), ("labels",)),
    **dict.fromkeys((PREBUILT, GROUP_NAME), ("labels", "annotations")),
    **dict.fromkeys((*ANNOTATIONS, *TOPOLOGY_ANNOTATIONS, *_ANNOTATIONS_OF_PODS), ("annotations",)),
}
#: Names of keys that Kueue and its tools write themselves, or that are read from Workloads or by former releases alone.
_OTHERS = (
    *("managed", "podset", "workload", "job-uid", "job-owner-gvk", "job-owner-name", "role-hash", "is-group-workload", "stopping", "tas"),
    *("cluster-queue-name", "local-queue-name", "component-workload-index", "pod-suspending-parent", "pod-index-offset"),
    *("multikueue-origin", "multikueue-origin-uid", "multikueue-worker-workload-pod"),
    *("workload-slice-name", "workload-slice-replacement-for"),
    *("priority-boost", "workload-allowed-resource-flavors", "concurrent-admission-parent", "auto-generated"),
    *("raycluster-generation", "raycluster-podset-replica-sizes", "podset-replica-sizes"),
    *("parent-workload", "original-node-selectors", "trainjob-override-idx", "safe-to-forcefully-terminate"),
)
#: Other domains of Kubernetes' projects, and `kueue.io`, that are written in place of Kueue's group.
_DOMAINS = ("kueue.k8s.io", "kueue.sigs.k8s.io", "kueue.kubernetes.io", "kueue.io")
#: Name without `-` -> the key that it is written for, though it is not spelt like it.
_ALIASES = {
    **dict.fromkeys(("queue", "queues", "localqueue"), QUEUE),
    **dict.fromkeys(("priorityclassname", "workloadpriorityclass", "workloadpriorityclassname"), PRIORITY),
    **dict.fromkeys(("maxexectime", "maxexecutiontime", "maxexecutiontimeseconds"), MAXIMUM_TIME),
    "requiredtopology": REQUIRED_TOPOLOGY,
    "preferredtopology": PREFERRED_TOPOLOGY,
}
_LIKENESS = 0.9  # `job-max-parallelism`, another thing, is like `job-min-parallelism` by 0.88
_LIKENESS_OF_TWISTED = 0.85
_LIKENESS_OF_GROUPS = 0.85  # `kwok.x-k8s.io`, another group, is like Kueue's by 0.74


def meant_key(key: str) -> str:
    """Return the key of users that a misspelt key was meant to be.

    If Kueue knows the key, or the key is near to none of users, return an empty string.
    """
    prefix, _, name = key.partition("/")
    if not name or "ue" not in prefix or (prefix == GROUP and (key in USERS or name in _OTHERS)):
        return ""
    from jobspec.kubernetes.suggestions import nearest

    if prefix != GROUP and prefix not in _DOMAINS and not nearest(prefix, [GROUP], likeness=_LIKENESS_OF_GROUPS):
        return ""
    known = {_squeezed(each): each for each in (*(each.partition("/")[2] for each in USERS), *_OTHERS)}
    written = _squeezed(name)
    twisted = nearest(written, known, likeness=_LIKENESS_OF_TWISTED)
    near = known.get(twisted if sorted(twisted) == sorted(written) else nearest(written, known, likeness=_LIKENESS), "")
    meant = _ALIASES.get(written) or ("" if _says_more(name, near) else f"{GROUP}/{near}")
    return meant if meant in USERS else ""


def _says_more(name: str, near: str) -> bool:
    """True if a name has all words of another one and more.

    `podset-slice-preferred-topology`, for example, may be a key of a later release.
    """
    words, fewer = name.lower().split("-"), near.split("-")
    return len(words) > len(fewer) and set(words) > set(fewer)


def _squeezed(name: str) -> str:
    return "".join(each for each in name.lower() if each not in "-_.")
