"""Find the files of a command line, each with its role in a build."""

from __future__ import annotations

import os

from jobspec.apis.kinds import MANIFEST_ENDINGS, PROJECT_FILE
from jobspec.diagnostics.errors import JobspecError
from jobspec.documents.document import CHART, KUSTOMIZATIONS, PAGES
from jobspec.journey.journey import one_by_one
from jobspec.session.disk import DISK
from jobspec.session.folders import folders_around, holds_repository, with_those_around
from jobspec.session.found import STDIN, Found, disk_of, is_judged_in_build, skipped
from jobspec.session.mentions import ROLES, may_say_roles
from jobspec.session.reading import read_stdin

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from typing import Any

    from jobspec.lint.ignores import ReportFilter
    from jobspec.session.disk import Disk
    from jobspec.session.kept_facts import KeptFacts
    from jobspec.session.options import Options
    from jobspec.session.reach import Reach


_OF_TOOLS = frozenset((".git", ".hg", ".venv", ".tox", ".nox", ".cache", ".terraform", ".jobspec", "node_modules"))
_OF_ROLES = ("patch", "assert", "error")  # words in the names of files that are no manifests
_OF_MANIFESTS = (b"apiVersion", b"kind")


def find(
    paths: Iterable[str],
    *,
    markdown: bool = False,
    skip_unknown: bool = False,
    build: bool = False,
    encrypted: bool = False,
    disk: Disk = DISK,
    run: Callable[..., list[Any]] = one_by_one,
    keep: bool = True,
    facts: KeptFacts | None = None,
) -> list[Found]:
    """Return the files that *paths* stand for.

    The path `-` is standard input, and a folder stands for all manifests in it, with dot-folders left out.

    *markdown*: a folder stands for its Markdown pages, too. *skip_unknown*: named files get their role in a build, too. *build*: what
    kustomize builds of the files is among them, and says which of them are judged by that alone. *encrypted*: what SOPS has encrypted in a
    folder is judged, too, and not skipped. *run*: how many files are read, such as one by one. *keep*, *facts*: as in `in_builds`.

    Raises JobspecError naming every path that does not exist and every folder without a manifest.
    """
    paths = list(paths)
    stdin = read_stdin() if "-" in paths else b""
    found = []
    wrong = []
    for path in paths:
        if path == "-":
            found.append(Found(STDIN, named=True, content=stdin, disk=disk))
        elif os.path.isdir(path):
            inside = list(_walk(path, (*MANIFEST_ENDINGS, *PAGES) if markdown else MANIFEST_ENDINGS, disk))
            found += inside
            if not inside:
                wrong.append(f"{path}: no *.yaml, *.yml or *.json file in this folder")
        elif os.path.exists(path):
            found.append(Found(path, named=True, disk=disk))
        else:
            wrong.append(f"{path}: no such file or folder" if path else "an empty path names no file: is a variable of the shell unset?")
    if wrong:
        raise JobspecError("\n".join(wrong))
    named = {os.path.normpath(each.path) for each in found if each.named}
    found = [each for each in found if each.named or each.path not in named]
    own, vendored = _without_vendored(found)
    found = [*with_roles(own, skip_unknown=skip_unknown, build=build, run=run, keep=keep, facts=facts), *vendored]
    return found if encrypted else _without_encrypted(found)


def find_among(reach: Reach, *, run: Callable[..., list[Any]]) -> list[Found]:
    """The manifests that a change can reach, and what kustomize builds of those that are edited. *run*: as in `find`."""
    own, vendored = _without_vendored([Found(each, named=False) for each in reach.manifests])
    built = with_roles(own, skip_unknown=False, build=True, run=run, about=reach) if own else []
    return _without_encrypted([*built, *vendored])


def find_near(paths: Iterable[str], settings: ReportFilter | None, disk: Disk) -> list[Found]:
    """Return some files of a folder, each with its role in the kustomizations around it.

    Other files are not looked for: a kustomization elsewhere may have a file as its base or patch.
    """
    from jobspec.session.exclusions import ignore_files, without_excluded
    from jobspec.session.reach import Reach

    own, vendored = _without_vendored([Found(each, named=False, disk=disk) for each in paths])
    around = {
        os.path.realpath(os.path.join(folder, name)) for each in own for folder in folders_around(each.path) for name in KUSTOMIZATIONS
    }
    reach = Reach(frozenset(), (), [each for each in sorted(around) if os.path.isfile(each)], "")
    found = [*(with_roles(own, skip_unknown=False, build=False, about=reach) if own else ()), *vendored]
    found = without_excluded(found, [*(settings.exclude if settings else ()), *ignore_files([os.curdir], disk)])
    return _without_encrypted(found)


