"""The cluster that manifests meet, and what it says of them: its API server, that server's plugins, and the operators' webhooks."""

from __future__ import annotations

import jobspec.kinds as kinds
from jobspec.diagnostics import Diagnostic, JobspecError, Rule, grouped, has_error, lines_of
from jobspec.documents.document import Document
from jobspec.kubernetes.verdict import AdmissionAnswer, Verdict, verdict
from jobspec.operators.webhooks import Objects, as_decoded, diagnostics, is_rewritten, rewritten, undecodable
from jobspec.targets import CHOSEN, OPERATORS, QUEUES, Target, is_later, reported
from jobspec.targets import complete as completed
from jobspec.workloads import Workload

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Container, Iterable, Mapping, Sequence, Set
    from typing import Any, Literal, TypeVar

    from jobspec.diagnostics import Data
    from jobspec.documents.manifest import Manifest
    from jobspec.kinds import GroupKind, Name
    from jobspec.kubernetes.admission.objects import PolicyObjects
    from jobspec.kubernetes.admission.policies import Decision, Request
    from jobspec.kubernetes.custom_kinds import CustomKinds
    from jobspec.programs.command_lines import Contract
    from jobspec.schemas.shapes import Shape

    T = TypeVar("T")
    #: `unknown`: the document is not a manifest, or of a kind that jobspec does not know.
    Judgement = Literal["valid", "invalid", "partly", "unknown"]


class StoredObjects:
    """The stored objects that manifests update, by API version, kind, namespace and name."""

    __slots__ = ("_by_name",)

    def __init__(self, documents: Iterable[Document]) -> None:
        named = [each for each in documents if each.name]
        self._by_name = grouped(named, lambda each: (each.api_version, each.kind, each.name))

    def of(self, document: Document) -> Document | None:
        """The stored object that the document updates, None for a new object.

        If only one of them names a namespace, the other is taken to be in it, unless several stored objects have the name.
        """
        named = self._by_name.get((document.api_version, document.kind, document.name), [])
        exact = [each for each in named if each.namespace == document.namespace]
        loose = [each for each in named if not each.namespace or not document.namespace]
        return exact[-1] if exact else loose[0] if len(loose) == 1 else None


