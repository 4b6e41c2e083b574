"""The image, as far as it can be checked without Docker: its recipe, and its own checks on the files that it copies."""

import ast
import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from tests.support.processes import program
from tests.support.reference import ROOT

FOLDER = ROOT / "trainer"


def _instructions() -> list[tuple[str, str]]:
    """The Dockerfile's instructions, each with its words on one line."""
    lines = [line for line in (FOLDER / "Dockerfile").read_text().splitlines() if not line.startswith("#")]
    joined = "\n".join(lines).replace("\\\n", " ")
    return [(name, " ".join(rest.split())) for name, _, rest in (line.partition(" ") for line in joined.splitlines() if line)]


def _all(name: str) -> list[str]:
    return [rest for each, rest in _instructions() if each == name]


def _pinned() -> dict[str, str]:
    """Every package of the image that the recipe names, with its version."""
    lines = [line for line in (FOLDER / "requirements.txt").read_text().splitlines() if not line.startswith("#")]
    words = [*lines, *re.findall(r"\b\w+==[\w.]+", " ".join(_all("RUN")))]
    assert [word for word in words if not re.fullmatch(r"[\w.-]+==\d[\w.]*", word)] == []
    return dict(word.split("==") for word in words)


@pytest.fixture
def image(tmp_path: Path) -> Path:
    """The files that the recipe copies, below a folder that stands for the image's root."""
    for copy in _all("COPY"):
        *sources, target = copy.split()
        place = tmp_path / target.lstrip("/")
        found = [path for source in sources for path in sorted(ROOT.glob(source))]
        assert found, f"COPY {copy}: there is no such file"
        (place if target.endswith("/") else place.parent).mkdir(parents=True, exist_ok=True)
        for path in found:
            shutil.copy(path, place)
    return tmp_path


def _run(image: Path, command: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """A step of the recipe, with what the image has: its own files, and the packages."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    (work,), (python_path,) = _all("WORKDIR"), re.findall(r"PYTHONPATH=(\S+)", " ".join(_all("ENV")))
    folder = image / work.lstrip("/")
    folder.mkdir(parents=True, exist_ok=True)
    step = command.replace("/opt/", f"{image}/opt/")
    variables = {"PATH": path, "PYTHONPATH": f"{image}{python_path}", **environment}
    return program("sh", "-c", step, cwd=folder, env=variables)


def _steps() -> list[str]:
    """What runs in the build once the program is there."""
    at = _instructions().index(("COPY", "trainer/*.py /opt/trainer/trainer/"))
    return [rest for name, rest in _instructions()[at:] if name == "RUN"]


def test_the_build_checks_itself(image: Path) -> None:
    committed = (ROOT / "schemas" / "trainer.json").read_text().rstrip("\n")
    done = [_run(image, step, CONTRACT=committed) for step in _steps()]
    assert [(each.returncode, each.stderr) for each in done] == [(0, "")] * 3
    assert "--batch-size" in done[1].stdout


@pytest.mark.parametrize("contract", ["", "{}"])
def test_a_build_with_another_contract_fails_and_says_how_to_give_it(image: Path, contract: str) -> None:
    done = _run(image, _steps()[-1], CONTRACT=contract)
    assert done.returncode == 1
    assert '--build-arg CONTRACT="$(cat schemas/trainer.json)"' in done.stdout


def test_the_label_carries_the_contract_that_was_checked() -> None:
    names = [name if name != "ARG" else f"ARG {rest}" for name, rest in _instructions()]
    assert names[names.index("ARG CONTRACT") :] == ["ARG CONTRACT", "RUN", "LABEL", "ENTRYPOINT"]
    (label,) = _all("LABEL")
    assert 'dev.jobspec.contract="${CONTRACT}"' in label.split()


def test_the_program_is_no_root() -> None:
    (user,) = _all("USER")
    assert int(user) > 0
    assert f"useradd --uid {user}" in _all("RUN")[0]


def test_the_program_gets_the_signals() -> None:
    (entrypoint,) = _all("ENTRYPOINT")  # a list: no shell stands between the kubelet and the program
    assert json.loads(entrypoint) == ["python", "-m", "trainer"]


def test_the_base_is_pinned_by_digest() -> None:
    assert _all("FROM") == ["${BASE}"]
    assert re.fullmatch(r"BASE=docker\.io/library/python:3\.\d+\.\d+-[a-z-]+@sha256:[0-9a-f]{64}", _all("ARG")[0])


def test_torch_comes_from_its_own_index_unless_another_is_named() -> None:
    assert _all("ARG")[1:3] == ["VARIANT=cpu", "TORCH_INDEX=https://download.pytorch.org/whl/${VARIANT}"]
    (install,) = [step for step in _all("RUN") if "torch==" in step]
    assert "--index-url ${TORCH_INDEX}" in install


def test_the_packages_are_those_of_the_extra() -> None:
    pinned = _pinned()
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    wanted = [Requirement(each) for each in project["optional-dependencies"]["trainer"]]
    assert wanted
    assert [str(each) for each in wanted if not each.specifier.contains(pinned[each.name])] == []


def test_every_module_that_the_program_imports_is_in_the_image() -> None:
    nodes = [node for path in FOLDER.glob("*.py") for node in ast.walk(ast.parse(path.read_text()))]
    modules = [alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names]
    modules += [node.module for node in nodes if isinstance(node, ast.ImportFrom) and node.module]
    packages = {module.partition(".")[0] for module in modules} - sys.stdlib_module_names - {"trainer"}
    assert {"torch", "pydantic"} <= packages <= _pinned().keys()
