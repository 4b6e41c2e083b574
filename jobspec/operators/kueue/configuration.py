"""Kueue's own Configuration: unknown fields, values of other types, and choices that Kueue refuses. The manager ends at the first.

Follows the types of apis/config/v1beta1 and v1beta2, sigs.k8s.io/kueue 0.14.8, 0.15.0 and 0.19.2 together, `fromFile` of pkg/config, which
decodes strictly, and `validateIntegrations`, `validateWaitForPodsReady`, `validateFairSharing`, `validateResourceTransformations` and
`validateManagedJobsNamespaceSelector`, 0.19.2.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

from jobspec.apis.kinds import QUEUE_CONFIGURATION
from jobspec.apis.releases import is_at_least
from jobspec.diagnostics.places import Key, Path
from jobspec.go.text_formats import go_nanoseconds
from jobspec.go.values import items, mapping, structs, text
from jobspec.kubernetes.label_selectors import selector_problems
from jobspec.kubernetes.problems import closest, describe, listed, name_of
from jobspec.operators.kueue.versions import FRAMEWORKS, RELEASE, REMOVED_FRAMEWORKS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any

    from jobspec.diagnostics.diagnostic import Diagnostic, Severity
    from jobspec.documents.document import Document


class TypedField(NamedTuple):
    """The type of a field, and the fields below it."""

    type: str
    """A word of `_WORDS`, such as `boolean`; `[string]` is a list, `{boolean}` a mapping with such values; empty for any value."""
    below: Fields | None = None


#: The fields of an object, by name.
Fields = Mapping[str, TypedField]


def _fields(names: str, **nested: Fields | list[Fields]) -> Fields:
    """Return fields. *names*: the plain ones, strings unless they say another type; *nested*: objects, and lists of objects."""
    found = {name: TypedField(type_ if said else "string") for name, said, type_ in (each.partition(":") for each in names.split())}
    for name, below in nested.items():
        found[name] = TypedField("[object]", below[0]) if isinstance(below, list) else TypedField("object", below)
    return found


_DEVICE_SOURCE = _fields("name driver deviceSelector:")
_OF_BOTH: Fields = _fields(
    "apiVersion kind namespace pprofBindAddress manageJobsWithoutQueueName:boolean managedJobsNamespaceSelector: featureGates:{boolean}",
    webhook=_fields("port:integer host certDir"),
    leaderElection=_fields(
        "leaderElect:boolean leaseDuration:duration renewDeadline:duration retryPeriod:duration resourceLock resourceName resourceNamespace"
    ),
    metrics=_fields(
        "bindAddress enableClusterQueueResources:boolean",
        customLabels=[_fields("name sourceLabelKey sourceAnnotationKey sourceKind trackedValues:[string]")],
        localQueueMetrics=_fields("enable:boolean localQueueSelector:"),
    ),
    health=_fields("healthProbeBindAddress readinessEndpointName livenessEndpointName"),
    controller=_fields("groupKindConcurrency:{integer} cacheSyncTimeout:nanoseconds"),
    tls=_fields("minVersion cipherSuites:[string] curvePreferences:[integer]"),
    internalCertManagement=_fields("enable:boolean webhookServiceName webhookSecretName"),
    waitForPodsReady=_fields(
        "timeout:duration blockAdmission:boolean recoveryTimeout:duration",
        requeuingStrategy=_fields("timestamp backoffLimitCount:integer backoffBaseSeconds:integer backoffMaxSeconds:integer"),
    ),
    clientConnection=_fields("qps:number burst:integer"),
    integrations=_fields("frameworks:[string] externalFrameworks:[string] labelKeysToCopy:[string]"),
    multiKueue=_fields(
        "gcInterval:duration origin workerLostTimeout:duration dispatcherName",
        externalFrameworks=[_fields("name")],
    ),
    fairSharing=_fields("preemptionStrategies:[string]"),
    admissionFairSharing=_fields("usageHalfLifeTime:duration usageSamplingInterval:duration resourceWeights:{number}"),
    resources=_fields(
        "excludeResourcePrefixes:[string]",
        transformations=[_fields("input strategy multiplyBy outputs:")],
        deviceClassMappings=[_fields("name deviceClassNames:[string]")],
    ),
    objectRetentionPolicies=_fields("", workloads=_fields("afterFinished:duration afterDeactivatedByKueue:duration")),
)
_OF_ONE: dict[str, Fields] = {
    "v1beta1": {
        "waitForPodsReady": TypedField("object", _fields("enable:boolean")),
        "integrations": TypedField("object", _fields("", podOptions=_fields("namespaceSelector: podSelector:"))),
        "queueVisibility": TypedField("object", _fields("updateIntervalSeconds:integer", clusterQueues=_fields("maxCount:integer"))),
        "fairSharing": TypedField("object", _fields("enable:boolean")),
    },
    "v1beta2": {
        "multiKueue": TypedField(
            "object",
            _fields(
                "",
                clusterProfile=_fields("accessProviders: credentialsProviders:"),
                incrementalDispatcherConfig=_fields("stepSize:integer"),
            ),
        ),
        "resources": TypedField(
            "object",
            _fields(
                "quotaCheckStrategy",
                deviceClassMappings=[_fields("", sources=[_fields("", counter=_DEVICE_SOURCE, capacity=_DEVICE_SOURCE)])],
            ),
        ),
        "visibilityServer": TypedField("object", _fields("bindAddress bindPort:integer")),
    },
}
#: Type -> what it is called.
_WORDS = {
    "string": "a string",
    "boolean": "a boolean",
    "integer": "an integer",
    "number": "a number",
    "nanoseconds": "an integer of nanoseconds",
    "duration": "a duration such as `5m`",
    "object": "an object",
}
#: The fields of which the value is one of some -> these values.
_CHOICES: dict[Path, tuple[str, ...]] = {
    ("waitForPodsReady", "requeuingStrategy", "timestamp"): ("Creation", "Eviction"),
    ("resources", "transformations", "strategy"): ("Retain", "Replace"),
    ("fairSharing", "preemptionStrategies"): ("LessThanOrEqualToFinalShare", "LessThanInitialShare"),
}


def _with(fields: Fields, more: Fields) -> Fields:
    """Return fields with more of them, at each level."""
    found = dict(fields)
    for name, each in more.items():
        own = found.get(name)
        found[name] = TypedField(own.type, _with(own.below, each.below)) if own and own.below and each.below else own or each
    return found


_VERSIONS = {f"{QUEUE_CONFIGURATION[0]}/{version}": _with(_OF_BOTH, more) for version, more in _OF_ONE.items()}


def knows_version(document: Document) -> bool:
    """True if a document is Kueue's Configuration in a known version."""
    return document.group_kind == QUEUE_CONFIGURATION and document.api_version in _VERSIONS


