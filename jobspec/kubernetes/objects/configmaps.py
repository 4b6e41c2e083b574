"""The server's Go rules for a ConfigMap.

Follows `ValidateConfigMap` and `ValidateConfigMapUpdate`, k8s.io/kubernetes pkg/apis/core/validation, 1.36.
"""

from __future__ import annotations

from jobspec.diagnostics.places import Data, Key
from jobspec.diagnostics.problems import Problem, Problems
from jobspec.kubernetes.objects.shared import decoded
from jobspec.kubernetes.pods.containers import bad_data_key
from jobspec.kubernetes.problems import (
    fixed,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


_MOST = 1024 * 1024


def configmap_problems(config: Data, old: Data | None, _: str) -> Problems:
    """Yield the problems of a ConfigMap: keys, size, and changes to an immutable one."""
    data, binary = config.get("data", {}), _bytes(config)
    for key in data.keys() & binary.keys():
        yield Problem("duplicate-item", ("data", Key(key)), f"`{key}` is in `binaryData`, too", "remove one of the two", at_key=True)
    values = {("data", Key(key)): each.encode() for key, each in data.items()}
    values |= {("binaryData", Key(key)): each for key, each in binary.items()}
    yield from contents("ConfigMap", values, "data" if data else "binaryData")
    yield from immutable("ConfigMap", config, old, {"data": lambda each: each.get("data", {}), "binaryData": _bytes})


def contents(kind: str, values: dict[tuple[str, Key], bytes], field: str) -> Problems:
    """Yield the problems of an object's keys, and of the size of their values.

    *field*: the field where the size is reported.
    """
    for path in values:
        if why := bad_data_key(path[1]):
            yield Problem("invalid-name", path, f'"{path[1]}" is not a key of a {kind}: {why}', at_key=True)
    size = sum(map(len, values.values()))
    if size > _MOST:
        yield Problem("wrong-size", (field,), f"the values hold {size:,} bytes, more than the {_MOST:,} allowed", at_key=True)


def immutable(kind: str, made: Data, old: Data | None, contents: dict[str, Callable[[Any], Any]]) -> Problems:
    """Yield the problems of changes to an object that is immutable.

    *contents*: returns the content of each of the object's fields.
    """
    if not old or not old.get("immutable"):
        return
    if not made.get("immutable"):
        yield fixed(("immutable",), f"the {kind} is immutable, which cannot be undone", "create another one")
    for field, content in contents.items():
        if content(made) != content(old):
            yield fixed((field,), f"the {kind} is immutable, so its `{field}` cannot change")


def _bytes(config: Data) -> dict[str, bytes]:
    return {key: decoded(value) for key, value in config.get("binaryData", {}).items()}
