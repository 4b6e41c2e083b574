"""The verdict on a document: what the API server answers to a server-side dry run with strict field validation."""

from __future__ import annotations

from jobspec.apis import kinds
from jobspec.apis.kinds import Kind, Name
from jobspec.apis.releases import RELEASES
from jobspec.diagnostics.diagnostic import Diagnostic, has_error
from jobspec.diagnostics.problems import Problem
from jobspec.diagnostics.record import Record
from jobspec.go.values import MAX_INT32
from jobspec.kubernetes.metadata import metadata_problems
from jobspec.kubernetes.problems import closest
from jobspec.kubernetes.structural import schema_problems
from jobspec.schemas import shapes
from jobspec.schemas.shapes import Shape

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from dataclasses import KW_ONLY
    from typing import Any, Literal

    from jobspec.apis.releases import Target
    from jobspec.documents.document import Document
    from jobspec.kubernetes.common_kinds import CommonKind
    from jobspec.kubernetes.custom_kinds import CustomKind, CustomKinds, JSONSchema

    Status = Literal["valid", "invalid", "partly", "unknown"]


class Verdict(Record):
    """Whether the server accepts a document, and the diagnostics.

    `partly`: there is no problem, but only some of the server's checks were made (built-in kinds, JSON Schemas). `unknown`: the document
    is no manifest or of an unknown kind, as its one diagnostic says.
    """

    status: Status
    diagnostics: list[Diagnostic]
    _: KW_ONLY
    near_miss: bool = False
    """Whether an unknown kind is a misspelling of one of our own kinds."""
    is_common: bool = False
    """Whether the kind is that of a common project, of which a cluster may have another release or none."""
    reason: str = ""
    """Why a document is checked partly."""
    problems: Sequence[Problem] = ()
    """What the diagnostics say, by paths; none if they do not come from paths alone."""

    def placed_in(self, document: Document) -> Verdict:
        """Return the verdict on a document that has the same problems."""
        return self.changed(diagnostics=[_reported(document, each) for each in self.problems])


class AdmissionAnswer(Record):
    """The answer of webhooks and plugins to a document: errors and warnings.

    *wanted*: the names of objects outside of the document's file that were looked up.
    """

    diagnostics: list[Diagnostic]
    wanted: Sequence[Name] = ()


def verdict(
    document: Document, target: Target, *, custom_kinds: CustomKinds | None = None, old: Document | None = None, skip_unknown: bool = False
) -> Verdict:
    """Judge a document as the API server does. If *old* is given, the document is an update.

    *custom_kinds* come before our own and built-in kinds. *skip_unknown*: do not report an unknown kind, unless one of ours was probably
    meant.
    """
    custom = custom_kinds.find(document, target, lambda crd: verdict(crd, target).diagnostics) if custom_kinds else None
    if custom_kinds and custom is not None:
        return _by_crds(document, custom, custom_kinds.rivals(document, target), old)
    kind = kinds.find(document.api_version, document.kind)
    if not kind:
        from jobspec.kubernetes import common_kinds

        if common := common_kinds.find(document, target):
            return _by_common_kind(document, common)
        problem, is_near = unknown(document, target)
        return Verdict(
            "unknown", [] if skip_unknown and not is_near else _verdict(document, [problem], "unknown").diagnostics, near_miss=is_near
        )
    shape = shapes.load(document.api_version, document.kind, target)
    stored = old.data if old else None
    if shape and not kind.is_builtin:
        found = _of_custom_resource(document, shape, stored, names=kind.names, namespaced=kind.namespaced, target=target)
        return _verdict(document, found, "valid")
    if not shape:
        return _verdict(document, [not_served(kind, document.api_version, target)], "invalid")
    from jobspec.kubernetes.builtin import builtin_problems, is_judged

    found = builtin_problems(document.data, document.api_version, document.kind, target, stored)
    if is_judged(kind, document.api_version):
        return _verdict(document, found, "valid")
    return _verdict(document, found, "partly", reason="structure and metadata only")


