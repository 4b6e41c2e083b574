"""Read the stored objects that manifests update: from files, or as they were at a Git ref.

Kustomizations are built on this side as on the side of the files, since a server stores what is built of them.
"""

from __future__ import annotations

import os
from contextlib import contextmanager

from jobspec.apis.kinds import MANIFEST_ENDINGS
from jobspec.diagnostics.diagnostic import Diagnostic
from jobspec.diagnostics.errors import JobspecError
from jobspec.diagnostics.places import Mark
from jobspec.diagnostics.record import Record
from jobspec.diagnostics.results import FileResult
from jobspec.documents.decoding import decode
from jobspec.documents.document import KUSTOMIZATIONS, Document, OnePlace, items_of
from jobspec.documents.reader import read
from jobspec.journey.reading import read as read_file
from jobspec.session.disk import DISK
from jobspec.session.finding import find
from jobspec.session.git import git, git_files
from jobspec.session.processes import spread_if_many
from jobspec.session.reading import content_of, source_of
from jobspec.world.world import StoredObjects

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from jobspec.apis.releases import Target
    from jobspec.session.disk import Disk
    from jobspec.session.found import Found

_PLAIN_FILES = (b"100644", b"100755")
"""Modes of files in Git's trees that are neither links nor other repositories."""


class Stored(Record):
    """The stored objects, and remarks about what could not be read of them."""

    objects: StoredObjects
    remarks: Sequence[FileResult] = ()


def from_files(path: str, target: Target, *, build: bool, keep: bool = True) -> Stored:
    """Read the stored objects in a file or folder. With *build*, run kustomize on the kustomizations in a folder; *keep* as in `find`."""
    if not (build and os.path.isdir(path)):
        return Stored(StoredObjects(documents_in(path, option="--from")))
    found = find([path], build=True, run=spread_if_many, keep=keep)
    documents = [each for file in found for each in _documents_of(file, target)]
    return Stored(StoredObjects(documents), _unbuilt(found, f"--from {path}", lambda name: name))


def documents_in(path: str, *, option: str, disk: Disk = DISK) -> list[Document]:
    """The documents of a file or folder that an *option* names.

    Raises JobspecError where a named file cannot be read; in a folder, it is skipped.
    """
    documents: list[Document] = []
    for found in find([path], disk=disk):
        text = decode(content_of(found), found.path)
        inside, problems = ([], [text]) if isinstance(text, Diagnostic) else read(text, file=found.path)
        if problems and found.named:
            raise JobspecError(f"{option} {problems[0].mark}: {problems[0].message}")
        documents += () if problems else inside
    return list(_objects(documents))


def from_ref(ref: str, paths: Sequence[str], target: Target, *, build: bool, keep: bool = True) -> Stored:
    """Read the objects of files and folders as they were at a Git ref. A file that did not exist or cannot be read has none.

    With *build*, run kustomize on the kustomizations in folders; *keep* as in `find`.
    """
    documents: list[Document] = []
    remarks: list[FileResult] = []
    for path in paths:
        if build and os.path.isdir(path) and _has_kustomizations(ref, path):
            inside, said = _built_at_ref(ref, path, target, keep=keep)
            documents += inside
            remarks += said
            continue
        for name, raw in _at_ref(ref, path):
            try:
                read_documents, problems = read(raw.decode(), file=name)
            except UnicodeDecodeError:
                continue
            documents += () if problems else read_documents
    return Stored(StoredObjects(_objects(documents)), remarks)


def _documents_of(found: Found, target: Target) -> list[Document]:
    """Read the documents of a file, or of what is built of it; none if the file is a part of a build, or has a mistake in its YAML."""
    manifests = read_file(source_of(found, skip_unknown=True), target)
    is_read = manifests.settled is None and not any(each.severity == "error" for each in manifests.diagnostics)
    return list(manifests.documents) if is_read else []


