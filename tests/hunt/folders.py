"""Folders of manifests that refer to each other, some with mistakes: every command ends in a report, never in an error of our own.

A folder is kept as one text, in which a line `# file: NAME` begins each of its files.
"""

import re
import shutil
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from random import Random

import yaml

from jobspec.apis.releases import choose
from jobspec.schemas import shapes
from jobspec.schemas.shapes import Shape
from tests.hunt.finds import Find
from tests.support.mutants import Map, mutant, tree_of, write
from tests.support.processes import run_here
from tests.support.reference import ROOT, folder

#: The folders of cases whose files, or folders of files, stand for what people keep together.
_CASES = ("lint", "outcome", "guides", "migrate", "admission", "policies", "ordinary")
_RELEASES = ((), (), ("--target", "trainer=2.0", "--target", "training-operator=1.8"), ("--target", "trainer=2.1"))
_COMMANDS = (
    ("validate", "."),
    ("validate", ".", "--diff"),
    ("validate", ".", "--closed-world", "-o", "json"),
    ("validate", ".", "--overlay", "cpu"),
    ("lint", "."),
    ("lint", ".", "--diff"),
    ("expand", ".", "--skip-unknown", "-o", "yaml", "--defaults", "--origin"),
    ("expand", ".", "-o", "json", "--gang-scheduler", "volcano"),
    ("render", ".", "--overlay", "gpu-nccl"),
    ("migrate", ".", "--to", "TrainJob"),
    ("migrate", ".", "--to", "trainer=2.2", "--diff"),
)
_LONGEST = 6000  # characters of a document
_START = re.compile(r"^---.*\n", re.MULTILINE)
_FILE = re.compile(r"^# file: (.*)\n", re.MULTILINE)


def finds(random: Random, place: Path, *, count: int = 60) -> Iterator[Find]:
    """The folders on which a command ends in an error of our own."""
    for _ in range(count):
        text = _folder(random)
        if said := difference(text, place):
            yield Find(text, said, "a report")


def difference(text: str, around: Path) -> str:
    """The commands that end in an error of our own, each with its last words; empty where all end in a report."""
    place = around / "folder"
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir()
    names_and_texts = _FILE.split(text)[1:]
    for name, content in zip(names_and_texts[::2], names_and_texts[1::2], strict=True):
        (place / name).write_bytes(content.encode())
    said = []
    for number, command in enumerate(_COMMANDS):
        releases = _RELEASES[(number + len(text)) % len(_RELEASES)] if command[0] != "migrate" else ()
        done = run_here(*command, *releases, cwd=place)
        if done.returncode not in (0, 1, 2) or "Traceback" in done.stderr:
            said.append(f"{' '.join((*command, *releases))}: exit code {done.returncode}: {done.stderr[-600:].replace(f'{ROOT}/', '')}")
    return "\n".join(said)


def _folder(random: Random) -> str:
    """Some documents of one case or repository, and a few of others, in several files; some of them with a mistake."""
    groups = _documents_by_origin()
    chosen = list(random.choice(groups))
    random.shuffle(chosen)
    chosen = chosen[: random.choice((2, 3, 4, 6, 8))]
    chosen += [random.choice(random.choice(groups)) for _ in range(random.choice((0, 1, 2)))]
    share = random.choice((0.1, 0.3, 0.6))
    texts = [_changed(each, random) if random.random() < share else each for each in chosen]
    files: list[list[str]] = [[] for _ in range(random.choice((2, 3, 4)))]
    for each in texts:
        random.choice(files).append(each.rstrip("\n") + "\n")
    return "".join(f"# file: {number}.yaml\n" + "---\n".join(each) for number, each in enumerate(files) if each)


def _changed(text: str, random: Random) -> str:
    """A document with a mistake in what it is, such as its version, or anywhere else."""
    try:
        tree = tree_of(text)
        if isinstance(tree, Map) and random.random() < 0.3:
            return write(_renamed(tree, random))
        return mutant(text, _shape_of(tree), random) if isinstance(tree, Map) and tree else text
    except (yaml.YAMLError, IndexError):  # what is broken already
        return text


def _renamed(tree: Map, random: Random) -> Map:
    """A document of another version, kind, namespace or name: some are those of documents beside it, or odd."""
    field, values = random.choice(
        (
            ("apiVersion", ("v1", "v2", "kubeflow.org/v1", "kubeflow.org/v2", "trainer.kubeflow.org/v1beta1", "batch/v1", "a/b/c")),
            ("kind", ("PyTorchJob", "TrainJob", "TrainingRuntime", "ClusterTrainingRuntime", "Namespace", "LocalQueue", "List", "Kind")),
            ("namespace", ("team", "default", "''", "~", "other")),
            ("name", ("train", "job", "torch-distributed", "team", "~", "1")),
        )
    )
    at = next((each for key, each in tree if key == "metadata" and isinstance(each, Map)), Map()) if field[0] == "n" else tree
    at[:] = [each for each in at if each[0] != field] + [[field, random.choice(values)]]
    return tree


def _shape_of(tree: Map) -> Shape:
    """The shape of a document's kind; that of a PyTorchJob where jobspec has none."""
    said = {key: value for key, value in tree if isinstance(value, str)}
    known = shapes.load(said.get("apiVersion", "").strip("\"'"), said.get("kind", "").strip("\"'"), choose([]))
    shape = known or shapes.load("kubeflow.org/v1", "PyTorchJob", choose([]))
    assert shape
    return shape


@cache
def _documents_by_origin() -> list[list[str]]:
    """The documents of each case, and of each public repository."""
    cases = [path for name in _CASES for path in (ROOT / "tests" / "cases" / name).iterdir() if path.is_dir() or path.suffix == ".yaml"]
    repositories = [path for name in ("manifests", "companions") for path in folder("corpus", name).iterdir() if path.is_dir()]
    found = [_documents(sorted(each.rglob("*.yaml")) if each.is_dir() else [each]) for each in sorted([*cases, *repositories])]
    return [each for each in found if each]


def _documents(files: list[Path]) -> list[str]:
    texts = [text for path in files for text in _START.split(path.read_text())]
    return [each for each in texts if "kind:" in each and len(each) < _LONGEST]
