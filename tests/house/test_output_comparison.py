"""The comparison of what commands print at two commits shows a difference, and none where there is none."""

import json
from pathlib import Path

import pytest

from tests.output_comparison.__main__ import _compare, _load

_SAME = {
    "folder": ".",
    "environment": {},
    "arguments": ["explain", "a"],
    "stdin": "",
    "code": 0,
    "stdout": "a\n",
    "stderr": "",
    "files": {},
}


def _recorded(path: Path, **differing: object) -> Path:
    path.write_text("".join(f"{json.dumps(each)}\n" for each in ({"inputs": "1"}, _SAME, {**_SAME, **differing})))
    return path


@pytest.mark.parametrize(
    ("differing", "code", "shown"),
    [
        ({}, 0, "2 recordings compared, 0 differ"),
        ({"code": 1}, 1, "exit code 0 becomes 1"),
        ({"stdout": "b\n"}, 1, "+b"),
        ({"files": {"out.yaml": "c\n"}}, 1, "out.yaml:"),
    ],
)
def test_a_difference_is_shown(
    differing: dict[str, object], code: int, shown: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before, after = _recorded(tmp_path / "before"), _recorded(tmp_path / "after", **differing)
    assert _compare(_load(before, None), _load(after, None), lines=20) == code
    assert shown in capsys.readouterr().out
