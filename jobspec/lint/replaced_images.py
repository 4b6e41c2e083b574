"""Images that a program of the cluster replaces: Istio's injector, and OpenShift's image triggers.

Follows `ContainerForObjectFieldPath`, openshift/library-go pkg/image/trigger, and the injection webhook of Istio (IST0146).
"""

from __future__ import annotations

from jobspec.diagnostics.places import value_at
from jobspec.go.values import mapping, structs, text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from jobspec.apis.kinds import GroupKind
    from jobspec.diagnostics.places import Path
    from jobspec.lint.linted import LintedDocument

_ISTIO_PROXY, _ISTIO_TEMPLATES = "istio-proxy", "inject.istio.io/templates"
_AUTO = "auto"
_TRIGGERS = "image.openshift.io/triggers"
#: The kinds whose annotation OpenShift's controller reads.
_TRIGGERED: frozenset[GroupKind] = frozenset(
    (
        *(("apps", kind) for kind in ("DaemonSet", "Deployment", "StatefulSet")),
        *(("batch", kind) for kind in ("CronJob", "Job")),
        *(("", kind) for kind in ("Pod", "ReplicationController")),
    )
)
_DEPLOYMENT_CONFIG: GroupKind = ("apps.openshift.io", "DeploymentConfig")
_FIELDS = ("containers", "initContainers")


def containers_with_replaced_image(document: LintedDocument) -> frozenset[str]:
    """Return the names of the containers whose image a program of the cluster replaces."""
    return frozenset((*_injected(document), *_triggered(document)))


def _injected(document: LintedDocument) -> Iterator[str]:
    """Yield the containers with `image: auto` that Istio's injector fills in, those of gateways for example."""
    for path, spec in document.pod_specs:
        annotations = mapping(value_at(document.given.data, path[:-1]), "metadata", "annotations")
        for each in (each for field in _FIELDS for each in structs(spec, field)):
            if text(each, "image") == _AUTO and (_ISTIO_TEMPLATES in annotations or text(each, "name") == _ISTIO_PROXY):
                yield text(each, "name")


def _triggered(document: LintedDocument) -> Iterator[str]:
    """Yield the containers whose image OpenShift's controller takes from an image stream."""
    given = document.given
    if given.group_kind == _DEPLOYMENT_CONFIG:
        for each in structs(given.data, "spec", "triggers"):
            names = mapping(each, "imageChangeParams").get("containerNames")
            yield from map(str, names if isinstance(names, list) else ())
    written = text(mapping(given.data, "metadata", "annotations"), _TRIGGERS) if given.group_kind in _TRIGGERED else ""
    for trigger in _triggers_in(written):
        if not trigger.get("paused"):
            yield from (name for path, spec in document.pod_specs if (name := _container_at(text(trigger, "fieldPath"), path, spec)))


def _triggers_in(written: str) -> list[dict[str, Any]]:
    """Return the triggers of an annotation; none if it is not JSON, which the controller cannot read either."""
    if not written:
        return []
    import json

    try:
        return structs({"triggers": json.loads(written)}, "triggers")
    except (ValueError, RecursionError):
        return []


def _container_at(field_path: str, path: Path, spec: dict[str, Any]) -> str:
    """Return the name of the container whose image a field path names, by name or by index; empty if there is none."""
    for field in _FIELDS:
        begin, end = f"{'.'.join(map(str, path))}.{field}[", "].image"
        if field_path.startswith(begin) and field_path.endswith(end):
            selector, containers = field_path[len(begin) : -len(end)], structs(spec, field)
            if selector.isdecimal():
                return text(containers[int(selector)], "name") if int(selector) < len(containers) else ""
            return selector.removeprefix('?(@.name=="').removesuffix('")')
    return ""
