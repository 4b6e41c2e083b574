"""Kill `jobspec lint` at random moments, and compare what the next run reports.

It has to be what a run without the cache reports.

    python -m tests.bench.kills [--times N] [--seed N]

A repository of jobs and kustomizations changes between the kills. The script prints each difference, and fails if there is any.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from random import Random

from jobspec.session.kept_runs import _WORTH_KEEPING
from tests.support.manifests import JOB
from tests.support.processes import command, environment, run_here
from tests.support.repositories import committed

_OVERLAY = "namespace: team-{}\nresources: [../jobs]\n"


def repository_in(folder: Path) -> Path:
    """Write a repository of as many jobs as are worth keeping.

    Some of them are in a base with overlays.
    """
    jobs = {f"jobs/{number}.yaml": JOB.replace("name: train", f"name: train-{number}") for number in range(_WORTH_KEEPING)}
    base = {"jobs/kustomization.yaml": f"resources: [{', '.join(f'{number}.yaml' for number in range(0, _WORTH_KEEPING, 8))}]\n"}
    overlays = {f"{name}/kustomization.yaml": _OVERLAY.format(name) for name in "ab"}
    return committed(folder, {**jobs, **base, **overlays})


def differences(repository: Path, random: Random, times: int) -> Iterator[str]:
    """Kill runs on a repository, and yield the reports of later runs that differ.

    They are compared with those of runs without the cache.
    """
    kept = Path(os.environ["JOBSPEC_CACHE"])
    started = time.monotonic()
    first = run_here("lint", ".", "--no-cache", cwd=repository).stdout
    usual = time.monotonic() - started
    for number in range(times):
        job = repository / "jobs" / f"{random.randrange(_WORTH_KEEPING)}.yaml"
        text = job.read_text()
        if number % 4 == 3:
            job.write_text(f"{text}# {number}\n" if "replicas" not in text else text.replace("replicas", "replicaz"))
            first = run_here("lint", ".", "--no-cache", cwd=repository).stdout
        entries = sorted(each for each in kept.rglob("*") if each.is_file())
        for each in random.sample(entries, len(entries) // 2):
            each.unlink()
        process = subprocess.Popen(
            command("lint", "."), cwd=repository, env=environment(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        moment = random.uniform(0.2, 1.3) * usual
        time.sleep(moment)
        is_whole = process.poll() is not None
        process.kill()
        process.wait()
        usual *= 0.9 if is_whole else 1.1  # on a machine whose load changes
        for _ in range(2):
            if (said := run_here("lint", ".", cwd=repository).stdout) != first:
                yield f"kill {number} after {moment:.2f} s: {sorted(set(said.splitlines()) ^ set(first.splitlines()))[:4]}"


def main() -> int:
    """Kill runs, and print what differs."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--times", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        os.environ["JOBSPEC_CACHE"] = os.path.join(name, "kept")
        found = []
        for each in differences(repository_in(Path(name, "repository")), Random(options.seed), options.times):
            print(each, flush=True)
            found.append(each)
    print(f"{options.times} kills, {len(found)} differences")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
