"""The image: its recipe, the recipe's own checks on the files that it copies, and, with `-m image`, the image itself, built and run."""

import ast
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from tests.support.processes import program
from tests.support.reference import ROOT
from tests.trainer import containers

FOLDER = ROOT / "trainer"
CONTRACT = (ROOT / "schemas" / "trainer.json").read_text().rstrip("\n")

#: The README's command that builds the image.
(BUILD,) = re.findall(r"^    (docker build .* --tag trainer \.)$", (FOLDER / "README.md").read_text(), re.MULTILINE)


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
    done = [_run(image, step, CONTRACT=CONTRACT) for step in _steps()]
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
    assert "${TORCH_INDEX:+--index-url ${TORCH_INDEX}}" in install


def test_the_packages_are_those_of_the_extra() -> None:
    pinned = _pinned()
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    wanted = [Requirement(each) for each in project["optional-dependencies"]["trainer-libraries"]]
    assert wanted
    assert [str(each) for each in wanted if not each.specifier.contains(pinned[each.name])] == []


def test_every_module_that_the_program_imports_is_in_the_image() -> None:
    nodes = [node for path in FOLDER.glob("*.py") for node in ast.walk(ast.parse(path.read_text()))]
    modules = [alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names]
    modules += [node.module for node in nodes if isinstance(node, ast.ImportFrom) and node.module]
    packages = {module.partition(".")[0] for module in modules} - sys.stdlib_module_names - {"trainer"}
    assert {"torch", "pydantic"} <= packages <= _pinned().keys()


def test_the_recipe_and_the_readme_build_by_the_same_command() -> None:
    assert f"#     {BUILD}\n" in (FOLDER / "Dockerfile").read_text()


@pytest.fixture(scope="module")
def built() -> Iterator[containers.Image]:
    """The image as the README's command builds it, on the base and with the index for torch that the environment names."""
    program = containers.program()
    if not program:
        pytest.skip(f"none of {', '.join(containers.PROGRAMS)} works here")
    name = f"trainer-test-{uuid.uuid4().hex}"
    named = {argument: os.environ.get(f"JOBSPEC_TEST_IMAGE_{argument}") for argument in ("BASE", "TORCH_INDEX")}
    arguments = "".join(f"--build-arg {argument}={shlex.quote(value)} " for argument, value in named.items() if value is not None)
    command = BUILD.replace("docker", program, 1).replace("--tag trainer ", f"--tag {name} {arguments}")
    done = subprocess.run(command, shell=True, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    assert done.returncode == 0, f"{command}\n{done.stdout}"
    made = containers.Image(program, name)
    yield made
    made.remove()


@pytest.mark.image
@pytest.mark.slow
def test_the_built_image_says_what_it_runs_and_carries_the_contract(built: containers.Image) -> None:
    config = built.config()
    assert (config["User"], config["WorkingDir"], config["Entrypoint"]) == ("1000", "/opt/pytorch", ["python", "-m", "trainer"])
    assert config["Labels"]["dev.jobspec.contract"] == CONTRACT


@pytest.mark.image
@pytest.mark.slow
def test_the_built_image_runs_as_a_user_who_can_write_the_output_folder(built: containers.Image, tmp_path: Path) -> None:
    assert built.run(["sh", "-c", "id --user && touch output/some && ls /opt/pytorch/output"], tmp_path) == "1000\nsome\n"


@pytest.mark.image
@pytest.mark.slow
def test_the_built_image_trains(built: containers.Image, tmp_path: Path) -> None:
    from tests.trainer import idx  # with scikit-learn, which the other tests here do without

    folder = idx.write(tmp_path / "data", train=640, test=100)
    log = built.run([*built.config()["Entrypoint"], "--data-dir", "/data", "--no-download", "--epochs", "1"], folder)
    assert "Train Epoch: 1 [" in log
    assert re.search(r"^accuracy=0\.\d{4}$", log, re.MULTILINE)
