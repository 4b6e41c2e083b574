"""Servers collect garbage, in which each judgement leaves cycles; commands that are soon over do not."""

import asyncio
import gc
from collections.abc import Iterator
from contextlib import chdir
from pathlib import Path
from threading import Event
from typing import Any

import pytest

from tests.support.editor import lsp
from tests.support.manifests import JOB, write

from jobspec.editor import language_server, mcp  # isort: skip (which import what may be missing)


@pytest.fixture(autouse=True)
def _command(tmp_path: Path) -> Iterator[None]:
    """A process as that of a command, in the folder."""
    gc.disable()
    try:
        with chdir(tmp_path):
            yield
    finally:
        gc.unfreeze()
        gc.enable()


def test_the_language_server_collects_garbage_once_it_has_looked_at_the_workspace(tmp_path: Path) -> None:
    path = tmp_path / "job.yaml"
    write(tmp_path, {"job.yaml": JOB})

    async def serve() -> None:
        server = language_server.server()
        goes_on = Event()
        server.protocol.set_writer(_Nowhere())
        hear: Any = server.protocol.handle_message
        hear(lsp.InitializeRequest(1, lsp.InitializeParams(lsp.ClientCapabilities(), root_uri=tmp_path.as_uri())))
        results = server.files.results

        def held(*arguments: Any, **named: Any) -> Any:
            assert goes_on.wait(60)
            return results(*arguments, **named)

        server.files.results = held  # type: ignore[method-assign]
        item = lsp.TextDocumentItem(path.as_uri(), "yaml", 1, JOB)
        hear(lsp.DidOpenTextDocumentNotification(lsp.DidOpenTextDocumentParams(item)))
        assert server._first_look
        await server._first_look
        assert not gc.isenabled()
        goes_on.set()
        await server.diagnostics()
        server._pool.shutdown()
        server._shown.cleanup()

    asyncio.run(serve())
    assert gc.isenabled()
    assert gc.get_freeze_count(), "collections pass over what the first look found out"


class _Nowhere:
    """Takes what a server sends."""

    def write(self, _: bytes) -> None:
        """Take a message."""

    def close(self) -> None:
        """Nothing is left to close."""


def test_the_tools_for_agents_collect_garbage_once_one_has_answered() -> None:
    tools = mcp.Tools()
    assert not gc.isenabled()
    mcp._one_at_a_time(tools.fields)("TrainJob.spec")
    assert gc.isenabled()
    assert gc.get_freeze_count()
