"""The commands of the servers where what they need is missing."""

import json
import subprocess
from pathlib import Path

import pytest

from tests.support.manifests import JOB
from tests.support.processes import command, environment, python, run_here


@pytest.mark.parametrize(("command", "package", "name"), [("lsp", "pygls", "pygls"), ("lsp", "lsprotocol", "pygls"), ("mcp", "mcp", "mcp")])
def test_without_a_package_of_the_extra(command: str, package: str, name: str) -> None:
    code = f"import sys; sys.modules['{package}'] = None; from jobspec.cli import main; sys.exit(main(sys.argv[1:]))"
    done = python(code, command)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"jobspec: {command} needs the package `{package}")
    assert done.stderr.endswith(f"`: pip install {name}\n")


def test_the_other_commands_need_none_of_them() -> None:
    missing = "import sys; sys.modules |= dict.fromkeys(('pygls', 'lsprotocol', 'mcp')); from jobspec.cli import main; "
    for words in ("['completion', 'bash']", "['lsp', '--help']", "['mcp', '--help']", "['--help']"):
        assert python(f"{missing}sys.exit(main({words}))").returncode == 0


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    done = run_here("mcp", str(tmp_path / "none"))
    assert (done.returncode, done.stderr) == (2, f"jobspec: {tmp_path / 'none'}: no such folder\n")


def test_a_client_that_leaves_without_its_answer_ends_the_server(tmp_path: Path) -> None:
    pytest.importorskip("pygls", reason="pygls is not installed")
    uri = (tmp_path / "job.yaml").as_uri()
    document = {"uri": uri, "languageId": "yaml", "version": 1, "text": JOB}
    said = [
        {"id": 1, "method": "initialize", "params": {"capabilities": {}, "rootUri": tmp_path.as_uri(), "processId": None}},
        {"method": "textDocument/didOpen", "params": {"textDocument": document}},
        {"id": 2, "method": "textDocument/diagnostic", "params": {"textDocument": {"uri": uri}}},
        {"method": "exit"},
    ]
    with subprocess.Popen(
        command("lsp"), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment()
    ) as server:
        assert server.stdin
        for each in said:
            content = json.dumps({"jsonrpc": "2.0", **each}).encode()
            server.stdin.write(b"Content-Length: %d\r\n\r\n%s" % (len(content), content))
        server.stdin.flush()
        try:
            assert server.wait(60) == 1  # as the protocol says of a client that did not shut it down
        finally:
            server.kill()
