"""Upstream's CRDs, manifests and records, which tests compare with where `JOBSPEC_REFERENCE` names their folder."""

import os
import shutil
import subprocess
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


def crd_of(plural: str, group: str, release: str) -> Path:
    """The file with upstream's CRD of a kind at a release; those of Kueue may be in Go's module cache, too. Skips where it is nowhere."""
    path = folder("crds") / f"{plural}.{group}@v{release}.yaml"
    if not path.exists() and group == "kueue.x-k8s.io" and (go := shutil.which("go")):
        cache = subprocess.run([go, "env", "GOMODCACHE"], capture_output=True, text=True, check=True).stdout.strip()
        path = Path(cache, f"sigs.k8s.io/kueue@v{release}/config/components/crd/bases/{group}_{plural}.yaml")
    if not path.exists():
        pytest.skip(f"no CRD of {plural} at {release}: `go mod download sigs.k8s.io/kueue@v{release}` brings those of Kueue")
    return path
