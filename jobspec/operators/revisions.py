"""The hash of a revision of a pod template, which controllers write into labels of its pods.

Follows `HashControllerRevision`, k8s.io/kubernetes pkg/controller/history, 1.36, `hashRevision`, sigs.k8s.io/lws pkg/utils/revision,
0.9.0 and 0.10.0, and `SafeEncodeString`, k8s.io/apimachinery pkg/util/rand, 0.36. What is hashed is the template as Go writes it in these
releases; older ones write an empty time of creation, too.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from jobspec.diagnostics.places import Data


_LETTERS = "bcdfghjklmnpqrstvwxz2456789"
_OFFSET, _PRIME, _BITS = 0x811C9DC5, 0x01000193, 0xFFFFFFFF
_ESCAPED = {ord(each): f"\\u{ord(each):04x}" for each in "<>&\u2028\u2029"}


def revision_hash(part: Data, *, salt: str = "") -> str:
    """Return the hash of the *part* of a spec that a revision keeps. *salt*: what is hashed after that part."""
    import json

    replaced = {name: {**each, "$patch": "replace"} for name, each in part.items()}
    said = json.dumps({"spec": replaced}, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    number = _OFFSET
    for byte in (said.translate(_ESCAPED) + salt).encode():
        number = number * _PRIME & _BITS ^ byte
    return "".join(_LETTERS[ord(digit) % len(_LETTERS)] for digit in str(number))
