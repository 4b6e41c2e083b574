"""Ask the operators' webhooks about a document."""

from __future__ import annotations

import jobspec.apis.kinds as kinds
from jobspec.apis import sibling_kinds
from jobspec.apis.releases import QUEUES, Target
from jobspec.diagnostics.rules import Rule
from jobspec.documents.document import Document
from jobspec.kubernetes.verdict import AdmissionAnswer, verdict
from jobspec.operators.webhooks import Objects, diagnostics, undecodable
from jobspec.operators.workloads import Workload, is_workload
from jobspec.world.alike_results import AlikeResults

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from jobspec.kubernetes.index import Index
    from jobspec.world.judged import Judged
    from jobspec.world.world import Cluster


def by_webhooks(judged: Judged, objects: Objects, cluster: Cluster) -> Judged:
    """The judgement with the webhooks' answer. They decode objects to the types of their own release, not to those of a CRD in `crds`."""
    seen, old = judged.seen, judged.old
    is_custom = cluster.custom_kinds is not None and cluster.custom_kinds.defines(seen)
    if is_custom or old:
        from jobspec.operators.mutation import as_decoded

        by_release = verdict(seen, cluster.target)
        old = old and as_decoded(old, cluster.target)
        if by_release.status != "valid":
            seen = as_decoded(seen, cluster.target)
            wrong = [] if is_custom else undecodable(by_release)
            if wrong or is_custom:
                return judged.reviewed(wrong, seen=seen, old=old)
    if judged.by_server.status != "valid":
        return judged.reviewed((), seen=seen, old=old)
    meets_none = old is None and is_workload(seen) and QUEUES not in cluster.target and not _looks_up(seen, objects)
    sound = cluster.once("sound for webhooks", AlikeResults)
    if meets_none and (wanted := sound.of(seen)) is not None:
        return judged.reviewed((), wanted, seen=seen)
    answer = review(seen, cluster.target, objects, old=old, given=(judged.document, judged.old))
    if meets_none and not answer.diagnostics:
        sound.keep(seen, answer.wanted)
    return judged.reviewed(answer.diagnostics, answer.wanted, seen=seen, old=old)


def by_queues(judged: Judged, objects: Objects, cluster: Cluster, index: Index | None) -> Judged:
    """Return the judgement with the answer of Kueue's webhook to a built-in kind. *index*: the objects that Kueue meets."""
    found, wanted = review(judged.document, cluster.target, objects, old=judged.old).diagnostics, judged.wanted
    if found and judged.document.group_kind == kinds.POD:
        from jobspec.operators.kueue.pods import decided_by, stands
        from jobspec.operators.kueue.world import queues_of

        namespace = judged.document.namespace
        wanted = [*wanted, *decided_by(namespace)]
        if index and index.have_queues:
            world = queues_of(index)
            found = [each for each in found if stands(each.rule, namespace, cluster.target, world)]
    return judged.reviewed([*judged.by_webhooks, *found], wanted)


def _looks_up(document: Document, objects: Objects) -> bool:
    """Whether a webhook may find one of some objects, such as a runtime, when it looks at a document."""
    given = (*objects.in_file, *objects.elsewhere, *objects.refused)
    return document.group_kind == kinds.TRAINJOB and any(each.group_kind in kinds.WEBHOOK_LOOKUPS for each in given)


def review(
    document: Document,
    target: Target,
    objects: Objects,
    *,
    old: Document | None = None,
    given: tuple[Document, Document | None] | None = None,
) -> AdmissionAnswer:
    """The webhooks' answer to a document, as an update of *old* where there is one; an empty answer for kinds without a webhook.

    *given*: the document and the stored object before webhooks have decoded and written them.
    """
    document, old = _with_spec(document), old and _with_spec(old)
    whole = given and (_with_spec(given[0]), given[1] and _with_spec(given[1]))
    answer = _of_own_operator(document, target, objects, old=old, given=whole)
    if QUEUES not in target and document.group_kind[0] != kinds.QUEUE_GROUP:
        return answer
    from jobspec.operators.kueue.webhook import objections

    return AdmissionAnswer([*answer.diagnostics, *objections(document, target, objects, old=old)], answer.wanted)


def _of_own_operator(
    document: Document, target: Target, objects: Objects, *, old: Document | None, given: tuple[Document, Document | None] | None
) -> AdmissionAnswer:
    """The answer of the webhook of the kind's own operator; empty for kinds without one."""
    if document.group_kind == kinds.TRAINJOB:
        from jobspec.operators.trainer.references import answer_to_trainjob

        return answer_to_trainjob(document, target, objects, old=old)
    RULES: Sequence[Rule]  # noqa: N806 (one of the lists)
    if document.group_kind == kinds.PYTORCHJOB:
        from jobspec.operators.training_operator.webhook import WEBHOOK_RULES as RULES
    elif document.group_kind in (kinds.TRAINING_RUNTIME, kinds.CLUSTER_TRAINING_RUNTIME):
        from jobspec.operators.trainer.runtime_rules import RUNTIME_RULES as RULES
    elif document.group_kind == kinds.JOBSET:
        from jobspec.operators.jobset.webhook import CREATE_RULES, UPDATE_RULES

        RULES = UPDATE_RULES if old else CREATE_RULES  # noqa: N806
    elif document.group_kind == kinds.LEADER_WORKER_SET:
        from jobspec.operators.lws import webhook as lws

        RULES = lws.UPDATE_RULES if old else lws.CREATE_RULES  # noqa: N806
    elif document.group_kind == kinds.DISAGGREGATED_SET:
        from jobspec.operators.lws.disaggregated import RULES
    elif sibling_kinds.find(document.api_version, document.kind):
        from jobspec.operators.training_operator.webhook import SIBLING_RULES

        RULES = SIBLING_RULES.get(document.kind, ())  # noqa: N806
    else:
        return AdmissionAnswer([])
    return AdmissionAnswer(diagnostics(RULES, Workload(document, old=old, given=given), target))


def _with_spec(document: Document) -> Document:
    """The document as Go decodes it: an absent `spec` is an empty one."""
    return document if document.data.get("spec") is not None else document.changed({**document.data, "spec": {}})
