"""Ask the admission policies of a world about a document."""

from __future__ import annotations

import jobspec.apis.kinds as kinds
from jobspec.diagnostics.diagnostic import Diagnostic
from jobspec.documents.document import Document
from jobspec.kubernetes.verdict import verdict
from jobspec.world.judged import Judged

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from jobspec.apis.kinds import GroupKind
    from jobspec.diagnostics.places import Data
    from jobspec.kubernetes.admission.policies import Decision, Request
    from jobspec.kubernetes.index import Index
    from jobspec.schemas.shapes import Shape
    from jobspec.world.world import Cluster


def parameters_in(documents: Iterable[Document], policies: Sequence[Document]) -> list[Document]:
    """The documents of a kind that policies have for parameters."""
    from jobspec.kubernetes.admission.objects import parameter_kinds

    wanted = parameter_kinds(policies)
    return [each for each in documents if each.group_kind in wanted and not each.is_held]


_REFUSE_NOTHING = ("Cleanup", "ClusterCleanup", "Deleting", "NamespacedDeleting", "Generating", "NamespacedGenerating")


def of_other_engine(document: Document) -> Diagnostic | None:
    """What is said of a policy that jobspec does not evaluate; None of other kinds of its engine."""
    engine, kind = kinds.POLICY_ENGINES[document.group_kind[0]], document.kind
    is_policy = engine == "Gatekeeper" or (kind.endswith("Policy") and kind.removesuffix("Policy") not in _REFUSE_NOTHING)
    if not is_policy or document.group_kind == kinds.KYVERNO_POLICY:
        return None
    message = f"jobspec does not evaluate {kind}: what {engine} refuses or changes by it is not known"
    hint = "those that it evaluates: ValidatingAdmissionPolicy, MutatingAdmissionPolicy, and Kyverno's ValidatingPolicy"
    return document.problem("policy-not-evaluated", message, ("kind",), hint=hint, severity="info")


def changed_by_policies(judged: Judged, policies: Index, cluster: Cluster) -> tuple[Judged, list[Diagnostic]]:
    """The judgement of a document after mutating policies changed it, and their own refusals."""
    document = judged.document
    if not _is_sent(document) or not _can_be_changed(judged, cluster):
        return judged, []
    from jobspec.operators.policies import changed_manifest

    if judged.old and cluster.stored and not cluster.stored.is_live:
        judged = _applied(judged, judged.old, policies, cluster)
    request = _request(judged, policies, cluster, kinds.MUTATING_POLICY)
    if request is None:
        return judged, []
    custom = cluster.custom_kinds.shape(document) if cluster.custom_kinds else None
    found = changed_manifest(judged.seen, request, policies, cluster.target, custom)
    said = [_of_decision(document, each) for each in found.decisions]
    if not found.policies:
        return judged, said
    seen = judged.seen.changed(found.tree.data())
    by_server = verdict(seen, cluster.target, custom_kinds=cluster.custom_kinds, old=judged.old)
    known = {(each.rule, each.field) for each in judged.by_server.diagnostics}
    hint = f"as {' and '.join(f'policy `{each}`' for each in found.policies)} {'change' if found.policies[1:] else 'changes'} it"
    diagnostics = [each if (each.rule, each.field) in known else each.with_hint(each.hint or hint) for each in by_server.diagnostics]
    return Judged(document, by_server.changed(diagnostics=diagnostics), seen=seen, old=judged.old, before=judged), said


def made_by_policies(document: Document, policies: Index, cluster: Cluster) -> Data:
    """Return the data that policies make of a new document."""
    from jobspec.kubernetes.verdict import Verdict
    from jobspec.operators.policies import changed_manifest

    new = Judged(document, Verdict("valid", []), old=None)
    request = _request(new, policies, cluster, kinds.MUTATING_POLICY)
    made: Data = document.data
    if request:
        custom = cluster.custom_kinds.shape(document) if cluster.custom_kinds else None
        found = changed_manifest(document, request, policies, cluster.target, custom)
        made = found.tree.data() if found.policies else made
    return made