def _built_at_ref(ref: str, path: str, target: Target, *, keep: bool) -> tuple[list[Document], list[FileResult]]:
    """Build a folder as it was at a Git ref. Return its objects, with the names that their files have here, and remarks."""
    with _exported(ref, path) as (root, inside):
        place = os.path.join(root, inside)
        if not os.path.isdir(place) or not any(name.endswith(MANIFEST_ENDINGS) for _, _, names in os.walk(place) for name in names):
            return [], []

        def name_here(name: str) -> str:
            return os.path.normpath(os.path.join(path, os.path.relpath(name, place)))

        found = find([place], build=True, run=spread_if_many, keep=keep)
        documents = [_placed(each, name_here(each.file)) for file in found for each in _documents_of(file, target)]
        return documents, _unbuilt(found, f"--from-ref {ref}", name_here)


def _placed(document: Document, name: str) -> Document:
    """Return a document as one of a file of another name, whose values all have the place of that file."""
    place = OnePlace(document.data, lambda: Mark(name))
    return Document(document.data, place, file=name, index=document.index, has_merges=document.has_merges)


def _unbuilt(found: Sequence[Found], option: str, name_here: Callable[[str], str]) -> list[FileResult]:
    """Warn of kustomizations that could not be built on the stored side."""
    broken = [each for each in found if each.in_build and any(note.rule == "broken-kustomization" for note in each.in_build.notes)]
    names = [name_here(each.path) for each in broken]
    hint = "build it at both sides, or compare with the rendered files by --from"
    return [
        FileResult(
            option,
            [],
            [
                Diagnostic(
                    "broken-kustomization", f"{name} cannot be built: its objects count as new", Mark(option), severity="warning", hint=hint
                )
            ],
        )
        for name in names
    ]


@contextmanager
def _exported(ref: str, path: str) -> Iterator[tuple[str, str]]:
    """Write the files of the repository around a folder, as they were at a Git ref, to a temporary folder while they are needed.

    Gives that folder, and the path of the given one in it. Links are left out.
    """
    import tempfile

    from jobspec.session.builds import WORK_PREFIX

    why = f"--from-ref cannot read {path}"
    top = git(path, "rev-parse", "--show-toplevel", why=why).decode().rstrip("\n")
    tree = git(path, "rev-parse", f"{ref}^{{tree}}", why=why).decode().strip()
    with tempfile.TemporaryDirectory(prefix=WORK_PREFIX) as folder:
        root = os.path.realpath(folder)
        os.mkdir(os.path.join(root, ".git"))  # the root of a repository, outside of which nothing is read
        for name, content in git_files(top, tree, ".", why=why, wanted=lambda _, mode: mode in _PLAIN_FILES):
            place = os.path.join(root, name)
            os.makedirs(os.path.dirname(place), exist_ok=True)
            with open(place, "wb") as file:
                file.write(content)
        yield root, os.path.relpath(os.path.realpath(path), os.path.realpath(top))


def _has_kustomizations(ref: str, path: str) -> bool:
    """True if a folder had kustomizations at a Git ref. Raises JobspecError if there is no such ref."""
    tree = _tree(ref, path, path)
    names = git(path, "ls-tree", "-r", "-z", "--name-only", tree, "--", ".", why=f"--from-ref cannot read {path}").split(b"\0")
    return any(os.fsdecode(name).rpartition("/")[2] in KUSTOMIZATIONS for name in names)


def _objects(documents: Iterable[Document]) -> Iterator[Document]:
    return (each for document in documents for each in items_of(document))


def _tree(ref: str, folder: str, path: str) -> str:
    """The name of Git's tree of a ref. Raises JobspecError if there is none."""
    why = f"--from-ref {ref} is not a ref of {path}"
    return git(folder, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{ref}^{{tree}}", why=why).decode().strip()


def _at_ref(ref: str, path: str) -> Iterator[tuple[str, bytes]]:
    """Name and content of each manifest of a file or folder at a Git ref."""
    if path == "-":
        raise JobspecError("--from-ref: standard input is not a file of a Git repository; use --from FILE")
    folder, name = (path, ".") if os.path.isdir(path) else (os.path.dirname(path) or ".", os.path.basename(path))
    tree, why = _tree(ref, folder, path), f"--from-ref cannot read {path}"
    files = git_files(folder, tree, name, why=why, wanted=lambda file, _: name != "." or _is_manifest(file))
    yield from ((os.path.normpath(os.path.join(folder, each)), content) for each, content in files)


def _is_manifest(file: str) -> bool:
    return file.endswith(MANIFEST_ENDINGS) and not any(part.startswith(".") for part in file.split("/"))
