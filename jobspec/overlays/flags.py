"""Flags of the training program, found in `command` and `args` of a container as `--f v` and `--f=v`."""

from __future__ import annotations

from jobspec.diagnostics import Diagnostic, spell
from jobspec.overlays.merge import in_rank
from jobspec.overlays.tree import Tree

TYPE_CHECKING = False
if TYPE_CHECKING:
    from jobspec.diagnostics import Path
    from jobspec.overlays.tree import Rank

_SHELLS = frozenset(("sh", "bash", "ash", "dash", "zsh", "ksh"))


def set_flags(container: Tree, flags: Tree, path: Path, *, layer: str, entry: int) -> tuple[Tree, list[Diagnostic]]:
    """The container with each flag set where it stands, appended to `args` where it does not, removed where it is null.

    A program inside a shell's string is a problem, and the container then stays as it is.
    """
    problems = _problems(container, flags, path)
    if problems:
        return container, problems
    command, args = container.get("command"), container.get("args")
    words = {"command": _items(command), "args": _items(args)}
    for number, (flag, value) in enumerate(flags.value.items()):
        _set(words, flag, value, (layer, entry, 2 * number))
    changed = dict(container.value)
    for name, old in (("command", command), ("args", args)):
        if words[name] or old:
            changed[name] = Tree(in_rank(words[name]), *((old.mark, old.key) if old else (flags.mark, flags.key)))
            if not words[name] and old and old.value:
                del changed[name]
    return container.having(changed), []


def _set(words: dict[str, list[Tree]], flag: str, value: Tree, rank: Rank) -> None:
    """Set one flag in place; of one that stands several times the first stays, and the others go."""
    done = value.value is None
    for name in ("command", "args"):
        items = words[name]
        index = 0
        while index < len(items):
            size = _size(items, index, flag)
            if size == 2 and value.value is True:
                size = 1  # what follows a bare flag is an argument of its own
            if size:
                new = [] if done else _written(items[index : index + size], flag, value, rank)
                items[index : index + size] = new
                done = True
                index += len(new)
            else:
                index += 1
    if not done:
        words["args"] += [_word(text, value, (*rank[:2], rank[2] + number)) for number, text in enumerate(_words(flag, value))]


def _size(items: list[Tree], index: int, flag: str) -> int:
    """How many items the flag takes at *index*: 0 where it does not stand there, 2 where its value follows."""
    text = items[index].value
    if not isinstance(text, str):
        return 0
    if text.startswith(flag + "="):
        return 1
    if text != flag:
        return 0
    after = items[index + 1].value if index + 1 < len(items) else None
    return 2 if isinstance(after, str) and not _is_flag(after) else 1


def _is_flag(text: str) -> bool:
    return text.startswith("-") and not text[1:].replace(".", "", 1).isdecimal()


def _written(old: list[Tree], flag: str, value: Tree, rank: Rank) -> list[Tree]:
    """The flag in the form in which it already stands, `--f v` or `--f=v`."""
    words = _words(flag, value)
    if "=" in old[0].value and len(words) == 2:
        words = [f"{flag}={words[1]}"]
    if [item.value for item in old] == words:
        return [
            item if item.rank is None else item.ranked(min(item.rank, (*rank[:2], rank[2] + number))) for number, item in enumerate(old)
        ]
    ranks = [item.rank for item in old] + [old[-1].rank]
    return [old[0] if text == old[0].value else _word(text, value, ranks[number]) for number, text in enumerate(words)]


def _words(flag: str, value: Tree) -> list[str]:
    if value.value is True:
        return [flag]
    text = str(value.value)
    return [f"{flag}={text}"] if _is_flag(text) else [flag, text]


def _word(text: str, value: Tree, rank: Rank | None) -> Tree:
    return Tree(text, value.mark, None, rank)


def _problems(container: Tree, flags: Tree, path: Path) -> list[Diagnostic]:
    found = []
    for flag, value in flags.value.items():
        if not flag.startswith("-"):
            hint = f"write `--{flag}`"
            found.append(
                Diagnostic("invalid-overlay", f"`{flag}` is no flag: it does not begin with `-`", value.key or value.mark, hint=hint)
            )
        if value.value is False or isinstance(value.value, (dict, list)):
            hint = "text, a number, `true` for a bare flag, or `null` to remove it"
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
    words = [*_items(container.get("command")), *_items(container.get("args"))]
    texts = [item.value if isinstance(item.value, str) else "" for item in words]
    for index, text in enumerate(texts):
        if text.rpartition("/")[2] not in _SHELLS:
            continue
        for after in range(index + 1, len(texts)):
            option = texts[after]
            if option.startswith("-") and not option.startswith("--") and "c" in option:
                return words[after + 1] if after + 1 < len(words) else words[after]
            if not option.startswith("-"):
                break
    return None


def _items(tree: Tree | None) -> list[Tree]:
    return list(tree.value) if tree and isinstance(tree.value, list) else []
