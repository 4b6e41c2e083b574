"""The program of a container, what starts the processes that train, and whether it takes its arguments."""

from __future__ import annotations

from jobspec.documents.marked_tree import MarkedTree, items, text
from jobspec.findings import Finding
from jobspec.kubernetes.problems import closest
from jobspec.programs import torchrun
from jobspec.programs.contracts import Contract, contract_of
from jobspec.programs.torchrun import CommandWord, is_flag, length_of_python, length_of_start, options_of, read, starts_python

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from jobspec.operators.expansion import ExpandedJob, ExpandedRole

    Started = tuple[ExpandedRole, "Program"]
    Words = Sequence[MarkedTree]


#: The options by which torchrun is told where the others are.
_PLACES = ("--rdzv-endpoint", "--master-addr")


class TorchrunOption:
    """An option of torchrun in a command line: its word, and its value."""

    __slots__ = ("value", "word")

    def __init__(self, word: MarkedTree, value: str) -> None:
        self.word = word
        self.value = value


class Program:
    """What a container runs."""

    __slots__ = ("container", "variables", "words")

    def __init__(self, container: MarkedTree) -> None:
        self.container = container
        self.words = [each for field in ("command", "args") for each in items(container.get(field))]
        """The words of `command` and `args`; none where the image's own program runs."""
        self.variables = {text(each, "name"): each for each in items(container.get("env"))}
        """By name; of two of one name the last counts, as for Kubernetes."""

    @property
    def is_torchrun(self) -> bool:
        """Whether the container starts torchrun itself, and not in the text of a shell command."""
        return self._start > 0

    @property
    def is_plain_python(self) -> bool:
        """Whether the container starts a Python file or module directly, without a launcher."""
        if not self._is_python or len(self.words) == 1:
            return False
        words = [str(word.value) for word in self.words]
        following = "".join(words[length_of_python(words) :][:1])
        return following != "-c" and (following != "-m" or "." not in str(self.words[-1].value)) and not self.mentions(*_LAUNCHERS)

    @property
    def _is_python(self) -> bool:
        return starts_python([str(word.value) for word in self.words[:1]])

    @property
    def _start(self) -> int:
        return length_of_start([str(word.value) for word in self.words])

    def mentions(self, *texts: str) -> bool:
        """Whether one of the texts stands in one of the words."""
        return any(each in str(word.value) for word in self.words for each in texts)

    @property
    def launched(self) -> Sequence[MarkedTree]:
        """The words behind torchrun; those of another program are none."""
        return self.words[self._start :] if self._start else ()

    @property
    def is_launch(self) -> bool:
        """Whether the container starts `python -m torch.distributed.launch`, torchrun's predecessor."""
        return self._start > 1 and str(self.words[2].value) == "torch.distributed.launch"

    def option(self, *names: str) -> TorchrunOption | None:
        """The first of torchrun's options that is there and is one of these; None where none is."""
        words = self.launched
        if not words:
            return None
        told = (each for each in options_of([str(word.value) for word in words]) if each.option in names)
        return next((TorchrunOption(words[each.at], each.value or "") for each in told), None)

    @property
    def knows_where_others_are(self) -> bool:
        """Whether a variable or an option tells torchrun where the processes meet."""
        return bool({"PET_MASTER_ADDR", "PET_RDZV_ENDPOINT"} & self.variables.keys()) or self.option(*_PLACES) is not None


_LAUNCHERS = ("accelerate", "deepspeed", "torch.distributed", "ray", "horovod", "mpirun", "composer", "colossalai")


def started(job: ExpandedJob) -> list[Started]:
    """The roles that train, each with its program, but for those whose program is in the image."""
    found = [(role, role.training_container()) for role in job.roles()]
    programs = [(role, Program(container)) for role, container in found if container]
    return [(role, program) for role, program in programs if program.words]


# Whether the program of a container takes its arguments: torchrun its options, and an image's program the flags of its contract.
#
# A program that does not ends with 2, and so does every restart of it.


_TORCHRUN = Contract({"properties": {**torchrun.OPTIONS, torchrun.OF_LAUNCH: {"type": "boolean"}}}, "torchrun")
_ENDS = "and ends with 2"


