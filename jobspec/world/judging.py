"""Judge documents in a world: by the API server's checks, its plugins, policies, and the operators' webhooks."""

from __future__ import annotations

import jobspec.apis.kinds as kinds
from jobspec.apis.releases import QUEUES
from jobspec.diagnostics.diagnostic import Diagnostic, has_error
from jobspec.documents.document import Document
from jobspec.kubernetes.verdict import Verdict, verdict
from jobspec.operators.webhooks import Objects
from jobspec.operators.workloads import is_workload
from jobspec.world.alike_results import AlikeResults, SameResults
from jobspec.world.judged import Judged
from jobspec.world.webhooks import by_queues, by_webhooks

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Container, Sequence

    from jobspec.kubernetes.index import Index
    from jobspec.world.world import Cluster


def judge(
    documents: Sequence[Document], cluster: Cluster, *, broken: Container[int | None] = (), skip_unknown: bool = False
) -> list[Judged]:
    """Judge each document of a file. Decoding has found an error in those with a *broken* index.

    *skip_unknown*: the problem of an unknown kind is not wanted, unless one of ours was probably meant.
    What refers to others is reviewed last, since only accepted objects can be referred to.
    """
    judged = [
        _of_configuration(each, documents)
        if each.group_kind == kinds.QUEUE_CONFIGURATION
        else _by_server(each, cluster, broken=each.index in broken, skip_unknown=skip_unknown)
        for each in documents
    ]
    if cluster.has_policies or any(each.group_kind in kinds.ADMISSION_POLICIES for each in documents):
        objects = objects_for(judged, cluster)
        policies = policies_for(objects, cluster)
        return [reviewed(each, objects, cluster, policies) for each in judged]
    if not any(_is_reviewed(each, cluster) for each in judged):
        return judged
    judged = [each if _refers(each) else reviewed(each, Objects(), cluster) for each in judged]
    if not any(map(_refers, judged)):
        return judged
    objects = objects_for(judged, cluster)
    policies = policies_for(objects, cluster) if any(each.document.group_kind in kinds.PLUGIN_REVIEWED for each in judged) else None
    return [reviewed(each, objects, cluster, policies) if _refers(each) else each for each in judged]


def _is_reviewed(judged: Judged, cluster: Cluster) -> bool:
    """Whether webhooks or plugins look at a document."""
    kind = judged.document.group_kind
    return kind in kinds.PLUGIN_REVIEWED or (cluster.webhooks and (judged.status == "valid" or kind in kinds.WEBHOOK_LOOKUPS))


def _refers(judged: Judged) -> bool:
    """Whether the diagnostics of a document depend on other documents."""
    kind = judged.document.group_kind
    return kind == kinds.TRAINJOB or (kind in kinds.PLUGIN_REVIEWED and kind != kinds.NAMESPACE)


def objects_for(judged: Sequence[Judged], cluster: Cluster) -> Objects:
    """Return the objects that webhooks and plugins can look up: the file's and the cluster's."""
    accepted = [each.seen for each in judged if each.can_be_looked_up]
    refused = [each.document for each in judged if not each.can_be_looked_up]
    elsewhere = cluster.lookups if cluster.objects else ()
    return Objects(accepted, elsewhere, refused=refused, complete=cluster.complete)


def policies_for(objects: Objects, cluster: Cluster) -> Index | None:
    """Index a cluster and the objects of a file. If there is no object, return None."""
    others = (*objects.elsewhere[len(cluster.lookups) :], *objects.in_file)
    if not (others or cluster.objects or cluster.around):
        return None
    from jobspec.kubernetes.index import data_of

    return cluster.index.with_others(data_of(others)) if others else cluster.index


def _verdict(document: Document, cluster: Cluster, old: Document | None, *, skip_unknown: bool) -> Verdict:
    """Return the server's verdict on a document.

    If it holds for others of the same data, or for jobs that are alike, it is kept for them.
    """
    if not old and is_workload(document) and not (cluster.custom_kinds and cluster.custom_kinds.defines(document)):
        sound = cluster.once("sound jobs", AlikeResults)
        found: Verdict | None = sound.of(document)
        if found is None:
            found = verdict(document, cluster.target)
            if _holds_for_alike(found, document):
                sound.keep(document, found.changed(diagnostics=[]))
        elif found.problems:
            found = found.placed_in(document)
        return found
    if old:
        return verdict(document, cluster.target, custom_kinds=cluster.custom_kinds, old=old, skip_unknown=skip_unknown)
    others = cluster.custom_kinds
    crds = others.crds_for(document, lambda crd: verdict(crd, cluster.target).diagnostics) if others else ()
    known, by = cluster.once("verdicts", SameResults), tuple(map(id, crds))
    found = known.of(document, by)
    if found is None:
        found = verdict(document, cluster.target, custom_kinds=others, skip_unknown=skip_unknown)
        if not found.diagnostics and found.status != "unknown":
            known.keep(document, found, by)
    return found


def _holds_for_alike(found: Verdict, document: Document) -> bool:
    """Whether documents that are alike have the same problems: none of them is about the name, or says it."""
    if len(found.problems) != len(found.diagnostics):
        return False
    return not any(each.path[:1] in ((), ("metadata",)) or (document.name and document.name in repr(each)) for each in found.problems)


