"""The builds of a repository by kustomize, each value at the line that wrote it.

Where `kustomize` is installed, or `kubectl`, which has it inside, it builds each kustomization that no other one refers to. A kustomization
that refers to that one asks for annotations which say where each object comes from. Whatever would need the network, Helm, a plugin or a
file outside of the repository is known before anything is started, and is not built.

Follows `types.Kustomization`, `resource.Origin` and `FileLoader`, sigs.k8s.io/kustomize/api, 0.21.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from typing import Any, NamedTuple

from jobspec.diagnostics import Diagnostic, DocumentResult, FileResult, Mark, Marks, Path, deduplicated, gathered
from jobspec.documents.document import KUSTOMIZATIONS, Document, result_of
from jobspec.documents.marked_tree import each_inside
from jobspec.documents.reader import decode, read
from jobspec.documents.syntax import cut, kinds_in
from jobspec.documents.wrapped import documents_in_text
from jobspec.go.values import mapping, structs, texts
from jobspec.kinds import CONFIG_MAP, PROJECT, GroupKind, is_cluster_scoped
from jobspec.repository import GENERATORS, inputs_of, joined, patches_of

#: The fields of a kustomization that list manifests and other kustomizations.
LISTS = ("resources", "bases", "components")
#: The fields that change nothing of what a kustomization lists.
_PLAIN = frozenset(("apiVersion", "kind", "metadata", "buildMetadata", "sortOptions", "openapi", *LISTS))
_HELM = ("helmCharts", "helmChartInflationGenerator", "helmGlobals")
_CHARTS = "HelmChartInflationGenerator"
_PLUGINS = ("generators", "transformers", "validators")
_KNOWN = _PLAIN | {
    *("namePrefix", "nameSuffix", "namespace", "commonLabels", "labels", "commonAnnotations", "patchesStrategicMerge", "patchesJson6902"),
    *("patches", "images", "imageTags", "replacements", "replicas", "vars", "crds", "configMapGenerator", "secretGenerator"),
    *("generatorOptions", "configurations", *_HELM, *_PLUGINS),
}
_OF_FILES = frozenset(("path", "paths", "files", "envs", "env", "resources"))
_REMOTE = re.compile(r"\w+://|^(\w+@|git::|gh:|github\.com[:/])|[?&]ref=")
_ORIGIN = re.compile(r"^ *(path|configuredIn): (.*)$", re.MULTILINE)
_CHANGED_IN = re.compile(r"configuredIn: (.*)$", re.MULTILINE)
_ANNOTATIONS = ("config.kubernetes.io/origin", "alpha.config.kubernetes.io/transformations")


def kustomizations_below(folder: str) -> Iterator[str]:
    """The kustomizations in a folder and in those inside of it, but for hidden ones."""
    for here, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if not name.startswith(".") and name != "node_modules"]
        yield from (path for name in KUSTOMIZATIONS if name in names and os.path.exists(path := os.path.join(here, name)))


@dataclass(frozen=True, slots=True)
class AppliedFolder:
    """How an engine applies a folder, and so each file in it."""

    values: Mapping[str, str] | None = None
    """What Flux fills in for placeholders; None where it fills nothing in."""
    namespace: str = ""
    """The namespace that Flux puts objects in, whatever they say."""
    default_namespace: str = ""
    """The namespace that Argo CD puts objects in that say none."""
    application: str = ""
    """The Application by which Argo CD applies it without a plugin that could decrypt files."""
    differing: frozenset[str] = frozenset()
    """The placeholders for which several Kustomizations of Flux have different values."""
    completed: frozenset[str] = frozenset()
    """What engines fill in, as in `InBuild`."""
    is_recursive: bool = False
    """Whether the files in folders below are applied with it."""


@dataclass(frozen=True, slots=True)
class InBuild:
    """What a file is in the builds of its repository."""

    role: str = ""
    """Why it is skipped, such as that it is a patch of kustomize; empty for what may be a manifest."""
    completed: frozenset[str] = frozenset()
    """What the builds of a manifest fill in, such as `namespace`."""
    patched_in: tuple[str, ...] = ()
    """The kustomizations whose patches may change it."""
    is_left_out: bool = False
    """Whether it is beside a kustomization that does not list it, so that nobody applies it with others."""
    build: Build | None = None
    """What kustomize makes of it, where it is a kustomization that is built."""
    comments: bool = False
    """Whether such a kustomization may have comments that ignore findings."""
    is_built: bool = False
    """Whether it is a manifest that is judged by what is built of it."""
    documents: Sequence[DocumentResult] = ()
    """Of such a manifest, its documents where they are known without reading it."""
    kinds: frozenset[str] | None = None
    """The kinds that are named in it; None where nobody has looked."""
    note: Diagnostic | None = None
    """What is reported of a kustomization that is not built."""
    by_engine: AppliedFolder = AppliedFolder()
    """How an engine applies it."""
    sync: str = ""
    """The folder with whose files an engine applies it, where no kustomization lists it; empty where none does."""

    def may_have(self, kinds: Iterable[str]) -> bool:
        """Whether documents of some kinds may be in it, as far as is known."""
        known = self.build.kinds if self.build else self.kinds
        return known is None or not known.isdisjoint(kinds)

    @staticmethod
    def dropped(documents: Iterable[Document]) -> list[DocumentResult]:
        """The results of the documents of a manifest that is judged by what is built of it, where nothing is built of them."""
        return [result_of(each, "skipped", reason="manifest: dropped by its builds") for each in documents]

    def applied(self, how: AppliedFolder | None, folder: str, *, decrypts: bool, is_below: bool) -> InBuild:
        """The same in a *folder* that an engine applies, or *is_below* that; *decrypts*: a generator, such as KSOPS, may decrypt files."""
        if how is None or self.is_left_out:
            return self
        is_plain = not self.completed and (how.is_recursive or not is_below)
        return replace(
            self,
            completed=self.completed | how.completed,
            by_engine=replace(how, application="") if decrypts else how,
            sync=folder if is_plain else "",
        )


_FLUX: GroupKind = ("kustomize.toolkit.fluxcd.io", "Kustomization")
_ARGO_CD: GroupKind = ("argoproj.io", "Application")
#: The kinds that say how folders are applied, Argo CD's ConfigMap among them.
APPLYING_KINDS = (_FLUX, _ARGO_CD, PROJECT, CONFIG_MAP)
#: What lets a builder read files outside of a kustomization's folder.
UNRESTRICTED = "LoadRestrictionsNone"


def builds_anywhere(document: Document) -> bool:
    """Whether an engine that builds without kustomize's restriction to the folder is there: Flux, or Argo CD with that build option."""
    options = mapping(document.data, "data").get("kustomize.buildOptions") if document.name == "argocd-cm" else ""
    return document.group_kind == _FLUX or UNRESTRICTED in str(options)


