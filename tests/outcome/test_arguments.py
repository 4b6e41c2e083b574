"""The arguments of programs: by the contracts of images, as the programs themselves take them, and torchrun's own."""

import json
from pathlib import Path

import pytest

from jobspec.diagnostics.errors import JobspecError
from jobspec.programs import command_lines
from jobspec.programs.contracts import Contract, contract_of
from tests.support import quick_yaml
from tests.support.manifests import JOB, write
from tests.support.processes import run_here
from tests.support.reference import ROOT

_CASES = ROOT / "tests" / "cases" / "contract"
_IMAGE = "image: example.com/train:v1"


def _lines(name: str) -> list[list[str]]:
    """The arguments of each case in a file."""
    return [each["args"] if isinstance(each, dict) else each for each in quick_yaml.load((_CASES / name).read_text())]


def _reported(folder: Path, fields: str, *options: str, image: str = _IMAGE) -> list[tuple[str, int, str]]:
    """The rule, line and message of each diagnostic of a job with these fields of its container."""
    write(folder, {"a.yaml": JOB.replace(_IMAGE, f"{image}\n            {fields}")})
    done = run_here("validate", "a.yaml", "-o", "json", *options, cwd=folder)
    assert done.returncode in (0, 1), done.stderr
    return [(each["rule"], each["line"], each["message"]) for each in json.loads(done.stdout)["files"][0]["diagnostics"]]


_GIVEN = ("--contract", "example.com/train=trainer")


@pytest.mark.parametrize("arguments", _lines("refused.yaml"), ids=" ".join)
@pytest.mark.parametrize("command", ["", "[python, -u, -m, trainer]", "[torchrun, --nnodes=1, -m, trainer]"])
def test_what_the_trainer_refuses_is_reported_before_it_runs(tmp_path: Path, arguments: list[str], command: str) -> None:
    fields = f"args: {json.dumps(arguments)}" + (f"\n            command: {command}" if command else "")
    found = _reported(tmp_path, fields, *_GIVEN)
    assert found
    assert {rule for rule, _, _ in found} <= {"unknown-flag", "wrong-flag-value"}
    assert {line for _, line, _ in found} == {14}


@pytest.mark.parametrize("arguments", _lines("accepted.yaml"), ids=" ".join)
def test_what_the_trainer_takes_is_left_in_peace(tmp_path: Path, arguments: list[str]) -> None:
    assert _reported(tmp_path, f"args: {json.dumps(arguments)}", *_GIVEN) == []


@pytest.mark.parametrize(
    ("fields", "image"),
    [
        ("args: [--epoch, '1']", "image: example.com/other:v1"),
        ("args: [--epoch, '1']\n            command: [python, train.py]", _IMAGE),
        ("args: [--epoch, '1']\n            command: [python, -m, other]", _IMAGE),
        ('command: [sh, -c, "python -m trainer --epoch 1"]', _IMAGE),
        ("args: [--epochs, $(EPOCHS), $(MORE), --epoch]", _IMAGE),
    ],
)
def test_what_is_another_program_or_not_known_is_left_in_peace(tmp_path: Path, fields: str, image: str) -> None:
    assert _reported(tmp_path, fields, *_GIVEN, image=image) == []


def test_a_message_says_what_is_right(tmp_path: Path) -> None:
    (found,) = _reported(tmp_path, "args: [--epochs, fifteen]", *_GIVEN)
    assert found == ("wrong-flag-value", 14, "trainer accepts an integer of at least 1 for `--epochs`, not `fifteen`, and exits with 2")
    write(tmp_path, {"a.yaml": JOB.replace(_IMAGE, f"{_IMAGE}\n            args: [--epoch, '1']")})
    assert "hint: did you mean `--epochs`?" in run_here("validate", "a.yaml", *_GIVEN, cwd=tmp_path).stdout


def test_contracts_stand_in_the_project_or_in_a_file_of_ones_own(tmp_path: Path) -> None:
    contract = {"title": "ours", "properties": {"--steps": {"type": "integer"}, "--fast": {"type": "boolean"}}}
    write(tmp_path, {"ours.json": json.dumps(contract), "pyproject.toml": '[tool.jobspec.contracts]\n"example.com/train" = "ours.json"\n'})
    assert _reported(tmp_path, "args: [--steps, '5', --fast]") == []
    assert [rule for rule, _, _ in _reported(tmp_path, "args: [--steps, a, --fast=1, --slow]")] == ["wrong-flag-value"] * 2 + [
        "unknown-flag"
    ]
    assert _reported(tmp_path, "args: [--slow]", "--no-outcome") == []


@pytest.mark.parametrize(
    ("option", "error"),
    [
        ("example.com/train", "--contract example.com/train: write IMAGE=FILE"),
        ("a=none.json", "none.json: No such file or directory"),
        ("a=a.yaml", "a.yaml: not valid JSON: "),
        ("a=list.json", "list.json: this is not a contract"),
    ],
)
def test_a_contract_that_is_none_is_reported(tmp_path: Path, option: str, error: str) -> None:
    write(tmp_path, {"a.yaml": JOB, "list.json": "[]"})
    done = run_here("validate", "a.yaml", "--contract", option, cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr.startswith(f"jobspec: {error}")


def test_an_image_is_found_by_its_name_without_tag_and_digest() -> None:
    contract = Contract({"properties": {"--a": {}}}, "a")
    for name, image, is_found in (
        ("example.com:5000/train", "example.com:5000/train:v1", True),
        ("example.com:5000/train", "example.com:5000/train@sha256:00", True),
        ("train", "example.com/ml/train:v1@sha256:00", True),
        ("train", "train", True),
        ("ml/train", "example.com/ml/train", False),
        ("train", "example.com/ml/trainer:v1", False),
    ):
        assert (contract_of({name: contract}, image) is contract) == is_found
    with pytest.raises(JobspecError, match="this is not a contract"):
        Contract({"properties": {"epochs": {}}}, "a")


def test_torchrun_s_options_are_those_of_torch() -> None:
    run = pytest.importorskip("torch.distributed.run")
    actions = [each for each in run.get_args_parser()._actions if each.option_strings]
    assert {each.option_strings[-1].replace("_", "-") for each in actions} == command_lines.OPTIONS.keys()
    for each in actions:
        option = command_lines.OPTIONS[each.option_strings[-1].replace("_", "-")]
        assert all(command_lines.meant(name) == each.option_strings[-1].replace("_", "-") for name in each.option_strings)
        assert (option.get("type") == "boolean") == (each.nargs == 0)
        if "--print-completion" not in each.option_strings:  # for the shells that another library knows
            assert (option.get("enum") or None) == (each.choices and list(each.choices))
        assert (option.get("type") in ("integer", "number")) == (each.type in (int, float))
