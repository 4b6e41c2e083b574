"""How long `jobspec lint .` of a repository of kustomizations takes again, beside the program of another commit.

    python -m tests.bench.bench_repository FOLDER --today PATH [--runs N] [--catalog SCHEMAS]

FOLDER is a copy of a Git repository: its files are changed. PATH is `jobspec` of the other commit, which lints again what has not changed.
Measured are this program's first time, with an empty cache, a run on unchanged files, one after a change of a manifest with pods, and one
after a change of a manifest of the base that most kustomizations name; with builds and with `--no-build`. Then what kustomize builds of all
folders is judged by this program, kubeconform and flux-schema, as far as they are installed. With the folder `catalog/latest` of a
checkout of flux-schema, both judge all kinds that it has schemas for. Without it, kubeconform judges jobs alone, and flux-schema fetches
each schema.
"""

import argparse
import os
import re
import shutil
import subprocess
import tempfile
from collections import Counter
from collections.abc import Callable, Mapping
from itertools import count
from pathlib import Path

import yaml

from tests.bench.bench import Commands, compare, installed, schemas

_HAS_PODS = re.compile(r"^kind: (Job|CronJob|Deployment|PyTorchJob|TrainJob)$", re.MULTILINE)
_IMAGE = re.compile(r"^( *(?:- )?image: ).*$", re.MULTILINE)
_NAME = "kustomization.yaml"


def base_of_many(repository: Path) -> Path:
    """A manifest of the base that most kustomizations of a repository name."""
    named: Counter[Path] = Counter()
    for path in repository.rglob(_NAME):
        try:
            data = yaml.safe_load(path.read_text())
        except yaml.YAMLError:  # a template
            continue
        listed = data.get("resources") if isinstance(data, dict) else ()
        named.update(folder for each in listed or () if (folder := (path.parent / str(each)).resolve()).is_dir())
    manifests = (sorted(each for each in folder.glob("*.yaml") if each.name != _NAME) for folder, _ in named.most_common())
    return next(several[0] for several in manifests if several)


def rendered(repository: Path, kustomize: str, folder: Path) -> Path:
    """Write what kustomize builds of each folder of a repository that it can build."""
    folder.mkdir()
    for number, path in enumerate(sorted(repository.rglob(_NAME))):
        done = subprocess.run([kustomize, "build", path.parent], capture_output=True, check=False, timeout=60)
        if done.returncode == 0:
            (folder / f"{number}.yaml").write_bytes(done.stdout)
    return folder


def compare_runs(repository: Path, today: str, jobspec: str, folder: Path, runs: int) -> None:
    """Lint a repository by both programs."""
    os.chdir(repository)
    job = next(path for path in sorted(repository.rglob("*.yaml")) if _HAS_PODS.search(path.read_text()))
    base, numbers = base_of_many(repository), count()

    def without_cache() -> None:
        os.environ["JOBSPEC_CACHE"] = str(folder / f"cache-{next(numbers)}")

    def changed(path: Path) -> Callable[[], None]:
        def change() -> None:
            text, number = path.read_text(), next(numbers)
            said = _IMAGE.sub(rf"\1registry.example/changed:{number}", text, count=1)
            path.write_text(said if said != text else f"{text}# changed {number}\n")

        return change

    os.environ["XDG_CACHE_HOME"] = str(folder / "today")
    for options in ((), ("--no-build",)):
        ours, theirs = ([each, "lint", *options, "."] for each in (jobspec, today))
        subprocess.run(theirs, capture_output=True, check=False)  # builds, which it keeps
        without_cache()
        code = subprocess.run(ours, capture_output=True, check=False).returncode
        commands: Commands = {"today, again": (theirs, code), "first time": (ours, code), "again": (ours, code)}
        commands |= {"one job changed": (ours, code), "one base changed": (ours, code)}
        title = f"lint {' '.join(options)} of {repository.name}; changed: {job.relative_to(repository)}, {base.relative_to(repository)}"
        compare(
            title, commands, runs, first={"first time": without_cache, "one job changed": changed(job), "one base changed": changed(base)}
        )


def compare_peers(repository: Path, jobspec: str, programs: Mapping[str, list[str]], kustomize: str, folder: Path, runs: int) -> None:
    """Judge what kustomize builds of a repository by this program and its peers."""
    output = rendered(repository, kustomize, folder / "rendered")
    commands = {name: [*words, str(output)] for name, words in programs.items()}
    commands["jobspec lint"] = [jobspec, "lint", "--no-cache", "--skip-unknown", str(output)]
    codes = {name: subprocess.run(words, capture_output=True, check=False).returncode for name, words in commands.items()}
    compare(f"what kustomize builds of {repository.name}", {name: (words, codes[name]) for name, words in commands.items()}, runs)


def main() -> None:
    """Measure, with this checkout installed as users have it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("repository", type=Path)
    parser.add_argument("--today", required=True)
    parser.add_argument("--runs", type=int, default=3)
    for name in ("kustomize", "kubeconform", "flux-schema"):
        parser.add_argument(f"--{name}", default=shutil.which(name), help="the program, found on PATH by default")
    parser.add_argument("--catalog", type=Path, help="the JSON Schemas of flux-schema")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        programs = installed(Path(name) / "venv")
        compare_runs(options.repository.resolve(), options.today, str(programs / "jobspec"), Path(name), options.runs)
        peers = {}
        catalog = options.catalog and options.catalog.resolve()
        if options.kubeconform:
            name_of_schema = "{{.ResourceKind}}_{{.ResourceAPIVersion}}.json"
            places = [f"{catalog}/{group}/{name_of_schema}" for group in ("{{.Group}}", "core")] if catalog else []
            given = [word for each in (schemas(None, Path(name) / "schemas"), *places) for word in ("-schema-location", each)]
            peers["kubeconform"] = [options.kubeconform, "-ignore-missing-schemas", *given]
        if options.flux_schema:
            given = ["--schema-location", str(catalog)] if catalog else []
            peers["flux-schema"] = [options.flux_schema, "validate", "--skip-missing-schemas", *given]
        if options.kustomize and peers:
            compare_peers(options.repository.resolve(), str(programs / "jobspec"), peers, options.kustomize, Path(name), options.runs)


if __name__ == "__main__":
    main()
