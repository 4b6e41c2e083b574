"""CEL expressions as text, where the CEL library is not loaded to parse them."""

from __future__ import annotations

_LITERAL_OR_COMMENT = r"""
    //[^\n]*
  | [rR][bB]?(?:'''.*?'''|\"\"\".*?\"\"\"|'[^'\n]*'|"[^"\n]*")
  | '''(?:\\.|.)*?''' | \"\"\"(?:\\.|.)*?\"\"\" | '(?:\\.|[^'\\])*' | "(?:\\.|[^"\\])*"
"""


def without_literals(text: str) -> str:
    """The expression with its strings and comments blanked out; every other character keeps its offset."""
    import re

    return re.sub(_LITERAL_OR_COMMENT, lambda found: " " * len(found[0]), text, flags=re.DOTALL | re.VERBOSE)


def uses_old_self(text: str) -> bool:
    """Whether an expression refers to `oldSelf`, the value before an update."""
    import re

    return re.search(r"(?<![\w.])oldSelf\b", without_literals(text)) is not None
