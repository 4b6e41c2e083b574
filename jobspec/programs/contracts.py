"""Read contracts, which say what flags a program takes.

A contract is a JSON Schema such as `schemas/trainer.json`, whose description says how to write one.
"""

from __future__ import annotations

from jobspec.diagnostics.errors import JobspecError
from jobspec.programs.command_lines import OF_LAUNCH, OPTIONS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from jobspec.programs.command_lines import CommandWord


#: The rules for flags which a program does not take.
FLAGS = ("unknown-flag", "wrong-flag-value")
_NUMBERS = {"integer": r"[+-]?[0-9]+", "number": r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?"}
_LIMITS: dict[str, tuple[str, Callable[[float, float], bool]]] = {
    "minimum": ("of at least", lambda number, limit: number >= limit),
    "exclusiveMinimum": ("above", lambda number, limit: number > limit),
    "maximum": ("of at most", lambda number, limit: number <= limit),
    "exclusiveMaximum": ("below", lambda number, limit: number < limit),
}


class Contract:
    """The flags of a program."""

    __slots__ = ("flags", "program", "switches")

    def __init__(self, data: Any, name: str) -> None:
        """Raises JobspecError for data that is no contract; *name* is what it was read from."""
        flags = data.get("properties") if isinstance(data, dict) else None
        if not isinstance(flags, dict) or not all(flag.startswith("-") and isinstance(each, dict) for flag, each in flags.items()):
            raise JobspecError(f"{name}: this is not a contract: a JSON Schema whose `properties` are flags, such as `--epochs`")
        self.flags: Mapping[str, Mapping[str, Any]] = flags
        self.switches = frozenset(data.get("switches") or (flag for flag, each in flags.items() if each.get("type") == "boolean"))
        """The flags that take no value."""
        self.program = str(data.get("title", ""))
        """The module that takes the flags, as in `python -m trainer`."""

    def refuses(self, given: CommandWord) -> bool:
        """True if the program refuses a known flag for its value, or for a missing value.

        A value with `$(NAME)` is not known yet.
        """
        if given.option in self.switches:
            return given.is_joined
        return given.value is None or ("$(" not in given.value and bool(self.expected(given.option, given.value)))

    def expected(self, flag: str, text: str) -> str:
        """Return what a flag accepts, in words. If it accepts the text, return an empty string."""
        schema = self.flags[flag]
        return "" if _matches_schema(schema, text) else _in_words(schema)


#: The options of torchrun, and of its predecessor.
TORCHRUN = Contract({"properties": {**OPTIONS, OF_LAUNCH: {"type": "boolean"}}}, "torchrun")


def contract_of(contracts: Mapping[str, Contract], image: str) -> Contract | None:
    """Return the contract of an image by its name without tag and digest, or by the last part."""
    name = image.partition("@")[0]
    head, _, last = name.rpartition("/")
    last = last.partition(":")[0]
    return contracts.get(f"{head}/{last}" if head else last) or contracts.get(last)


def _matches_schema(schema: Mapping[str, Any], text: str) -> bool:
    """Whether a text is a value that a JSON Schema allows."""
    kind = schema.get("type")
    if kind == "integer" and text.isascii() and text.isdecimal() and schema.keys() == {"type"}:
        return True  # without regular expressions, which take long to import
    if "pattern" in schema or kind in _NUMBERS:
        import re
    if kind in _NUMBERS:
        return bool(re.fullmatch(_NUMBERS[kind], text, re.ASCII)) and _within(schema, float(text)) and _chosen(schema, float(text))
    fits = schema.get("minLength", 0) <= len(text) <= schema.get("maxLength", len(text))
    return fits and ("pattern" not in schema or bool(re.search(schema["pattern"], text))) and _chosen(schema, text)


def _chosen(schema: Mapping[str, Any], value: str | float) -> bool:
    return "enum" not in schema or value in schema["enum"]


def _within(schema: Mapping[str, Any], number: float) -> bool:
    return all(compare(number, schema[key]) for key, (_, compare) in _LIMITS.items() if key in schema)


def _in_words(schema: Mapping[str, Any]) -> str:
    """Write what a JSON Schema allows, in words."""
    if "enum" in schema:
        return " or ".join(f"`{each}`" for each in schema["enum"])
    if schema.get("type") in _NUMBERS:
        limits = " and ".join(f"{words} {schema[key]}" for key, (words, _) in _LIMITS.items() if key in schema)
        return f"{'an integer' if schema['type'] == 'integer' else 'a number'} {limits}".rstrip()
    return f"a string that matches `{schema['pattern']}`" if "pattern" in schema else "a string of the right length, not an empty one"
