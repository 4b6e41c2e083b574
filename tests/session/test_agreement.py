"""One question has one answer: `lint`, `validate`, `queue`, `expand`, `run`, the editor and the agents' tools never contradict each other.

Each case is a file, or a folder whose files belong together, judged by each command in turn.
"""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.agreement import assert_commands_agree
from tests.support.reference import ROOT

_CASES = ROOT / "tests" / "cases"


def _of_cases() -> Iterator[Path]:
    """The cases of our own: files of manifests, and folders."""
    for name in ("lint", "outcome", "queues", "validate", "kueue"):
        for path in sorted((_CASES / name).iterdir()) if (_CASES / name).is_dir() else ():
            if path.is_dir() or path.suffix in (".yaml", ".yml"):
                yield path


def _of_field() -> Iterator[Path]:
    """The cases of public reports, each with its folders."""
    reference = os.environ.get("JOBSPEC_REFERENCE")
    for case in sorted(Path(reference, "field").glob("*/case.toml")) if reference else ():
        yield from (each for each in sorted(case.parent.iterdir()) if each.is_dir() or each.suffix == ".yaml")


def _of_corpus() -> Iterator[Path]:
    """The folders of public repositories."""
    reference = os.environ.get("JOBSPEC_REFERENCE")
    yield from sorted(Path(reference, "corpus", "manifests").iterdir()) if reference else ()


def _name_of(path: Path) -> str:
    return f"{path.parent.name}/{path.name}"


@pytest.mark.parametrize("path", list(_of_cases()), ids=_name_of)
def test_commands_agree_on_cases(path: Path) -> None:
    assert_commands_agree(path)


@pytest.mark.slow
@pytest.mark.parametrize("path", list(_of_field()), ids=_name_of)
def test_commands_agree_on_public_reports(path: Path) -> None:
    assert_commands_agree(path)


@pytest.mark.slow
@pytest.mark.parametrize("path", list(_of_corpus()), ids=_name_of)
def test_commands_agree_on_public_repositories(path: Path) -> None:
    assert_commands_agree(path)