def _verdict(document: Document, found: Iterable[Problem], otherwise: Status, *, reason: str = "") -> Verdict:
    """Return the verdict with a diagnostic for each problem.

    It is a warning if a rule was not evaluated, and an error otherwise. If no diagnostic is an error, the status is *otherwise*.
    *reason*: why a document is checked partly.
    """
    problems = list(found)
    diagnostics = [_reported(document, each) for each in problems]
    if has_error(diagnostics):
        return Verdict("invalid", diagnostics, problems=problems)
    return Verdict(otherwise, diagnostics, reason=reason, problems=problems)


def _reported(document: Document, problem: Problem) -> Diagnostic:
    """The diagnostic of a problem; of a missing field it is where a patch has removed the field, if one has."""
    found = document.problem(
        problem.rule,
        problem.message,
        problem.path,
        hint=problem.hint,
        at_key=problem.at_key,
        severity="warning" if problem.rule == "rule-not-evaluated" else "error",
        remedy=problem.remedy,
    )
    removed = document.nearest(problem.path).child(problem.lacks) if problem.lacks else None
    return found.changed(mark=removed.place()) if removed else found


def _by_crds(
    document: Document, custom: CustomKind | JSONSchema | list[Diagnostic], others: Sequence[tuple[str, CustomKind]], old: Document | None
) -> Verdict:
    """Judge a document by a custom kind.

    If one of *others* says otherwise whether it is valid, check it only partly. *others*: custom kinds with the files of their CRDs.
    """
    found = _by_custom_kind(document, custom, old)
    for file, other in others:
        if has_error(_by_custom_kind(document, other, old).diagnostics) != has_error(found.diagnostics):
            return Verdict("partly", [], reason=f"CRDs among the files differ, such as {file}")
    return found


def _by_custom_kind(document: Document, custom: CustomKind | JSONSchema | list[Diagnostic], old: Document | None) -> Verdict:
    if isinstance(custom, list):
        return Verdict("invalid", custom)
    if custom.covers == "partly":
        return _verdict(document, custom.problems(document), "partly", reason="JSON Schema and metadata only")
    found = _of_custom_resource(document, custom.shape, old.data if old else None, namespaced=custom.namespaced)
    return _verdict(document, _with_file(found, custom.file, document), "valid")


def _with_file(found: Sequence[Problem], file: str, document: Document) -> list[Problem]:
    """Return problems whose hints about unknown fields name the *file* of the CRD.

    If that is the document's own file, return the same problems.
    """
    if file in ("", document.file):
        return list(found)
    whose = f"by the CRD in {file}"
    return [each.changed(hint=f"{each.hint}; {whose}" if each.hint else whose) if each.rule == "unknown-field" else each for each in found]


def _by_common_kind(document: Document, common: CommonKind) -> Verdict:
    """Return the verdict on an object of a common project.

    The cluster may have another release of the project.
    """
    found = _of_custom_resource(document, common.shape, None, namespaced=common.namespaced)
    diagnostics = _verdict(document, found, "partly").diagnostics
    reported = [each if _is_certain(document, each) else _as_warning(each, common.release) for each in diagnostics]
    if has_error(reported):
        return Verdict("invalid", reported, is_common=True)
    return Verdict("partly", reported, is_common=True, reason=f"schema of {common.release} without CEL rules")


def _is_certain(document: Document, found: Diagnostic) -> bool:
    """Whether all releases refuse what is found: metadata, and a wrong type in a kind of Argo CD or Flux, which have kept all types."""
    is_of_engine = document.group_kind[0].endswith((".toolkit.fluxcd.io", "argoproj.io"))
    return found.field.startswith("metadata") or (is_of_engine and found.rule == "wrong-type")


def _as_warning(found: Diagnostic, release: str) -> Diagnostic:
    whose = f"by the schema of {release}; `jobspec schema add` keeps that of your cluster"
    hint = f"{found.hint}; {whose}" if found.hint else whose
    return Diagnostic(found.rule, found.message, found.mark, field=found.field, document=found.document, severity="warning", hint=hint)


