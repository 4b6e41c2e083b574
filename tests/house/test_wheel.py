"""The wheel, installed where this tree is not, does what the tree does."""

import importlib.metadata
import os
import re
import sys
import tarfile
import zipfile
from pathlib import Path
from subprocess import CompletedProcess

import pytest
from packaging.requirements import Requirement

from jobspec import __version__
from tests.support.manifests import JOB
from tests.support.once import made_once
from tests.support.processes import program
from tests.support.reference import ROOT

pytestmark = pytest.mark.slow


def _run(*command: str | Path, cwd: Path) -> str:
    done = _ended(*command, cwd=cwd)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def _ended(*command: str | Path, cwd: Path) -> CompletedProcess[str]:
    variables = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "COVERAGE", "JOBSPEC"))}
    return program(*command, cwd=cwd, env={**variables, "PIP_COMPILE": "0"})  # what is imported is compiled then


@pytest.fixture(scope="module")
def dist(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Path:
    """A folder with the source distribution, and the wheel that was built of that and not of the tree."""

    def build(folder: Path) -> None:
        _run(sys.executable, "-m", "build", "--outdir", folder, ROOT, cwd=folder)

    return made_once("dist", build, tmp_path_factory, worker_id)


def test_the_wheel_holds_the_package_its_overlays_and_schemas_and_no_more(dist: Path) -> None:
    (wheel,) = dist.glob("*.whl")
    names = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}
    package = {path.relative_to(ROOT).as_posix() for path in (ROOT / "jobspec").rglob("*") if path.is_file() and path.suffix != ".pyc"}
    data = {f"jobspec/_data/{path.relative_to(ROOT).as_posix()}" for part in ("overlays", "schemas") for path in (ROOT / part).rglob("*.*")}
    data = {name for name in data if (ROOT / name.removeprefix("jobspec/_data/")).is_file()}
    assert {"jobspec/py.typed", "jobspec/scaffold/workflow.yaml", "jobspec/project/health/lua/conditions.lua"} <= package
    assert names == package | data


def test_the_source_distribution_holds_no_stray_files(dist: Path) -> None:
    (sdist,) = dist.glob("*.tar.gz")
    with tarfile.open(sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert {"jobspec/cli.py", "overlays/cpu.yaml", "tests/house/test_wheel.py", "pyproject.toml", "LICENSE", "README.md"} <= names
    assert not [name for name in names if re.search(r"(^|/)(\.venv|__pycache__|\.hypothesis|\.mypy_cache)/", name)]


def _lend(requirements: list[str], place: Path) -> None:
    """Give an environment what is required, and what that requires, from this one; everything else it has to do without."""
    for requirement in map(Requirement, requirements):
        if requirement.marker is None or requirement.marker.evaluate({"extra": ""}):
            lent = importlib.metadata.distribution(requirement.name)
            assert requirement.specifier.contains(lent.version, prereleases=True), requirement
            for name in {file.parts[0] for file in lent.files or ()} - {"..", "__pycache__", *os.listdir(place)}:
                (place / name).symlink_to(str(lent.locate_file(name)))
            _lend(lent.requires or [], place)


def test_the_installed_wheel_works_outside_of_the_tree(dist: Path, tmp_path: Path) -> None:
    (wheel,) = dist.glob("*.whl")
    (tmp_path / "job.yaml").write_text(JOB)
    _run(sys.executable, "-m", "venv", "--without-pip", tmp_path / "venv", cwd=tmp_path)
    programs = tmp_path / "venv" / "bin"
    here = Path(_run(programs / "python", "-c", "import sysconfig; print(sysconfig.get_path('purelib'))", cwd=tmp_path).strip())
    _run(sys.executable, "-m", "pip", f"--python={programs / 'python'}", "install", "--no-deps", "--no-index", wheel, cwd=tmp_path)
    (installed,) = importlib.metadata.distributions(path=[str(here)])
    _lend(installed.requires or [], here)
    where = _run(programs / "python", "-c", "import jobspec; print(jobspec.__file__)", cwd=tmp_path)
    assert where.startswith(str(tmp_path / "venv"))
    assert _run(programs / "jobspec", "--version", cwd=tmp_path) == f"jobspec {__version__}\n"
    assert _run(programs / "jobspec", "validate", "job.yaml", cwd=tmp_path).startswith("1 document: 1 valid (")
    assert _run(programs / "jobspec", "schema", "check", cwd=tmp_path) == ""
    assert "new/jobspec.yaml\n" in _run(programs / "jobspec", "init", "new", cwd=tmp_path)
    overlays = ["cpu", "istio-off", "pvc-output", "--set", "pvc-output.create=true"]
    arguments = ["render", "job.yaml", *" --overlay ".join(["", *overlays[:3]]).split(), *overlays[3:]]
    written = _run(programs / "python", "-m", "jobspec", *arguments, "--to", "out", cwd=tmp_path)
    assert written == "out/persistentvolumeclaim-data.yaml\nout/pytorchjob-train.yaml\n"
    assert _run(programs / "python", "-m", "jobspec", *arguments, cwd=tmp_path) == _run(
        sys.executable, "-m", "jobspec", *arguments, cwd=tmp_path
    )
    lacking = _ended(programs / "jobspec", "dry-run", "job.yaml", cwd=tmp_path)
    assert (lacking.returncode, lacking.stdout) == (2, "")
    assert re.fullmatch(r"jobspec: dry-run needs the package `\w+`: pip install kubernetes urllib3\n", lacking.stderr)
