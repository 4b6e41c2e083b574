"""Sessions of an editor at random: after any edits, a server and its client have what a new server has of the same texts and files.

A find is the text of a repository, in which a line `# file: NAME` begins each file, and `# spare: NAME` each that is written later, if at
all. The line `# steps: NUMBER ...` before them has the seed of each step, so that the session follows from the text alone.
"""

import asyncio
import json
import os
import re
import shutil
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import chdir, suppress
from itertools import count
from pathlib import Path
from random import Random
from typing import Any
from unittest.mock import patch

from lsprotocol import types as lsp

from jobspec.diagnostics.errors import JobspecError
from jobspec.diagnostics.results import FileResult
from jobspec.editor import features
from jobspec.editor.mcp import Tools
from jobspec.editor.workspace import Cancelled, Workspace
from jobspec.reports.preflight import as_data
from jobspec.session.options import Options
from tests.hunt import cache
from tests.hunt.finds import Find, bug
from tests.support.editor_here import EditorHere
from tests.support.repositories import git

_STEPS = 24
_MOST = 60  # files
_CHOICE = 4  # repositories, of which the one with most documents has most that refers to other files
_HEAD = re.compile(r"# steps: ([\d ]*)\n")
_START = re.compile(r"^---.*\n", re.MULTILINE)
_PART = re.compile(r"^# (file|spare): (.*)\n", re.MULTILINE)
_SETTINGS = (
    '[tool.jobspec]\nignore = ["unpinned-image", "legacy-operator"]\n',
    '[tool.jobspec]\nselect = ["unpinned-image", "unresolved-reference"]\n',
    '[tool.jobspec]\nexclude = ["0/"]\n',
    "[tool.jobspec]\nignore = 3\n",
    "[tool.other]\n",
)
_BREAKS = ("{", "[", "'", ": ", "- ", "\t", "  ", "*a", "&a ", "---\n", "# ", "|\n", "é", "${A}", "\U0001f600")
_WORD = re.compile(r"[A-Za-z0-9][\w.-]*")


def finds(random: Random, place: Path, tally: Counter[str], *, count: int = 4, steps: int = _STEPS) -> Iterator[Find]:
    """The sessions in which a server or its client has something else than a new one."""
    for _ in range(count):
        repositories = [cache.repository(random) for _ in range(_CHOICE)]
        text = session_in(max(repositories, key=lambda each: each.count("\nkind:")), random, steps)
        if said := difference(text, place, tally):
            yield Find(text, said, "the same from a new server")


def session_in(repository: str, random: Random, steps: int = _STEPS) -> str:
    """A session in a repository, some files of which are written later. Documents that refer to each other are in files of their own."""
    parts = _PART.split(repository)[1:]
    files: dict[str, str] = {}
    for name, text in zip(parts[1::3], parts[2::3], strict=True):
        documents = _START.split(text)
        stem, ending = os.path.splitext(name)
        is_split = len(documents) > 1 and random.random() < 0.8
        files |= {f"{stem}-{number}{ending}": each for number, each in enumerate(documents)} if is_split else {name: text}
    chosen = list(files.items())[:_MOST]
    texts = [f"# {'spare' if random.random() < 0.15 else 'file'}: {name}\n{text}" for name, text in chosen]
    return f"# steps: {' '.join(str(random.randrange(1 << 20)) for _ in range(steps))}\n{''.join(texts)}"


def difference(text: str, around: Path, tally: Counter[str] | None = None) -> str:
    """What differs in a session from what a new server says; empty where nothing does."""
    place = (around / "repository").resolve()
    for each in (place, around / "kept"):
        shutil.rmtree(each, ignore_errors=True)
    place.mkdir()
    git(place, "init", "--quiet")
    try:
        with chdir(place), patch.dict(os.environ, {"JOBSPEC_CACHE": str(around / "kept")}):
            return asyncio.run(_difference(text, place, Counter() if tally is None else tally))
    except Exception:
        return bug()


async def _difference(text: str, place: Path, tally: Counter[str]) -> str:
    head = _HEAD.match(text)
    parts = _PART.split(text)[1:]
    files = list(zip(parts[::3], parts[1::3], parts[2::3], strict=True))
    for kind, name, content in files:
        if kind == "file":
            _write(place / name, content)
    asks = bool(len(files) % 2)
    with _editor(place, asks=asks) as editor:
        session = _Session(place, {name: content for _, name, content in files}, editor, asks=asks)
        for number, seed in enumerate(map(int, head[1].split() if head else ()), 1):
            random = Random(seed)
            step = random.choice(_WEIGHTED)
            step(session, random)
            tally[step.__name__.strip("_").replace("_", " ")] += 1
            if random.random() < 0.75 and (said := await _compared(session, random, tally)):
                return f"after step {number}, to {step.__name__.strip('_').replace('_', ' ')}, {said}"
    return ""