def applied_folders(documents: Sequence[Document], top: str) -> dict[str, AppliedFolder]:
    """The folders below *top* that Flux's Kustomizations, Argo CD's Applications and the engines of projects apply.

    Of a folder that several apply, what they say alike counts.
    """
    found = gathered((joined(top, folder), how) for each in documents for folder, how in _applied_by(each, documents))
    agreed = {folder: _agreed(several) for folder, several in found.items()}
    return {folder: how for folder, how in agreed.items() if how != AppliedFolder()}


def _applied_by(document: Document, documents: Sequence[Document]) -> Iterator[tuple[str, AppliedFolder]]:
    """The folders that a document has an engine apply, from the top of the repository or where the document is, and how."""
    spec = mapping(document.data, "spec")
    if document.group_kind == _FLUX:
        build = mapping(spec, "postBuild")
        values = {**_values_from(build, document.namespace, documents), **mapping(build, "substitute")} if build else None
        texts_of = {name: str(value) for name, value in values.items()} if values is not None else None
        namespace = str(spec.get("targetNamespace") or "")
        completed = frozenset({"namespace"} if namespace else ())
        yield str(spec.get("path") or ""), AppliedFolder(texts_of, namespace=namespace, completed=completed, is_recursive=True)
    elif document.group_kind == _ARGO_CD:
        namespace = str(mapping(spec, "destination").get("namespace") or "")
        for source in (mapping(spec, "source"), *structs(spec, "sources")):
            if source.get("path"):
                by_itself = "" if source.get("plugin") else f"Application `{document.name}`"
                recursive = bool(mapping(source, "directory").get("recurse"))
                yield str(source["path"]), AppliedFolder(default_namespace=namespace, application=by_itself, is_recursive=recursive)
    elif document.group_kind == PROJECT:
        argocd = mapping(spec, "engines", "argocd")
        if argocd and not argocd.get("plugin"):
            folder = os.path.join(os.path.dirname(document.file), str(spec.get("output") or "rendered"))
            yield os.path.abspath(folder), AppliedFolder(application=f"the engine of {os.path.basename(document.file)}")


def _agreed(several: Sequence[AppliedFolder]) -> AppliedFolder:
    """The settings that several ways to apply a folder share."""
    first, *others = several
    if not others:
        return first
    given = [each.values for each in several if each.values is not None]
    names = {name for values in given for name in values}
    common = {name for name in names if len({values.get(name) for values in given}) == 1}

    def same(values: Iterable[str]) -> str:
        first, *others = dict.fromkeys(values)
        return "" if others else first

    return AppliedFolder(
        {name: given[0][name] for name in sorted(common)} if given else None,
        namespace=same(each.namespace for each in several),
        default_namespace=same(each.default_namespace for each in several),
        application=next((each.application for each in several if each.application), ""),
        differing=frozenset(names - common),
        completed=first.completed.intersection(*(each.completed for each in others)),
        is_recursive=any(each.is_recursive for each in several),
    )


