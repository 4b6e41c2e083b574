"""Files of a command line: paths to files, files to their content, and git where it is asked."""

from __future__ import annotations

import os
import sys

from jobspec.data import path_of_file
from jobspec.diagnostics import FileResult, JobspecError, Record
from jobspec.documents.document import ENGINES, KUSTOMIZATIONS, PAGES, result_of
from jobspec.documents.reader import MAX_FILE, decode
from jobspec.kinds import MANIFEST_ENDINGS, PROJECT_FILE, group_kind
from jobspec.pipeline import Source, one_by_one, whole

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
    from dataclasses import KW_ONLY
    from typing import Any

    from jobspec.commands.options import Options
    from jobspec.diagnostics import DocumentResult
    from jobspec.kustomize import InBuild
    from jobspec.rules.ignores import ReportFilter


STDIN = "<stdin>"
CHART = "Chart.yaml"
IGNORE_FILE = ".jobspecignore"
_OF_TOOLS = frozenset((".git", ".hg", ".venv", ".tox", ".nox", ".cache", ".terraform", ".jobspec", "node_modules"))
_OF_ROLES = ("patch", "assert", "error")  # words in the names of files that are no manifests
_RENDERED = b"# Source: "  # a comment of what helm renders
_PART_SIZE = 1 << 20  # characters
_PART = 1 << 14  # bytes; to ask for many more than there are costs as much as the file


#: The texts of the documents that are open in an editor, by their real paths: they stand for the files on disk.
OPENED: dict[str, bytes] = {}

#: The real path of the folder outside of which no file is found, where there is one: links that lead out of it are passed by.
CONFINED_TO: list[str] = []


class Found(Record):
    """A file to read, or a part of a large one."""

    path: str
    _: KW_ONLY
    named: bool
    """Whether the user named it; else it was met in a folder."""
    content: bytes | None = None
    """What it holds, where that can be read only once."""
    in_build: InBuild | None = None
    """Its role in the builds of its repository; None where it is judged by itself."""
    part: int = 0
    """The number of the part."""
    first_line: int = 0
    """The number of lines before the part."""
    span: tuple[int, int] | None = None
    """The bytes at which the part begins and ends; None of a whole file."""


def find(
    paths: Iterable[str],
    *,
    markdown: bool = False,
    skip_unknown: bool = False,
    build: bool = False,
    encrypted: bool = False,
    run: Callable[..., list[Any]] = one_by_one,
) -> list[Found]:
    """The files that *paths* stand for: `-` is standard input, a folder all manifests in it, dot-folders left out.

    *markdown*: a folder stands for its Markdown pages, too. *skip_unknown*: named files get their role in a build, too. *build*: what
    kustomize builds of the files is among them, and says which of them are judged by that alone. *encrypted*: what SOPS has encrypted in a
    folder is judged, too, and not skipped. *run*: how many files are read, as in `pipeline.check_files`.

    Raises JobspecError naming every path that does not exist and every folder without a manifest.
    """
    paths = list(paths)
    stdin = _stdin() if "-" in paths else b""
    found = []
    wrong = []
    for path in paths:
        if path == "-":
            found.append(Found(STDIN, named=True, content=stdin))
        elif os.path.isdir(path):
            inside = list(_walk(path, (*MANIFEST_ENDINGS, *PAGES) if markdown else MANIFEST_ENDINGS))
            found += inside
            if not inside:
                wrong.append(f"{path}: no *.yaml, *.yml or *.json file in this folder")
        elif os.path.exists(path):
            found.append(Found(path, named=True))
        else:
            wrong.append(f"{path}: no such file or folder")
    if wrong:
        raise JobspecError("\n".join(wrong))
    named = {os.path.normpath(each.path) for each in found if each.named}
    found = [each for each in found if each.named or each.path not in named]
    vendored = dict.fromkeys(filter(_is_vendored, found))
    found = _with_roles([each for each in found if each not in vendored], skip_unknown=skip_unknown, build=build, run=run)
    found += (skipped(each.path, "vendored file") for each in vendored)
    return found if encrypted else [skipped(each.path, "encrypted file") if _is_encrypted(each) else each for each in found]


