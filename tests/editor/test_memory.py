"""Servers collect garbage, in which each judgement leaves cycles; commands that are soon over do not."""

import subprocess
import sys
from pathlib import Path

import pytest

_SERVERS = {
    "lsp": """
from jobspec.editor import language_server, lsp
language_server.server = lambda: SimpleNamespace(start_io=tell, protocol=SimpleNamespace(_shutdown=True))
""",
    "mcp": """
from jobspec.editor import mcp
from mcp.server.mcpserver import MCPServer
MCPServer.run = tell
""",
}


@pytest.mark.parametrize("name", _SERVERS)
def test_servers_collect_garbage(name: str, tmp_path: Path) -> None:
    begin = "import gc\nfrom types import SimpleNamespace\ngc.disable()\ntell = lambda *_: print(gc.isenabled(), flush=True)\n"
    text = f"{begin}{_SERVERS[name]}{name}.run(SimpleNamespace(root='.'))"
    done = subprocess.run([sys.executable, "-c", text], cwd=tmp_path, capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=60)
    assert done.stdout == "True\n", done.stderr