def _without_vendored(found: Iterable[Found]) -> tuple[list[Found], list[Found]]:
    """The files that are the repository's own, and copies of other projects, which are skipped."""
    own, vendored = list[Found](), list[Found]()
    known: dict[str, bool] = {}
    for each in found:
        folder = os.path.dirname(each.path)
        if not each.named and folder not in known:
            known[folder] = _is_vendored(folder)
        if not each.named and known[folder]:
            vendored.append(skipped(each.path, "vendored file", each.disk))
        else:
            own.append(each)
    return own, vendored


def _without_encrypted(found: Iterable[Found]) -> list[Found]:
    return [skipped(each.path, "encrypted file", each.disk) if _is_encrypted(each) else each for each in found]


def words_for_finding(text: bytes) -> list[bytes]:
    """Return the words in a text that decide how its file, and others, are found."""
    return [each for each in (*_OF_MANIFESTS, *ROLES) if each in text]


def in_working_folder(options: Options) -> Options:
    """Name the working folder if a command line names neither a path nor a chart."""
    return options if options.paths or options.helm else options.changed(paths=[os.curdir])


def find_for(
    options: Options,
    settings: ReportFilter | None,
    *,
    build: bool = False,
    kubernetes: str = "",
    encrypted: bool = False,
    run: Callable[..., list[Any]] = one_by_one,
    facts: KeptFacts | None = None,
) -> list[Found]:
    """Return the files of a command line, and what helm renders of its charts.

    Without a path, the command line means the project here, or else the working folder, unless there are charts. Files in folders that Git
    ignores, that a `.jobspecignore` names or that the *settings* exclude are skipped. *kubernetes*: the release of Kubernetes that helm
    renders for. The other parameters are as in `find`.
    """
    default = [PROJECT_FILE if os.path.isfile(PROJECT_FILE) else os.curdir]
    paths = options.paths or ([] if options.helm else default)
    markdown, skip_unknown, disk = options.markdown, options.skip_unknown, options.disk
    found = find(
        paths,
        markdown=markdown,
        skip_unknown=skip_unknown,
        build=build,
        encrypted=encrypted,
        disk=disk,
        run=run,
        keep=options.cache,
        facts=facts,
    )
    if walked := [each for each in paths if os.path.isdir(each)]:
        from jobspec.session.exclusions import ignore_files, without_excluded, without_ignored

        excluded = [*(settings.exclude if settings else ()), *ignore_files(walked, disk)]
        found = without_excluded(without_ignored(found, walked), excluded)
        found += left_out(walked, disk)
    if not options.helm:
        return found
    from jobspec.session.builds import chart_values, rendered_charts

    charts = rendered_charts(options.helm, chart_values(options), kubernetes)
    return [*found, *(Found(path, named=False, in_build=each, disk=disk) for path, each in charts.items())]


def with_roles(
    found: list[Found],
    *,
    skip_unknown: bool,
    build: bool,
    run: Callable[..., list[Any]] = one_by_one,
    about: Reach | None = None,
    keep: bool = True,
    facts: KeptFacts | None = None,
) -> list[Found]:
    """Each file with its role in a build.

    Named files that are judged as they are stay unchanged, unless a kustomization that is named with them has them as patches or inputs.
    """
    parts = _parts_of_kustomizations([each for each in found if each.named and each.content is None])
    asked = [each for each in found if is_judged_in_build(each, skip_unknown=skip_unknown) or os.path.realpath(each.path) in parts]
    folders = {os.path.dirname(each.path) for each in asked}
    around = with_those_around(folders)
    folders |= {each for file in asked if file.named for each in folders_around(file.path)}
    charts = [each for each in around if os.path.isfile(os.path.join(each, CHART))]
    is_built = (
        charts
        or (about and about.kustomizations)
        or any(os.path.isfile(os.path.join(folder, name)) for folder in folders for name in KUSTOMIZATIONS)
    )
    speaking = is_built or any(word in each.path for each in asked for word in _OF_ROLES)
    if not speaking and not any(may_say_roles(each.path, each.disk, facts) for each in asked):
        return found
    from dataclasses import replace

    from jobspec.session.builds import in_builds

    disk = disk_of(found)
    known = in_builds([each.path for each in asked], charts, build=build, run=run, about=about, keep=keep, disk=disk, facts=facts)
    opened = [path for path in known if disk.opened_text(path) is not None]  # what is known of their documents and kinds is of the disk
    known |= {path: replace(known[path], documents=(), kinds=None) for path in opened}
    ids = set(map(id, asked))
    files = [each.changed(in_build=known.pop(each.path, None)) if id(each) in ids else each for each in found]
    given = {os.path.normpath(each.path) for each in found}
    further = [(path, each) for path, each in known.items() if os.path.normpath(path) not in given]
    return [*files, *(Found(path, named=False, in_build=each, disk=disk) for path, each in further)]


