"""The problems of unknown kinds, and of kinds that the target's release of their component does not serve."""

from __future__ import annotations

from jobspec.apis import kinds
from jobspec.apis.kinds import Kind
from jobspec.apis.releases import RELEASES, Target
from jobspec.diagnostics.problems import Problem
from jobspec.diagnostics.record import Record
from jobspec.documents.document import Document
from jobspec.kubernetes.problems import closest
from jobspec.kubernetes.suggestions import nearest
from jobspec.schemas import shapes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence


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


class UnknownKind(Record):
    """The problem of a document of an unknown kind, or without a kind."""

    problem: Problem
    is_near: bool = False
    """Whether a known kind was probably meant."""
    is_preview: bool = False
    """Whether it is a version of a built-in kind that servers do not serve by default; no known kind is near then."""


def unknown_kind(document: Document, target: Target) -> UnknownKind:
    """Return the problem of a document of an unknown kind, or without a kind."""
    if not document.api_version or not document.kind:
        return UnknownKind(_not_a_manifest(document))
    version, name = document.api_version, document.kind
    last = next((release for release, gone in _LAST_SERVED.items() if name in gone.get(version, "").split()), "")
    if last:
        alike = sorted((kind for kind in kinds.built_in() if kind.name == name), key=lambda kind: kind.group != document.group_kind[0])
        stable = [each for each in alike[0].api_versions if "beta" not in each] if alike else []
        hint = f"write `apiVersion: {stable[-1]}`" if stable else "it has no replacement"
        message = _not_any_more(name, version, _named("kubernetes", target["kubernetes"]), last)
        return UnknownKind(Problem("unknown-kind", ("apiVersion",), message, hint), is_near=True)
    at_version = any(kind.name == name for kind in kinds.every())
    hint, is_near, is_preview = _near_kind(document, target)
    message = f"jobspec does not know the kind {name} of {version}"
    if is_preview:
        message = f"{_named('kubernetes', target['kubernetes'])} does not serve {name} of {version} by default"
    return UnknownKind(Problem("unknown-kind", ("apiVersion",) if at_version else ("kind",), message, hint), is_near, is_preview)


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
    wrong = {nearest(key, ("apiVersion", "kind")) for key in data} - data.keys() - {""}
    return f"did you mean `{min(wrong)}`?" if wrong else ""


def _near_kind(document: Document, target: Target) -> tuple[str, bool, bool]:
    """Return a hint with the kind that was probably meant, whether no other can be meant, and whether the version is a preview.

    Without such a kind, the hint is empty. The group must be one of ours or a misspelling, since other groups can have kinds of the same
    name. A version of a built-in kind that is no stable one may be switched on in a cluster.
    """
    (group, name), version = document.group_kind, document.api_version.rpartition("/")[2]
    ours = _near[group] if group in _near else _near.setdefault(group, _candidates(group))
    for kind in ours:
        if kind.name.lower() == name.lower():
            is_preview = kind.is_builtin and kind.group == group and ("alpha" in version or "beta" in version)
            own = target["kubernetes"]
            versions = [each for each in kind.api_versions if not is_preview or own in shapes.releases(each, kind.name)]
            if not versions:
                return "", False, True
            lasting = _lasting_version(versions)
            renamed = _renamed_fields(document, lasting, kind.name, target)
            return f"write `apiVersion: {lasting}` and `kind: {kind.name}`{renamed}", not is_preview, is_preview
    served = [kind.name for kind in ours if document.api_version in kind.api_versions]
    # kubectl's `Config` and `NodeList` are no misspellings
    same = [each for each in served if name[:1].lower() == each[:1].lower() and abs(len(name) - len(each)) < 3]
    hint = closest(name, same) if same else ""
    return hint, bool(hint), False


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
    ours, builtin = kinds.with_schema(), [kind for kind in kinds.built_in() if not kind.component]
    groups = [kind.group for kind in ours]
    like = group if group in groups else nearest(group, groups, likeness=_LIKENESS_OF_GROUPS)
    near = [kind for kind in ours if like and (kind.component != "jobspec" or kind.group == like)]
    meant = {group, nearest(group, {kind.group for kind in builtin if kind.group}) if "." not in group else group}
    return [*near, *(kind for kind in builtin if group in _FORMER_GROUPS or kind.group in meant)]