def _applied(judged: Judged, old: Document, policies: Index, cluster: Cluster) -> Judged:
    """Return the judgement of an update of the object that policies made of *old*, as a server-side apply sends the update."""
    made = made_by_policies(old, policies, cluster)
    if made is old.data:
        return judged
    from jobspec.kubernetes.applying import applied
    from jobspec.schemas import shapes

    shape = shapes.load(old.api_version, old.kind, cluster.target)
    data = applied(made, old.data, judged.seen.data, shape, "server", is_builtin=False)
    return Judged(judged.document, judged.by_server, seen=judged.seen.changed(data), old=old.changed(made), before=judged.before)


def _can_be_changed(judged: Judged, cluster: Cluster) -> bool:
    """Whether a server asks policies about a document: it can decode it. Policies may fix what validation would refuse afterwards."""
    if judged.by_server.status in ("valid", "partly"):
        return True
    document, found = judged.document, judged.by_server.diagnostics
    known = kinds.find(document.api_version, document.kind)
    if judged.status != "invalid" or not found:
        return False
    if (known and not known.is_builtin) or (cluster.custom_kinds and cluster.custom_kinds.defines(document)):
        return all(each.rule in _BY_CRD for each in found)
    return all(each.rule not in _UNDECODABLE and each.stage != "decoding" for each in found)


#: Rules about custom resources that can be decoded: violations of the CRD's schema, and of what labels and the like may be.
_BY_CRD = (
    *("missing-field", "out-of-range", "wrong-size", "wrong-format", "unsupported-choice", "rule-broken", "duplicate-item"),
    "invalid-metadata",
)
#: What Go cannot decode to the type of a built-in kind.
_UNDECODABLE = ("unknown-field", "unknown-kind", "wrong-type")


def _is_sent(document: Document) -> bool:
    """Whether a document is an object for a server, other than a policy."""
    return not document.is_held and document.group_kind[0] not in ("jobspec.dev", kinds.VALIDATING_POLICY[0], kinds.KYVERNO_POLICY[0])


def _request(judged: Judged, policies: Index, cluster: Cluster, kind: GroupKind) -> Request | None:
    """The request by which a document is sent, as policies of a kind see it; None where none of them may be for it."""
    from jobspec.kubernetes.admission.policies import Request, concerned

    document, old = judged.document, judged.old
    written = Request(
        judged.seen.data,
        old.data if old else None,
        namespace=document.namespace,
        plural=cluster.custom_kinds.plural(document) if cluster.custom_kinds else "",
        equivalent_versions=_other_versions(document, cluster),
        converted=lambda data, version: _converted(data, version, document, cluster),
        shape_in=lambda version: _shape_in(version, document, cluster),
    )
    if not concerned(written, policies, kind):
        return None
    before = _as_admitted(old, judged, policies, cluster) if old else None
    return written._replace(object=_as_admitted(judged.seen, judged, policies, cluster), old=before)


