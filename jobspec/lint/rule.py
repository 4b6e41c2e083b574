"""A rule of lint: a short generator over the context of a job or document, whose docstring is its page."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from typing import Any, Literal

    from jobspec.diagnostics import Path, Severity
    from jobspec.documents.marked_tree import MarkedTree
    from jobspec.kinds import GroupKind

    #: What a rule is called with: the `JobContext` of a job of either kind or of one, of a runtime that is looked at alone, or of both
    #: jobs and runtimes (`pods`); the `DocumentContext` of any document, or of a runtime.
    Sees = Literal["pods", "job", "PyTorchJob", "TrainJob", "runtime's pods", "document", "runtime"]
    #: Where something is: a value of the expanded job, or a path in the document that the rule looks at.
    Place = MarkedTree | Path


class Edit:
    """One change of the text behind a place: a value that is set below it, or the removal of what is there."""

    __slots__ = ("at", "removes", "steps", "value")

    def __init__(self, at: Place, steps: Path = (), value: Any = None, *, removes: bool = False) -> None:
        self.at = at
        self.steps = steps
        """From the place to the value that is changed; what is missing on the way is made."""
        self.value = value
        self.removes = removes


class Finding:
    """What a rule finds: where, a sentence, how to mend it, and the edits that do so where that is safe and there is one way alone."""

    __slots__ = ("at", "edits", "hint", "message", "severity")

    def __init__(self, at: Place, message: str, hint: str = "", *, edits: Sequence[Edit] = (), severity: Severity | None = None) -> None:
        self.at = at
        self.message = message
        self.hint = hint
        self.edits = edits
        self.severity = severity
        """Where it is another one than the rule's."""


class Rule:
    """A check, how much its findings weigh, what it is called with, and what has to be there for it to find something."""

    __slots__ = ("by_default", "check", "kinds", "name", "reads", "sees", "severity")

    def __init__(
        self,
        check: Callable[[Any], Iterator[Finding]],
        severity: Severity,
        *,
        sees: Sees = "pods",
        reads: Iterable[str] = (),
        kinds: Sequence[GroupKind] = (),
        by_default: bool = True,
    ) -> None:
        self.check = check
        self.name = check.__name__.replace("_", "-")
        """The rule's name in the catalogue: the function's, in kebab-case."""
        self.severity: Severity = severity
        self.sees: Sees = sees
        self.reads = [each.lower() for each in reads]
        """Parts of keys and texts: it finds nothing in a job that says none of them, unless a document is of one of the `kinds`."""
        self.kinds = kinds
        self.by_default = by_default
        """Whether it is looked at where nobody chooses it by name."""


# The page of a rule: what its docstring says, as text for a terminal and as Markdown.


#: The sections of a docstring behind its first paragraph, in their order. `Fix`, of a rule that has one: what `--fix` changes, and in
#: backquotes the fields of the pods, or of other objects of the operator, that are other ones then.
SECTIONS = ("Why", "Instead", "Fix", "Before", "After", "Evidence")
_CODE = ("Before", "After")


def sections(check: Callable[[Any], Any]) -> dict[str, str]:
    """The parts of a rule's docstring: the first paragraph under an empty name, each section under its own."""
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
            lines += ["", fill(f"{name}: {said}", width, subsequent_indent="    ", break_long_words=False, break_on_hyphens=False)]
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