class Cluster:
    """What a manifest meets when it is sent."""

    __slots__ = ("_found", "complete", "contracts", "custom_kinds", "installed", "later", "objects", "stored", "target", "webhooks")

    def __init__(
        self,
        target: Mapping[str, str] | None = None,
        *,
        crds: Sequence[Manifest] = (),
        custom_kinds: CustomKinds | None = None,
        objects: Sequence[Manifest] = (),
        stored: StoredObjects | Sequence[Manifest] | None = None,
        webhooks: bool = True,
        closed: bool = False,
        complete: kinds.CompleteKinds = kinds.UNKNOWN,
        installed: Mapping[str, str | None] | None = None,
        contracts: Mapping[str, Contract] | None = None,
    ) -> None:
        """Raises JobspecError for an unknown release, and for *crds*, *objects* and *stored* that cannot be read."""
        asked = target or {}
        brings_crds = custom_kinds is not None or bool(crds)
        self.later = {each: asked[each] for each in OPERATORS if brings_crds and each in asked and is_later(each, asked[each])}
        """Releases that came after all known ones, by operator: their kinds are judged by *crds* alone, by the newest known webhooks."""
        self.target: Target = completed({each: release for each, release in asked.items() if each not in self.later})
        """The release of each component, as in `{"trainer": "2.2"}`; the newest where nothing is said."""
        self.custom_kinds = custom_kinds or (_custom_kinds(crds, self.target) if crds else None)
        """The kinds that *crds* define, by which objects are judged before our own schemas; None where there are none."""
        self.objects = _documents(objects, "<objects>")
        """Accepted objects that manifests may refer to, besides those in their own file and those that the operators ship."""
        self.stored = stored if stored is None or isinstance(stored, StoredObjects) else StoredObjects(_documents(stored, "<stored>"))
        """The objects that manifests update; None where all manifests are new objects."""
        self.webhooks = webhooks
        """Whether the operators' webhooks are asked."""
        self.complete = kinds.CompleteKinds(complete.pinned, every=True) if closed else complete
        """The kinds of which an object that is nowhere at hand does not exist: all of them where it is *closed*."""
        there = dict.fromkeys(OPERATORS) if installed is None else installed
        self.installed = {**there, QUEUES: self.target[QUEUES]} if QUEUES in self.target else there
        """What it has of operators, each with its release where that is known: all of them unless a pinned cluster says otherwise."""
        self.contracts: Mapping[str, Contract] = contracts or {}
        """Of images, by their names without tag and digest: the flags that their programs take."""
        self._found: dict[str, Any] = {}
        """What was looked for among the objects, of which a pinned cluster has thousands."""

    def __repr__(self) -> str:
        return f"<Cluster of {', '.join(' '.join(each) for each in self.releases.items())}>"

    @property
    def releases(self) -> dict[str, str]:
        """The releases that a report names."""
        return reported(self.target) | self.later

    @property
    def is_pinned(self) -> bool:
        """Whether it is that of a file, which has the shapes of its nodes."""
        return self.once("is_pinned", lambda: any(each.group_kind == kinds.CLUSTER for each in self.objects))

    @property
    def lookups(self) -> list[Document]:
        """Those of the objects that webhooks look up, such as runtimes."""
        return self.once("lookups", lambda: [each for each in self.objects if each.group_kind in kinds.WEBHOOK_LOOKUPS])

    @property
    def has_policies(self) -> bool:
        """Whether admission policies with rules in CEL are among the objects."""
        return bool(self.rules)

    @property
    def rules(self) -> list[Document]:
        """Those policies and their bindings."""
        return self.once("rules", lambda: [each for each in self.objects if each.group_kind in kinds.ADMISSION_POLICIES])

    @property
    def parameter_kinds(self) -> set[GroupKind]:
        """The kinds of which these policies have parameters."""
        from jobspec.kubernetes.admission.objects import parameter_kinds

        return self.once("parameter_kinds", lambda: parameter_kinds(self.rules))

    @property
    def policies(self) -> PolicyObjects:
        """The objects as plugins and policies look them up."""
        from jobspec.kubernetes.admission.objects import policies_of

        return self.once("policies", lambda: policies_of(self.objects, complete=self.complete))

    @property
    def policies_on_jobs(self) -> PolicyObjects | None:
        """The objects that decide on the pods of jobs, such as quotas; None without any."""
        from jobspec.kubernetes.admission.objects import policies_among

        return self.once("policies_on_jobs", lambda: policies_among(self.objects, None, complete=self.complete))

    def once(self, name: str, find: Callable[[], T]) -> T:
        """What *find* gives, called once for each name: a cache of look-ups among the objects."""
        if name not in self._found:
            self._found[name] = find()
        found: T = self._found[name]
        return found

    def for_bases(self) -> Cluster:
        """The cluster that bases of overlays are checked in: they are never sent, so no webhook sees them, and they update nothing."""
        return self._changed(stored=None, webhooks=False, contracts=None)

    def updating(self, stored: StoredObjects) -> Cluster:
        """The same cluster, where manifests are updates of these objects."""
        return self._changed(stored=stored)

    def with_releases(self, releases: Mapping[str, str]) -> Cluster:
        """The same cluster with other releases of some components; JobSet's is the trainer's own."""
        dropped = ("jobspec", "jobset") if "trainer" in releases else ("jobspec",)
        kept = {each: release for each, release in self.target.items() if each not in dropped}
        return self._changed(target={**kept, **self.later, **releases})

    def with_contracts(self, contracts: Mapping[str, Contract]) -> Cluster:
        """The same cluster, where more is known of images."""
        return self._changed(contracts=contracts)

    def with_objects(self, objects: Sequence[Document]) -> Cluster:
        """The same cluster with further objects in it."""
        return self._changed(objects=[*self.objects, *objects])

    def _changed(self, **changed: Any) -> Cluster:
        attributes = ("custom_kinds", "objects", "stored", "webhooks", "complete", "installed", "contracts")
        target = changed.get("target", {**self.target, **self.later} if self.later else self.target)
        return Cluster(target, **{each: changed[each] if each in changed else getattr(self, each) for each in attributes})


def releases_of(clusters: Collection[Cluster]) -> dict[str, str]:
    """The releases that a report about several clusters names: of a component, the different ones."""
    releases = [{**each.target, **each.later} for each in clusters]
    named = {component for each in clusters for component in each.releases}
    return {one: " and ".join(dict.fromkeys(each[one] for each in releases if one in each)) for one in CHOSEN if one in named}


def _documents(manifests: Sequence[Manifest], name: str) -> list[Document]:
    if not manifests:
        return []
    from jobspec.documents.manifest import documents_of

    return documents_of(manifests, name)


