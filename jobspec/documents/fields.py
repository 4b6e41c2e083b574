"""A field as API servers spell it, to the path in a document's data."""

from __future__ import annotations

import re
from typing import Any

from jobspec.diagnostics.places import Key, Path, value_at
from jobspec.diagnostics.wording import as_text

_FIELD = re.compile(r"\.?([^.\[]+)")
_BRACKETS = re.compile(r"\[(.*?)\](?=[.\[]|$)")
_ITEM_KEY = re.compile(r'(\w*)=("(?:[^"\\]|\\.)*"|[^,]*),?')


def path_of(field: str, data: Any) -> Path:
    """Return the path in *data* of a *field* that a server names. Unknown steps stay as spelt.

    Servers spell one place in several ways: `spec.replicaSpecs[Worker]` and `spec.replicaSpecs.Worker`, also with keys that contain dots;
    `containers[0]` and `containers[name="a"]`; some begin with a dot.
    """
    path: list[str | int] = []
    rest = field.removeprefix(".")
    while rest:
        step, rest = _next(rest, data)
        if step is None:
            break
        path.append(step)
        data = value_at(data, (step,))
    return tuple(path)


def _next(rest: str, data: Any) -> tuple[str | int | None, str]:
    """Split the first step off the *rest* of a field. If it cannot be read, the step is None."""
    if rest.startswith("["):
        return _in_brackets(rest, data)
    rest = rest.removeprefix(".")
    if isinstance(data, dict):
        ends = (at for at in range(len(rest), 0, -1) if rest[at : at + 1] in ("", ".", "["))
        for end in ends:  # a key may contain dots: the longest one counts
            if rest[:end] in data:
                return rest[:end], rest[end:]
    found = _FIELD.match(rest)
    return (_as_written(found[1], data), rest[found.end() :]) if found else (None, "")


def _as_written(step: str, data: Any) -> str:
    """The step as the data spell it: some servers write other capitals, as in `spec.RuntimeRef`."""
    return next((key for key in data if key.lower() == step.lower()), step) if isinstance(data, dict) else step


def _in_brackets(rest: str, data: Any) -> tuple[str | int | None, str]:
    end = rest.rfind("]") if isinstance(data, dict) else 0
    while end > 0:  # a key may contain brackets: the longest one counts
        if rest[1:end] in data:
            return Key(rest[1:end]), rest[end + 1 :]
        end = rest.rfind("]", 0, end)
    found = _BRACKETS.match(rest)
    if not found:
        return None, ""
    inside, rest = found[1], rest[found.end() :]
    if inside.isdigit():
        return int(inside), rest
    if isinstance(data, list):
        return _index(inside, data), rest
    return Key(inside), rest


def _index(keys: str, items: list[Any]) -> int | None:
    """Return the index of the item with these keys, `name="a"`, or this value, `="a"`.

    If there is no such item, return None.
    """
    wanted = {name: value.strip('"') for name, value in _ITEM_KEY.findall(keys)}
    for number, item in enumerate(items):
        if all(as_text(item.get(name) if name and isinstance(item, dict) else item) == value for name, value in wanted.items()):
            return number
    return None
