"""The command line: what it takes, what it refuses, and that nothing heavy is loaded to say so."""

import json
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
from pydantic import ValidationError

from tests.support.processes import program, python
from tests.support.reference import ROOT
from trainer.config import Config, Refusal, flag, parse
from trainer.files import FILES, MIRRORS, announce
from trainer.processes import Place


def _refused(*arguments: str) -> list[str]:
    with pytest.raises(Refusal) as refusal:
        parse(arguments)
    return str(refusal.value).splitlines()


def test_nothing_given_is_the_guides_own_defaults() -> None:
    assert parse([]) == Config()
    guides = {"batch_size": 64, "test_batch_size": 1000, "seed": 1, "log_interval": 10, "dir": "logs", "backend": "gloo"}
    guides |= {"no_cuda": False, "save_model": False, "epochs": 1, "lr": 0.01, "momentum": 0.5, "gamma": 0.7}
    assert {name: getattr(Config(), name) for name in guides} == guides


def test_a_value_stands_behind_its_flag_or_an_equals_sign_and_the_last_one_counts() -> None:
    assert parse(["--epochs", "5", "--lr=1e-3", "--momentum", ".9"]) == Config(epochs=5, lr=0.001, momentum=0.9)
    assert parse(["--epochs=5", "--epochs=2"]) == Config(epochs=2)


def test_what_is_true_by_default_can_be_denied_and_what_is_false_is_a_bare_flag() -> None:
    assert parse(["--no-download", "--no-cuda", "--amp", "--save-model"]) == Config(download=False, no_cuda=True, amp=True, save_model=True)
    assert parse(["--no-download", "--download"]) == Config()


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (["--epochs=x"], "--epochs: expected an integer of at least 1, got 'x'"),
        (["--epochs=0"], "--epochs: expected an integer of at least 1, got '0'"),
        (["--epochs=1.0"], "--epochs: expected an integer of at least 1, got '1.0'"),
        (["--epochs=1_0"], "--epochs: expected an integer of at least 1, got '1_0'"),
        (["--lr=nan"], "--lr: expected a number above 0, got 'nan'"),
        (["--lr=-1"], "--lr: expected a number above 0, got '-1'"),
        (["--momentum=1"], "--momentum: expected a number of at least 0 and below 1, got '1'"),
        (["--backend=tcp"], "--backend: expected gloo or nccl or mpi, got 'tcp'"),
        (["--dir="], "--dir: expected a text that is not empty, got ''"),
        (["--epoch", "5"], "--epoch: no such flag; did you mean --epochs?"),
        (["--no-epochs"], "--no-epochs: no such flag; did you mean --epochs?"),
        (["--x=1"], "--x: no such flag (--help lists them)"),
        (["mnist"], "mnist: a value follows its flag, such as --epochs 5"),
        (["--amp=1"], "argument --amp: ignored explicit argument '1'"),
        (["--epochs"], "argument --epochs: expected one argument"),
    ],
)
def test_what_is_refused_and_why(arguments: list[str], why: str) -> None:
    assert _refused(*arguments) == [why]


def test_all_that_is_wrong_is_said_at_once() -> None:
    assert [line.partition(":")[0] for line in _refused("--epoch=1", "--batch-size=0", "--lr=x")] == ["--epoch", "--batch-size", "--lr"]


def test_a_config_does_not_change() -> None:
    with pytest.raises(ValidationError, match="frozen"):
        Config().epochs = 2  # type: ignore[misc]  # that is the case


def test_training_without_a_package_of_the_extra(tmp_path: Path) -> None:
    packages = ("torch", "torchvision", "tqdm", "tensorboard")
    done = program(sys.executable, "-m", "tests.trainer.lacking", *packages, cwd=tmp_path, env={"PYTHONPATH": str(ROOT)})
    assert done.returncode == 0, done.stderr
    for package, (code, out, err) in json.loads(done.stdout).items():
        named = [name for name in ("torch", "torchvision", package) if name == package or find_spec(name) is None]  # the first to be missed
        how = "pip install '.[trainer-libraries]' in a clone"
        messages = [f"trainer: training needs the package `{name}`: {how}\n" for name in named]
        assert (code, out) == (2, "")
        assert err.splitlines(keepends=True)[-1] in messages  # behind the line that says what will be downloaded


def test_drawing_without_matplotlib(tmp_path: Path) -> None:
    lines = [
        {"event": "run", "time": 0.0, "config": {}, "world_size": 1, "step": 0},
        {"event": "train", "time": 1.0, "epoch": 1, "step": 0, "images": 10, "loss": 2.0, "images_per_second": 1.0},
        {"event": "test", "time": 2.0, "epoch": 1, "step": 1, "loss": 0.9, "accuracy": 0.5},
    ]
    (tmp_path / "metrics.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    done = python(_blocking("matplotlib", "trainer.plot"), "metrics.jsonl", cwd=tmp_path, env={"PYTHONPATH": str(ROOT)})
    message = "drawing needs the package `matplotlib`: pip install '.[trainer-libraries]' in a clone\n"
    assert (done.returncode, done.stdout, done.stderr) == (2, "", message)


def _blocking(package: str, module: str) -> str:
    """Code that runs a module as a program where a package cannot be imported."""
    return f"import sys, runpy; sys.modules['{package}'] = None; runpy.run_module('{module}', run_name='__main__')"


@pytest.mark.parametrize(("argument", "code"), [("--help", 0), ("--epochs=x", 2)])
def test_help_and_refusals_load_no_torch(argument: str, code: int) -> None:
    run = f"import sys\nfrom trainer.__main__ import main\ntry: code = main([{argument!r}])\nexcept SystemExit as end: code = end.code\n"
    done = python(run + "assert not {'torch', 'numpy', 'tqdm'} & sys.modules.keys()\nsys.exit(code)")
    assert done.returncode == code, done.stderr
    if code:
        assert done.stderr == "trainer: --epochs: expected an integer of at least 1, got 'x'\n"
    else:
        assert all(flag(name) in done.stdout and str(field.description)[:20] in done.stdout for name, field in Config.model_fields.items())


def test_a_download_is_announced_before_torch_is_loaded(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config = Config(data_dir=str(tmp_path))
    announce(config, Place())
    said = capsys.readouterr().err
    assert said == f"trainer: fashion-mnist is not in {tmp_path}: downloading it from {MIRRORS['fashion-mnist'][0]} once torch is loaded\n"
    announce(config.model_copy(update={"mirrors": "http://mirror.example/a"}), Place())
    assert "from http://mirror.example/a/ once" in capsys.readouterr().err


def test_nothing_is_announced_by_another_process_or_where_nothing_is_downloaded(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    announce(Config(data_dir=str(tmp_path)), Place(local_rank=1, local_world_size=2))
    announce(Config(data_dir=str(tmp_path), download=False), Place())
    for name in FILES:
        (tmp_path / f"{name}.gz").touch()
    announce(Config(data_dir=str(tmp_path)), Place())
    assert capsys.readouterr().err == ""