def _values_from(build: dict[str, Any], namespace: str, documents: Sequence[Document]) -> dict[str, Any]:
    """The values of the ConfigMaps and Secrets that a `postBuild` names, as far as files have them in plain text."""
    found: dict[str, Any] = {}
    for source in structs(build, "substituteFrom"):
        for each in documents:
            is_it = (each.kind, each.name) == (source.get("kind"), source.get("name")) and each.namespace in ("", namespace)
            data = mapping(each.data, "stringData" if each.kind == "Secret" else "data") if is_it else {}
            found |= {name: value for name, value in data.items() if not str(value).startswith("ENC[")}
    return found


def patched_by_flux(documents: Iterable[Document]) -> frozenset[str]:
    """What patches of Flux's Kustomizations, and patches inside of these, may fill in, such as `HelmRelease interval`."""
    found = set()
    for patch in (each for document in documents if document.group_kind == _FLUX for each in structs(document.data, "spec", "patches")):
        text = str(patch.get("patch"))
        kinds = {*re.findall(r"\bkind: (\w+)", text), str(mapping(patch, "target").get("kind"))}
        found |= {f"{kind} {field}" for kind in kinds for field in re.findall(r"\w+(?=:)|(?<=/)\w+", text)}
    return frozenset(found)


def sources_of_values(document: Document) -> list[str]:
    """The names of the ConfigMaps and Secrets that a Kustomization of Flux takes values from."""
    build = mapping(document.data, "spec", "postBuild") if document.group_kind == _FLUX else {}
    return [str(each["name"]) for each in structs(build, "substituteFrom") if each.get("name")]


def in_namespace(document: Document, within: InBuild) -> Document:
    """A document in the namespace that engines put it in; itself where that is its own, or its kind has none."""
    metadata = mapping(document.data, "metadata")
    namespace = within.by_engine.namespace or document.namespace or within.by_engine.default_namespace
    if not metadata or namespace == document.namespace or is_cluster_scoped(document.api_version, document.kind):
        return document
    return document.with_metadata({"namespace": namespace})


@dataclass(frozen=True, slots=True)
class RootKustomization:
    """A kustomization that no other one refers to, and what its build reads; all paths are real ones."""

    path: str
    manifests: frozenset[str]
    read: tuple[str, ...]
    """All files that it reads, kustomizations and manifests among them, in order."""
    has_changes: bool
    """Whether it makes anything else of its manifests than what they say."""
    obstacle: str
    """Why it is not built; empty where it can be."""
    missing: tuple[str, str] | None
    """A path that it names and that does not exist, and the kustomization that names it."""
    reads_around: bool
    """Whether it reads a file that is not in or below the folder of its kustomization, which builders refuse by default."""


class References(NamedTuple):
    """What one kustomization refers to."""

    path: str
    is_root: bool
    """Whether it is built by itself where no other one refers to it: it is no component."""
    lists: bool
    """Whether it names any manifests, or what makes some."""
    has_changes: bool
    obstacles: list[str]
    missing: list[tuple[str, str]]
    listed: list[str]
    """All that it lists, as paths without a look at the files."""
    folders: list[str]
    """Those of other kustomizations."""
    files: list[str]
    manifests: list[str]
    """Those of the files that it lists as resources."""


def references_of(path: str, data: dict[str, Any], folders: Collection[str], top: str, real_folder: Callable[[str], str]) -> References:
    """What a kustomization refers to, where *folders* below *top*, real paths, have kustomizations; *real_folder* gives such a path."""
    has_changes = any(data.get(field) for field in data.keys() - _PLAIN) or bool(texts(data, "components"))
    lists = any(data.get(field) for field in (*LISTS, *GENERATORS, *_HELM, *_PLUGINS))
    listed = [name for field in LISTS for name in texts(data, field)]
    found = References(
        path,
        is_root=data.get("kind") != "Component",
        lists=lists,
        has_changes=has_changes,
        obstacles=list(_obstacles(path, data)),
        missing=[],
        listed=[joined(os.path.dirname(path), name) for name in listed],
        folders=[],
        files=[],
        manifests=[],
    )
    others = [name for name in (*patches_of(data), *inputs_of(data)) if name and "\n" not in name]  # others are patches themselves
    for name in (*listed, *others):
        around, last = os.path.split(os.path.join(os.path.dirname(path), name))
        place = os.path.join(around if around in folders else real_folder(around), last)
        if place not in folders and (last in ("", os.curdir, os.pardir) or os.path.islink(place)):
            place = os.path.realpath(place)
        if _REMOTE.search(name):
            found.obstacles.append("needs the network")
        elif not place.startswith(os.path.join(top, "")):
            found.obstacles.append("reads outside of the repository")
        elif place not in folders and (not os.path.exists(place) or (name in listed and os.path.isdir(place))):
            found.missing.append((name, path))
        elif name in listed and place in folders:
            found.folders.append(place)
        else:
            found.files.append(place)
            found.manifests.extend([place] if name in listed else [])
    return found


