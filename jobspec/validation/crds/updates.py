"""Check the update of a CustomResourceDefinition.

Follows `ValidateCustomResourceDefinitionUpdate`, k8s.io/apiextensions-apiserver pkg/apis/apiextensions/validation/validation.go, 1.36. An
old definition without status is assumed to be established, with objects stored in its storage version.
"""

from __future__ import annotations

from jobspec.validation.crds.invalid import invalid
from jobspec.validation.problem import Problem
from jobspec.validation.reading import at
from jobspec.validation.wording import describe

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from jobspec.diagnostics import Path

_ALWAYS: tuple[Path, ...] = (("spec", "group"), ("spec", "names", "plural"))
_WHEN_ESTABLISHED: tuple[Path, ...] = (("spec", "scope"), ("spec", "names", "kind"))
_BUNDLE: Path = ("spec", "conversion", "webhook", "clientConfig", "caBundle")


def update_problems(data: dict[str, Any], old: dict[str, Any]) -> Iterator[Problem]:
    """The problems of an update of *old* that a new definition does not have."""
    is_established = _is_established(old)
    for path in (*_ALWAYS, *(_WHEN_ESTABLISHED if is_established else ())):
        value, before = at(data, path), at(old, path)
        if value and before and value != before:
            message = f"`{path[-1]}` cannot change from {describe(before)} to {describe(value)}"
            yield Problem("immutable-field", path, message, "delete the definition, and with it its objects, or define another kind")
    yield from _stored(data, old)
    bundle, before = at(data, _BUNDLE), at(old, _BUNDLE)
    if is_established and bundle and not _is_bundle(bundle) and (not before or _is_bundle(before)):
        yield invalid(_BUNDLE, "`caBundle` holds no certificate: it takes certificates as PEM, in base64")


def _is_established(old: dict[str, Any]) -> bool:
    conditions = at(old, ("status", "conditions")) or ()
    states = [each.get("status") for each in conditions if isinstance(each, dict) and each.get("type") == "Established"]
    return states == ["True"] or not at(old, ("status",))


def _stored(data: dict[str, Any], old: dict[str, Any]) -> Iterator[Problem]:
    stored = at(old, ("status", "storedVersions")) or [each.get("name") for each in _versions(old) if each.get("storage")]
    kept = [each.get("name") for each in _versions(data)]
    for name in stored:
        if name not in kept:
            message = f"the version `{name}` is missing, in which objects may be stored"
            hint = "keep it with `served: false` until the objects are stored in another one, and `status.storedVersions` says so"
            yield Problem("immutable-field", ("spec", "versions"), message, hint)


def _versions(data: dict[str, Any]) -> list[dict[str, Any]]:
    found = at(data, ("spec", "versions"))
    return [each for each in found if isinstance(each, dict)] if isinstance(found, list) else []


def _is_bundle(text: str) -> bool:
    """Whether a base64 text holds certificates in PEM."""
    import ssl
    from base64 import b64decode

    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_verify_locations(cadata=b64decode(text).decode("ascii"))
    except (ssl.SSLError, ValueError):
        return False
    return True
