"""What files are in the builds of their repository; and kustomize, or kubectl which has it inside, to build them."""

from __future__ import annotations

import functools
import os
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from hashlib import blake2b, sha256
from itertools import chain
from typing import Any, NamedTuple

from jobspec.apis.kinds import CONFIG_MAP, SECRET, GroupKind
from jobspec.diagnostics.diagnostic import Diagnostic
from jobspec.diagnostics.errors import JobspecError
from jobspec.diagnostics.grouping import gathered
from jobspec.diagnostics.places import Mark
from jobspec.diagnostics.record import Record
from jobspec.diagnostics.results import UNBUILT
from jobspec.documents.decoding import decode
from jobspec.documents.document import CHAINSAW, CHART, CHART_VALUES, ENGINES, KUSTOMIZATIONS, Document
from jobspec.documents.kustomization_fields import FIELDS
from jobspec.documents.reader import read
from jobspec.documents.streams import cut_of_kinds, kinds_in
from jobspec.journey.reading import may_ignore
from jobspec.kubernetes.problems import closest
from jobspec.repository import kustomizations
from jobspec.repository.build_failures import FailedBuild, failure_in, place_of
from jobspec.repository.builds import Build, Output, output_from, output_of, output_without_annotations, written
from jobspec.repository.engines import APPLYING_KINDS, agreed_on, applied_folders, builds_itself, patched_by_flux, sources_of_values
from jobspec.repository.expected_states import TESTS
from jobspec.repository.in_build import AppliedFolder, InBuild
from jobspec.repository.kustomizations import (
    PLUGINS,
    UNRESTRICTED,
    References,
    RootKustomization,
    builds_anywhere,
    kustomizations_below,
    references_of,
)
from jobspec.repository.layers import Layer, closure
from jobspec.repository.replica_counts import replicas_configuration
from jobspec.repository.roles import Kustomization, inline_patches_of, kustomization_in
from jobspec.session.cache import HEAD, Cache, cache_folder
from jobspec.session.disk import DISK
from jobspec.session.file_roles import file_roles
from jobspec.session.folders import real_paths, repository_root
from jobspec.session.found import is_template
from jobspec.session.kustomization_notes import kustomization_notes
from jobspec.session.secret_values import may_have_secret
from jobspec.session.source_files import DiskFiles

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Hashable

    from jobspec.diagnostics.diagnostic import Severity
    from jobspec.repository.chart_values import ChartValues
    from jobspec.repository.in_build import Undecrypted
    from jobspec.session.disk import Disk
    from jobspec.session.kept_facts import KeptFacts
    from jobspec.session.options import Options
    from jobspec.session.reach import Reach

_FILES = DiskFiles()
"""The files as the builder reads them: saved, whatever an editor has of them."""
_LIMIT = 60  # seconds for a build
_SHORT_RUNS_OF_GO = {"GOGC": "300", "GOMAXPROCS": "1"}
"""Variables for short runs of programs in Go: collect garbage seldom, and use one processor."""
WORK_PREFIX = "jobspec-"
"""The beginning of the names of temporary folders that builders work in."""
_IN_USE = 3600  # seconds for which what a run has built stays in the cache, since its objects are read when they are needed


