"""A real client of the language server over its standard input and output, which types into files as an editor does."""

import asyncio
import sys
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any, Self, TypeVar

import pytest

lsp = pytest.importorskip("lsprotocol.types", reason="pygls is not installed")
from pygls import uris  # noqa: E402
from pygls.lsp.client import LanguageClient  # noqa: E402

T = TypeVar("T")
LIMIT = 120  # seconds to wait for an answer, on a machine that does much else
_REFRESHED = {
    "diagnostics": lsp.WORKSPACE_DIAGNOSTIC_REFRESH,
    "codeLens": lsp.WORKSPACE_CODE_LENS_REFRESH,
    "inlayHint": lsp.WORKSPACE_INLAY_HINT_REFRESH,
}


class Editor:
    """One client and its server, in a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.client = LanguageClient("tests", "1")
        self.messages: list[str] = []
        self.texts: dict[str, str] = {}
        self.versions: dict[str, int] = {}
        self._published: dict[tuple[str, int | None], list[Any]] = {}
        self._waiting = asyncio.Event()
        self.client.feature(lsp.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)(lambda params: self._publish(params))
        self.client.feature(lsp.WINDOW_SHOW_MESSAGE)(lambda params: self.messages.append(params.message))
        self.client.feature(lsp.WORKSPACE_APPLY_EDIT)(lambda params: self._apply(params))

    def _publish(self, params: Any) -> None:
        self._published[params.uri, params.version] = params.diagnostics
        self._waiting.set()

    def _apply(self, params: Any) -> Any:
        for uri, edits in (params.edit.changes or {}).items():
            self.edit(Path(uris.to_fs_path(uri) or "").relative_to(self.folder).as_posix(), edits)
        return lsp.ApplyWorkspaceEditResult(applied=True)

    async def start(self, *, asks: bool, encoding: str, resolves: bool = True, refreshes: Callable[[str], object] | None = None) -> Any:
        """Start the server; *asks*: diagnostics are asked for, and not waited for; *resolves*: so are the edits of a chosen fix.

        *refreshes*: hears of what the server wants to be asked again.
        """
        await self.client.start_io(sys.executable, "-m", "jobspec", "lsp")
        about = lsp.TextDocumentClientCapabilities(
            diagnostic=lsp.DiagnosticClientCapabilities() if asks else None,
            code_action=lsp.CodeActionClientCapabilities(
                resolve_support=lsp.ClientCodeActionResolveOptions(["edit"]) if resolves else None
            ),
        )
        within = None
        if refreshes:
            within = lsp.WorkspaceClientCapabilities(
                diagnostics=lsp.DiagnosticWorkspaceClientCapabilities(refresh_support=True),
                code_lens=lsp.CodeLensWorkspaceClientCapabilities(refresh_support=True),
                inlay_hint=lsp.InlayHintWorkspaceClientCapabilities(refresh_support=True),
            )
            for what, method in _REFRESHED.items():
                self.client.feature(method)(lambda _, what=what: refreshes(what))
        general = lsp.GeneralClientCapabilities(position_encodings=[lsp.PositionEncodingKind(encoding)])
        capabilities = lsp.ClientCapabilities(text_document=about, workspace=within, general=general)
        answer = await self.client.initialize_async(lsp.InitializeParams(capabilities, root_uri=self.uri("")))
        self.client.initialized(lsp.InitializedParams())
        return answer

    def uri(self, name: str) -> str:
        """The URI of a file of the folder."""
        return str(uris.from_fs_path(str(self.folder / name)))

    def document(self, name: str) -> Any:
        """What requests call a file."""
        return lsp.TextDocumentIdentifier(self.uri(name))

    def at(self, name: str, words: str, *, end: bool = False) -> dict[str, Any]:
        """Where some words of a file begin, or *end*, as requests say it."""
        before, found, _ = self.texts[name].partition(words)
        assert found, words
        before += found if end else ""
        place = lsp.Position(before.count("\n"), len(before.rpartition("\n")[2]))
        return {"text_document": self.document(name), "position": place}

    def open(self, name: str, text: str | None = None) -> None:
        """Open a file, with its text on disk or another one."""
        self.texts[name] = (self.folder / name).read_bytes().decode(errors="surrogateescape") if text is None else text
        self.versions[name] = self.versions.get(name, 0) + 1
        item = lsp.TextDocumentItem(self.uri(name), "yaml", self.versions[name], self.texts[name])
        self.client.text_document_did_open(lsp.DidOpenTextDocumentParams(item))

    def write(self, name: str, text: str) -> None:
        """Replace the text of an open file."""
        self._change(name, text, lsp.TextDocumentContentChangeWholeDocument(text))

    def insert(self, name: str, at: int, new: str) -> None:
        """Type into an open file, of ASCII alone, at an index of its text."""
        text = self.texts[name]
        place = lsp.Position(text.count("\n", 0, at), at - text.rfind("\n", 0, at) - 1)
        self._change(name, text[:at] + new + text[at:], lsp.TextDocumentContentChangePartial(lsp.Range(place, place), new))

    def edit(self, name: str, edits: Sequence[Any]) -> None:
        """Make the edits of an answer in an open file."""
        text = self.texts[name]
        lines = text.split("\n")

        def offset(place: Any) -> int:
            return sum(len(each) + 1 for each in lines[: place.line]) + int(place.character)

        for each in sorted(edits, key=lambda one: offset(one.range.start), reverse=True):
            text = text[: offset(each.range.start)] + each.new_text + text[offset(each.range.end) :]
        self.write(name, text)

    def _change(self, name: str, text: str, change: Any) -> None:
        self.texts[name] = text
        self.versions[name] += 1
        about = lsp.VersionedTextDocumentIdentifier(version=self.versions[name], uri=self.uri(name))
        self.client.text_document_did_change(lsp.DidChangeTextDocumentParams(about, [change]))

    def close(self, name: str) -> None:
        """Close a file."""
        del self.texts[name]
        self.client.text_document_did_close(lsp.DidCloseTextDocumentParams(self.document(name)))

    def changed_on_disk(self) -> None:
        """Say that files have changed."""
        changed = [lsp.FileEvent(self.uri(""), lsp.FileChangeType.Changed)]
        self.client.workspace_did_change_watched_files(lsp.DidChangeWatchedFilesParams(changed))

    async def asked(self, name: str) -> list[Any]:
        """The diagnostics of a file, as they are asked for."""
        params = lsp.DocumentDiagnosticParams(self.document(name))
        answer = await asyncio.wait_for(self.client.text_document_diagnostic_async(params), LIMIT)
        return list(answer.items)

    async def published(self, name: str) -> list[Any]:
        """The diagnostics that are published for the text of a file as it is now."""
        key = (self.uri(name), self.versions[name])
        while key not in self._published:
            self._waiting.clear()
            await asyncio.wait_for(self._waiting.wait(), LIMIT)
        return self._published[key]


class Session:
    """A client that several tests ask, with a loop of its own."""

    def __init__(self, client: AbstractAsyncContextManager[Editor]) -> None:
        self._runner = asyncio.Runner()
        self._ends = client

    def __enter__(self) -> Self:
        self.client = self.run(self._ends.__aenter__())
        return self

    def run(self, answer: Coroutine[Any, Any, T]) -> T:
        """The answer to a question."""
        return self._runner.run(answer)

    def __exit__(self, *error: object) -> None:
        self.run(self._ends.__aexit__(None, None, None))
        self._runner.close()


@asynccontextmanager
async def editor(
    folder: Path,
    *,
    asks: bool = True,
    encoding: str = "utf-16",
    resolves: bool = True,
    refreshes: Callable[[str], object] | None = None,
) -> AsyncIterator[Editor]:
    """A client in a folder, whose server ends with it."""
    made = Editor(folder)
    await made.start(asks=asks, encoding=encoding, resolves=resolves, refreshes=refreshes)
    try:
        yield made
        await asyncio.wait_for(made.client.shutdown_async(None), LIMIT)
    finally:
        made.client.exit(None)
        await asyncio.wait_for(made.client.stop(), LIMIT)
