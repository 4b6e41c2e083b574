"""The contracts of images that the settings name."""

from __future__ import annotations

import json
import os

from jobspec import data
from jobspec.contracts import Contract
from jobspec.diagnostics import JobspecError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from jobspec.choice.settings import Settings
    from jobspec.commands.inputs import Setting

TRAINER = "trainer"


def with_contracts(setting: Setting, settings: Settings | None) -> Setting:
    """A setting whose cluster knows the contracts that are declared. Raises JobspecError for files that hold none."""
    if not settings or not settings.contracts:
        return setting
    return setting.with_cluster(setting.cluster.with_contracts(_read(settings.contracts)))


def _read(paths: Mapping[str, str]) -> dict[str, Contract]:
    return {image: _contract(path) for image, path in paths.items()}


def _contract(path: str) -> Contract:
    """The contract in a file; `trainer`, where no file has that name, is that of jobspec's trainer."""
    if path == TRAINER and not os.path.exists(path):
        return Contract(data.load(data.path("schemas", "trainer.json")), path)
    try:
        with open(path, "rb") as file:
            return Contract(json.load(file), path)
    except OSError as error:
        raise JobspecError(f"{path}: {error.strerror}") from None
    except ValueError as error:
        raise JobspecError(f"{path}: this is no JSON: {error}") from None