def in_builds(
    paths: Sequence[str],
    charts: Iterable[str],
    *,
    build: bool,
    run: Callable[..., list[Any]],
    about: Reach | None = None,
    keep: bool = True,
    disk: Disk = DISK,
    facts: KeptFacts | None = None,
) -> dict[str, InBuild]:
    """What each of the files is in a build; with *build* what kustomize builds of them, too, and of which other files.

    *charts*: the folders of Helm charts around the files. *run*: how files are gone through, in several processes for example. *keep*: what
    is built is kept in the user's cache, and taken from there.

    *disk*: the files on disk that they are some of. *facts*: what an earlier run has found out about the files; None if there is no such
    run.

    *about*: the files that a change can reach. Only kustomizations that read an edited one are built. None for all files.
    """
    real_folder = real_paths()
    folders = {folder: real_folder(folder) for folder in {os.path.dirname(each) for each in paths}}
    real = {path: os.path.join(folders[os.path.dirname(path)], os.path.basename(path)) for path in paths}
    shown = {path: name for name, path in real.items()}
    top = _top_of(paths, disk.root)
    among = kustomizations_below(top, disk.walk) if about is None else about.kustomizations
    read = _read(top, among, shown, run, real_folder, build=build, facts=facts)
    kustomizations = {path: each.kustomization for path, each in read.items() if each.kustomization}
    of_engines = _with_given_values(read, shown.keys())
    tests = {path: each.tests for path, each in read.items() if each.tests}
    roles = file_roles(shown.keys(), kustomizations, charts, tests, facts)
    found = {}
    for name, path in real.items():
        each = roles.of[path]
        role = "kustomization" if path in kustomizations and build else each.role
        found[name] = InBuild(role, each.completed, each.patched_in, is_left_out=each.is_left_out, kinds=read[path].kinds)
    layers = _layers(read) if build else {}
    noted = layers if about is None else {}
    if build:
        built, unbuilt = _built(shown, read, layers, top, about, anywhere=any(map(builds_anywhere, of_engines)), keep=keep, facts=facts)
        found |= {name: replace(found[name], unbuilt=why) for name, why in unbuilt.items() if name in found and not found[name].role}
        found |= built
        written = ((shown[path], each.warnings) for path, each in kustomizations.items() if each.warnings and path in shown)
        causes = {str(each.mark) for within in found.values() for each in within.notes if each.rule == "broken-kustomization"}
        for name, notes in chain(written, kustomization_notes(noted, shown, facts)):
            found |= _noted(name, [each for each in notes if each.rule != "duplicate-key" or str(each.mark) not in causes], found)
    patched = patched_by_flux(of_engines)
    if patched:
        found = {name: replace(each, completed=each.completed | patched) for name, each in found.items()}

    def is_added(kustomization: Document, field: str) -> bool:
        patching = [each for each in of_engines if each is not kustomization or builds_itself(each, top)]
        return _is_patched_in(field, patched_by_flux(patching), read, roles.patches)

    applied = applied_folders(of_engines, top, is_added=is_added)
    if not applied:
        return found
    real |= {name: path for path, name in shown.items()}
    homes = {name: os.path.dirname(path) for name, path in real.items()}
    decrypting = {os.path.dirname(path) for path, each in kustomizations.items() if each.data.get("generators")}
    around, decrypted = _innermost(applied), _innermost(decrypting)

    def in_folder(each: InBuild, home: str) -> InBuild:
        folder = around(home)
        return each.applied(applied.get(folder), folder, decrypts=bool(decrypted(home)), is_below=home != folder)

    found = {name: in_folder(each, homes[name]) for name, each in found.items()}
    undecrypted = {
        folder: how.undecrypted for folder in noted if not decrypted(folder) and (how := applied.get(around(folder))) and how.undecrypted
    }
    for name, notes in _of_encrypted_inputs(undecrypted, noted, shown).items():
        found |= {name: replace(found[name], notes=(*found[name].notes, *notes))} if name in found else {}
    by_builds = _applied_with_builds(found.values())
    return {name: replace(each, by_engine=by_builds[real[name]]) if each.is_built else each for name, each in found.items()}


def _noted(path: str, notes: Iterable[Diagnostic], found: Mapping[str, InBuild]) -> dict[str, InBuild]:
    """Return files with the *notes* on a kustomization, which are at files of its patches, too.

    What several kustomizations have is there once.
    """
    noted: dict[str, InBuild] = {}
    for note in notes:
        name = note.mark.file if note.mark.file in found else path
        each = noted.get(name) or found.get(name)
        if each and not _is_among(note, each.notes):
            noted[name] = replace(each, notes=(*each.notes, note))
    return noted


def _is_among(note: Diagnostic, notes: Iterable[Diagnostic]) -> bool:
    """True if some notes say the same at the same place."""
    return any((str(each.mark), each.message) == (str(note.mark), note.message) for each in notes)


def _of_encrypted_inputs(
    undecrypted: Mapping[str, Undecrypted], layers: Mapping[str, Layer], shown: Mapping[str, str]
) -> dict[str, list[Diagnostic]]:
    """Return what is reported of encrypted files of generators, by the path of the kustomization whose folder an engine applies.

    *undecrypted*: the folders of kustomizations whose engines decrypt nothing, and why.
    """
    from jobspec.repository.encrypted_inputs import encrypted_inputs

    notes: dict[tuple[str, str], tuple[str, Diagnostic]] = {}
    for folder, why in undecrypted.items():
        if name := shown.get(layers[folder].references.path):
            inside = (one for each in closure(layers[folder], layers) for one in encrypted_inputs(layers[each], why, shown))
            notes |= {key: (name, one) for one in inside if (key := (str(one.mark), one.message)) not in notes}
    return gathered(notes.values())


