"""Review a pod or a claim by the server's admission plugins, in the order in which it asks them.

Follows `AllOrderedPlugins`, k8s.io/kubernetes pkg/kubeapiserver/options, 1.36: all fill in first, and then all validate.
"""

from __future__ import annotations

from jobspec.apis import kinds
from jobspec.apis.releases import is_at_least
from jobspec.diagnostics.diagnostic import Diagnostic
from jobspec.diagnostics.places import Data
from jobspec.diagnostics.problems import Problem, Problems
from jobspec.diagnostics.record import Record
from jobspec.go.codec import decode_as_go
from jobspec.go.values import mapping
from jobspec.kubernetes.admission.objects import CONTAINERS, EVERYWHERE, Reference, containers, references
from jobspec.kubernetes.index import Index
from jobspec.kubernetes.problems import closest
from jobspec.kubernetes.verdict import AdmissionAnswer
from jobspec.schemas import shapes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from jobspec.apis.kinds import Name
    from jobspec.apis.releases import Target
    from jobspec.diagnostics.diagnostic import Severity
    from jobspec.documents.document import Document


class PodReview(Record):
    """The plugins' answer to a pod, and the pod as the plugins leave it."""

    pod: Data
    """With what the plugins filled in: requests and limits by LimitRange, priority, overhead, account."""
    refusals: Sequence[Problem]
    """Why the server refuses it; the server reports the first alone. Paths are those of the pod as it was given."""
    warnings: Sequence[Problem]
    """What the server warns of, where it refuses nothing."""
    waits: Sequence[Problem] = ()
    """What the accepted pod would wait for, forever."""


def review_pod(pod: Data, namespace: str, objects: Index, target: Target) -> PodReview:
    """The answer of the plugins to a new pod, whose structure the server accepts."""
    from jobspec.kubernetes.admission.classes import with_account, with_priority, with_runtime_class
    from jobspec.kubernetes.admission.limits import limit_problems, problems_of_defaults, with_limit_defaults
    from jobspec.kubernetes.pods.defaults import filled_in_containers
    from jobspec.kubernetes.pods.resources import filled_in, with_resources

    shape = shapes.load("v1", "Pod", target)
    assert shape
    typed = decode_as_go(pod, shape)
    release = target["kubernetes"]
    is_filled_last = is_at_least(release, "1.37")
    decoded = {**typed, "spec": (filled_in_containers if is_filled_last else filled_in)(typed.get("spec") or {}, release)}
    accounted, by_account = with_account(with_limit_defaults(decoded, namespace, objects), namespace, objects)
    ranked, by_priority = with_priority(accounted, objects)
    filled, by_class = with_runtime_class(ranked, objects)
    if is_filled_last:
        filled = {**filled, "spec": with_resources(filled["spec"], release)}
    refusals, warned = [*by_account, *by_priority, *by_class], list[Problem]()
    if objects.in_namespace(kinds.LIMIT_RANGE, namespace):
        refusals += [*problems_of_defaults(decoded, filled, target, namespace, objects), *limit_problems(filled, namespace, objects)]
    if labels := objects.labels(namespace):
        from jobspec.kubernetes.admission.pod_security import pod_security_problems

        by_labels, warned = pod_security_problems(filled, namespace, labels, release)
        refusals += by_labels
    if objects.in_namespace(kinds.RESOURCE_QUOTA, namespace):
        from jobspec.kubernetes.admission.quotas import quota_problems

        refusals += quota_problems(filled, namespace, objects)
    return PodReview(filled, refusals, [] if refusals else warned, list(_waits(filled, namespace, objects)))


def filled_pod(pod: Data, namespace: str, objects: Index, target: Target) -> Data:
    """Return a pod with the defaults of its type and with the fields that plugins fill in.

    It is the pod as policies in CEL see it.
    """
    return {**pod, "spec": {**pod.get("spec", {}), **review_pod(pod, namespace, objects, target).pod["spec"]}}


# The plugins' answer to a document: the problems of its pod, claim or labels as diagnostics, and the objects that were looked up.


def answer(document: Document, target: Target, policies: Index, *, old: Document | None = None) -> AdmissionAnswer:
    """The plugins' answer to an accepted document, as an update of *old* where there is one."""
    if document.group_kind == kinds.POD:
        return _to_pod(document, target, policies, old)
    if document.group_kind == kinds.PERSISTENT_VOLUME_CLAIM:
        return _to_claim(document, policies, old)
    if document.group_kind == kinds.NAMESPACE:
        return AdmissionAnswer(list(_of_labels(document, old)))

    path, labels = kinds.POD_TEMPLATES[document.group_kind], policies.labels(document.namespace)
    template = mapping(document.data, *path)
    if not template or not labels:
        return AdmissionAnswer([])
    from jobspec.kubernetes.admission.pod_security import template_warnings

    found = template_warnings(template, path, document.namespace, labels, target["kubernetes"])
    return AdmissionAnswer(_diagnostics(document, found, "warning"))


