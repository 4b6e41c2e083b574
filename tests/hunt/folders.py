"""Folders of manifests that refer to each other, some with mistakes: every command ends in a report, and none contradicts another.

What several processes say is what one says. A folder is kept as one text, in which a line `# file: NAME` begins each of its files; those
in `.before` are the objects that the others are updates of.
"""

import re
import shutil
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from random import Random
from typing import Any
from unittest.mock import patch

import yaml

from jobspec.apis.releases import choose
from jobspec.schemas import shapes
from jobspec.schemas.shapes import Shape
from jobspec.session import processes
from tests.hunt.finds import Find, bug
from tests.hunt.queues import World
from tests.support import quick_yaml
from tests.support.agreement import assert_commands_agree
from tests.support.mutants import Map, mutant, tree_of, write
from tests.support.processes import run_here
from tests.support.reference import ROOT, folder

#: The folders of cases whose files, or folders of files, stand for what people keep together.
_CASES = ("lint", "outcome", "guides", "migrate", "admission", "policies", "ordinary", "queues", "kueue", "engines", "diff", "crds")
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
    ("queue", "."),
    ("queue", ".", "-o", "markdown"),
    ("report", ".", "--skip-unknown", "-o", "../page.html"),
    ("validate", ".", "--from", ".before"),
    ("lint", ".", "--from", ".before", "--apply", "client"),
    ("upgrade", ".", "--to", "trainer=2.3"),
)
_BEFORE = ".before/"
_LONGEST = 6000  # characters of a document
_START = re.compile(r"^---.*\n", re.MULTILINE)
_FILE = re.compile(r"^# file: (.*)\n", re.MULTILINE)


def finds(random: Random, place: Path, *, count: int = 30) -> Iterator[Find]:
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
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        (place / name).write_bytes(content.encode())
    (place / ".before").mkdir(exist_ok=True)
    said = []
    for number, command in enumerate(_COMMANDS):
        releases = _RELEASES[(number + len(text)) % len(_RELEASES)] if command[0] != "migrate" else ()
        done = run_here(*command, *releases, cwd=place)
        if done.returncode not in (0, 1, 2) or "Traceback" in done.stderr:
            said.append(f"{' '.join((*command, *releases))}: exit code {done.returncode}: {done.stderr[-600:].replace(f'{ROOT}/', '')}")
    return "\n".join([*said, *(() if said else _contradictions(place))])


def _contradictions(place: Path) -> Iterator[str]:
    """Yield in what commands contradict each other, or several processes contradict one."""
    try:
        assert_commands_agree(place)
    except AssertionError:
        yield f"commands contradict each other: {bug()}"
    alone = run_here("lint", ".", "-o", "json", cwd=place).stdout
    with patch.object(processes, "_WORTH_SPREADING", 0):
        spread = run_here("lint", ".", "-o", "json", cwd=place).stdout
    if spread != alone:
        lines = set(alone.splitlines()) ^ set(spread.splitlines())
        yield f"several processes say other things than one: {sorted(lines)[:8]}"


def _folder(random: Random) -> str:
    """Some documents of one case or repository, and a few of others, in several files; some of them with a mistake."""
    groups = _documents_by_origin()
    chosen = list(random.choice(groups)) if random.random() < 0.8 else _generated(random)
    random.shuffle(chosen)
    chosen = chosen[: random.choice((2, 3, 4, 6, 8))]
    chosen += [random.choice(random.choice(groups)) for _ in range(random.choice((0, 1, 2)))]
    share = random.choice((0.1, 0.3, 0.6))
    names = random.choice(_LAYOUTS)
    files: dict[str, list[str]] = {}
    for each in chosen:
        changed = _changed(each, random) if random.random() < share else each
        name = random.choice(names)
        files.setdefault(name, []).append(changed.rstrip("\n") + "\n")
        if random.random() < 0.5:
            files.setdefault(f"{_BEFORE}{name}", []).append(each.rstrip("\n") + "\n")
    if "base/a.yaml" in names:
        overlays = _overlays(random)
        for side in ("", _BEFORE):
            listed = sorted(each.removeprefix(f"{side}base/") for each in files if each.startswith(f"{side}base/"))
            odd = ["absent.yaml"] if random.random() < 0.1 else []
            files |= {f"{side}{name}": [text] for name, text in {**_base([*listed, *odd]), **overlays}.items()}
    return "".join(f"# file: {name}\n" + "---\n".join(each) for name, each in files.items())


