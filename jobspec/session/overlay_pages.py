"""Describe an overlay: its description, its parameters, and its file."""

from __future__ import annotations

from collections.abc import Mapping
from json import dumps
from typing import Any

from jobspec.documents.decoding import MAX_FILE
from jobspec.documents.reader import read
from jobspec.overlays.load import OverlayFile
from jobspec.reports.terminal import wrapped


def described(overlay: OverlayFile) -> dict[str, Any]:
    """An overlay's name, description and parameters, as the list shows them."""
    assert isinstance(overlay.content, bytes)
    documents, _ = read(overlay.content[:MAX_FILE].decode(), file=overlay.file)
    spec = documents[0].data["spec"]
    return {
        "name": documents[0].name,
        "description": spec.get("description", ""),
        "parameters": spec.get("parameters") or {},
        "conflicts": spec.get("conflicts") or [],
    }


def overlay_page(overlay: OverlayFile, width: int) -> str:
    """What `jobspec explain NAME` says of an overlay: what it does, its parameters, and the file itself."""
    found = described(overlay)
    assert isinstance(overlay.content, bytes)
    parameters = [line for name, each in found["parameters"].items() for line in parameter_lines(name, each, width, "  ")]
    name = found["name"]
    use = f"jobspec render job.yaml --overlay {name}" + "".join(f" --set {name}.{each}=..." for each in list(found["parameters"])[:1])
    lines = [
        *wrapped(f"overlay {name}: {found['description']}", width, "  ", first=""),
        *(["", "parameters:", *parameters] if parameters else []),
    ]
    lines += ["", f"conflicts with: {', '.join(found['conflicts'])}"] if found["conflicts"] else []
    lines += ["", f"use: {use}", "", *overlay.content.decode().splitlines()]
    return "\n".join(lines) + "\n"


def parameter_lines(name: str, about: Mapping[str, Any], width: int, indent: str) -> list[str]:
    """Return the lines that describe a parameter of an overlay."""
    limits = [
        f"{key} {dumps(about[key]) if isinstance(about[key], bool) else about[key]}"
        for key in ("default", "minimum", "maximum")
        if key in about
    ]
    limits += [f"one of {', '.join(map(str, about['enum']))}"] if "enum" in about else []
    limits += ["optional"] if about.get("optional") else []
    text = f"{name} <{about['type']}>  {'; '.join([about.get('description', ''), *limits]).strip('; ')}"
    return wrapped(text, width, f"{indent}    ", first=indent)
