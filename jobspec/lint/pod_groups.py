"""Groups of plain pods that Kueue admits together.

Follows `validatePodGroupMetadata` of the reconciler, sigs.k8s.io/kueue pkg/controller/jobs/pod, 0.19.2. If the target has Kueue, its
webhook has looked at the pods before.
"""

from __future__ import annotations

from collections.abc import Iterator

from jobspec.apis.kinds import POD
from jobspec.apis.releases import QUEUES
from jobspec.diagnostics.places import Key
from jobspec.diagnostics.rules import Finding, Rule
from jobspec.go.values import mapping, string_map
from jobspec.lint.linted import LintedDocument
from jobspec.operators.kueue.keys import GROUP_COUNT
from jobspec.operators.kueue.pods import count_of, group_of, group_place, group_problems
from jobspec.operators.workloads import QUEUE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from jobspec.documents.document import Document


def incomplete_pod_group(document: LintedDocument) -> Iterator[Finding]:
    """A pod of a group does not say to Kueue what it needs to admit the group: its name, its number of pods, its queue.

    Why: Kueue's webhook refuses a pod that has the label of a group and no number of pods, or the number and no group. It admits no group
    whose pods give different numbers or queues: they stay gated for ever.
    Instead: the label `pod-group-name` and the annotation `pod-group-total-count`, the same at all pods of the group, as the queue is.
    Before: "labels: {kueue.x-k8s.io/queue-name: team-a, kueue.x-k8s.io/pod-group-name: tune}"
    After:
        labels: {kueue.x-k8s.io/queue-name: team-a, kueue.x-k8s.io/pod-group-name: tune}
        annotations: {kueue.x-k8s.io/pod-group-total-count: "2"}
    Evidence: `validatePodGroupMetadata` of sigs.k8s.io/kueue pkg/controller/jobs/pod, 0.19.2; kubernetes-sigs/kueue#1706
    """
    pod = document.given
    refused = [] if QUEUES in document.target and document.cluster.webhooks else list(group_problems(pod.data))
    yield from (each.changed(message=f"Kueue refuses the pod: {each.message}") for each in refused)
    name, count = group_of(pod.data), count_of(pod.data)
    if refused or not name or count is None:
        return
    other = next((each for each in document.documents.of_kind(POD) if _differs(document, each)), None)
    if other:
        theirs = count_of(other.data)
        said = f"`{other.name}` counts {theirs} pods" if theirs != count else f"`{other.name}` is in another queue"
        at = ("metadata", "annotations", Key(GROUP_COUNT)) if theirs != count else group_place(pod.data)
        yield Finding(at, f"never admitted by Kueue: of the same group, {said}", "write the same at all pods of the group")


def _differs(document: LintedDocument, other: Document) -> bool:
    """True if another pod of a group, applied with this one, gives another number or another queue."""
    pod, documents = document.given, document.documents
    is_of_group = other is not pod and group_of(other.data) == group_of(pod.data)
    if not is_of_group or not documents.are_together(other, pod) or not documents.are_applied_together(other, pod):
        return False
    count = count_of(other.data)
    return count is not None and (count != count_of(pod.data) or _queue_of(other) != _queue_of(pod))


def _queue_of(pod: Document) -> str:
    return string_map(mapping(pod.data, "metadata"), "labels").get(QUEUE, "")


RULES = (Rule(incomplete_pod_group, "warning", sees="document", of=[POD]),)
