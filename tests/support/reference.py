"""Upstream's CRDs, manifests and records, which tests compare with where `JOBSPEC_REFERENCE` names their folder."""

import os
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent


def folder(*parts: str) -> Path:
    """The path of a file or folder in the reference data; skips the test where there is none."""
    place = os.environ.get("JOBSPEC_REFERENCE")
    if not place:
        pytest.skip("JOBSPEC_REFERENCE names no reference data (see CONTRIBUTING.md)")
    path = Path(place).joinpath(*parts)
    if not path.exists():
        pytest.skip(f"the reference data has no {'/'.join(parts)}")
    return path
