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
    if not path.exists() and group == "kueue.x-k8s.io":
        return crd_in_go_cache(f"sigs.k8s.io/kueue@v{release}", f"config/components/crd/bases/{group}_{plural}.yaml")
    if not path.exists():
        pytest.skip(f"no CRD of {plural} at {release}")
    return path


def crd_in_go_cache(module: str, file: str) -> Path:
    """The path of a file of a Go module in the cache of modules; skips the test where it is not there."""
    go = shutil.which("go")
    cache = subprocess.run([go, "env", "GOMODCACHE"], capture_output=True, text=True, check=True).stdout.strip() if go else ""
    path = Path(cache, module, file)
    if not go or not path.exists():
        pytest.skip(f"no {file}: `go mod download {module}` brings it")
    return path