def _editor(place: Path, *, asks: bool) -> EditorHere:
    """A client, which *asks* for diagnostics, or is sent them."""
    about = lsp.TextDocumentClientCapabilities(diagnostic=lsp.DiagnosticClientCapabilities()) if asks else None
    refreshed = lsp.DiagnosticWorkspaceClientCapabilities(refresh_support=True)
    return EditorHere(place, within=lsp.WorkspaceClientCapabilities(diagnostics=refreshed), about=about)


class _Session:
    """The files of a repository, which others change, too, and a client with open texts."""

    def __init__(self, place: Path, files: dict[str, str], editor: EditorHere, *, asks: bool) -> None:
        self.place = place
        self.files = files
        """The texts of all files at the beginning, and of those that are written later."""
        self.editor = editor
        self.asks = asks
        self.texts: dict[Path, str] = {}
        """The open texts."""
        self.held: dict[str, Any] = {}
        """What a client that asks was answered last, by the URI of the file."""
        self.agent = Tools()

    def there(self) -> list[Path]:
        """The files on disk."""
        return sorted(path for path in self.place.rglob("*") if path.is_file() and ".git" not in path.parts)

    def any_text(self, random: Random) -> str:
        """The text of a file as it was or is."""
        return random.choice([*self.files.values(), *self.texts.values()])

    def open(self, path: Path, text: str) -> None:
        """Open a file."""
        self.texts[path] = text
        self.editor.open(path, text)

    def type(self, path: Path, text: str) -> None:
        """Replace an open text."""
        before, self.texts[path] = self.texts[path], text
        start = _common(before, text)
        end = _common(before[start:][::-1], text[start:][::-1])
        if not before.isascii() or "\r" in before:
            self.editor.change(path, text)
        else:
            place = lsp.Range(*(_position(before, at) for at in (start, len(before) - end)))
            self.editor.change(path, text[start : len(text) - end], place=place)

    def close(self, path: Path) -> None:
        """Close a file."""
        del self.texts[path]
        self.editor.close(path)

    async def hold(self) -> dict[str, Any]:
        """What the client holds once the server is done."""
        if not self.asks:
            await self.editor.server.diagnostics()
            return self.editor.published()
        refreshed = -1
        while refreshed != self._refreshed():
            refreshed = self._refreshed()
            self.held = {path.as_uri(): found for path in self.texts if (found := await self.editor.asked(path))}
            await self.editor.server.diagnostics()
        return self.held

    def _refreshed(self) -> int:
        return sum(each.get("method") == lsp.WORKSPACE_DIAGNOSTIC_REFRESH for each in self.editor.sent.messages)


def _common(one: str, other: str) -> int:
    """The number of characters at the beginning of both texts."""
    return next((at for at, (each, same) in enumerate(zip(one, other, strict=False)) if each != same), min(len(one), len(other)))


def _position(text: str, at: int) -> Any:
    return lsp.Position(text.count("\n", 0, at), at - text.rfind("\n", 0, at) - 1)


# What is compared.


async def _compared(session: _Session, random: Random, tally: Counter[str]) -> str:
    """What the session's client holds, and its server answers, and not a new one; empty where there is nothing."""
    held = await session.hold()
    with _editor(session.place, asks=session.asks) as new:
        for path, text in session.texts.items():
            new.open(path, text)
        await new.server.diagnostics()
        found = {path.as_uri(): said for path in session.texts if (said := await new.asked(path))} if session.asks else new.published()
        tally["diagnostics that a client holds"] += sum(map(len, held.values()))
        if held != found:
            return f"the client holds other things: {_unlike(_lines(held), _lines(found))}"
        if bugs := [each for each in _messages(session.editor) if "is a bug of" in each]:
            return bugs[0]
        for name, ask in _questions(session, random):
            ours, theirs = (_answer(ask, each) for each in (session.editor, new))
            tally[f"lines of {name}"] += len(ours)
            if ours != theirs:
                return f"{name}: {_unlike(ours, theirs)}"
    return _of_agents(session, random, tally) if random.random() < 0.25 else ""


