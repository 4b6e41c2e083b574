"""Read CustomResourceDefinitions from files and folders."""

from __future__ import annotations

from collections.abc import Sequence

from jobspec.apis.releases import Target
from jobspec.diagnostics.diagnostic import Diagnostic
from jobspec.diagnostics.errors import JobspecError
from jobspec.documents.decoding import decode
from jobspec.documents.document import Document
from jobspec.kubernetes.custom_kinds import CRD, UnreadFile, definitions_in
from jobspec.kubernetes.verdict import verdict
from jobspec.session.disk import DISK, Disk
from jobspec.session.finding import find
from jobspec.session.reading import content_of


def find_crds(paths: Sequence[str], target: Target, disk: Disk = DISK) -> tuple[list[Document | UnreadFile], dict[str, list[Diagnostic]]]:
    """The CRDs in files, and the errors by file; in folders, the files with CRDs are left to be read when a kind needs them.

    Raises JobspecError for a path without any CRD.
    """
    crds: list[Document | UnreadFile] = []
    wrong: dict[str, list[Diagnostic]] = {}
    for path in paths:
        texts = [(found.path, decode(content_of(found), found.path)) for found in find([path], disk=disk) if not found.named]
        unread = [UnreadFile(file, text) for file, text in texts if isinstance(text, str) and CRD[1] in text]
        read_now, errors = ([], {}) if unread else read_crds([path], target, disk)
        crds += [*unread, *read_now]
        wrong |= errors
    return crds, wrong


def read_crds(paths: Sequence[str], target: Target, disk: Disk = DISK) -> tuple[list[Document], dict[str, list[Diagnostic]]]:
    """Read the CRDs in files and folders, and return them with the errors by file.

    Raises JobspecError for a path without any CRD.
    """
    crds: list[Document] = []
    wrong: dict[str, list[Diagnostic]] = {}
    for path in paths:
        before = len(crds)
        for found in find([path], disk=disk):
            text = decode(content_of(found), found.path)
            defining, errors = (
                definitions_in(found.path, text, lambda crd: verdict(crd, target).diagnostics) if isinstance(text, str) else ([], [text])
            )
            crds += defining
            if errors and (defining or found.named):
                wrong[found.path] = errors
        if len(crds) == before and not wrong:
            raise JobspecError(f"--crd {path}: no CustomResourceDefinition of {CRD[0]} in it")
    return crds, wrong
