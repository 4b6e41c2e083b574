"""The contract is what the program takes, and what our overlays and the guides' manifests give it.

`_problems` judges a list of arguments by `schemas/trainer.json` alone, as any reader of the contract can: it never imports trainer.
"""

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft7Validator

from tests.support import quick_yaml
from tests.support.reference import ROOT, folder
from trainer import contract
from trainer.config import Refusal, parse

COMMITTED = ROOT / "schemas" / "trainer.json"
CONTRACT: dict[str, Any] = json.loads(COMMITTED.read_text())
FLAGS: dict[str, dict[str, Any]] = CONTRACT["properties"]
VALIDATOR = Draft7Validator(CONTRACT)
CASES = ROOT / "tests" / "cases" / "contract"

DECIMAL = {"integer": (r"[+-]?[0-9]+", int), "number": (r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?", float)}


def _problems(args: list[str]) -> list[str]:
    """What the contract says against some arguments."""
    problems = []
    given: dict[str, Any] = {}
    words = iter(args)
    for word in words:
        name, attached, value = word.partition("=")
        if name not in FLAGS:
            problems.append(f"{name}: no such flag")
        elif name in CONTRACT["switches"]:
            given[name] = True
            problems += [f"{name}: takes no value"] if attached else []
        elif attached:
            given[name] = _typed(name, value)
        else:
            value = next(words, "--")
            given[name] = _typed(name, value)
            problems += [f"{name}: has no value"] if re.match(r"-(?!$|[0-9]*\.?[0-9]+$)", value) else []
    return problems + [error.message for error in VALIDATOR.iter_errors(given)]


def _typed(name: str, text: str) -> Any:
    """A text that is no number of its flag's type stays a text, which the contract refuses."""
    pattern, number = DECIMAL.get(FLAGS[name]["type"], ("(?!)", str))
    return number(text) if re.fullmatch(pattern, text) else text


def _refused(args: list[str]) -> str:
    """What the program itself says against some arguments."""
    try:
        parse(args)
    except Refusal as refusal:
        return str(refusal)
    return ""


def test_the_committed_contract_is_what_the_program_gives() -> None:
    assert COMMITTED.read_text() == contract.text()


def test_the_contract_is_a_json_schema() -> None:
    Draft7Validator.check_schema(CONTRACT)


def test_every_default_of_the_contract_is_a_value_of_it() -> None:
    valued = {name: schema["default"] for name, schema in FLAGS.items() if schema["type"] != "boolean"}
    assert valued
    assert [problem for name, value in valued.items() for problem in _problems([f"{name}={value}"])] == []


@pytest.mark.parametrize("args", quick_yaml.load((CASES / "accepted.yaml").read_text()), ids=" ".join)
def test_accepted(args: list[str]) -> None:
    assert (_problems(args), _refused(args)) == ([], "")


@pytest.mark.parametrize("case", quick_yaml.load((CASES / "refused.yaml").read_text()), ids=lambda case: " ".join(case["args"]))
def test_refused(case: dict[str, Any]) -> None:
    assert _problems(case["args"])
    assert case["words"] in _refused(case["args"])


TEXTS = ["", "0", "1", "-1", "+2", "64", "4294967295", "4294967296", "0.5", ".5", "5.", "-0.1", "1e-3", "1_0", " 1", "nan", "inf"]
WORDS = [*TEXTS, "gloo", "nccl", "sgd", "cnn", "mnist", "auto", "true", "a=b", "-", "-e", "-.5", "-5."]
ARGUMENTS = st.one_of(
    st.tuples(st.sampled_from([*FLAGS, "--epoch", "-e", "--"])),
    st.builds(lambda name, word: (f"{name}={word}",), st.sampled_from([*FLAGS, "--epoch"]), st.sampled_from(WORDS)),
    st.tuples(st.sampled_from([*FLAGS, "--epoch"]), st.sampled_from(WORDS)),
)


@pytest.mark.slow
@settings(max_examples=400, deadline=None)
@given(st.lists(ARGUMENTS, max_size=4))
def test_the_contract_and_the_program_agree(groups: list[tuple[str, ...]]) -> None:
    args = [word for group in groups for word in group]
    assert bool(_problems(args)) == bool(_refused(args))


def _overlays() -> dict[str, dict[str, Any]]:
    loaded = [quick_yaml.load(path.read_text()) for path in sorted((ROOT / "overlays").glob("*.yaml"))]
    return {each["metadata"]["name"]: each["spec"] for each in loaded}


def _settings(spec: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """The flags that an overlay sets, each with every value that the overlay itself names: none where its user chooses freely."""
    for pods in spec["pods"]:
        for name, value in pods.get("flags", {}).items():
            parameter = re.fullmatch(r"\$\{(\w+)\}", str(value))
            if not parameter:
                yield name, value
                continue
            declared = spec["parameters"][parameter[1]]
            assert declared["type"] == FLAGS[name]["type"], name
            yield from ((name, each) for each in declared.get("enum", [declared[key] for key in ("default",) if key in declared]))


def test_the_overlays_set_flags_of_the_contract() -> None:
    flags = {name: sorted({flag for pods in spec["pods"] for flag in pods.get("flags", {})}) for name, spec in _overlays().items()}
    assert flags == {"cpu": ["--backend"], "gpu-nccl": ["--backend"], "istio-off": [], "pvc-output": []}
    assert [flag for names in flags.values() for flag in names if flag not in FLAGS] == []
    given = [f"{flag}={value}" for spec in _overlays().values() for flag, value in _settings(spec)]
    assert _problems(given) == []


#: `args` or `command` with a list, in either of YAML's forms. Guide 003 has lost the indentation of its manifest.
LISTS = re.compile(r"^[ -]*(?:args|command): *(\[.*\]|(?:\n *(?:#.*|- .*))+)", re.MULTILINE)


@pytest.mark.parametrize(("number", "expected"), [("001", 4), ("002", 2), ("003", 2), ("004", 2)])
def test_the_arguments_of_the_guides_are_in_the_contract(number: str, expected: int) -> None:
    (path,) = folder("seeds").glob(f"{number}_*.txt")
    lists = [quick_yaml.load(found) for found in LISTS.findall(path.read_text())]
    programs = [words[next((at for at, word in enumerate(words, 1) if word.endswith(".py")), 0) :] for words in lists]
    given = [args for args in programs if args]
    assert len(given) == expected
    assert [problem for args in given for problem in _problems(args)] == []


def test_the_commands_of_the_readme_are_in_the_contract() -> None:
    commands = re.findall(
        r"(?:python|torchrun) -m trainer((?: --?[\w-]+(?: [\w.-]+)?)*)[`\n]", (ROOT / "trainer" / "README.md").read_text()
    )
    given = [command.split() for command in commands if command and command.split() != ["--help"]]
    assert len(given) == 4
    assert [problem for args in given for problem in _problems(args)] == []
