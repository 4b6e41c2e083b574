"""Whether the program of a container accepts its arguments: torchrun its options, an image's program the flags of its contract.

If not, it exits with 2, and so does every restart.
"""

from __future__ import annotations

from jobspec.diagnostics.rules import Finding
from jobspec.documents.marked_tree import text
from jobspec.kubernetes.problems import closest
from jobspec.outcome.training_program import texts
from jobspec.programs import command_lines
from jobspec.programs.command_lines import CommandWord
from jobspec.programs.contracts import TORCHRUN, contract_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from jobspec.outcome.training_program import Started, TrainingProgram, Words
    from jobspec.programs.contracts import Contract


_ENDS = "and exits with 2"


def wrong_torchrun_options(started: Sequence[Started]) -> Iterator[Finding]:
    """Report options that torchrun does not take, and values that it does not take for them."""
    return (each for _, program in started if program.is_torchrun for each in _torchrun_options(program))


def wrong_torchrun_variables(started: Sequence[Started]) -> Iterator[Finding]:
    """Report variables that are defaults of torchrun's options, and do not have their types."""
    for _, program in started:
        settings = program.settings if program.is_torchrun else None
        for name, taken, code in settings.refused_variables() if settings else ():
            said = f"`{settings.variables[name]}`" if settings and settings.variables[name] else "an empty text"
            message = f"torchrun accepts {taken} in `{name}`, not {said}, and exits with {code}"
            place = program.place_of(name.removeprefix("PET_").lower())
            yield Finding(place, message, f"write {taken}, or remove the variable", rule="wrong-flag-value")


def wrong_flags(started: Sequence[Started], contracts: Mapping[str, Contract]) -> Iterator[Finding]:
    """Report flags that the contract of an image does not have, and wrong values. *contracts*: by image, without tag and digest."""
    for _, program in started if contracts else ():
        contract = contract_of(contracts, text(program.container, "image"))
        flags = _flags(program, contract) if contract else None
        if contract and flags is not None:
            yield from _wrong_flags(flags, contract)


def _wrong_value(given: CommandWord, words: Words, contract: Contract, program: str) -> Iterator[Finding]:
    """What is wrong with the value of a known option; one with `$(NAME)` in it is not known before the pod runs."""
    place, name = words[given.at], given.name
    if not contract.refuses(given):
        return
    if given.option in contract.switches:
        message = f"{program} accepts no value for `{name}`, {_ENDS}"
        yield Finding(place, message, f"write `{name}` alone, or remove it", rule="wrong-flag-value")
    elif given.value is None:
        message = f"{program} needs a value for `{name}`, {_ENDS}"
        yield Finding(place, message, f"a value that starts with `-` needs the form `{name}=VALUE`", rule="wrong-flag-value")
    else:
        message = f"{program} accepts {contract.expected(given.option, given.value)} for `{name}`, not `{given.value}`, {_ENDS}"
        yield Finding(words[given.value_at], message, rule="wrong-flag-value")


def _torchrun_options(program: TrainingProgram) -> Iterator[Finding]:
    """What is wrong with the options before the script. An older or newer torch may know others, so that these are warnings."""
    words = program.launched
    for given in command_lines.options_of(texts(words)):
        if given.option == "--help":
            return
        if command_lines.is_unknown(given.name, is_launch=program.is_launch):
            message = f"torchrun of torch 2.15 has no option `{given.name}`, {_ENDS}"
            yield Finding(words[given.at], message, closest(given.name, command_lines.OPTIONS), rule="unknown-flag", severity="warning")
            return
        if not given.option:
            return  # whether the next word is its value is unknown
        yield from _wrong_value(given, words, TORCHRUN, "torchrun")


def _flags(program: TrainingProgram, contract: Contract) -> Words | None:
    """The words that the contract's program gets; None where another program runs, or a shell."""
    words: Words = program.words
    if not program.container.get("command"):
        return words
    words = _behind_torchrun(program.launched) if program.is_torchrun else words[command_lines.length_of_python(program.texts) :]
    first = texts(words[:2])
    return words[2:] if contract.program and first in (["-m", contract.program], ["--module", contract.program]) else None


def _behind_torchrun(words: Words) -> Words:
    """The words from torchrun's `-m` on; none where it starts a file."""
    for given in command_lines.options_of(texts(words)):
        if given.option == "--module":
            return words[given.at :]
        if not given.option:
            break
    return ()


def _wrong_flags(words: Words, contract: Contract) -> Iterator[Finding]:
    """What is wrong with the flags; the words after an unknown flag may be its values."""
    program = contract.program or "the program"
    is_known = True
    for given in command_lines.read(texts(words), lambda name: name if name in contract.flags else "", contract.switches):
        place = words[given.at]
        if given.option:
            yield from _wrong_value(given, words, contract, program)
        elif command_lines.is_flag(given.name):
            hint = closest(given.name, contract.flags)
            yield Finding(place, f"{program} has no flag `{given.name}`, {_ENDS}", hint, rule="unknown-flag")
        elif is_known:
            message = f"{program} accepts only flags, {_ENDS} at `{given.name}`"
            yield Finding(place, message, "a flag takes one value, which follows it", rule="unknown-flag")
        is_known = bool(given.option)
