"""Flags of the training program, found in `command` and `args` of a container as `--f v` and `--f=v`."""

from __future__ import annotations

from jobspec.diagnostics import Diagnostic, spell
from jobspec.overlays.tree import Tree, in_rank, items, shared

TYPE_CHECKING = False
if TYPE_CHECKING:
    from jobspec.diagnostics import Path
    from jobspec.overlays.tree import Rank

_OWN, _PERHAPS, _SURELY = range(3)  # how surely a word is the value of the flag before it; what an overlay wrote is sure
_SHELLS = frozenset(("sh", "bash", "ash", "dash", "zsh", "ksh"))


def set_flags(container: Tree, flags: Tree, path: Path, *, layer: str, entry: int) -> tuple[Tree, list[Diagnostic]]:
    """The container with each flag set where it stands, appended to `args` where it does not, removed where it is null.

    A program inside a shell's string is a problem, and the container then stays as it is.
    """
    problems = _problems(container, flags, path)
    if problems:
        return container, problems
    words = {name: _read(items(container.get(name))) for name in ("command", "args")}
    for number, (flag, value) in enumerate(flags.value.items()):
        _set(words, flag, value, (layer, entry, 2 * number))
    changed = dict(container.value)
    for name, kept in words.items():
        old = changed.pop(name, flags)
        if kept:
            changed[name] = old.having(in_rank(kept))
    return container.having(changed), []


def said(value: Tree) -> str | None:
    """What a flag is set to: its text after a blank, empty for a bare flag, None to remove it, `false` to remove a bare one."""
    if value.value is None:
        return None
    if value.value is False:
        return "false"
    return "" if value.value is True else f" {value.value}"


def _read(words: list[Tree]) -> list[Tree]:
    """The words, each knowing whether it is the value of the flag before it.

    That is read from the base once: what is removed later must not bring a flag and an argument of its own together.
    """
    read: list[Tree] = []
    for number, word in enumerate(words):
        bound = word.bound
        if bound is None:
            follows = number > 0 and isinstance(word.value, str) and not _is_flag(word.value) and _takes_value(words[number - 1].value)
            bound = _PERHAPS if follows else _OWN
        read.append(Tree(word.value, word.mark, word.key, word.rank, bound=bound))
    return read


def _takes_value(before: object) -> bool:
    return isinstance(before, str) and _is_flag(before) and "=" not in before and before != "--"


def _is_flag(text: str) -> bool:
    """Whether a word is a flag, and no negative number, nor the `-` that stands for standard input."""
    return len(text) > 1 and text[0] == "-" and not _is_number(text[1:])


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return text[0] in ".0123456789"


def _set(words: dict[str, list[Tree]], flag: str, value: Tree, rank: Rank) -> None:
    """Set one flag in place; of one that stands several times the first stays, and the others go."""
    done = value.value is None or value.value is False
    for name in ("command", "args"):
        rest = words[name]
        kept: list[Tree] = []
        while rest:
            size = _size(rest, flag)
            if not size:
                kept.append(rest[0])
            elif not done:
                kept += _written(rest[:size], flag, value, rank)
                done = True
            if size == 2 and isinstance(value.value, bool) and rest[1].bound == _PERHAPS:
                kept.append(Tree(rest[1].value, rest[1].mark, None, rest[1].rank, bound=_OWN))
            rest = rest[size or 1 :]
        words[name] = kept
    if not done:
        words["args"] += _new(_words(flag, value), value, [rank, _next(rank)])


def _size(words: list[Tree], flag: str) -> int:
    """How many words the flag takes at the beginning: 0 where it does not stand there, 2 where its value follows."""
    text = words[0].value
    if not isinstance(text, str) or words[0].bound:
        return 0
    if text.startswith(flag + "="):
        return 1
    if text != flag:
        return 0
    return 2 if len(words) > 1 and words[1].bound else 1


def _written(old: list[Tree], flag: str, value: Tree, rank: Rank) -> list[Tree]:
    """The flag in the form in which it already stands, `--f v` or `--f=v`."""
    words = _words(flag, value)
    if "=" in old[0].value and len(words) == 2:
        words = [f"{flag}={words[1]}"]
    if [item.value for item in old[: len(words)]] == words:
        return [shared(item, each) for item, each in zip(old[: len(words)], (rank, _next(rank)), strict=False)]
    return _new(words, value, [old[0].rank, old[0].rank and _next(old[0].rank)])


def _next(rank: Rank) -> Rank:
    return (*rank[:2], rank[2] + 1)


def _words(flag: str, value: Tree) -> list[str]:
    if value.value is True:
        return [flag]
    text = str(value.value)
    joined = text.startswith("-") and not text[1:].replace(".", "", 1).isdecimal()  # argparse takes `-1` as a value, `-1e-3` not
    return [f"{flag}={text}"] if joined else [flag, text]


def _new(words: list[str], value: Tree, ranks: list[Rank | None]) -> list[Tree]:
    return [Tree(word, value.mark, None, ranks[number], bound=_SURELY if number else _OWN) for number, word in enumerate(words)]


def _problems(container: Tree, flags: Tree, path: Path) -> list[Diagnostic]:
    found = []
    for flag, value in flags.value.items():
        if not flag.startswith("-") or "=" in flag:
            hint = f"write `--{flag.lstrip('-').partition('=')[0]}: VALUE`"
            found.append(Diagnostic("invalid-overlay", f"`{flag}` is no flag of the form `--name`", value.key or value.mark, hint=hint))
        if isinstance(value.value, (dict, list)):
            hint = "text, a number, `true` for a bare flag, `null` to remove it with its value, or `false` without"
            found.append(Diagnostic("invalid-overlay", f"the flag `{flag}` cannot be set to this value", value.place(), hint=hint))
    shell = _shell_string(container)
    if shell:
        names = ", ".join(f"`{flag}`" for flag in flags.value)
        message = f"{names} cannot be set: the program runs inside the text of a shell command"
        hint = "in the base, write the program and its arguments as a list, or read the value from an environment variable"
        found.append(Diagnostic("shell-command", message, shell.place(), field=spell(path), hint=hint))
    return found


def _shell_string(container: Tree) -> Tree | None:
    """The string that a shell runs with `-c`, None where the program is started directly."""
    words = [*items(container.get("command")), *items(container.get("args"))]
    for index, word in enumerate(words):
        if isinstance(word.value, str) and word.value.rpartition("/")[2] in _SHELLS:
            found = _after_c(words[index + 1 :])
            if found:
                return found
    return None


def _after_c(words: list[Tree]) -> Tree | None:
    """What follows a shell's `-c`, alone or among other letters as in `-lc`; None where a script's path comes first."""
    index = 0
    while index < len(words):
        option = str(words[index].value)
        if option[:1] not in ("-", "+"):
            return None
        if option[0] == "-" and option[1:2] != "-" and "c" in option:
            return words[min(index + 1, len(words) - 1)]
        index += 2 if option in ("--rcfile", "--init-file") or (option[-1] in "oO" and option[:2] != "--") else 1
    return None
