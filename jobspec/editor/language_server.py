"""The language server: what an editor shows of open files as they are typed.

Every change of a text starts a look at the workspace in a thread, and ends the one before it: diagnostics are those of the last text.
If a file was opened since the whole workspace was looked at, another thread looks at the open files and their folders, and waits for
nothing else. A client that asks for diagnostics is not sent any.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Collection, Sequence
from concurrent.futures import ThreadPoolExecutor
from tempfile import TemporaryDirectory
from typing import Any, TypeVar

from lsprotocol import types as lsp
from pygls import uris
from pygls.exceptions import JsonRpcInternalError
from pygls.lsp.server import LanguageServer

from jobspec import __version__
from jobspec.diagnostics.diagnostic import Diagnostic
from jobspec.diagnostics.errors import JobspecError
from jobspec.diagnostics.places import Mark
from jobspec.editor import features
from jobspec.editor.features import ClientView
from jobspec.editor.garbage import begin_collecting
from jobspec.editor.places import EditorText
from jobspec.editor.workspace import Cancelled, Workspace
from jobspec.reports.places import message_of
from jobspec.reports.text import page_of

T = TypeVar("T")
_TRIES = 20  # of a check during which files come and go
SEVERITIES = {"error": lsp.DiagnosticSeverity.Error, "warning": lsp.DiagnosticSeverity.Warning, "info": lsp.DiagnosticSeverity.Information}


class EditorServer(LanguageServer):
    """What one client asks, and what is known of its workspace."""

    def __init__(self) -> None:
        super().__init__("jobspec", __version__)
        self.files = Workspace("")
        self._published: set[str] = set()
        self.is_asked = False
        """Whether the client asks for diagnostics, and is sent none."""
        self.is_resolving = False
        """Whether the client asks for the edits of the fix that somebody chose; it takes them with each fix otherwise."""
        self.is_versioned = False
        """Whether the client takes edits of a version of a text, and refuses them for another one."""
        self._changes = 0
        self._pool = ThreadPoolExecutor(1)
        self._first_pool = ThreadPoolExecutor(1)
        self._look: asyncio.Future[dict[str, list[Diagnostic]]] | None = None
        self._first_look: asyncio.Future[dict[str, list[Diagnostic]]] | None = None
        """The look at the open files alone; None once the whole workspace was looked at."""
        self._known: frozenset[str] = frozenset()
        """The names of the files that were open when the whole workspace was looked at last."""
        self._said: set[str] = set()
        self._shown = TemporaryDirectory(prefix="jobspec-")

    def enter(self, root: str) -> None:
        """Work in a folder; in none where the client opened `/` or a home folder."""
        if root and os.path.isdir(root) and os.path.realpath(root) not in (os.sep, os.path.expanduser("~")):
            os.chdir(root)
            self.files = Workspace(root)

    def write(self, uri: str, text: str | None) -> None:
        """Take over the text of an open document, None where it is closed, and look at the workspace again; not at what was shown."""
        path = path_of(uri)
        if path and os.path.dirname(path) != self._shown.name:
            self.files.write(path, text)
            self.changed()

    async def show(self, title: str, text: str) -> None:
        """Show a text in a window of its own, from a file that ends with the server and is not judged."""
        path = os.path.join(self._shown.name, title)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        await self.window_show_document_async(lsp.ShowDocumentParams(str(uris.from_fs_path(path)), take_focus=True))

    def changed(self) -> None:
        """Check the workspace again, and cancel the check of its former state."""
        self._changes += 1
        has_new = bool(self.files.root) and not self._known.issuperset(self.files.open_names)
        self._first_look = asyncio.get_running_loop().create_task(self._look_at_open_files(self._changes)) if has_new else None
        self._look = asyncio.get_running_loop().create_task(self._look_at(self._changes))

    def refresh(self) -> None:
        """Have the client ask once more for what it asked of its documents, since other files have changed."""
        about = self.client_capabilities.workspace
        for capability, ask in (
            (about and about.diagnostics, self.workspace_diagnostic_refresh),
            (about and about.code_lens, self.workspace_code_lens_refresh),
            (about and about.inlay_hint, self.workspace_inlay_hint_refresh),
        ):
            if capability and capability.refresh_support:
                ask(None)

    async def diagnostics(self) -> dict[str, list[Diagnostic]]:
        """The diagnostics of the texts as they are now, by the name of the file."""
        while True:
            look = self._look
            if look is None:
                return {}
            found = await asyncio.shield(look)
            if look is self._look:
                return found

    async def first_diagnostics(self, name: str) -> dict[str, list[Diagnostic]]:
        """Return the first known diagnostics of a file that is not yet looked at among all.

        If the client does not ask again once the whole workspace was looked at, return those of the whole workspace.
        """
        about = self.client_capabilities.workspace
        first = self._first_look
        if first is None or name in self._known or not (about and about.diagnostics and about.diagnostics.refresh_support):
            return await self.diagnostics()
        found = await asyncio.shield(first)
        return found if first is self._first_look else await self.first_diagnostics(name)

    async def in_thread(self, work: Callable[[], T]) -> T:
        """The result of work on the workspace, done in a thread after earlier work."""
        return await asyncio.get_running_loop().run_in_executor(self._pool, work)

    async def _look_at_open_files(self, change: int) -> dict[str, list[Diagnostic]]:
        """Look at the open files and their folders alone. What keeps that from running is reported by the look at the workspace."""
        files = self.files
        try:
            look = lambda: files.by_file(files.first_results()) if change == self._changes else {}  # noqa: E731
            found = await asyncio.get_running_loop().run_in_executor(self._first_pool, look)
        except Exception:
            return {}
        if change == self._changes and not self.is_asked:
            self._publish(found, except_of=self._known)
        return found

    async def _look_at(self, change: int) -> dict[str, list[Diagnostic]]:
        files = self.files

        def look() -> dict[str, list[Diagnostic]]:
            said, left = "", _TRIES
            while change == self._changes:
                try:
                    return files.by_file(files.results(files.open_names, is_cancelled=lambda: change != self._changes))
                except (JobspecError, OSError) as error:
                    left -= 1
                    if str(error) == said or not left:
                        raise
                    said = str(error)  # of a file that is gone: while Git switches branches, each look misses another one
                    files.look_again()
            raise Cancelled

        try:
            found = await self.in_thread(look)
        except Cancelled:
            return {}
        except (JobspecError, OSError) as error:  # for which the command line does not run
            found = {}
            if change == self._changes:
                self.say(str(error))
        except Exception as error:  # which must not end the server, as a bug of the command line ends that
            found = {}
            self.say(f"this is a bug of jobspec; please report it: {type(error).__name__}: {error}")
        begin_collecting()
        if change == self._changes:
            self._tell(found)
        asyncio.get_running_loop().run_in_executor(None, features.load_field_pages)
        return found

    def _tell(self, found: dict[str, list[Diagnostic]]) -> None:
        """Publish the diagnostics of the whole workspace. If the client asks for them, and was answered otherwise, have it ask again."""
        first, self._first_look = self._first_look, None
        before, self._known = self._known, frozenset(self.files.open_names)
        if not self.is_asked:
            self._publish(found)
        elif first and first.done():
            names = sorted(self._known - before)
            if _identities(first.result(), names) != _identities(found, names):
                self.workspace_diagnostic_refresh(None)

    def say(self, message: str) -> None:
        """Show a message, once."""
        if message not in self._said:
            self._said.add(message)
            self.window_show_message(lsp.ShowMessageParams(lsp.MessageType.Error, f"jobspec: {message}"))

    def report_server_error(self, error: Exception, source: Any) -> None:
        """Show an error, but for that of a message which cannot be sent, as to a client that is gone: the next one could not, either."""
        if source is not JsonRpcInternalError:
            super().report_server_error(error, source)

    def _publish(self, found: dict[str, list[Diagnostic]], *, except_of: Collection[str] = ()) -> None:
        names = {self.files.name(path): uri for uri, path in self.open_paths()}
        for name, uri in names.items():
            if name in except_of:
                continue
            items = self.shown(name, found.get(name, ()))
            version = self.workspace.get_text_document(uri).version
            self.text_document_publish_diagnostics(lsp.PublishDiagnosticsParams(uri, items, version))
        for uri in self._published - set(names.values()):  # which are closed
            self.text_document_publish_diagnostics(lsp.PublishDiagnosticsParams(uri, []))
        self._published = set(names.values())

    def open_paths(self) -> list[tuple[str, str]]:
        """The open documents: the URI and the path of each."""
        return [(uri, path) for uri in self.workspace.text_documents if (path := path_of(uri))]

    @property
    def view(self) -> ClientView:
        """The workspace as this client sees it."""
        encoding = self.workspace.position_encoding or "utf-16"
        return ClientView(self.files, getattr(encoding, "value", encoding))

    def shown(self, name: str, found: Sequence[Diagnostic]) -> list[lsp.Diagnostic]:
        """Diagnostics as a client shows them in a file."""
        view = self.view
        text = view.text(name)
        return [_diagnostic(each, name, text, view) for each in found]


def _identities(found: dict[str, list[Diagnostic]], names: Sequence[str]) -> list[tuple[str, ...]]:
    """The place, rule and words of each diagnostic of some files."""
    return [(name, str(each.mark), each.rule, each.severity, each.message) for name in names for each in found.get(name, ())]


def _diagnostic(found: Diagnostic, name: str, text: EditorText, view: ClientView) -> lsp.Diagnostic:
    is_here = os.path.normpath(found.mark.file) == name
    hint = f"\nhint: {found.hint}" if found.hint else ""
    message = message_of(found) if is_here else f"{found.mark}: {message_of(found)}"
    return lsp.Diagnostic(
        view.range(found.mark if is_here else Mark(name), text),
        f"{message}{hint}",
        severity=SEVERITIES[found.severity],
        code=found.rule,
        code_description=lsp.CodeDescription(page) if (page := page_of(found.rule)) else None,
        source="jobspec",
        related_information=[
            lsp.DiagnosticRelatedInformation(view.location(each.mark), message_of(each)) for each in found.related if each.mark.line
        ],
        data={"field": found.field, "document": found.document, "fixable": bool(found.changes)},
    )


def path_of(uri: str) -> str:
    """The path of a document; empty where it is no file."""
    return uris.to_fs_path(uri) or "" if uri.startswith("file:") else ""


def server() -> EditorServer:
    """A server with all that it answers."""
    made = EditorServer()
    for method, options, answer in _HANDLERS:
        made.feature(method, options)(answer)
    for method, options, feature in _FEATURES:
        made.feature(method, options)(_answering(feature))
    for command in features.COMMANDS:
        made.command(command)(_showing(command))
    return made


# What the client says of its documents: taken over at once, before anything else is done with the documents as they are now.


def _initialize(server: EditorServer, params: lsp.InitializeParams) -> None:
    folders = [path_of(each.uri) for each in params.workspace_folders or ()]
    server.enter(folders[0] if folders else path_of(params.root_uri or "") or params.root_path or "")
    about = params.capabilities.text_document
    server.is_asked = bool(about and about.diagnostic)
    resolving = about and about.code_action and about.code_action.resolve_support
    server.is_resolving = bool(resolving and "edit" in resolving.properties)
    within = params.capabilities.workspace
    server.is_versioned = bool(within and within.workspace_edit and within.workspace_edit.document_changes)


def _opened(server: EditorServer, params: lsp.DidOpenTextDocumentParams) -> None:
    server.write(params.text_document.uri, params.text_document.text)


def _changed(server: EditorServer, params: lsp.DidChangeTextDocumentParams) -> None:
    uri = params.text_document.uri
    text = server.view.text(server.view.name(uri))
    for each in params.content_changes:
        text = text.changed(getattr(each, "range", None), each.text)
    server.write(uri, text.text)


def _closed(server: EditorServer, params: lsp.DidCloseTextDocumentParams) -> None:
    server.write(params.text_document.uri, None)


def _changed_on_disk(server: EditorServer, _: Any) -> None:
    server.files.look_again()
    server.changed()
    server.refresh()


# What the client asks.


async def _diagnostics(server: EditorServer, params: lsp.DocumentDiagnosticParams) -> lsp.RelatedFullDocumentDiagnosticReport:
    name = server.view.name(params.text_document.uri)
    found = await server.first_diagnostics(name)
    return lsp.RelatedFullDocumentDiagnosticReport(server.shown(name, found.get(name, ())))


async def _actions(server: EditorServer, params: lsp.CodeActionParams) -> list[lsp.CodeAction]:
    found = await server.diagnostics()
    made = features.actions(server.view, params, found.get(server.view.name(params.text_document.uri), ()))
    return [_versioned(server, each) for each in made] if server.is_resolving else [await _resolved(server, each) for each in made]


async def _resolved(server: EditorServer, action: lsp.CodeAction) -> lsp.CodeAction:
    made = action
    while not made.edit:
        view = server.view
        found = await server.in_thread(lambda: features.resolved(view, action))  # noqa: B023
        if server.files.texts is view.texts:  # else somebody has typed meanwhile
            made = found
    return _versioned(server, made)


def _versioned(server: EditorServer, action: lsp.CodeAction) -> lsp.CodeAction:
    """An action whose edit is of the version of the text that it was made for, where the client takes that."""
    if server.is_versioned and action.edit and action.edit.changes:
        documents = [(server.workspace.get_text_document(uri), edits) for uri, edits in action.edit.changes.items()]
        identifiers = [(lsp.OptionalVersionedTextDocumentIdentifier(each.uri, each.version), edits) for each, edits in documents]
        action.edit = lsp.WorkspaceEdit(document_changes=[lsp.TextDocumentEdit(each, edits) for each, edits in identifiers])
    return action


def _answering(feature: Callable[[ClientView, Any], Any]) -> Any:
    """A handler that answers with a feature, of the texts as they were checked last; completion and symbols do not wait for a check."""

    async def answer(server: EditorServer, params: Any) -> Any:
        if feature not in (features.completion, features.symbols) or server.files.snapshot is None:
            await server.diagnostics()
        return await asyncio.to_thread(feature, server.view, params)

    return answer


def _showing(command: str) -> Any:
    """Gives the text that a command shows, and shows it where the client can."""

    async def show(server: EditorServer, name: str) -> str:
        await server.diagnostics()
        view = server.view

        def rendered() -> tuple[str, str]:
            with view.files.reading():
                return features.rendered_text(view, command, name)

        try:
            title, text = await server.in_thread(rendered)
        except JobspecError as error:
            server.say(str(error))
            return ""
        window = server.client_capabilities.window
        if window and window.show_document and window.show_document.support:
            await server.show(title, text)
        return text

    return show


_CODE_ACTIONS = lsp.CodeActionOptions([lsp.CodeActionKind.QuickFix, lsp.CodeActionKind.SourceFixAll], resolve_provider=True)
_HANDLERS: tuple[tuple[str, Any, Any], ...] = (
    (lsp.INITIALIZE, None, _initialize),
    (lsp.TEXT_DOCUMENT_DID_OPEN, None, _opened),
    (lsp.TEXT_DOCUMENT_DID_CHANGE, None, _changed),
    (lsp.TEXT_DOCUMENT_DID_CLOSE, None, _closed),
    (lsp.TEXT_DOCUMENT_DID_SAVE, None, _changed_on_disk),
    (lsp.WORKSPACE_DID_CHANGE_WATCHED_FILES, None, _changed_on_disk),
    (lsp.TEXT_DOCUMENT_DIAGNOSTIC, lsp.DiagnosticOptions(inter_file_dependencies=True, workspace_diagnostics=False), _diagnostics),
    (lsp.TEXT_DOCUMENT_CODE_ACTION, _CODE_ACTIONS, _actions),
    (lsp.CODE_ACTION_RESOLVE, None, _resolved),
)
_FEATURES: tuple[tuple[str, Any, Callable[[ClientView, Any], Any]], ...] = (
    (lsp.TEXT_DOCUMENT_COMPLETION, lsp.CompletionOptions(trigger_characters=[" ", "-", "\n", "{", "["]), features.completion),
    (lsp.TEXT_DOCUMENT_HOVER, None, features.hover),
    (lsp.TEXT_DOCUMENT_DEFINITION, None, features.definition),
    (lsp.TEXT_DOCUMENT_REFERENCES, None, features.references),
    (lsp.TEXT_DOCUMENT_DOCUMENT_SYMBOL, None, features.symbols),
    (lsp.TEXT_DOCUMENT_CODE_LENS, lsp.CodeLensOptions(), features.lenses),
    (lsp.TEXT_DOCUMENT_INLAY_HINT, lsp.InlayHintOptions(), features.inlay_hints),
)
