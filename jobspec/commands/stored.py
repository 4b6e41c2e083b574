"""The stored objects that manifests update: those of other files, or of the same files at a Git ref."""

from __future__ import annotations

import os

from jobspec.cluster import StoredObjects
from jobspec.commands.files import ENDINGS, content_of, find
from jobspec.commands.git import git
from jobspec.diagnostics import Diagnostic, JobspecError
from jobspec.documents.reader import decode, read
from jobspec.pipeline import items_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from jobspec.documents.document import Document


def from_files(path: str) -> StoredObjects:
    """The objects of a file or folder. Raises JobspecError where a named file cannot be read; in a folder, it is skipped."""
    documents: list[Document] = []
    for found in find([path]):
        text = decode(content_of(found), found.path)
        inside, problems = ([], [text]) if isinstance(text, Diagnostic) else read(text, file=found.path)
        if problems and found.named:
            raise JobspecError(f"--from {problems[0].mark}: {problems[0].message}")
        documents += () if problems else inside
    return StoredObjects(_objects(documents))


def from_ref(ref: str, paths: Sequence[str]) -> StoredObjects:
    """The objects of files and folders as they were at a Git ref; a file that did not exist or cannot be read has none."""
    documents: list[Document] = []
    for path in paths:
        for name, raw in _at_ref(ref, path):
            try:
                inside, problems = read(raw.decode(), file=f"{ref}:{name}")
            except UnicodeDecodeError:
                continue
            documents += () if problems else inside
    return StoredObjects(_objects(documents))


def _objects(documents: Iterable[Document]) -> Iterator[Document]:
    return (each for document in documents for each in items_of(document))


def _at_ref(ref: str, path: str) -> Iterator[tuple[str, bytes]]:
    """Name and content of each manifest of a file or folder at a Git ref."""
    if path == "-":
        raise JobspecError("--from-ref: standard input is no file of a Git repository; say --from FILE")
    folder, name = (path, ".") if os.path.isdir(path) else (os.path.dirname(path) or ".", os.path.basename(path))
    tree = _git(folder, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{ref}^{{tree}}", why=f"{ref} is no ref of {path}").strip()
    listed = _git(folder, "ls-tree", "-r", "-z", tree.decode(), "--", name, why=f"cannot list {path}").split(b"\0")
    blobs = [(os.fsdecode(file), about.split()[2]) for about, _, file in (line.partition(b"\t") for line in listed) if file]
    wanted = [(file, blob) for file, blob in blobs if name != "." or _is_manifest(file)]
    answers = _git(folder, "cat-file", "--batch", stdin=b"".join(blob + b"\n" for _, blob in wanted), why=f"cannot read {path}")
    for file, _ in wanted:
        about, _, answers = answers.partition(b"\n")
        size = int(about.split()[2])
        yield file, answers[:size]
        answers = answers[size + 1 :]


def _is_manifest(file: str) -> bool:
    return file.endswith(ENDINGS) and not any(part.startswith(".") for part in file.split("/"))


def _git(folder: str, *arguments: str, why: str, stdin: bytes = b"") -> bytes:
    return git(folder, *arguments, why=f"--from-ref {why}", stdin=stdin)
