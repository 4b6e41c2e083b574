"""Repositories that change at random: with the cache of earlier runs, every byte is what it is without.

A find is the text of a repository, in which a line `# file: NAME` begins each file; what is changed then follows from the text alone.
"""

import os
import re
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import chdir
from functools import cache
from pathlib import Path
from random import Random
from unittest.mock import patch

from jobspec.diagnostics.errors import JobspecError
from jobspec.editor.workspace import Workspace
from jobspec.session import kept_runs
from tests.hunt.finds import Find
from tests.support.processes import environment, run_here
from tests.support.reference import ROOT
from tests.support.repositories import git

_CASES = ROOT / "tests" / "cases"
#: The folders of cases whose folders and files stand for what people keep together.
_GROUPS = ("repositories", "lint", "outcome", "policies", "queues", "kueue", "engines", "crds", "projects")
_COMMANDS = (
    ("lint", "."),
    ("lint", ".", "-o", "json"),
    ("lint", ".", "--no-build", "-o", "sarif"),
    ("lint", ".", "--skip-unknown", "--markdown"),
    ("lint", ".", "--ignore", "unpinned-image", "--fail-on", "warning"),
    ("validate", ".", "-o", "json"),
    ("validate", ".", "--closed-world", "--target", "trainer=2.1", "--target", "training-operator=1.8"),
    ("validate", ".", "--no-outcome", "-o", "github"),
)
_FILE = re.compile(r"^# file: (.*)\n", re.MULTILINE)
_CHANGES = 4
_TICK = 20_000_000  # nanoseconds; so that files of one run are settled in the next
_MOST = 60  # files of a repository
_LARGEST = 20_000  # bytes of a file


def finds(random: Random, place: Path, *, count: int = 4) -> Iterator[Find]:
    """The repositories of which a run says something else with the cache."""
    for _ in range(count):
        text = repository(random)
        if said := difference(text, place):
            yield Find(text, said, "the same without the cache")


def difference(text: str, around: Path) -> str:
    """What runs say with the cache of earlier runs and not without it, on a repository that changes; empty where there is nothing."""
    place, kept = around / "repository", around / "kept"
    for each in (place, kept):
        shutil.rmtree(each, ignore_errors=True)
    place.mkdir()
    git(place, "init", "--quiet")
    names_and_texts = _FILE.split(text)[1:]
    files = dict(zip(names_and_texts[::2], names_and_texts[1::2], strict=True))
    for name, content in files.items():
        _write(place / name, content)
    random = Random(text)
    for number in range(_CHANGES + 1):
        if number:
            _change(place, files, random)
        command = random.choice(_COMMANDS)
        if said := compared(place, kept, command) or (of_editors(place, kept) if command[0] == "lint" else ""):
            return f"after {number} changes, {said}"
    return ""


def compared(place: Path, kept: Path, command: tuple[str, ...]) -> str:
    """How runs of a command in a folder differ: without the cache, with it as it is, and once more; empty where they do not."""
    many = patch.object(kept_runs, "_WORTH_KEEPING", 1), patch.object(kept_runs, "_OTHERS", 1000)
    with many[0], many[1], patch.object(kept_runs, "_TICK", _TICK):
        plain = run_here(*command, "--no-cache", cwd=place)
        first, second = (run_here(*command, cwd=place, env=environment(JOBSPEC_CACHE=str(kept))) for _ in range(2))
    for number, done in (("first", first), ("second", second)):
        if (done.stdout, done.stderr, done.returncode) != (plain.stdout, plain.stderr, plain.returncode):
            lines = set(done.stdout.splitlines()) ^ set(plain.stdout.splitlines())
            said = f"{done.returncode} {done.stderr[-300:]} {sorted(lines)[:6]}"
            return f"the {number} of two runs of `{' '.join(command)}` says other things: {said}"
    return ""


