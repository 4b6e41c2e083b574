"""Scripts of shells in command lines: the commands of `sh -c SCRIPT`, and the variables that they use and set.

Follows the Shell Command Language of POSIX, 2.2 to 2.10, as far as a command line needs it: quotes, comments, what separates commands, and
`$NAME`. What is left out is what only a run shows: the output of commands, arithmetic, files that a script reads.
"""

from __future__ import annotations

from jobspec.diagnostics.record import Record
from jobspec.programs.command_lines import is_shell

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Container, Iterator, Mapping, Sequence


class ShellCommand(Record):
    """A simple command of a script."""

    words: Sequence[str]
    """Without quotes; a value that a run alone shows is `$(NAME)` of a variable, as Kubernetes writes it, or `$()`."""
    is_alternative: bool = False
    """Whether it runs only where the command before it fails, as behind `||`."""
    output: str = ""
    """The file that its standard output goes to, or `PIPE`; empty if it goes where that of the script goes."""


class ShellStep(Record):
    """A simple command of a script as it is written.

    The command has its assignments, and the words of control before it.
    """

    words: Sequence[str]
    """As those of a `ShellCommand`; the status of the last command, `$?`, is `$(?)`."""
    end: str
    """What separates it from the next one, with brackets: `;`, `&&`, `||`, `|`, `&` or a line's end; empty at the end of the script."""


class HereDocument(Record):
    """The lines behind a command that are its input, as in `<< EOF`."""

    text: str
    used: Sequence[str]
    """The variables that the shell replaces in it; none if its delimiter is quoted."""


class Script(Record):
    """A shell's script."""

    text: str
    commands: Sequence[ShellCommand]
    used: frozenset[str]
    """The variables whose value it takes, without those for which it gives another value, as in `${NAME:-0}`."""
    assigned: frozenset[str]
    """The variables that it sets."""
    values: Mapping[str, str]
    """The values of variables that it sets once, also under a condition, as the words of a `ShellCommand`."""
    is_straight: bool
    """True if each command runs after the one before it, under no condition but how that one ends."""
    reads_files: bool
    """True if it runs text that it does not hold: a file (`. env.sh`), or what a command prints (`eval`)."""
    here_documents: Sequence[HereDocument] = ()
    steps: Sequence[ShellStep] = ()
    """All of the script's commands in their order, also those that only set a variable."""


#: The words that make what follows depend on a condition, or run in another order.
_CONTROL = frozenset(("if", "then", "elif", "else", "fi", "for", "while", "until", "do", "done", "case", "esac", "function", "{", "}"))
#: The commands that set the variables that they are given.
_SETTING = frozenset(("export", "declare", "local", "readonly", "typeset", "read", "mapfile", "readarray", "getopts", "unset"))
#: Those of them that leave a variable as it is where no value follows.
_DECLARING = frozenset(("export", "declare", "local", "readonly", "typeset"))
#: A value that a run alone shows, and none of a variable.
_OF_RUN = "$()"
_READING = frozenset((".", "source", "eval"))
#: What is in the names of the folders that conda's distributions are installed in.
_OF_CONDA = ("conda", "mamba", "forge")
#: The words before a command that leave what it does as it is.
_BEFORE = frozenset(("exec", "nohup", "time", "command", "nice"))
_ENDS = frozenset(";&|()\n")
#: The output of a command that the next one reads.
PIPE = "|"
_OF_REDIRECTION = "<>&|- \t"
#: What is neither a letter nor a digit, and is a parameter in `$?`.
_SPECIAL = frozenset("?#@*!$-0123456789")


def script_at(words: Sequence[str]) -> int | None:
    """Return the number of the word that is the script of a shell's command line.

    If the line starts no shell, or a file, return None.
    """
    at, is_script = _behind_options(words)
    return at if is_script and at < len(words) else None


def script_file_at(words: Sequence[str]) -> int | None:
    """Return the number of the word that is the file of a script.

    That is the last word of `bash -x train.sh`, and the first one of `/scripts/train.sh`. If there is none, return None.
    """
    if words and "/" in words[0] and not is_shell(words[0]):
        return 0
    at, is_script = _behind_options(words)
    return at if 0 < at < len(words) and not is_script else None


