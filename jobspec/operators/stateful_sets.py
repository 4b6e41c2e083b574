"""The pods and claims that the controller of a StatefulSet creates.

Follows `newVersionedStatefulSetPod`, `initIdentity`, `updateStorage`, `getPersistentVolumeClaims` and `newRevision`, k8s.io/kubernetes
pkg/controller/statefulset, and `GetPodFromTemplate`, pkg/controller, 1.36.
"""

from __future__ import annotations

from jobspec.apis.releases import is_at_least
from jobspec.documents.marked_tree import MarkedTree, items, number, set_by, text, with_fields
from jobspec.operators.made import RANDOM, REVISION, indices, operator_mark, owner_references
from jobspec.operators.revisions import revision_hash
from jobspec.operators.stateful_set_defaults import stateful_set_defaults

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from jobspec.apis.releases import Target
    from jobspec.diagnostics.places import Mark


API_VERSION, KIND = "apps/v1", "StatefulSet"
_RETENTION = "persistentVolumeClaimRetentionPolicy"


def pods_of_stateful_set(made: MarkedTree, target: Target, *, first_and_last_only: bool = False) -> Iterator[MarkedTree]:
    """Yield the claims and the pods of a StatefulSet, those of one number together. *first_and_last_only*: as for `expand`."""
    mark, name = operator_mark("kube-controller-manager", target["kubernetes"]), text(made, "metadata", "name")
    start, revision = number(made, "spec", "ordinals", "start", default=0), _revision(made, target)
    for index in indices(number(made, "spec", "replicas", default=1), f"pods of {KIND} `{name}`", first_and_last_only=first_and_last_only):
        yield from (_claim(template, made, start + index, mark) for template in _claim_templates(made))
        yield _pod(made, start + index, mark, revision)


def _revision(made: MarkedTree, target: Target) -> str:
    """The hash of the pod template, with all that the server fills in; a placeholder if a value is not known, or for older releases."""
    if not is_at_least(target["kubernetes"], "1.36"):
        return REVISION
    template = stateful_set_defaults(made, target).value["spec"].value["template"].data()
    return revision_hash({"template": template}, salt="0") if RANDOM not in str(template) else REVISION


def _pod(made: MarkedTree, ordinal: int, mark: Mark, revision: str) -> MarkedTree:
    """The pod of a number; *revision*: the hash of the template."""
    parent = made.value["metadata"].value["name"]
    template = made.value["spec"].value["template"]
    own = template.get("metadata") or MarkedTree({}, mark)
    name = parent.with_value(f"{parent.value}-{ordinal}")
    labels = {
        "apps.kubernetes.io/pod-index": str(ordinal),
        "controller-revision-hash": parent.with_value(f"{parent.value}-{revision}"),
        "statefulset.kubernetes.io/pod-name": name,
    }
    metadata = {
        **{field: each for field in ("annotations", "finalizers") if (each := own.get(field))},
        "labels": with_fields(own.get("labels") or MarkedTree({}, mark), {key: set_by(mark, each) for key, each in labels.items()}),
        "name": name,
        "generateName": parent.with_value(f"{parent.value}-"),
        "namespace": made.value["metadata"].value["namespace"],
        "ownerReferences": owner_references(mark, API_VERSION, KIND, parent),
    }
    spec = with_fields(template.value["spec"], {"hostname": name, "subdomain": made.get("spec", "serviceName")})
    return set_by(mark, {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": _with_claims(spec, made, ordinal, mark)})


def _with_claims(spec: MarkedTree, made: MarkedTree, ordinal: int, mark: Mark) -> MarkedTree:
    """The spec of a pod with a volume for each of its claims, which replaces another volume of that name."""
    claims = {text(each, "metadata", "name"): each.value["metadata"].value["name"] for each in _claim_templates(made)}
    if not claims:
        return spec
    own = [
        set_by(mark, {"name": name, "persistentVolumeClaim": {"claimName": name.with_value(_claim_name(name, made, ordinal))}})
        for name in claims.values()
    ]
    others = [each for each in items(spec.get("volumes")) if text(each, "name") not in claims]
    return with_fields(spec, {"volumes": MarkedTree([*own, *others], mark)})


def _claim(template: MarkedTree, made: MarkedTree, ordinal: int, mark: Mark) -> MarkedTree:
    """The claim of a template for the pod of a number; one that goes with the StatefulSet has it as its owner."""
    own = template.value["metadata"]
    name = own.value["name"]
    selected = dict(made.entries("spec", "selector", "matchLabels"))
    goes = text(made, "spec", _RETENTION, "whenDeleted") == "Delete"
    metadata = {
        **{field: each for field in ("annotations", "finalizers") if (each := own.get(field))},
        "name": name.with_value(_claim_name(name, made, ordinal)),
        "namespace": made.value["metadata"].value["namespace"],
        "labels": with_fields(own.get("labels") or MarkedTree({}, mark), selected),
        **({"ownerReferences": owner_references(mark, API_VERSION, KIND, made.value["metadata"].value["name"])} if goes else {}),
    }
    spec = template.get("spec") or MarkedTree({}, mark)
    return set_by(mark, {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": metadata, "spec": spec})


def _claim_templates(made: MarkedTree) -> list[MarkedTree]:
    """The templates of claims that have a name."""
    return [each for each in items(made.get("spec", "volumeClaimTemplates")) if text(each, "metadata", "name")]


def _claim_name(template: MarkedTree, made: MarkedTree, ordinal: int) -> str:
    """The name of the claim of a template, given by its name, for the pod of a number."""
    return f"{template.value}-{text(made, 'metadata', 'name')}-{ordinal}"