def of_editors(place: Path, kept: Path) -> str:
    """How the first look of an editor differs that uses what runs have kept; empty where it does not, whichever text is open."""
    manifests = sorted(path for path in place.rglob("*.yaml") if path.is_file() and ".git" not in path.parts)
    opened = manifests[len(manifests) // 2 :][:1]
    texts = {path: f"# first\n{path.read_bytes().decode(errors='replace')}" for path in opened}
    for given in ({}, texts):
        without, with_kept = (first_look(place, given, each) for each in (place.parent / "none", kept))
        if without != with_kept:
            return f"an editor with {len(given)} open texts shows other things: {sorted(set(without) ^ set(with_kept))[:6]}"
    return ""


def first_look(place: Path, texts: Mapping[Path, str], kept: Path) -> list[str]:
    """What an editor shows of a folder, with some open texts and a folder of what runs have kept."""
    given = {"JOBSPEC_CACHE": str(kept)}
    many = patch.object(kept_runs, "_WORTH_KEEPING", 1), patch.object(kept_runs, "_OTHERS", 1000)
    with chdir(place), patch.dict(os.environ, given), many[0], many[1]:
        workspace = Workspace(os.curdir)
        for path, text in texts.items():
            workspace.write(str(path), text)
        try:
            results = workspace.results()
        except JobspecError as error:
            return [str(error)]
        found = [f"{each.path} {row!r}" for each in results for row in each.documents]
        return [*found, *(f"{each.path} {one.mark} {one!r}" for each in results for one in each.diagnostics)]


def repository(random: Random) -> str:
    """The files of one case, and of a few others, as one text."""
    files: dict[str, str] = {}
    for at in range(random.choice((1, 2, 3))):
        case = random.choice(_cases())
        for path in _files(case):
            name = f"{at}/{path.relative_to(case) if case.is_dir() else path.name}"
            files[name] = path.read_text()
    return "".join(
        f"# file: {name}\n{text}" for name, text in list(files.items())[:_MOST] if text.endswith("\n") and not _FILE.search(text)
    )


@cache
def _cases() -> list[Path]:
    found = [path for name in _GROUPS for path in (_CASES / name).iterdir() if path.is_dir() or path.suffix == ".yaml"]
    return sorted(each for each in found if any(_files(each)))


def _files(case: Path) -> list[Path]:
    found = sorted(case.rglob("*")) if case.is_dir() else [case]
    return [each for each in found if each.is_file() and not each.is_symlink() and each.stat().st_size < _LARGEST and _is_text(each)]


def _is_text(path: Path) -> bool:
    try:
        return "\r" not in path.read_bytes().decode()
    except UnicodeDecodeError:
        return False


def _write(path: Path, text: str) -> None:
    if not path.is_dir() and not any(each.is_file() for each in path.parents):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode())


def _change(place: Path, files: dict[str, str], random: Random) -> None:
    """Change one thing of a repository, or several."""
    there = sorted(path for path in place.rglob("*") if path.is_file() and ".git" not in path.parts)
    if not there:
        return
    path, other = random.choice(there), random.choice(there)
    text = path.read_bytes().decode(errors="replace")
    lines = text.splitlines(keepends=True) or [""]
    at = random.randrange(len(lines))

    def change_what_is_no_manifest() -> None:
        _write(place / "train.py", f"print({random.random()})\n")
        os.utime(path)
        git(place, "add", "--all")

    def take_back() -> None:
        for known, content in files.items():
            _write(place / known, content)

    changes: list[Callable[[], object]] = [
        *[lambda: _write(path, "".join([*lines[:at], *lines[at + 1 :]]))] * 3,
        lambda: _write(path, "".join([*lines[:at], lines[at].replace(": ", ": x", 1), *lines[at + 1 :]])),
        lambda: _write(path, f"{text}# changed\n"),
        path.unlink,
        lambda: path.rename(path.with_name(f"renamed-{path.name}")),
        lambda: _write(other.with_name(f"copy-{path.name}"), text),
        lambda: _write(place / random.choice((".gitignore", ".jobspecignore")), f"{path.relative_to(place)}\n"),
        lambda: _write(place / "pyproject.toml", '[tool.jobspec]\nignore = ["unpinned-image", "legacy-operator"]\n'),
        change_what_is_no_manifest,
        take_back,
    ]
    random.choice(changes)()
