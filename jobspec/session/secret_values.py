"""Tell which texts may hold values of a Secret, and which findings may quote them."""

from __future__ import annotations

import os
import re
from base64 import b64decode
from contextlib import suppress

from jobspec.documents.document import items_of
from jobspec.documents.reader import read
from jobspec.go.values import mapping, structs, text, texts

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from jobspec.diagnostics.results import FileResult

_GENERATOR = "secretGenerator"
_SECRET = re.compile(r"""^[ \t-]*["']?kind["']?[ \t]*:[ \t]*["']?Secret\b|"kind":[ ]*"Secret\"""", re.MULTILINE)
_KIND = re.compile(rb"""kind["']?[ \t]*:[ \t]*["']?Secret\b""")


def may_have_secret(content: bytes) -> bool:
    """True if a text may hold values of a Secret, as a manifest, in a policy or for a generator."""
    return has_generator(content) or (b"Secret" in content and bool(_KIND.search(content)))


def has_generator(content: bytes) -> bool:
    """True if a text may be that of a kustomization that generates a Secret."""
    return _GENERATOR.encode() in content


def may_quote_secret(
    result: FileResult, read_text: Callable[[str], str], *, may_have_one: bool = True, once: Callable[[str, Callable[[], bool]], bool]
) -> bool:
    """True if a finding quotes a Secret of its file, or may do so since the file cannot be read.

    *read_text*: gives the text of a file. *may_have_one*: what `may_have_secret` says of the file, if that is known. *once*: gives the
    answer for the words of the findings, and looks for it only if it is not known. That is asked of files that name no others.
    """
    has_one = any(row.kind == "Secret" for row in result.documents)
    if not (result.diagnostics and (has_one or may_have_one)):
        return False
    content = read_text(result.path)
    generates = _GENERATOR in content
    if not (has_one or generates or _SECRET.search(content)):
        return False
    diagnostics = [each for one in result.diagnostics for each in (one, *one.related)]
    words = "\n".join(repr((each.message, each.hint, each.field, each.changes, each.configuration or "")) for each in diagnostics)

    def quotes() -> bool:
        values = values_of_secrets(content, lambda name: read_text(os.path.join(os.path.dirname(result.path), name)))
        return values is None or any(each in words for each in values)

    return quotes() if generates else once(words, quotes)


def values_of_secrets(content: str, beside: Callable[[str], str] = lambda _: "") -> set[str] | None:
    """Return all lines of the values of Secrets and their generators in a text.

    Decoded values are among them. If not all can be read, return None.

    *beside*: reads a file that a generator names.
    """
    documents, problems = read(content, file="")
    secrets = [each for document in documents for each in items_of(document) if each.kind == "Secret"]
    generating = [each for each in documents if isinstance(each.data, dict) and _GENERATOR in each.data]
    inside = [each for document in documents for each in _strings(document.data) if _SECRET.search(each)]  # such as patches
    number = len(secrets) + sum(len(_SECRET.findall(each)) for each in inside)
    if problems or number != len(_SECRET.findall(content)) or len(generating) != content.count(_GENERATOR):
        return None
    found: set[str] = set()
    for one in inside:
        if (values := values_of_secrets(one, beside)) is None:
            return None
        found |= values
    given: list[str] = []
    for each in secrets:
        given += [str(value) for field in ("data", "stringData") for value in mapping(each.data, field).values() if value is not None]
        for value in mapping(each.data, "data").values():
            with suppress(ValueError):
                given.append(b64decode(str(value)).decode(errors="replace"))
    for entry in (entry for each in generating for entry in structs(each.data, _GENERATOR)):
        named = filter(None, [*texts(entry, "files"), *texts(entry, "envs"), text(entry, "env")])
        given += [each.partition("=")[2].strip("\"'") for each in texts(entry, "literals")]
        in_files = [beside(each.rpartition("=")[2]) for each in named]
        given += [*in_files, *(line.partition("=")[2] for each in in_files for line in each.splitlines())]
    return found | {line.strip() for one in given for line in one.splitlines()} - {""}


def _strings(value: object) -> Iterator[str]:
    """Yield all strings in a value."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for each in value.values() if isinstance(value, dict) else value:
            yield from _strings(each)
