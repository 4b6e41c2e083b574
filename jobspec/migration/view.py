"""A job as its pods show it: what their programs see, what the scheduler and the kubelet see, and how the job lives."""

from __future__ import annotations

from jobspec import kinds
from jobspec.documents.marked_tree import items, text
from jobspec.migration.facts import Fact, differences
from jobspec.migration.life import life_facts
from jobspec.migration.nodes import Hosts, nodes_of
from jobspec.migration.placement import pod_facts
from jobspec.migration.program import Side
from jobspec.migration.selectors import selector_facts
from jobspec.operators.api_defaults import with_api_defaults
from jobspec.operators.expansion import expand
from jobspec.workloads import released

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from jobspec.diagnostics import Diagnostic
    from jobspec.documents.document import Document
    from jobspec.documents.marked_tree import MarkedTree
    from jobspec.migration.facts import Difference, Key
    from jobspec.migration.nodes import JobNode
    from jobspec.targets import Target

JOBSET = "jobset"
"""The subject of facts about the JobSet."""


class JobFacts:
    """The facts of one job, and why operators cannot create some of its objects."""

    __slots__ = ("facts", "nodes", "objects", "refusals")

    def __init__(self, facts: dict[Key, Fact], objects: Sequence[MarkedTree], refusals: Sequence[Diagnostic], nodes: int) -> None:
        self.facts = facts
        self.objects = objects
        """The objects that operators make of it, without what the server fills in."""
        self.refusals = refusals
        self.nodes = nodes
        """How many pods train."""


def view(job: Document, beside: Sequence[Document], target: Target, *, gang_scheduler: str = "") -> JobFacts:
    """The facts of a job that a server accepts. *beside*: what it may refer to, such as runtimes and priority classes."""
    expansion = expand(released(job), beside, target, gang_scheduler=gang_scheduler)
    objects = with_api_defaults(expansion.objects, beside, target)
    nodes = nodes_of(objects, job.group_kind)
    training = sum(each.training is not None for each in nodes)
    operator = "training-operator" if job.group_kind == kinds.PYTORCHJOB else "trainer"
    groups = [text(each, "metadata", "name") for each in objects if text(each, "kind") == "PodGroup"]
    side = Side(Hosts(nodes), operator, training, groups)
    facts = dict(fact for node in nodes for fact in pod_facts(node, side))
    facts |= dict(fact for node in nodes for fact in selector_facts(node, nodes))
    facts |= dict(life_facts(job, objects, nodes))
    facts |= dict(_facts_beside_pods(objects, nodes, side))
    return JobFacts(facts, expansion.objects, expansion.diagnostics, training)


def compared(before: JobFacts, after: JobFacts) -> list[Difference]:
    """What differs between two jobs; a JobSet, which a PyTorchJob has none of, is compared with another one."""
    found = differences(before.facts, after.facts)
    has_jobset = any(text(each, "kind") == "JobSet" for each in before.objects)
    return [each for each in found if has_jobset or each.key[0] != JOBSET]


def _facts_beside_pods(objects: Sequence[MarkedTree], nodes: Sequence[JobNode], side: Side) -> Iterator[tuple[Key, Fact]]:
    """The metadata of the JobSet, by which queues and others find it, and the files that the operator makes for the pods."""
    volumes = [each for node in nodes for each in items(node.pod.tree.get("spec", "volumes"))]
    mounted = {text(each, "configMap", "name") for each in volumes}
    for each in objects:
        if text(each, "kind") == "JobSet":
            for field in ("labels", "annotations"):
                for name, value in each.value["metadata"].entries(field):
                    yield (JOBSET, field, name), Fact(value.value, value.place())
        elif text(each, "kind") == "ConfigMap" and text(each, "metadata", "name") in mounted:
            for name, value in each.entries("data"):
                yield ("job", "files", name), Fact(side.hosts.in_text(str(value.value)), value.place())
