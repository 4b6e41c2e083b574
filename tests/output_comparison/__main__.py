"""Compare what every command prints now with what it printed at a commit: `python -m tests.output_comparison REF`.

The code of both trees runs on the same inputs: public manifests, the tests' cases, manifests and projects at random. A recording is a
command line with its exit code, what it prints, and the files that it writes. Public manifests are found as tests find them, through
`JOBSPEC_REFERENCE`.
"""

import argparse
import difflib
import hashlib
import json
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

from tests.support.reference import ROOT
from tests.support.seeds import SETTLED

_WORKER = Path(__file__).with_name("worker.py")
_WIDTH = 300  # characters of a line that are shown
_MOST = 20  # differences that are shown

Recording = dict[str, Any]


def main(arguments: Sequence[str]) -> int:
    """Record and compare; 1 where anything differs."""
    options = _options(arguments)
    with tempfile.TemporaryDirectory() as temporary:
        place = options.keep or Path(temporary)
        place.mkdir(parents=True, exist_ok=True)
        inputs = _inputs(options.inputs or place / "inputs", options.seed)
        if options.record:
            with _tree(options.ref, Path(temporary)) as tree:
                _record(tree, inputs, options.only, options.record)
            return 0
        before = options.against or place / "before.jsonl"
        if not options.against:
            with _tree(options.ref, Path(temporary)) as tree:
                _record(tree, inputs, options.only, before)
        _record(ROOT, inputs, options.only, place / "after.jsonl")
        return _compare(_load(before, options.only), _load(place / "after.jsonl", options.only), options.lines)


def _options(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.output_comparison")
    parser.add_argument("ref", nargs="?", metavar="REF", help="the commit to compare the working tree with")
    parser.add_argument("--seed", type=int, default=SETTLED, help="the seed of what is made at random")
    parser.add_argument("--only", action="append", metavar="COMMAND", help="compare this command alone; repeatable")
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="keep the inputs and the recordings in this folder")
    parser.add_argument("--inputs", type=Path, metavar="FOLDER", help="use the inputs in this folder; made there where it has none")
    parser.add_argument("--record", type=Path, metavar="FILE", help="record REF, or the working tree without one, and compare nothing")
    parser.add_argument(
        "--against", type=Path, metavar="FILE", help="compare with this recording, made with the same --inputs, not with REF"
    )
    parser.add_argument("--lines", type=int, default=20, help="lines that are shown of each difference")
    options = parser.parse_args(arguments)
    if bool(options.against) + bool(options.record) + bool(options.ref) != 1 and not (options.record and options.ref):
        parser.error("give one of REF, --against FILE and --record FILE; --record takes a REF, too")
    if options.against and not options.inputs:
        parser.error("--against needs the --inputs of the recording")
    return options


def _inputs(folder: Path, seed: int) -> Path:
    """A folder with the files that command lines read, in `files`, and the command lines, in `runs.jsonl`."""
    runs = folder / "runs.jsonl"
    if not runs.exists():
        from tests.output_comparison import command_lines, inputs

        inputs.make(folder / "files", seed)
        lines = dict.fromkeys(json.dumps(asdict(each)) for each in command_lines.command_lines(folder / "files", seed))
        runs.write_text("".join(f"{line}\n" for line in lines))
    return folder.resolve()


@contextmanager
def _tree(ref: str | None, temporary: Path) -> Iterator[Path]:
    """The files of a commit; the working tree where none is named."""
    if not ref:
        yield ROOT
        return
    tree = temporary / "tree"
    subprocess.run(["git", "worktree", "add", "--quiet", "--detach", str(tree), ref], cwd=ROOT, check=True)
    try:
        yield tree
    finally:
        subprocess.run(["git", "worktree", "remove", "--force", str(tree)], cwd=ROOT, check=True)


