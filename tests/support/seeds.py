"""The seed of what tests make at random: always the same, so that no luck decides what passes, or `JOBSPEC_TEST_SEED`.

`python -m tests.hunt` looks with new seeds.
"""

import os

NAME = "JOBSPEC_TEST_SEED"
SETTLED = 20261122


def seed() -> int:
    """The seed of this run."""
    return int(os.environ.get(NAME) or SETTLED)