def configuration_problems(document: Document, beside: Iterable[Document] = ()) -> Iterator[Diagnostic]:
    """Yield a warning for each field, value and choice with which the manager does not start.

    *beside*: the documents of the same file or build. The Deployment of the manager among them may say its release.
    """
    yield from _mistyped(document, document.data, TypedField("object", _VERSIONS[document.api_version]), ())
    yield from _refused_choices(document)
    for path, name, known in _unknown(document.data, _VERSIONS[document.api_version], ()):
        message = f"unknown field `{name}`: Kueue's manager does not start with it"
        hint = _moved(path, name, document.api_version) or closest(name, known)
        yield document.problem("unknown-field", message, (*path, name), at_key=True, hint=hint, severity="warning")
    frameworks = list(items(mapping(document.data, "integrations"), "frameworks"))
    for index, each in enumerate(frameworks):
        place = ("integrations", "frameworks", index)
        if isinstance(each, str) and each not in FRAMEWORKS:
            removed, release = REMOVED_FRAMEWORKS.get(each, ""), _release_of_manager(beside)
            severity: Severity = "info" if removed and not release else "warning"
            if removed and release and not is_at_least(release, removed):
                continue
            if removed:
                message = f"Kueue {release or f'from {removed} on'} does not start with the framework `{each}`"
                hint = "remove it" if release else "remove it before Kueue is upgraded"
            else:
                message, hint = f"unknown framework `{each}`: Kueue {RELEASE}'s manager does not start with it", closest(each, FRAMEWORKS)
            yield document.problem("unsupported-choice", message, place, hint=hint, severity=severity)
        elif each in frameworks[:index]:
            message = f"duplicate framework `{each}`: Kueue's manager does not start with it"
            yield document.problem("duplicate-item", message, place, hint="remove it", severity="warning")


_DEPLOYMENT = ("apps", "Deployment")
_IMAGE = re.compile(r"(?:.*/)?kueue:v?(\d+\.\d+(?:\.\d+)?)(?![\d.])")


