"""The seed of random tests: always the same, or `JOBSPEC_TEST_SEED`.

`python -m tests.hunt` looks with new seeds.
"""

import os

NAME = "JOBSPEC_TEST_SEED"
SETTLED = 20261122


def seed() -> int:
    """The seed of this run."""
    return int(os.environ.get(NAME) or SETTLED)
