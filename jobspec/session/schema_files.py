"""Read schemas from a cluster, from clones and from OpenAPI documents, and write them to files."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from jobspec.apis.releases import RELEASES, choose
from jobspec.diagnostics.errors import JobspecError
from jobspec.kubernetes import common_kinds
from jobspec.session.crds import read_crds


def parse_openapi(text: str, name: str) -> dict[str, Any]:
    """Parse an OpenAPI document. Raises JobspecError if the text holds anything else."""
    try:
        document = json.loads(text)
    except ValueError:
        document = None
    if not isinstance(document, dict) or not isinstance(document.get("definitions"), dict):
        raise JobspecError(f"{name}: not an OpenAPI v2 document in JSON; `kubectl get --raw /openapi/v2` prints one")
    return document


def write_schema_files(texts: Iterable[tuple[str, str]], folder: str) -> int:
    """Write schemas below a folder; 0 if that worked."""
    try:
        for name, text in texts:
            path = os.path.join(folder, *name.split("/"))
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "w", encoding="utf-8", newline="\n") as file:
                file.write(text)
            sys.stdout.write(f"{path}\n")
    except OSError as error:
        raise JobspecError(f"{error.filename}: {error.strerror}") from None
    return 0


def read_written(top: str) -> list[str]:
    """The schemas in a folder that are made of models, as paths below it."""
    paths = [os.path.join(folder, name) for folder, _, names in os.walk(top) if folder != top for name in names]
    stored = sorted(os.path.relpath(path, top).replace(os.sep, "/") for path in paths)
    of_crds = tuple(f"{each}/" for each in (common_kinds.FOLDER, *(f"compiled/{each}" for each in common_kinds.OPERATORS)))
    return [each for each in stored if not each.startswith(of_crds)]


def parse_release_folder(text: str) -> tuple[str, str]:
    """Split `RELEASE=DIR`.

    Raises JobspecError if the text has another form, or if there is no such folder.
    """
    release, equals, folder = text.partition("=")
    if not equals or not os.path.isdir(folder):
        raise JobspecError(f"schema kubernetes: {text}: write RELEASE=FOLDER with upstream's folder api/openapi-spec at this release")
    return release, folder


def read_openapi_documents(folder: str) -> tuple[Any, list[Any]]:
    """The document of version 2 in a folder, and those of version 3."""
    newer = os.path.join(folder, "v3")
    try:
        whole = json.loads(Path(folder, "swagger.json").read_text(encoding="utf-8"))
        return whole, [json.loads(Path(newer, name).read_text(encoding="utf-8")) for name in sorted(os.listdir(newer))]
    except (OSError, ValueError) as error:
        raise JobspecError(f"schema kubernetes: {error}") from None


def crds_of_projects(clones: str) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Yield the CRDs of common projects in a folder of clones, with project and release."""
    for project, releases in common_kinds.PROJECTS.items():
        for release, place in releases:
            yield from ((project, release, each) for each in _crds_in_clone(clones, project, release, place))


def crds_of_operators(clones: str) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Yield the CRDs of operators of jobs in a folder of clones, with component and release."""
    for component, (project, place) in common_kinds.OPERATORS.items():
        for release in RELEASES[component]:
            yield from ((component, release, each) for each in _crds_in_clone(clones, project, release, place))


def _crds_in_clone(clones: str, project: str, release: str, place: str) -> Iterator[dict[str, Any]]:
    """Yield the CRDs of a project's release by name. Raises JobspecError if it is not among the clones."""
    clone = os.path.join(clones, *f"{project}@{release}".split("/"))
    if not os.path.isdir(os.path.join(clone, place)):
        command = f"git clone --depth 1 --branch v{release} https://github.com/{project} {clone}"
        raise JobspecError(f"schema common: no folder {os.path.join(clone, place)}; get it with `{command}`")
    found, _ = read_crds([os.path.join(clone, place)], choose([]))
    whole = [each for each in found if each.data["spec"].get("group")]  # no patches of CRDs
    yield from (each.data for each in sorted(whole, key=lambda crd: crd.name))
