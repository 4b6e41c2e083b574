"""The parameters of admission policies, and what pods refer to."""

from __future__ import annotations

from jobspec.apis import kinds
from jobspec.apis.kinds import CONFIG_MAP, PERSISTENT_VOLUME_CLAIM, SECRET
from jobspec.diagnostics.places import Data, Path
from jobspec.diagnostics.record import Record
from jobspec.go.values import mapping

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from dataclasses import KW_ONLY
    from typing import Any

    from jobspec.apis.kinds import GroupKind
    from jobspec.documents.document import Document


def parameter_kinds(policies: Iterable[Document]) -> set[GroupKind]:
    """Return the kinds of the parameters of the admission policies among some documents."""
    found = (mapping(each.data, "spec", "paramKind") for each in policies if each.group_kind in kinds.ADMISSION_POLICIES)
    return {kinds.group_kind(str(each.get("apiVersion")), str(each.get("kind"))) for each in found if each}


def may_be_parameter(policies: Sequence[Document]) -> Callable[[GroupKind, str, Any], bool]:
    """Return a test of kind, name and labels: True if an object may be a parameter of policies.

    A binding names its parameter, or selects it by labels.
    """
    from jobspec.kubernetes.label_selectors import selects

    wanted, names, selectors = parameter_kinds(policies), *_named_and_selected(policies)
    return lambda kind, name, labels: kind in wanted and (name in names or any(selects(each, mapping(labels)) for each in selectors))


def parameter_words(policies: Iterable[Document]) -> set[str]:
    """Return words to find parameters by: every parameter has one, as its name or a label value.

    If a binding selects parameters by anything else, the result is empty.
    """
    names, selectors = _named_and_selected(policies)
    values = [next(iter(mapping(each, "matchLabels").values()), None) for each in selectors]
    return {*names, *map(str, values)} if None not in values else set()


def _named_and_selected(policies: Iterable[Document]) -> tuple[set[str], list[Any]]:
    """Return the names and the selectors by which bindings refer to parameters."""
    bindings = [each for each in policies if each.group_kind == kinds.VALIDATING_POLICY_BINDING]
    references = [each for each in (mapping(one.data, "spec", "paramRef") for one in bindings) if each]
    names = {str(each["name"]) for each in references if each.get("name")}
    return names, [each.get("selector") for each in references if not each.get("name")]


def may_concern(policies: Iterable[Document], kind: GroupKind) -> bool:
    """True if a rule of a policy may apply to objects of a kind.

    A rule applies by the group, and for Kubernetes' own kinds by the resource. A binding always counts, since its policy may be in
    another file.
    """
    group, name = kind
    is_builtin = any((each.group, each.name) == kind for each in kinds.built_in())
    own = ("*", kinds.plural_of(name))
    if kind in (kinds.VALIDATING_POLICY_BINDING, kinds.MUTATING_POLICY_BINDING):
        return True

    def is_for(rule: Any) -> bool:
        parts = [str(each).partition("/") for each in sequence(rule, "resources")]
        is_of_kind = not is_builtin or any(resource in own and sub in ("", "*") for resource, _, sub in parts)
        return is_of_kind and any(each in ("*", group) for each in sequence(rule, "apiGroups"))

    specs = [mapping(each.data, "spec", "matchConstraints") for each in policies if each.group_kind in kinds.ADMISSION_POLICIES]
    rules = [sequence(each, "resourceRules") for each in specs if each]
    return any(not each or any(map(is_for, each)) for each in rules)


# Read plain data of pods: what is absent or null is empty, as it is once Go has decoded it.


#: The fields of a pod's spec that hold containers, in the order in which most plugins look at them.
CONTAINERS = ("initContainers", "containers")


def sequence(data: Any, field: str) -> list[Any]:
    """Return the items of a list. If there is no list, return no items.

    Null items become empty mappings.
    """
    found = data.get(field) if isinstance(data, dict) else None
    return [{} if each is None else each for each in found] if isinstance(found, list) else []


def containers(spec: Data, fields: tuple[str, ...] = (*CONTAINERS, "ephemeralContainers")) -> Iterator[tuple[Path, Data]]:
    """Yield the containers of a pod's spec, each with its path in the pod."""
    for field in fields:
        for index, each in enumerate(sequence(spec, field)):
            if isinstance(each, dict):
                yield ("spec", field, index), each


# The claims, ConfigMaps and Secrets that a pod needs before its containers start.
#
# Follows `VisitPodSecretNames` and `VisitPodConfigmapNames`, k8s.io/kubernetes pkg/api/v1/pod, 1.36.


EVERYWHERE = "kube-root-ca.crt"
"""The ConfigMap that every namespace has."""


class Reference(Record):
    """An object that a pod needs, with the path of the name and the keys to read."""

    kind: GroupKind
    name: str
    path: Path
    keys: Sequence[tuple[str, Path]] = ()
    """Each with its path."""
    _: KW_ONLY
    is_optional: bool = False
    """Whether the pod starts without it, too."""
    is_projected: bool = False
    """Whether it is one of several sources of one volume."""


def references(spec: Data) -> Iterator[Reference]:
    """Yield the objects that a pod refers to."""
    for index, volume in enumerate(sequence(spec, "volumes")):
        yield from _of_volume(volume, ("spec", "volumes", index))
    for path, container in containers(spec, CONTAINERS):
        yield from _of_container(container, path)


def _of_volume(volume: Data, path: Path) -> Iterator[Reference]:
    yield from _named_in(volume, "persistentVolumeClaim", "claimName", PERSISTENT_VOLUME_CLAIM, path)
    yield from _named_in(volume, "secret", "secretName", SECRET, path)
    yield from _named_in(volume, "configMap", "name", CONFIG_MAP, path)
    for number, source in enumerate(sequence(mapping(volume, "projected"), "sources")):
        place = (*path, "projected", "sources", number)
        yield from _named_in(source, "secret", "name", SECRET, place, is_projected=True)
        yield from _named_in(source, "configMap", "name", CONFIG_MAP, place, is_projected=True)


def _of_container(container: Data, path: Path) -> Iterator[Reference]:
    for index, variable in enumerate(sequence(container, "env")):
        for field, kind in (("secretKeyRef", SECRET), ("configMapKeyRef", CONFIG_MAP)):
            yield from _named_in(mapping(variable, "valueFrom"), field, "name", kind, (*path, "env", index, "valueFrom"))
    for index, several in enumerate(sequence(container, "envFrom")):
        for field, kind in (("secretRef", SECRET), ("configMapRef", CONFIG_MAP)):
            yield from _named_in(several, field, "name", kind, (*path, "envFrom", index))


def _named_in(holder: Data, field: str, name: str, kind: GroupKind, path: Path, *, is_projected: bool = False) -> Iterator[Reference]:
    """Yield the object that a field of a volume or a variable names, with its keys.

    The keys are the one that is read, or those that become files.
    """
    source, place = mapping(holder, field), (*path, field)
    if source.get(name):
        keys = [(each["key"], (*place, "items", index, "key")) for index, each in enumerate(sequence(source, "items")) if each.get("key")]
        keys += [(source["key"], (*place, "key"))] if source.get("key") else []
        is_optional = bool(source.get("optional"))
        yield Reference(kind, source[name], (*place, name), keys, is_optional=is_optional, is_projected=is_projected)