def _custom_kinds(crds: Sequence[Manifest], target: Target) -> CustomKinds:
    """The kinds that CRDs define. Raises JobspecError for CRDs that a server refuses."""
    documents = _documents(crds, "<crds>")
    from jobspec.kubernetes.custom_kinds import CustomKinds

    wrong = [each for document in documents for each in verdict(document, target).diagnostics if each.severity == "error"]
    if wrong:
        raise JobspecError(lines_of(wrong))
    return CustomKinds(documents)


# Judge documents in a cluster: by the API server's own checks, then by its plugins and the operators' webhooks.


#: The kinds that pods mount, and those that such objects are made of.
MOUNTED = frozenset((*kinds.MOUNTED_KINDS, *kinds.GENERATING_KINDS))
#: The kinds that jobs are judged by, though their schemas may not be at hand.
_TAKEN_AS_THEY_ARE = (*kinds.GENERATING_KINDS, *kinds.QUEUE_KINDS, kinds.QUEUE_CONFIGURATION)
#: The kinds that other documents can refer to.
_REFERRED = frozenset((*kinds.WEBHOOK_LOOKUPS, *kinds.POLICY_KINDS, *MOUNTED, *_TAKEN_AS_THEY_ARE))


class Judged:
    """A document, with the server's verdict and the diagnostics of the webhooks."""

    __slots__ = ("before", "by_server", "by_webhooks", "can_be_looked_up", "diagnostics", "document", "old", "seen", "status", "wanted")

    def __init__(
        self,
        document: Document,
        by_server: Verdict,
        *,
        seen: Document | None = None,
        old: Document | None,
        by_webhooks: Sequence[Diagnostic] = (),
        wanted: Sequence[Name] = (),
        before: Judged | None = None,
    ) -> None:
        self.document = document
        self.before = before
        """The judgement before policies changed the document; None where none did."""
        self.by_server = by_server
        self.seen = seen or document
        """The document that the validating webhooks see: rewritten by a mutating one, and as Go decodes what breaks its schema."""
        self.old = old
        """The stored object that the document updates; None for a new object."""
        self.by_webhooks = by_webhooks
        self.wanted = wanted
        """The objects that a webhook looks up and does not find in the same file."""
        self.status: Judgement = "invalid" if by_webhooks and has_error(by_webhooks) else by_server.status
        """The verdict of both."""
        self.diagnostics = [*by_server.diagnostics, *by_webhooks]
        kind, accepted = document.group_kind, self.status in ("valid", "partly")
        is_known = accepted or (kind in _TAKEN_AS_THEY_ARE and self.status == "unknown")
        fits = kind != kinds.KYVERNO_POLICY or not by_server.diagnostics  # which are warnings, since a cluster may have another release
        self.can_be_looked_up = is_known and kind in _REFERRED and fits and not document.is_held
        """Whether the document is an accepted object of a kind that webhooks or the server's own plugins look up."""

    def reviewed(
        self, diagnostics: Sequence[Diagnostic], wanted: Sequence[Name] = (), *, seen: Document | None = None, old: Document | None = None
    ) -> Judged:
        """The same with the diagnostics of plugins or webhooks, and with the documents that these see."""
        seen, old = seen or self.seen, old or self.old
        return Judged(self.document, self.by_server, seen=seen, old=old, by_webhooks=diagnostics, wanted=wanted, before=self.before)


def judge(
    documents: Sequence[Document], cluster: Cluster, *, broken: Container[int | None] = (), skip_unknown: bool = False
) -> list[Judged]:
    """The judgement of each document of a file; documents with a *broken* index are invalid, since decoding them found an error.

    *skip_unknown*: the problem of an unknown kind is not wanted, unless one of ours was probably meant.
    What refers to others is reviewed last, since only accepted objects can be referred to.
    """
    judged = [_by_server(each, cluster, broken=each.index in broken, skip_unknown=skip_unknown) for each in documents]
    if has_policies(documents) or cluster.has_policies:
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
    """The objects that webhooks and plugins can look up: those in the file of the judged documents, and the cluster's."""
    found = [each for each in judged if each.document.group_kind in _REFERRED]
    accepted = [each.seen for each in found if each.can_be_looked_up]
    if has_policies(accepted) or cluster.has_policies:
        others = [each.seen for each in judged if each.status != "invalid" and not each.can_be_looked_up]
        accepted += parameters_in(others, accepted, cluster.parameter_kinds)
    refused = [each.document for each in found if not each.can_be_looked_up]
    elsewhere = cluster.lookups if cluster.objects else ()
    return Objects(accepted, elsewhere, refused=refused, complete=cluster.complete)


