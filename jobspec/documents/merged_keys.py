"""Keys that a mapping sets more than once: by merge keys (`<<: *base`), or by mistake.

Follows `decoder.merge`, go.yaml.in/yaml/v2 decode.go, v2.4.4, not in strict mode.
"""

from __future__ import annotations

from jobspec.documents.scalars import STR, native, resolve_tagged

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from typing import Any, Literal

    from jobspec.documents.document import Nodes

    #: The data of a merged mapping, and its nodes.
    Part = tuple[dict[str, Any], Nodes]
    #: Which of equal keys counts for kustomize; empty if keys have to differ.
    CountingKey = Literal["", "first", "last"]
    #: Rule, message, the parser's mark, and hint.
    Problem = tuple[str, str, Any, str]


class MergedKey:
    """The key of a merged entry, with the marks of the `<<`."""

    __slots__ = ("end_mark", "start_mark", "written")

    def __init__(self, merge: Any, written: Any) -> None:
        self.written = _as_in_text(written)
        """The event of the key in the merged mapping."""
        self.start_mark = merge.start_mark
        self.end_mark = merge.end_mark


def add(merge: Any, parts: Iterable[Part], data: dict[str, Any], nodes: Nodes, line: Callable[[Any], int]) -> Iterator[Problem]:
    """Add the entries of merged mappings to a mapping's *data* and *nodes*; yield the problems.

    *merge* is the event of the `<<`; *line* gives an event's line in the file.
    """
    merged = set()
    for values, children in parts:
        for name, (written, child) in children.items():
            key = MergedKey(merge, written)
            first = nodes[name][0] if name in nodes else None
            if first is None:
                data[name] = values[name]
                nodes[name] = key, child
            elif not is_same(name, key, first):
                yield duplicate(name, key, line(first))
            elif name not in merged and _json(data[name]) != _json(values[name]):
                yield _ambiguous(name, key, first, (data[name], values[name]), line(first))
            merged.add(name)


def duplicate(name: str, key: Any, first_line: int, counts: CountingKey = "") -> Problem:
    """Return the problem of a second key *name*.

    *counts*: which one counts for kustomize; empty if keys have to differ.
    """
    written = getattr(key, "value", name)  # an alias has none
    what = f"`{name}`" if written == name else f"`{written}` (read as `{name}`)"
    if counts:
        taken, dropped = (f"this {what}", f"the one in line {first_line}")
        if counts == "first":
            taken, dropped = f"the `{name}` in line {first_line}", "this one"
        return "duplicate-key", f"kustomize takes {taken}, and drops {dropped}", key.start_mark, f"write `{name}` once"
    return "duplicate-key", f"duplicate key {what}, first set in line {first_line}", key.start_mark, ""


def _ambiguous(name: str, key: MergedKey, first: Any, values: tuple[Any, Any], first_line: int) -> Problem:
    before, merged = map(_shown, values)
    if type(first) is MergedKey:
        message = f"this second `<<` sets `{name}` again: kubectl takes {merged} from it, kustomize and Flux refuse a second `<<`"
        hint = "write one `<<` with a list of mappings, of which the first that has a key wins"
    else:
        message = (
            f"this `<<` sets `{name}` after line {first_line} did: "
            f"kubectl takes {merged} from the merge, kustomize and Flux take {before} from line {first_line}"
        )
        hint = "write `<<` first: the keys behind it override it"
    return "ambiguous-merge", message, key.start_mark, hint


def _shown(value: Any) -> str:
    return "the value" if isinstance(value, (dict, list)) else f"`{_json(value)}`"


def _json(value: Any) -> str:
    from json import dumps

    return dumps(value, ensure_ascii=False, sort_keys=True)


def _as_in_text(key: Any) -> Any:
    return key.written if type(key) is MergedKey else key


def is_same(name: str, key: Any, other: Any) -> bool:
    """True if two keys that are *name* in JSON are equal in go-yaml, too: `1` and `"1"` are not."""
    return _in_go(name, _as_in_text(key)) == _in_go(name, _as_in_text(other))


def _in_go(name: str, key: Any) -> tuple[type, object]:
    if not hasattr(key, "value"):  # an alias
        return str, name
    is_plain = key.tag is None and key.implicit[0]
    value = native(key.value) if is_plain else resolve_tagged(key.value, key.tag or STR)
    return type(value), value