def policy_itself(judged: Judged, policies: Index | None, cluster: Cluster) -> Judged:
    """The judgement of an admission policy or a binding, with warnings about what the server accepts and what has no effect."""
    document, kind = judged.document, judged.document.group_kind
    if kind == kinds.VALIDATING_POLICY:
        from jobspec.kubernetes.policy_kinds import type_warnings

        hint = "the server says so in `status.typeChecking` of the policy, and evaluates it all the same"
        works = "the server says so in `status.typeChecking`, since it sees no quantities there; the expression works all the same"
        return judged.reviewed(
            [
                document.problem("policy-type", why, path, hint=works if is_unseen else hint, severity="info" if is_unseen else "warning")
                for path, why, is_unseen in type_warnings(document.data, cluster.target)
            ]
        )
    if kind == kinds.KYVERNO_POLICY and not judged.can_be_looked_up:
        why = "it is not evaluated, since it does not fit the schema of its kind"
        return judged.reviewed([document.problem("policy-not-evaluated", why, ("metadata", "name"), severity="info")])
    if kind == kinds.KYVERNO_POLICY:
        from jobspec.kubernetes.admission.policies import unsaid_of_kyverno

        exceptions = policies is not None and any(policies.names((kind[0], "PolicyException"), each) for each in ("", document.namespace))
        unsaid = unsaid_of_kyverno(document.data, has_exceptions=exceptions)
        return judged.reviewed([document.problem("policy-not-evaluated", why, path, severity="info") for path, why in unsaid])
    if kind == kinds.MUTATING_POLICY:
        return judged
    policy, name = (kind[0], kind[1].removesuffix("Binding")), str(document.data["spec"]["policyName"])
    if policies and policies.find(policy, "", name):
        return judged.reviewed(())
    message = f"no {policy[1]} `{name}` among the given files: the binding does nothing"
    path, hint = ("spec", "policyName"), "" if cluster.complete.lack(policy, "") else "add the policy, or pass its file, too"
    wrong = document.problem("unresolved-reference", message, path, hint=hint, severity="warning")
    return judged.reviewed([wrong], [(policy, "", name)])


def by_policies(judged: Judged, policies: Index, cluster: Cluster) -> Judged:
    """The judgement with what policies say that are written in CEL."""
    document = judged.document
    if not _is_sent(document):
        return judged
    from jobspec.kubernetes.admission.policies import decisions

    request = _request(judged, policies, cluster, kinds.VALIDATING_POLICY)
    found = [_of_decision(document, each) for each in decisions(request, policies)] if request else []
    return judged.reviewed([*judged.by_webhooks, *found], judged.wanted)


def _as_admitted(document: Document, judged: Judged, policies: Index, cluster: Cluster) -> Data:
    """An object as policies see it: with the defaults of its type, and what the server's other plugins fill in."""
    from jobspec.operators.admitted import as_admitted

    custom = cluster.custom_kinds.shape(document) if cluster.custom_kinds else None
    data = as_admitted(document, cluster.target, custom)
    if judged.old is None:
        data.pop("status", None)
    if document.group_kind == kinds.POD and judged.old is None:
        from jobspec.kubernetes.admission.review import filled_pod

        data = filled_pod(data, document.namespace, policies, cluster.target)
    return data


def _other_versions(document: Document, cluster: Cluster) -> tuple[str, ...]:
    kind = kinds.find(document.api_version, document.kind)
    served = (cluster.custom_kinds and cluster.custom_kinds.versions(document)) or (kind.versions if kind else ())
    return tuple(each for each in served if each != document.api_version.rpartition("/")[2])


def _converted(data: Data, version: str, document: Document, cluster: Cluster) -> Data | None:
    """An object as another version of its kind has it; None where its operator's webhook converts it, or the server's Go code."""
    group = document.group_kind[0]
    if cluster.custom_kinds and cluster.custom_kinds.is_converted_by_name(document):
        return {**data, "apiVersion": f"{group}/{version}"}
    if group == kinds.QUEUE_GROUP:
        from jobspec.operators.kueue.versions import converted

        return converted(data, version)
    return None


def _shape_in(version: str, document: Document, cluster: Cluster) -> Shape | None:
    """The structure of a document's kind in another version; None where it is not known."""
    from jobspec.kubernetes.custom_kinds import CustomKind
    from jobspec.schemas import shapes

    there = document.changed({**document.data, "apiVersion": f"{document.group_kind[0]}/{version}"})
    if cluster.custom_kinds and cluster.custom_kinds.defines(document):
        found = cluster.custom_kinds.find(there, cluster.target, lambda _: ())
        return found.shape if isinstance(found, CustomKind) else None
    return shapes.load(there.api_version, there.kind, cluster.target)


def _of_decision(document: Document, decision: Decision) -> Diagnostic:
    rule = "refused-by-policy" if decision.is_evaluated else "policy-not-evaluated"
    path = decision.path or ("metadata", "name")
    return document.problem(rule, decision.sentence(), path, hint=decision.hint, severity=decision.severity)
