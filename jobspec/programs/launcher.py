"""A command line taken apart: the launcher, torchrun, with its settings, and the program that it starts.

Follows `get_args_parser` and `config_from_args`, torch/distributed/run.py, 2.7: each option has the variable `PET_<OPTION>` as default.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from jobspec.programs import torchrun

#: How a command line starts its program: by the launcher, in a shell, at once, or as the image says, which nobody sees here.
LAUNCHER, SHELL, PROGRAM, IMAGE = "launcher", "shell", "program", "image"

_SHELLS = frozenset(("sh", "bash", "dash", "ash", "zsh"))
_PYTHON = "python"
_MODULES = ("torch.distributed.run", "torch.distributed.launch")
#: Options by the settings that variables give as well, with what the launcher does without either.
SETTINGS = {
    "nnodes": "1:1",
    "nproc_per_node": "1",
    "node_rank": "0",
    "master_addr": "127.0.0.1",
    "master_port": "29500",
    "rdzv_backend": "static",
    "rdzv_endpoint": "",
    "rdzv_id": "none",
    "rdzv_conf": "",
    "max_restarts": "0",
    "standalone": "",
}


class CommandLine:
    """What a container runs."""

    __slots__ = ("how", "options", "program")

    def __init__(self, how: str, program: Sequence[str], options: Mapping[str, str]) -> None:
        self.how = how
        self.program = list(program)
        """The words of the program, without the launcher's and the interpreter's own."""
        self.options = options
        """What the command line tells the launcher, by the name of the setting."""

    def setting(self, name: str, environment: Mapping[str, str]) -> str:
        """What the launcher goes by: the command line, else the variable, else its own default."""
        return self.options.get(name, environment.get(f"PET_{name.upper()}", SETTINGS[name]))


def command_line(command: Sequence[str], arguments: Sequence[str]) -> CommandLine:
    """The command line of a container's `command` and `args`."""
    if not command:
        return CommandLine(IMAGE, arguments, {})
    words = [*command, *arguments]
    name = words[0].rpartition("/")[2]
    if name in _SHELLS:
        return CommandLine(SHELL, words, {})
    if name == "torchrun":
        return _launched(words[1:])
    if name.startswith(_PYTHON):
        rest = words[1:]
        while rest and rest[0] == "-u":
            rest = rest[1:]
        if len(rest) > 1 and rest[0] == "-m" and rest[1] in _MODULES:
            return _launched(rest[2:])
        return CommandLine(PROGRAM, [_PYTHON, *rest], {})
    return CommandLine(PROGRAM, words, {})


def _launched(words: Sequence[str]) -> CommandLine:
    told = list(torchrun.options_of(words))
    options = {(each.option or each.name).lstrip("-").replace("-", "_"): each.value or "" for each in told}
    rest = words[told[-1].value_at + 1 :] if told else words
    if rest[:1] == ["--"]:
        rest = rest[1:]
    interpreter = [] if "no_python" in options else [_PYTHON, *(["-m"] if "module" in options else [])]
    return CommandLine(LAUNCHER, [*interpreter, *rest], options)
