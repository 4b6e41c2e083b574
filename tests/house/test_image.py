"""The image of the command line: its recipe, and, with `-m image`, the image itself, built and run (see CONTRIBUTING.md)."""

import os
import re
import subprocess
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from jobspec import __version__
from tests.support.manifests import JOB, write
from tests.support.reference import ROOT
from tests.trainer import containers

RECIPE = (ROOT / "Dockerfile").read_text()


def test_the_base_is_pinned_and_the_one_of_the_trainer() -> None:
    bases = [
        re.findall(r"^ARG BASE=(\S+@sha256:[0-9a-f]{64})$", text, re.MULTILINE)
        for text in (RECIPE, (ROOT / "trainer/Dockerfile").read_text())
    ]
    assert bases[0] == bases[1] != []


def test_what_is_copied_is_there_and_not_ignored() -> None:
    copied = [path for words in re.findall(r"^COPY (?!--from)(.*) \S+$", RECIPE, re.MULTILINE) for path in words.split()]
    copied += re.findall(r"^COPY (trainer)/", (ROOT / "trainer/Dockerfile").read_text(), re.MULTILINE)
    let_through = re.findall(r"^!(.*)$", (ROOT / ".dockerignore").read_text(), re.MULTILINE)
    assert {*copied} == {*let_through}
    assert all((ROOT / path).exists() for path in copied)


@pytest.fixture(scope="module")
def built() -> Iterator[containers.Image]:
    """The image, on the base that the environment names."""
    program = containers.program()
    if not program:
        pytest.skip(f"none of {', '.join(containers.PROGRAMS)} works here")
    name = f"jobspec-test-{uuid.uuid4().hex}"
    base = os.environ.get("JOBSPEC_TEST_IMAGE_BASE")
    words = [program, "build", "--tag", name, *(["--build-arg", f"BASE={base}"] if base else []), "."]
    done = subprocess.run(words, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    assert done.returncode == 0, done.stdout
    made = containers.Image(program, name)
    yield made
    made.remove()


@pytest.mark.image
@pytest.mark.slow
def test_the_image_runs_the_command_line_without_root(built: containers.Image, tmp_path: Path) -> None:
    config = built.config()
    assert (config["User"], config["WorkingDir"], config["Entrypoint"]) == ("1000", "/work", ["jobspec"])
    write(tmp_path, {"job.yaml": JOB})
    tmp_path.chmod(0o755)  # for another user
    assert built.run(["jobspec", "--version"], tmp_path) == f"jobspec {__version__}\n"
    assert built.run(["jobspec", "validate", "/data/job.yaml"], tmp_path).startswith("1 document: 1 valid")
    assert (
        built.run(["sh", "-c", "id --user && cd /tmp && git init --quiet && jobspec init . > list && jobspec render --check"], tmp_path)
        == "1000\n"
    )
