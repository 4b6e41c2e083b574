"""Write values and numbers of things as messages have them."""

from __future__ import annotations

from jobspec.diagnostics.diagnostic import SEVERITIES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from jobspec.diagnostics.diagnostic import Diagnostic


def as_json(value: Any) -> str:
    """Write a value as JSON with sorted keys.

    If there is one, the encoder is used that CPython's `json` is built on.
    """
    try:
        from _json import encode_basestring, make_encoder

        others: Any = None  # what JSON has no place for is left to `json`, which says so
        encode = make_encoder(None, others, encode_basestring, None, ": ", ", ", True, False, True)
        return "".join(encode(value, 0))
    except (ImportError, AttributeError, TypeError):
        import json

        return json.dumps(value, sort_keys=True, ensure_ascii=False)


def as_text(value: object) -> str:
    """Write a value as a text has it, and as `--set` takes it: booleans in lower case."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def severity_counts(diagnostics: Sequence[Diagnostic]) -> str:
    """Write how many diagnostics there are of each severity."""
    found = [each.severity for each in diagnostics]
    return ", ".join(counted(found.count(severity), severity) for severity in SEVERITIES if severity in found) or "nothing found"


def counted(number: int, what: str) -> str:
    """Write a number of things: `1 pod`, `2 pods`, `2 matches`."""
    return f"{number} {what}{'' if number == 1 else 'es' if what.endswith(('ch', 's')) else 's'}"


def shortened(names: Sequence[str], most: int = 3) -> str:
    """Write the first names, and the number of the others: `a, b, c and 2 more`."""
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")


def enumerated(names: Sequence[str]) -> str:
    """Write all names: `a, b and c`."""
    return " and ".join(filter(None, (", ".join(names[:-1]), *names[-1:])))