def roots(references: Mapping[str, References]) -> list[RootKustomization]:
    """The kustomizations, by their folders, that no other one refers to, but for components."""
    used = {path for each in references.values() for path in each.listed}
    return [_root(folder, references) for folder, each in references.items() if folder not in used and each.is_root]


def _root(folder: str, references: Mapping[str, References]) -> RootKustomization:
    """What the build of a folder reads, from its kustomization to those that it lists."""
    found: dict[str, References] = {}
    left = [folder]
    while left:
        each = references[left.pop()]
        if each.path not in found:
            found[each.path] = each
            left += each.folders
    obstacles = [obstacle for each in found.values() for obstacle in each.obstacles]
    if not references[folder].lists:
        obstacles.append("lists no manifests")
    return RootKustomization(
        references[folder].path,
        frozenset(manifest for each in found.values() for manifest in each.manifests),
        tuple(dict.fromkeys(read for each in found.values() for read in (each.path, *each.files))),
        any(each.has_changes for each in found.values()),
        next(iter(obstacles), ""),
        next((missing for each in found.values() for missing in each.missing), None),
        any(not read.startswith(os.path.join(os.path.dirname(path), "")) for path, each in found.items() for read in each.files),
    )


def _obstacles(path: str, data: dict[str, Any]) -> Iterator[str]:
    """Why a kustomization is not built, by its own fields."""
    if unknown := data.keys() - _KNOWN:
        yield f"unknown field {min(map(str, unknown))}"
    if any(data.get(field) for field in _HELM):
        yield "needs Helm"
    for name in (name for field in _PLUGINS for name in texts(data, field)):
        place = os.path.join(os.path.dirname(path), name)
        plugins = read(name, file="")[0] if "\n" in name else documents_in(place)
        if any(each.kind == _CHARTS for each in plugins):
            yield "needs Helm"
        elif ("\n" not in name and os.path.isdir(place)) or not all(map(_is_harmless, plugins)):
            yield "has a plugin"


def _is_harmless(plugin: Document) -> bool:
    """Whether a plugin is built into kustomize, and neither reads files nor starts programs."""
    return plugin.api_version == "builtin" and _OF_FILES.isdisjoint(plugin.data)


# Trace what is built.


class Output(NamedTuple):
    """What a builder has printed."""

    folder: str
    """The folder that its paths begin at."""
    text: str = ""
    """The objects, where no file keeps them."""
    file: str = ""
    """The file that keeps them behind its first line. Many builds of large CRDs are more than belongs into memory."""
    documents: Mapping[str, Sequence[DocumentResult]] = {}
    """What `documents_listed` gives of the manifests that it is built of, by their real paths."""
    sources: Sequence[str] | None = None
    """Where each object comes from, as its annotation names it, empty where it is generated; None where the objects were not read."""
    kinds: frozenset[str] | None = None
    """The kinds that are named in the objects; None where they were not read."""

    def read(self) -> bytes:
        """The objects, in UTF-8."""
        if not self.file:
            return self.text.encode()
        with open(self.file, "rb") as file:
            file.readline()
            return file.read()

    @property
    def size(self) -> int:
        """How many bytes there are to read."""
        return os.path.getsize(self.file) if self.file else len(self.text.encode())


def output_of(printed: str, folder: str, manifests: Iterable[str]) -> Output:
    """What a builder prints: as lines of JSON, which are read ten times as fast, or as it is where its YAML has problems.

    Of each object the first line, a comment, has where it comes from and what changed it, and the second line has the object without the
    annotations that say so.
    """
    import json

    listed = {each: documents_listed(text_of(each)) for each in sorted(manifests)}
    objects = []
    for piece in (each for each, _ in cut(printed) if each.strip()):
        if (found := _with_origin(piece)) is None:
            return Output(folder, printed, documents=listed)
        objects.append(found)
    text = "---\n".join(f"# {json.dumps(notes)}\n{data}\n" for notes, data in objects)
    return Output(folder, text, documents=listed, sources=[source for (source, _), _ in objects], kinds=kinds_in(text.encode()))