def _behind_options(words: Sequence[str]) -> tuple[int, bool]:
    """Return the number of the word behind a shell's options, and whether it is a script.

    If the line starts no shell, the number is 0.
    """
    if not words or not is_shell(words[0]):
        return 0, False
    at, is_script = 1, False
    while at < len(words) and words[at][:1] in ("-", "+") and len(words[at]) > 1:
        option = words[at]
        if option.startswith("--"):
            at += 2 if option in ("--rcfile", "--init-file") else 1
            continue
        is_script = is_script or "c" in option[1:]
        at += 2 if option[-1:] in ("o", "O") else 1
    return at, is_script


def read_script(text: str) -> Script:
    """Read the text of a script."""
    reader = _ScriptReader(text)
    commands: list[ShellCommand] = []
    used, assigned = set(reader.used), set[str]()
    reads_files, is_straight = False, not reader.turns
    for number, words in enumerate(reader.commands):
        left = list(words)
        if left[0] in _CONTROL or left[0].endswith("()"):
            is_straight = False
        while left and (left[0] in _CONTROL or left[0] in _BEFORE or left[0] == "!" or _assigned_by(left[0])):
            if left[0] == "for" and len(left) > 1:
                assigned.add(left[1])
            assigned.add(_assigned_by(left.pop(0)))
        reads_files = reads_files or _runs_other_text(left)
        if left and left[0] in _SETTING:
            assigned.update(_assigned_by(each) or each for each in left[1:])
        is_env = bool(left) and left[0].rpartition("/")[2] == "env"
        behind = left[1:] if is_env else left
        named = next((at for at, each in enumerate(behind) if not _assigned_by(each)), len(behind))
        assigned.update(map(_assigned_by, behind[:named]))
        if behind[named:]:
            is_alternative = number in reader.alternatives
            commands.append(ShellCommand(behind[named:], is_alternative=is_alternative, output=reader.outputs[number]))
    return Script(
        text,
        tuple(commands),
        frozenset(used),
        frozenset(assigned | reader.assigned) - {""},
        {name: value for name, value in _values(reader.commands).items() if name not in reader.assigned},
        is_straight=is_straight,
        reads_files=reads_files,
        here_documents=tuple(reader.here_documents),
        steps=tuple(ShellStep(words, end) for words, end in zip(reader.commands, reader.ends, strict=True)),
    )


def _runs_other_text(words: Sequence[str]) -> bool:
    """True if a command runs text that the script does not hold and that may set any variable.

    The `activate` of a virtual environment of Python sets `PATH` and its own variables alone. That of conda also sets those that packages
    and users of the environment add.
    """
    is_virtual_environment = len(words) == 2 and words[1].endswith("/bin/activate") and not any(each in words[1] for each in _OF_CONDA)
    return bool(words) and words[0] in _READING and not is_virtual_environment


def _values(commands: Sequence[Sequence[str]]) -> Mapping[str, str]:
    """Return the values of variables that commands set once."""
    found: dict[str, list[str]] = {}
    for words in commands:
        start = next((at for at, each in enumerate(words) if each not in _CONTROL and each != "!"), len(words))
        setting = "for" if "for" in words[:start] else words[start] if words[start:] and words[start] in _SETTING else ""
        given = words[start + 1 :] if setting in _SETTING else words[start : start + 1] if setting else words[start:]
        is_lasting = setting in _DECLARING or all(map(_assigned_by, given))
        for word in given:
            name = _assigned_by(word)
            if name and is_lasting and not word.startswith(f"{name}+"):
                found.setdefault(name, []).append(word.partition("=")[2])
            elif name or (setting and setting not in _DECLARING):
                found.setdefault(name or word, []).append(_OF_RUN)
            elif not setting:
                break
    return {name: values[0] for name, values in found.items() if len(values) == 1 and _OF_RUN not in values[0]}


def _assigned_by(word: str) -> str:
    """The name in `NAME=VALUE`, `NAME+=VALUE`; empty for another word."""
    name, equals, _ = word.partition("=")
    return name.rstrip("+") if equals and is_name(name.rstrip("+")) else ""


def is_assignment(word: str) -> bool:
    """Return whether a word is `NAME=VALUE` or `NAME+=VALUE`."""
    return bool(_assigned_by(word))