def _applied_with_builds(found: Iterable[InBuild]) -> dict[str, AppliedFolder]:
    """How engines apply the files that builds read, by their real paths: as they apply the builds."""
    ways = gathered((path, each.by_engine) for each in found if each.build for path in each.build.reads)
    return {path: agreed_on([each for at, each in enumerate(several) if each not in several[:at]]) for path, several in ways.items()}


def _is_patched_in(field: str, patched: Collection[str], read: Mapping[str, _Read], patches: Iterable[str]) -> bool:
    """Whether a patch, of Flux or of kustomize, may add a field to Kustomizations of Flux."""
    if f"Kustomization {field}" in patched:
        return True
    word = field.encode()
    inline = (entry for each in read.values() if each.kustomization for entry in inline_patches_of(each.kustomization.data))
    return any(field in text for text in inline) or any(word in _content(path) for path in patches if os.path.isfile(path))


class _Read(NamedTuple):
    """What is read of a file to know what the files around it are."""

    kustomization: Kustomization | None
    """None where it is none."""
    references: References | None
    """What that refers to, where it is to be built."""
    applying: list[Document]
    """Its documents that say how folders are applied."""
    kinds: frozenset[str]
    """The kinds that are named in it."""
    tests: Sequence[Document] = ()
    """Its tests of Chainsaw."""
    may_have_secret: bool = False
    """Whether one of its documents that are read may have a Secret inside."""


def _read(
    top: str,
    among: Iterable[str],
    shown: Mapping[str, str],
    run: Callable[..., list[Any]],
    real_folder: Callable[[str], str],
    *,
    build: bool,
    facts: KeptFacts | None,
) -> dict[str, _Read]:
    """What kustomizations below a folder say, and of the files that are *shown* those that say how folders are applied.

    *shown*: the path that users know of a real one.
    """
    kustomizations = set(among)
    folders = set(map(os.path.dirname, kustomizations))

    def read_file(path: str) -> _Read:
        content = _content(path)
        applying = _with_words(path, content, (*ENGINES, b"argocd-cm"), APPLYING_KINDS) if path in shown else []
        kinds = kinds_in(content)
        if path not in kustomizations:
            tests = _with_words(path, content, (CHAINSAW,), TESTS)
            return _Read(None, None, applying, kinds, tests, may_have_secret=bool(applying or tests) and may_have_secret(content))
        text = decode(content, path)
        name = shown.get(path) or os.path.relpath(path)
        found = kustomization_in(text if isinstance(text, str) else "", name, comments=may_ignore(content))
        return _Read(found, None, applying, kinds, may_have_secret=may_have_secret(content))

    def follows_from(path: str) -> Hashable:
        return path, path in shown, path in kustomizations, facts and facts.digests.get(path)

    def referring(path: str, found: _Read) -> _Read:
        if not (build and found.kustomization):
            return found
        data = found.kustomization.data
        is_kept = facts is not None and path in facts.digests and not found.may_have_secret and not any(map(data.get, PLUGINS))
        key = facts and (path, facts.tree, facts.digests.get(path))
        references = facts.known("references", key, References) if facts and is_kept else None
        if references is None:
            references = references_of(path, data, folders, top, real_folder, _FILES)
            if facts and is_kept:
                facts.learned("references", key, references)
        return found._replace(references=references)

    every = sorted({*kustomizations, *shown})
    kept = {path: facts.known("texts", follows_from(path), _Read) for path in every if path in facts.digests} if facts else {}
    left = [path for path in every if kept.get(path) is None]
    new: dict[str, _Read] = dict(zip(left, run(left, read_file), strict=True))
    for path, found in new.items():
        if facts and path in facts.digests and not found.may_have_secret:
            facts.learned("texts", follows_from(path), found)
    return {path: referring(path, kept.get(path) or new[path]) for path in every}


