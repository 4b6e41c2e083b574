"""Decode the bytes of a file to text."""

from __future__ import annotations

from jobspec.diagnostics.diagnostic import Diagnostic
from jobspec.diagnostics.places import Mark

TYPE_CHECKING = False
if TYPE_CHECKING:
    pass


MAX_BYTES = 3 * 1024 * 1024  # the API server's limit for the body of a request
MAX_FILE = 256 * 1024 * 1024
SURELY_SMALL = MAX_BYTES // 6  # characters, none of which takes more than six bytes of JSON
AROUND = 500  # characters at the beginning and the end of a document, where its kind stands


def decode(raw: bytes, name: str, *, layer: str = "") -> str | Diagnostic:
    """Decode the content of the file *name*, or return why it cannot be read.

    A file cannot be read if it is over 256 MiB, or not UTF-8.
    """
    if len(raw) > MAX_FILE:
        return Diagnostic("too-large", "the file is over 256 MiB, the limit of jobspec", Mark(name, layer=layer))
    try:
        return raw.decode()
    except UnicodeDecodeError as error:
        before = raw[: error.start].decode()
        mark = Mark(name, before.count("\n") + 1, len(before) - before.rfind("\n"), layer=layer)
        return Diagnostic("not-utf8", f"the byte 0x{raw[error.start]:02x} is not UTF-8", mark, hint="save the file as UTF-8")


def is_json(text: str) -> bool:
    """True if the text is a JSON object or list. JSON has no comments and is valid YAML."""
    from json import loads

    if text.lstrip()[:1] not in ("{", "["):
        return False
    try:
        loads(text)
    except ValueError:
        return False
    return True
