"""`jobspec schema kubernetes`: the built-in kinds of Kubernetes releases, from the OpenAPI documents in upstream's source."""

from __future__ import annotations

import json
import os
import sys

from jobspec.diagnostics import JobspecError
from jobspec.schemas.upstream import table

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any


def run(wishes: Iterable[str]) -> int:
    """Print the table `schemas/kubernetes.json` for `RELEASE=FOLDER` texts, oldest release first."""
    sys.stdout.write(table({release: _documents(folder) for release, folder in map(_wish, wishes)}))
    return 0


def _wish(text: str) -> tuple[str, str]:
    release, equals, folder = text.partition("=")
    if not equals or not os.path.isdir(folder):
        raise JobspecError(f"schema kubernetes: {text}: write RELEASE=FOLDER with upstream's folder api/openapi-spec at this release")
    return release, folder


def _documents(folder: str) -> tuple[Any, list[Any]]:
    """The document of version 2 in a folder, and those of version 3."""
    newer = os.path.join(folder, "v3")
    try:
        return _read(os.path.join(folder, "swagger.json")), [_read(os.path.join(newer, name)) for name in sorted(os.listdir(newer))]
    except (OSError, ValueError) as error:
        raise JobspecError(f"schema kubernetes: {error}") from None


def _read(path: str) -> Any:
    with open(path, encoding="utf-8") as file:
        return json.load(file)