_OF_METADATA = re.compile(r"^metadata:\n(?: .*\n|\n)*", re.MULTILINE)
_ANNOTATION = re.compile(rf"^    ({'|'.join(map(re.escape, _ANNOTATIONS))}): \|\n((?:      .*\n)*)", re.MULTILINE)


def _with_origin(piece: str) -> tuple[Annotations, str] | None:
    """What the annotations of a printed object say, and the object without them as JSON, as `_as_json` gives both.

    Annotations that are written as kustomize does are cut out before, since many builds have the same object but for these.
    """
    found = _OF_METADATA.search(piece)
    cut_out = dict(_ANNOTATION.findall(found[0])) if found else {}
    bare = f"{piece[: found.start()]}{_ANNOTATION.sub('', found[0])}{piece[found.end() :]}" if found and cut_out else piece
    if (known := _as_json(bare)) is None:
        return None
    (source, changed_in), data = known
    source_cut, changed_in_cut = _origin_of(*(cut_out.get(name, "") for name in _ANNOTATIONS))
    return (source_cut or source, changed_in_cut or changed_in), data


@lru_cache(maxsize=1024)
def _as_json(text: str) -> tuple[Annotations, str] | None:
    """What the annotations of the one object in a text say, and the object without them as JSON.

    None where there is no object, more than one, or a value that JSON does not have.
    """
    import json

    documents, problems = read(text, file="")
    if problems or len(documents) != 1 or not isinstance(documents[0].data, dict):
        return None
    data, said = _annotations_of(documents[0].data)
    try:
        return said, json.dumps(data, allow_nan=False)
    except ValueError:
        return None


def written(output: Output) -> str:
    """An output as a file keeps it: the first line has what is asked of it before its objects are read."""
    import json

    listed = {path: list(map(vars, rows)) for path, rows in output.documents.items()}
    kinds = sorted(output.kinds) if output.kinds is not None else None
    return f"# {json.dumps([output.folder, listed, output.sources, kinds])}\n{output.text}"


def kept_in(path: str) -> Output:
    """The output that a file keeps."""
    import json

    with open(path, "rb") as file:
        folder, listed, sources, kinds = json.loads(file.readline()[2:])
    documents = {each: [DocumentResult(**row) for row in rows] for each, rows in listed.items()}
    return Output(folder, "", path, documents, sources, None if kinds is None else frozenset(kinds))


class Build:
    """The objects of a build, and where they come from. It can be pickled."""

    what = "kustomization"
    """What is built."""

    def __init__(self, path: str, output: Output, shown: Mapping[str, str], reads: Collection[str]) -> None:
        self.path = path
        """The kustomization as users name it."""
        self.reads = frozenset(reads)
        """The real paths of all files that it is built of."""
        self._output = output
        self.size = output.size
        self.kinds = output.kinds
        """The kinds that are named in it; None where nobody has looked."""
        self._shown = shown
        """Real path -> the path as users name it."""

    @property
    def content(self) -> bytes:
        """What is built, as YAML."""
        return self._output.read()

    @property
    def text(self) -> str:
        """The same, decoded."""
        return self.content.decode()

    def read(self, text: str, first_line: int = 0) -> tuple[list[Document], list[Diagnostic]]:
        """The documents of a part of the output, with the places where their values were written, and the problems of its YAML.

        The annotations of the output are left out. What several builds have alike is parsed once, and its documents have the same data.
        """
        if objects := _objects_in(text):
            return [self._traced(_object(each), notes, at, is_shared=True) for at, (notes, each) in enumerate(objects)], []
        documents, problems = read(text, file=self.path, first_line=first_line)
        return [self._traced(*_annotations_of(each.data), each.index) for each in documents], problems

    def _traced(self, data: Any, annotations: Annotations, index: int, *, is_shared: bool = False) -> Document:
        source, changed_in = annotations
        kustomizations = tuple(dict.fromkeys((*map(self._path, reversed(changed_in)), self.path)))
        marks = _TracedMarks(data, self._path(source), kustomizations, shared=data if is_shared else None)
        return Document(data, marks, file=self.path, index=index)

    def _path(self, named: str) -> str:
        """The path that users know, of one that is named in an annotation; without a name the kustomization itself."""
        real = joined(self._output.folder, named)
        return (self._shown.get(real) or os.path.relpath(real)) if named else self.path

    def sources(self) -> list[str]:
        """The file that each document was written in, or the kustomization that generates it."""
        named = self._output.sources
        if named is None:
            named = [_annotations_of(each.data)[1][0] for each in read(self.text, file=self.path)[0]]
        return list(map(self._path, named))


#: Where an object comes from, empty for what is generated, and the kustomizations that changed it, as the annotations name them.
Annotations = tuple[str, list[str]]
_NOTES = "# ["
"""How the line begins that has these of the object in the line behind it."""