#: The names of files among which documents are spread.
_LAYOUTS = (
    ("0.yaml", "1.yaml"),
    ("0.yaml", "1.yaml", "2.yaml", "3.yaml"),
    ("dev/0.yaml", "dev/1.yaml", "prod/0.yaml", "queues/0.yaml"),
    ("base/a.yaml", "base/b.yaml", "base/c.yaml", "others/d.yaml"),
)


def _base(files: list[str]) -> dict[str, str]:
    return {"base/kustomization.yaml": "".join(("resources:\n", *(f"- {each}\n" for each in files))) if files else "resources: []\n"}


#: What an overlay may say, and what it says at most one of.
_CHANGES = (
    "namespace: {name}\n",
    "namePrefix: {name}-\n",
    "nameSuffix: -2\n",
    "labels: [{{pairs: {{team: nlp}}, includeTemplates: true}}]\n",
    "commonAnnotations: {{owner: nlp}}\n",
    "images: [{{name: train, newName: registry.example/train, newTag: '2'}}]\n",
)
_PATCHES = (
    "patches: [{{target: {{kind: Job}}, patch: '[{{op: add, path: /metadata/labels, value: {{kueue.x-k8s.io/queue-name: a}}}}]'}}]\n",
    "patches: [{{target: {{kind: Job}}, patch: '[{{op: remove, path: /spec/backoffLimit}}]'}}]\n",
)


def _overlays(random: Random) -> dict[str, str]:
    """Overlays that change a base."""
    found = {}
    for name in random.sample(("dev", "prod"), random.randint(1, 2)):
        chosen = random.sample(_CHANGES, random.randint(0, 3)) + random.sample(_PATCHES, random.randint(0, 1))
        found[f"overlays/{name}/kustomization.yaml"] = "".join(("resources: [../../base]\n", *(each.format(name=name) for each in chosen)))
    return found


def _generated(random: Random) -> list[str]:
    """Queues at random with all that belongs to them, and jobs in them."""
    world = World(random, f"q{random.getrandbits(32):08x}", is_running=random.random() < 0.5)
    jobs = [world.job() for _ in range(random.randint(1, 4))]
    configuration = [_configuration(random)] if random.random() < 0.4 else []
    objects = [*world.objects, *configuration, *(each for job, others in jobs for each in (job, *others))]
    return [quick_yaml.dump_all([each]) for each in objects]


def _configuration(random: Random) -> dict[str, Any]:
    """Kueue's configuration at random: which jobs and namespaces it manages, and what it leaves out of quotas."""
    frameworks = ["batch/job", "jobset.x-k8s.io/jobset", "kubeflow.org/pytorchjob", "trainer.kubeflow.org/trainjob", "pod"]
    selectors = ({"matchLabels": {"team": "a"}}, {"matchExpressions": [{"key": "team", "operator": "NotIn", "values": ["a"]}]}, {})
    said: dict[str, Any] = {
        "manageJobsWithoutQueueName": random.random() < 0.5,
        "managedJobsNamespaceSelector": random.choice(selectors),
        "integrations": {"frameworks": random.sample(frameworks, random.randint(1, len(frameworks)))},
        "resources": {"excludeResourcePrefixes": ["example.com"]},
        "waitForPodsReady": {"enable": True},
    }
    kept = {name: value for name, value in said.items() if random.random() < 0.5}
    return {"apiVersion": "config.kueue.x-k8s.io/v1beta2", "kind": "Configuration", **kept}


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
