"""Write what command lines are compared on: public manifests, the tests' cases, and manifests and projects at random."""

import os
import re
import shutil
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from random import Random
from typing import Any
from unittest import mock

import hypothesis
import pytest

from jobspec.apis import kinds
from jobspec.apis.releases import choose
from jobspec.schemas import shapes
from tests.agreement import corpus
from tests.hunt import manifests, ordinary, workloads
from tests.hunt.finds import kept, load
from tests.overlays.test_overlays import sections, write_files
from tests.project.test_projects import FILES
from tests.support import builtin_growth, crd_growth, migration_growth, pod_mutants, policy_growth, quick_yaml
from tests.support.cases import states
from tests.support.job_growth import grown_job
from tests.support.manifests import JOB, PROJECT_HEAD, write
from tests.support.processes import run_here
from tests.support.projects import RandomProject, projects
from tests.support.reference import ROOT
from tests.support.repositories import committed
from tests.support.rewriting import broken

CASES = ROOT / "tests" / "cases"
_DATE = "2026-01-31T12:00:00Z"
_GIT = {"GIT_AUTHOR_DATE": _DATE, "GIT_COMMITTER_DATE": _DATE}
_TARGET = choose([])
_PRICES = """\
apiVersion: jobspec.dev/v1alpha1
kind: Prices
spec:
  currency: EUR
  resources: {nvidia.com/gpu: 2.5, cpu: 0.03, memory: 0.004}
"""
_CONTRACT = '{"properties": {"--epochs": {"type": "integer"}, "--lr": {"type": "number"}}}'
#: A project that says what its checks are given, in a repository with kinds and contracts of its own.
_SETTINGS = {
    "jobspec.yaml": f"""\
{PROJECT_HEAD}  variants: [{{name: a, base: job.yaml}}]
  checks: {{ignore: [image-without-digest], failOn: warning, contracts: {{example.com/train: contract.json}}}}
""",
    "job.yaml": JOB.replace("train:v1\n", 'train:v1 # jobspec: ignore a digest\n            args: [--epochs, few, --lr, "1"]\n'),
    "contract.json": _CONTRACT,
    "thing.json": '{"properties": {"spec": {"additionalProperties": false, "properties": {"size": {"type": "integer"}}}}}',
    "things.yaml": "".join(
        f"---\napiVersion: example.com/v1\nkind: Thing\nmetadata: {{name: a}}\nspec: {{{spec}}}\n"
        for spec in ("size: 1", "size: a", "none: 1")
    ),
}


def make(folder: Path, seed: int) -> None:
    """Fill a folder; what is made at random follows from the seed."""
    folder.mkdir(parents=True, exist_ok=True)
    _copy(folder)
    _split_cases(folder)
    for name, texts in _at_random(seed).items():
        _write_all(folder / "random" / name, texts)
    with mock.patch.dict(os.environ, _GIT):
        _write_projects(folder, seed)
    write(folder, {"prices.yaml": _PRICES, **{f"settings/{name}": text for name, text in _SETTINGS.items()}})
    run_here("lint", "cases/lint", "--write-baseline", "baseline.json", cwd=folder)


def _copy(folder: Path) -> None:
    """Cases and public files, as they are; pages of the web as Markdown, which `--markdown` reads."""
    shutil.copytree(CASES, folder / "cases")
    place = os.environ.get("JOBSPEC_REFERENCE")
    if place:
        shutil.copytree(Path(place) / "corpus", folder / "corpus")
        shutil.copytree(Path(place) / "crds", folder / "crds")
        write(folder, {f"pages/{path.stem}.md": path.read_bytes() for path in sorted(Path(place).glob("seeds/*.txt"))})
    write(folder, {f"pages/{path.name}": path.read_bytes() for path in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]})