def find_for(
    options: Options,
    settings: ReportFilter | None,
    *,
    build: bool = False,
    kubernetes: str = "",
    encrypted: bool = False,
    run: Callable[..., list[Any]] = one_by_one,
) -> list[Found]:
    """The files of a command line, and what helm renders of its charts for a release of Kubernetes.

    Without a path it means the project here, or else the working folder, unless there are charts. Files in folders that Git ignores, that
    a `.jobspecignore` names or that the *settings* exclude are skipped. The others are as in `find`.
    """
    default = [PROJECT_FILE if os.path.isfile(PROJECT_FILE) else os.curdir]
    paths = options.paths or ([] if options.helm else default)
    markdown, skip_unknown = options.markdown, options.skip_unknown
    found = find(paths, markdown=markdown, skip_unknown=skip_unknown, build=build, encrypted=encrypted, run=run)
    if walked := [each for each in paths if os.path.isdir(each)]:
        excluded = [*(settings.exclude if settings else ()), *_ignore_files(walked)]
        found = without_excluded(without_ignored(found, walked), excluded)
        found += left_out(walked)
    if not options.helm:
        return found
    from jobspec.commands.builds import rendered_charts

    charts = rendered_charts(options.helm, options.values, kubernetes)
    return [*found, *(Found(path, named=False, in_build=each) for path, each in charts.items())]


def _with_roles(found: list[Found], *, skip_unknown: bool, build: bool, run: Callable[..., list[Any]] = one_by_one) -> list[Found]:
    """Each file with its role in a build; named files that are judged as they are stay unchanged."""
    asked = [each for each in found if is_judged_in_build(each, skip_unknown=skip_unknown)]
    folders = {os.path.dirname(each.path) for each in asked}
    around = _with_those_around(folders)
    folders |= {each for file in asked if file.named for each in folders_around(file.path)}
    charts = [each for each in around if os.path.isfile(os.path.join(each, CHART))]
    is_built = charts or any(os.path.isfile(os.path.join(folder, name)) for folder in folders for name in KUSTOMIZATIONS)
    speaking = is_built or any(word in each.path for each in asked for word in _OF_ROLES)
    if not speaking and not any(mentions(each.path, *ENGINES) for each in asked):
        return found
    from dataclasses import replace

    from jobspec.commands.builds import in_builds

    known = in_builds([each.path for each in asked], charts, build=build, run=run)
    if OPENED:  # the files on disk have what is known of their documents and kinds
        known = {path: replace(each, documents=(), kinds=None) for path, each in known.items()}
    ids = set(map(id, asked))
    files = [Found(each.path, named=each.named, in_build=known.pop(each.path, None)) if id(each) in ids else each for each in found]
    return [*files, *(Found(path, named=False, in_build=each) for path, each in known.items())]


def is_judged_in_build(found: Found, *, skip_unknown: bool) -> bool:
    """Whether a file is judged by what the repository makes of it: nobody named it, or unknown kinds are skipped."""
    return found.content is None and (skip_unknown or not found.named)


def projects_around(found: Sequence[Found]) -> list[Found]:
    """The projects in the folders around named files, which may be bases of theirs, or what they were rendered to."""
    given = {os.path.normpath(each.path) for each in found}
    folders = dict.fromkeys(folder for each in found if each.named and each.content is None for folder in folders_around(each.path))
    paths = [os.path.normpath(os.path.join(folder, PROJECT_FILE)) for folder in folders]
    return [Found(each, named=False) for each in paths if each not in given and os.path.isfile(each)]


def folders_around(path: str) -> Iterator[str]:
    """The folders around a file or folder, from inside outwards, up to the one that holds the repository or the working folder."""
    here = os.path.dirname(path)
    while here not in ("", ".", os.sep):
        yield here
        if os.path.exists(os.path.join(here, ".git")):
            return
        here = os.path.dirname(here)
    yield here


