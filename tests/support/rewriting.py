"""Write manifests in another style with the same meaning, or with a mistake in their text."""

import json
from collections.abc import Callable
from random import Random
from typing import Any

import yaml

from tests.support import quick_yaml

_TEXT = "tag:yaml.org,2002:str"
_MAP = "tag:yaml.org,2002:map"
_MERGE = "tag:yaml.org,2002:merge"


def restyled(text: str, random: Random) -> str:
    """The first document of a text with other quotes, blocks, flow style, anchors, merge keys, comments and line ends."""
    node = yaml.compose(text, yaml.CSafeLoader)
    if random.random() < 0.5:
        _share(node, {}, random, {})
    _restyle(node, random)
    written = yaml.serialize(
        node,
        Dumper=yaml.CDumper,
        width=random.choice((20, 80, 1000)),
        indent=random.choice((2, 2, 3, 8)),
        allow_unicode=random.random() < 0.5,
        explicit_start=random.random() < 0.2,
        explicit_end=random.random() < 0.2,
    )
    return _commented(written, random).replace("\n", random.choice(("\n", "\n", "\r\n")))


def _share(node: Any, first: dict[str, Any], random: Random, visited: dict[int, Any]) -> None:
    """Write some repeated values as an anchor and aliases, and some entries behind a merge key.

    What the text itself has aliases of is looked at once, or what goes behind a merge key could turn out to be what it is taken from.
    """

    def shared(value: Any) -> Any:
        if id(value) in visited:
            return value
        visited[id(value)] = value
        known = first.setdefault(yaml.serialize(value, Dumper=yaml.CDumper), value)
        if known is value:
            _share(value, first, random, visited)
        return known if random.random() < 0.5 else value

    if isinstance(node, yaml.MappingNode):
        node.value = [(key, shared(value)) for key, value in node.value]
        if node.value and random.random() < 0.05:
            at = random.randrange(len(node.value))
            node.value[at:] = [(yaml.ScalarNode(_MERGE, "<<"), yaml.MappingNode(_MAP, node.value[at:]))]
    elif isinstance(node, yaml.SequenceNode):
        node.value = [shared(item) for item in node.value]


def _restyle(node: Any, random: Random) -> None:
    if isinstance(node, yaml.ScalarNode):
        if node.tag == _TEXT:
            node.style = random.choice((None, None, '"', "'", "|", ">"))
        return
    node.flow_style = random.random() < 0.2
    if random.random() < 0.01:
        node.tag = "!own"
    for child in [each for pair in node.value for each in pair] if isinstance(node, yaml.MappingNode) else node.value:
        _restyle(child, random)


def _commented(text: str, random: Random) -> str:
    """The text with comments and empty lines that do not change its meaning."""
    lines = text.split("\n")
    for _ in range(random.choice((0, 1, 3))):
        at = random.randrange(len(lines))
        comment = f"{' ' * random.randrange(5)}# a: b"
        changed = [*lines[:at], *random.choice(([f"{lines[at]} {comment}"], [comment, lines[at]], ["", lines[at]])), *lines[at + 1 :]]
        if _meaning(changed) == _meaning(lines):
            lines = changed
    return "\n".join(lines)


def _meaning(lines: list[str]) -> Any:
    try:
        return yaml.load("\n".join(lines), yaml.CBaseLoader)  # a base loader makes text, lists and mappings of anything
    except yaml.YAMLError:
        return None


def broken(text: str, random: Random) -> str:
    """The text after a change to its characters or lines."""
    lines = text.splitlines()
    at = random.randrange(len(lines))
    line = lines[at]
    whole: dict[str, Callable[[], str]] = {
        "crlf": lambda: "\r\n".join(lines) + "\r\n",
        "cr": lambda: "\r".join(lines) + "\r",
        "bom": lambda: "\ufeff" + text,
        "start": lambda: f"---\n{text}",
        "start, comment": lambda: f"--- # a comment\n{text}",
        "end": lambda: f"{text}...\n# over\n",
        "end, more": lambda: f"{text}...\na: b\n",
        "directive": lambda: f"%YAML {random.choice(('1.1', '1.2', '2.0', '1'))}\n---\n{text}",
        "tag directive": lambda: f"%TAG !e! tag:example.com,2000:\n---\n{text}",
        "other directive": lambda: f"%X y\n---\n{text}",
        "comments": lambda: f"# a\n\n#b\n{text}#c",
        "cut": lambda: text[: random.randrange(len(text))],
        "json": lambda: json.dumps(quick_yaml.load(text), default=str),
        "no end": lambda: text.rstrip("\n"),
        "nul": lambda: text[: len(text) // 2] + random.choice("\0\x01\x7f\x85\ufffe\u2028\u00a0\t\v\f") + text[len(text) // 2 :],
    }
    kind = random.choice(
        ("indent", "dedent", "drop", "again", "swap", "insert", "insert", "erase", "tab", "flat", "anchor", "comment", *whole)
    )
    if kind in whole:
        try:
            return whole[kind]()
        except (yaml.YAMLError, ValueError, TypeError, KeyError):  # PyYAML cannot read it
            return text
    changed = {
        "indent": [" " * random.choice((1, 2, 4)) + line],
        "dedent": [line[random.choice((1, 2)) :] if line.startswith(" ") else line],
        "drop": [],
        "again": [line, line],
        "swap": [*lines[at + 1 : at + 2], line],
        "insert": [_inserted(line, random)],
        "erase": [_erased(line, random)],
        "tab": [line.replace(" ", "\t", 1)],
        "flat": [line.lstrip()],
        "anchor": [line.replace(": ", ": &a ", 1), *lines[at + 1 : at + 2]],
        "comment": [line + random.choice((" # c", "# c", "  #", "\t# c"))],
    }[kind]
    return "\n".join([*lines[:at], *changed, *lines[at + (2 if kind in ("swap", "anchor") else 1) :]]) + "\n"


def _inserted(line: str, random: Random) -> str:
    at = random.randrange(len(line) + 1)
    inserted: str = random.choice([*":-#?!&*|>%@`{}[],'\"\\ \t", ": ", " #", "- ", "\n", "\\n", "ä", "\r"])
    return line[:at] + inserted + line[at:]


def _erased(line: str, random: Random) -> str:
    at = random.randrange(len(line) + 1)
    return line[:at] + line[at + 1 :]
