"""Files of ours are read as the json package reads them, with it and without."""

import json
import sys
from pathlib import Path

import pytest

from jobspec import data
from tests.support.reference import ROOT

FILES = sorted([*(ROOT / "schemas" / "compiled").rglob("*.json"), *(ROOT / "jobspec" / "runtimes").glob("*.json")])


@pytest.mark.parametrize("parser", ["its parser", "the package"])
def test_every_file_is_read_as_json_reads_it(parser: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if parser == "the package":
        monkeypatch.setitem(sys.modules, "_json", None)
    assert len(FILES) > 30
    assert all(data.load(str(path)) == json.loads(path.read_text()) for path in FILES)


def test_escapes_and_numbers(tmp_path: Path) -> None:
    text = '{"a": ["\\u00e9\\n\\"", 1, -1.5, 1e3, true, false, null], "b": {}}'
    (tmp_path / "a.json").write_text(text)
    assert data.load(str(tmp_path / "a.json")) == json.loads(text)
