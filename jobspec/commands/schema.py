"""`jobspec schema`: the schemas that follow from the models."""

from __future__ import annotations

import os
import sys

from jobspec import data
from jobspec.diagnostics import JobspecError
from jobspec.schemas.files import files


def export(folder: str) -> int:
    """Write every schema into *folder*."""
    try:
        for name, text in files():
            path = os.path.join(folder, *name.split("/"))
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "w", encoding="utf-8", newline="\n") as file:
                file.write(text)
            sys.stdout.write(f"{path}\n")
    except OSError as error:
        raise JobspecError(f"{error.filename}: {error.strerror}") from None
    return 0


def check() -> int:
    """Compare the schemas that jobspec reads with those that its models give; 1 where one is stale or missing."""
    stale = [name for name, text in files() if _text(data.path("schemas", *name.split("/"))) != text]
    sys.stdout.writelines(f"schemas/{name} is not what the models give; write it with `jobspec schema export schemas`\n" for name in stale)
    return 1 if stale else 0


def _text(path: str) -> str:
    try:
        with open(path, encoding="utf-8") as file:
            return file.read()
    except FileNotFoundError:
        return ""