def _split_cases(folder: Path) -> None:
    """Cases that stand in one file, each part as the file that a command reads."""
    for path in sorted(CASES.glob("overlays/*.txt")):
        for number, text in enumerate(re.split(r"^=== case: ", path.read_text(), flags=re.M)[1:]):
            place = folder / "overlays" / f"{path.stem}-{number}"
            place.mkdir(parents=True)
            parts = sections(text.partition("\n")[2])
            write_files(parts, place)
            write(place, {name: parts[name] for name in ("set", "target") if name in parts})
    for path in sorted((CASES / "lint").glob("*.yaml")):  # the same with comments that ignore
        write(folder / "ignored", {path.name: re.sub(r"# ~ ([a-z-]+).*", r"# jobspec: ignore[\1] as in a case", path.read_text())})
    write(
        folder / "pages",
        {f"{path.stem}.md": f"# A page\n\n```yaml\n{path.read_text()}```\n" for path in sorted((CASES / "fixes").glob("*.yaml"))},
    )
    for path in sorted((CASES / "updates").glob("*.yaml")):
        before, after = states(path.read_text())
        write(folder / "updates" / path.stem, {"before.yaml": before, "after.yaml": after})
    for path in kept():
        find = load(path)
        texts = {"stored.yaml": find.stored, "crd.yaml": find.crd, "manifest.yaml": find.manifest}
        write(folder / "found" / path.stem, {name: text for name, text in texts.items() if text})


def _at_random(seed: int) -> dict[str, Iterable[str]]:
    """Texts of manifests by the folder that they go into, each folder with a sequence of its own."""
    return {
        "mutants": _mutants(Random(f"{seed} mutants")),
        "jobs": _times(80, ordinary.mutant, Random(f"{seed} jobs")),
        "pytorchjobs": _times(60, migration_growth.pytorchjobs_text, Random(f"{seed} pytorchjobs")),
        "trainjobs": _times(60, migration_growth.trainjobs_text, Random(f"{seed} trainjobs")),
        "policies": _times(30, _with_policies, Random(f"{seed} policies")),
        "pods": _times(60, _pod, Random(f"{seed} pods")),
        "workloads": _times(60, lambda random: _text(workloads.changed(random)), Random(f"{seed} workloads")),
        "builtin": _of_built_in_kinds(Random(f"{seed} builtin")),
        "definitions": _times(40, lambda random: _text(crd_growth.definition(random)), Random(f"{seed} definitions")),
        "broken": _times(40, _broken, Random(f"{seed} broken")),
    }


def _times(count: int, make: Any, random: Random) -> Iterator[str]:
    return (make(random) for _ in range(count))


def _text(*documents: Any) -> str:
    return quick_yaml.dump_all(documents, sort_keys=False, allow_unicode=True)


def _mutants(random: Random) -> Iterator[str]:
    bases = corpus.our_own()
    with suppress(pytest.skip.Exception):  # there is no reference data
        bases = [*corpus.of_projects(), *bases]
    for change in manifests.CHANGES:
        yield from (each.text for each in corpus.mutants(bases, change, 80, target=_TARGET, random=random, endless=corpus.VERSIONS))


def _with_policies(random: Random) -> str:
    """A PyTorchJob in a namespace with policies."""
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "team", "labels": policy_growth.labels(random)}}
    objects = [policy_growth.limit_range("sizes", random), policy_growth.quota("all", random), grown_job("job", random)]
    for each in objects:
        each["metadata"]["namespace"] = "team"
    pod = policy_growth.pod(random, plain=0.5)["spec"]
    pod["containers"][0]["name"] = "pytorch"
    objects[-1]["spec"]["pytorchReplicaSpecs"]["Master"] = {"replicas": 1, "template": {"spec": pod}}
    return _text(namespace, *objects)


def _pod(random: Random) -> str:
    shape = shapes.load("v1", "Pod", _TARGET)
    assert shape
    return _text(pod_mutants.changed(random.choice((pod_mutants.SMALL, pod_mutants.LARGER)), shape, random, times=random.choice((1, 2, 4))))