@lru_cache(maxsize=1024)  # of which several builds may read the same
def documents_listed(text: str) -> Sequence[DocumentResult]:
    """What `InBuild.dropped` gives of a manifest's text; nothing where there are problems in it, or more than objects."""
    documents, problems = read(text, file="")
    are_plain = not problems and "$patch" not in text and all(isinstance(each.data, dict) and each.kind != "List" for each in documents)
    return InBuild.dropped(documents) if are_plain else []


def _objects_in(text: str) -> list[tuple[Annotations, str]]:
    """The annotations and the JSON of each object in a part of an output; none where it is no JSON."""
    import json

    pieces = [each.partition("\n") for each in text.removeprefix("---\n").split("\n---\n")] if _NOTES in text[:8] else []
    return [(tuple(json.loads(notes[2:])), data) for notes, _, data in pieces]


@lru_cache(maxsize=4096)
def _object(text: str) -> Any:
    import json

    return json.loads(text)


def _annotations_of(data: Any) -> tuple[Any, Annotations]:
    """The data of an object without the annotations of a builder, and what these say."""
    if not isinstance(data, dict):
        return data, ("", [])
    metadata = mapping(data, "metadata")
    annotations = dict(mapping(metadata, "annotations"))
    origin, changes = (str(annotations.pop(name, "")) for name in _ANNOTATIONS)
    metadata = {key: value for key, value in metadata.items() if key != "annotations"}
    return {**data, "metadata": {**metadata, "annotations": annotations} if annotations else metadata}, _origin_of(origin, changes)


def _origin_of(origin: str, changes: str) -> Annotations:
    """What the annotations of a builder say."""
    found = _ORIGIN.search(origin)
    return _unquoted(found[2]) if found else "", list(dict.fromkeys(map(_unquoted, _CHANGED_IN.findall(changes))))


def _unquoted(name: str) -> str:
    return name.strip("\"'")


@dataclass(frozen=True, slots=True)
class _TracedMarks:
    """Makes the marks of an object that was built: each value at its place in the patch or the base that has it there."""

    data: Any
    source: str
    kustomizations: Sequence[str]
    """Those that change the object, the outermost first."""
    shared: Any = None
    """The data where objects of other builds may have the very same."""

    def reduced_to(self, data: Any) -> _TracedMarks:
        """The same for a part of the data."""
        return _TracedMarks(data, self.source, self.kustomizations)

    def __call__(self) -> Marks:
        alike = [each for each in documents_in(self.source) if each.kind == self.data.get("kind")]
        written = [(each.data, each.marks) for each in alike if len(alike) == 1 or _is_of(each, self.data)]
        patches = [found for path in self.kustomizations for found in _patches_in(path, self.data)]
        whole = [(value, marks) for steps, value, marks in patches if not steps]
        parts = [each for each in patches if each[0]]
        return self._marks(self.data, [*whole, *written[:1]], parts, ())

    def _marks(self, data: Any, sources: list[tuple[Any, Marks]], parts: list[_Part], path: Path) -> Marks:
        if not isinstance(data, (dict, list)):
            first = reversed(sources) if path in _IDENTITY else sources
            found = next((marks for value, marks in first if value == data and type(value) is type(data)), None)
            return Marks(found.mark, found.key) if found else Marks(self._change_of(path), None)
        sources = [each for each in sources if type(each[0]) is type(data)]
        mark, key = (sources[-1][1].mark, sources[-1][1].key) if sources else (self._change_of(path), None)

        def inside(step: str | int, value: Any) -> Marks:
            return self._marks(value, *_below(step, value, sources, parts, data), (*path, step))

        return Marks(mark, key, make=partial(each_inside, data, inside))

    def _change_of(self, path: Path) -> Mark:
        """The field of a kustomization that may have set the value at a path, or else the outermost kustomization."""
        steps = {str(step) for step in path}
        fields = [field for field, names in _SET_BY.items() if steps & names]
        for kustomization in self.kustomizations:
            for document in documents_in(kustomization)[:1]:
                for field in (*fields, "replacements", "vars"):
                    if isinstance(document.data, dict) and document.data.get(field):
                        return document.marks.nearest((field,)).place()
        return Mark(self.kustomizations[-1], 1, 1)


#: Fields of a kustomization, and the steps of paths that they set.
_SET_BY: dict[str, frozenset[str]] = {
    "namespace": frozenset(("namespace",)),
    "images": frozenset(("image",)),
    "namePrefix": frozenset(("name",)),
    "nameSuffix": frozenset(("name",)),
    "replicas": frozenset(("replicas", "parallelism")),
    "labels": frozenset(("labels", "matchLabels", "selector")),
    "commonLabels": frozenset(("labels", "matchLabels", "selector")),
    "commonAnnotations": frozenset(("annotations",)),
    "configMapGenerator": frozenset(("data", "binaryData", "name")),
    "secretGenerator": frozenset(("data", "type", "name")),
}
_MERGE_KEYS = ("name", "mountPath", "containerPort", "port", "ip", "key", "topologyKey")
#: The fields by which a patch names its object, which the object itself wrote.
_IDENTITY = (("apiVersion",), ("kind",), ("metadata", "name"))
#: A part of a patch: the steps down to where it applies, the value there, and its marks.
_Part = tuple[tuple[str, ...], Any, Marks]


