"""`jobspec lsp`: a language server for editors, on standard input and output."""

from __future__ import annotations

import os
from argparse import ArgumentParser

from jobspec.diagnostics.errors import JobspecError
from jobspec.session.options import Options


def add_arguments(parser: ArgumentParser) -> None:
    """Declare its arguments and options."""
    parser.add_argument("--stdio", action="store_true", help="talk on standard input and output, which it always does")


def run(_: Options) -> int:
    """Serve one editor until that is done."""
    try:
        from jobspec.editor.language_server import server
    except ModuleNotFoundError as error:
        raise JobspecError(f"lsp needs the package `{error.name}`: pip install pygls") from None
    serving = server()
    with os.fdopen(os.dup(0), "rb") as reading, os.fdopen(os.dup(1), "wb") as writing:  # pygls closes what it talks on
        serving.start_io(reading, writing)
    return 0 if serving.protocol._shutdown else 1  # as the protocol says of a client that did not shut it down