def _with_those_around(folders: Iterable[str]) -> set[str]:
    """Some folders, and those around each of them."""
    found: set[str] = set()
    for folder in folders:
        if folder not in found:
            found.add(folder)
            for each in folders_around(folder):
                if each in found:
                    break
                found.add(each)
    return found


def folders_above(folder: str) -> Iterator[str]:
    """The folders above one, from inside outwards, up to the root of its repository; none where there is no repository."""
    above = []
    here = os.path.abspath(folder)
    while not os.path.exists(os.path.join(here, ".git")):
        if here == os.path.dirname(here):
            return
        here = os.path.dirname(here)
        above.append(os.path.relpath(here, folder))
    yield from above


def _walk(folder: str, endings: tuple[str, ...]) -> Iterator[Found]:
    for here, folders, names in os.walk(folder, onerror=_unreadable):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(names):
            path = _below(here, name)
            if name.lower().endswith(endings) and not name.startswith(".") and _is_there(path):
                yield Found(path, named=False)


def _is_vendored(found: Found) -> bool:
    """Whether a file that nobody named is in the `vendor` folder of a Go module, which holds copies of other projects."""
    module, vendor, _ = found.path.rpartition("vendor" + os.sep)
    return bool(vendor) and not found.named and os.path.isfile(os.path.join(module, "vendor", "modules.txt"))


def _is_encrypted(found: Found) -> bool:
    """Whether SOPS has encrypted a file that nobody named."""
    return not found.named and mentions(found.path, b"ENC[AES256_GCM,") and mentions(found.path, b"\nsops:", b'"sops":')


def _is_there(path: str) -> bool:
    """Whether a file exists; a link has to lead to one inside of the folder that is searched."""
    return os.path.exists(path) and all(os.path.commonpath((os.path.realpath(path), each)) == each for each in CONFINED_TO)


def _below(folder: str, name: str) -> str:
    """The path of a file in a folder; without the `./` of the working folder."""
    return os.path.join(folder, name).removeprefix(os.curdir + os.sep)


def unbuilt(found: Iterable[Found], command: str) -> str:
    """How a command that builds nothing gets what is built of the files; empty where there is nothing to build."""
    for each in found:
        if os.path.basename(each.path) in KUSTOMIZATIONS:
            return f"; build them first: kustomize build {os.path.dirname(each.path) or os.curdir} | jobspec {command} -"
    return ""


def left_out(paths: Iterable[str]) -> list[Found]:
    """The manifests in hidden folders below some folders, which are not checked, only counted as skipped."""
    found: list[Found] = []
    for path in paths:
        for here, folders, names in os.walk(path):
            is_hidden = f"{os.sep}." in here[len(path.rstrip(os.sep)) :]
            folders[:] = sorted(name for name in folders if name not in _OF_TOOLS)
            if is_hidden:
                files = [_below(here, name) for name in sorted(names) if name.lower().endswith(MANIFEST_ENDINGS)]
                found += [skipped(each, "hidden file") for each in files if mentions(each, b"apiVersion") and mentions(each, b"kind")]
    return found


def skipped(path: str, why: str) -> Found:
    """A file that is counted as skipped, and why."""
    from jobspec.kustomize import InBuild

    return Found(path, named=False, in_build=InBuild(why))


def without_ignored(found: Sequence[Found], folders: Sequence[str]) -> list[Found]:
    """The files, of which those that Git ignores are skipped and counted, unless it ignores all of them."""
    walked = [each.path for each in found if not each.named]
    around = _with_those_around({*folders, *map(os.path.dirname, walked)})
    if not any(os.path.isfile(os.path.join(each, ".gitignore")) for each in around):
        return list(found)
    import subprocess

    names = b"".join(os.fsencode(each) + b"\0" for each in walked)
    try:
        command = ["git", "check-ignore", "-z", "--stdin"]
        done = subprocess.run(command, input=names, capture_output=True, check=False)  # noqa: S603 (no shell, and no path as an option)
    except OSError:
        return list(found)  # without Git no file is ignored
    ignored = {os.fsdecode(each) for each in done.stdout.split(b"\0") if each}
    if not ignored or len(ignored) == len(set(walked)):
        return list(found)
    return [skipped(each.path, "ignored file") if each.path in ignored and not each.named else each for each in found]


