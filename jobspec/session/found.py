"""A file that was found."""

from __future__ import annotations

import os

from jobspec.diagnostics.record import Record
from jobspec.documents.document import CHART, KUSTOMIZATIONS, PAGES, is_of_chart
from jobspec.session.disk import DISK

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from dataclasses import KW_ONLY

    from jobspec.repository.in_build import InBuild
    from jobspec.session.disk import Disk


STDIN = "<stdin>"


class Found(Record):
    """A file to read, or a part of a large one."""

    path: str
    _: KW_ONLY
    named: bool
    """Whether the user named it; else it was met in a folder."""
    content: bytes | None = None
    """What it holds, where that can be read only once."""
    in_build: InBuild | None = None
    """Its role in the builds of its repository; None where it is judged by itself."""
    disk: Disk = DISK
    """The files on disk that it is one of."""
    part: int = 0
    """The number of the part."""
    first_line: int = 0
    """The number of lines before the part."""
    span: tuple[int, int] | None = None
    """The bytes at which the part begins and ends; None of a whole file."""


def is_judged_in_build(found: Found, *, skip_unknown: bool) -> bool:
    """Whether a file is judged by what the repository makes of it: found in a folder, of a tool, or unknown kinds are skipped."""
    return found.content is None and (skip_unknown or not found.named or is_of_tool(found.path))


def is_of_tool(path: str) -> bool:
    """Whether a file is known by its name: a kustomization, or the values of a chart."""
    folder, name = os.path.split(path)
    return name in KUSTOMIZATIONS or (is_of_chart(name) and os.path.isfile(os.path.join(folder, CHART)))


def is_template(path: str, disk: Disk = DISK) -> bool:
    """Whether a program or a person completes a file, by its path in the repository: the user may have written another one."""
    from jobspec.repository.unfilled_values import is_template_path
    from jobspec.session.folders import path_in_repository

    return is_template_path(os.path.abspath(path)) and is_template_path(path_in_repository(path, disk.root))


def skipped(path: str, why: str, disk: Disk = DISK) -> Found:
    """A file that is counted as skipped, and why."""
    from jobspec.repository.in_build import InBuild

    return Found(path, named=False, in_build=InBuild(why), disk=disk)


def skips_unknown(found: Found) -> bool:
    """Whether unknown documents in a file are always skipped: it was met in a folder, or is of a tool, or a Markdown page."""
    return not found.named or found.path.endswith(PAGES) or (found.content is None and is_of_tool(found.path))


def disk_of(files: Iterable[Found]) -> Disk:
    """Return the disk that files were found on."""
    return next((each.disk for each in files), DISK)
