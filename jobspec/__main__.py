"""The process of a command: `jobspec` and `python -m jobspec`."""

import atexit
import gc
import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn


def program() -> "NoReturn":
    """Run the command of this process, and end the process.

    The garbage collector is off: a command is over before its memory matters, and one collection after the imports takes 3 percent of
    the start. `os._exit` skips Python's own clean-up, which takes a tenth of the time of a verdict.
    """
    gc.disable()
    from jobspec.cli import main

    code = main(sys.argv[1:])
    atexit._run_exitfuncs()
    for stream in filter(None, (sys.stdout, sys.stderr)):
        try:  # noqa: SIM105 (a start has no time for contextlib)
            stream.flush()
        except OSError:  # the error is reported already, or nobody reads any more
            pass
    os._exit(code)


if __name__ == "__main__":
    program()
