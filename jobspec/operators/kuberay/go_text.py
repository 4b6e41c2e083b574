"""Texts as Go writes them into the commands of KubeRay: JSON, and words in double quotes.

Follows `Marshal` of encoding/json, `Quote` of strconv and `%f` of fmt, Go 1.25; and `YAMLToJSON`, sigs.k8s.io/yaml.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

#: Characters that Go escapes in JSON besides those that Python does.
_IN_HTML = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"}
_ESCAPED = {"\a": "\\a", "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\v": "\\v", "\\": "\\\\", '"': '\\"'}


def json_text(value: Any) -> str:
    """A value in JSON, with keys in order."""
    import json

    if isinstance(value, dict):
        return "{" + ",".join(f"{json_text(str(key))}:{json_text(value[key])}" for key in sorted(value)) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(json_text, value)) + "]"
    if isinstance(value, float):
        return _number(value)
    if not isinstance(value, str):
        return json.dumps(value)
    return "".join(_IN_HTML.get(each, each) for each in json.dumps(value, ensure_ascii=False))


def _number(value: float) -> str:
    """A number with a fraction in the fewest digits; very large and very small ones have an exponent."""
    from decimal import Decimal

    exact = Decimal(repr(value)).normalize()
    if not exact or -6 <= exact.adjusted() < 21:
        return f"{exact:f}"
    exponent = exact.adjusted()
    return f"{exact.scaleb(-exponent):f}e{'-' if exponent < 0 else '+'}{abs(exponent)}"


def quoted(text: str) -> str:
    """A text in double quotes."""
    return '"' + "".join(map(_character, text)) + '"'


def _character(each: str) -> str:
    if each in _ESCAPED:
        return _ESCAPED[each]
    if each.isprintable():
        return each
    code = ord(each)
    return f"\\x{code:02x}" if code < 0x80 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def fixed(value: float) -> str:
    """A number of 32 bits with six digits behind the point."""
    import struct

    return f"{struct.unpack('f', struct.pack('f', value))[0]:f}"