def _with_given_values(read: Mapping[str, _Read], paths: Collection[str]) -> list[Document]:
    """The documents that say how folders are applied, and the ConfigMaps and Secrets that they take values from."""
    applying = [each for path in paths for each in read[path].applying]
    names = tuple({name.encode() for each in applying for name in sources_of_values(each)})
    given = (each for path in paths if names for each in _with_words(path, _content(path), names, (CONFIG_MAP, SECRET)))
    return [*applying, *given]


def _content(path: str) -> bytes:
    with open(path, "rb", buffering=0) as file:
        return file.read()


def _with_words(path: str, content: bytes, words: Sequence[bytes], kinds: Collection[GroupKind]) -> list[Document]:
    """The documents of a file of some kinds that contain one of some words; the others are not parsed, which would be slow."""
    text = decode(content, path) if any(word in content for word in words) else ""
    if not isinstance(text, str):
        return []
    pieces = cut_of_kinds(text, [kind for _, kind in kinds], [word.decode() for word in words])
    return [each for piece, *_ in pieces for each in read(piece, file=path)[0] if each.group_kind in kinds]


def _innermost(folders: Collection[str]) -> Callable[[str], str]:
    """Gives for a path the innermost of *folders* that is the path itself or is around it; empty where none is."""

    @functools.cache
    def around(here: str) -> str:
        if here in folders:
            return here
        above = os.path.dirname(here)
        return around(above) if above != here else ""

    return around


def _built(
    shown: dict[str, str],
    read: Mapping[str, _Read],
    layers: Mapping[str, Layer],
    top: str,
    about: Reach | None,
    *,
    anywhere: bool,
    keep: bool,
    facts: KeptFacts | None,
) -> tuple[dict[str, InBuild], dict[str, str]]:
    """The kustomizations that files are built by, the manifests that are judged by that, and why those of other builds are not.

    *layers*: all kustomizations by their folders. *about*, *keep*, *facts*: as in `in_builds`. *anywhere*: a kustomization may read all
    files of the repository, not only those in its folder.
    """
    references = {os.path.dirname(path): each.references for path, each in read.items() if each.references}
    given = frozenset(shown)
    every = kustomizations.roots(references, given if about is None else None)
    wanted = (each for each in every if about is None or each.is_reached_by(about))
    roots = [each for each in wanted if not given.isdisjoint(each.read)]
    if not roots:
        return {}, {}
    shown.update({path: os.path.relpath(path) for root in roots for path in root.read if path not in shown})
    command = _builder()
    if command and (anywhere or (any(each.reads_around for each in roots) and _is_built_anywhere(top))):
        command += ["--load-restrictor", UNRESTRICTED]
    to_build = [each for each in roots if command and not (each.obstacle or each.missing or each.unknown_fields)]
    made = _outputs(to_build, command or [], layers, keep=keep, facts=facts)
    outputs = dict(zip((each.path for each in to_build), made, strict=True))
    found: dict[str, InBuild] = {}
    unbuilt: dict[str, str] = {}
    commented = {path for path, each in read.items() if each.kustomization and each.kustomization.comments}
    missing = functools.cache(lambda name, path: _missing(name, path, shown))  # Git is asked about it, and builds share what they lack
    for root in roots:
        path, output = shown[root.path], outputs.get(root.path)
        if isinstance(output, Output):
            if about is None and root.is_list and root.manifests <= given:
                continue  # the manifests are what is built of them, and an editor may have unsaved text of them
            found |= {shown[each]: InBuild(is_built=True, documents=output.documents.get(each, ())) for each in root.manifests}
            found[path] = InBuild(build=Build(path, output, shown, root.read, root.changing), comments=root.path in commented)
            continue
        if output:
            broken = _file_of(output.failure.folder, references) or root.path
            may_pass = output.failure.may_pass
            found[path] = found.get(path, InBuild(f"{UNBUILT_KUSTOMIZATION}: its build fails", may_be_built_later=may_pass))
            note = _with_replicas(_broken(output.failure, broken, layers, shown), broken, layers)
            is_told = about is None and output.failure.is_in_yaml and any(map(_has_wrong_yaml, {broken, *root.manifests} & given))
            is_told = is_told or any(
                _is_among(note, each.notes) for name, each in found.items() if name != shown[broken]
            )  # by another build
            found[shown[broken]] = InBuild(found[path].role, notes=() if is_told else (note,), may_be_built_later=may_pass)
        elif root.missing or root.unknown_fields:
            found |= _not_built(root, shown, missing)
        else:
            found[path] = InBuild(f"{UNBUILT_KUSTOMIZATION}: {root.obstacle or 'no kustomize or kubectl'}")
        if root.has_changes:  # else the manifests say what would be built of them
            unbuilt |= {shown[each]: found[path].role for each in root.manifests}
    return found, unbuilt


