"""`jobspec completion`: the scripts, and what a real shell completes with them."""

import os
import pty
import shutil
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from jobspec.commands import COMMANDS
from tests.support.processes import environment, program, run_here

SHELLS = ("bash", "zsh", "fish", "powershell")

_ASK_BASH = """
source ./script
COMP_WORDS=($1)
[[ $1 == *' ' ]] && COMP_WORDS+=('')
COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
_shtab_jobspec jobspec "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}"
echo "${COMPREPLY[@]}"
"""
#: Of a zsh that has a line in its editor from the beginning, which it completes by all matches. A table of the system's functions, which
#: takes half a second to make, is kept beside the folders of the tests.
_ZSHRC = """
fpath=($ZDOTDIR $fpath)
autoload -Uz compinit && compinit -u -d ${ZDOTDIR:h:h}/zcompdump
all() { _main_complete; compstate[insert]=all; compstate[list]='' }
zle -C all complete-word all
zle-line-init() { BUFFER=$ASKED; CURSOR=$#BUFFER; zle all; print -r -- $BUFFER >$ZDOTDIR/completed; exit }
zle -N zle-line-init
"""


@pytest.mark.parametrize("shell", SHELLS)
def test_a_script_knows_every_command(shell: str) -> None:
    done = run_here("completion", shell)
    assert (done.returncode, done.stderr) == (0, "")
    assert [name for name in COMMANDS if name not in done.stdout] == []
    assert "fail-on" in done.stdout


def _bash(folder: Path, line: str) -> list[str]:
    (folder / "script").write_text(run_here("completion", "bash").stdout)
    done = program("bash", "-c", _ASK_BASH, "bash", line, cwd=folder)
    assert done.stderr == ""
    return done.stdout.split()


def _zsh(folder: Path, line: str) -> list[str]:
    home = folder / ".zsh"
    home.mkdir()
    (home / ".zshrc").write_text(_ZSHRC)
    (home / "_jobspec").write_text(run_here("completion", "zsh").stdout)
    shown = _on_a_terminal("zsh", "-d", "-i", cwd=folder, env=environment(ZDOTDIR=str(home), ASKED=line, TERM="dumb"))
    assert (home / "completed").exists(), shown
    before = line.rpartition(" ")[0]
    return (home / "completed").read_text().removeprefix(before).split()


def _on_a_terminal(*words: str, cwd: Path, env: Mapping[str, str]) -> str:
    """Run a program on a terminal of its own; what that shows."""
    ours, theirs = pty.openpty()
    with subprocess.Popen(words, stdin=theirs, stdout=theirs, stderr=theirs, cwd=cwd, env=env, start_new_session=True):
        os.close(theirs)
        shown = b"".join(iter(lambda: _read(ours), b""))
    os.close(ours)
    return shown.decode(errors="replace")


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 4096)
    except OSError:  # its program has ended
        return b""


def _fish(folder: Path, line: str) -> list[str]:
    home = folder / ".fish"
    (home / "fish" / "completions").mkdir(parents=True)
    (home / "fish" / "completions" / "jobspec.fish").write_text(run_here("completion", "fish").stdout)
    (home / "jobspec").touch(mode=0o755)  # fish completes programs that there are
    homes = dict.fromkeys(("HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME"), str(home))
    done = program("fish", "-c", "complete -C $argv", "--", line, cwd=folder, env=environment(**homes, PATH=f"{home}:{os.environ['PATH']}"))
    assert done.stderr == ""
    return [each.partition("\t")[0] for each in done.stdout.splitlines()]


_COMPLETE: Mapping[str, Callable[[Path, str], list[str]]] = {"bash": _bash, "zsh": _zsh, "fish": _fish}


@pytest.mark.parametrize("shell", SHELLS[:3])
@pytest.mark.parametrize(
    ("line", "completed"),
    [
        ("val", "validate"),
        ("", " ".join(COMMANDS)),
        ("completion ", "bash zsh fish powershell"),
        ("schema ex", "export"),
        ("dry-run --env", "--envtest"),
        ("lint --fai", "--fail-on"),
        ("lint --fix --sel", "--select"),
        ("validate --schema-", "--schema-location"),
        ("validate -o sa", "sarif"),
        ("lint --fail-on ", "error info warning"),
        ("validate --fail-on w", "warning"),
        ("validate jo", "job.yaml jobs"),
        ("validate --crd jo", "job.yaml jobs"),
        ("render --to jo", "jobs"),
    ],
)
def test_a_shell_completes(tmp_path: Path, shell: str, line: str, completed: str) -> None:
    if not shutil.which(shell):
        pytest.skip(f"{shell} is not installed")
    (tmp_path / "jobs").mkdir()
    (tmp_path / "job.yaml").write_text("")
    found = _COMPLETE[shell](tmp_path, f"jobspec {line}")
    assert sorted(each.rstrip("/") for each in found) == sorted(completed.split())


def test_another_shell_is_refused_with_those_that_there_are() -> None:
    done = run_here("completion", "nu")
    assert done.returncode == 2
    assert "bash, zsh, fish" in done.stderr.replace("'", "")
