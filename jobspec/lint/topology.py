"""Topology requests of jobs in queues."""

from __future__ import annotations

from collections.abc import Iterator

from jobspec.diagnostics.places import items_at, value_at
from jobspec.diagnostics.rules import Finding, Rule
from jobspec.documents.marked_tree import text
from jobspec.lint.linted import LintedJob
from jobspec.operators.workloads import HOSTNAME, PREFERRED_TOPOLOGY, REQUIRED_TOPOLOGY, SLICE_TOPOLOGY

TYPE_CHECKING = False
if TYPE_CHECKING:
    pass


_TOPOLOGY = ("kueue.x-k8s.io", "Topology")
_LEVELS = (REQUIRED_TOPOLOGY, PREFERRED_TOPOLOGY, SLICE_TOPOLOGY)
_USUAL, _MOST = 8, 16  # GPUs of one node


def topology_too_narrow(job: LintedJob) -> Iterator[Finding]:
    """All pods of a role must run on one host, which cannot have as many GPUs.

    Why: Kueue admits the job only where one place of the level has room for all pods; where there is none, the job waits forever.
    Instead: require a level that is wide enough, such as a rack or a block, or prefer this one.
    Before: annotations: {kueue.x-k8s.io/podset-required-topology: kubernetes.io/hostname}
    After: annotations: {kueue.x-k8s.io/podset-preferred-topology: kubernetes.io/hostname}
    Evidence: kubernetes-sigs/kueue#3211
    """
    for role in job.roles:
        level = role.pod_tree.get("metadata", "annotations", REQUIRED_TOPOLOGY)
        number = role.count * sum(each.gpus for each in job.containers if each.role is role and not each.is_init)
        if level and text(level) == HOSTNAME and role.count > 1 and number > _USUAL:
            message = f"{role.count} pods with {number} GPUs each must fit on one host"
            yield Finding(level, message, "require a wider level, or prefer this one", severity="warning" if number > _MOST else "info")


def unknown_topology_level(job: LintedJob) -> Iterator[Finding]:
    """The job asks for a topology level that none of the files' Topologies has.

    Why: Kueue finds no place of a level that it does not know, and does not admit the job.
    Instead: name a level of the Topology that the queue's flavor refers to.
    Before: annotations: {kueue.x-k8s.io/podset-required-topology: cloud/rack}
    After: annotations: {kueue.x-k8s.io/podset-required-topology: cloud.provider.com/topology-rack}
    Evidence: https://kueue.sigs.k8s.io/docs/concepts/topology_aware_scheduling/
    """
    said = [role.pod_tree.get("metadata", "annotations", name) for role in job.roles for name in _LEVELS]
    asked = [each for each in said if each]
    topologies = job.documents.of_kind(_TOPOLOGY) if asked else ()
    known = sorted({str(value_at(level, ("nodeLabel",))) for each in topologies for _, level in items_at(each.data, ("spec", "levels"))})
    for level in asked if known else ():
        if text(level) not in known:
            yield Finding(level, f"no Topology in the files has the level `{text(level)}`", f"the levels are {', '.join(known)}")


RULES = (
    Rule(topology_too_narrow, "info", reads=[REQUIRED_TOPOLOGY]),
    Rule(unknown_topology_level, "warning", reads=_LEVELS),
)
