"""Rules that see a folder: each folder of `tests/cases/rules` trips the rule that it is named for, at the marked line alone."""

from pathlib import Path

import pytest

from tests.support.rule_examples import RULE_FOLDERS, findings_in

FOLDERS = sorted(each for each in RULE_FOLDERS.iterdir() if each.is_dir())


@pytest.mark.parametrize("folder", FOLDERS, ids=[each.name for each in FOLDERS])
def test_the_rule_is_tripped_at_the_marked_line(folder: Path) -> None:
    marked = [
        (path.relative_to(folder).as_posix(), number)
        for path in sorted(folder.rglob("*.yaml"))
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if f"# ~ {folder.name}" in line
    ]
    found = [(each["file"], each["line"]) for each in findings_in(folder) if each["rule"] == folder.name]
    assert len(marked) == 1
    assert found == marked