def _release_of_manager(documents: Iterable[Document]) -> str:
    """Return the release of Kueue's manager by the tag of its image in a Deployment; empty if no Deployment says it."""
    deployments = (each for each in documents if each.group_kind == _DEPLOYMENT)
    containers = (one for each in deployments for one in structs(each.data, "spec", "template", "spec", "containers"))
    return next((found[1] for each in containers if (found := _IMAGE.match(text(each, "image")))), "")


def _mistyped(document: Document, value: Any, field: TypedField, path: Path) -> Iterator[Diagnostic]:
    """Yield a warning for each value that Go does not decode into the type of its field."""
    inner, is_list, is_mapping = field.type.strip("[]{}"), field.type.startswith("["), field.type.startswith("{")
    if value is None or not inner:
        return
    if is_list or is_mapping:
        if isinstance(value, list if is_list else dict):
            for step, each in enumerate(value) if is_list else [(Key(name), value[name]) for name in value]:
                yield from _mistyped(document, each, TypedField(inner, field.below), (*path, step))
        else:
            yield _of_other_type(document, value, "a list" if is_list else "an object", path)
    elif not _fits(value, inner):
        rule = "wrong-format" if inner == "duration" and isinstance(value, str) else "wrong-type"
        yield _of_other_type(document, value, _WORDS[inner], path, rule)
    else:
        for name, each in (field.below or {}).items():
            yield from _mistyped(document, value.get(name), each, (*path, name))


def _fits(value: Any, type_: str) -> bool:
    """True if Go decodes a value into a type."""
    if isinstance(value, bool):
        return type_ == "boolean"
    if isinstance(value, (int, float)):
        return type_ == "number" or (type_ in ("integer", "nanoseconds") and (isinstance(value, int) or value.is_integer()))
    if isinstance(value, str):
        return type_ == "string" or (type_ == "duration" and go_nanoseconds(value) is not None)
    return isinstance(value, dict) and type_ == "object"


def _of_other_type(document: Document, value: Any, wanted: str, path: Path, rule: str = "wrong-type") -> Diagnostic:
    message = f"{name_of(path)}: expected {wanted}, got {describe(value)}: Kueue's manager does not start with it"
    return document.problem(rule, message, path, severity="warning")


def _refused_choices(document: Document) -> Iterator[Diagnostic]:
    """Yield a warning for each value that Kueue does not know, and for the selector of namespaces."""
    for path, known in _CHOICES.items():
        for place, value in _values_at(document.data, path, ()):
            if isinstance(value, str) and value not in known:
                message = (
                    f"{name_of(place)}: expected one of {listed(known)}, got {describe(value)}: Kueue's manager does not start with it"
                )
                yield document.problem("unsupported-choice", message, place, hint=closest(value, known), severity="warning")
    for each in selector_problems(document.data.get("managedJobsNamespaceSelector"), ("managedJobsNamespaceSelector",)):
        message = f"{each.message}: Kueue's manager does not start with it"
        yield document.problem(each.rule, message, each.path, at_key=each.at_key, hint=each.hint, severity="warning")


def _values_at(data: Any, path: Path, place: Path) -> Iterator[tuple[Path, Any]]:
    """Yield the values at a path with their places; those in lists one by one."""
    if isinstance(data, list):
        for index, each in enumerate(data):
            yield from _values_at(each, path, (*place, index))
    elif not path:
        yield place, data
    elif isinstance(data, dict) and path[0] in data:
        yield from _values_at(data[path[0]], path[1:], (*place, path[0]))


def _unknown(data: Any, fields: Fields, path: Path) -> Iterator[tuple[Path, str, Fields]]:
    """Yield the path, the name and the known siblings of each unknown field."""
    if isinstance(data, list):
        for index, each in enumerate(data):
            yield from _unknown(each, fields, (*path, index))
    for name, value in data.items() if isinstance(data, dict) else ():
        if name not in fields:
            yield path, name, fields
        elif below := fields[name].below:
            yield from _unknown(value, below, (*path, name))


def _moved(path: Path, name: str, version: str) -> str:
    """Return the hint for a field that another version has; else an empty string."""
    for other, fields in _VERSIONS.items():
        below: Fields | None = fields
        for step in (each for each in path if not isinstance(each, int)):
            below = found.below if (found := (below or {}).get(str(step))) else below
        if other != version and name in (below or {}):
            return f"only {other.rpartition('/')[2]} has it; remove it, or write that version"
    return ""
