"""Flags of the training program, found in `command` and `args` of a container as `--f v` and `--f=v`."""

from __future__ import annotations

from jobspec.diagnostics.diagnostic import Diagnostic
from jobspec.diagnostics.places import Path, spell
from jobspec.documents.marked_tree import MarkedTree, by_rank, items, share_rank
from jobspec.programs.command_lines import is_shell

TYPE_CHECKING = False
if TYPE_CHECKING:
    from jobspec.documents.marked_tree import Rank

_OWN, _PERHAPS, _SURELY = range(3)  # whether a word is the value of the flag before it: no; it looks like it; an overlay wrote it as one


def set_flags(container: MarkedTree, flags: MarkedTree, path: Path, *, overlay: str, entry: int) -> tuple[MarkedTree, list[Diagnostic]]:
    """Set flags in a container: change present ones, append absent ones, remove null ones.

    Absent flags are appended to `args`. If the program is inside the string of a shell command, that is a problem, and the container
    stays as it is.
    """
    problems = _mistakes(container, flags, path)
    if problems:
        return container, problems
    words = {name: _marked_words(items(container.get(name))) for name in ("command", "args")}
    for number, (flag, value) in enumerate(flags.value.items()):
        _set(words, flag, value, (overlay, entry, 2 * number))
    changed = dict(container.value)
    for name, kept in words.items():
        old = changed.pop(name, flags)
        if kept:
            changed[name] = old.with_value(by_rank(kept))
    return container.with_value(changed), []


def text_after(value: MarkedTree) -> str | None:
    """Return the text after a flag: a blank and its value, or an empty string.

    If flag and value are removed, return None. If the flag alone is removed, return `false`.
    """
    if value.value is None:
        return None
    if value.value is False:
        return "false"
    return "" if value.value is True else f" {value.value}"


def flags_of(words: list[MarkedTree]) -> list[tuple[str, bool] | None]:
    """Return the flag of each word, and True if the word holds the flag's value.

    If a word belongs to no flag, its entry is None.
    """
    read = _marked_words(words)
    return [_flag_of(word, read[number - 1]) for number, word in enumerate(read)]


def _flag_of(word: MarkedTree, before: MarkedTree) -> tuple[str, bool] | None:
    if word.bound:
        return str(before.value), True
    if not isinstance(word.value, str) or not _is_flag(word.value):
        return None
    name, has_value, _ = word.value.partition("=")
    return name, bool(has_value)


def read_flags(words: list[MarkedTree]) -> list[tuple[str, MarkedTree]]:
    """Read the words of a program's arguments: each flag with its value.

    A flag without a value has `True`. A word that is no flag comes with an empty flag.
    """
    found: list[tuple[str, MarkedTree]] = []
    for word in _marked_words(words):
        flag, joined, value = str(word.value).partition("=")
        if word.bound:
            found[-1] = (found[-1][0], word)
        elif not isinstance(word.value, str) or not _is_flag(flag) or flag == "--":
            found.append(("", word))
        else:
            found.append((flag, word.with_value(value if joined else True)))
    return found


def _marked_words(words: list[MarkedTree]) -> list[MarkedTree]:
    """The words, each marked as the value of the flag before it or not.

    The base alone decides that: a removal must not make a following argument the value of an earlier flag.
    """
    read: list[MarkedTree] = []
    for number, word in enumerate(words):
        bound = word.bound
        if bound is None:
            follows = number > 0 and isinstance(word.value, str) and not _is_flag(word.value) and _takes_value(words[number - 1].value)
            bound = _PERHAPS if follows else _OWN
        read.append(MarkedTree(word.value, word.mark, word.key, word.rank, bound=bound))
    return read


def _takes_value(before: object) -> bool:
    return isinstance(before, str) and _is_flag(before) and "=" not in before and before != "--"


def _is_flag(text: str) -> bool:
    """True if a word is a flag. A negative number is none, nor is `-` for standard input."""
    return len(text) > 1 and text[0] == "-" and not _is_number(text[1:])


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return text[0] in ".0123456789"


def _set(words: dict[str, list[MarkedTree]], flag: str, value: MarkedTree, rank: Rank) -> None:
    """Set one flag in place. If it is repeated, set the first and remove the others."""
    done = value.value is None or value.value is False
    for name in ("command", "args"):
        rest = words[name]
        kept: list[MarkedTree] = []
        while rest:
            size = _size(rest, flag)
            if not size:
                kept.append(rest[0])
            elif not done:
                kept += _in_its_form(rest[:size], flag, value, rank)
                done = True
            if size == 2 and isinstance(value.value, bool) and rest[1].bound == _PERHAPS:
                kept.append(MarkedTree(rest[1].value, rest[1].mark, None, rest[1].rank, bound=_OWN))
            rest = rest[size or 1 :]
        words[name] = kept
    if not done:
        words["args"] += _new(_flag_words(flag, value), value, [rank, _next(rank)])