def _of_built_in_kinds(random: Random) -> Iterator[str]:
    for kind in kinds.built_in():
        for version in kind.api_versions:
            if shape := shapes.load(version, kind.name, _TARGET):
                yield _text(builtin_growth.of_kind(shape, version, kind.name, random))


def _broken(random: Random) -> str:
    return broken(random.choice(sorted((CASES / "guides").glob("*.yaml"))).read_text(), random)


def _write_all(folder: Path, texts: Iterable[str]) -> None:
    write(folder, {f"{number:03}.{'json' if text.startswith('{') else 'yaml'}": text for number, text in enumerate(texts)})


def _write_projects(folder: Path, seed: int) -> None:
    """Repositories with projects: of the cases, of `init`, and at random; those that render have a second state, not yet committed."""
    for path in sorted((CASES / "projects").glob("*.yaml")):
        committed(_new(folder / "wrong-projects" / path.stem), {**FILES, "jobspec.yaml": path.read_bytes()})
    for path in sorted((CASES / "rendered").glob("*.yaml")):
        project = f"{PROJECT_HEAD}  variants: [{{name: a, base: base.yaml}}, {{name: b, base: base.yaml}}]\n"
        committed(_new(folder / "projects" / path.stem), {"base.yaml": path.read_bytes(), "jobspec.yaml": project})
    for path in sorted((CASES / "diff").glob("*.yaml")):
        before, after = (dict(_files_of(state)) for state in path.read_text().split("#### becomes\n"))
        _repository(folder / "projects" / f"diff-{path.stem}", before, after)
    for number, (kind, engine) in enumerate([("PyTorchJob", "argocd"), ("TrainJob", "flux")]):
        place = _new(folder / "projects" / f"init-{number}")
        run_here("init", "--kind", kind, "--engine", engine, cwd=place)
        base = (place / "base" / "mnist.yaml").read_text()
        _repository(place, {}, {"base/mnist.yaml": base.replace("--epochs", "--rounds").replace("memory: ", "memory: 1")})
    for number, project in enumerate(_drawn(seed)):
        after = {path: text.replace("train:v1", "train:v3") for path, text in project.shuffled(Random(seed)).files.items()}
        _repository(folder / "projects" / f"random-{number}", project.files, after)
    write(folder / "to-import", {"mnist.yaml": JOB})


def _new(folder: Path) -> Path:
    folder.mkdir(parents=True)
    return folder


def _files_of(state: str) -> Iterator[tuple[str, str]]:
    """The files of a state in a case of `diff`, but those that are gone."""
    parts = re.split(r"^==== (\S+)( gone)?\n", state, flags=re.MULTILINE)[1:]
    return ((path, text) for path, gone, text in zip(parts[::3], parts[1::3], parts[2::3], strict=True) if not gone)


def _repository(folder: Path, before: dict[str, str], after: dict[str, str]) -> None:
    """A repository whose tree is rendered and committed, and beside it the same with some files in a second state."""
    folder.mkdir(parents=True, exist_ok=True)
    write(folder, before)
    run_here("render", cwd=folder)
    committed(folder, {})
    changed = folder.with_name(f"{folder.name}-changed")
    shutil.copytree(folder, changed)
    write(changed, after)


def _drawn(seed: int) -> list[RandomProject]:
    """Some of the larger ones of random projects; neighbours in size are often alike."""
    found: list[RandomProject] = []

    @hypothesis.seed(seed)
    @hypothesis.settings(
        max_examples=60,
        database=None,
        deadline=None,
        phases=[hypothesis.Phase.generate],
        suppress_health_check=list(hypothesis.HealthCheck),
    )
    @hypothesis.given(projects())
    def draw(project: RandomProject) -> None:
        found.append(project)

    draw()
    return sorted(found, key=lambda each: sum(map(len, each.files.values())))[-30::5]
