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


def _script(folder: Path, text: str) -> Path:
    path = folder / "example.py"
    path.write_text(text)
    return path


def test_mypy_is_content_with_the_examples(tmp_path: Path) -> None:
    words = (sys.executable, "-m", "mypy", "--strict", "--config-file", "", "--cache-dir", tmp_path / "cache")
    done = program(*words, _script(tmp_path, _examples()), cwd=ROOT)
    assert done.returncode == 0, done.stdout
    wrong = program(*words, _script(tmp_path, _examples() + WRONG), cwd=ROOT).stdout
    assert wrong.count(": error: ") == 3, wrong


def test_pyright_is_content_with_the_examples(tmp_path: Path) -> None:
    pyright = shutil.which("pyright", path=f"{Path(sys.executable).parent}:{environment()['PATH']}")
    if not pyright:
        pytest.skip("pyright is not installed")
    (tmp_path / "pyrightconfig.json").write_text(json.dumps({"typeCheckingMode": "strict", "extraPaths": [str(ROOT)]}))
    words = (pyright, "--pythonpath", sys.executable, "--project", tmp_path)
    _script(tmp_path, _examples())
    done = program(*words, cwd=tmp_path)
    assert done.returncode == 0, done.stdout
    _script(tmp_path, _examples() + WRONG)
    wrong = program(*words, cwd=tmp_path).stdout
    assert all(f"({rule})" in wrong for rule in ("reportArgumentType", "reportCallIssue", "reportAttributeAccessIssue")), wrong
