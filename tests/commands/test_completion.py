"""`jobspec completion`: the scripts, and what a real shell completes with them."""

import shutil
from pathlib import Path

import pytest

from jobspec.command_line import COMMANDS
from tests.support.processes import program, run_here

SHELLS = ("bash", "zsh", "fish")


@pytest.mark.parametrize("shell", SHELLS)
def test_a_script_knows_every_command(shell: str) -> None:
    done = run_here("completion", shell)
    assert (done.returncode, done.stderr) == (0, "")
    assert [name for name in COMMANDS if name not in done.stdout] == []
    assert "fail-on" in done.stdout


@pytest.mark.parametrize("shell", list(filter(shutil.which, SHELLS)))
def test_a_shell_that_is_installed_reads_its_script(tmp_path: Path, shell: str) -> None:
    (tmp_path / "script").write_text(run_here("completion", shell).stdout)
    done = program(shell, "-n", tmp_path / "script")
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(
    ("words", "completed"),
    [
        (["val"], "validate"),
        (["completion", ""], "bash zsh fish"),
        (["schema", "ex"], "export"),
        (["lint", "--fai"], "--fail-on"),
        (["validate", "--schema-"], "--schema-location"),
        (["validate", "-o", "sa"], "sarif"),
        (["validate", "jo"], "job.yaml jobs"),
        (["validate", "--crd", "jo"], "job.yaml jobs"),
        (["render", "--to", "jo"], "jobs"),
    ],
)
def test_bash_completes(tmp_path: Path, words: list[str], completed: str) -> None:
    (tmp_path / "jobs").mkdir()
    (tmp_path / "job.yaml").write_text("")
    (tmp_path / "script").write_text(run_here("completion", "bash").stdout)
    ask = """
        source ./script
        COMP_WORDS=(jobspec "$@")
        COMP_CWORD=$#
        _shtab_jobspec jobspec "${!#}" "${COMP_WORDS[COMP_CWORD - 1]}"
        echo "${COMPREPLY[@]}"
    """
    done = program("bash", "-c", ask, "bash", *words, cwd=tmp_path)
    assert (done.stderr, sorted(done.stdout.split())) == ("", sorted(completed.split()))


def test_another_shell_is_refused_with_those_that_there_are() -> None:
    done = run_here("completion", "nu")
    assert done.returncode == 2
    assert "bash, zsh, fish" in done.stderr.replace("'", "")
