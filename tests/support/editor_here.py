"""The language server in this process, and what a client holds of all that the server has sent."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, Self

from lsprotocol import types as lsp

from jobspec.editor import language_server


class Sent:
    """What the server sends."""

    def __init__(self) -> None:
        self.messages: list[dict[str, Any]] = []

    def write(self, data: bytes) -> None:
        """Take a message."""
        self.messages.append(json.loads(data.partition(b"\r\n\r\n")[2]))

    def close(self) -> None:
        """Nothing is left to close."""


class EditorHere:
    """A client of a server in this process, in a folder."""

    def __init__(self, folder: Path, *, within: Any = None, about: Any = None) -> None:
        """*within*, *about*: what the client can do in its workspace, and with texts."""
        self.sent = Sent()
        self.server = language_server.server()
        self.server.protocol.set_writer(self.sent)  # type: ignore[arg-type]
        capabilities = lsp.ClientCapabilities(workspace=within, text_document=about)
        self.hear(lsp.InitializeRequest(1, lsp.InitializeParams(capabilities, root_uri=folder.as_uri())))
        self._versions: dict[Path, int] = {}
        self._asked = 1

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.server._pool.shutdown()
        self.server._first_pool.shutdown()
        self.server._shown.cleanup()

    def hear(self, message: Any) -> None:
        """Have the server hear a message."""
        self.server.protocol.handle_message(message)

    def open(self, path: Path, text: str) -> None:
        """Open a file with a text."""
        self._versions[path] = 1
        item = lsp.TextDocumentItem(path.as_uri(), "yaml", 1, text)
        self.hear(lsp.DidOpenTextDocumentNotification(lsp.DidOpenTextDocumentParams(item)))

    def change(self, path: Path, text: str, *, place: Any = None) -> None:
        """Replace the text of an open file, or what is at a *place* in it."""
        self._versions[path] += 1
        document = lsp.VersionedTextDocumentIdentifier(version=self._versions[path], uri=path.as_uri())
        change = lsp.TextDocumentContentChangePartial(place, text) if place else lsp.TextDocumentContentChangeWholeDocument(text)
        self.hear(lsp.DidChangeTextDocumentNotification(lsp.DidChangeTextDocumentParams(document, [change])))

    def save(self, path: Path) -> None:
        """Say that an open file was saved."""
        self.hear(lsp.DidSaveTextDocumentNotification(lsp.DidSaveTextDocumentParams(lsp.TextDocumentIdentifier(path.as_uri()))))

    def close(self, path: Path) -> None:
        """Close a file."""
        self.hear(lsp.DidCloseTextDocumentNotification(lsp.DidCloseTextDocumentParams(lsp.TextDocumentIdentifier(path.as_uri()))))

    def changed_on_disk(self, path: Path) -> None:
        """Say that a file has changed on disk."""
        events = [lsp.FileEvent(path.as_uri(), lsp.FileChangeType.Changed)]
        self.hear(lsp.DidChangeWatchedFilesNotification(lsp.DidChangeWatchedFilesParams(events)))

    async def asked(self, path: Path) -> list[dict[str, Any]]:
        """The diagnostics of an open file, as a client asks for them."""
        self._asked += 1
        number = self._asked
        self.hear(lsp.DocumentDiagnosticRequest(number, lsp.DocumentDiagnosticParams(lsp.TextDocumentIdentifier(path.as_uri()))))
        while not (found := [each for each in self.sent.messages if each.get("id") == number]):
            await asyncio.sleep(0.001)
        answer: list[dict[str, Any]] = found[0]["result"]["items"]
        return answer

    def published(self) -> dict[str, list[dict[str, Any]]]:
        """The diagnostics that a client holds after all that was published, by the URI of the file; without files that have none."""
        said = [each["params"] for each in self.sent.messages if each.get("method") == "textDocument/publishDiagnostics"]
        held = {each["uri"]: each["diagnostics"] for each in said}
        return {uri: found for uri, found in held.items() if found}


def serve(folder: Path, talk: Callable[[Any, Callable[[Any], None], Sent], Awaitable[None]], *, within: Any = None) -> list[dict[str, Any]]:
    """Talk to a server; what it sent. *within*: what the client can do in its workspace."""

    async def talked() -> list[dict[str, Any]]:
        with EditorHere(folder, within=within) as editor:
            await talk(editor.server, editor.hear, editor.sent)
            return editor.sent.messages

    return asyncio.run(talked())
