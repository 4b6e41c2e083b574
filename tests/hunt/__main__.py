"""Look for disagreements with seeds that nobody used yet: `python -m tests.hunt [NAME...] [--minutes N] [--seed N] [--to FOLDER]`.

Each find is printed and kept as a file; those in `tests/cases/found` are read back by the tests. The end is what each hunt has counted,
such as the jobs that each policy has judged. Hunts that ask a server find it as tests do, through `JOBSPEC_TEST_KUBECONFIG`,
`JOBSPEC_TEST_OPERATORS_KUBECONFIG`, `JOBSPEC_TEST_NEWEST_OPERATORS_KUBECONFIG`, `JOBSPEC_TEST_JOBS_KUBECONFIG`,
`JOBSPEC_TEST_KUEUE_KUBECONFIG` and `JOBSPEC_TEST_FLUX_KUBECONFIG`.
"""

import argparse
import sys
import tempfile
import time
import traceback
from collections import Counter
from dataclasses import replace
from pathlib import Path
from random import Random, SystemRandom

import pytest

from jobspec.apis.releases import choose
from tests.hunt.finds import FOLDER, write
from tests.hunt.hunts import HUNTS, Ground, Hunt
from tests.support.server import target


def main(arguments: list[str]) -> int:
    """Hunt, and end with 1 where something was found."""
    options = _options(arguments)
    until = time.monotonic() + options.minutes * 60
    seed = options.seed if options.seed is not None else SystemRandom().randrange(1 << 32)
    tallies: dict[str, Counter[str]] = {}
    found = 0
    with tempfile.TemporaryDirectory() as place:
        ground = Ground(Path(place), Counter())
        hunts = [hunt for hunt in HUNTS if hunt.name in (options.names or [each.name for each in HUNTS]) and _is_possible(hunt, ground)]
        while hunts:
            for hunt in hunts:
                ground.tally = tallies.setdefault(hunt.name, Counter())
                found += _round(hunt, ground, seed, options.to)
                if time.monotonic() > until:
                    sys.stdout.write(
                        "".join(f"{name}: {what}: {number:,}\n" for name in tallies for what, number in sorted(tallies[name].items()))
                    )
                    return 1 if found else 0
            seed += 1
    return 2


def _options(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.hunt")
    names = [hunt.name for hunt in HUNTS]
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"which hunts; all where left out: {', '.join(names)}")
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--seed", type=int, help="the seed of the first round; each later round takes the next number")
    parser.add_argument("--to", type=Path, default=FOLDER, metavar="FOLDER", help="where finds are kept")
    options = parser.parse_args(arguments)
    if unknown := set(options.names) - set(names):
        parser.error(f"no hunt {', '.join(sorted(unknown))}")
    return options


def _is_possible(hunt: Hunt, ground: Ground) -> bool:
    try:
        hunt.prepare(ground)
    except pytest.skip.Exception as why:
        sys.stdout.write(f"{hunt.name} is left out: {why}\n")
        return False
    return True


def _round(hunt: Hunt, ground: Ground, seed: int, folder: Path) -> int:
    """Hunt once with a seed. Return how much was found."""
    start, found = time.monotonic(), 0
    try:
        for each in hunt.finds(ground, Random(seed)):
            find = replace(each, hunt=hunt.name, seed=seed, target=each.target or _releases(each.server))
            sys.stdout.write(f"\n{write(find, folder)}\n{find}")
            found += 1
    except Exception:  # a bug, too, of ours or of the hunt: the seed leads to it
        sys.stdout.write(f"\n{traceback.format_exc()}")
        found += 1
    sys.stdout.write(f"{hunt.name}, seed {seed}: {found} found in {time.monotonic() - start:.0f} s\n")
    sys.stdout.flush()
    return found


def _releases(server: str) -> str:
    """The release of Kubernetes of a server with CRDs alone, where that is not the newest that we know."""
    found = target()["kubernetes"] if server == "control-plane" else choose([])["kubernetes"]
    return "" if found == choose([])["kubernetes"] else f"kubernetes={found}"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
