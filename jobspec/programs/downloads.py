"""Commands that download data: programs that fetch an address, and those that copy from a store of objects.

Follows curl(1), wget(1), and the help of aws s3, gcloud storage, gsutil, s5cmd, azcopy, rclone, hf and kaggle.
"""

from __future__ import annotations

from itertools import pairwise

from jobspec.programs.command_lines import file_name
from jobspec.programs.shells import PIPE, ShellCommand, read_script, script_at

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

#: Programs that copy to and from stores, each with the word that has to stand before the verb, if any, and with its verbs.
_COPYING = {
    "aws": ("s3", ("cp", "sync", "mv")),
    "gcloud": ("storage", ("cp", "rsync", "mv")),
    "gsutil": ("", ("cp", "rsync", "mv")),
    "s5cmd": ("", ("cp", "sync", "mv")),
    "azcopy": ("", ("copy", "cp", "sync")),
    "rclone": ("", ("copy", "copyto", "sync", "move", "moveto")),
}
#: Programs of registries, which download by the verb `download`.
_REGISTRIES = ("hf", "huggingface-cli", "kaggle")
_FETCHING = ("curl", "wget")
PROGRAMS = (*_FETCHING, *_COPYING, *_REGISTRIES)
"""The programs that download data."""
#: Options of curl that write a file, besides short ones with `o` or `O`.
_CURL_FILES = ("--output", "--remote-name", "--remote-name-all", "--output-dir")
#: Programs that unpack or keep what they read.
_KEEPING = frozenset(
    ("tar", "bsdtar", "unzip", "gunzip", "gzip", "zcat", "unzstd", "zstd", "xz", "unxz", "bunzip2", "lz4", "pigz", "tee", "dd")
)
_NOWHERE = "/dev/null"
#: Parts of addresses on the node or in the pod itself.
_NEAR = ("localhost", "127.0.0.1", "169.254.169.254", "metadata.google")


def download_in(words: Sequence[str]) -> str:
    """Return the program of the first command that downloads data; empty if none does.

    The commands are those of the script, if the command line is that of a shell.
    """
    if not words:
        return ""
    at = script_at(words)
    commands = (ShellCommand(words),) if at is None else tuple(read_script(words[at]).commands)
    pairs = zip(commands, (*commands[1:], None), strict=False)
    return next((file_name(command.words[0]) for command, following in pairs if _downloads(command, following)), "")


def _downloads(command: ShellCommand, following: ShellCommand | None) -> bool:
    """Whether a command downloads data; *following*: the command that reads its output, if that is a pipe."""
    program, words = file_name(command.words[0]), command.words[1:]
    if program in _REGISTRIES:
        return "download" in words
    if program in _COPYING:
        before, verbs = _COPYING[program]
        at = next((at for at, word in enumerate(words) if word in verbs), None)
        return at is not None and (not before or before in words[:at]) and _fetches(words[at + 1 :], colon=program == "rclone")
    if program not in _FETCHING or any(near in word for word in words for near in _NEAR):
        return False
    if program == "wget" and "--spider" in words:
        return False
    target = _file_of(program, words)
    if target != "-":
        return target not in ("", _NOWHERE)
    if command.output == PIPE:
        return following is not None and file_name(following.words[0]) in _KEEPING
    return command.output not in ("", _NOWHERE)


def _fetches(words: Sequence[str], *, colon: bool) -> bool:
    """Whether a copy goes from a store to the pod; *colon*: the names of stores end with a colon."""
    paths = [word for word in words if not word.startswith("-")]
    sure = [number for number, path in enumerate(paths) if "://" in path or (colon and ":" in path)]
    remote = sure or [number for number, path in enumerate(paths) if "$" in path]
    is_upload = len(paths) - 1 in remote and (bool(sure) or len(remote) == 1)
    return bool(remote) and not is_upload


def _file_of(program: str, words: Sequence[str]) -> str:
    """The file that curl or wget writes; `-` for the standard output, and some name if the address gives one."""
    is_curl = program == "curl"
    for word, value in pairwise([*words, ""]):
        name, equals, joined = word.partition("=")
        if name in (_CURL_FILES if is_curl else ("--output-document",)):
            return (joined if equals else value if name != "--remote-name" else "") or "file"
        letters = word[1:] if word.startswith("-") and not word.startswith("--") else ""
        if is_curl and "O" in letters:
            return "file"
        option = "o" if is_curl else "O"
        if option in letters:
            return letters.partition(option)[2] or value or "file"
    return "-" if is_curl else "file"