def _below(
    step: str | int, value: Any, sources: Sequence[tuple[Any, Marks]], parts: Sequence[_Part], around: dict[str, Any] | list[Any]
) -> tuple[list[tuple[Any, Marks]], list[_Part]]:
    """The sources and the parts of patches one step further down, to a value of the mapping or list *around* it."""
    names = (str(step), "-") if isinstance(around, list) and step == len(around) - 1 else (str(step),)
    deeper = [(steps[1:], each, marks) for steps, each, marks in parts if steps[0] in names]
    found = [(each, marks) for steps, each, marks in deeper if not steps]
    for data, marks in sources:
        at = step if isinstance(data, dict) else _index_of(value, int(step), data, around)
        child = None if at is None else marks.child(at)
        if child:
            found.append((data[at], child))
    return found, [each for each in deeper if each[0]]


def _index_of(item: Any, index: int, data: Sequence[Any], siblings: Collection[Any]) -> int | None:
    """The index in *data* of the item that is merged into an item of *siblings*."""
    key = next((key for key in _MERGE_KEYS if isinstance(item, dict) and key in item), None)
    for at, each in enumerate(data):
        if each == item or (key and isinstance(each, dict) and each.get(key) == item[key]):
            return at
    return index if len(data) == len(siblings) else None


def documents_in(path: str) -> Sequence[Document]:
    """The documents of a file; none where it cannot be read."""
    try:
        about = os.stat(path)
        return (_documents_kept if about.st_size < _LARGE else _large_kept)(path, os.getcwd(), about.st_mtime_ns)
    except OSError:
        return ()


def _documents_read(path: str, _folder: str, _changed: int) -> Sequence[Document]:
    return read(text_of(path), file=path)[0]


_LARGE = 1 << 18  # bytes; read, a file needs some twenty times as many
_documents_kept = lru_cache(maxsize=256)(_documents_read)
_large_kept = lru_cache(maxsize=2)(_documents_read)


def text_of(path: str) -> str:
    """The text of a file; empty where it cannot be decoded."""
    with open(path, "rb") as file:
        text = decode(file.read(), path)
    return text if isinstance(text, str) else ""


def _is_of(document: Document, data: Any) -> bool:
    """Whether an object is built of a document: it has its kind and its name, which a prefix and a suffix may be added to."""
    return document.kind == data.get("kind") and document.name in str(mapping(data, "metadata").get("name"))


def _patches_in(path: str, data: Any) -> Iterator[_Part]:
    """The patches of a kustomization that may have changed an object."""
    for document in documents_in(path)[:1]:
        for field in ("patches", "patchesStrategicMerge", "patchesJson6902"):
            entries = document.data.get(field) if isinstance(document.data, dict) else None
            for number, entry in enumerate(entries if isinstance(entries, list) else ()):
                each = entry if isinstance(entry, dict) else {}
                name, inline = (each.get("path"), each.get("patch")) if each else (entry, entry)
                if not _targets(mapping(each, "target"), data):
                    continue
                if isinstance(inline, str) and "\n" in inline.strip():
                    found = documents_in_text(document, (field, number, "patch") if each else (field, number), text_of(path))
                else:
                    found = list(documents_in(_named_path(path, str(name)))) if name else []
                for one in found:
                    yield from _parts_of(one, data, targeted="target" in each)


def _targets(target: dict[str, Any], data: Any) -> bool:
    """Whether the target of a patch seems to select an object, whose name may have got a prefix and a suffix since."""
    if target.get("kind", data.get("kind")) != data.get("kind"):
        return False
    try:
        return re.search(str(target.get("name", "")).strip("^$"), str(mapping(data, "metadata").get("name"))) is not None
    except re.error:
        return True


def is_patched_in(kustomizations: Iterable[str], kind: str, name: str, field: str) -> bool:
    """Whether a patch of some kustomizations seems to set a field of an object."""
    last = field.rpartition(".")[2]
    patches = (each for path in kustomizations for each in _patches_in(path, {"kind": kind, "metadata": {"name": name}}))
    return any(last in steps or _has_field(value, last) for steps, value, _ in patches)


