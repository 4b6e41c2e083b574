"""The exit status of a shell's script: whether it is that of the training, or that of what stands behind it.

Follows the Shell Command Language of POSIX, 2.8.2 and 2.9.2 to 2.9.3: the status of a pipeline is that of its last command, that of a list
the one of the last command that ran. What is not known to leave the status of the training lost counts as passing it on: brackets, loops,
traps, background, commands that may check what the training has written.
"""

from __future__ import annotations

from jobspec.diagnostics.record import Record
from jobspec.programs.command_lines import LAUNCHERS, file_name, length_of_python, starts_python

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from jobspec.programs.shells import Script, ShellStep


class LostStatus(Record):
    """A training whose exit status is lost."""

    launcher: str
    """The name of the program that trains."""
    taken_from: str
    """The name of the command whose status the script has instead."""
    is_piped: bool
    """Whether the training writes to that command."""


#: The ends of pipelines that copy what they read.
_COPYING = frozenset(("tee", "ts", "cat", "sed", "tr", "head", "tail"))
#: Commands that say nothing about the training, whatever their own status is.
_INDIFFERENT = frozenset(
    (
        *("echo", "printf", "true", ":", "sleep", "date", "ls", "cat", "cp", "mv", "rm", "sync", "touch", "mkdir", "chmod", "chown", "tar"),
        *("aws", "gsutil", "gcloud", "az", "rsync", "curl", "wget", "nvidia-smi", "df", "du", "free", "hostname", "env", "wc", "kill"),
    )
)
#: Those that surely succeed.
_SUCCEEDING = frozenset(("true", ":", "echo", "printf"))
#: Words that stand before a command and leave its status as it is.
_BEFORE = frozenset(("exec", "nohup", "time", "command", "nice", "env", "numactl", "timeout", "stdbuf"))
_CONDITIONS = frozenset(("if", "elif", "while", "until", "!"))
_BRANCHES = frozenset(("if", "then", "else", "elif", "fi"))
#: Commands that may end a script another way, or wait for others; and the variable with every status of a pipeline.
_UNKNOWN = ("trap", "wait")
_OF_PIPE = "pipestatus"
_STATUS = "$(?)"
_TESTS = frozenset(("[", "[[", "test"))
#: Subcommands that train, of programs that have others.
_TRAINING = {"accelerate": ("launch",), "ray": ("job", "submit"), "colossalai": ("run",)}
_OF_HELP = ("--help", "-h", "--version", "--no-wait")


def lost_status(words: Sequence[str], at: int, script: Script) -> LostStatus | None:
    """Return the training of a script whose exit status is surely lost; None if there is none.

    *words* are those of the container, of which the one at *at* is the script.
    """
    steps = script.steps
    found = _training(steps)
    if found is None or _OF_PIPE in script.text.lower() or any(_command(each)[:1] == [name] for each in steps for name in _UNKNOWN):
        return None
    exits_on_failure, takes_all_of_pipe = _options(words[1:at], steps[:found])
    command = _command(steps[found])
    before = steps[found].words[: len(steps[found].words) - len(command)]
    if any(each in _CONDITIONS for each in before) or any(each in step.end for step in steps[found:] for each in "()"):
        return None
    name = file_name(command[0])
    if _operator(steps[found]) == "|":
        last = next((number for number in range(found, len(steps)) if _operator(steps[number]) != "|"), len(steps) - 1)
        reader = file_name(_command(steps[last])[0]) if _command(steps[last]) else ""
        is_lost = not takes_all_of_pipe and reader in _COPYING and _operator(steps[last]) != "&" and _leaves_lost(steps[last:])
        return LostStatus(name, reader, is_piped=True) if is_lost else None
    taken = _taken_from(steps[found:], exits_on_failure=exits_on_failure)
    return LostStatus(name, taken, is_piped=False) if taken else None


def _training(steps: Sequence[ShellStep]) -> int | None:
    """The number of the last step that starts a launcher, or else a Python file; None without one."""
    commands = [_command(each) for each in steps]
    launchers = [number for number, each in enumerate(commands) if _is_launcher(each)]
    files = [number for number, each in enumerate(commands) if _is_python_file(each)]
    return next(iter([*launchers[-1:], *files[-1:]]), None)


def _is_launcher(words: Sequence[str]) -> bool:
    name = file_name(words[0]) if words else ""
    if not words or any(each in words for each in _OF_HELP):
        return False
    if name in _TRAINING:
        return tuple(words[1 : 1 + len(_TRAINING[name])]) == _TRAINING[name]
    start = length_of_python(words)
    return name in LAUNCHERS or bool(start and words[start : start + 1] == ["-m"] and "".join(words[start + 1 : start + 2]) in LAUNCHERS)