UNBUILT_KUSTOMIZATION = f"{UNBUILT}kustomization"
"""The beginning of the role of a kustomization that is not built."""


def why_unbuilt(within: InBuild | None) -> str:
    """Say why a kustomization is not built; empty of one that is built, and of other files."""
    if not within or within.build or not within.role.startswith(UNBUILT_KUSTOMIZATION):
        return ""
    notes = sorted(within.notes, key=lambda each: each.severity == "info")
    whys = (each.message for each in notes if each.rule == "broken-kustomization")
    return next(whys, within.role.removeprefix(UNBUILT_KUSTOMIZATION).strip(": "))


def _layers(read: Mapping[str, _Read]) -> dict[str, Layer]:
    """All kustomizations by their folders."""
    layers = [
        Layer(os.path.dirname(path), each.references, each.kustomization.data, _FILES)
        for path, each in read.items()
        if each.references and each.kustomization
    ]
    return {each.folder: each for each in layers}


def _file_of(folder: str, references: Mapping[str, References]) -> str:
    """The kustomization of a folder; empty if there is none."""
    return references[folder].path if folder in references else ""


def _is_built_anywhere(top: str) -> bool:
    """Whether a program of the repository, such as a Makefile, lets kustomize read all of its files."""
    import shutil

    git = shutil.which("git")
    try:
        return bool(git and _run([git, "-C", top, "grep", "-lIF", UNRESTRICTED, "--", ":!*.go"], top, top))
    except BuildFailure:  # none has it, or this is no repository
        return False


def _broken(failure: FailedBuild, real: str, layers: Mapping[str, Layer], shown: Mapping[str, str]) -> Diagnostic:
    """What is reported of a kustomization that kustomize cannot build."""
    mark = place_of(failure, [layers[folder] for folder in closure(layers[os.path.dirname(real)], layers)], shown)
    is_filled_in = failure.is_empty and is_template(mark.file)
    severity: Severity = "info" if is_filled_in else "error" if failure.is_in_files else "warning"
    return Diagnostic("broken-kustomization", f"kustomize cannot build this: {failure.why}", mark, severity=severity)


def _has_wrong_yaml(path: str) -> bool:
    """True if a manifest or kustomization has an error in its YAML, or is a template."""
    text = _FILES.text(path)
    return any(each.severity == "error" for each in read(text, file=path)[1])


def _with_replicas(note: Diagnostic, real: str, layers: Mapping[str, Layer]) -> Diagnostic:
    """What is reported of a broken kustomization, with the configuration that it lacks if it sets replicas of a kind without any."""
    layer = layers.get(os.path.dirname(real))
    needed = replicas_configuration(note.message, layer, layers) if layer else None
    if not needed:
        return note
    kind, configuration = needed
    field = configuration["replicas"][0]["path"].replace("/", ".")
    message = f"kustomize cannot build this: it knows no field of {kind} for `replicas`"
    hint = f"name `{field}` in `replicas` of a `configurations` file, as --fix does"
    return note.changed(message=message, hint=hint, configuration=configuration)


