"""Kueue's own Configuration: fields that a version of it lacks, and frameworks that Kueue refuses. The manager ends at the first.

Follows the types of apis/config/v1beta1 and v1beta2, sigs.k8s.io/kueue 0.14.8, 0.15.0 and 0.19.2 together, `fromFile` of pkg/config, which
decodes strictly, and `validateIntegrations`, 0.19.2.
"""

from __future__ import annotations

import re

from jobspec.apis.kinds import QUEUE_CONFIGURATION
from jobspec.apis.releases import is_at_least
from jobspec.diagnostics.places import Path
from jobspec.go.values import items, mapping, structs, text
from jobspec.kubernetes.problems import closest
from jobspec.operators.kueue.versions import FRAMEWORKS, RELEASE, REMOVED_FRAMEWORKS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from typing import Any

    from jobspec.diagnostics.diagnostic import Diagnostic, Severity
    from jobspec.documents.document import Document

    #: The names of fields with those below; None where any may follow, or none can.
    Fields = Mapping[str, "Fields | None"]


def _fields(names: str, **nested: Fields | None) -> Fields:
    return {**dict.fromkeys(names.split()), **nested}


_DEVICE_SOURCE = _fields("name driver deviceSelector")
_OF_BOTH: Fields = _fields(
    "apiVersion kind namespace pprofBindAddress manageJobsWithoutQueueName managedJobsNamespaceSelector featureGates",
    webhook=_fields("port host certDir"),
    leaderElection=_fields("leaderElect leaseDuration renewDeadline retryPeriod resourceLock resourceName resourceNamespace"),
    metrics=_fields(
        "bindAddress enableClusterQueueResources",
        customLabels=_fields("name sourceLabelKey sourceAnnotationKey sourceKind trackedValues"),
        localQueueMetrics=_fields("enable localQueueSelector"),
    ),
    health=_fields("healthProbeBindAddress readinessEndpointName livenessEndpointName"),
    controller=_fields("groupKindConcurrency cacheSyncTimeout"),
    tls=_fields("minVersion cipherSuites curvePreferences"),
    internalCertManagement=_fields("enable webhookServiceName webhookSecretName"),
    waitForPodsReady=_fields(
        "timeout blockAdmission recoveryTimeout",
        requeuingStrategy=_fields("timestamp backoffLimitCount backoffBaseSeconds backoffMaxSeconds"),
    ),
    clientConnection=_fields("qps burst"),
    integrations=_fields("frameworks externalFrameworks labelKeysToCopy"),
    multiKueue=_fields("gcInterval origin workerLostTimeout dispatcherName", externalFrameworks=_fields("name")),
    fairSharing=_fields("preemptionStrategies"),
    admissionFairSharing=_fields("usageHalfLifeTime usageSamplingInterval resourceWeights"),
    resources=_fields(
        "excludeResourcePrefixes",
        transformations=_fields("input strategy multiplyBy outputs"),
        deviceClassMappings=_fields("name deviceClassNames"),
    ),
    objectRetentionPolicies=_fields("", workloads=_fields("afterFinished afterDeactivatedByKueue")),
)
_OF_ONE: dict[str, Fields] = {
    "v1beta1": {
        "waitForPodsReady": _fields("enable"),
        "integrations": _fields("", podOptions=_fields("namespaceSelector podSelector")),
        "queueVisibility": _fields("updateIntervalSeconds", clusterQueues=_fields("maxCount")),
        "fairSharing": _fields("enable"),
    },
    "v1beta2": {
        "multiKueue": _fields(
            "", clusterProfile=_fields("accessProviders credentialsProviders"), incrementalDispatcherConfig=_fields("stepSize")
        ),
        "resources": _fields(
            "quotaCheckStrategy", deviceClassMappings=_fields("", sources=_fields("", counter=_DEVICE_SOURCE, capacity=_DEVICE_SOURCE))
        ),
        "visibilityServer": _fields("bindAddress bindPort"),
    },
}


def _with(fields: Fields, more: Fields) -> Fields:
    """Return fields with more of them, at each level."""
    found = dict(fields)
    for name, below in more.items():
        own = found.get(name)
        found[name] = _with(own, below) if own and below else own or below
    return found


_VERSIONS = {f"{QUEUE_CONFIGURATION[0]}/{version}": _with(_OF_BOTH, more) for version, more in _OF_ONE.items()}


def knows_version(document: Document) -> bool:
    """True if a document is Kueue's Configuration in a known version."""
    return document.group_kind == QUEUE_CONFIGURATION and document.api_version in _VERSIONS


def configuration_problems(document: Document, beside: Iterable[Document] = ()) -> Iterator[Diagnostic]:
    """Yield a warning for each unknown field, and for each framework that Kueue refuses.

    *beside*: the documents of the same file or build. The Deployment of the manager among them may say its release.
    """
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


def _unknown(data: Any, fields: Fields, path: Path) -> Iterator[tuple[Path, str, Fields]]:
    """Yield the path, the name and the known siblings of each unknown field."""
    if isinstance(data, list):
        for index, each in enumerate(data):
            yield from _unknown(each, fields, (*path, index))
    for name, value in data.items() if isinstance(data, dict) else ():
        if name not in fields:
            yield path, name, fields
        elif below := fields[name]:
            yield from _unknown(value, below, (*path, name))


def _moved(path: Path, name: str, version: str) -> str:
    """Return the hint for a field that another version has; else an empty string."""
    for other, fields in _VERSIONS.items():
        below: Fields | None = fields
        for step in path:
            below = (below or {}).get(str(step), below) if not isinstance(step, int) else below
        if other != version and name in (below or {}):
            return f"only {other.rpartition('/')[2]} has it; remove it, or write that version"
    return ""
