"""A container's command as it will run, in the words of a shell.

Follows `Expand`, k8s.io/kubernetes third_party/forked/golang/expansion, 1.36: `$(NAME)` is a variable's value, `$$` is `$`.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


def shown_command(words: Iterable[str], values: Mapping[str, str]) -> str:
    """The words of a command and its arguments, with variables of known values replaced, quoted where a shell needs it."""
    from shlex import quote

    return " ".join(quote(substituted(word, values)) for word in words)


def substituted(text: str, values: Mapping[str, str]) -> str:
    """A text with `$(NAME)` replaced by the value of a variable; one without a value remains."""
    import re

    def value_of(found: re.Match[str]) -> str:
        return "$" if found[0] == "$$" else values.get(found[1], found[0])

    return re.sub(r"\$\$|\$\(([^)]*)\)", value_of, text)
