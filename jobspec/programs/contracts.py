"""The contract of an image: which flags its program takes, as a JSON Schema such as `schemas/trainer.json`, whose description says how."""

from __future__ import annotations

from jobspec.diagnostics import JobspecError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

#: The rules that tell of flags which a program does not take.
FLAGS = ("unknown-flag", "wrong-flag-value")
_NUMBERS = {"integer": r"[+-]?[0-9]+", "number": r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?"}
_LIMITS = {"minimum": "of at least", "exclusiveMinimum": "above", "maximum": "of at most", "exclusiveMaximum": "below"}


class Contract:
    """The flags of a program."""

    __slots__ = ("flags", "program", "switches")

    def __init__(self, data: Any, name: str) -> None:
        """Raises JobspecError for data that is no contract; *name* is what it was read from."""
        flags = data.get("properties") if isinstance(data, dict) else None
        if not isinstance(flags, dict) or not all(flag.startswith("-") and isinstance(each, dict) for flag, each in flags.items()):
            raise JobspecError(f"{name}: this is no contract: a JSON Schema whose `properties` are flags, such as `--epochs`")
        self.flags: Mapping[str, Mapping[str, Any]] = flags
        self.switches = frozenset(data.get("switches") or (flag for flag, each in flags.items() if each.get("type") == "boolean"))
        """The flags that take no value."""
        self.program = str(data.get("title", ""))
        """The module that takes the flags, as in `python -m trainer`."""

    def expected(self, flag: str, text: str) -> str:
        """What a flag takes, in words, where it does not take this text; else empty."""
        schema = self.flags[flag]
        return "" if _fits(schema, text) else _in_words(schema)


def contract_of(contracts: Mapping[str, Contract], image: str) -> Contract | None:
    """The contract of an image, found by its name without tag and digest, or by the last part of that."""
    name = image.partition("@")[0]
    head, _, last = name.rpartition("/")
    last = last.partition(":")[0]
    return contracts.get(f"{head}/{last}" if head else last) or contracts.get(last)


def _fits(schema: Mapping[str, Any], text: str) -> bool:
    import re

    kind = schema.get("type")
    if kind in _NUMBERS:
        return bool(re.fullmatch(_NUMBERS[kind], text, re.ASCII)) and _within(schema, float(text)) and _chosen(schema, float(text))
    size = len(text)
    return (
        schema.get("minLength", 0) <= size <= schema.get("maxLength", size)
        and ("pattern" not in schema or bool(re.search(schema["pattern"], text)))
        and _chosen(schema, text)
    )


def _chosen(schema: Mapping[str, Any], value: str | float) -> bool:
    return "enum" not in schema or value in schema["enum"]


def _within(schema: Mapping[str, Any], number: float) -> bool:
    return (
        schema.get("minimum", number) <= number <= schema.get("maximum", number)
        and ("exclusiveMinimum" not in schema or number > schema["exclusiveMinimum"])
        and ("exclusiveMaximum" not in schema or number < schema["exclusiveMaximum"])
    )


def _in_words(schema: Mapping[str, Any]) -> str:
    if "enum" in schema:
        return " or ".join(f"`{each}`" for each in schema["enum"])
    if schema.get("type") in _NUMBERS:
        return " ".join(["an integer" if schema["type"] == "integer" else "a number", *_limits(schema)])
    return f"a text that matches `{schema['pattern']}`" if "pattern" in schema else "a text of the right length, and no empty one"


def _limits(schema: Mapping[str, Any]) -> Iterator[str]:
    said = [f"{words} {schema[key]}" for key, words in _LIMITS.items() if key in schema]
    if said:
        yield " and ".join(said)
