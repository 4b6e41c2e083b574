"""Variants as lines of a project's file, in a new file or added to one that is there."""

from __future__ import annotations

from jobspec.documents.scalars import is_plain
from jobspec.documents.text_edits import TextPlaces, Uncuttable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from jobspec.documents.document import Document
    from jobspec.gitops.importing.imports import FlagValue, Import

_NAMING = "# `naming: fixed` keeps a job's name as it was; without it, a hash follows the name, and each change is a new run"


class Entry:
    """A variant to be written."""

    __slots__ = ("base", "comments", "item", "name", "without_history")

    def __init__(self, name: str, base: str, item: Import, comments: Sequence[str], *, without_history: bool) -> None:
        self.name = name
        self.base = base
        """The path of its base from the project's file."""
        self.item = item
        self.comments = comments
        """The comments of its manifest that do not stand in the base."""
        self.without_history = without_history
        """Whether it has to say that no earlier runs stay, since the defaults say otherwise."""


def new_project(entries: Sequence[Entry], target: Mapping[str, str]) -> str:
    """The text of a project with these variants."""
    head = ["apiVersion: jobspec.dev/v1alpha1", "kind: Project", "spec:"]
    said = [f"  target: {_mapping(target)}"] if target else []
    return "".join(f"{line}\n" for line in [*head, *said, "  variants:", f"    {_NAMING}", *_lines(entries, "    ")])


def extended(text: str, project: Document, entries: Sequence[Entry]) -> str:
    """The text of a *project* with variants added behind its own; every byte that is there stays.

    Raises Uncuttable where the text is written in a form to which nothing can be added.
    """
    variants = project.marks.nearest(("spec", "variants"))
    items = variants.children
    if not isinstance(items, list) or "\r" in text.replace("\r\n", "\n"):
        raise Uncuttable
    plain = text.removeprefix("\ufeff").replace("\r\n", "\n")
    places = TextPlaces(plain)
    end = places.end(items[-1])
    if places.is_flow(variants):
        added = (
            plain[:end] + "".join(_in_flow(each, " " * (variants.key.column + 3 if variants.key else 8)) for each in entries) + plain[end:]
        )
    else:
        start = places.start(items[-1])
        dash = len(plain[:start].rstrip()) - 1
        line = plain.rfind("\n", 0, dash) + 1
        if plain[dash] != "-" or plain[line:dash].strip():
            raise Uncuttable
        end = places.end_of_line(end)
        lines = "".join(f"{each}\n" for each in _lines(entries, plain[line:dash]))
        added = plain[:end] + "\n" + lines + plain[end + 1 :]
    return ("\ufeff" if text.startswith("\ufeff") else "") + (added.replace("\n", "\r\n") if "\r\n" in text else added)


def _lines(entries: Sequence[Entry], indent: str) -> Iterator[str]:
    for each in entries:
        yield from (f"{indent}{line}" for line in _comments(each))
        fields = list(_fields(each))
        yield from (f"{indent}{'  ' if number else '- '}{name}: {value}" for number, (name, value) in enumerate(fields))
        yield from (f"{indent}{line}" for line in _overlays(each.item))


def _comments(entry: Entry) -> Iterator[str]:
    if entry.comments:
        yield f"# comments of {entry.item.original.file} on what stands here now:".replace("\n", " ")
        yield from entry.comments


def _fields(entry: Entry) -> Iterator[tuple[str, str]]:
    """The fields of a variant, each with its value in one line."""
    item, job_name = entry.item, entry.item.original.job.name
    yield "name", _text(entry.name)
    yield "base", _text(entry.base)
    if item.namespace:
        yield "namespace", _text(item.namespace)
    if job_name != entry.name:
        yield "jobName", _text(job_name)
    yield "naming", "fixed"
    if entry.without_history:
        yield "history", "0"
    if item.flags:
        yield "flags", _mapping(item.flags, _flag)
    if item.labels:
        yield "labels", _mapping(item.labels)
    if item.annotations:
        yield "annotations", _mapping(item.annotations)


def _overlays(item: Import) -> Iterator[str]:
    if item.uses:
        yield "  overlays:"
        yield from (f"    - {use.name}: {_mapping(use.values, _parameter)}" if use.values else f"    - {use.name}" for use in item.uses)


def _in_flow(entry: Entry, indent: str) -> str:
    """A variant between braces, with the comma before it."""
    uses = entry.item.uses
    named = ", ".join(f"{{{each.name}: {_mapping(each.values, _parameter)}}}" for each in uses)
    text = ", ".join([*(f"{name}: {value}" for name, value in _fields(entry)), *([f"overlays: [{named}]"] if uses else [])])
    lines = [f"\n{indent}{line}" for line in [*_comments(entry), ""]] if entry.comments else [" "]
    return f",{''.join(lines)}{{{text}}}"


def _mapping(values: Mapping[str, FlagValue], write: Callable[[FlagValue], str] | None = None) -> str:
    return "{" + ", ".join(f"{_text(name)}: {(write or _text)(value)}" for name, value in values.items()) + "}"


def _parameter(value: FlagValue) -> str:
    """The value of a parameter, which has a type, so that `true` needs no quotes."""
    return str(value) if value in ("true", "false") else _flag(value)


def _flag(value: FlagValue) -> str:
    """The value of a flag, of which the spelling counts, so that a number needs no quotes."""
    if not isinstance(value, str):
        return "null" if value is None else str(value).lower()
    return value if value == "0" or (value.isdecimal() and value.isascii() and value[0] != "0") else _text(value)


def _text(value: FlagValue) -> str:
    """A text in one line, inside braces too, and nothing in it that stands for a value of the matrix."""
    text = str(value).replace("${", "$${")
    if is_plain(text) and not set(text) & set(",?&*!:={}[] "):
        return text
    from json import dumps

    return dumps(text, ensure_ascii=not text.isprintable())
