"""Where the files that belong to jobspec are: the shipped overlays and the schemas, installed or in a checkout."""

from __future__ import annotations

import os

_HERE = os.path.dirname(os.path.abspath(__file__))


def path(*parts: str) -> str:
    """The path of a file or folder below `overlays/` or `schemas/`."""
    installed = os.path.join(_HERE, "_data")
    return os.path.join(installed if os.path.isdir(installed) else os.path.dirname(_HERE), *parts)
