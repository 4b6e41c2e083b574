"""Documents that are alike: equal data under names of one form. What is found in one of them holds for the others.

The name of a job begins the names of its objects. A name counts by its form: each run of letters is `a`, each run of digits is `0`. Rules
limit the length of names from above, so nothing is wrong with a shorter name of the same form. If the rest of the data contains the name,
the name counts as it is. So does a long name of a LeaderWorkerSet: a label of its pods has a hash, which has 8 to 10 characters.
"""

from __future__ import annotations

from jobspec.diagnostics.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


_LONGEST = 63  # of names whose parts are never too long for a label
_LONGEST_BEFORE_HASH = 41  # of names that leave place in a label for a number of 10 digits and a hash of 10 characters


class Likeness(Record):
    """What documents that are alike have in common, and the length of the name."""

    text: str
    length: int


def likeness_of(data: Any, differs: str = "") -> Likeness | None:
    """Return the likeness of an object. If the name is no string, or is longer than a label, return None.

    *differs*: how the data differ from what is written. Only what differs in the same way is alike.
    """
    metadata = data.get("metadata")
    name = metadata.get("name") if isinstance(metadata, dict) else None
    if not name:
        return Likeness(f"{differs}{data!r}", 0)
    if not isinstance(name, str) or len(name) > _LONGEST:
        return None
    rest = f"{differs}{ {**data, 'metadata': {**metadata, 'name': _form(name)}}!r}"
    is_as_written = name in rest or (len(name) > _LONGEST_BEFORE_HASH and data.get("kind") == "LeaderWorkerSet")
    return Likeness(f"{name} {rest}" if is_as_written else rest, len(name))


def _form(name: str) -> str:
    """Return a name with one `a` for each run of letters, and one `0` for each run of digits."""
    found = ""
    for each in name:
        kind = "a" if "a" <= each <= "z" else "0" if "0" <= each <= "9" else each
        if kind not in ("a", "0") or found[-1:] != kind:
            found += kind
    return found
