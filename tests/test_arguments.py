"""What is read without argparse is what argparse would have read."""

import re
from argparse import ArgumentParser
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobspec.commands import expand, lint, render, validate
from jobspec.session.options import read
from tests.support.processes import environment, run_here

COMMANDS = {"expand": expand, "lint": lint, "render": render, "validate": validate}
_NAMES = sorted({name for line in COMMANDS.values() for option in line.options() for name in option.names})
_VALUES = st.sampled_from(
    ["a.yaml", "-", "cpu", "text", "json", "xml", "", "a=b", "trainer=2.2", "a b", "é", "-1", "--", "-x", "--over", "-h"]
)
_WORDS = st.one_of(
    st.sampled_from(_NAMES), _VALUES, st.tuples(st.sampled_from(_NAMES), _VALUES).map("=".join), st.sampled_from(["-ojson", "-o=json"])
)


def _by_argparse(command: str, arguments: list[str]) -> dict[str, Any]:
    parser = ArgumentParser()
    COMMANDS[command].add_arguments(parser)
    try:
        return vars(parser.parse_intermixed_args(arguments))
    except SystemExit:
        return {"refused": arguments}


@pytest.mark.filterwarnings("ignore:.*:DeprecationWarning")
@pytest.mark.parametrize("command", COMMANDS)
@given(arguments=st.lists(_WORDS, max_size=7))
def test_plain_command_lines(command: str, arguments: list[str]) -> None:
    plain = read(arguments, COMMANDS[command].options())
    if plain is not None and not any(each.endswith("=--") for each in arguments):  # argparse makes an empty list of `--crd=--`
        assert vars(plain) == _by_argparse(command, arguments)


@pytest.mark.parametrize(
    "arguments",
    [
        ["a.yaml"],
        ["a.yaml", "b.yaml", "-"],
        ["--overlay", "cpu", "--overlay=istio-off", "a.yaml", "--set", "gpu-nccl.gpus=2"],
        ["a.yaml", "--target", "trainer=2.2", "b.yaml", "-o", "json", "--skip-unknown", "--no-admission", "--closed-world"],
    ],
)
@pytest.mark.parametrize("command", COMMANDS)
def test_what_people_and_hooks_write_is_plain(command: str, arguments: list[str]) -> None:
    plain = read(arguments, COMMANDS[command].options())
    assert plain is not None
    assert vars(plain) == _by_argparse(command, arguments)


def test_one_update_at_a_time() -> None:
    assert read(["--from", "old", "new"], validate.options())
    assert read(["--from", "old", "--from-ref", "main", "new"], validate.options()) is None


@pytest.mark.parametrize("name", ["lint", "validate", "expand", "run"])
def test_help_begins_with_examples_and_the_eight_options_that_people_use_first(name: str) -> None:
    done = run_here(name, "--help", env={**environment(), "COLUMNS": "100"})
    _, examples, _, _, most, *rest = re.split(r"\n\n", done.stdout.partition("\n\n")[2])
    assert examples.startswith(f"examples:\n  jobspec {name}")
    assert most.startswith("used most:\n")
    assert len(re.findall(r"^  -", most, re.MULTILINE)) == 8
    assert "SUPPRESS" not in done.stdout
    assert max(map(len, done.stdout.splitlines())) <= 120
    narrow = run_here(name, "--help", env={**environment(), "COLUMNS": "60"}).stdout
    assert max(len(line) for line in narrow.splitlines() if not line.startswith("  jobspec ")) <= 80
    assert rest


def test_options_that_mean_little_to_a_command_are_taken_and_not_shown() -> None:
    assert "--statistics" not in run_here("run", "--help").stdout
    assert "unknown option" not in run_here("run", "--skip-unknown", "no-such-file.yaml").stderr
