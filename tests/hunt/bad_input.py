"""Texts with mistakes at random: each ends in a report, soon, and never in an error of our own."""

import time
from collections.abc import Iterator
from pathlib import Path
from random import Random

from tests.hunt.finds import Find
from tests.support.processes import run_here
from tests.support.reference import ROOT
from tests.support.rewriting import broken

_PATIENCE = 5.0  # seconds; a hundredth of one is usual
_COMMANDS = (("validate", "-o", "json"), ("render",), ("render", "--overlay", "cpu"))
_PIECES = ("\\t", "\\x00", "\\ufeff", "\\u2028", "---\\n", "...\\n", "&a ", "*a", "<<: ", "!!int ", "{", "[", "? ", "- ", ": ", "|\\n")


def finds(random: Random, folder: Path, *, count: int = 200) -> Iterator[Find]:
    """The texts that end otherwise."""
    bases = [path.read_text() for path in sorted((ROOT / "tests" / "cases" / "guides").glob("*.yaml"))]
    for _ in range(count):
        text = _text(random.choice(bases), random)
        if said := difference(text, folder):
            yield Find(text, said, "a report")


def _text(base: str, random: Random) -> str:
    """A manifest after several mistakes, with pieces that mean much to YAML put anywhere."""
    text = broken(base, random)
    for _ in range(random.choice((0, 1, 2))):
        at = random.randrange(len(text) + 1)
        text = random.choice((text[:at] + random.choice(_PIECES) + text[at:], text[:at] + text[at + 7 :]))
    return text


def difference(text: str, folder: Path) -> str:
    """What goes wrong with a text beside what is reported about it; empty where nothing does."""
    (folder / "text.yaml").write_bytes(text.encode())
    for command in _COMMANDS:
        start = time.monotonic()
        try:
            done = run_here(command[0], "text.yaml", *command[1:], cwd=folder)
        except Exception as error:
            return f"{' '.join(command)}: {type(error).__name__}: {error}"
        is_overlay = done.returncode == 2 and "nothing to render" in done.stderr
        if not (done.returncode in (0, 1) or is_overlay) or "Traceback" in done.stderr:
            return f"{' '.join(command)}: exit code {done.returncode}: {done.stderr[-600:]}"
        if (took := time.monotonic() - start) > _PATIENCE:
            return f"{' '.join(command)}: {took:.1f} s"
    return ""