def policies_for(objects: Objects, cluster: Cluster) -> PolicyObjects | None:
    """The objects that decide on pods and claims, and those that pods may wait for in a closed world; None without any."""
    if cluster.objects:
        from jobspec.kubernetes.admission.objects import data_of

        others = (*objects.elsewhere[len(cluster.lookups) :], *objects.in_file)
        return cluster.policies.with_others(data_of(others)) if others else cluster.policies
    found = (*objects.elsewhere, *objects.in_file)
    wanted = (*kinds.POLICY_KINDS, *kinds.MOUNTED_KINDS, *kinds.GENERATING_KINDS) if objects.complete.every else kinds.POLICY_KINDS
    if not any(each.group_kind in wanted for each in found):
        return None
    from jobspec.kubernetes.admission.objects import policies_of

    return policies_of(found, complete=objects.complete)


def has_policies(documents: Iterable[Document]) -> bool:
    """Whether admission policies with rules in CEL are among some documents, or bindings of such."""
    return any(each.group_kind in kinds.ADMISSION_POLICIES for each in documents)


def parameters_in(documents: Iterable[Document], policies: Sequence[Document], others: Set[GroupKind] = frozenset()) -> list[Document]:
    """The documents that are of a kind which policies have for parameters, or of one of *others*."""
    from jobspec.kubernetes.admission.objects import parameter_kinds

    wanted = parameter_kinds(policies) | others
    return [each for each in documents if each.group_kind in wanted and not each.is_held]


def _verdict(document: Document, cluster: Cluster, old: Document | None, *, skip_unknown: bool) -> Verdict:
    """The server's verdict on a document. One on data that several documents share is kept, where there is nothing to report."""
    if old or not document.is_shared:
        return verdict(document, cluster.target, custom_kinds=cluster.custom_kinds, old=old, skip_unknown=skip_unknown)
    none: dict[int, tuple[Any, Verdict]] = {}
    known = cluster.once("verdicts", lambda: none)
    data, found = known.get(id(document.data), (None, None))
    if found is None or data is not document.data:
        found = verdict(document, cluster.target, custom_kinds=cluster.custom_kinds, skip_unknown=skip_unknown)
        if not found.diagnostics and found.status != "unknown":
            known[id(document.data)] = document.data, found
    return found


def can_be_looked_up(document: Document, cluster: Cluster) -> bool:
    """Whether the server's own checks accept a document of a kind that webhooks, plugins or policies look up."""
    return _by_server(document, cluster).can_be_looked_up


def _by_server(document: Document, cluster: Cluster, *, broken: bool = False, skip_unknown: bool = False) -> Judged:
    """The judgement by the server's own checks alone, on what a mutating webhook leaves of the document."""
    old = cluster.stored.of(document) if cluster.stored else None
    if cluster.later and (unknown := _of_later_release(document, cluster)):
        return Judged(document, unknown, old=old)
    seen = document
    found = _verdict(document, cluster, old, skip_unknown=skip_unknown)
    if cluster.webhooks and (found.status == "invalid" or document.group_kind == kinds.JOBSET):
        seen = rewritten(document, cluster.target) if is_rewritten(document, cluster.target, old=old) else document
        if seen is not document:
            found = verdict(seen, cluster.target, custom_kinds=cluster.custom_kinds, old=old)
    if document.group_kind[0] in _POLICY_ENGINES and (unread := _of_other_engine(document)):
        found = Verdict(found.status, [*found.diagnostics, unread])
    return Judged(document, found.changed(status="invalid") if broken and found.status != "unknown" else found, seen=seen, old=old)


#: Groups of policies in other languages than the server's, each with its engine.
_POLICY_ENGINES = {"constraints.gatekeeper.sh": "Gatekeeper", "kyverno.io": "Kyverno", "policies.kyverno.io": "Kyverno"}
_REFUSE_NOTHING = ("Cleanup", "ClusterCleanup", "Deleting", "NamespacedDeleting", "Generating", "NamespacedGenerating")