def wrong_torchrun_options(job: ExpandedJob) -> Iterator[Finding]:
    """Tell of options that torchrun does not take, and of values that it does not take for them."""
    for program in _programs(job):
        if program.is_torchrun:
            yield from _torchrun_options(program)


def wrong_flags(job: ExpandedJob, contracts: Mapping[str, Contract]) -> Iterator[Finding]:
    """Tell of flags that the contract of an image does not have, and of wrong values. *contracts*: by image, without tag and digest."""
    for program in _programs(job) if contracts else ():
        contract = contract_of(contracts, text(program.container, "image"))
        flags = _flags(program, contract) if contract else None
        if contract and flags is not None:
            yield from _wrong_flags(flags, contract)


def _programs(job: ExpandedJob) -> Iterator[Program]:
    for role in job.roles():
        container = role.training_container()
        if container:
            yield Program(container)


def _texts(words: Words) -> list[str]:
    return [str(each.value) for each in words]


def _wrong_value(given: CommandWord, words: Words, contract: Contract, program: str) -> Iterator[Finding]:
    """What is wrong with the value of a known option; one with `$(NAME)` in it is not known before the pod runs."""
    place, name = words[given.at], given.name
    if given.option in contract.switches:
        if given.is_joined:
            message = f"{program} takes no value for `{name}`, {_ENDS}"
            yield Finding(place, message, f"write `{name}` alone, or leave it out", rule="wrong-flag-value")
    elif given.value is None:
        message = f"{program} is given no value for `{name}`, {_ENDS}"
        yield Finding(place, message, f"a value that begins with `-` needs the form `{name}=VALUE`", rule="wrong-flag-value")
    elif "$(" not in given.value and (expected := contract.expected(given.option, given.value)):
        message = f"{program} takes {expected} for `{name}`, not `{given.value}`, {_ENDS}"
        yield Finding(words[given.value_at], message, rule="wrong-flag-value")


def _torchrun_options(program: Program) -> Iterator[Finding]:
    """What is wrong with the options before the script. An older or newer torch may know others, so that these are warnings."""
    words = program.launched
    for given in torchrun.options_of(_texts(words)):
        if given.option == "--help":
            return
        if torchrun.is_unknown(given.name, is_launch=program.is_launch):
            message = f"torchrun of torch 2.15 has no option `{given.name}`, {_ENDS}"
            yield Finding(words[given.at], message, closest(given.name, torchrun.OPTIONS), rule="unknown-flag", severity="warning")
            return
        if not given.option:
            return  # whether the next word is its value cannot be told
        yield from _wrong_value(given, words, _TORCHRUN, "torchrun")


def _flags(program: Program, contract: Contract) -> Words | None:
    """The words that the contract's program gets; None where another program runs, or a shell."""
    words: Words = program.words
    if not program.container.get("command"):
        return words
    if program.is_torchrun:
        words = _behind_torchrun(program.launched)
    elif starts_python(_texts(words)):
        words = words[length_of_python(_texts(words)) :]
    started = [str(each.value) for each in words[:2]]
    return words[2:] if contract.program and started in (["-m", contract.program], ["--module", contract.program]) else None


def _behind_torchrun(words: Words) -> Words:
    """The words from torchrun's `-m` on; none where it starts a file."""
    for given in torchrun.options_of(_texts(words)):
        if given.option == "--module":
            return words[given.at :]
        if not given.option:
            break
    return ()


def _wrong_flags(words: Words, contract: Contract) -> Iterator[Finding]:
    """What is wrong with the flags; the words after an unknown flag may be its values."""
    program = contract.program or "the program"
    is_known = True
    for given in read(_texts(words), lambda name: name if name in contract.flags else "", contract.switches):
        place = words[given.at]
        if given.option:
            yield from _wrong_value(given, words, contract, program)
        elif is_flag(given.name):
            hint = closest(given.name, contract.flags)
            yield Finding(place, f"{program} has no flag `{given.name}`, {_ENDS}", hint, rule="unknown-flag")
        elif is_known:
            message = f"{program} takes flags alone, {_ENDS} at `{given.name}`"
            yield Finding(place, message, "a flag takes one value, which follows it", rule="unknown-flag")
        is_known = bool(given.option)
