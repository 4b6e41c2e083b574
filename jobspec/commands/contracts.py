"""The contracts of images that the settings name."""

from __future__ import annotations

import json
import os

from jobspec import data
from jobspec.diagnostics import Diagnostic, JobspecError
from jobspec.gitops.sources import Unreadable
from jobspec.programs.contracts import Contract

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from jobspec.choice.settings import Settings
    from jobspec.commands.inputs import Setting
    from jobspec.commands.project_files import ProjectFiles
    from jobspec.gitops.project import Project

TRAINER = "trainer"


def with_contracts(setting: Setting, settings: Settings | None) -> Setting:
    """A setting whose cluster knows the contracts that are declared. Raises JobspecError for files that hold none."""
    if not settings or not settings.contracts:
        return setting
    return setting.with_cluster(setting.cluster.with_contracts(_read(settings.contracts)))


def contracts_of(project: Project, files: ProjectFiles) -> tuple[dict[str, Contract], list[Diagnostic]]:
    """The contracts that a project declares, whose paths begin at its folder, and what is wrong with them."""
    found, wrong = {}, []
    for image, path in project.contracts.items():
        try:
            found[image] = _in_project(str(path.value), files)
        except Unreadable as error:
            wrong.append(Diagnostic("invalid-project", f"no contract at `{path.value}`: {error}", path.mark))
        except JobspecError as error:
            wrong.append(Diagnostic("invalid-project", str(error), path.mark))
    return found, wrong


def _in_project(path: str, files: ProjectFiles) -> Contract:
    try:
        content = files.read(path).content
    except Unreadable:
        if path != TRAINER:
            raise
        return _shipped()
    return _contract_in(content, path)


def _read(paths: Mapping[str, str]) -> dict[str, Contract]:
    return {image: _contract(path) for image, path in paths.items()}


def _contract(path: str) -> Contract:
    if path == TRAINER and not os.path.exists(path):
        return _shipped()
    try:
        with open(path, "rb") as file:
            return _contract_in(file.read(), path)
    except OSError as error:
        raise JobspecError(f"{path}: {error.strerror}") from None


def _shipped() -> Contract:
    """The contract of jobspec's own trainer, which `trainer` means where no file has that name."""
    return Contract(data.load(data.path("schemas", "trainer.json")), TRAINER)


def _contract_in(content: bytes | str, path: str) -> Contract:
    try:
        return Contract(json.loads(content), path)
    except ValueError as error:
        raise JobspecError(f"{path}: this is no JSON: {error}") from None
