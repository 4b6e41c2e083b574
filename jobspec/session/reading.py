"""Read found files: whole, in parts, once more by name."""

from __future__ import annotations

import os
import sys

from jobspec.apis.shipped import path_of_file
from jobspec.diagnostics.errors import JobspecError
from jobspec.diagnostics.record import Record
from jobspec.documents.decoding import MAX_FILE, decode
from jobspec.documents.document import PAGES
from jobspec.journey.steps import Source
from jobspec.session.found import disk_of, skips_unknown
from jobspec.session.mentions import keep_mentions, kept_mentions, mentions_in, without_digits

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

    from jobspec.kubernetes.custom_kinds import UnreadFile
    from jobspec.repository.substitution import Variables
    from jobspec.session.found import Found
    from jobspec.session.kept_facts import KeptFacts
    from jobspec.session.mentions import Mentions
    from jobspec.session.source_files import DiskFiles


_PART_SIZE = 1 << 20  # characters
_TEXTS = 64  # decoded texts that are kept: what is said of one file comes together


def read_stdin() -> bytes:
    """Read standard input. Raises JobspecError if it is closed."""
    if sys.stdin is None:
        raise JobspecError("standard input is closed")
    return sys.stdin.buffer.read(MAX_FILE + 1)


def content_of(found: Found) -> bytes:
    """Return the content of a file or of a part of one, as far as it can matter.

    That is a byte more than a manifest can have.

    Raises JobspecError where it cannot be read.
    """
    if found.span is None:
        return _whole(found)
    start, end = found.span
    if found.content is not None or found.disk.opened_text(found.path) is not None or (found.in_build and found.in_build.build):
        return _whole(found)[start:end]
    with open(found.path, "rb") as file:
        file.seek(start)
        return file.read(end - start)


def _whole(found: Found) -> bytes:
    if found.content is not None:
        return found.content
    if found.in_build and found.in_build.build:
        return found.in_build.build.content
    try:
        return found.disk.read(found.path)
    except OSError as error:
        raise JobspecError(f"{found.path}: {error.strerror}") from None


def source_of(found: Found, *, skip_unknown: bool, values: Mapping[str, str] | None = None) -> Source:
    """Return a file ready to be checked, with *values* for its placeholders.

    The *values* override those that Flux gives. If the user did not name the file, or asks for skipping, what is unknown in the file is
    skipped.
    """
    content = _yaml_of_page(found) if found.path.endswith(PAGES) else content_of(found)
    skip_unknown = skip_unknown or skips_unknown(found)
    return Source(
        found.path,
        content,
        skip_unknown=skip_unknown,
        in_build=found.in_build,
        part=found.part,
        first_line=found.first_line,
        substitution=substitution_for(found, values),
        files=files_of(found) if found.in_build else None,
    )


def files_of(found: Found) -> DiskFiles:
    """What reads the files that a file is built of."""
    from jobspec.session.source_files import DiskFiles

    return DiskFiles(found.disk)


def substitution_for(found: Found, values: Mapping[str, str] | None) -> Variables | None:
    """What fills in the placeholders of a file: given *values*, before those of Flux; None where there is neither."""
    of_flux = found.in_build.by_engine.substitution if found.in_build else None
    if of_flux is None and values is None:
        return None
    from jobspec.repository.substitution import Variables

    return (of_flux or Variables(is_open=True)).with_given(values)


def parts_of(found: Found) -> list[Found]:
    """A file; or if it is large, its parts of several documents: one after the other they need less memory than all together."""
    if found.path.endswith(PAGES) or _size(found) <= _PART_SIZE:
        return [found]
    content = content_of(found)
    text = decode(content, found.path)
    if not isinstance(text, str):
        return [found]
    from jobspec.documents.streams import cut

    starts: list[tuple[int, int]] = []  # the first byte, and the lines before it
    at = 0
    for piece, line in cut(text):
        if not starts or at - starts[-1][0] >= _PART_SIZE:
            starts.append((at, line))
        at += len(piece.encode())
    if len(starts) == 1:
        return [found]
    ends = [start for start, _ in starts[1:]] + [at]
    return [
        found.changed(part=number, first_line=line, span=(start, end))
        for number, ((start, line), end) in enumerate(zip(starts, ends, strict=True))
    ]