def _size(words: list[MarkedTree], flag: str) -> int:
    """Return how many of the first words belong to the flag.

    0 for another flag, 2 with a separate value.
    """
    text = words[0].value
    if not isinstance(text, str) or words[0].bound:
        return 0
    if text.startswith(flag + "="):
        return 1
    if text != flag:
        return 0
    return 2 if len(words) > 1 and words[1].bound else 1


def _in_its_form(old: list[MarkedTree], flag: str, value: MarkedTree, rank: Rank) -> list[MarkedTree]:
    """Return the flag in the form that it already has, `--f v` or `--f=v`.

    A name that is there keeps its place; a value has the overlay's.
    """
    words = _flag_words(flag, value)
    if "=" in old[0].value and len(words) == 2:
        words = [f"{flag}={words[1]}"]
    if [item.value for item in old[: len(words)]] == words:
        ranked = [share_rank(item, each) for item, each in zip(old[: len(words)], (rank, _next(rank)), strict=False)]
        return [each if each.value == flag else each.at(value.mark) for each in ranked]
    new = _new(words, value, [old[0].rank, old[0].rank and _next(old[0].rank)])
    return [old[0], *new[1:]] if old[0].value == words[0] else new


def _next(rank: Rank) -> Rank:
    return (*rank[:2], rank[2] + 1)


def _flag_words(flag: str, value: MarkedTree) -> list[str]:
    if value.value is True:
        return [flag]
    text = str(value.value)
    joined = text.startswith("-") and not text[1:].replace(".", "", 1).isdecimal()  # argparse takes `-1` as a value, `-1e-3` not
    return [f"{flag}={text}"] if joined else [flag, text]


def _new(words: list[str], value: MarkedTree, ranks: list[Rank | None]) -> list[MarkedTree]:
    """The words of a flag, with the places of its key and its value in the overlay."""
    key = value.key or value.mark
    marks = [key, value.mark] if len(words) > 1 else [key if value.value is True else value.mark]
    return [MarkedTree(word, marks[number], None, ranks[number], bound=_SURELY if number else _OWN) for number, word in enumerate(words)]


def _mistakes(container: MarkedTree, flags: MarkedTree, path: Path) -> list[Diagnostic]:
    found = []
    for flag, value in flags.value.items():
        if not flag.startswith("-") or "=" in flag:
            hint = f"write `--{flag.lstrip('-').partition('=')[0]}: VALUE`"
            found.append(Diagnostic("invalid-overlay", f"`{flag}` is not a flag of the form `--name`", value.key or value.mark, hint=hint))
        if isinstance(value.value, (dict, list)):
            hint = "use a string, a number, `true` for a bare flag, `null` to remove it with its value, or `false` to remove the flag alone"
            found.append(Diagnostic("invalid-overlay", f"the flag `{flag}` cannot be set to this value", value.place(), hint=hint))
    shell = _shell_string(container)
    if shell:
        names = ", ".join(f"`{flag}`" for flag in flags.value)
        message = f"{names} cannot be set: the program runs inside a shell command string"
        hint = "in the base, write the program and its arguments as a list, or read the value from an environment variable"
        found.append(Diagnostic("shell-command", message, shell.place(), field=spell(path), hint=hint))
    return found


def _shell_string(container: MarkedTree) -> MarkedTree | None:
    """The string that a shell runs with `-c`, None where the program is started directly."""
    words = [*items(container.get("command")), *items(container.get("args"))]
    for index, word in enumerate(words):
        if isinstance(word.value, str) and is_shell(word.value):
            found = _after_c(words[index + 1 :])
            if found:
                return found
    return None


def _after_c(words: list[MarkedTree]) -> MarkedTree | None:
    """Return the word after a shell's `-c`, which may be among other letters as in `-lc`.

    If a script's path comes first, return None.
    """
    index = 0
    while index < len(words):
        option = str(words[index].value)
        if option[:1] not in ("-", "+"):
            return None
        if option[0] == "-" and option[1:2] != "-" and "c" in option:
            return words[min(index + 1, len(words) - 1)]
        index += 2 if option in ("--rcfile", "--init-file") or (option[-1] in "oO" and option[:2] != "--") else 1
    return None
