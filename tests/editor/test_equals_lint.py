"""Whatever `jobspec lint` reports of a file of any case, an editor shows, and nothing else."""

import json
import os
import shutil
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from jobspec.apis.kinds import MANIFEST_ENDINGS
from tests.support.editor import Editor, Session, editor, uris
from tests.support.processes import run_here
from tests.support.reference import ROOT

CASES = ROOT / "tests" / "cases"
_SEVERITIES = {1: "error", 2: "warning", 3: "info"}


def _cases(group: Path) -> Iterator[tuple[Path, ...]]:
    """Each case of a group: the files and folders that belong together."""
    for each in sorted(group.iterdir()):
        if each.is_dir() or each.suffix in MANIFEST_ENDINGS:
            yield (each,)


#: The file of a finding's place, its rule, severity and range; of what stands in no file of the case, the file that it is reported for.
Place = tuple[str, str, str, int, int, int, int]


class _Expected:
    """What the command line reports."""

    def __init__(self) -> None:
        self.places: set[Place] = set()
        """Where it reports what, further places too."""
        self.findings: Counter[tuple[Place, str]] = Counter()
        """The errors and warnings, each at its first place, with message and hint. Equal infos are reported once for all files."""
        self.messages: dict[str, set[str]] = {}
        """The messages of each rule."""


def _expected(folder: Path) -> _Expected | None:
    """What the command line reports; None where it does not run."""
    done = run_here("lint", ".", "-o", "json", cwd=folder)
    if done.returncode > 1:
        return None
    found = _Expected()
    for file in json.loads(done.stdout)["files"]:
        for each in file["diagnostics"]:
            found.messages.setdefault(each["rule"], set()).add(each["message"])
            origin = ""  # in no file of the case
            for at, place in enumerate((each, *each.get("related", ()))):
                if (folder / place["file"]).is_file() and place["line"]:
                    span = (place["line"], place["column"], place["endLine"], place["endColumn"])
                    here = (os.path.normpath(place["file"]), each["rule"], each["severity"], *span)
                elif not at:
                    path = place["file"] if (folder / place["file"]).is_file() else file["path"]
                    here = (os.path.normpath(path), each["rule"], each["severity"], 1, 1, 1, 1)
                    origin = f"{place['file']}:{place['line']}:{place['column']}: " if path != place["file"] else ""
                else:
                    continue
                found.places.add(here)
                if not at and each["severity"] != "info":
                    found.findings[here, origin + "\nhint: ".join(filter(None, (each["message"], each["hint"])))] += 1
    return found


def _shown(diagnostic: Any, name: str, folder: Path, expected: set[Place]) -> Iterator[Place]:
    """Where the editor shows a diagnostic: its place, and the related ones."""
    about = (diagnostic.code, _SEVERITIES[diagnostic.severity])
    first = (name, *about, *_span(diagnostic.range))
    yield (name, *about, 1, 1, 1, 1) if first not in expected and first[3:5] == (1, 1) else first
    for each in diagnostic.related_information or ():
        path = Path(uris.to_fs_path(each.location.uri) or "")
        if path.is_relative_to(folder):
            yield (path.relative_to(folder).as_posix(), *about, *_span(each.location.range))


def _span(place: Any) -> tuple[int, int, int, int]:
    return place.start.line + 1, place.start.character + 1, place.end.line + 1, place.end.character + 1


async def _compare(group: Path, client: Editor) -> tuple[int, int]:
    compared = number = 0
    folder = client.folder
    for case in _cases(group):
        for each in case:
            (shutil.copytree if each.is_dir() else shutil.copy)(each, folder / each.name)
        expected = _expected(folder)
        client.changed_on_disk()
        names = [
            path.relative_to(folder).as_posix() for path in sorted(folder.rglob("*")) if path.is_file() and path.suffix in MANIFEST_ENDINGS
        ]
        for name in names:
            client.open(name)
        shown: set[Place] = set()
        findings: Counter[tuple[Place, str]] = Counter()
        for name in names if expected else ():
            assert expected
            for each in await client.asked(name):
                message = each.message.partition("\nhint: ")[0]
                assert any(one in message for one in expected.messages.get(each.code, ())), f"{case[0].name}: {name}: {message}"
                first, *further = _shown(each, name, folder, expected.places)
                shown.update((first, *further))
                findings.update([(first, each.message)] if first[2] != "info" else ())
                number += 1
            compared += 1
        if expected:
            assert sorted(shown) == sorted(each for each in expected.places if each[0] in names), case[0].relative_to(CASES)
            in_names = {key: count for key, count in expected.findings.items() if key[0][0] in names}
            assert sorted(findings.items()) == sorted(in_names.items()), case[0].relative_to(CASES)
        assert client.messages == [] or expected is None
        await _clear(client)
    return compared, number


async def _clear(client: Editor) -> None:
    """Close and remove all files."""
    for name in list(client.texts):
        client.close(name)
    for path in client.folder.iterdir():
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    client.messages.clear()


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Session]:
    """One server for all groups: to start one takes as long as most of them."""
    with Session(editor(tmp_path_factory.mktemp("cases"), encoding="utf-32")) as made:
        yield made


@pytest.mark.parametrize("group", sorted(each.name for each in CASES.iterdir() if any(_cases(each))))
def test_every_case(group: str, session: Session) -> None:
    try:
        compared, number = session.run(_compare(CASES / group, session.client))
    finally:
        session.run(_clear(session.client))
    print(f"{group}: {compared} files, {number} findings")  # noqa: T201 (how much is compared)
    assert compared
