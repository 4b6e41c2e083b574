"""Two states of a project or repository to what their difference means, case by case (see tests/cases/diff/README.md)."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.support.manifests import write
from tests.support.processes import run_here
from tests.support.reference import ROOT
from tests.support.repositories import committed

CASES = sorted((ROOT / "tests" / "cases" / "diff").glob("*.yaml"))
MEANINGS = {"new-run", "replaced", "in-place", "refused", "ignored", "created", "removed"}


class Reported(NamedTuple):
    """A change that a line made."""

    file: str
    line: int
    meaning: str
    field: str


def _states(text: str) -> Iterator[dict[str, str | None]]:
    """The files of both states; None for one that is gone."""
    for state in text.split("#### becomes\n"):
        parts = re.split(r"^==== (\S+)( gone)?\n", state, flags=re.MULTILINE)[1:]
        yield {path: None if gone else content for path, gone, content in zip(parts[::3], parts[1::3], parts[2::3], strict=True)}


def _expected(files: dict[str, str | None], sign: str, ref: str) -> Iterator[Reported]:
    for path, text in files.items():
        for number, line in enumerate((text or "").splitlines(), 1):
            for each in line.split("# ")[1:] if f"# {sign} " in line else ():
                found = re.fullmatch(rf"{sign} ([a-z-]+): (\S+) *", each)
                assert found, line
                assert found[1] in MEANINGS, line
                yield Reported(ref + path, number, found[1], found[2])


def _objects(report: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    """The objects that differ, each with its variant, or in a repository with its build or file."""
    if "variants" in report:
        return [(variant["name"], each) for variant in report["variants"] for each in variant["objects"]]
    return [(each["build"], each) for each in report["objects"]]


def _reported(report: dict[str, Any]) -> Iterator[Reported]:
    for _, each in _objects(report):
        for field in each["fields"]:
            place = field["changedIn"] or field["was"]
            yield Reported(place["file"], place["line"], field["meaning"], field["field"])


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_each_case_is_reported_as_it_says(tmp_path: Path, path: Path) -> None:
    text = path.read_text()
    before, after = _states(text)
    committed(tmp_path, {name: content for name, content in before.items() if content is not None})
    write(tmp_path, {name: content for name, content in after.items() if content is not None})
    for name in (each for each, content in after.items() if content is None):
        (tmp_path / name).unlink()
    done = run_here("diff", "-o", "json", cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    report = json.loads(done.stdout)

    heads = re.findall(r"^# reports: (\S+) (\S+) ([a-z-]+)(?:: (.*))?$", text, re.MULTILINE)
    objects = [(name, each["kind"], each["meaning"], each["notes"]) for name, each in _objects(report)]
    assert sorted(each[:3] for each in objects) == sorted(head[:3] for head in heads)
    for *head, words in heads:
        assert any(words in note for *each, notes in objects if each == head for note in ["", *notes]), (head, words)

    expected = {*_expected(before, "-", "HEAD:"), *_expected({**before, **after}, "~", "")}
    found = set(_reported(report))
    matched = {(want, each) for want in expected for each in found if want[:3] == each[:3] and each.field.endswith(want.field)}
    assert {each for _, each in matched} == found
    assert {want for want, _ in matched} == expected
