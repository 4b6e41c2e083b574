"""The seed of random tests: always the same, or `JOBSPEC_TEST_SEED`.

`python -m tests.hunt` looks with new seeds.
"""

import os

NAME = "JOBSPEC_TEST_SEED"
SETTLED = 20261122


def seed() -> int:
    """The seed of this run."""
    return int(os.environ.get(NAME) or SETTLED)


def examples(settled: int, fresh: int) -> int:
    """How many examples a law gets: with a seed of its own as many as reach what it counts, fewer with the seed that is always the same."""
    return fresh if seed() != SETTLED else settled