def parts_with(found: Found, kinds: Collection[str], words: Collection[str] = ()) -> list[Found]:
    """The parts of a file that seem to be documents of some kinds, with one of some *words* unless there are none. They are not parsed."""
    build = found.in_build
    if build and (build.role or build.is_built or not build.may_have(kinds)):
        return []
    if not (os.path.isfile(found.path) or found.content is not None or (build and build.build)):
        return []  # what comes through a pipe cannot be read twice
    content = content_of(found)
    if not all(any(word.encode() in content for word in those) for those in (kinds, words) if those):
        return []
    from jobspec.documents.streams import cut_of_kinds

    text = decode(content, found.path)
    if found.path.endswith(PAGES) or not isinstance(text, str) or len(text.encode()) != len(content):
        return [found]
    start = found.span[0] if found.span else 0
    return [
        found.changed(first_line=found.first_line + line, span=(start + at, start + at + len(piece.encode())))
        for piece, line, at in cut_of_kinds(text, kinds, words)
    ]


#: A number that texts have in common which differ by digits alone, and the length of one of them.
TextLikeness = tuple[int, int]
UNREAD: TextLikeness = 0, 0
"""The likeness of a file that was not read."""


class LookedThrough(Record):
    """What the words in files say of their objects, before the files are parsed."""

    crds: Sequence[UnreadFile]
    """The files that may have CustomResourceDefinitions; templates are left out."""
    may_have_policies: bool
    """Whether a file names a kind of admission policies, or something is built that may."""
    may_decide: bool
    """Whether a file names a kind of objects that decide on the pods of others, or something is built that may."""
    likenesses: Mapping[str, TextLikeness]
    """For the path of each file that was read."""


def look_through(files: Iterable[Found], facts: KeptFacts | None = None) -> LookedThrough:
    """Look through files for CustomResourceDefinitions and admission policies, and for what they have in common.

    *facts*: what an earlier run has found out about the files; None if there is no such run.
    """
    texts, may_have_policies, may_decide = [], False, False
    likenesses: dict[str, TextLikeness] = {}
    alike: dict[int, Mentions] = {}
    for each in files:
        is_built = each.in_build is not None and each.in_build.build is not None
        may_have_policies, may_decide = may_have_policies or is_built, may_decide or is_built
        found = kept_mentions(each.path, facts) if each.content is None else None
        if found is None:
            if each.content is None and not each.disk.is_file(each.path):
                continue
            content = _written(each)
            text = without_digits(content)
            likeness = hash(text)
            likenesses[each.path] = likeness, len(content)
            if likeness not in alike:
                alike[likeness] = mentions_in(text)
            found = alike[likeness]
            if each.content is None:
                keep_mentions(each.path, found, facts)
        may_have_policies, may_decide = may_have_policies or found.policies, may_decide or found.deciding
        if found.definitions and not each.path.endswith(PAGES):
            texts.append((each.path, decode(_written(each), each.path)))
    crds: list[UnreadFile] = []
    if texts:
        from jobspec.kubernetes.custom_kinds import UnreadFile

        crds = [UnreadFile(path, crd) for path, crd in texts if isinstance(crd, str)]
    return LookedThrough(crds, may_have_policies, may_decide, likenesses)


def _written(found: Found) -> bytes:
    """The content of a file as it is written, whatever is built of it; empty if it cannot be read."""
    try:
        return found.content if found.content is not None else found.disk.read(found.path)
    except OSError:
        return b""


def _size(found: Found) -> int:
    if found.in_build and found.in_build.build:
        return found.in_build.build.size
    if found.in_build and (found.in_build.role or found.in_build.documents):
        return 0
    return len(found.content) if found.content is not None else os.path.getsize(found.path)


def _yaml_of_page(found: Found) -> bytes:
    """The manifests of a Markdown page, on its lines; the unchanged page if it is not text."""
    from jobspec.documents.markdown import yaml_of

    content = content_of(found)
    text = decode(content, found.path)
    return yaml_of(text).encode() if isinstance(text, str) else content


def reader(files: Iterable[Found]) -> Callable[[str], str]:
    """Return a function that reads the text of a file by its name once more.

    It keeps some texts for the next calls. If the file cannot be read again, as one that came through a pipe, the text is empty.
    """
    files = list(files)
    kept = {each.path: each.content for each in files if each.content is not None}
    disk = disk_of(files)
    texts: dict[str, str] = {}

    def written(name: str) -> str:
        path = path_of_file(name)
        if name not in kept and not disk.is_file(path):
            return ""
        try:
            decoded = decode(kept[name] if name in kept else disk.read(path), name)
        except OSError:
            return ""
        return decoded if isinstance(decoded, str) else ""

    def text(name: str) -> str:
        if name not in texts:
            if len(texts) >= _TEXTS:
                texts.clear()
            texts[name] = written(name)
        return texts[name]

    return text