def _of_custom_resource(
    document: Document, shape: Shape, stored: Any, *, namespaced: bool, names: str = "subdomain", target: Target | None = None
) -> list[Problem]:
    """The problems of a custom resource, as an update of *stored* unless that is None.

    *names* is the kind's rule for names in `jobspec.apis.kinds`; *target* is None for kinds of other people.
    """
    data = document.data
    found = schema_problems(data, shape)
    if found and (lost := _lost_indentation(found, data, shape)):
        return lost
    if found and target:
        from jobspec.kubernetes.builtin import with_releases

        found = with_releases(found, data, (document.api_version, document.kind), target)
    needs_more = shape.ruled_on_create or shape.combined or shape.embeds or not _has_plain_scale(data, shape) or _limits_names(shape)
    if stored is None and not needs_more:
        return [*found, *metadata_problems(data.get("metadata"), names=names, builtin=False, namespaced=namespaced)]
    from jobspec.kubernetes.custom_resources import custom_resource_problems

    return custom_resource_problems(data, shape, found, stored, namespaced=namespaced)


def _limits_names(shape: Shape) -> bool:
    """True if the kind's schema has limits for `metadata.name`.

    They apply to generated names, too.
    """
    name = shape.at(("metadata", "name"))
    return name is not None and name.plain is None


def _has_plain_scale(data: Any, shape: Shape) -> bool:
    """True if the scale subresource reads nothing of a new object, or only valid replicas.

    Replicas may be absent, too. It reads the status as well; a new object has none if that is a subresource.
    """
    for step in shape.scale.get("specReplicasPath", ()):
        data = data.get(step, 0) if isinstance(data, dict) else 0
    others = [steps for name, steps in shape.scale.items() if name != "specReplicasPath" and (shape.keeps_status or steps[0] != "status")]
    return not shape.scale or (not others and type(data) is int and 0 <= data <= MAX_INT32)


def _lost_indentation(found: list[Problem], data: Any, shape: Shape) -> list[Problem]:
    """The one problem of an object whose indentation was lost; no problems for other objects."""
    if not any(problem.rule in ("unknown-field", "wrong-type") for problem in found):
        return []
    from jobspec.kubernetes.builtin import lost_parent

    return [lost] if (lost := lost_parent(found, data, shape)) else []


# The diagnostics of unknown kinds, and of built-in kinds that the target's release of Kubernetes does not serve.


#: Groups that Kubernetes moved its kinds out of.
_FORMER_GROUPS = ("extensions",)


def not_served(kind: Kind, api_version: str, target: Target) -> Problem:
    """Return the problem of a kind that the target's release of its component does not serve.

    Another known release serves the kind.
    """
    component, place = ("kubernetes", "apiVersion") if kind.is_builtin else (kind.component, "kind")
    known = list(RELEASES[component])
    serving, own = shapes.releases(api_version, kind.name), target[component]
    if known.index(serving[0]) > known.index(own):
        message = f"{_named(component, own)} does not serve {kind.name} of {api_version} yet: it came with {serving[0]}"
        return Problem("unknown-kind", (place,), message, _say(component, serving[0]))
    newer = next((each for each in kind.api_versions if own in shapes.releases(each, kind.name)), "")
    hint = f"write `apiVersion: {newer}`" if newer else _say(component, serving[-1])
    message = _not_any_more(kind.name, api_version, _named(component, own), serving[-1])
    return Problem("unknown-kind", (place,), message, hint)


def _named(component: str, release: str) -> str:
    return f"{'Kubernetes' if component == 'kubernetes' else component} {release}"


def _not_any_more(kind: str, api_version: str, server: str, last: str) -> str:
    return f"{server} no longer serves {kind} of {api_version}: {last} was the last to do so"