def _not_built(root: RootKustomization, shown: Mapping[str, str], missing_file: Callable[[str, str], Diagnostic]) -> dict[str, InBuild]:
    """Return the kustomizations of a root for which no builder is started, each with what is reported of it.

    One of them names files that are missing, or has unknown fields. *missing_file*: says what is reported of a missing file, by its name
    and the kustomization that names it.
    """

    def unknown_field(name: str, path: str) -> Diagnostic:
        message, mark = f"kustomize cannot build this: unknown field `{name}`", _mark_of(name, path, shown)
        return Diagnostic("broken-kustomization", message, mark, severity="warning", hint=closest(name, FIELDS))

    missing = [missing_file(name, path) for name, path in dict.fromkeys(root.missing)]
    unknown = [unknown_field(name, path) for name, path in root.unknown_fields]
    by_path = gathered((each.mark.file, each) for each in (*missing, *unknown))

    def role(notes: Sequence[Diagnostic]) -> str:
        is_made_later = all(each.severity == "info" for each in notes)
        is_complete = not any(each in notes for each in missing)
        return f"{UNBUILT_KUSTOMIZATION}: {'a file is missing' if is_made_later else 'unknown field' if is_complete else 'its build fails'}"

    found = {path: InBuild(role(notes), notes=tuple(notes)) for path, notes in by_path.items()}
    path = shown[root.path]
    return found | {path: InBuild(role([*missing, *unknown]), notes=tuple(by_path.get(path, ())))}


def _missing(name: str, path: str, shown: Mapping[str, str]) -> Diagnostic:
    """Return what is reported of a file or folder that is not there.

    *name*: what the kustomization at *path* calls it.
    """
    from jobspec.session.exclusions import is_ignored, is_left_out_of_checkout

    home, mark = os.path.dirname(path), _mark_of(name, path, shown)
    place = os.path.join(home, name)
    if is_left_out_of_checkout([place, *(os.path.join(place, each) for each in KUSTOMIZATIONS)], home):
        return Diagnostic("broken-kustomization", f"`{name}` is not checked out", mark, severity="info")
    if os.path.isdir(place) and os.listdir(place):  # a submodule that is not there is empty
        message = f"kustomize cannot build this: folder `{name}` has no kustomization.yaml"
        hint = "list its files, or write a kustomization.yaml that does"
        return Diagnostic("broken-kustomization", message, mark, severity="error", hint=hint)
    if os.path.isdir(place):
        return Diagnostic("broken-kustomization", f"`{name}` is empty", mark, severity="info")
    folder, own = os.path.split(os.path.normpath(place))
    around = folder
    while not os.path.isdir(around):
        around = os.path.dirname(around)
    is_of_submodule = not os.listdir(around)  # that is not there
    if is_of_submodule or is_template(mark.file) or is_ignored(place, home):  # a person or a program makes it
        return Diagnostic("broken-kustomization", f"`{name}` does not exist", mark, severity="info")
    hint = closest(own, sorted(set(os.listdir(folder)).difference(KUSTOMIZATIONS))) if around == folder else ""
    return Diagnostic("broken-kustomization", f"kustomize cannot build this: `{name}` does not exist", mark, severity="warning", hint=hint)


def _mark_of(name: str, path: str, shown: Mapping[str, str]) -> Mark:
    """Return the place of a name in the text of a file."""
    line, column = _line_and_column_of(name, _FILES.text(path))
    return Mark(shown[path], line, column, line, column + len(name))


def _line_and_column_of(name: str, text: str) -> tuple[int, int]:
    word = re.compile(rf"(?<![\w./-]){re.escape(name)}(?![\w./-])")
    found = ((number, word.search(line)) for number, line in enumerate(text.splitlines(), 1))
    return next(((number, at.start() + 1) for number, at in found if at), (1, 1))


def _top_of(paths: Sequence[str], within: str) -> str:
    """The folder of the repository that files are in, or else the working folder where it holds them, or the folder that all are in."""
    common = os.path.realpath(os.path.commonpath([os.path.abspath(os.path.dirname(each)) for each in paths]))
    if root := repository_root(common, within):
        return root
    around = os.getcwd()
    is_narrow = around not in (os.sep, os.path.expanduser("~"))
    return around if is_narrow and os.path.commonpath([around, common]) == around else common


# Run the builder.


def _builder() -> list[str] | None:
    """The command that builds a folder; None where there is none."""
    import shutil

    for name, command in (("kustomize", "build"), ("kubectl", "kustomize")):
        if program := shutil.which(name):
            return [program, command]
    return None


def kept_builds() -> str:
    """Return the folder in the user's cache that keeps what was built."""
    return os.path.join(cache_folder(), "builds")


class BuildFailure(Exception):
    """Why a builder has built nothing."""

    def __init__(self, failure: FailedBuild) -> None:
        super().__init__(failure.why)
        self.failure = failure