def _has_field(data: Any, name: str) -> bool:
    """Whether a field is somewhere in an object."""
    if isinstance(data, dict):
        return name in data or any(_has_field(each, name) for each in data.values())
    return isinstance(data, list) and any(_has_field(each, name) for each in data)


def _named_path(path: str, name: str) -> str:
    """The path of a file that another one names, spelt as that one's."""
    named = os.path.normpath(os.path.join(os.path.dirname(path), name))
    return os.path.join(os.curdir, named) if path.startswith("./") and not named.startswith("..") else named


def _parts_of(patch: Document, data: Any, *, targeted: bool) -> Iterator[_Part]:
    if isinstance(patch.data, dict) and patch.kind in ("", data.get("kind")) and (targeted or _is_of(patch, data)):
        yield (), patch.data, patch.marks
    for number, operation in enumerate(patch.data if isinstance(patch.data, list) else ()):
        if isinstance(operation, dict) and "value" in operation:
            steps = tuple(each.replace("~1", "/").replace("~0", "~") for each in str(operation.get("path")).split("/")[1:])
            child = patch.marks.nearest((number, "value"))
            yield steps, operation["value"], child


# From the results of builds to those of files.


def at_sources(results: Sequence[FileResult], builds: Mapping[str, Build]) -> list[FileResult]:
    """The results of files, those of what is built of them included: each finding once, in the file that its object was written in.

    *builds*: by the path of the result. What a kustomization generates is counted with the kustomization.
    """
    own = {each.path: each for each in results if each.path not in builds}
    built = {each.path: each for each in results if each.path in builds}
    rows = {each.path: list(each.documents) for each in own.values()}
    rows |= {path: [DocumentResult(0, "skipped", reason=builds[path].what)] for path in built}
    objects: dict[tuple[str, int], dict[str, list[DocumentResult]]] = {}
    found: dict[tuple[Any, ...], list[tuple[str, tuple[str, int], Diagnostic]]] = {}
    for root, result in built.items():
        sources = builds[root].sources()
        places = {}
        for row in result.documents:
            path = sources[row.index] if sources[row.index] in rows else root
            places[row.index] = path, _place_of(row, rows[path], is_generated=path == root)
            objects.setdefault(places[row.index], {}).setdefault(root, []).append(row)
        for each in result.diagnostics:
            place = places.get(each.document or 0, (root, 0))
            is_in_source = each.mark.file == place[0] and place[0] not in built
            key = (each.rule, str(each.mark), each.message, each.hint, *([*place, each.field] if is_in_source else []))
            found.setdefault(key, []).append((root, place, each))
    for (path, number), by_root in objects.items():
        rows[path][number] = _combined(rows[path][number], [row for several in by_root.values() for row in several])
    diagnostics = {path: list(each.diagnostics) for path, each in own.items()}
    for several in found.values():
        _, (path, number), each = several[0]
        with_it = {root for root, *_ in several}
        is_of_some = each.mark.file == path and path not in built and with_it != objects.get((path, number), {}).keys()
        where = _in_builds(sorted(with_it)) if is_of_some else ""
        hint = "; ".join(part for part in (each.hint, where) if part)
        diagnostics.setdefault(path, []).append(each.with_hint(hint).in_document(rows[path][number].index))
    return [
        FileResult(path, each, deduplicated(diagnostics.get(path, ())), ignored=own[path].ignored if path in own else 0)
        for path, each in rows.items()
    ]


def _place_of(row: DocumentResult, rows: list[DocumentResult], *, is_generated: bool) -> int:
    """The place among the rows of a file of the document that an object is built of; what is generated gets a new row."""
    kind = row.api_version, row.kind
    alike = [] if is_generated else [at for at, each in enumerate(rows) if each.kind == row.kind and (each.api_version, each.kind) == kind]
    if len(alike) != 1:  # a patch may have renamed it
        alike = [at for at in alike if rows[at].name in row.name]
    if alike:
        return max(alike, key=lambda at: len(rows[at].name))
    rows.append(DocumentResult(len(rows), "skipped", api_version=row.api_version, kind=row.kind, name=row.name))
    return len(rows) - 1


_WORST = ("invalid", "partly", "valid", "skipped")


def _combined(row: DocumentResult, several: Sequence[DocumentResult]) -> DocumentResult:
    """The worst of the results of all objects that are built from a document."""
    worst = min(several, key=lambda each: _WORST.index(each.status))
    runs = False if any(each.runs is False for each in several) else worst.runs
    shown = [each.diff for each in several if each.diff is not None]
    return result_of(row if row.kind else worst, worst.status, diff="".join(shown) if shown else None, runs=runs)


def _in_builds(roots: Sequence[str]) -> str:
    names = ", ".join(f"`{os.path.dirname(each) or os.curdir}`" for each in roots[:3])
    return f"in the build of {names}" + (" and others" if len(roots) > 3 else "")
