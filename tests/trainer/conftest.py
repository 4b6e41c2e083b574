"""Without the trainer's libraries, each module that needs them says so by one skipped test."""

from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

_LACKING = [name for name in ("torch", "torchvision", "tensorboard", "tqdm", "matplotlib", "numpy", "sklearn") if find_spec(name) is None]
_NEED_NONE = {"test_config.py", "test_contract.py", "test_image.py"}


class _Module(pytest.Module):
    def collect(self) -> Iterator[pytest.Item | pytest.Collector]:
        yield _Skipped.from_parent(self, name="without_its_libraries")


class _Skipped(pytest.Item):
    def runtest(self) -> None:
        pytest.skip(f"{', '.join(_LACKING)} not installed: pip install -e '.[dev-trainer]'")


def pytest_pycollect_makemodule(module_path: Path, parent: pytest.Collector) -> pytest.Module | None:
    """A stand-in for a module that cannot run here; pytest's own for the others."""
    return _Module.from_parent(parent, path=module_path) if _LACKING and module_path.name not in _NEED_NONE else None