class Patterns(Record):
    """Patterns of files, as a `.gitignore` has them, and the folder that they begin at."""

    folder: str
    lines: Sequence[str]


def _ignore_files(folders: Sequence[str]) -> list[Patterns]:
    """The patterns of the `.jobspecignore` in each of some folders and above them."""
    around = dict.fromkeys(os.path.normpath(os.path.join(each, up)) for each in folders for up in (os.curdir, *folders_above(each)))
    found = []
    for folder in (os.curdir, *around):
        path = os.path.join(folder, IGNORE_FILE)
        if os.path.isfile(path):
            found.append(Patterns(folder, _read_beginning(path).decode(errors="replace").splitlines()))
    return found


def without_excluded(found: Sequence[Found], excluded: Sequence[Patterns]) -> list[Found]:
    """The files, of which those that patterns match are skipped and counted, but for those that the user named."""
    if not excluded:
        return list(found)
    from pathspec import GitIgnoreSpec

    specs = [(each.folder, GitIgnoreSpec.from_lines(each.lines)) for each in excluded]

    def is_excluded(path: str) -> bool:
        return any(spec.match_file(os.path.relpath(path, folder)) for folder, spec in specs)

    return [skipped(each.path, "excluded file") if not each.named and is_excluded(each.path) else each for each in found]


def _unreadable(error: OSError) -> None:
    raise JobspecError(f"{error.filename}: {error.strerror}")


def _stdin() -> bytes:
    if sys.stdin is None:
        raise JobspecError("standard input is closed")
    return sys.stdin.buffer.read(MAX_FILE + 1)


def content_of(found: Found) -> bytes:
    """What a file or the part of one holds, as far as it can matter: a byte more than a manifest can have.

    Raises JobspecError where it cannot be read.
    """
    if found.span is None:
        return _whole(found)
    start, end = found.span
    if found.content is not None or _opened(found.path) is not None or (found.in_build and found.in_build.build):
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
        return _read_beginning(found.path)
    except OSError as error:
        raise JobspecError(f"{found.path}: {error.strerror}") from None


def source_of(found: Found, *, skip_unknown: bool, values: Mapping[str, str] | None = None) -> Source:
    """A file ready to be checked, with *values* for its placeholders, over those that Flux gives.

    What is unknown in it is skipped where the user did not name the file, or wants it so.
    """
    values = values_for(found, values)
    content = _yaml_of_page(found) if found.path.endswith(PAGES) else content_of(found)
    skip_unknown = skip_unknown or skips_unknown(found)
    return Source(
        found.path,
        content,
        skip_unknown=skip_unknown,
        in_build=found.in_build,
        part=found.part,
        first_line=found.first_line,
        values=values,
    )


def values_for(found: Found, values: Mapping[str, str] | None) -> Mapping[str, str] | None:
    """The values for the placeholders of a file: given ones over those that Flux gives; None where nobody gives any."""
    of_flux = found.in_build.by_engine.values if found.in_build else None
    return values if of_flux is None else {**of_flux, **(values or {})}


def parts_of(found: Found) -> list[Found]:
    """A file; or if it is large, its parts of several documents: one after the other they need less memory than all together."""
    if found.path.endswith(PAGES) or _size(found) <= _PART_SIZE:
        return [found]
    content = content_of(found)
    text = decode(content, found.path)
    if not isinstance(text, str):
        return [found]
    from jobspec.documents.syntax import cut

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
    from jobspec.documents.syntax import cut_of_kinds

    text = decode(content, found.path)
    if found.path.endswith(PAGES) or not isinstance(text, str) or len(text.encode()) != len(content):
        return [found]
    start = found.span[0] if found.span else 0
    return [
        found.changed(first_line=found.first_line + line, span=(start + at, start + at + len(piece.encode())))
        for piece, line, at in cut_of_kinds(text, kinds, words)
    ]