def _messages(editor: EditorHere) -> list[str]:
    return [each["params"]["message"] for each in editor.sent.messages if each.get("method") == lsp.WINDOW_SHOW_MESSAGE]


def _lines(held: dict[str, Any]) -> list[str]:
    return [f"{uri} {json.dumps(each)}" for uri, found in sorted(held.items()) for each in found]


def _unlike(ours: Sequence[str], theirs: Sequence[str]) -> str:
    """The first lines that one side alone has."""
    sides = [[each for each in one if each not in set(other)] for one, other in ((ours, theirs), (theirs, ours))]
    return f"{sides[0][:4]} in place of {sides[1][:4]}" if any(sides) else f"in another order: {ours[:8]} in place of {theirs[:8]}"


def _questions(session: _Session, random: Random) -> Iterator[tuple[str, Callable[[EditorHere], Any]]]:
    """What is asked besides: a check that is given up, of all files and of some, and what an editor shows at a place."""
    files = lambda editor: editor.server.files  # noqa: E731
    names = sorted(files(session.editor).name(str(path)) for path in (*session.there(), *session.texts))
    some = random.sample(names, min(len(names), 2))
    if random.random() < 0.3:
        calls = random.randrange(60)
        _give_up(files(session.editor), some, calls)
    if random.random() < 0.9:
        yield "all results", lambda editor: _results(files(editor).results())
    if random.random() < 0.2:
        yield "results without advice", lambda editor: _results(files(editor).results(some, advice=False))
    if random.random() < 0.2:
        yield "preflight", lambda editor: _plain(as_data(files(editor).preflight(lambda each: each in some, Options(paths=[os.curdir]))))
    if random.random() < 0.2:
        yield "fixed text", lambda editor: files(editor).fixed(some[0])[1].splitlines() if some else []
    if random.random() < 0.3:
        yield "some results", lambda editor: _results(files(editor).results(some))
    if session.texts and not _fails(session.editor):
        path = random.choice(list(session.texts))
        text, place = (
            lsp.TextDocumentIdentifier(path.as_uri()),
            _position(session.texts[path], random.randrange(len(session.texts[path]) + 1)),
        )
        for name, feature, params in (
            ("hover", features.hover, lsp.HoverParams(text, place)),
            ("completion", features.completion, lsp.CompletionParams(text, place)),
            ("definition", features.definition, lsp.DefinitionParams(text, place)),
            ("references", features.references, lsp.ReferenceParams(lsp.ReferenceContext(include_declaration=True), text, place)),
            ("lenses", features.lenses, lsp.CodeLensParams(text)),
            ("hints", features.inlay_hints, lsp.InlayHintParams(text, lsp.Range(lsp.Position(0, 0), lsp.Position(10000, 0)))),
        ):
            if random.random() < 0.3:
                yield name, lambda editor, feature=feature, params=params: _plain(repr(feature(editor.server.view, params)))


def _answer(ask: Callable[[EditorHere], list[str]], editor: EditorHere) -> list[str]:
    try:
        return ask(editor)
    except JobspecError as error:
        return [f"error: {error}"]


def _fails(editor: EditorHere) -> bool:
    """True if settings keep the server from a check. It then answers by the last one, which a new server has not."""
    try:
        editor.server.files.results(())
    except JobspecError:
        return True
    return False


def _give_up(files: Workspace, names: Sequence[str], calls: int) -> None:
    """Begin a check that is cancelled after some calls."""
    called = count()
    with suppress(Cancelled, JobspecError):
        files.results(names, is_cancelled=lambda: next(called) >= calls)


def _results(results: Sequence[FileResult]) -> list[str]:
    rows = [f"{each.path} {row!r}" for each in results for row in each.documents]
    return [*rows, *(f"{each.path} {one.as_dict()} {one.changes}" for each in results for one in each.diagnostics)]


def _plain(answer: Any) -> list[str]:
    return answer.splitlines() if isinstance(answer, str) else json.dumps(answer, indent=0).splitlines()


