"""What a server has against a new state of a CustomResourceDefinition that it has.

A state that says nothing of its status is taken for one that is in use, with objects stored in its storage version.
"""

from __future__ import annotations

from jobspec.validation.crds.places import wrong
from jobspec.validation.structural import Problem
from jobspec.validation.wording import describe

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from jobspec.diagnostics import Path

_ALWAYS: tuple[Path, ...] = (("spec", "group"), ("spec", "names", "plural"))
_IN_USE: tuple[Path, ...] = (("spec", "scope"), ("spec", "names", "kind"))
_BUNDLE: Path = ("spec", "conversion", "webhook", "clientConfig", "caBundle")


def problems(data: dict[str, Any], old: dict[str, Any]) -> Iterator[Problem]:
    """What stands against an update of *old*, besides what stands against the definition by itself."""
    in_use = _is_in_use(old)
    for path in (*_ALWAYS, *(_IN_USE if in_use else ())):
        value, before = _at(data, path), _at(old, path)
        if value and before and value != before:
            message = f"`{path[-1]}` cannot change from {describe(before)} to {describe(value)}"
            yield Problem("immutable-field", path, message, "delete the definition, and with it its objects, or define another kind")
    yield from _stored(data, old)
    bundle, before = _at(data, _BUNDLE), _at(old, _BUNDLE)
    if in_use and bundle and not _is_bundle(bundle) and (not before or _is_bundle(before)):
        yield wrong(_BUNDLE, "`caBundle` holds no certificate: it takes certificates as PEM, in base64")


def _at(data: Any, path: Path) -> Any:
    for step in path:
        data = data.get(step) if isinstance(data, dict) else None
    return data


def _is_in_use(old: dict[str, Any]) -> bool:
    conditions = _at(old, ("status", "conditions")) or ()
    states = [each.get("status") for each in conditions if isinstance(each, dict) and each.get("type") == "Established"]
    return states == ["True"] or not _at(old, ("status",))


def _stored(data: dict[str, Any], old: dict[str, Any]) -> Iterator[Problem]:
    stored = _at(old, ("status", "storedVersions")) or [each.get("name") for each in _versions(old) if each.get("storage")]
    kept = [each.get("name") for each in _versions(data)]
    for name in stored:
        if name not in kept:
            message = f"the version `{name}` is missing, in which objects may be stored"
            hint = "keep it with `served: false` until the objects are stored in another one, and `status.storedVersions` says so"
            yield Problem("immutable-field", ("spec", "versions"), message, hint)


def _versions(data: dict[str, Any]) -> list[dict[str, Any]]:
    found = _at(data, ("spec", "versions"))
    return [each for each in found if isinstance(each, dict)] if isinstance(found, list) else []


def _is_bundle(text: str) -> bool:
    """Whether a text in base64 holds a certificate as PEM."""
    import ssl
    from base64 import b64decode

    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_verify_locations(cadata=b64decode(text).decode("ascii"))
    except (ssl.SSLError, ValueError):
        return False
    return True
