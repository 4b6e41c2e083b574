"""Read the contracts of images: the flags that their programs take."""

from __future__ import annotations

import json
from collections.abc import Callable

from jobspec.apis import shipped
from jobspec.apis.shipped import load
from jobspec.diagnostics.diagnostic import Diagnostic
from jobspec.diagnostics.errors import JobspecError
from jobspec.programs.contracts import Contract
from jobspec.project.project import LoadedProject, Unreadable
from jobspec.world.world import Cluster

TYPE_CHECKING = False
if TYPE_CHECKING:
    from jobspec.lint.ignores import ReportFilter
    from jobspec.session.trees import ProjectFiles


TRAINER = "trainer"


def with_contracts(cluster: Cluster, settings: ReportFilter | None) -> Cluster:
    """Add the contracts of images that settings declare to a cluster.

    Raises JobspecError for files that hold no contract.
    """
    if not settings or not settings.contracts:
        return cluster
    try:
        return cluster.with_contracts({image: _contract(path, _content_of) for image, path in settings.contracts.items()})
    except OSError as error:
        raise JobspecError(f"{error.filename}: {error.strerror}") from None


def contracts_of(project: LoadedProject, files: ProjectFiles) -> tuple[dict[str, Contract], list[Diagnostic]]:
    """The contracts that a project declares, whose paths begin at its folder, and what is wrong with them."""
    found, wrong = {}, []
    for image, path in project.contracts.items():
        try:
            found[image] = _contract(str(path.value), lambda each: files.read(each).content)
        except Unreadable as error:
            wrong.append(Diagnostic("invalid-project", f"no contract at `{path.value}`: {error}", path.mark))
        except JobspecError as error:
            wrong.append(Diagnostic("invalid-project", str(error), path.mark))
    return found, wrong


def _contract(path: str, read: Callable[[str], bytes | str]) -> Contract:
    """The contract at a path; that of jobspec's own trainer for `trainer`, where no file has that name."""
    try:
        return Contract(json.loads(read(path)), path)
    except (Unreadable, FileNotFoundError):
        if path != TRAINER:
            raise
        return Contract(load(shipped.path("schemas", "trainer.json")), TRAINER)
    except ValueError as error:
        raise JobspecError(f"{path}: not valid JSON: {error}") from None


def _content_of(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read()
