"""What a stream can show: colours, links, width."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TextIO


_WIDTH = 100  # columns, where the terminal's are not known


def takes_colour(stream: TextIO) -> bool:
    """True if colours are to be written to a stream.

    NO_COLOR and FORCE_COLOR decide (https://no-color.org, https://force-color.org), or else the terminal.
    """
    if os.environ.get("NO_COLOR"):
        return False
    return bool(os.environ.get("FORCE_COLOR")) or is_terminal(stream)


def takes_links(stream: TextIO) -> bool:
    """Whether to write links (OSC 8) into the text: on a terminal with colours, but not on the console of Linux."""
    return is_terminal(stream) and takes_colour(stream) and os.environ.get("TERM") != "linux"


def is_terminal(stream: TextIO) -> bool:
    """Whether a stream is a terminal that can show colours and erase a line."""
    return stream.isatty() and os.environ.get("TERM") != "dumb"


def width_of(stream: TextIO) -> int:
    """Return the columns of a stream's terminal, or those of a text without a terminal.

    `COLUMNS` of the environment overrides both.
    """
    columns = os.environ.get("COLUMNS", "")
    if columns.isdecimal() and int(columns):
        return int(columns)
    try:
        return os.get_terminal_size(stream.fileno()).columns or _WIDTH
    except (OSError, ValueError):  # no terminal; no file at all
        return _WIDTH
