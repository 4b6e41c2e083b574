"""The commands of the servers where what they need is missing."""

from pathlib import Path

import pytest

from tests.support.processes import python, run_here


@pytest.mark.parametrize(("command", "package", "name"), [("lsp", "pygls", "pygls"), ("lsp", "lsprotocol", "pygls"), ("mcp", "mcp", "mcp")])
def test_without_a_package_of_the_extra(command: str, package: str, name: str) -> None:
    code = f"import sys; sys.modules['{package}'] = None; from jobspec.cli import main; sys.exit(main(sys.argv[1:]))"
    done = python(code, command)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"jobspec: {command} needs the package `{package}")
    assert done.stderr.endswith(f"`: pip install {name}\n")


def test_the_other_commands_need_none_of_them() -> None:
    missing = "import sys; sys.modules |= dict.fromkeys(('pygls', 'lsprotocol', 'mcp')); from jobspec.cli import main; "
    for command in ("['completion', 'bash']", "['lsp', '--help']", "['mcp', '--help']", "['--help']"):
        assert python(f"{missing}sys.exit(main({command}))").returncode == 0


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    done = run_here("mcp", str(tmp_path / "none"))
    assert (done.returncode, done.stderr) == (2, f"jobspec: {tmp_path / 'none'}: no such folder\n")
