"""The page of a rule: its docstring, as text for a terminal and as Markdown."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from jobspec.diagnostics.rules import Rule


#: The sections of a docstring behind its first paragraph, in their order. `Fix`, of a rule that has one: what `--fix` changes, and in
#: backquotes the fields of the pods, or of other objects of the operator, that are other ones then.
SECTIONS = ("Why", "Instead", "Fix", "Before", "After", "Evidence")
_CODE = ("Before", "After")


def sections(check: Callable[[Any], Any]) -> dict[str, str]:
    """Split a rule's docstring into sections. The first paragraph has an empty name."""
    found: dict[str, list[str]] = {"": []}
    name = ""
    for line in (check.__doc__ or "").splitlines():
        words = line.strip()
        begun = next((each for each in SECTIONS if words.startswith(f"{each}:")), None)
        name = name if begun is None else begun
        found.setdefault(name, []).append(line if begun is None else words[len(begun) + 1 :].strip())
    return {name: _joined(name, lines) for name, lines in found.items()}


def _joined(name: str, lines: list[str]) -> str:
    if name not in _CODE:
        return " ".join(" ".join(lines).split())
    from textwrap import dedent

    return dedent("\n".join(lines)).strip("\n").rstrip()


def summary(rule: Rule) -> str:
    """The first sentence or two: what the rule finds."""
    return sections(rule.check)[""]


def as_text(rule: Rule, width: int) -> str:
    """The page for a terminal, its sentences in lines of at most *width* columns."""
    from textwrap import fill

    parts = sections(rule.check)
    chosen = "" if rule.by_default else ", where it is selected"
    lines = [fill(f"{rule.name} ({rule.severity}{chosen}): {parts['']}", width)]
    for name in SECTIONS:
        said = parts.get(name, "")
        if said and name in _CODE:
            lines += [f"\n{name}:", *(f"    {line}".rstrip() for line in said.split("\n"))]
        elif said:
            lines += [
                "",
                fill(f"{_heading(name, rule)}: {said}", width, subsequent_indent="    ", break_long_words=False, break_on_hyphens=False),
            ]
    return "\n".join(lines) + "\n"


def _heading(name: str, rule: Rule) -> str:
    """The name of a section, that of a fix with the option that makes the fix."""
    return "Fix, with --unsafe-fixes" if name == "Fix" and rule.has_unsafe_fix else name


def as_markdown(rule: Rule) -> str:
    """The page as a chapter of Markdown."""
    parts = sections(rule.check)
    chosen = "" if rule.by_default else ", where it is selected"
    lines = [f"### {rule.name}", "", f"*{rule.severity}{chosen}.* {parts['']}"]
    for name in SECTIONS:
        said = parts.get(name, "")
        if said and name in _CODE:
            lines += ["", f"{name}:", "", "```yaml", said, "```"]
        elif said:
            lines += ["", f"**{_heading(name, rule)}:** {said}"]
    return "\n".join(lines) + "\n"