def is_name(text: str) -> bool:
    """Whether a text can be the name of a shell's variable."""
    return text.isascii() and text.isidentifier()


class _ScriptReader:
    """The words of a script's commands, read once from left to right."""

    def __init__(self, text: str, *, is_body: bool = False) -> None:
        """*is_body*: the text is that of a here-document, which has no words."""
        self.text = text
        self.commands: list[list[str]] = []
        self.used: set[str] = set()
        self.assigned: set[str] = set()
        self.ends: list[str] = []
        """What separates each command from the next one."""
        self._separators: list[str] = []
        """What stands between commands, in the order in which it is read."""
        self.turns: list[str] = []
        """What makes the order of commands another one, or what follows no command."""
        self.alternatives: list[int] = []
        """The numbers of the commands that run where the one before fails."""
        self.outputs: dict[int, str] = {}
        """Where the standard output of a command goes, by its number."""
        self._redirected: list[str] = []
        """Where the standard output of the command that is read goes, by its redirections."""
        self.here_documents: list[HereDocument] = []
        self._announced: list[tuple[str, bool, bool]] = []
        """The here-documents that begin at the next line: delimiter, whether that is quoted, whether tabs before lines go."""
        words: list[str] = []
        if is_body:
            self._expand_body()
        for word in () if is_body else self._words():
            if word is not None:
                words.append(word)
                continue
            if words:
                self.outputs[len(self.commands)] = next(reversed(self._redirected), "")
                self.commands.append(words)
                self.ends.append(self._separators[-1])
            elif self.ends:
                self.ends[-1] += self._separators[-1]
            words = []
            self._redirected.clear()

    def _words(self) -> Iterator[str | None]:
        """The words one by one, and None at the end of each command."""
        text, at = self.text, 0
        while at < len(text):
            letter = text[at]
            if letter in " \t\r" or text.startswith("\\\n", at):
                at += 2 if letter == "\\" else 1
            elif letter == "#":
                at = _or_end(text, text.find("\n", at))
            elif text.startswith("<<", at) and not text.startswith("<<<", at):
                at = self._here_document(at + 2)
            elif _is_redirection(text, at):
                word, at = self._word(_behind(text, at + 1, _OF_REDIRECTION))
                self._redirected.extend([word] if letter in ">1&" else [])
            elif letter in _ENDS:
                end = _behind(text, at, _ENDS)
                if self._announced and "\n" in text[at:end]:
                    end = text.index("\n", at) + 1
                if letter == PIPE and not text.startswith("||", at):
                    self._redirected.insert(0, PIPE)
                self._separators.append(text[at:end])
                yield None
                self.turns.extend(each for each in text[at:end] if each in "()")
                self.alternatives.extend([len(self.commands)] if text.startswith("||", at) else [])
                at = self._bodies(end) if self._announced and text[end - 1] == "\n" else end
            else:
                word, at = self._word(at)
                if text[at : at + 2] == "()":
                    word, at = f"{word}()", at + 2
                yield word
        self._separators.append("")
        yield None

    def _here_document(self, at: int) -> int:
        """Note a here-document whose delimiter follows `<<`; where the delimiter ends."""
        text = self.text
        is_indented = text.startswith("-", at)
        start = _behind(text, at + is_indented, " \t")
        word, end = self._word(start)
        self._announced.append((word, any(each in text[start:end] for each in "'\"\\"), is_indented))
        return max(end, start + 1)

    def _bodies(self, at: int) -> int:
        """Read the here-documents that begin at a line; where the last one ends."""
        for delimiter, is_quoted, is_indented in self._announced:
            lines, is_open = list[str](), True
            while is_open and at < len(self.text):
                end = _or_end(self.text, self.text.find("\n", at))
                line = self.text[at:end].lstrip("\t") if is_indented else self.text[at:end]
                is_open = line != delimiter
                lines += [line] * is_open
                at = end + 1
            body = "\n".join(lines)
            used = [] if is_quoted else sorted(_ScriptReader(body, is_body=True).used)
            self.used.update(used)
            self.here_documents.append(HereDocument(body, used))
        self._announced.clear()
        return min(at, len(self.text))

    def _expand_body(self) -> None:
        """Read what the shell replaces in a here-document."""
        made, at = list[str](), 0
        while (at := min(_or_end(self.text, self.text.find(each, at)) for each in "$`\\")) < len(self.text):
            at = at + 2 if self.text[at] == "\\" else self._expansion(at, made)

    def _word(self, at: int) -> tuple[str, int]:
        """The word that begins at a place, and where it ends."""
        text, made = self.text, list[str]()
        while at < len(text) and text[at] not in _ENDS and text[at] not in " \t\r<>":
            letter = text[at]
            if letter == "\\":
                made.append(text[at + 1 : at + 2].replace("\n", ""))
                at += 2
            elif letter == "'":
                end = _or_end(text, text.find("'", at + 1))
                made.append(text[at + 1 : end])
                at = end + 1
            elif letter == '"':
                at = self._quoted(at + 1, made)
            elif letter in "$`":
                at = self._expansion(at, made)
            else:
                made.append(letter)
                at += 1
        return "".join(made), at

    def _quoted(self, at: int, made: list[str]) -> int:
        """Add what stands in double quotes; where they end."""
        text = self.text
        while at < len(text) and text[at] != '"':
            if text[at] == "\\":
                escaped = text[at + 1 : at + 2]
                made.append("" if escaped == "\n" else escaped if escaped in '$`"\\' else f"\\{escaped}")
                at += 2
            elif text[at] in "$`":
                at = self._expansion(at, made)
            else:
                made.append(text[at])
                at += 1
        return at + 1

    def _expansion(self, at: int, made: list[str]) -> int:
        """Add what `$` or a backquote at a place stands for; where that ends."""
        text = self.text
        if text[at] == "`":
            made.append("$()")
            return _or_end(text, text.find("`", at + 1)) + 1
        following = text[at + 1 : at + 2]
        if following == "(":
            end = _closing(text, at + 1, "(", ")")
            inside = text[at + 2 : end]
            is_variable = is_name(inside) and inside.isupper()  # Kubernetes has put its value there, if it is one of the pod's
            made.append(f"$({inside})" if is_variable else "$()")
            self.used.update({inside} if is_variable else _names(inside) if inside[:1] == "(" else _ScriptReader(inside).used)
            return end + 1
        if following == "{":
            end = _closing(text, at + 1, "{", "}")
            self._parameter(text[at + 2 : end], made)
            return end + 1
        end = at + 1
        while end < len(text) and is_name(text[at + 1 : end + 1]):
            end += 1
        if end > at + 1:
            self.used.add(text[at + 1 : end])
            made.append(f"$({text[at + 1 : end]})")
            return end
        made.append("$(?)" if following == "?" else "$()" if following and following in _SPECIAL else "$")
        return at + 2 if following and following in _SPECIAL else at + 1

    def _parameter(self, inside: str, made: list[str]) -> None:
        """Add what `${...}` stands for: with another value for a variable that is not set, the variable is not one that is used."""
        length = next((number for number in range(len(inside), 0, -1) if is_name(inside[:number])), 0)
        name, rest = inside[:length], inside[length:]
        operator = rest.lstrip(":")[:1]
        if name and operator not in ("-", "=", "+", "?"):
            self.used.add(name)
        if name and operator == "=":
            self.assigned.add(name)
        made.append(f"$({name})" if name and not rest else "$()")


def _names(arithmetic: str) -> set[str]:
    """The variables of an arithmetic expression."""
    words = "".join(each if each.isalnum() or each == "_" else " " for each in arithmetic).split()
    return {each for each in words if is_name(each)}


def _is_redirection(text: str, at: int) -> bool:
    """Whether input or output goes elsewhere at a place: `>`, `2>`, `&>`."""
    return text[at] in "<>" or (text[at + 1 : at + 2] in ("<", ">") and (text[at].isdigit() or text[at] == "&"))


def _behind(text: str, at: int, letters: Container[str]) -> int:
    """The first place from *at* on that has none of some letters."""
    return next((number for number in range(at, len(text)) if text[number] not in letters), len(text))


def _or_end(text: str, at: int) -> int:
    return len(text) if at < 0 else at


def _closing(text: str, at: int, opening: str, closing: str) -> int:
    """The place of the bracket that closes the one at a place; the end of the text where none does."""
    depth = 0
    for number in range(at, len(text)):
        depth += (text[number] == opening) - (text[number] == closing)
        if not depth:
            return number
    return len(text)
