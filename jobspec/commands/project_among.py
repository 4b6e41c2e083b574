"""The project that a command line means, found without loading what reads projects: most command lines mean manifests."""

from __future__ import annotations

import os

from jobspec.commands.files import Found, content_of
from jobspec.diagnostics import JobspecError
from jobspec.documents.reader import decode, read
from jobspec.kinds import PROJECT

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence


def project_among(paths: Sequence[str]) -> str | None:
    """The path of the project that a command line means: the working folder's without a path, or the only path; None where it is none.

    Raises JobspecError without a path and without a project in the working folder.
    """
    if not paths:
        from jobspec.gitops.project import FILE

        if os.path.lexists(FILE) and not os.path.isfile(FILE):
            raise JobspecError(f"{FILE} in the working folder is no file that can be read")
        if not os.path.isfile(FILE):
            raise JobspecError(
                f"give the PATH of manifests to render; without one, {FILE} in the working folder is rendered: there is none"
            )
        return FILE
    if len(paths) > 1 or not os.path.isfile(paths[0]):
        return None
    content = content_of(Found(paths[0], named=True))
    if b"jobspec.dev/" not in content or b"Project" not in content:
        return None
    text = decode(content, paths[0])
    documents = read(text, file=paths[0])[0] if isinstance(text, str) else []
    return paths[0] if any(each.group_kind == PROJECT for each in documents) else None
