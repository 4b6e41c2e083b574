"""Names that kustomize changes, and labels that it adds, where custom resources do not follow.

kustomize changes references in the fields that it knows, which are those of built-in kinds. Follows `builtinpluginconsts`,
sigs.k8s.io/kustomize/api, 0.21, and `NameReferenceTransformer` for what `configurations` add.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from jobspec.apis.kinds import GroupKind
from jobspec.diagnostics.diagnostic import Diagnostic
from jobspec.diagnostics.grouping import gathered
from jobspec.diagnostics.places import Path
from jobspec.documents.document import Document
from jobspec.documents.text_edits import in_flow
from jobspec.go.values import mapping
from jobspec.operators.workloads import QUEUE
from jobspec.repository.followed_fields import FollowedFields, followed_fields
from jobspec.repository.idle_entries import field_path
from jobspec.repository.layers import Layer, closure, entries_of, generator_options, is_known, objects_of, patches_in, renamed
from jobspec.repository.replaced_lists import is_custom
from jobspec.repository.roles import GENERATORS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from jobspec.diagnostics.diagnostic import Severity

_CONFIG_MAP, _SECRET = ("", "ConfigMap"), ("", "Secret")
_QUEUES = "kueue.x-k8s.io"
#: Fields of any custom resource that refer to an object: the field, the one inside that has its name, and the kind of the object.
_REFERRING: dict[str, tuple[str, GroupKind]] = {
    "configMapKeyRef": ("name", _CONFIG_MAP),
    "configMapRef": ("name", _CONFIG_MAP),
    "configMap": ("name", _CONFIG_MAP),
    "secretKeyRef": ("name", _SECRET),
    "secretRef": ("name", _SECRET),
    "secret": ("secretName", _SECRET),
    "nodePublishSecretRef": ("name", _SECRET),
    "imagePullSecrets": ("name", _SECRET),
    "persistentVolumeClaim": ("claimName", ("", "PersistentVolumeClaim")),
}
#: Fields of any custom resource that are the name of an object.
_NAMING: dict[str, GroupKind] = {
    "serviceAccountName": ("", "ServiceAccount"),
    "priorityClassName": ("scheduling.k8s.io", "PriorityClass"),
    "storageClassName": ("storage.k8s.io", "StorageClass"),
    "clusterQueue": (_QUEUES, "ClusterQueue"),
    "cohort": (_QUEUES, "Cohort"),
    "cohortName": (_QUEUES, "Cohort"),
    "topologyName": (_QUEUES, "Topology"),
    "ray.io/cluster": ("ray.io", "RayCluster"),
}
#: Fields of any object, of built-in kinds too, that are the name of an object.
_NAMING_ANYWHERE: dict[str, GroupKind] = {
    "runtimeClassName": ("node.k8s.io", "RuntimeClass"),
    "resourceClaimTemplateName": ("resource.k8s.io", "ResourceClaimTemplate"),
    "resourceClaimName": ("resource.k8s.io", "ResourceClaim"),
}
#: Labels of any object, of built-in kinds too, that are the name of an object.
_LABELS: dict[str, GroupKind] = {
    QUEUE: (_QUEUES, "LocalQueue"),
    f"{_QUEUES}/priority-class": (_QUEUES, "WorkloadPriorityClass"),
}
_FLAVORS = (_QUEUES, "ResourceFlavor")
_TRAINER = "trainer.kubeflow.org"
_CHECKS = (_QUEUES, "AdmissionCheck")
#: Kinds to which kustomize follows the `scaleTargetRef` of a HorizontalPodAutoscaler, and of no other autoscaler.
_SCALED = frozenset(("Deployment", "ReplicationController", "ReplicaSet", "StatefulSet"))


class _Reference(NamedTuple):
    """A name of another object in an object."""

    target: GroupKind
    name: str
    path: Path
    data: Mapping[str, Any]
    """The object that refers."""

    @property
    def words(self) -> str:
        """Return the field and its object in words."""
        last = self.path[-1]
        short = ".".join([each for each in self.path if isinstance(each, str)][-2:])
        field = f"the label `{last}`" if self.path[:2] == ("metadata", "labels") else f"`{short}`"
        return f"{field} of {self.data.get('kind')} `{mapping(self.data, 'metadata').get('name')}`"


def may_have_unfollowed_names(layer: Layer) -> bool:
    """True if a kustomization changes names or adds labels."""
    return any(layer.data.get(each) for each in (*GENERATORS, *_AFFIXES, *_LABELLING))


def unfollowed_names(
    layer: Layer, layers: Mapping[str, Layer], using: Mapping[str, Sequence[Layer]], document: Document
) -> Iterator[Diagnostic]:
    """Yield a warning for each name or label of a kustomization that resources do not follow.

    The parameters are those of `idle_entries`.
    """
    around = {folder: layers[folder] for top in using.get(layer.folder, ()) for folder in closure(top, layers)}
    if not all(map(is_known, around.values())):
        return
    followed = followed_fields(around.values())
    yield from _hashed(layer, around, followed, document)
    yield from _renamed(layer, layers, followed, document)
    yield from _unlabelled(layer, layers, document)


# Names with a hash.


def _hashed(layer: Layer, around: Mapping[str, Layer], followed: FollowedFields, document: Document) -> Iterator[Diagnostic]:
    """The generators of a kustomization whose names get a hash that a custom resource does not follow."""
    if not any(map(layer.data.get, GENERATORS)):
        return
    found = _by_target((each for one in around.values() for each in objects_of(one)), followed)
    for field, kind in zip(GENERATORS, (_CONFIG_MAP, _SECRET), strict=True):
        for number, each in enumerate(entries_of(layer.data, field)):
            is_hashed = not generator_options(layer.data, each)["disableNameSuffixHash"] and each.get("behavior", "create") == "create"
            references = found.get((kind, str(each.get("name"))), []) if is_hashed else []
            if references:
                message = f"the name gets a hash, and {_first_of(references)} keeps `{each['name']}`"
                way = "set `options: {disableNameSuffixHash: true}`, or "
                yield _unfollowed("hashed-name", document, (field, number, "name"), message, references, way=way)


# Names with a prefix or suffix.


_AFFIXES = ("namePrefix", "nameSuffix")


def _renamed(layer: Layer, layers: Mapping[str, Layer], followed: FollowedFields, document: Document) -> Iterator[Diagnostic]:
    """The prefix and suffix of a kustomization that rename an object to which another one refers by its old name."""
    fields = [each for each in _AFFIXES if layer.data.get(each)]
    if not fields:
        return
    inside = [layers[folder] for folder in closure(layer, layers)]
    patches = "\n".join(text for each in inside for text in patches_in(each))
    objects = [each for one in inside for each in objects_of(one)]
    renaming = [each for each in inside[1:] if any(map(each.data.get, _AFFIXES))]
    deeper = [{_identity(one) for folder in closure(each, layers) for one in objects_of(layers[folder])} for each in renaming]
    there = set(map(_identity, objects))
    for (target, name), several in _by_target(objects, followed).items():
        new = renamed(name, target[1], layer.data)
        is_reported = any((target, name) in each and _identity(several[0].data) in each for each in deeper)
        if new != name and (target, name) in there and new not in patches and not is_reported:
            message = f"{target[1]} `{name}` becomes `{new}`, and {_first_of(several)} keeps the old name"
            yield _unfollowed("renamed-reference", document, (fields[0],), message, several)


def _identity(data: Mapping[str, Any]) -> tuple[GroupKind, str]:
    group = str(data.get("apiVersion")).rpartition("/")[0]
    return (group, str(data.get("kind"))), str(mapping(data, "metadata").get("name"))


# Labels.


_LABELLING = ("labels", "commonLabels")


def _unlabelled(layer: Layer, layers: Mapping[str, Layer], document: Document) -> Iterator[Diagnostic]:
    """The labels of a kustomization that reach the pods of built-in kinds, and not those of a custom one."""
    entries: list[Path] = [("labels", at) for at, each in enumerate(entries_of(layer.data, "labels")) if _is_for_pods(each)]
    entries += [("commonLabels",)] if layer.data.get("commonLabels") else []
    if not entries:
        return
    below = [layers[folder] for folder in closure(layer, layers)]
    followed = followed_fields(below)
    objects = [each for one in below for each in objects_of(one) if is_custom(str(each.get("apiVersion")))]
    labels = [(each, (*path, "metadata", "labels")) for each in objects for path in _templates_in(each, ())]
    for entry in entries:
        field = "templateLabels" if entry[0] == "labels" and not layer.data["labels"][entry[1]].get("includeSelectors") else "commonLabels"
        missed = [
            (each, path) for each, path in labels if not any(followed.has(name, each, path) for name in (field, *_OF_LABELS[str(entry[0])]))
        ]
        specs = [{**_kind_of(each), "path": field_path(path), "create": True} for each, path in missed]
        if specs:
            words = _others(list(dict.fromkeys(f"{each.get('kind')} `{mapping(each, 'metadata').get('name')}`" for each, _ in missed)))
            message = f"the labels do not reach the pods of {words}: kustomize does not know its templates"
            configuration = {field: [each for at, each in enumerate(specs) if each not in specs[:at]]}
            severity: Severity = "info" if entry == ("commonLabels",) else "warning"
            yield _entry("labels-not-on-pods", document, entry, message, configuration, severity=severity)


#: The fields of configurations that name labels for all entries of a field.
_OF_LABELS = {"labels": ("labels",), "commonLabels": ()}


def _is_for_pods(entry: Mapping[str, Any]) -> bool:
    return bool(entry.get("includeTemplates") or entry.get("includeSelectors")) and not entry.get("fields")


def _templates_in(data: Any, path: Path) -> Iterator[Path]:
    """The paths of the pod templates in an object."""
    is_template = str(path[-1]).lower().endswith("template") if path else False
    if is_template and isinstance(data, dict) and isinstance(mapping(data, "spec").get("containers"), list):
        yield path
        return
    for key, each in data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ():
        yield from _templates_in(each, (*path, key))


# What is reported, and the `configurations` that mend it.


def _first_of(references: Sequence[_Reference]) -> str:
    return _others(list(dict.fromkeys(each.words for each in references)))


def _others(words: Sequence[str]) -> str:
    """The first of some words, and how many others there are."""
    return words[0] + (f" (and {len(words) - 1} more)" if len(words) > 1 else "")


def _unfollowed(rule: str, document: Document, path: Path, message: str, references: Sequence[_Reference], *, way: str = "") -> Diagnostic:
    """A warning at an entry about references that do not follow it, with the name references that make them."""
    targets = gathered((each.target, {**_kind_of(each.data), "path": field_path(each.path)}) for each in references)
    rows = [
        {
            "kind": kind,
            **({"group": group} if group else {}),
            "fieldSpecs": [each for at, each in enumerate(specs) if each not in specs[:at]],
        }
        for (group, kind), specs in targets.items()
    ]
    return _entry(rule, document, path, message, {"nameReference": rows}, way=way)


def _entry(
    rule: str,
    document: Document,
    path: Path,
    message: str,
    configuration: Mapping[str, Any],
    *,
    way: str = "",
    severity: Severity = "warning",
) -> Diagnostic:
    """A warning at an entry, with what a file of `configurations` needs to have."""
    ((field, rows),) = configuration.items()
    written = in_flow(rows, json=False).replace('"', "").replace("\\\\", "\\")  # a plain scalar takes a backslash as it is
    hint = f"{way}write `{field}: {written}` into a file that `configurations` names, as --fix does"
    return document.problem(rule, message, path, hint=hint, severity=severity).changed(configuration=configuration)


def _kind_of(data: Mapping[str, Any]) -> dict[str, str]:
    group = str(data.get("apiVersion")).rpartition("/")[0]
    return {**({"group": group} if group else {}), "kind": str(data.get("kind"))}


# References in objects.


def _by_target(objects: Iterable[Mapping[str, Any]], followed: FollowedFields) -> dict[tuple[GroupKind, str], list[_Reference]]:
    """The references in objects that kustomize does not follow, by the kind and name that they have."""
    references = (each for data in objects for each in _references_of(data))
    return gathered(((each.target, each.name), each) for each in references if not followed.follow(each.target, each.data, each.path))


def _references_of(data: Mapping[str, Any]) -> Iterator[_Reference]:
    labels = mapping(data, "metadata", "labels")
    for label, target in _LABELS.items():
        if isinstance(labels.get(label), str):
            yield _Reference(target, labels[label], ("metadata", "labels", label), data)
    scaled = mapping(data, "spec", "scaleTargetRef")
    kind = str(scaled.get("kind") or "Deployment")
    is_followed = data.get("kind") == "HorizontalPodAutoscaler" and kind in _SCALED
    if isinstance(scaled.get("name"), str) and not is_followed:
        group = str(scaled.get("apiVersion") or "apps/v1").rpartition("/")[0]
        yield _Reference((group, kind), scaled["name"], ("spec", "scaleTargetRef", "name"), data)
    is_of_custom = is_custom(str(data.get("apiVersion")))
    runtime = mapping(data, "spec", "runtimeRef") if is_of_custom else {}
    if isinstance(runtime.get("name"), str):
        of_trainer = (_TRAINER, str(runtime.get("kind") or "ClusterTrainingRuntime"))
        yield _Reference(of_trainer, runtime["name"], ("spec", "runtimeRef", "name"), data)
    for path, target, name in _names_in(data, ()):
        if is_of_custom or path[-1] in _NAMING_ANYWHERE:
            yield _Reference(target, name, path, data)


def _names_in(data: Any, path: Path) -> Iterator[tuple[Path, GroupKind, str]]:
    """The names of other objects in an object: path, kind, and name."""
    for key, each in data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ():
        here = (*path, key)
        if isinstance(key, str) and isinstance(each, str) and (target := _NAMING.get(key) or _NAMING_ANYWHERE.get(key)):
            yield here, target, each
        for name, target in _fields_with_names(key, each):
            for at, one in enumerate(each) if isinstance(each, list) else ((None, each),):
                inside = one.get(name) if isinstance(one, dict) and name else one
                if isinstance(inside, str):
                    yield (*here, *(() if at is None else (at,)), *((name,) if name else ())), target, inside
        yield from _names_in(each, here)


def _fields_with_names(key: str | int, value: Any) -> Iterator[tuple[str, GroupKind]]:
    """The fields with the names of objects in a value under a key, or in its items. If it is a list of names, the field is empty."""
    if isinstance(key, str) and key in _REFERRING:
        yield _REFERRING[key]
    if key == "secret":  # of a projected volume
        yield "name", _SECRET
    if key == "flavors":
        yield "name", _FLAVORS
    if key == "admissionChecks" and isinstance(value, list):
        yield "name" if any(isinstance(each, dict) for each in value) else "", _CHECKS