def _to_pod(document: Document, target: Target, policies: Index, old: Document | None) -> AdmissionAnswer:
    review = review_pod(document.data, document.namespace, policies, target)
    refusals = review.refusals if old is None else _of_update(document.data, old.data, review.refusals)
    warnings = [*review.warnings, *review.waits] if old is None else []
    wanted = _looked_up(document.data, document.namespace, is_closed=policies.complete.every)
    return AdmissionAnswer([*_diagnostics(document, refusals, "error"), *_diagnostics(document, warnings, "warning")], list(wanted))


def _of_update(pod: Data, old: Data, refusals: Iterable[Problem]) -> list[Problem]:
    """Return the refusals that the server repeats on an update.

    These are the ones of Pod Security, if an image changes, since nothing else of them can change.
    """
    before, after = ([each.get("image") for _, each in containers(mapping(data, "spec"), CONTAINERS)] for data in (old, pod))
    return [each for each in refusals if each.rule == "pod-security"] if after != before else []


def _looked_up(pod: Data, namespace: str, *, is_closed: bool) -> Iterator[Name]:
    """Yield the objects that the plugins look up for a pod, except those about its namespace.

    An empty name stands for all objects of a kind.
    """
    from jobspec.kubernetes.admission.classes import account_of

    spec = mapping(pod, "spec")
    yield kinds.PRIORITY_CLASS, "", ""
    yield kinds.SERVICE_ACCOUNT, namespace, account_of(spec)
    if spec.get("runtimeClassName"):
        yield kinds.RUNTIME_CLASS, "", spec["runtimeClassName"]
    if is_closed:
        yield from ((each.kind, namespace, each.name) for each in references(spec))


def _to_claim(document: Document, policies: Index, old: Document | None) -> AdmissionAnswer:
    found: list[Problem] = []
    if policies.in_namespace(kinds.LIMIT_RANGE, document.namespace):
        from jobspec.kubernetes.admission.limits import claim_limit_problems

        found += claim_limit_problems(document.data, document.namespace, policies)
    if old is None and policies.in_namespace(kinds.RESOURCE_QUOTA, document.namespace):
        from jobspec.kubernetes.admission.quotas import claim_quota_problems

        found += claim_quota_problems(document.data, document.namespace, policies)
    return AdmissionAnswer(_diagnostics(document, found, "error"))


def _of_labels(document: Document, old: Document | None) -> Iterator[Diagnostic]:
    """Yield the problems of a namespace's labels.

    If an update has the same problems as the stored namespace, there are none.
    """
    from jobspec.kubernetes.admission.pod_security import label_problems

    found, before = (list(label_problems(mapping(each.data, "metadata", "labels"))) if each else [] for each in (document, old))
    if {(each.path, each.message) for each in found} != {(each.path, each.message) for each in before}:
        yield from _diagnostics(document, found, "error")


def _diagnostics(document: Document, problems: Iterable[Problem], severity: Severity) -> list[Diagnostic]:
    return [document.problem(each.rule, each.message, each.path, hint=each.hint, severity=severity) for each in problems]


# What an accepted pod waits for, forever: a claim, ConfigMap or Secret that does not exist, or a key that it does not have.


def _waits(pod: Data, namespace: str, objects: Index) -> Problems:
    """Yield the missing objects that the pod needs, in a closed world."""
    for each in references(mapping(pod, "spec")) if objects.complete.every else ():
        if each.is_optional:
            continue
        found = objects.find(each.kind, namespace, each.name)
        if found is not None:
            yield from _missing_key_problems(each, found)
        elif each.name != EVERYWHERE:
            yield _missing(each, namespace, objects)


def _missing(reference: Reference, namespace: str, objects: Index) -> Problem:
    kind = reference.kind[1]
    what = "is never scheduled" if reference.kind == kinds.PERSISTENT_VOLUME_CLAIM else "never starts its containers"
    message = f"no {kind} `{reference.name}` in the namespace of the pod: it {what}"
    hint = closest(reference.name, objects.names(reference.kind, namespace)) or "pass its file, too"
    return Problem("pod-waits", reference.path, message, hint)


def _missing_key_problems(reference: Reference, found: Data) -> Problems:
    known = {key for field in ("data", "stringData", "binaryData") for key in mapping(found, field)}
    for key, path in reference.keys:
        if key not in known and kinds.ANY not in known:
            message = f"{reference.kind[1]} `{reference.name}` has no key `{key}`: the containers never start"
            yield Problem("pod-waits", path, message, closest(key, known))