def _record(tree: Path, inputs: Path, only: Sequence[str] | None, into: Path) -> None:
    """Write what the code of a tree gives: a line about the inputs, and one for each command line."""
    start, state = time.monotonic(), _digest(inputs)
    lines = [each for each in (inputs / "runs.jsonl").read_text().splitlines() if _is_wanted(json.loads(each), only)]
    with tempfile.TemporaryDirectory() as temporary:
        runs, results = Path(temporary, "runs.jsonl"), Path(temporary, "results.jsonl")
        runs.write_text("".join(f"{line}\n" for line in lines))
        command = [sys.executable, _WORKER, tree, inputs / "files", runs, results]
        subprocess.run(list(map(str, command)), env={**os.environ, "PYTHONHASHSEED": "0"}, check=True)
        assert _digest(inputs) == state, f"a command line has changed its inputs in {inputs}"
        into.write_text(json.dumps({"inputs": state}) + "\n" + results.read_text())
    sys.stdout.write(f"{'the working tree' if tree == ROOT else 'the commit'}: {len(lines)} in {time.monotonic() - start:.0f} s\n")
    sys.stdout.flush()


def _is_wanted(run: Recording, only: Sequence[str] | None) -> bool:
    return only is None or next(iter(run["arguments"]), "") in only


def _digest(inputs: Path) -> str:
    """A digest of all inputs but the insides of Git repositories."""
    paths = [path for path in sorted(inputs.rglob("*")) if path.is_file() and ".git" not in path.relative_to(inputs).parts]
    return hashlib.sha256(b"".join(f"{path.relative_to(inputs)}\n".encode() + path.read_bytes() for path in paths)).hexdigest()


def _load(path: Path, only: Sequence[str] | None) -> list[Recording]:
    """A recording with its head, and of its command lines those that are compared."""
    head, *recordings = map(json.loads, path.read_text().splitlines())
    return [head, *(each for each in recordings if _is_wanted(each, only))]


def _compare(before: Sequence[Recording], after: Sequence[Recording], lines: int) -> int:
    """Print in what two recordings differ."""
    if before[0] != after[0]:
        sys.stdout.write("the recordings were made of other inputs\n")
        return 1
    pairs = [(one, other) for one, other in zip(before[1:], after[1:], strict=True) if one != other]
    for one, other in pairs[:_MOST]:
        sys.stdout.write(f"\n{_line(one)}\n{''.join(f'  {each}' for each in _differences(one, other, lines))}")
    if len(pairs) > _MOST:
        sys.stdout.write(f"\nand {len(pairs) - _MOST} more:\n{''.join(f'  {_line(one)}{chr(10)}' for one, _ in pairs[_MOST : 10 * _MOST])}")
    commands = Counter(next(iter(one["arguments"]), "no command") for one, _ in pairs)
    reported = "".join(f", {command} {count}" for command, count in commands.most_common())
    sys.stdout.write(f"\n{len(after) - 1} recordings compared, {len(pairs)} differ{reported}\n")
    return 1 if pairs else 0


def _line(recording: Recording) -> str:
    """The command line, as a shell shows it in its folder."""
    words = [*(f"{name}={value}" for name, value in recording["environment"].items()), "jobspec", *recording["arguments"]]
    return f"{recording['folder']}$ {' '.join(words)}{' < ' + repr(recording['stdin']) if recording['stdin'] else ''}"


def _differences(one: Recording, other: Recording, lines: int) -> list[str]:
    """Lines about each part that differs, the first of them."""
    outputs = [("stdout", one["stdout"], other["stdout"]), ("stderr", one["stderr"], other["stderr"])]
    outputs += [(each, one["files"].get(each, ""), other["files"].get(each, "")) for each in sorted({*one["files"], *other["files"]})]
    found = [f"exit code {one['code']} becomes {other['code']}\n"] if one["code"] != other["code"] else []
    for name, old, new in outputs:
        if old != new:
            found += [f"{name}:\n", *list(difflib.unified_diff(_shown(old, new), _shown(new, old), n=1))[2:]]
    cut = [f"{each.rstrip()[:_WIDTH]}\n" for each in found]
    return cut if len(cut) <= lines else [*cut[:lines], f"... {len(cut) - lines} more lines\n"]


def _shown(text: str, other: str) -> list[str]:
    """The lines of an output; of JSON with a line for each value, where that is not what differs."""
    try:
        pair = [json.dumps(json.loads(each), indent=1) for each in (text, other)]
    except ValueError:
        pair = [text, other]
    return (pair[0] if pair[0] != pair[1] else text).splitlines(keepends=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
