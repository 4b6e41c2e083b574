"""What clients of servers leave behind ends with the module that started them."""

import gc
import warnings
from collections.abc import Iterator

import pytest


@pytest.fixture(scope="module", autouse=True)
def _collected() -> Iterator[None]:
    """Collect what the clients of the SDKs leave: pipes of ended servers, which would be a warning in any later test."""
    yield
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        gc.collect()
