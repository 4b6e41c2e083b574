"""What the documentation shows of Python type-checks, with mypy's strict mode and with pyright, without plugins."""

import json
import re
import shutil
import sys
from pathlib import Path

import pytest

from tests.support.processes import environment, program
from tests.support.reference import ROOT

PAGE = ROOT / "docs" / "reference" / "python.md"
#: A model whose fields are partly left out, with the names that they have in Python.
MODEL = (ROOT / "tests" / "test_api_commands.py").read_text().partition("LATEST = ")[0].replace("from tests", "# from tests")
#: What the examples take as given.
GIVEN = "from typing import Any\n\ntext: str = ''\ndata: dict[str, Any] = {}\n"
#: The mistakes that a type checker has to find: a wrong type, an unknown field, a result's field that is none.
WRONG = """
PyTorchJobSpec(pytorch_replica_specs={}, nproc_per_node=2)
ObjectMeta(nam="a")
api.migrate(text).losless
"""


def _examples() -> str:
    return GIVEN + "\n".join(re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL))


def _scripts(folder: Path) -> None:
    """The examples, and the same with mistakes: type checkers read what both import once."""
    (folder / "example.py").write_text(_examples())
    (folder / "wrong.py").write_text(_examples() + WRONG)


def test_mypy_is_content_with_the_examples(tmp_path: Path) -> None:
    words = (sys.executable, "-m", "mypy", "--strict", "--config-file", "", "--cache-dir", tmp_path / "cache")
    _scripts(tmp_path)
    (tmp_path / "model.py").write_text(MODEL)
    said = program(*words, *(tmp_path / f"{name}.py" for name in ("example", "wrong", "model")), cwd=ROOT).stdout
    assert re.findall(r"(\w+)\.py:\d+: error: ", said) == ["wrong"] * 3, said


def test_pyright_is_content_with_the_examples(tmp_path: Path) -> None:
    pyright = shutil.which("pyright", path=f"{Path(sys.executable).parent}:{environment()['PATH']}")
    if not pyright:
        pytest.skip("pyright is not installed")
    (tmp_path / "pyrightconfig.json").write_text(json.dumps({"typeCheckingMode": "strict", "extraPaths": [str(ROOT)]}))
    words = (pyright, "--pythonpath", sys.executable, "--project", tmp_path)
    _scripts(tmp_path)
    said = program(*words, "--outputjson", cwd=tmp_path).stdout
    found = [(Path(each["file"]).name, each["rule"]) for each in json.loads(said)["generalDiagnostics"]]
    rules = ("reportArgumentType", "reportCallIssue", "reportAttributeAccessIssue")
    assert {name for name, _ in found} == {"wrong.py"}, said
    assert {rule for _, rule in found} >= set(rules), said
