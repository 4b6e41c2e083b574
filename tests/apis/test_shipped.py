"""JSON is read and written as the json package does it, with it and without."""

import json
import sys
from pathlib import Path

import pytest

from jobspec.apis.shipped import load
from jobspec.diagnostics.wording import as_json
from tests.support.reference import ROOT

FILES = sorted([*(ROOT / "schemas" / "compiled").rglob("*.json"), *(ROOT / "jobspec" / "operators" / "trainer").glob("*.json")])


@pytest.mark.parametrize("parser", ["its parser", "the package"])
def test_every_file_is_read_as_json_reads_it(parser: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if parser == "the package":
        monkeypatch.setitem(sys.modules, "_json", None)
    assert len(FILES) > 30
    assert all(load(str(path)) == json.loads(path.read_text()) for path in FILES)


def test_escapes_and_numbers(tmp_path: Path) -> None:
    text = '{"a": ["\\u00e9\\n\\"", 1, -1.5, 1e3, true, false, null], "b": {}}'
    (tmp_path / "a.json").write_text(text)
    assert load(str(tmp_path / "a.json")) == json.loads(text)


@pytest.mark.parametrize("parser", ["its parser", "the package"])
def test_a_broken_file_is_an_error_that_names_it(parser: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    if parser == "the package":
        monkeypatch.setitem(sys.modules, "_json", None)
    broken = tmp_path / "a.json"
    broken.write_text('{"a": ')
    with pytest.raises(ValueError, match="line 1") as error:
        load(str(broken))
    assert error.value.__notes__ == [f"in {broken}"]


@pytest.mark.parametrize("parser", ["its encoder", "the package"])
@pytest.mark.parametrize("value", [None, True, 1, -1.5, 1e300, 'é "\n', [], {}, {"b": [1, "é", None], "a": {"é": {}}}])
def test_a_value_is_written_as_json_writes_it(value: object, parser: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if parser == "the package":
        monkeypatch.setitem(sys.modules, "_json", None)
    assert as_json(value) == json.dumps(value, sort_keys=True, ensure_ascii=False)


@pytest.mark.parametrize("error", [AttributeError, TypeError])
def test_json_is_read_and_written_where_the_parser_of_cpython_is_another(
    error: type[Exception], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def other(*_: object) -> None:
        raise error("another release")

    monkeypatch.setattr("_json.make_scanner", other)
    monkeypatch.setattr("_json.make_encoder", other)
    (tmp_path / "a.json").write_text('{"a": 1}')
    assert load(str(tmp_path / "a.json")) == {"a": 1}
    assert as_json({"a": 1}) == '{"a": 1}'