def _of_agents(session: _Session, random: Random, tally: Counter[str]) -> str:
    """What an agent is answered that has asked before, and not a new one; empty where there is nothing."""
    paths = [each.relative_to(session.place).as_posix() for each in session.there()]
    if not paths:
        return ""
    path, text = random.choice(paths), random.choice(("", session.any_text(random)))
    name = random.choice(("lint", "check", "fix", "preflight"))
    said = []
    for tools in (session.agent, Tools()):
        try:
            said.append(_plain(getattr(tools, name)(path, text)))
        except Exception as error:  # of the question, in words for the agent; none is of our own, which differs
            said.append([f"{type(error).__name__}: {error}"])
    tally[f"lines of {name} for agents"] += len(said[0])
    return f"an agent that asks to {name} {path} is answered otherwise: {_unlike(*said)}" if said[0] != said[1] else ""


# The steps.


def _open(session: _Session, random: Random) -> None:
    closed = [each for each in session.there() if each not in session.texts]
    if closed:
        path = random.choice(closed)
        session.open(path, path.read_bytes().decode(errors="replace"))


def _open_what_is_not_saved(session: _Session, random: Random) -> None:
    name = random.choice(list(session.files))
    path = session.place / random.choice((name, f"{os.path.dirname(name)}/new.yaml".lstrip("/"), "../outside.yaml", ".hidden/a.yaml"))
    path = Path(os.path.normpath(path))
    if path not in session.texts and not any(each.is_file() for each in (path, *path.parents)):
        session.open(path, session.any_text(random))


def _type(session: _Session, random: Random) -> None:
    if session.texts:
        path = random.choice(list(session.texts))
        session.type(path, _edited(session, session.texts[path], random))


def _type_a_line(session: _Session, random: Random) -> None:
    """Replace the end of a line key by key; the server hears of the next key before it has looked at the last one."""
    if session.texts:
        path = random.choice(list(session.texts))
        lines = session.texts[path].split("\n")
        at = random.randrange(len(lines))
        end = random.choice(session.any_text(random).split("\n"))[-20:]
        start = lines[at][: random.randrange(len(lines[at]) + 1)]
        for number in range(len(end) + 1):
            session.type(path, "\n".join([*lines[:at], start + end[:number], *lines[at + 1 :]]))


def _take_back(session: _Session, random: Random) -> None:
    if session.texts:
        path = random.choice(list(session.texts))
        text = path.read_bytes().decode(errors="replace") if path.is_file() else ""
        name = os.path.relpath(path, session.place)
        session.type(path, random.choice((text, session.files.get(name, text))))


def _save(session: _Session, random: Random) -> None:
    if session.texts:
        path = random.choice(list(session.texts))
        if _write(path, session.texts[path]):
            session.editor.save(path)


def _close(session: _Session, random: Random) -> None:
    if session.texts:
        session.close(random.choice(list(session.texts)))


def _save_and_close(session: _Session, random: Random) -> None:
    if session.texts:
        path = random.choice(list(session.texts))
        if _write(path, session.texts[path]):
            session.editor.save(path)
        session.close(path)


def _rename_an_open_file(session: _Session, random: Random) -> None:
    if there := [each for each in session.texts if each.is_file()]:
        path = random.choice(there)
        new, text = path.with_name(f"renamed-{path.name}"), session.texts[path]
        if new not in session.texts:
            path.rename(new)
            session.close(path)
            session.open(new, text)
            session.editor.changed_on_disk(new)


def _change_on_disk(session: _Session, random: Random) -> None:
    """Change one thing on disk or several, as another program does, such as Git when it switches branches."""
    for _ in range(random.choice((1, 1, 1, 2, 5))):
        there = session.there()
        path = random.choice(there) if there else session.place / "a.yaml"
        random.choice(_ON_DISK)(session, path, random)
    session.editor.changed_on_disk(path)


def _edit_file(session: _Session, path: Path, random: Random) -> None:
    if path.is_file():
        _write(path, _edited(session, path.read_bytes().decode(errors="replace"), random))


def _remove_file(_: _Session, path: Path, __: Random) -> None:
    path.unlink(missing_ok=True)


def _rename_file(_: _Session, path: Path, __: Random) -> None:
    if path.is_file():
        path.rename(path.with_name(f"renamed-{path.name}"))


def _copy_file(session: _Session, path: Path, random: Random) -> None:
    if path.is_file():
        folder = random.choice([each.parent for each in session.there()])
        _write(folder / f"copy-{path.name}", path.read_bytes().decode(errors="replace"))


def _rename_folder(session: _Session, path: Path, _: Random) -> None:
    if path.parent != session.place and path.parent.is_dir() and not (new := path.parent.with_name(f"moved-{path.parent.name}")).exists():
        path.parent.rename(new)


