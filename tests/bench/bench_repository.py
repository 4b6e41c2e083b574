"""How long `jobspec lint .` of a repository of kustomizations takes again, beside the program of another commit.

    python -m tests.bench.bench_repository FOLDER --today PATH [--runs N]

FOLDER is a copy of a Git repository: its files are changed. PATH is `jobspec` of the other commit, which lints again what has not changed.
Measured are this program's first time, with an empty cache, a run on unchanged files, one after a change of a manifest with pods, and one
after a change of a manifest of the base that most kustomizations name; with builds and with `--no-build`.
"""

import argparse
import os
import re
import subprocess
import tempfile
from collections import Counter
from collections.abc import Callable
from itertools import count
from pathlib import Path

import yaml

from tests.bench.bench import Commands, compare, installed

_HAS_PODS = re.compile(r"^kind: (Job|CronJob|Deployment|PyTorchJob|TrainJob)$", re.MULTILINE)
_NAME = "kustomization.yaml"


def base_of_many(repository: Path) -> Path:
    """A manifest of the base that most kustomizations of a repository name."""
    named: Counter[Path] = Counter()
    for path in repository.rglob(_NAME):
        listed = (yaml.safe_load(path.read_text()) or {}).get("resources") or []
        named.update(folder for each in listed if (folder := (path.parent / str(each)).resolve()).is_dir())
    manifests = (sorted(each for each in folder.glob("*.yaml") if each.name != _NAME) for folder, _ in named.most_common())
    return next(several[0] for several in manifests if several)


def compare_runs(repository: Path, today: str, jobspec: str, folder: Path, runs: int) -> None:
    """Lint a repository by both programs."""
    os.chdir(repository)
    job = next(path for path in sorted(repository.rglob("*.yaml")) if _HAS_PODS.search(path.read_text()))
    base, numbers = base_of_many(repository), count()

    def without_cache() -> None:
        os.environ["JOBSPEC_CACHE"] = str(folder / f"cache-{next(numbers)}")

    def changed(path: Path) -> Callable[[], None]:
        def change() -> None:
            with path.open("a") as file:
                file.write(f"# changed {next(numbers)}\n")

        return change

    os.environ["XDG_CACHE_HOME"] = str(folder / "today")
    for options in ((), ("--no-build",)):
        ours, theirs = ([each, "lint", *options, "."] for each in (jobspec, today))
        without_cache()
        code = subprocess.run(ours, capture_output=True, check=False).returncode
        commands: Commands = {"today, again": (theirs, code), "first time": (ours, code), "again": (ours, code)}
        commands |= {"one job changed": (ours, code), "one base changed": (ours, code)}
        title = f"lint {' '.join(options)} of {repository.name}; changed: {job.relative_to(repository)}, {base.relative_to(repository)}"
        compare(
            title, commands, runs, first={"first time": without_cache, "one job changed": changed(job), "one base changed": changed(base)}
        )


def main() -> None:
    """Measure, with this checkout installed as users have it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("repository", type=Path)
    parser.add_argument("--today", required=True)
    parser.add_argument("--runs", type=int, default=3)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        programs = installed(Path(name) / "venv")
        compare_runs(options.repository.resolve(), options.today, str(programs / "jobspec"), Path(name), options.runs)


if __name__ == "__main__":
    main()