def _outputs(
    to_build: Sequence[RootKustomization],
    command: Sequence[str],
    layers: Mapping[str, Layer],
    *,
    keep: bool,
    facts: KeptFacts | None,
) -> list[Output | BuildFailure]:
    """What a builder makes of each root. With *keep*, what was built before of the same files is taken from the user's cache.

    *layers*: all kustomizations by their folders.
    """
    cache = Cache(kept_builds(), _IN_USE) if keep else None
    digests = facts.digests if facts else {}
    known = functools.cache(lambda path: digests.get(path) or _digest(path))  # builds share what they read
    fingerprints = {each.path: _fingerprint(each, command, known) for each in to_build}
    made: dict[str, Output | BuildFailure | None] = {
        path: _kept_output(cache, each) if cache else None for path, each in fingerprints.items()
    }
    left = [each for each in to_build if not made[each.path]]
    if left:
        import tempfile
        from concurrent.futures import ThreadPoolExecutor

        with tempfile.TemporaryDirectory(prefix=WORK_PREFIX) as folder, ThreadPoolExecutor(os.cpu_count() or 1) as pool:
            places = [os.path.join(os.path.realpath(folder), str(number)) for number in range(len(left))]
            answers = pool.map(lambda each, work: _output(each, work, cache, command, fingerprints[each.path], layers), left, places)
            made |= zip((each.path for each in left), answers, strict=True)
        if cache:
            cache.trim()
    return [output for each in to_build if (output := made[each.path])]


class _KeptObjects(Record):
    """The objects of an output in an entry of the cache."""

    path: str
    start: int
    """The number of bytes before the objects."""
    size: int
    """The number of bytes of the objects."""

    def read(self) -> bytes:
        """Return the objects, in UTF-8."""
        with open(self.path, "rb") as file:
            file.seek(self.start)
            return file.read()


def _kept_output(cache: Cache, name: str) -> Output | None:
    """The output that an entry of the cache keeps; None without one."""
    content = cache.read(name)
    if not content:
        return None
    line = content.index(b"\n")
    return output_from(content[:line], _KeptObjects(cache.path(name), HEAD + line + 1, len(content) - line - 1))


def _output(
    root: RootKustomization, work: str, cache: Cache | None, command: Sequence[str], fingerprint: str, layers: Mapping[str, Layer]
) -> Output | BuildFailure:
    """What a builder makes of a root. It is kept unless one of the files that it reads has another *fingerprint* meanwhile.

    If the files do not say where each object comes from, the builder makes it again with annotations.
    """
    try:
        printed = _printed(root, work, command)
        layer = layers[os.path.dirname(root.path)]
        output = output_without_annotations(printed, work, root.manifests, _FILES, layer, layers)
        if output is None:
            annotated = _printed(root, work, command, ("originAnnotations", "transformerAnnotations"))
            output = output_of(annotated, work, root.manifests, _FILES)
    except BuildFailure as failure:
        return failure
    is_kept = (
        cache
        and _fingerprint(root, command, _digest) == fingerprint  # else a file was written meanwhile
        and cache.write(fingerprint, written(output).encode())
    )
    return (cache and is_kept and _kept_output(cache, fingerprint)) or output


def _printed(root: RootKustomization, work: str, command: Sequence[str], annotations: Sequence[str] = ()) -> str:
    """What the builder prints of a root, with some *annotations*."""
    import json

    os.makedirs(work, exist_ok=True)
    wrapper = {"resources": [os.path.relpath(os.path.dirname(root.path), work)], "buildMetadata": annotations}
    with open(os.path.join(work, KUSTOMIZATIONS[0]), "w", encoding="utf-8") as file:
        json.dump(wrapper, file)
    return _run([*command, work], work, os.path.dirname(root.path))


def _run(command: Sequence[str], work: str, folder: str) -> str:
    """What a program prints of a folder. Without programs on its path and behind a proxy that is not there, it can reach nothing else."""
    import subprocess

    nowhere = "http://127.0.0.1:9"
    around = {"PATH": work, "HOME": work, "XDG_CONFIG_HOME": work, "HTTP_PROXY": nowhere, "HTTPS_PROXY": nowhere, **_SHORT_RUNS_OF_GO}
    try:
        done = subprocess.run(command, env=around, capture_output=True, timeout=_LIMIT, check=False)  # noqa: S603 (no shell)
    except subprocess.TimeoutExpired:
        raise BuildFailure(FailedBuild(f"takes longer than {_LIMIT} seconds", may_pass=True)) from None
    except OSError as error:
        raise BuildFailure(FailedBuild(f"{os.path.basename(command[0])}: {error.strerror}", may_pass=True)) from None
    if done.returncode < 0:
        why = f"{os.path.basename(command[0])} was ended by signal {-done.returncode}"
        raise BuildFailure(FailedBuild(why, may_pass=True))
    if done.returncode:
        raise BuildFailure(failure_in(done.stderr.decode(errors="replace"), folder, os.path.relpath))
    return done.stdout.decode(errors="replace")


