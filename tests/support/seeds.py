"""The seed of what tests make at random: a new one in each run, which the run's head tells, or `JOBSPEC_TEST_SEED` again."""

import os
import sys
from random import SystemRandom

NAME = "JOBSPEC_TEST_SEED"
_IN_CI = 20261122


def choose() -> str:
    """Settle the seed for this process and all that it starts; gives it as `NAME=NUMBER`."""
    number = os.environ.setdefault(NAME, str(SystemRandom().randrange(2**32)))
    return f"{NAME}={number}"


def seed() -> int:
    """The seed, which is printed once more, so that a failure tells it."""
    told = choose()
    sys.stdout.write(f"{told}\n")
    return int(told.partition("=")[2])


def settled_seed() -> int:
    """The seed, but where `CI` is set always the same, as Hypothesis has it: what looks where nobody looked yet stops no change there."""
    return _IN_CI if os.environ.get("CI") else seed()
