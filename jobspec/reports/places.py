"""Files as the reader of a report in another place finds them."""

from __future__ import annotations

import os


def from_here(path: str) -> str:
    """The path from the working folder, which is as a rule the repository's; as it is, where the file lies elsewhere."""
    relative = os.path.relpath(path)
    return path if relative.split(os.sep, 1)[0] == os.pardir else relative