def _size(found: Found) -> int:
    if found.in_build and found.in_build.build:
        return found.in_build.build.size
    if found.in_build and (found.in_build.role or found.in_build.documents):
        return 0
    return len(found.content) if found.content is not None else os.path.getsize(found.path)


def reported(
    results: Sequence[FileResult], found: Sequence[Found], *, skip_unknown: bool, values: Mapping[str, str] | None = None
) -> list[FileResult]:
    """The results to report: of whole files, builds at the files that they were built of, and without findings about placeholders."""
    results = whole(results)
    asked = {each.path: each for each in found if is_judged_in_build(each, skip_unknown=skip_unknown)}
    if builds := {each.path: each.in_build.build for each in found if each.in_build and each.in_build.build}:
        from jobspec.kustomize import at_sources

        results = at_sources(results, builds)
    given = {each.path: each.content for each in found if each.content is not None}
    results = [_with_templates(each, given.get(each.path), found) if each.diagnostics else each for each in results]
    results = _with_seeming_roles(_with_own_kinds(results, asked), found)
    if not any(each.diagnostics and each.path in asked for each in results):
        return results
    from jobspec.kustomize import InBuild
    from jobspec.placeholders import without_placeholders

    text = reader(asked.values())

    def relaxed(result: FileResult) -> FileResult:
        if not result.diagnostics or result.path not in asked:
            return result
        file = asked[result.path]
        return without_placeholders(result, text, file.in_build or InBuild(), values_for(file, values) or {})

    return [relaxed(each) for each in results]


def _with_seeming_roles(results: list[FileResult], found: Sequence[Found]) -> list[FileResult]:
    """The results, where the first error of a file that the user named says that it seems to be no manifest, but a patch for example."""
    wrong = {each.path for each in results if not each.valid}
    named = [each for each in found if each.named and each.content is None and each.path in wrong]
    roles = {each.path: each.in_build.role for each in _with_roles(named, skip_unknown=True, build=False) if each.in_build}

    def saying(result: FileResult, role: str) -> FileResult:
        said = f"the file seems to be a {role}, which `--skip-unknown` passes by"
        first = next(each for each in result.diagnostics if each.severity == "error")
        hint = "; ".join(filter(None, (first.hint, said)))
        rows = [each.with_hint(hint) if each is first else each for each in result.diagnostics]
        return FileResult(result.path, result.documents, rows, ignored=result.ignored)

    return [saying(each, roles[each.path]) if roles.get(each.path) else each for each in results]


def _with_own_kinds(results: Sequence[FileResult], asked: Collection[str]) -> list[FileResult]:
    """The results, where a kind that a CRD of the repository defines is skipped as unknown, though it resembles one of ours."""
    defined = [row.name.partition(".") for each in results for row in each.documents if row.kind == "CustomResourceDefinition"]

    def is_own(row: DocumentResult) -> bool:
        group, kind = group_kind(row.api_version, row.kind)
        return any(group == domain and plural.startswith(kind.lower()[:-1]) for plural, _, domain in defined)

    def with_own(result: FileResult) -> FileResult:
        wrong = {each.document for each in result.diagnostics if each.rule == "unknown-kind"}
        own = {row.index for row in result.documents if row.index in wrong and is_own(row)}
        rows = [result_of(row, "skipped") if row.index in own else row for row in result.documents]
        kept = [each for each in result.diagnostics if each.document not in own or each.rule != "unknown-kind"]
        return FileResult(result.path, rows, kept, ignored=result.ignored) if own else result

    return [with_own(each) if defined and each.diagnostics and each.path in asked else each for each in results]


