"""What is known of a CEL expression without the CEL library: fields by their names in CEL, paths, and uses of `oldSelf`."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from jobspec.diagnostics.places import Key, Path

RESERVED = (
    *("true", "false", "null", "in", "as", "break", "const", "continue", "else", "for", "function", "if", "import", "let"),
    *("loop", "package", "namespace", "return", "var", "void", "while"),
)
_TEXT = {"type": "string"}
#: The fields of any object that rules can use.
RESOURCE: dict[str, Any] = {
    "apiVersion": _TEXT,
    "kind": _TEXT,
    "metadata": {"type": "object", "properties": {"name": _TEXT, "generateName": _TEXT}},
}
_ESCAPES = {"__": "__underscores__", ".": "__dot__", "-": "__dash__", "/": "__slash__"}


@lru_cache(maxsize=4096)
def spellings(name: str) -> tuple[str, ...]:
    """Return the CEL identifiers of a field: none if it cannot be one, two if it is a keyword."""
    import re

    if name in RESERVED:
        return name, f"__{name}__"
    if not re.fullmatch(r"[A-Za-z_./\-][A-Za-z0-9_./\-]*", name, re.ASCII):
        return ()
    return (re.sub(r"__|[./\-]", lambda found: _ESCAPES[found[0]], name),)


def tokens_of(path: str) -> list[str] | None:
    """Return the names in a path such as `.spec['a.b'].c`; None for other texts."""
    import re

    tokens = []
    rest = path
    while rest:
        found = re.match(r"\.([^.\[\]]+)|\['((?:[^'\\]|\\[abfnrtv'\\])*)'\]", rest)
        if not found:
            return None
        tokens.append(found[1] if found[1] is not None else re.sub(r"\\(.)", lambda each: _UNESCAPED.get(each[1], each[1]), found[2]))
        rest = rest[found.end() :]
    return tokens


_UNESCAPED = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}


def steps_of(path: str) -> Path:
    """Return a rule's `fieldPath` as a path."""
    return tuple(tokens_of(path) or ())


def place_of(tokens: list[str], schema: dict[str, Any]) -> tuple[Path, dict[str, Any]] | None:
    """Return the path of the names in a schema, and the schema at the path.

    If the schema has no such field, return None.
    """
    steps: list[str] = []
    for name in tokens:
        fields, others = schema.get("properties"), schema.get("additionalProperties")
        if fields and name in fields:
            steps.append(name)
            schema = fields[name]
        elif not fields and isinstance(others, dict):
            steps.append(Key(name))
            schema = others
        else:
            return None
    return tuple(steps), schema


_LITERAL_OR_COMMENT = r"""
    //[^\n]*
  | [rR][bB]?(?:'''.*?'''|\"\"\".*?\"\"\"|'[^'\n]*'|"[^"\n]*")
  | '''(?:\\.|.)*?''' | \"\"\"(?:\\.|.)*?\"\"\" | '(?:\\.|[^'\\])*' | "(?:\\.|[^"\\])*"
"""


def without_literals(text: str) -> str:
    """Blank out the strings and comments of an expression. Other characters keep their offsets."""
    import re

    return re.sub(_LITERAL_OR_COMMENT, lambda found: " " * len(found[0]), text, flags=re.DOTALL | re.VERBOSE)


def uses_old_self(text: str) -> bool:
    """True if an expression refers to `oldSelf`, the value before an update."""
    import re

    return re.search(r"(?<![\w.`])oldSelf\b", without_literals(text)) is not None
