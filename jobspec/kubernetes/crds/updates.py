"""Check the update of a CustomResourceDefinition.

Follows `ValidateCustomResourceDefinitionUpdate`, k8s.io/apiextensions-apiserver pkg/apis/apiextensions/validation/validation.go, 1.36. An
old definition without status is assumed to be established, with objects stored in its storage version.
"""

from __future__ import annotations

from jobspec.diagnostics.places import Data, Path, value_at
from jobspec.diagnostics.problems import Problem, Problems
from jobspec.go.values import mapping, structs, text, texts
from jobspec.kubernetes.crds.names import versions_of
from jobspec.kubernetes.crds.schema_walk import invalid
from jobspec.kubernetes.problems import describe

_ALWAYS: tuple[Path, ...] = (("spec", "group"), ("spec", "names", "plural"))
_WHEN_ESTABLISHED: tuple[Path, ...] = (("spec", "scope"), ("spec", "names", "kind"))
_BUNDLE: Path = ("spec", "conversion", "webhook", "clientConfig", "caBundle")


def update_problems(data: Data, old: Data) -> Problems:
    """Yield the problems of an update of *old* that a new definition does not have."""
    conditions = [each for each in structs(old, "status", "conditions") if each.get("type") == "Established"]
    is_established = [each.get("status") for each in conditions] == ["True"] or not value_at(old, ("status",))
    for path in (*_ALWAYS, *(_WHEN_ESTABLISHED if is_established else ())):
        value, before = value_at(data, path), value_at(old, path)
        if value and before and value != before:
            message = f"`{path[-1]}` cannot change from {describe(before)} to {describe(value)}"
            yield Problem("immutable-field", path, message, "delete the definition, and with it its objects, or define another kind")
    yield from _stored(data, old)
    bundle, before = value_at(data, _BUNDLE), value_at(old, _BUNDLE)
    if is_established and bundle and not _is_bundle(bundle) and (not before or _is_bundle(before)):
        yield invalid(_BUNDLE, "`caBundle` holds no certificate: expected PEM certificates in base64")


def _stored(data: Data, old: Data) -> Problems:
    stored = texts(mapping(old, "status"), "storedVersions") or [text(each, "name") for each in versions_of(old) if each.get("storage")]
    kept = [each.get("name") for each in versions_of(data)]
    for name in stored:
        if name not in kept:
            message = f"the version `{name}` is missing, in which objects may be stored"
            hint = "keep it with `served: false` until the objects are stored in another one, and `status.storedVersions` says so"
            yield Problem("immutable-field", ("spec", "versions"), message, hint)


def _is_bundle(text: str) -> bool:
    """Whether a base64 text holds certificates in PEM."""
    import ssl
    from base64 import b64decode

    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_verify_locations(cadata=b64decode(text).decode("ascii"))
    except (ssl.SSLError, ValueError):
        return False
    return True
