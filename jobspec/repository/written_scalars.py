"""A text as kustomize writes it behind a key or a dash, and the value that Flux reads there after variables are filled in.

Follows `stringv` and `yaml_emitter_analyze_scalar`, go.yaml.in/yaml/v2 2.4.4, which sigs.k8s.io/yaml writes with.
"""

from __future__ import annotations

from typing import Any

from jobspec.documents.reader import read
from jobspec.documents.scalars import native

_INDICATORS = frozenset("#,[]{}&*!|>'\"%@`")
_ESCAPES = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\t": "\\t", "\r": "\\r"}


class UnreadableYaml(Exception):
    """A text that is no YAML once variables are filled in, so that nothing around it can be read."""


def written(text: str, before: str) -> str:
    """Write a string value behind *before*, a key with its colon or a dash: plain, quoted or as a block."""
    if not text or not isinstance(native(text), str) or _is_special(text):
        return f'{before} "{"".join(_ESCAPES.get(each, each) for each in text)}"'
    if "\n" in text:
        return _block(text, before)
    if _is_plain(text):
        return f"{before} {text}"
    quoted = text.replace("'", "''")
    return f"{before} '{quoted}'"


def _block(text: str, before: str) -> str:
    """Write a text of several lines."""
    indent = "2" if text[0] in " \n" else ""
    keeps = "" if text.endswith("\n") and not text.endswith("\n\n") and text != "\n" else "+" if text.endswith("\n") else "-"
    lines = [f"  {line}" if line else "" for line in text.removesuffix("\n").split("\n")]
    return "\n".join((f"{before} |{indent}{keeps}", *lines))


def _is_special(text: str) -> bool:
    """Whether a text has characters that only double quotes can hold, or spaces that a block loses."""
    has_hidden = not all(each == "\n" or each.isprintable() for each in text)
    return has_hidden or ("\n" in text and (text[-1:] == " " or " \n" in text))


def _is_plain(text: str) -> bool:
    """Whether a text of one line needs no quotes outside of brackets."""
    first, second = text[0], text[1:2]
    starts_alone = first not in _INDICATORS and not (first in "?:-" and second in ("", " "))
    has_spaces_around = text[0] == " " or text[-1] == " "
    return (
        starts_alone
        and not has_spaces_around
        and not text.startswith(("---", "..."))
        and ": " not in text
        and not text.endswith(":")
        and " #" not in text
    )


def read_back(yaml: str, before: str) -> Any:
    """Read the value behind a key or a dash. Raises UnreadableYaml if there is no YAML, or more than one value."""
    documents, problems = read(f"{yaml}\n", file="")
    data = documents[0].data if len(documents) == 1 and not problems else None
    if before == "-" and isinstance(data, list) and len(data) == 1:
        return data[0]
    if before != "-" and isinstance(data, dict) and list(data) == [before.removesuffix(":")]:
        return data[before.removesuffix(":")]
    raise UnreadableYaml