#: Built-in kinds that were gone before the first release whose structures we have: the last release that served them, by version.
#:
#: Follows `APILifecycleRemoved`, k8s.io/api zz_generated.prerelease-lifecycle.go, 0.36, and its groups' own packages where they are gone.
_LAST_SERVED = {
    "1.15": {
        "apps/v1beta1": "ControllerRevision Deployment StatefulSet",
        "apps/v1beta2": "ControllerRevision DaemonSet Deployment ReplicaSet StatefulSet",
        "extensions/v1beta1": "DaemonSet Deployment NetworkPolicy PodSecurityPolicy ReplicaSet",
    },
    "1.21": {
        "admissionregistration.k8s.io/v1beta1": "MutatingWebhookConfiguration ValidatingWebhookConfiguration",
        "apiextensions.k8s.io/v1beta1": "CustomResourceDefinition",
        "apiregistration.k8s.io/v1beta1": "APIService",
        "certificates.k8s.io/v1beta1": "CertificateSigningRequest",
        "coordination.k8s.io/v1beta1": "Lease",
        "extensions/v1beta1": "Ingress",
        "networking.k8s.io/v1beta1": "Ingress IngressClass",
        "rbac.authorization.k8s.io/v1beta1": "ClusterRole ClusterRoleBinding Role RoleBinding",
        "scheduling.k8s.io/v1beta1": "PriorityClass",
        "storage.k8s.io/v1beta1": "CSIDriver CSINode StorageClass VolumeAttachment",
    },
    "1.24": {
        "autoscaling/v2beta1": "HorizontalPodAutoscaler",
        "batch/v1beta1": "CronJob",
        "discovery.k8s.io/v1beta1": "EndpointSlice",
        "events.k8s.io/v1beta1": "Event",
        "node.k8s.io/v1beta1": "RuntimeClass",
        "policy/v1beta1": "PodDisruptionBudget PodSecurityPolicy",
    },
    "1.25": {
        "autoscaling/v2beta2": "HorizontalPodAutoscaler",
        "flowcontrol.apiserver.k8s.io/v1beta1": "FlowSchema PriorityLevelConfiguration",
    },
    "1.26": {"storage.k8s.io/v1beta1": "CSIStorageCapacity"},
    "1.28": {"flowcontrol.apiserver.k8s.io/v1beta2": "FlowSchema PriorityLevelConfiguration"},
}


def _say(component: str, release: str) -> str:
    return f"if the cluster is of that release, pass `--target {component}={release}`"


def unknown(document: Document, target: Target) -> tuple[Problem, bool]:
    """Return the problem of a document of an unknown kind, or without a kind.

    The second value is True if a known kind was probably meant.
    """
    if not document.api_version or not document.kind:
        return _not_a_manifest(document), False
    version, name = document.api_version, document.kind
    last = next((release for release, gone in _LAST_SERVED.items() if name in gone.get(version, "").split()), "")
    if last:
        alike = sorted((kind for kind in kinds.built_in() if kind.name == name), key=lambda kind: kind.group != document.group_kind[0])
        stable = [each for each in alike[0].api_versions if "beta" not in each] if alike else []
        hint = f"write `apiVersion: {stable[-1]}`" if stable else "it has no replacement"
        return Problem(
            "unknown-kind", ("apiVersion",), _not_any_more(name, version, _named("kubernetes", target["kubernetes"]), last), hint
        ), True
    message = f"jobspec does not know the kind {document.kind} of {document.api_version}"
    at_version = any(kind.name == document.kind for kind in kinds.every())
    hint, is_meant = _near_kind(document, target)
    return Problem("unknown-kind", ("apiVersion",) if at_version else ("kind",), message, hint), is_meant


