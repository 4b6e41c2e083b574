"""What a YAML scalar means to a Kubernetes API server, and how to write one that nobody misreads.

The server decodes with sigs.k8s.io/yaml over go-yaml v2 and then through JSON; `resolve` follows `resolve.go` of
go.yaml.in/yaml v2.4.4 and Go's number parsing.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Final

    Scalar = str | int | float | bool | None

STR: Final = "tag:yaml.org,2002:str"
BINARY: Final = "tag:yaml.org,2002:binary"
_TYPES: Final = {
    "tag:yaml.org,2002:bool": (bool,),
    "tag:yaml.org,2002:int": (int,),
    "tag:yaml.org,2002:float": (int, float),
    "tag:yaml.org,2002:null": (type(None),),
    "tag:yaml.org,2002:timestamp": (str,),
}
TAGS: Final = frozenset(
    {STR, BINARY, "tag:yaml.org,2002:map", "tag:yaml.org,2002:seq", "tag:yaml.org,2002:merge", *_TYPES}
)  # what YAML 1.1 defines and go-yaml knows

_WORDS: Final[dict[str, Scalar]] = {
    **dict.fromkeys(("y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON"), True),
    **dict.fromkeys(("n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF"), False),
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), None),
    **dict.fromkeys((".nan", ".NaN", ".NAN"), float("nan")),
    **dict.fromkeys((".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF"), float("inf")),
    **dict.fromkeys(("-.inf", "-.Inf", "-.INF"), float("-inf")),
}
_STARTS_NUMBER: Final = frozenset("+-.0123456789")
_MAX_UINT64: Final = 2**64 - 1
_MIN_INT64: Final = -(2**63)


def resolve(text: str) -> Scalar:
    """The value of a plain scalar without a tag, as it arrives in the server's JSON: `1.0` and `1e3` are integers there."""
    if text in _WORDS:
        return _WORDS[text]
    if text[0] not in _STARTS_NUMBER:
        return text
    plain = text if text[0] == "." else text.replace("_", "")
    if text[0] != ".":
        number = _integer(plain)
        if number is not None:
            return number if number <= 2**63 - 1 else float(number)
    return text if (real := _real(plain)) is None else through_json(real)


def resolve_tagged(text: str, tag: str) -> Scalar:
    """The value of a scalar under one of YAML's own *tag*s; raises ValueError where the text is not of that type."""
    if tag == BINARY:
        import base64

        return base64.b64decode(text, validate=True).decode()
    if tag not in _TYPES:
        return text
    value = resolve(text)
    if type(value) not in _TYPES[tag]:
        raise ValueError(f"`{text}` is no {tag.rpartition(':')[2]}")
    return value


def through_json(number: float) -> int | float:
    """A float as the server reads it back from JSON: integral ones within 64 bits become integers."""
    return int(number) if number.is_integer() and -(2.0**63) <= number < 2.0**63 else number


def key_text(value: Scalar) -> str | None:
    """The JSON key that a YAML key becomes, None where the server refuses it."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    return None


def _integer(text: str) -> int | None:
    """Go's `strconv.ParseInt(text, 0, 64)`, else `ParseUint`: 0x, 0o, 0b and a leading 0 choose the base."""
    sign, digits = (text[0], text[1:]) if text[:1] in ("+", "-") else ("", text)
    prefix = digits[:2].lower()
    base = {"0x": 16, "0o": 8, "0b": 2}.get(prefix, 0)
    if base:
        digits = digits[2:]
    elif len(digits) > 1 and digits[0] == "0":
        base, digits = 8, digits[1:]
    if not digits.isascii() or not digits.isalnum():
        return None
    try:
        value = int(sign + digits, base or 10)
    except ValueError:
        return None
    return value if (_MIN_INT64 <= value <= 2**63 - 1 if sign else value <= _MAX_UINT64) else None


def _real(text: str) -> float | None:
    """A decimal floating-point number that fits 64 bits: `1.`, `.5`, `-1e3`; never `inf`, `nan` or hexadecimal."""
    if text.strip("0123456789+-.eE"):
        return None
    try:
        value = float(text)
    except ValueError:
        return None
    return None if value in (float("inf"), float("-inf")) else value


_PLAIN_START: Final = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_/$(0123456789-.")
_PLAIN: Final = _PLAIN_START | frozenset(":@%+=,)~^;?*&! ")
_NUMBER_LIKE: Final = frozenset("0123456789abcdefABCDEF_.,:+-xXoOtTzZ ")
_RESERVED: Final = frozenset(("y", "n", "yes", "no", "on", "off", "true", "false", "null", "inf", "nan"))


def is_plain(text: str) -> bool:
    """Whether *text* may stand without quotes: a string to every YAML 1.1 and 1.2 reader, and nothing that looks otherwise."""
    if not text or text[0] not in _PLAIN_START or text[-1] in " :" or not _PLAIN.issuperset(text):
        return False
    if ": " in text or " #" in text or text.startswith(("- ", "---", "...")) or text == "-":
        return False
    bare = text.lstrip("+-.")
    if not bare or bare.lower() in _RESERVED:
        return False
    return not (bare[0].isdigit() and _NUMBER_LIKE.issuperset(text))
