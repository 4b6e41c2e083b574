"""Write files whole or not at all."""

from __future__ import annotations

import os

from jobspec.diagnostics.errors import JobspecError


def write_whole(path: str, text: str) -> None:
    """Make *text* the content of a file, or leave the file as it was.

    Raises JobspecError if the file cannot be written.
    """
    if not path:
        raise JobspecError("--output-file needs the name of a file")
    content = text.encode(errors="surrogateescape")
    try:
        if os.path.exists(path) and not os.path.isfile(path):  # a pipe or a device is not replaced, but written to
            with open(path, "wb") as file:
                file.write(content)
        else:
            _replace(path, content)
    except OSError as error:
        raise JobspecError(f"{path}: cannot write: {error.strerror}") from None


def _replace(path: str, content: bytes) -> None:
    """Make *content* that of a regular file in one step; a link stays, and the file that it names changes. Raises OSError."""
    place = os.path.realpath(path)
    folder, name = os.path.split(place)
    new = os.path.join(folder, f".{name}.jobspec-{os.getpid()}")
    try:
        with open(new, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        if os.path.exists(place):
            os.chmod(new, os.stat(place).st_mode & 0o7777)
        os.replace(new, place)
    except BaseException:
        if os.path.exists(new):
            os.unlink(new)
        raise