def _not_a_manifest(document: Document) -> Problem:
    data = document.data
    if not isinstance(data, dict):
        what = "a list" if isinstance(data, list) else "a single value"
        return Problem("not-a-manifest", (), f"not a Kubernetes manifest: expected an object, got {what}")
    for key in ("apiVersion", "kind"):
        if not isinstance(data.get(key), str) and data.get(key) is not None:
            return Problem("not-a-manifest", (key,), f"`{key}` must be a string", "put it in quotes")
    missing = " and ".join(f"`{key}`" for key in ("apiVersion", "kind") if not data.get(key))
    return Problem("not-a-manifest", (), f"not a Kubernetes manifest: no {missing}", _near_key(data))


def _near_key(data: dict[str, object]) -> str:
    from jobspec.kubernetes.suggestions import nearest

    wrong = {nearest(key, ("apiVersion", "kind")) for key in data} - data.keys() - {""}
    return f"did you mean `{min(wrong)}`?" if wrong else ""


def _near_kind(document: Document, target: Target) -> tuple[str, bool]:
    """Return a hint with the kind that was probably meant, and True if no other can be meant.

    Without such a kind, the hint is empty. The group must be one of ours or a misspelling, since other groups can have kinds of the same
    name. A version of a built-in kind that is no stable one may be switched on in a cluster.
    """
    (group, name), version = document.group_kind, document.api_version.rpartition("/")[2]
    ours = _near[group] if group in _near else _near.setdefault(group, _candidates(group))
    for kind in ours:
        if kind.name.lower() == name.lower():
            is_preview = kind.is_builtin and kind.group == group and ("alpha" in version or "beta" in version)
            lasting = _lasting_version(kind.api_versions)
            renamed = _renamed_fields(document, lasting, kind.name, target)
            return f"write `apiVersion: {lasting}` and `kind: {kind.name}`{renamed}", not is_preview
    served = [kind.name for kind in ours if document.api_version in kind.api_versions]
    # kubectl's `Config` and `NodeList` are no misspellings
    same = [each for each in served if name[:1].lower() == each[:1].lower() and abs(len(name) - len(each)) < 3]
    hint = closest(name, same) if same else ""
    return hint, bool(hint)


def _lasting_version(versions: Sequence[str]) -> str:
    """The version of a kind that lasts longest: the newest stable one, or else the newest."""
    return ([each for each in versions if "alpha" not in each and "beta" not in each] or list(versions))[-1]


def _renamed_fields(document: Document, version: str, kind: str, target: Target) -> str:
    """What a hint says of the fields of a spec that have a longer name in another version: `parent` is `parentName`."""
    shape = shapes.load(version, kind, target)
    spec = document.data.get("spec") if shape else None
    known = shape.at(("spec",)) if shape else None
    if not isinstance(spec, dict) or not known or not known.fields:
        return ""
    longer = {each: [one for one in known.fields if one.startswith(each)] for each in spec if each not in known.fields}
    renamed = [f"`spec.{name}` is `spec.{found[0]}`" for name, found in longer.items() if len(found) == 1]
    return f", where {' and '.join(renamed)}" if renamed else ""


_near: dict[str, list[Kind]] = {}
#: How like one of our groups a misspelling is: `kueue.io` is like `kueue.x-k8s.io` by 0.73, `kueue.openshift.io`, another group, by 0.63.
_LIKENESS_OF_GROUPS = 0.7


def _candidates(group: str) -> list[Kind]:
    """Return the kinds that a document of a group may mean.

    Of built-in kinds, these are the ones of this group, or of a group whose short name it misspells. Of jobspec's own kinds, whose names
    many have, those of this group or of one that misspells it.
    """
    from jobspec.kubernetes.suggestions import nearest

    ours, builtin = kinds.with_schema(), [kind for kind in kinds.built_in() if not kind.component]
    groups = [kind.group for kind in ours]
    like = group if group in groups else nearest(group, groups, likeness=_LIKENESS_OF_GROUPS)
    near = [kind for kind in ours if like and (kind.component != "jobspec" or kind.group == like)]
    meant = {group, nearest(group, {kind.group for kind in builtin if kind.group}) if "." not in group else group}
    return [*near, *(kind for kind in builtin if group in _FORMER_GROUPS or kind.group in meant)]