def _parts_of_kustomizations(named: Sequence[Found]) -> set[str]:
    """Return the real paths of the patches and inputs of the kustomizations among named files."""
    kustomizations = [each.path for each in named if os.path.basename(each.path) in KUSTOMIZATIONS]
    if not kustomizations or len(kustomizations) == len(named):
        return set()
    from jobspec.repository.roles import inputs_of, patches_of
    from jobspec.session.source_files import DiskFiles

    files = DiskFiles(disk_of(named))
    read = [(path, each.data) for path in kustomizations for each in files.documents(path)[:1] if isinstance(each.data, dict)]
    parts = ((path, name) for path, data in read for name in (*patches_of(data), *inputs_of(data)) if name)
    return {os.path.realpath(os.path.join(os.path.dirname(path), name)) for path, name in parts}


def projects_around(found: Sequence[Found]) -> list[Found]:
    """The projects in the folders around named files, which may be bases of theirs, or what they were rendered to."""
    given = {os.path.normpath(each.path) for each in found}
    folders = dict.fromkeys(folder for each in found if each.named and each.content is None for folder in folders_around(each.path))
    paths = [os.path.normpath(os.path.join(folder, PROJECT_FILE)) for folder in folders]
    disk = disk_of(found)
    return [Found(each, named=False, disk=disk) for each in paths if each not in given and os.path.isfile(each)]


def _walk(folder: str, endings: tuple[str, ...], disk: Disk) -> Iterator[Found]:
    for here, folders, names in disk.walk(folder, onerror=_unreadable):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(names):
            path = _below(here, name)
            if name.lower().endswith(endings) and not name.startswith(".") and disk.has(path):
                yield Found(path, named=False, disk=disk)


def _is_vendored(folder: str) -> bool:
    """Whether a folder is in the `vendor` folder of a Go module, which holds copies of other projects, inside of its repository."""
    here = os.path.abspath(folder)
    while f"{os.sep}vendor" in here and not holds_repository(here):
        if os.path.basename(here) == "vendor" and os.path.isfile(os.path.join(here, "modules.txt")):
            return True
        here = os.path.dirname(here)
    return False


def _is_encrypted(found: Found) -> bool:
    """Whether SOPS has encrypted a file that nobody named."""
    mentions = found.disk.mentions
    return not found.named and mentions(found.path, b"ENC[AES256_GCM,") and mentions(found.path, b"\nsops:", b'"sops":')


def _below(folder: str, name: str) -> str:
    """The path of a file in a folder; without the `./` of the working folder."""
    return os.path.join(folder, name).removeprefix(os.curdir + os.sep)


def unbuilt(found: Iterable[Found], command: str) -> str:
    """Return how a command that builds nothing gets the build of the files.

    If there is nothing to build, return an empty string.
    """
    for each in found:
        if os.path.basename(each.path) in KUSTOMIZATIONS:
            return f"; build them first: kustomize build {os.path.dirname(each.path) or os.curdir} | jobspec {command} -"
    return ""


def left_out(paths: Iterable[str], disk: Disk = DISK) -> list[Found]:
    """The manifests in hidden folders below some folders, which are not checked, only counted as skipped."""
    found: list[Found] = []
    for path in paths:
        for here, folders, names in disk.walk(path):
            is_hidden = f"{os.sep}." in here[len(path.rstrip(os.sep)) :]
            folders[:] = sorted(name for name in folders if name not in _OF_TOOLS)
            if is_hidden:
                files = [_below(here, name) for name in sorted(names) if name.lower().endswith(MANIFEST_ENDINGS)]
                found += [skipped(each, "hidden file") for each in files if all(disk.mentions(each, word) for word in _OF_MANIFESTS)]
    return found


def _unreadable(error: OSError) -> None:
    raise JobspecError(f"{error.filename}: {error.strerror}")
