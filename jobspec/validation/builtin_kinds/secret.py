"""What the server's Go code says of a Secret.

Follows `ValidateSecret` and `ValidateSecretUpdate`, k8s.io/kubernetes pkg/apis/core/validation, 1.36, with the conversion that writes
`stringData` over `data`. No message quotes a value.
"""

from __future__ import annotations

from jobspec.diagnostics import Key
from jobspec.validation.builtin_kinds.texts import bad_data_key, decoded, fixed
from jobspec.validation.problem import Problem

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

_MOST = 1024 * 1024
_ACCOUNT = "kubernetes.io/service-account.name"
#: The keys of which a type needs each.
_NEEDED = {
    "kubernetes.io/dockercfg": (".dockercfg",),
    "kubernetes.io/dockerconfigjson": (".dockerconfigjson",),
    "kubernetes.io/ssh-auth": ("ssh-privatekey",),
    "kubernetes.io/tls": ("tls.crt", "tls.key"),
}
_JSON = ("kubernetes.io/dockercfg", "kubernetes.io/dockerconfigjson")


def problems(secret: dict[str, Any], _: Any) -> Iterator[Problem]:
    """The problems of the keys, of the size, and of what the type needs."""
    values = _values(secret)
    for key in values:
        if why := bad_data_key(key):
            yield Problem("invalid-name", _place(secret, key), f'"{key}" is no key of a Secret: {why}', at_key=True)
    size = sum(map(len, values.values()))
    if size > _MOST:
        field = "data" if secret.get("data") else "stringData"
        yield Problem("wrong-size", (field,), f"the values hold {size:,} bytes, more than the {_MOST:,} allowed", at_key=True)
    yield from _of_type(secret, values)


def update_problems(secret: dict[str, Any], old: dict[str, Any]) -> Iterator[Problem]:
    """The problems of a changed type, and of changes to a Secret that is immutable."""
    if _type(secret) != _type(old):
        yield fixed(("type",), f"the `type` of a Secret cannot change; it was `{_type(old)}`")
    if not old.get("immutable"):
        return
    if not secret.get("immutable"):
        yield fixed(("immutable",), "the Secret is immutable, and stays so", "make another one")
    if _values(secret) != _values(old):
        yield fixed(("data",), "the Secret is immutable, so its `data` cannot change")


def _type(secret: dict[str, Any]) -> str:
    return secret.get("type") or "Opaque"


def _values(secret: dict[str, Any]) -> dict[str, bytes]:
    """The bytes of each key."""
    texts = {key: value.encode(errors="replace") for key, value in secret.get("stringData", {}).items()}
    return {key: decoded(value) for key, value in secret.get("data", {}).items()} | texts


def _place(secret: dict[str, Any], key: str) -> tuple[str, Key]:
    return ("stringData" if key in secret.get("stringData", {}) else "data", Key(key))


def _of_type(secret: dict[str, Any], values: dict[str, bytes]) -> Iterator[Problem]:
    kind = _type(secret)
    if kind == "kubernetes.io/service-account-token" and not secret.get("metadata", {}).get("annotations", {}).get(_ACCOUNT):
        path = ("metadata", "annotations", Key(_ACCOUNT))
        yield Problem("missing-field", path, f"a token's Secret names its ServiceAccount in the annotation `{_ACCOUNT}`", at_key=True)
    for key in _NEEDED.get(kind, ()):
        if key not in values or (kind == "kubernetes.io/ssh-auth" and not values[key]):
            yield _missing(kind, key)
        elif kind in _JSON and not _is_json_object(values[key]):
            yield Problem("wrong-format", _place(secret, key), f"`{key}` has to hold a JSON object", "it is the content of Docker's file")
    if kind == "kubernetes.io/basic-auth" and values.keys().isdisjoint(("username", "password")):
        yield _missing(kind, "username")
        yield _missing(kind, "password")


def _missing(kind: str, key: str) -> Problem:
    return Problem("missing-field", ("data", Key(key)), f"a Secret of the type `{kind}` needs the key `{key}`", at_key=True)


def _is_json_object(value: bytes) -> bool:
    """Whether Go reads the bytes as JSON into a map: an object, or null, without numbers that are too large for it."""
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
