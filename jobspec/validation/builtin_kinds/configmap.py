"""What the server's Go code says of a ConfigMap.

Follows `ValidateConfigMap` and `ValidateConfigMapUpdate`, k8s.io/kubernetes pkg/apis/core/validation, 1.36.
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


def problems(config: dict[str, Any], _: Any) -> Iterator[Problem]:
    """The problems of the keys, and of the size."""
    data, binary = config.get("data", {}), config.get("binaryData", {})
    for field, keys in (("data", data), ("binaryData", binary)):
        for key in keys:
            if why := bad_data_key(key):
                yield Problem("invalid-name", (field, Key(key)), f'"{key}" is no key of a ConfigMap: {why}', at_key=True)
    for key in data.keys() & binary.keys():
        yield Problem("duplicate-item", ("data", Key(key)), f"`{key}` stands in `binaryData`, too", "remove one of the two", at_key=True)
    size = sum(len(value.encode()) for value in data.values()) + sum(len(decoded(value)) for value in binary.values())
    if size > _MOST:
        path = ("data",) if data else ("binaryData",)
        yield Problem("wrong-size", path, f"the values hold {size:,} bytes, more than the {_MOST:,} allowed", at_key=True)


def update_problems(config: dict[str, Any], old: dict[str, Any]) -> Iterator[Problem]:
    """The problems of changes to a ConfigMap that is immutable."""
    if not old.get("immutable"):
        return
    if not config.get("immutable"):
        yield fixed(("immutable",), "the ConfigMap is immutable, and stays so", "make another one")
    if config.get("data", {}) != old.get("data", {}):
        yield fixed(("data",), "the ConfigMap is immutable, so its `data` cannot change")
    if _bytes(config) != _bytes(old):
        yield fixed(("binaryData",), "the ConfigMap is immutable, so its `binaryData` cannot change")


def _bytes(config: dict[str, Any]) -> dict[str, bytes]:
    return {key: decoded(value) for key, value in config.get("binaryData", {}).items()}
