"""The seed of what a test makes at random: a new one in each run, or `JOBSPEC_TEST_SEED` again."""

import os
import sys
from random import SystemRandom


def seed() -> int:
    """The seed, which is printed, so that a failure tells it."""
    number = int(os.environ.get("JOBSPEC_TEST_SEED") or SystemRandom().randrange(2**32))
    sys.stdout.write(f"JOBSPEC_TEST_SEED={number}\n")
    return number