def _of_other_engine(document: Document) -> Diagnostic | None:
    """What is said of a policy that jobspec does not evaluate; None of other kinds of its engine."""
    engine, kind = _POLICY_ENGINES[document.group_kind[0]], document.kind
    is_policy = engine == "Gatekeeper" or (kind.endswith("Policy") and kind.removesuffix("Policy") not in _REFUSE_NOTHING)
    if not is_policy or document.group_kind == kinds.KYVERNO_POLICY:
        return None
    message = f"jobspec does not evaluate {kind}: what {engine} refuses or changes by it is not known"
    hint = "those that it evaluates: ValidatingAdmissionPolicy, MutatingAdmissionPolicy, and Kyverno's ValidatingPolicy"
    return document.problem("policy-not-evaluated", message, ("kind",), hint=hint, severity="info")


def _of_later_release(document: Document, cluster: Cluster) -> Verdict | None:
    """The verdict on a kind of an operator's release that came after all known ones, where no CRD defines it; None for other kinds."""
    kind = kinds.find(document.api_version, document.kind)
    if not kind or kind.component not in cluster.later or (cluster.custom_kinds and cluster.custom_kinds.defines(document)):
        return None
    release = f"{kind.component} {cluster.later[kind.component]}"
    message = f"jobspec does not know {release}, and no CRD in --crd defines {document.kind}"
    problem = document.problem("unknown-kind", message, ("kind",), hint=f"give the CRD of {release}, too")
    return Verdict("invalid", [problem])


def reviewed(judged: Judged, objects: Objects, cluster: Cluster, policies: PolicyObjects | None = None) -> Judged:
    """The judgement with the diagnostics of the server's own plugins, or of the webhooks; they review only what the server accepts.

    *policies*: those among the objects.
    """
    said: Sequence[Diagnostic] = ()
    judged = judged.before or judged
    if policies and policies.change_objects:
        judged, said = _changed_by_policies(judged, policies, cluster)
    if judged.by_server.status not in ("valid", "partly") or (said and has_error(said)):
        return judged.reviewed(said) if said else judged
    if judged.document.group_kind in kinds.PLUGIN_REVIEWED:
        judged = _by_plugins(judged, policies, cluster)
        if judged.document.group_kind == kinds.JOB and cluster.webhooks and QUEUES in cluster.target:
            answer = review(judged.document, cluster.target, objects, old=judged.old)
            judged = judged.reviewed([*judged.by_webhooks, *answer.diagnostics], judged.wanted)
    elif judged.document.group_kind in kinds.ADMISSION_POLICIES:
        judged = _policy_itself(judged, policies, cluster)
    elif cluster.webhooks:
        judged = _by_webhooks(judged, objects, cluster)
    if policies and policies.have_policies:
        judged = _by_policies(judged, policies, cluster)
    return judged.reviewed([*said, *judged.by_webhooks], judged.wanted) if said else judged


def _changed_by_policies(judged: Judged, policies: PolicyObjects, cluster: Cluster) -> tuple[Judged, list[Diagnostic]]:
    """The judgement of a document after mutating policies changed it, and their own refusals."""
    document = judged.document
    if not _is_sent(document) or not _can_be_changed(judged, cluster):
        return judged, []
    from jobspec.operators.policies import changed_manifest

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
    return Judged(document, Verdict(by_server.status, diagnostics), seen=seen, old=judged.old, before=judged), said


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


def _request(judged: Judged, policies: PolicyObjects, cluster: Cluster, kind: GroupKind) -> Request | None:
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


def _policy_itself(judged: Judged, policies: PolicyObjects | None, cluster: Cluster) -> Judged:
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


def _by_plugins(judged: Judged, policies: PolicyObjects | None, cluster: Cluster) -> Judged:
    """The judgement with what the server's own plugins say, and the objects that these look up."""
    document = judged.seen
    if cluster.custom_kinds and cluster.custom_kinds.defines(document):
        return judged
    namespace = document.namespace
    wanted = [(kinds.NAMESPACE, "", namespace), (kinds.LIMIT_RANGE, namespace, ""), (kinds.RESOURCE_QUOTA, namespace, "")]
    if policies is None and document.group_kind not in (kinds.POD, kinds.NAMESPACE):
        return judged.reviewed((), wanted)
    from jobspec.kubernetes.admission.objects import PolicyObjects
    from jobspec.kubernetes.admission.review import answer

    found = answer(document, cluster.target, policies or PolicyObjects(complete=cluster.complete), old=judged.old)
    return judged.reviewed(found.diagnostics, [*wanted, *found.wanted])


