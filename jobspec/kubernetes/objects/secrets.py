"""The server's Go rules for a Secret.

Follows `ValidateSecret` and `ValidateSecretUpdate`, k8s.io/kubernetes pkg/apis/core/validation, 1.36, with the conversion that writes
`stringData` over `data`. No message quotes a value.
"""

from __future__ import annotations

from jobspec.diagnostics.places import Data, Key
from jobspec.diagnostics.problems import Problem, Problems
from jobspec.kubernetes.objects.configmaps import contents, immutable
from jobspec.kubernetes.objects.shared import decoded
from jobspec.kubernetes.problems import (
    fixed,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


_ACCOUNT = "kubernetes.io/service-account.name"
#: The keys of which a type needs each.
_NEEDED = {
    "kubernetes.io/dockercfg": (".dockercfg",),
    "kubernetes.io/dockerconfigjson": (".dockerconfigjson",),
    "kubernetes.io/ssh-auth": ("ssh-privatekey",),
    "kubernetes.io/tls": ("tls.crt", "tls.key"),
}
_JSON = ("kubernetes.io/dockercfg", "kubernetes.io/dockerconfigjson")


def secret_problems(secret: Data, old: Data | None, _: str) -> Problems:
    """Yield the problems of a Secret: keys, size, the type's needs, and forbidden changes.

    The type of a Secret cannot change, and an immutable Secret cannot change at all.
    """
    values = _bytes_of(secret)
    places = {_secret_key(secret, key): each for key, each in values.items()}
    yield from contents("Secret", places, "data" if secret.get("data") else "stringData")
    yield from _of_type(secret, values)
    if old is not None and _type(secret) != _type(old):
        yield fixed(("type",), f"the `type` of a Secret cannot change; it was `{_type(old)}`")
    yield from immutable("Secret", secret, old, {"data": _bytes_of})


def _type(secret: Data) -> str:
    return secret.get("type") or "Opaque"


def _bytes_of(secret: Data) -> dict[str, bytes]:
    """The bytes of each key."""
    texts = {key: value.encode(errors="replace") for key, value in secret.get("stringData", {}).items()}
    return {key: decoded(value) for key, value in secret.get("data", {}).items()} | texts


def _secret_key(secret: Data, key: str) -> tuple[str, Key]:
    return ("stringData" if key in secret.get("stringData", {}) else "data", Key(key))


def _of_type(secret: Data, values: dict[str, bytes]) -> Problems:
    kind = _type(secret)
    if kind == "kubernetes.io/service-account-token" and not secret.get("metadata", {}).get("annotations", {}).get(_ACCOUNT):
        message = f"a token's Secret needs the name of its ServiceAccount in the annotation `{_ACCOUNT}`"
        yield Problem("missing-field", ("metadata", "annotations", Key(_ACCOUNT)), message, at_key=True)
    for key in _NEEDED.get(kind, ()):
        if key not in values or (kind == "kubernetes.io/ssh-auth" and not values[key]):
            yield _missing(kind, key)
        elif kind in _JSON and not _is_json_object(values[key]):
            hint = "it is the content of Docker's file"
            yield Problem("wrong-format", _secret_key(secret, key), f"`{key}` must hold a JSON object", hint)
    if kind == "kubernetes.io/basic-auth" and values.keys().isdisjoint(("username", "password")):
        yield _missing(kind, "username")
        yield _missing(kind, "password")


def _missing(kind: str, key: str) -> Problem:
    return Problem("missing-field", ("data", Key(key)), f"a Secret of the type `{kind}` needs the key `{key}`", at_key=True)


def _is_json_object(value: bytes) -> bool:
    """True if Go reads the bytes as JSON into a map: an object, or null.

    Numbers must not be too large for Go.
    """
    import json

    try:
        found = json.loads(value.decode(errors="replace"), parse_constant=_refuse, parse_float=_finite, parse_int=_finite)
    except (ValueError, RecursionError):
        return False
    return found is None or isinstance(found, dict)


def _refuse(text: str) -> Any:
    raise ValueError(text)


def _finite(text: str) -> float:
    number = float(text)
    return number if number not in (float("inf"), float("-inf")) else _refuse(text)
