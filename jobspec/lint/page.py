"""The page of a rule: what its docstring says, as text for a terminal and as Markdown."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from jobspec.lint.rule import Rule

#: The sections of a docstring behind its first paragraph, in their order.
SECTIONS = ("Why", "Instead", "Before", "After", "Evidence")
_CODE = ("Before", "After")


def sections(check: Callable[[Any], Any]) -> dict[str, str]:
    """The parts of a rule's docstring: the first paragraph under an empty name, each section under its own."""
    found = {"": ""}
    name = ""
    for line in (check.__doc__ or "").expandtabs().splitlines():
        words = line.strip()
        begun = next((each for each in SECTIONS if words.startswith(f"{each}:")), None)
        if begun:
            name = begun
            found[name] = words[len(begun) + 1 :].strip()
        else:
            found[name] = f"{found[name]}\n{line.rstrip()}" if found[name] else line.strip()
    return {each: _joined(each, said) for each, said in found.items()}


def _joined(name: str, said: str) -> str:
    if name not in _CODE:
        return " ".join(said.split())
    from textwrap import dedent

    first, _, rest = said.partition("\n")
    return (first or dedent(rest)).strip("\n").rstrip()


def summary(rule: Rule) -> str:
    """The first sentence or two: what the rule finds."""
    return sections(rule.check)[""]


def as_text(rule: Rule) -> str:
    """The page for a terminal."""
    parts = sections(rule.check)
    lines = [f"{rule.name} ({rule.severity}{'' if rule.by_default else ', where it is selected'}): {parts['']}"]
    for name in SECTIONS:
        said = parts.get(name, "")
        if said:
            inner = "\n".join(f"  {line}".rstrip() for line in said.split("\n"))
            lines.append(f"\n{name}:\n{inner}")
    return "\n".join(lines) + "\n"


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
            lines += ["", f"**{name}:** {said}"]
    return "\n".join(lines) + "\n"