def can_be_looked_up(document: Document, cluster: Cluster) -> bool:
    """True if the server's own checks accept a document that webhooks or policies look up."""
    return _by_server(document, cluster).can_be_looked_up


def _by_server(document: Document, cluster: Cluster, *, broken: bool = False, skip_unknown: bool = False) -> Judged:
    """The judgement by the server's own checks alone, on what a mutating webhook leaves of the document."""
    if document.group_kind == kinds.QUEUE_CONFIGURATION:
        return _of_configuration(document, ())
    old = cluster.stored.of(document) if cluster.stored else None
    if cluster.later and (unknown := _of_later_release(document, cluster)):
        return Judged(document, unknown, old=old)
    seen = document
    found = _verdict(document, cluster, old, skip_unknown=skip_unknown)
    can_break = document.group_kind in (kinds.JOBSET, kinds.LEADER_WORKER_SET) or QUEUES in cluster.target
    if cluster.webhooks and (found.status == "invalid" or can_break):
        from jobspec.operators.mutation import is_rewritten, rewritten, with_kept_defaults

        is_written = is_rewritten(document, cluster.target, old=old)
        seen = rewritten(document, cluster.target) if is_written else with_kept_defaults(document, old)
        if seen is not document:
            found = verdict(seen, cluster.target, custom_kinds=cluster.custom_kinds, old=old)
    if document.group_kind[0] in kinds.POLICY_ENGINES:
        from jobspec.world.policies import of_other_engine

        unread = of_other_engine(document)
        found = found.changed(diagnostics=[*found.diagnostics, unread]) if unread else found
    return Judged(document, found.changed(status="invalid") if broken and found.status != "unknown" else found, seen=seen, old=old)


def _of_configuration(document: Document, beside: Sequence[Document]) -> Judged:
    """The judgement on Kueue's own configuration, which no server stores, *beside* other documents of its file."""
    from jobspec.operators.kueue.configuration import configuration_problems, knows_version

    problems = list(configuration_problems(document, beside)) if knows_version(document) else []
    return Judged(document, Verdict("partly", problems), old=None)


def _of_later_release(document: Document, cluster: Cluster) -> Verdict | None:
    """The verdict on a kind of an operator's release that came after all known ones, where no CRD defines it; None for other kinds."""
    kind = kinds.find(document.api_version, document.kind)
    component = kind.component if kind else ""
    if component not in cluster.later or (cluster.custom_kinds and cluster.custom_kinds.defines(document)):
        return None
    release = f"{component} {cluster.later[component]}"
    message = f"jobspec does not know {release}, and no CRD in --crd defines {document.kind}"
    problem = document.problem("unknown-kind", message, ("kind",), hint=f"give the CRD of {release}, too")
    return Verdict("invalid", [problem])


def reviewed(judged: Judged, objects: Objects, cluster: Cluster, policies: Index | None = None) -> Judged:
    """Add what the server's plugins or the webhooks say of a document that the server accepts.

    *policies*: those among the objects.
    """
    said: Sequence[Diagnostic] = ()
    judged = judged.before or judged
    if policies and policies.change_objects:
        from jobspec.world.policies import changed_by_policies

        judged, said = changed_by_policies(judged, policies, cluster)
    if judged.by_server.status not in ("valid", "partly") or (said and has_error(said)):
        return judged.reviewed(said) if said else judged
    if judged.document.group_kind in kinds.PLUGIN_REVIEWED:
        judged = _by_plugins(judged, policies, cluster)
        if judged.document.group_kind in (kinds.JOB, kinds.POD) and cluster.webhooks and QUEUES in cluster.target:
            judged = by_queues(judged, objects, cluster, policies)
    elif judged.document.group_kind in kinds.ADMISSION_POLICIES:
        from jobspec.world.policies import policy_itself

        judged = policy_itself(judged, policies, cluster)
    elif cluster.webhooks:
        judged = by_webhooks(judged, objects, cluster)
    if policies and policies.have_policies:
        from jobspec.world.policies import by_policies

        judged = by_policies(judged, policies, cluster)
    return judged.reviewed([*said, *judged.by_webhooks], judged.wanted) if said else judged


def _by_plugins(judged: Judged, policies: Index | None, cluster: Cluster) -> Judged:
    """The judgement with what the server's own plugins say, and the objects that these look up."""
    document = judged.seen
    if cluster.custom_kinds and cluster.custom_kinds.defines(document):
        return judged
    namespace = document.namespace
    wanted = [(kinds.NAMESPACE, "", namespace), (kinds.LIMIT_RANGE, namespace, ""), (kinds.RESOURCE_QUOTA, namespace, "")]
    if policies is None and document.group_kind not in (kinds.POD, kinds.NAMESPACE):
        return judged.reviewed((), wanted)
    from jobspec.kubernetes.admission.review import answer
    from jobspec.kubernetes.index import Index

    found = answer(document, cluster.target, policies or Index(complete=cluster.complete), old=judged.old)
    return judged.reviewed(found.diagnostics, [*wanted, *found.wanted])