def chart_values(options: Options) -> ChartValues:
    """Return the values that the options of a command line say for charts.

    Raises JobspecError if a file has no name of a value.
    """
    from jobspec.repository.chart_values import values_of

    return values_of(options.values, options.helm_set, options.helm_set_file)


def rendered_charts(charts: Iterable[str], values: ChartValues, kubernetes: str) -> dict[str, InBuild]:
    """What helm renders of charts with values, for a release of Kubernetes.

    Raises JobspecError where there is no helm, and for a chart that it cannot render.
    """
    import shutil
    import tempfile

    from jobspec.repository.helm import RenderedChart
    from jobspec.repository.helm_numbers import numbers_in_text

    helm = shutil.which("helm")
    if not helm:
        raise JobspecError("--helm: helm is not installed")
    found = {}
    for chart in charts:
        with tempfile.TemporaryDirectory(prefix="jobspec-") as work:
            command = functools.partial(_helm_command, helm, kubernetes)
            try:
                text = _run(command(os.path.join(os.curdir, chart), values), work, chart)
            except BuildFailure as failure:
                raise JobspecError(f"--helm {chart}: {failure}") from None
            read = (*values.files, os.path.join(chart, CHART_VALUES), os.path.join(chart, CHART))
            texts = {path: _FILES.text(path) for path in read if os.path.isfile(path)}
            numbers = numbers_in_text(text, texts.items(), functools.partial(_rendered_with, command, chart, values, work))
            made = RenderedChart(chart, text, values.files, tuple(numbers), _read_by_helm(chart, values))
        found[made.path] = InBuild(build=made)
    return found


def _read_by_helm(chart: str, values: ChartValues) -> list[str]:
    """The real paths of what helm reads of a chart: all of its files, and those of the values."""
    inside = (os.path.join(here, name) for here, _, names in os.walk(chart) for name in names)
    return list(map(os.path.realpath, (*inside, *values.reads)))


def _helm_command(helm: str, kubernetes: str, chart: str, values: ChartValues) -> list[str]:
    return [helm, "template", "release", chart, "--include-crds", "--kube-version", kubernetes, *values.words]


def _rendered_with(
    command: Callable[[str, ChartValues], list[str]], chart: str, values: ChartValues, work: str, path: str, text: str
) -> str | None:
    """What helm renders of a chart where a values file or a file of the chart has another text. If helm fails, return None."""
    import tempfile

    with tempfile.TemporaryDirectory(dir=work) as folder:
        changed = os.path.join(folder, os.path.basename(path))
        with open(changed, "w", encoding="utf-8") as file:
            file.write(text)
        if path not in values.files:  # the chart's own
            for name in os.listdir(chart):
                if name != os.path.basename(path):
                    os.symlink(os.path.realpath(os.path.join(chart, name)), os.path.join(folder, name))
        around = os.path.join(os.curdir, chart) if path in values.files else folder
        try:
            return _run(command(around, values.changed(files=[changed if each == path else each for each in values.files])), work, chart)
        except BuildFailure:
            return None


def _fingerprint(root: RootKustomization, command: Sequence[str], digest: Callable[[str], bytes]) -> str:
    """A hash of the builder and of all files that a build reads: it changes when one of them does."""
    program = os.stat(command[0])
    found = sha256(repr(("objects as JSON, with their sources", root.path, command, program.st_size, program.st_mtime_ns)).encode())
    for path in root.read:
        found.update(repr(path).encode() + digest(path))
    return found.hexdigest()


def _digest(path: str) -> bytes:
    """A hash of what a file holds; empty where there is no file."""
    try:
        return blake2b(_content(path)).digest()
    except OSError:
        return b""
