"""Groups of plain pods that Kueue admits together.

Follows `validatePodGroupMetadata`, sigs.k8s.io/kueue pkg/controller/jobs/pod, of the webhook and of the reconciler, 0.19.
"""

from __future__ import annotations

from collections.abc import Iterator

from jobspec.apis.kinds import POD
from jobspec.diagnostics.places import Key
from jobspec.diagnostics.rules import Finding, Rule
from jobspec.go.values import mapping
from jobspec.lint.linted import LintedDocument
from jobspec.operators.workloads import QUEUE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from jobspec.diagnostics.places import Path
    from jobspec.documents.document import Document

_NAME, _COUNT = "kueue.x-k8s.io/pod-group-name", "kueue.x-k8s.io/pod-group-total-count"


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
    name, count = _name_of(pod), _annotations(pod).get(_COUNT)
    if not name and count is None:
        return
    if not name:
        yield Finding(_note(_COUNT), f"Kueue refuses the pod: it has a number of pods, and no label `{_NAME}`", f"add the label `{_NAME}`")
    elif count is None:
        where = "as a label, which Kueue does not read" if _COUNT in _labels(pod) else "missing"
        message = f"Kueue refuses the pod: the annotation `{_COUNT}` of its group is {where}"
        yield Finding(_label(_COUNT if _COUNT in _labels(pod) else _NAME), message, f"add the annotation `{_COUNT}`")
    elif not _is_number(str(count)):
        yield Finding(_note(_COUNT), f"Kueue refuses the pod: `{count}` is no number of pods", "write a whole number in quotes, 1 or more")
    elif other := next((each for each in document.documents.of_kind(POD) if _differs(document, each, name)), None):
        theirs = _annotations(other).get(_COUNT)
        said = f"`{other.name}` counts {theirs} pods" if theirs != count else f"`{other.name}` is in another queue"
        message = f"never admitted by Kueue: of the same group, {said}"
        yield Finding(_note(_COUNT) if theirs != count else _label(_NAME), message, "write the same at all pods of the group")


def _differs(document: LintedDocument, other: Document, name: str) -> bool:
    """True if another pod of a group, applied with this one, gives another number or another queue."""
    pod, documents = document.given, document.documents
    if other is pod or _name_of(other) != name or not documents.are_together(other, pod) or not documents.are_applied_together(other, pod):
        return False
    count = _annotations(other).get(_COUNT)
    same = count == _annotations(pod).get(_COUNT) and _labels(other).get(QUEUE) == _labels(pod).get(QUEUE)
    return not same and _is_number(str(count))


def _name_of(pod: Document) -> str:
    """Return the name of a pod's group, by its label, or by the annotation that a feature gate has Kueue read."""
    return str(_labels(pod).get(_NAME) or _annotations(pod).get(_NAME) or "")


def _is_number(text: str) -> bool:
    digits = text.removeprefix("+")
    return digits.isascii() and digits.isdigit() and int(digits) > 0


def _labels(pod: Document) -> dict[str, object]:
    return dict(mapping(pod.data, "metadata", "labels"))


def _annotations(pod: Document) -> dict[str, object]:
    return dict(mapping(pod.data, "metadata", "annotations"))


def _label(key: str) -> Path:
    return ("metadata", "labels", Key(key))


def _note(key: str) -> Path:
    return ("metadata", "annotations", Key(key))


RULES = (Rule(incomplete_pod_group, "warning", sees="document", of=[POD]),)