def _is_python_file(words: Sequence[str]) -> bool:
    behind = words[length_of_python(words) :] if starts_python(words) else ()
    return bool(behind) and (behind[0].endswith(".py") or (behind[0] == "-m" and "train" in "".join(behind[1:2])))


def _command(step: ShellStep) -> Sequence[str]:
    """The words of a step from its program on; none if it only sets variables."""
    words = list(step.words)
    while words and (words[0] in _BRANCHES or words[0] in _BEFORE or _is_assignment(words[0])):
        is_program = words.pop(0) in _BEFORE
        while is_program and words and (words[0].startswith("-") or words[0][:1].isdigit()):
            del words[0]
    return words


def _is_assignment(word: str) -> bool:
    name, equals, _ = word.partition("=")
    return bool(equals) and name.rstrip("+").isidentifier()


def _operator(step: ShellStep) -> str:
    """What separates a step from the next one, a line's end as `;`."""
    end = step.end.strip("\n()") or step.end[:1].replace("\n", ";")
    return end[:2] if end[:2] in ("&&", "||") else end[:1]


def _options(given: Sequence[str], steps: Sequence[ShellStep]) -> tuple[bool, bool]:
    """Whether the shell ends with the first command that fails, and whether a pipeline fails with any of its commands."""
    found = {"e": False, "pipefail": False}
    for words in (given, *(_command(each)[1:] for each in steps if _command(each)[:1] == ["set"])):
        for number, word in enumerate(words):
            if word[:1] in ("-", "+") and not word.startswith("--"):
                following = words[number + 1] if number + 1 < len(words) else ""
                if "e" in word:
                    found["e"] = word[0] == "-"
                if word.endswith("o") and following in ("pipefail", "errexit"):
                    found["pipefail" if following == "pipefail" else "e"] = word[0] == "-"
    return found["e"], found["pipefail"]


def _leaves_lost(steps: Sequence[ShellStep]) -> bool:
    """Whether a status that the first step has lost stays lost: the steps behind it say nothing about the training."""
    saved, is_tested = {"?"}, _operator(steps[0]) == "||"
    for step in steps[1:]:
        command = _command(step)
        if not command:
            saved |= {word.partition("=")[0] for word in step.words if word.partition("=")[2] == _STATUS}
            continue
        name = file_name(command[0])
        named = {each.partition(")")[0] for word in command[1:] for each in word.split("$(")[1:]}
        is_of_status = name in _TESTS and bool(named) and named <= saved
        is_tested = is_tested or is_of_status or _operator(step) == "||"
        is_exit = name == "exit" and named <= saved and (is_tested or named or command[1:] in ([], ["0"]))
        if _operator(step) in ("|", "&") or not (is_of_status or is_exit or _is_indifferent(command)):
            return False
    return True


def _taken_from(steps: Sequence[ShellStep], *, exits_on_failure: bool) -> str:
    """The command whose status a script has that begins with the training in *steps*; empty if it may be that of the training."""
    if any(_operator(each) in ("|", "&") for each in steps) or any(word in _BRANCHES for each in steps for word in each.words[:1]):
        return ""
    number = 0
    while _operator(steps[number]) == "&&" and number + 1 < len(steps):  # which do not run where it fails
        number += 1
    if number + 1 >= len(steps):
        return ""
    behind = steps[number + 1 :]
    if _operator(steps[number]) == "||":
        command = _command(behind[0])
        is_caught = bool(command) and file_name(command[0]) in _SUCCEEDING and _operator(behind[0]) in ("", ";")
        return command[0] if is_caught and all(_is_indifferent(_command(each)) for each in behind[1:]) else ""
    if exits_on_failure or any(_operator(each) in ("&&", "||") for each in behind):
        return ""
    commands = [_command(each) for each in behind]
    if not commands[0]:  # which may keep the status in a variable
        return ""
    return file_name(commands[-1][0]) if all(map(_is_indifferent, commands[:-1])) and _is_end(commands) else ""


def _is_end(commands: Sequence[Sequence[str]]) -> bool:
    """Whether the last of the commands behind the training ends the script with another status than that of the training."""
    last = commands[-1]
    if last[:1] == ["exit"]:
        return last[1:] == ["0"] or (len(commands) > 1 and last[1:] in ([], [_STATUS]))
    return _is_indifferent(last)


def _is_indifferent(command: Sequence[str]) -> bool:
    """Whether a command says nothing about the training, and ends."""
    name = file_name(command[0]) if command else ""
    return name in _INDIFFERENT and not (name == "sleep" and command[1:2] in (["infinity"], ["inf"]))