def _write_known_file(session: _Session, _: Path, random: Random) -> None:
    name = random.choice(list(session.files))
    _write(session.place / name, session.files[name])


def _write_all_files(session: _Session, _: Path, __: Random) -> None:
    for name, text in session.files.items():
        _write(session.place / name, text)


def _write_settings(session: _Session, path: Path, random: Random) -> None:
    name = random.choice(("pyproject.toml", ".jobspecignore", ".gitignore"))
    if random.random() < 0.3:
        (session.place / name).unlink(missing_ok=True)
    elif name == "pyproject.toml":
        _write(session.place / name, random.choice(_SETTINGS))
    else:
        _write(session.place / name, f"{os.path.relpath(path, session.place)}\n")


def _write_kustomization(_: _Session, path: Path, random: Random) -> None:
    if path.is_file():
        names = sorted(each.name for each in path.parent.iterdir() if each.suffix == ".yaml" and each.name != "kustomization.yaml")
        listed = random.sample(names, random.randint(0, len(names)))
        said = random.choice(("", "namePrefix: a-\n", "namespace: team\n", "labels: [{pairs: {team: nlp}}]\n"))
        field = random.choice(("resources", "resources", "resources", "patches"))
        items = [f"- {each}\n" if field == "resources" else f"- path: {each}\n" for each in listed]
        _write(path.with_name("kustomization.yaml"), f"{said}{field}:\n{''.join(items)}")


def _keep_schema(session: _Session, _: Path, random: Random) -> None:
    kept = session.place / ".jobspec" / "schemas"
    known = [text for text in session.files.values() if "kind: CustomResourceDefinition" in text]
    if known and random.random() < 0.7:
        _write(kept / "a.yaml", random.choice(known))
    else:
        shutil.rmtree(kept, ignore_errors=True)


_ON_DISK: tuple[Callable[[_Session, Path, Random], None], ...] = (
    *(_edit_file, _edit_file, _remove_file, _rename_file, _copy_file, _rename_folder),
    *(_write_known_file, _write_known_file, _write_all_files, _write_settings, _write_kustomization, _keep_schema),
)
_WEIGHTED: tuple[Callable[[_Session, Random], None], ...] = (
    *(_open, _open, _open, _open_what_is_not_saved, _type, _type, _type, _type, _type, _type, _type_a_line, _take_back, _take_back),
    *(_save, _close, _save_and_close, _rename_an_open_file, _change_on_disk, _change_on_disk, _change_on_disk),
)


def _edited(session: _Session, text: str, random: Random) -> str:
    """A text with another line, word or document."""
    lines = text.splitlines(keepends=True) or [""]
    at = random.randrange(len(lines))
    line = lines[at]
    documents = text.split("\n---\n")
    words = _WORD.findall(line)

    def with_line(*new: str) -> str:
        return "".join([*lines[:at], *new, *lines[at + 1 :]])

    def with_other_word() -> str:
        """Words are names of other objects, such as of runtimes and queues, or fields and values of other kinds."""
        return with_line(
            line.replace(random.choice(words), random.choice(_WORD.findall(session.any_text(random)) or ["a"]), 1) if words else line
        )

    def with_break() -> str:
        place = random.randrange(len(text) + 1)
        return text[:place] + random.choice(_BREAKS) + text[place:]

    edits: tuple[Callable[[], str], ...] = (
        with_line,
        lambda: with_line(line, line),
        lambda: with_line(line[: random.randrange(len(line) + 1)], "\n"),
        lambda: with_line(f"# {line}"),
        lambda: with_line(f"  {line}"),
        lambda: with_line(line[1:]),
        lambda: with_line(re.sub(r"\d+", lambda found: str(int(found[0][:6]) * 3 + 1), line)),
        *(with_other_word, with_other_word, with_other_word),
        *(with_break, with_break),
        lambda: f"# typed\n{text}",
        lambda: f"{text}# typed\n",
        lambda: f"{text}---\n{random.choice(session.any_text(random).split(chr(10) + '---' + chr(10)))}\n",
        lambda: "\n---\n".join(each for number, each in enumerate(documents) if number != at % len(documents)),
        lambda: session.any_text(random),
        lambda: "",
    )
    return random.choice(edits)()


def _write(path: Path, text: str) -> bool:
    """Write a file. Return False if a folder is at its path, or a file in the path of its folder."""
    if path.is_dir() or any(each.is_file() for each in path.parents):
        return False
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode(errors="surrogatepass"))
    return True
