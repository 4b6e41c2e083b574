"""Neovim as a client: findings, a fix and a completion, without a terminal."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.manifests import write
from tests.support.processes import environment
from tests.support.reference import ROOT

pytest.importorskip("pygls", reason="pygls is not installed")
JOB = (ROOT / "tests" / "cases" / "guides" / "trainjob.yaml").read_text()

_SCRIPT = """
local client = vim.lsp.start_client({ name = "jobspec", cmd = %s, root_dir = vim.fn.getcwd() })
vim.lsp.buf_attach_client(0, client)
local function codes()
  local found = {}
  for _, each in ipairs(vim.diagnostic.get(0)) do
    table.insert(found, { each.code or each.user_data.lsp.code, each.lnum + 1 })
  end
  return found
end
local function has(code)
  return function()
    for _, each in ipairs(codes()) do
      if each[1] == code then return true end
    end
    return false
  end
end
local answer = {}
answer.found = vim.wait(60000, has("unknown-field"), 50)
answer.before = codes()
local server = vim.lsp.get_client_by_id(client)
local params = vim.lsp.util.make_range_params()
params.context = { diagnostics = {}, only = { "source.fixAll" } }
local actions = server.request_sync("textDocument/codeAction", params, 60000, 0)
local resolved = server.request_sync("codeAction/resolve", actions.result[1], 60000, 0)
vim.lsp.util.apply_workspace_edit(resolved.result.edit, server.offset_encoding)
answer.gone = vim.wait(60000, function() return not has("unknown-field")() end, 50)
answer.text = table.concat(vim.api.nvim_buf_get_lines(0, 0, -1, false), "\\n")
local at = { textDocument = vim.lsp.util.make_text_document_params(), position = { line = 1, character = 6 } }
answer.kinds = #server.request_sync("textDocument/completion", at, 60000, 0).result.items
vim.fn.writefile({ vim.json.encode(answer) }, "answer.json")
vim.cmd("qall!")
"""


@pytest.mark.skipif(not shutil.which("nvim"), reason="nvim is not installed")
def test_neovim_shows_and_fixes_what_lint_reports(tmp_path: Path) -> None:
    command = "{ " + ", ".join(json.dumps(each) for each in (sys.executable, "-m", "jobspec", "lsp")) + " }"
    write(tmp_path, {"job.yaml": JOB.replace("numNodes", "numNodez"), "script.lua": _SCRIPT % command})
    words = ["nvim", "--headless", "-u", "NONE", "-c", "set filetype=yaml", "-c", "luafile script.lua", "job.yaml"]
    subprocess.run(words, cwd=tmp_path, env=environment(XDG_STATE_HOME=str(tmp_path)), timeout=200, check=True, capture_output=True)
    answer = json.loads((tmp_path / "answer.json").read_text())
    assert answer["found"]
    assert answer["gone"]
    assert ["unknown-field", JOB[: JOB.index("numNodes")].count("\n") + 1] in answer["before"]
    assert answer["text"] == JOB.rstrip("\n")
    assert answer["kinds"] == 3