def _by_webhooks(judged: Judged, objects: Objects, cluster: Cluster) -> Judged:
    """The judgement with the webhooks' answer. They decode objects to the types of their own release, not to those of a CRD in `crds`."""
    seen, old = judged.seen, judged.old
    if cluster.custom_kinds or old:
        by_release = verdict(seen, cluster.target)
        old = old and as_decoded(old, cluster.target)
        if by_release.status != "valid":
            seen = as_decoded(seen, cluster.target)
            wrong = [] if cluster.custom_kinds else undecodable(by_release)
            if wrong or cluster.custom_kinds:
                return judged.reviewed(wrong, seen=seen, old=old)
    if judged.by_server.status != "valid":
        return judged.reviewed((), seen=seen, old=old)
    answer = review(seen, cluster.target, objects, old=old)
    return judged.reviewed(answer.diagnostics, answer.wanted, seen=seen, old=old)


def _by_policies(judged: Judged, policies: PolicyObjects, cluster: Cluster) -> Judged:
    """The judgement with what policies say that are written in CEL."""
    document = judged.document
    if not _is_sent(document):
        return judged
    from jobspec.kubernetes.admission.policies import decisions

    request = _request(judged, policies, cluster, kinds.VALIDATING_POLICY)
    found = [_of_decision(document, each) for each in decisions(request, policies)] if request else []
    return judged.reviewed([*judged.by_webhooks, *found], judged.wanted)


def _as_admitted(document: Document, judged: Judged, policies: PolicyObjects, cluster: Cluster) -> Data:
    """An object as policies see it: with the defaults of its type, and what the server's other plugins fill in."""
    from jobspec.operators.api_defaults import as_admitted

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


def names_of(document: Document) -> list[Name]:
    """The names by which webhooks and plugins look up an object; the namespace is empty for kinds without one.

    What plugins take all of, such as the LimitRanges of a namespace, is looked up by an empty name, too.
    """
    kind = document.group_kind
    if kind in kinds.GENERATING_KINDS:
        from jobspec.kubernetes.admission.generated import generated_by

        made = [(each, each["metadata"]) for each in generated_by(document.data)]
        return [(("", each["kind"]), metadata["namespace"] or "", metadata["name"]) for each, metadata in made]
    namespace = "" if kinds.is_cluster_scoped(document.api_version, document.kind) else document.namespace
    every = [(kind, namespace, "")] if kind in (kinds.LIMIT_RANGE, kinds.RESOURCE_QUOTA, kinds.PRIORITY_CLASS) else []
    return [(kind, namespace, document.name), *every]


# Review a document by its operator's webhooks; the rules of a kind are loaded only for documents of that kind.


def review(document: Document, target: Target, objects: Objects, *, old: Document | None = None) -> AdmissionAnswer:
    """The webhooks' answer to a document, as an update of *old* where there is one; an empty answer for kinds without a webhook."""
    document, old = _with_spec(document), old and _with_spec(old)
    answer = _of_own_operator(document, target, objects, old=old)
    if QUEUES not in target and document.group_kind[0] != kinds.QUEUE_GROUP:
        return answer
    from jobspec.operators.kueue.webhook import objections

    return AdmissionAnswer([*answer.diagnostics, *objections(document, target, objects, old=old)], answer.wanted)


def _of_own_operator(document: Document, target: Target, objects: Objects, *, old: Document | None) -> AdmissionAnswer:
    """The answer of the webhook of the kind's own operator; empty for kinds without one."""
    if document.group_kind == kinds.TRAINJOB:
        from jobspec.operators.trainer.webhook import answer_to_trainjob

        return answer_to_trainjob(document, target, objects, old=old)
    RULES: Sequence[Rule]  # noqa: N806 (one of the lists)
    if document.group_kind == kinds.PYTORCHJOB:
        from jobspec.operators.training_operator.webhook import WEBHOOK_RULES as RULES
    elif document.group_kind in (kinds.TRAINING_RUNTIME, kinds.CLUSTER_TRAINING_RUNTIME):
        from jobspec.operators.trainer.webhook import RUNTIME_RULES as RULES
    elif document.group_kind == kinds.JOBSET:
        from jobspec.operators.jobset.webhook import CREATE_RULES, UPDATE_RULES

        RULES = UPDATE_RULES if old else CREATE_RULES  # noqa: N806
    else:
        return AdmissionAnswer([])
    return AdmissionAnswer(diagnostics(RULES, Workload(document, old=old), target))


def _with_spec(document: Document) -> Document:
    """The document as Go decodes it: an absent `spec` is an empty one."""
    return document if document.data.get("spec") is not None else document.changed({**document.data, "spec": {}})
