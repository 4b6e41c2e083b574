"""Tell by the words of a text what it may hold, before it is parsed.

The result for an unchanged file of a repository is kept, unless the file may have a Secret, so that later runs need not read the file.
"""

from __future__ import annotations

from jobspec.apis.kinds import (
    ADMISSION_POLICIES,
    CUSTOM_RESOURCE_DEFINITION,
    LIMIT_RANGE,
    PRIORITY_CLASS,
    QUEUE_GROUP,
    RESOURCE_QUOTA,
    SERVICE_ACCOUNT,
)
from jobspec.diagnostics.record import Record
from jobspec.documents.document import CHAINSAW, ENGINES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from jobspec.session.disk import Disk
    from jobspec.session.kept_facts import KeptFacts


def _once(words: Iterable[str]) -> list[bytes]:
    """Return the words that contain no other one, without digits.

    To look for each word takes a microsecond.
    """
    words = list(words)
    return [without_digits(each.encode()) for each in words if not any(other != each and other in each for other in words)]


def without_digits(content: bytes) -> bytes:
    """Return a text without its digits, by which texts that are alike are the same."""
    return content.translate(None, b"0123456789")


_DEFINITION = CUSTOM_RESOURCE_DEFINITION[1].encode()
_POLICIES = _once(kind for _, kind in ADMISSION_POLICIES)
_DECIDING = _once((*(kind for _, kind in (LIMIT_RANGE, RESOURCE_QUOTA, PRIORITY_CLASS, SERVICE_ACCOUNT)), f"apiVersion: {QUEUE_GROUP}/"))
#: The words in files that may say what other files are.
ROLES = (*ENGINES, CHAINSAW)


class Mentions(Record):
    """What a text may hold."""

    secrets: bool
    """Whether it may hold values of a Secret."""
    definitions: bool
    """Whether it may hold a CustomResourceDefinition, and is no template."""
    policies: bool
    """Whether it may hold an admission policy in CEL."""
    deciding: bool
    """Whether it may hold objects that decide on the pods of other files."""
    roles: bool
    """Whether it may say what other files are: how an engine applies them, or what a test of Chainsaw expects."""


_PLAIN = Mentions(secrets=False, definitions=False, policies=False, deciding=False, roles=False)
"""The result for most files, which is one value in memory and in the cache."""


def mentions_in(text: bytes) -> Mentions:
    """Return what a text may hold.

    *text*: the text without its digits.
    """
    definitions = _DEFINITION in text and b"{{" not in text
    policies = _has_one(text, _POLICIES)
    found = Mentions(_may_have_secret(text), definitions, policies, policies or _has_one(text, _DECIDING), _has_one(text, ROLES))
    return _PLAIN if found == _PLAIN else found


def _has_one(text: bytes, words: Sequence[bytes]) -> bool:
    return any(map(text.__contains__, words))


def may_say_roles(path: str, disk: Disk, facts: KeptFacts | None) -> bool:
    """Return whether a file may say what other files are, as in `Mentions`.

    *facts*: what an earlier run has found out about the files; None if there is no such run.
    """
    found = kept_mentions(path, facts)
    return found.roles if found else disk.mentions(path, *ROLES)


def _may_have_secret(text: bytes) -> bool:
    """Return whether a text may hold values of a Secret.

    Most texts lack the word, so that no regular expression is needed.
    """
    if b"ecret" not in text:
        return False
    from jobspec.session.secret_values import may_have_secret

    return may_have_secret(text)


def kept_mentions(path: str, facts: KeptFacts | None) -> Mentions | None:
    """Return what an unchanged file may hold.

    If that is not kept, return None.
    """
    digest = facts and facts.digest_of(path)
    return facts.known("mentions", digest, Mentions) if facts and digest else None


def has_no_secret(path: str, facts: KeptFacts | None) -> bool:
    """Return True if it is kept that an unchanged file has no Secret."""
    mentions = kept_mentions(path, facts)
    return mentions is not None and not mentions.secrets


def keep_mentions(path: str, found: Mentions, facts: KeptFacts | None) -> None:
    """Keep what a file may hold, unless it may hold a Secret.

    The digest of its content would confirm a guess of the content.
    """
    if facts and not found.secrets and (digest := facts.digest_of(path)):
        facts.learned("mentions", digest, found)
