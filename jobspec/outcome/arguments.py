"""Whether the program of a container takes its arguments: torchrun its options, and an image's program the flags of its contract.

A program that does not ends with 2, and so does every restart of it.
"""

from __future__ import annotations

from jobspec.contracts import Contract, contract_of
from jobspec.operators.pods import text
from jobspec.outcome import torchrun
from jobspec.outcome.program import Program
from jobspec.outcome.rule import Outcome, place_of
from jobspec.validation.wording import closest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from jobspec.operators.expanded_job import ExpandedJob
    from jobspec.overlays.marked_tree import MarkedTree

    Words = Sequence[MarkedTree]

_TORCHRUN = Contract({"properties": dict(torchrun.OPTIONS)}, "torchrun")
_ENDS = "and ends with 2"
_PYTHON_SWITCHES = ("-u", "-O", "-OO", "-B", "-I", "-E", "-s")


def wrong_torchrun_options(job: ExpandedJob) -> Iterator[Outcome]:
    """Tell of options that torchrun does not take, and of values that it does not take for them."""
    for program in _programs(job):
        if program.is_torchrun:
            yield from _torchrun_options(_own(program))


def wrong_flags(job: ExpandedJob, contracts: Mapping[str, Contract]) -> Iterator[Outcome]:
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


class _Given:
    """A word of a command line, and its value."""

    __slots__ = ("is_joined", "name", "option", "value", "value_word", "word")

    def __init__(self, word: MarkedTree, name: str, option: str, value: str | None, *, follows: MarkedTree | None, is_joined: bool) -> None:
        self.word = word
        self.value_word = follows or word
        """The word that the value stands in."""
        self.name = name
        self.option = option
        """The option that the name means; empty where it means none."""
        self.value = value
        """None of a switch, and where none follows."""
        self.is_joined = is_joined
        """Whether the value is written behind a `=`."""


def _read(words: Words, contract: Contract, meaning: Callable[[str], str]) -> Iterator[_Given]:
    """The words as argparse reads them, one by one, up to one of which nobody knows before the pod runs how it will be read."""
    rest = list(words)
    while rest:
        word = rest.pop(0)
        name, joined, value = str(word.value).partition("=")
        if "$(" in name or name == "--":
            return
        option = meaning(name)
        follows = option and option not in contract.switches and not joined and rest and not _is_flag(str(rest[0].value))
        next_word = rest.pop(0) if follows else None
        said = str(next_word.value) if next_word else value if joined else None
        yield _Given(word, name, option, said, follows=next_word, is_joined=bool(joined))


def _is_flag(word: str) -> bool:
    """Whether argparse takes a word for a flag: it begins with `-`, and is no negative number, nor a dash alone."""
    return word[:1] == "-" and len(word) > 1 and not word[1:].replace(".", "", 1).isdecimal()


def _wrong_value(given: _Given, contract: Contract, program: str) -> Iterator[Outcome]:
    """What is wrong with the value of a known option; one with `$(NAME)` in it is not known before the pod runs."""
    place, name = place_of(given.word), given.name
    if given.option in contract.switches:
        if given.is_joined:
            message = f"{program} takes no value for `{name}`, {_ENDS}"
            yield Outcome("wrong-flag-value", message, place, f"write `{name}` alone, or leave it out")
    elif given.value is None:
        message = f"{program} is given no value for `{name}`, {_ENDS}"
        yield Outcome("wrong-flag-value", message, place, f"a value that begins with `-` needs the form `{name}=VALUE`")
    elif "$(" not in given.value and (expected := contract.expected(given.option, given.value)):
        message = f"{program} takes {expected} for `{name}`, not `{given.value}`, {_ENDS}"
        yield Outcome("wrong-flag-value", message, place_of(given.value_word))


def _own(program: Program) -> Words:
    """The words behind torchrun."""
    return program.words[1:] if str(program.words[0].value).rpartition("/")[2] == "torchrun" else program.words[3:]


def _torchrun_options(words: Words) -> Iterator[Outcome]:
    """What is wrong with the options before the script. An older or newer torch may know others, so that these are warnings."""
    for given in _read(words, _TORCHRUN, torchrun.meant):
        if given.name[:1] != "-" or given.option == "--help":
            return
        if not given.option:
            if torchrun.is_unknown(given.name):
                message = f"torchrun of torch 2.15 has no option `{given.name}`, {_ENDS}"
                hint = closest(given.name, torchrun.OPTIONS)
                yield Outcome("unknown-flag", message, place_of(given.word), hint, severity="warning")
            return  # whether the next word is its value cannot be told
        yield from _wrong_value(given, _TORCHRUN, "torchrun")


def _flags(program: Program, contract: Contract) -> Words | None:
    """The words that the contract's program gets; None where another program runs, or a shell."""
    words: Words = program.words
    if not program.container.get("command"):
        return words
    if program.is_torchrun:
        words = _behind_torchrun(_own(program))
    elif str(words[0].value).rpartition("/")[2].rstrip("0123456789.") == "python":
        words = words[1:]
        while words and words[0].value in _PYTHON_SWITCHES:
            words = words[1:]
    started = [str(each.value) for each in words[:2]]
    return words[2:] if contract.program and started in (["-m", contract.program], ["--module", contract.program]) else None


def _behind_torchrun(words: Words) -> Words:
    """The words from torchrun's `-m` on; none where it starts a file."""
    for given in _read(words, _TORCHRUN, torchrun.meant):
        if given.option == "--module":
            return words[words.index(given.word) :]
        if not given.option:
            break
    return ()


def _wrong_flags(words: Words, contract: Contract) -> Iterator[Outcome]:
    """What is wrong with the flags; the words after an unknown flag may be its values."""
    program = contract.program or "the program"
    is_known = True
    for given in _read(words, contract, lambda name: name if name in contract.flags else ""):
        if given.option:
            yield from _wrong_value(given, contract, program)
        elif _is_flag(given.name):
            hint = closest(given.name, contract.flags)
            yield Outcome("unknown-flag", f"{program} has no flag `{given.name}`, {_ENDS}", place_of(given.word), hint)
        elif is_known:
            message = f"{program} takes flags alone, {_ENDS} at `{given.name}`"
            yield Outcome("unknown-flag", message, place_of(given.word), "a flag takes one value, which follows it")
        is_known = bool(given.option)
