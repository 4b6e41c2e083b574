"""Write values and numbers of things as messages have them."""

from __future__ import annotations

from jobspec.diagnostics.diagnostic import SEVERITIES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from jobspec.diagnostics.diagnostic import Diagnostic


def as_json(value: Any) -> str:
    """A value as JSON, its keys sorted, by the encoder that CPython's `json` is built on, where there is one."""
    try:
        from _json import encode_basestring, make_encoder

        others: Any = None  # what JSON has no place for is left to `json`, which says so
        encode = make_encoder(None, others, encode_basestring, None, ": ", ", ", True, False, True)
        return "".join(encode(value, 0))
    except (ImportError, AttributeError, TypeError):
        import json

        return json.dumps(value, sort_keys=True, ensure_ascii=False)


def as_text(value: object) -> str:
    """A value as a text has it, and as `--set` takes it: booleans in lower case."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def severity_counts(diagnostics: Sequence[Diagnostic]) -> str:
    """How many diagnostics there are of each severity, in words."""
    found = [each.severity for each in diagnostics]
    return ", ".join(counted(found.count(severity), severity) for severity in SEVERITIES if severity in found) or "nothing found"


def counted(number: int, what: str) -> str:
    """A number of things: `1 pod`, `2 pods`, `2 matches`."""
    return f"{number} {what}{'' if number == 1 else 'es' if what.endswith(('ch', 's')) else 's'}"


def shortened(names: Sequence[str], most: int = 3) -> str:
    """The first of some names, and the number of the others: `a, b, c and 2 more`."""
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")
