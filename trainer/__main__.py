"""`python -m trainer`: train, or say in words why not."""

import os
import signal
import sys
from collections.abc import Sequence
from typing import NoReturn

from trainer.config import Config, Refusal, parse
from trainer.files import announce
from trainer.group import Lost
from trainer.processes import Place, place


def main(argv: Sequence[str] | None = None) -> int:
    """Run the program; gives its exit code."""
    # As the first process of a container it would not hear SIGTERM at all. Training has a handler of its own.
    signal.signal(signal.SIGTERM, _end)
    try:
        config = parse(sys.argv[1:] if argv is None else argv)
        found = place(os.environ, config)
        announce(config, found)
        return _train(config, found)
    except (Refusal, OSError) as error:
        return _say(error, 2)
    except Lost as error:
        _say(error, 138)
        sys.stdout.flush()
        os._exit(138)  # what is left of the process group waits for those who are gone
    except KeyboardInterrupt:
        return 130


def _train(config: Config, found: Place) -> int:
    """Train, with torch loaded only now; raises Refusal where a package of the extra `trainer-libraries` is not installed."""
    try:
        from trainer.training import train
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        if package == "trainer":
            raise
        raise Refusal(f"training needs the package `{package}`: pip install '.[trainer-libraries]' in a clone") from None
    return train(config, found)


def _end(*_: object) -> NoReturn:
    sys.exit(143)


def _say(error: Exception, code: int) -> int:
    print("\n".join(f"trainer: {line}" for line in str(error).splitlines()), file=sys.stderr, flush=True)
    return code


if __name__ == "__main__":
    sys.exit(main())
