"""The program of a container, what starts the processes that train, and whether it takes its arguments."""

from __future__ import annotations

from jobspec.documents.marked_tree import MarkedTree, items, text
from jobspec.programs import command_lines
from jobspec.programs.command_lines import expand_references
from jobspec.programs.shells import Script, ShellCommand, is_assignment, read_script, script_at
from jobspec.programs.torchrun import TorchrunSettings

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from jobspec.operators.expansion import ExpandedJob, ExpandedRole
    from jobspec.programs.launchers import LauncherCommand

    Started = tuple[ExpandedRole, "TrainingProgram"]
    Words = Sequence[MarkedTree]
    #: The word of an option of torchrun, and its value.
    Option = tuple[MarkedTree, str]


#: The words before a command, or before assignments, that leave its variables as they are.
_EXPORTING = ("exec", "export", "env", "nohup", "time", "command")


class TrainingProgram:
    """The program of a container."""

    __slots__ = ("_started", "container", "script", "texts", "variables", "words")

    def __init__(self, container: MarkedTree) -> None:
        self.container = container
        self.words = [each for field in ("command", "args") for each in items(container.get(field))]
        """The words of `command` and `args`; none where the image's own program runs."""
        self.texts = texts(self.words)
        self.variables = {text(each, "name"): each for each in items(container.get("env"))}
        """By name; of two of one name the last counts, as for Kubernetes."""
        at = script_at(self.texts)
        self.script: Script | None = None if at is None else read_script(self.texts[at])
        """The script of the shell that the container starts; None where it starts no shell, or a file."""
        self._started = self.words if self.script is None or at is None else _of_script(self.script, self.words[at])

    @property
    def is_torchrun(self) -> bool:
        """Whether the container surely starts torchrun: directly, or by a shell's script without conditions."""
        return self._length_of_start > 0

    @property
    def other_launcher(self) -> tuple[LauncherCommand, Words] | None:
        """The call of accelerate or DeepSpeed that it surely starts once, with the places of its words; None if there is none."""
        if not self.mentions(command_lines.ACCELERATE, command_lines.DEEPSPEED):
            return None
        from jobspec.programs.launchers import launcher_command

        commands = [each.words for each in self.script.commands] if self.script else [self.texts]
        found = [(command, each) for each in commands if (command := launcher_command(each))]
        if len(found) != 1 or (self.script and not self.script.is_straight):
            return None
        command, own = found[0]
        at = script_at(self.texts)
        return command, self.words if at is None else [self.words[at]] * len(own)

    @property
    def is_plain_python(self) -> bool:
        """Whether the container starts a Python file or module without a launcher, and gives it no rank of its own."""
        if self.script is None:
            return command_lines.is_plain_python(self.texts)
        script = self.script
        is_sure = script.is_straight and not script.reads_files and not script.assigned & command_lines.OF_LAUNCHERS
        return is_sure and bool(script.commands) and all(map(_is_python_alone, script.commands[-1:]))

    def mentions(self, *texts: str) -> bool:
        """Whether one of the words contains one of the texts."""
        return any(each in word for word in self.texts for each in texts)

    @property
    def launched(self) -> Sequence[MarkedTree]:
        """The words after `torchrun`; none for another program."""
        return self._started[self._length_of_start :] if self._length_of_start else ()

    @property
    def is_launch(self) -> bool:
        """Whether the container starts `python -m torch.distributed.launch`, torchrun's predecessor."""
        return self._length_of_start > 1 and str(self._started[2].value) == "torch.distributed.launch"

    @property
    def _length_of_start(self) -> int:
        return command_lines.length_of_start(texts(self._started))

    def option(self, *names: str) -> Option | None:
        """The first of torchrun's options that is there and is one of these; None where none is."""
        words = self.launched
        return next(((words[each.at], each.value or "") for each in command_lines.options_of(texts(words)) if each.option in names), None)

    def gives(self, *settings: str) -> bool:
        """Whether an option or a variable gives one of the settings of torchrun."""
        names = [f"--{each.replace('_', '-')}" for each in settings]
        return any(f"PET_{each.upper()}" in self.variables for each in settings) or self.option(*names) is not None

    @property
    def settings(self) -> TorchrunSettings:
        """The settings of torchrun, by its options and the variables of the container."""
        given = list(command_lines.options_of(texts(self.launched)))
        known, unknown = self._values()
        if any(not each.option for each in given):
            unknown |= self._read  # what follows an option that is not known is not looked at
        options = {each.option: each.value or "" for each in given if each.option}
        return TorchrunSettings(options, known, frozenset(unknown))

    @property
    def has_one_rank(self) -> bool:
        """Whether no option gives torchrun a node rank, and all pods have the same: the default, or a value that a file wrote."""
        variable = self.variables.get(command_lines.NODE_RANK)
        is_given = self.option("--node-rank") is not None or self.settings.value("node_rank") is None
        is_own = variable is None or bool(variable.mark.line) or command_lines.NODE_RANK in self.exported
        return not is_given and is_own

    def place_of(self, setting: str) -> MarkedTree:
        """Where a setting of torchrun stands: its option, or its variable, or else the word that starts torchrun."""
        option = self.option(f"--{setting.replace('_', '-')}")
        name = f"PET_{setting.upper()}"
        variable = None if name in self.exported else self.variables.get(name)
        written = (option[0] if option else None, *((variable.get("value"), variable, variable.get("name")) if variable else ()))
        return next((each for each in written if each and each.mark.line), self.start)

    @property
    def start(self) -> MarkedTree:
        """The word that starts the program."""
        return (self._started or self.words)[0]

    def _values(self) -> tuple[dict[str, str], set[str]]:
        """The variables whose value is known, and the names of those whose value only a run shows."""
        known: dict[str, str] = {}
        unknown: set[str] = set()
        for each in items(self.container.get("env")):
            name = text(each, "name")
            if each.get("valueFrom") is not None:
                unknown.add(name)
            else:
                known[name] = expand_references(text(each, "value"), known)
                unknown = {*unknown, name} if "$(" in known[name] else unknown - {name}
        from_elsewhere = bool(items(self.container.get("envFrom"))) or (self.script is not None and self.script.reads_files)
        if from_elsewhere:
            unknown |= self._read - (known.keys() if self.script is None or not self.script.reads_files else set())
        if self.script:
            unknown = (unknown | self.script.assigned) - self.exported.keys()
        return {name: value for name, value in {**known, **self.exported}.items() if name not in unknown}, unknown

    @property
    def exported(self) -> Mapping[str, str]:
        """The plain values of `PET_` variables that a script exports for torchrun.

        If the script may not export a variable, or may set it twice, it is left out.
        """
        script = self.script
        if script is None or script.reads_files or not self.is_torchrun:
            return {}
        found: dict[str, str] = {}
        is_conditional = False
        for step in script.steps:
            words = list(step.words)
            while words and (is_assignment(words[0]) or words[0] in _EXPORTING):
                words.pop(0)
            is_start = command_lines.length_of_start(words) > 0
            if is_start or step.words[0] == "export":
                pairs = (each.partition("=") for each in step.words[: len(step.words) - len(words)] if is_assignment(each))
                found.update({name: value for name, _, value in pairs})
            if is_start:
                break
            if (is_conditional and step.end != "&&") or step.end not in ("&&", *";\n"):
                return {}
            is_conditional = step.end == "&&"
        every = [each.partition("=")[0].rstrip("+") for step in script.steps for each in step.words]
        return {name: each for name, each in found.items() if name.startswith("PET_") and "$" not in each and every.count(name) == 1}

    @property
    def _read(self) -> set[str]:
        """The variables that torchrun reads."""
        return {f"PET_{name.upper()}" for name in command_lines.SETTINGS}


def _is_python_alone(command: ShellCommand) -> bool:
    return not command.is_alternative and command_lines.is_plain_python(command.words)


def _of_script(script: Script, place: MarkedTree) -> Words:
    """The words that start torchrun in a script that surely starts it once; else none."""
    starts = [each for each in script.commands if command_lines.length_of_start(each.words)]
    is_sure = script.is_straight and len(starts) == 1 and not starts[0].is_alternative
    return [place.with_value(each) for each in starts[0].words] if is_sure else ()


def started(job: ExpandedJob) -> list[Started]:
    """Return the training roles with their programs, without those of the image alone."""
    found = [(role, role.training_container()) for role in job.roles]
    programs = [(role, TrainingProgram(container)) for role, container in found if container]
    return [(role, program) for role, program in programs if program.words]


def texts(words: Words) -> list[str]:
    """Return the words as strings."""
    return [str(each.value) for each in words]