def _with_templates(result: FileResult, content: bytes | None, found: Sequence[Found]) -> FileResult:
    """The result, with the templates of findings where helm rendered the file. *content*: what is not on disk."""
    if not (_RENDERED in content if content is not None else os.path.isfile(result.path) and mentions(result.path, _RENDERED)):
        return result
    from jobspec.helm import with_templates

    return with_templates(result, reader(found)(result.path))


def skips_unknown(found: Found) -> bool:
    """Whether unknown documents in a file are always skipped: the user did not name the file, or it is a Markdown page."""
    return not found.named or found.path.endswith(PAGES)


def _yaml_of_page(found: Found) -> bytes:
    """The manifests of a Markdown page, on its lines; the unchanged page if it is not text."""
    from jobspec.documents.markdown import yaml_of

    content = content_of(found)
    text = decode(content, found.path)
    return yaml_of(text).encode() if isinstance(text, str) else content


def mentions(path: str, *words: bytes) -> bool:
    """Whether there is a file that has one of these words; what comes through a pipe cannot be read twice, and has none."""
    try:
        content = _read_beginning(path) if os.path.isfile(path) else b""
        return any(each in content for each in words)
    except OSError:
        return False


def _read_beginning(path: str) -> bytes:
    """The first bytes of a file, by fewer calls of the system than a file object needs; or its text in an editor."""
    if (text := _opened(path)) is not None:
        return text
    file = os.open(path, os.O_RDONLY)
    try:
        parts = []
        left = MAX_FILE + 1
        while left and (part := os.read(file, min(left, _PART))):
            parts.append(part)
            left -= len(part)
        return b"".join(parts)
    finally:
        os.close(file)


def _opened(path: str) -> bytes | None:
    return OPENED.get(os.path.realpath(path)) if OPENED else None


def reader(files: Iterable[Found]) -> Callable[[str], str]:
    """What gives the text of a file by its name once more; empty where it cannot be read again, as what came through a pipe."""
    kept = {each.path: each.content for each in files if each.content is not None}

    def text(name: str) -> str:
        path = path_of_file(name)
        if name not in kept and not os.path.isfile(path):
            return ""
        try:
            decoded = decode(kept[name] if name in kept else _read_beginning(path), name)
        except OSError:
            return ""
        return decoded if isinstance(decoded, str) else ""

    return text


# Ask git: one program, run without a shell, whose errors become ours.


def git(folder: str, *arguments: str, why: str, stdin: bytes = b"") -> bytes:
    """What git prints in a folder. Raises JobspecError with *why* and git's own words where it fails."""
    import subprocess

    command = ["git", "-C", folder, *arguments]
    try:
        done = subprocess.run(command, input=stdin, capture_output=True, check=False)  # noqa: S603 (no shell; a ref is no option)
    except FileNotFoundError:
        raise JobspecError(f"{why}: git is not installed") from None
    if done.returncode:
        error = done.stderr.decode(errors="replace").strip()
        raise JobspecError(why + (f": {error}" if error else ""))
    return done.stdout


def git_files(folder: str, tree: str, path: str, *, why: str, wanted: Callable[[str, bytes], bool]) -> Iterator[tuple[str, bytes]]:
    """The name and content of each file at or below a path in a tree of Git's; *wanted* chooses by name and mode."""
    rows = git(folder, "ls-tree", "-r", "-z", tree, "--", path, why=why).split(b"\0")
    listed = [(os.fsdecode(name), about.split()) for about, _, name in (row.partition(b"\t") for row in rows) if name]
    chosen = [(name, about[2]) for name, about in listed if wanted(name, about[0])]
    answers = git(folder, "cat-file", "--batch", why=why, stdin=b"".join(blob + b"\n" for _, blob in chosen))
    start = 0
    for name, _ in chosen:
        line = answers.index(b"\n", start)
        start = line + 2 + int(answers[start:line].split()[2])
        yield name, answers[line + 1 : start - 1]
