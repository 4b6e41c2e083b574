"""The fields of a kustomization, which kustomize reads in upper and lower case alike.

Follows `types.Kustomization.Unmarshal`, sigs.k8s.io/kustomize/api, 0.21, and `object` of encoding/json, decode.go, Go 1.26: the keys of a
mapping are decoded in order, upper case first. The last of several that are one field counts; a null leaves a text as it is.
"""

from __future__ import annotations

from jobspec.documents.merged_keys import duplicate

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from jobspec.documents.merged_keys import Problem

    #: The fields of a mapping, or of each item of a list, with those inside. If None, the keys are the user's.
    Fields = Mapping[str, "Fields | None"]


def _plain(names: str) -> dict[str, Fields | None]:
    return dict.fromkeys(names.split())


_KIND = _plain("group version kind")
_OBJECT = _KIND | _plain("name namespace")
_SELECTOR = _OBJECT | _plain("annotationSelector labelSelector")
_FIELD_OPTIONS = _plain("delimiter index encoding create")
_OPTIONS = _plain("labels annotations disableNameSuffixHash immutable")
_GENERATOR: Fields = {**_plain("namespace name behavior literals files envs env"), "options": _OPTIONS}
_PATCH: Fields = {**_plain("path patch"), "target": _SELECTOR, "options": _plain("allowNameChange allowKindChange")}
_IMAGE = _plain("name newName tagSuffix newTag digest")
_CHART = _plain(
    "name version repo releaseName namespace additionalValuesFiles valuesFile valuesInline valuesMerge includeCRDs skipHooks apiVersions"
    " kubeVersion nameTemplate skipTests debug devel"
)
_OLD_CHART = _plain(
    "chartName chartVersion chartRepoUrl chartHome chartRepoName helmBin helmHome values valuesLocal valuesMerge releaseName"
    " releaseNamespace extraArgs"
)
#: The fields of a kustomization.
FIELDS: Fields = {
    **_plain("apiVersion kind openapi namePrefix nameSuffix namespace commonLabels commonAnnotations patchesStrategicMerge"),
    **_plain("resources components crds bases configurations generators transformers validators buildMetadata"),
    "metadata": _plain("name namespace labels annotations"),
    "labels": {
        **_plain("pairs includeSelectors includeTemplates includeVolumeClaimTemplates"),
        "fields": _KIND | _plain("path create"),
    },
    "patches": _PATCH,
    "patchesJson6902": _PATCH,
    "images": _IMAGE,
    "imageTags": _IMAGE,
    "replacements": {
        **_plain("path sourceValue"),
        "source": {**_OBJECT, "fieldPath": None, "options": _FIELD_OPTIONS},
        "targets": {"select": _SELECTOR, "reject": _SELECTOR, "fieldPaths": None, "options": _FIELD_OPTIONS},
    },
    "replicas": _plain("name count"),
    "vars": {"name": None, "objref": _OBJECT | _plain("apiVersion"), "fieldref": _plain("fieldPath")},
    "sortOptions": {"order": None, "legacySortOptions": _plain("orderFirst orderLast")},
    "configMapGenerator": _GENERATOR,
    "secretGenerator": {**_GENERATOR, "type": None},
    "generatorOptions": _OPTIONS,
    "helmGlobals": _plain("chartHome configHome"),
    "helmCharts": _CHART,
    "helmChartInflationGenerator": _OLD_CHART,
}


def has_other_case(data: Any, fields: Fields = FIELDS) -> bool:
    """True if a key in a kustomization differs from that of its field in letter case."""
    if isinstance(data, list):
        return any(has_other_case(each, fields) for each in data)
    if not isinstance(data, dict):
        return False
    if not data.keys() <= fields.keys() and any(_field_of(key, fields) != key for key in data):
        return True
    return any(has_other_case(value, inside) for key, value in data.items() if (inside := fields.get(key)))


def _field_of(key: str, fields: Fields) -> str:
    """Return the field that a key is read as. If there is none, return the key."""
    return key if key in fields else next((each for each in fields if each.lower() == key.lower()), key)


def name_fields(data: Any, node: Any, line: Callable[[Any], int], fields: Fields = FIELDS) -> tuple[Any, Any, list[Problem]]:
    """Return a kustomization and its nodes with the fields' own names.

    With them comes a problem for each key that is dropped. *line* gives an event's line in the file.
    """
    make = type(node)
    if isinstance(data, list):
        items = [name_fields(each, child, line, fields) for each, child in zip(data, node.children, strict=True)]
        dropped = [each for *_, several in items for each in several]
        return [each for each, *_ in items], make(node.event, [child for _, child, _ in items]), dropped
    if not isinstance(data, dict):
        return data, node, []
    found: dict[str, Any] = {}
    nodes: dict[str, Any] = {}
    problems: list[Problem] = []
    for key in sorted(data):
        name, value, (event, child) = _field_of(key, fields), data[key], node.children[key]
        if inside := fields.get(name):
            value, child, wrong = name_fields(value, child, line, inside)
            problems += wrong
        if isinstance(value, dict) and isinstance(found.get(name), dict):
            value, child = {**found[name], **value}, make(child.event, {**nodes[name][1].children, **child.children})
        elif found.get(name) is not None and (value is not None or isinstance(found[name], list)):
            problems.append(duplicate(name, event, line(nodes[name][0]), counts="last"))
        if value is not None or not isinstance(found.get(name), str):
            found[name], nodes[name] = value, (event, child)
    return found, make(node.event, nodes), problems
